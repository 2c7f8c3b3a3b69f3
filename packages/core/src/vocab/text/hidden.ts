/** Characters that are invisible, or change how others look. Emoji that are joined or coloured in the usual way are left whole. */
const HIDDEN =
  /(?<!\p{Extended_Pictographic})\ufe0f|(?<!\p{Extended_Pictographic}\ufe0f?)\u200d|\u200d(?!\p{Extended_Pictographic})|(?![\ufe0f\u200d])[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Cn}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

const NAMES: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t", "\u001b": "\\e" };
const escaped = (c: string): string => NAMES[c] ?? `\\u{${(c.codePointAt(0) ?? 0).toString(16)}}`;

/** Control, hidden and bidirectional characters as escapes (`\u{202e}`), on one line: who reads it, a person or a model, reads what is there. */
export const escapeHidden = (text: string): string => text.replace(HIDDEN, escaped);

/** With its lines and tabs; Windows line ends become ours. */
export const escapeHiddenLines = (text: string): string =>
  text.replaceAll("\r\n", "\n").replace(HIDDEN, (c) => (c === "\n" || c === "\t" ? c : escaped(c)));

/** Where the first such character stands, line ends and tabs aside; null: there is none. */
export function findHidden(text: string): number | null {
  for (const match of text.matchAll(HIDDEN)) if (!"\n\r\t".includes(match[0])) return match.index;
  return null;
}

/** Scripts whose letters are taken for one another. Chinese, Japanese and Korean names do mix with Latin, and nobody confuses those. */
const ALIKE = ["Latin", "Cyrillic", "Greek", "Armenian", "Cherokee", "Coptic", "Georgian", "Hebrew", "Arabic", "Thai"].map(
  (script) => new RegExp(`\\p{Script=${script}}`, "u"),
);
export const hasMixedScripts = (text: string): boolean => ALIKE.filter((script) => script.test(text)).length > 1;

/** Two texts that differ, for a message: where they may look the same, what is not ASCII is escaped in both. */
export function escapeLookalikes(one: string, other: string): readonly [string, string] {
  const isPlain = (text: string): boolean => /^[\x20-\x7e]*$/.test(text);
  const shown = (text: string): string => text.replace(/[^\x20-\x7e]/gu, escaped);
  return isPlain(one) && isPlain(other) ? [one, other] : [shown(one), shown(other)];
}
