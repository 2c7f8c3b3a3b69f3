/**
 * Words of any language. Scripts that put spaces between words are cut where their letters end; those that do not are cut by the segmenter of the
 * language itself. The same function makes the words of an item and those of a question, so that the two meet.
 */
import { lazily } from "../vocab/index.ts";

/** Scripts that are written without spaces between words. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Tibetan}]/u;
const runs = lazily(
  () => new RegExp(`(${UNSPACED.source}[${UNSPACED.source.slice(1, -1)}\\p{M}ー]*)|([\\p{L}\\p{N}][\\p{L}\\p{N}\\p{M}_]*)`, "gu"),
);

/** A script has signs that are no letters, such as radicals by themselves. */
const LETTERS = /^[\p{L}\p{N}\p{M}ー]+$/u;

let segmenter: Intl.Segmenter | null = null;

/** In order, in lower case, in one form for characters that look the same; lazily, so that a caller that wants ten of them pays for ten. */
export function* splitWords(text: string): Generator<string> {
  const plain = text.toWellFormed().normalize("NFKC").toLowerCase();
  for (const [, unspaced, spaced] of plain.matchAll(runs())) {
    if (spaced !== undefined) yield* parts(bare(spaced));
    else if (unspaced !== undefined) {
      segmenter ??= new Intl.Segmenter(undefined, { granularity: "word" });
      for (const { segment, isWordLike } of segmenter.segment(unspaced)) if (isWordLike === true && LETTERS.test(segment)) yield segment;
    }
  }
}

/** Accents of letters that are found without them too. Marks of other scripts are part of their letters, and stay. */
const bare = (word: string): string =>
  word
    .normalize("NFD")
    .replace(/[\u0300-\u036f]/g, "")
    .normalize("NFC");

/**
 * The stem that close forms of a word share: `deploys`, `deployed`, `deployment`. Rough, and the same everywhere: whatever an index finds by it, a
 * relevance counts by it. Only plain Latin has such endings.
 */
export function stem(word: string): string {
  if (word.length < 5 || !/^[a-z]+$/.test(word)) return word;
  const single = word.replace(/(?:sses|ies|[^s]s)$/, (end) => (end === "sses" ? "ss" : end === "ies" ? "y" : end.slice(0, -1)));
  const bare = single.replace(/(?<=[aeiouy].*)(?:ing|ed|ment|ly)$/, "");
  const root = bare.length >= 3 ? bare : single;
  return root
    .replace(/([b-df-hj-np-tv-z])\1$/, "$1")
    .replace(/(?<=..)e$/, "")
    .replace(/(?<=..)y$/, "i");
}

/** A name with underscores is several words, as it is in an index. */
function* parts(word: string): Generator<string> {
  if (!word.includes("_")) yield word;
  else for (const part of word.split("_")) if (part !== "") yield part;
}

export const isUnspaced = (word: string): boolean => UNSPACED.test(word);

/** The same thing said with other capitals or spaces is the same thing: what supersedes is found by this. */
export const toPlainName = (text: string): string => text.toWellFormed().normalize("NFKC").toLowerCase().trim().replace(/\s+/gu, " ");
