/** Problems in a file: where, what was expected, what to do. */
import { suggestNearest, toPosition } from "@orgate/core/vocab";
import { eachToken } from "./tokens.ts";

export type SymbiProblem = Readonly<{ file: string; line: number; column: number; detail: string; hint: string }>;

/** Where nothing better can be said. */
export const SEE_GUIDE = "docs/guide/symbi.md has the whole language";

/** A file's path and text. */
export type SourceText = Readonly<{ file: string; text: string }>;

/** One line each: a name in quotes may hold line breaks of its own. */
export const symbiProblemAt = ({ file, text }: SourceText, at: number, detail: string, hint: string): SymbiProblem => ({
  file,
  ...toPosition(text, at),
  detail: detail.replaceAll("\n", "\\n"),
  hint,
});

/** As the generated parser tells what it could have gone on with. */
export type Expectation = Readonly<{ type: "literal"; text: string } | { type: "other"; description: string } | { type: string }>;
/** `from` is where the piece begins that could not be read. */
export type RawProblem = Readonly<{ kind: "unexpected" | "unclosed"; at: number; from: number; expected: readonly Expectation[] }>;

export const UNCLOSED = "`{` is never closed";

export function toReadableProblem(file: string, text: string, raw: RawProblem): SymbiProblem {
  if (raw.kind === "unclosed") return symbiProblemAt({ file, text }, raw.at, UNCLOSED, "write the `}` that ends this block");
  const { word, shown } = foundAt(text, raw.at);
  const words = literals(raw.expected).filter((one) => /^[a-z]/.test(one));
  const meant = word === null || word.length < 2 ? null : suggestNearest(word, words);
  const expected = summed(raw.expected);
  const detail = expected.length === 0 ? `${shown} cannot stand here` : `expected ${listed(expected)}, found ${shown}`;
  const hint = meant?.startsWith("did you mean") === true ? meant : odd(text, raw.at);
  return symbiProblemAt({ file, text }, raw.at, detail, hint);
}

const literals = (expected: readonly Expectation[]): readonly string[] => [
  ...new Set(expected.flatMap((e) => ("text" in e && e.type === "literal" ? [e.text] : []))),
];

/** One word for tokens that can go on anywhere: `.`, `(` and operators are named only where nothing else could follow. */
const EXPRESSION = ["a number", "a time", "a text in quotes", "a secret", "true or false", "an expression"];
const STEPS = ["`.`", "`(`", "`[`", "`?`", "an operator"];

function summed(expected: readonly Expectation[]): readonly string[] {
  const all = new Set<string>();
  for (const e of expected) {
    if ("description" in e && e.description !== "blank") all.add(e.description);
    else if ("text" in e && e.type === "literal") all.add(`\`${e.text}\``);
  }
  if (all.has("a number") && all.has("a text in quotes")) {
    for (const one of [...EXPRESSION, "a name", "`[`", "`{`", "`(`", "`if`", '`"""`', '`"`']) all.delete(one);
    all.add("a value");
  }
  const rest = [...all].filter((one) => !STEPS.includes(one));
  return (rest.length === 0 ? [...all] : rest).sort();
}

const MOST = 10;
function listed(all: readonly string[]): string {
  const shown = all.length > MOST ? [...all.slice(0, MOST), "…"] : all;
  return shown.length < 2 ? shown.join("") : `${shown.slice(0, -1).join(", ")} or ${shown.at(-1) ?? ""}`;
}

function foundAt(text: string, at: number): { readonly word: string | null; readonly shown: string } {
  const rest = text.slice(at, at + 60);
  const word = /^[A-Za-z_][A-Za-z0-9_]*/.exec(rest)?.[0] ?? null;
  if (word !== null) return { word, shown: `\`${word}\`` };
  const [first] = rest;
  if (first === undefined) return { word: null, shown: "the end of the file" };
  if (first === '"')
    return { word: null, shown: isEnded(text.slice(at)) ? "a text in quotes" : "a text in quotes that does not end in its line" };
  if (/^\d/.test(rest)) return { word: null, shown: `\`${/^[\w.]+/.exec(rest)?.[0] ?? first}\`` };
  const code = rest.codePointAt(0) ?? 0;
  return { word: null, shown: code > 0x20 && code < 0x7f ? `\`${first}\`` : `\`${String.fromCodePoint(code)}\` (U+${hex(code)})` };
}

const isEnded = (text: string): boolean => eachToken(text).next().value?.kind === "string";
const hex = (code: number): string => code.toString(16).toUpperCase().padStart(4, "0");

/** A letter of another alphabet may look exactly like one of ours. */
function odd(text: string, at: number): string {
  const code = text.codePointAt(at) ?? 0;
  if (code >= 0x80 && /\p{L}/u.test(String.fromCodePoint(code)))
    return "names are of A-Z, a-z, 0-9 and _: a letter of another alphabet may only look like one of these";
  return text.startsWith('"', at) && !isEnded(text.slice(at)) ? 'end the text with `"`, or write one of several lines in `"""`' : SEE_GUIDE;
}
