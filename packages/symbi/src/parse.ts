/**
 * A file's text in, its tree out, or everything that is wrong with it.
 *
 * Y-1 the parser is made from the grammar, and what is committed is fresh. Y-2 several problems of a file are told at once, each with line, column, what was expected, and what may
 * have been meant. Y-1 whatever the input, reading ends with a tree or with problems: size and depth are limited, and nothing throws.
 */
import { findHidden, suggestNearest } from "@orgate/core/vocab";
import { parse as generatedParse } from "./grammar.ts";
import { type RawProblem, type SymbiProblem, symbiProblemAt, toReadableProblem } from "./problems.ts";
import { symbiTokens } from "./tokens.ts";
import type { File } from "./tree.ts";

export type ParsedFile = Readonly<
  | { kind: "tree"; tree: File; text: string }
  /** `part` has the blocks that could be read all the same; null: none can be relied on. */
  | {
      kind: "problems";
      problems: readonly [SymbiProblem, ...SymbiProblem[]];
      part: Readonly<{ tree: File; text: string }> | null;
    }
>;

export const MAX_CHARACTERS = 256 * 1024;
/** Of brackets within brackets, and of anything within anything. */
export const MAX_NESTING = 64;
const MAX_DEPTH = 256;

export function parseSymbi(given: string, file: string): ParsedFile {
  // one line end: what a text says does not depend on how a file was checked out
  const text = (given.startsWith("\ufeff") ? given.slice(1) : given).replaceAll("\r\n", "\n");
  const refused = unfit(text, file);
  if (refused !== null) return { kind: "problems", problems: [refused], part: null };
  const deep = symbiProblemAt({ file, text }, 0, "it is nested too deep to be read", `nest at most ${MAX_NESTING} deep`);
  try {
    // the one place that says what the generated parser makes
    const { tree, problems } = generatedParse(text, { resembles }) as { tree: File; problems: readonly RawProblem[] };
    const [first, ...rest] = problems
      .map((raw) => toReadableProblem(file, text, raw))
      .sort((a, b) => a.line - b.line || a.column - b.column);
    const at = tooDeep(tree);
    if (first !== undefined) return { kind: "problems", problems: [first, ...rest], part: at === null ? { tree, text } : null };
    if (at !== null) return { kind: "problems", problems: [symbiProblemAt({ file, text }, at, deep.detail, deep.hint)], part: null };
    return { kind: "tree", tree, text };
  } catch (error) {
    if (error instanceof RangeError) return { kind: "problems", problems: [deep], part: null }; // the stack: generics and operators nest without brackets
    throw error;
  }
}

/** Whether somebody may have meant one of these. */
const resembles = (word: string, words: readonly string[]): boolean =>
  words.includes(word) || (word.length > 2 && word.length <= LONGEST_WORD && suggestNearest(word, words).startsWith("did you mean"));
const LONGEST_WORD = 16;

/** Problems found before the grammar reads the text. */
function unfit(text: string, file: string): SymbiProblem | null {
  if (text.length > MAX_CHARACTERS)
    return symbiProblemAt({ file, text }, 0, `it has ${text.length} characters`, `a file has at most ${MAX_CHARACTERS}`);
  const hidden = findHidden(text);
  if (hidden !== null) {
    const code = (text.codePointAt(hidden) ?? 0).toString(16).toUpperCase().padStart(4, "0");
    const hint = "who reviews the file does not see it: take it out, or write it as an escape (`\\u{…}`) in a text";
    return symbiProblemAt({ file, text }, hidden, `U+${code} is invisible, or changes how others are shown`, hint);
  }
  const lone = text.indexOf("\r");
  if (lone !== -1)
    return symbiProblemAt(
      { file, text },
      lone,
      "a carriage return stands without a line feed",
      "what follows it is shown as if it stood in this line: end lines with a line feed",
    );
  const endless = text.includes("/*") ? symbiTokens(text).findLast(({ kind }) => kind === "comment") : undefined;
  if (endless?.text.startsWith("/*") === true && !/^\/\*[\s\S]*\*\/$/.test(endless.text))
    return symbiProblemAt({ file, text }, endless.at, "`/*` is never closed", "write the `*/` that ends this comment");
  if ((text.match(/[{[(]/g)?.length ?? 0) <= MAX_NESTING) return null; // what opens so few nests no deeper
  let depth = 0;
  for (const { kind, text: sign, at } of symbiTokens(text)) {
    if (kind !== "sign") continue;
    if ("{[(".includes(sign)) depth += 1;
    else if ("}])".includes(sign)) depth = Math.max(0, depth - 1);
    if (depth > MAX_NESTING)
      return symbiProblemAt({ file, text }, at, "it is nested too deep to be read", `nest at most ${MAX_NESTING} deep`);
  }
  return null;
}

/** Without recursion, which is what it guards. */
function tooDeep(tree: File): number | null {
  const left: { value: unknown; depth: number; at: number }[] = [{ value: tree, depth: 0, at: 0 }];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const { value, depth } = next;
    if (typeof value !== "object" || value === null) continue;
    const at = "at" in value && typeof value.at === "number" ? value.at : next.at;
    if (depth > MAX_DEPTH) return at;
    const inner = Array.isArray(value) ? depth : depth + 1;
    for (const one of Object.values(value)) left.push({ value: one, depth: inner, at });
  }
  return null;
}

/** How many agents a text may declare, whether or not they can be read; misspelt heads count too. */
export const countAgentHeads = (text: string): number =>
  [...text.matchAll(/\b([A-Za-z]{3,8})[ \t]+["\w-]+\s*(?:\([^)]*\)\s*)?(?:->[^{]*)?\{/g)].filter(
    ([, word = ""]) => word === "agent" || suggestNearest(word, ["agent"]).startsWith("did you mean"),
  ).length;
