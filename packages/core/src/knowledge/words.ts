/**
 * Words of any language. Scripts that put spaces between words are cut where their letters end; those that do not are cut by the segmenter of the
 * language itself. The same function makes the words of an item and those of a question, so that the two meet.
 */

/** Scripts that are written without spaces between words. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Tibetan}]/u;
const RUNS = new RegExp(`(${UNSPACED.source}[${UNSPACED.source.slice(1, -1)}\\p{M}ー]*)|([\\p{L}\\p{N}][\\p{L}\\p{N}\\p{M}_]*)`, "gu");

let segmenter: Intl.Segmenter | null = null;

/** In order, in lower case, in one form for characters that look the same; lazily, so that whoever wants ten of them pays for ten. */
export function* wordsIn(text: string): Generator<string> {
  const plain = text.toWellFormed().normalize("NFKC").toLowerCase();
  for (const [, unspaced, spaced] of plain.matchAll(RUNS)) {
    if (spaced !== undefined) yield* parts(spaced);
    else if (unspaced !== undefined) {
      segmenter ??= new Intl.Segmenter(undefined, { granularity: "word" });
      for (const { segment, isWordLike } of segmenter.segment(unspaced)) if (isWordLike === true) yield segment;
    }
  }
}

/** A name with underscores is several words, as it is in an index. */
function* parts(word: string): Generator<string> {
  if (!word.includes("_")) yield word;
  else for (const part of word.split("_")) if (part !== "") yield part;
}

export const isUnspaced = (word: string): boolean => UNSPACED.test(word);

/** The same thing said with other capitals or spaces is the same thing: what supersedes is found by this. */
export const plainName = (text: string): string => text.toWellFormed().normalize("NFKC").toLowerCase().trim().replace(/\s+/gu, " ");
