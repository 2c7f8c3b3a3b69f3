/**
 * Regular expressions of JSON schemas: each has one reading, wherever it stands.
 *
 * T-40 A pattern is matched in steps that grow with the text alone; where it cannot be, it is taken only if it repeats no group, which is what
 *      takes forever. T-40 It is read as JSON Schema reads it, with Unicode; what means something else without is refused.
 */
import { readPattern } from "../../vocab/text/pattern.ts";

/** `too-long`: the answer is unknown. The caller decides against the value. */
export type MatchPattern = (text: string) => "fits" | "does-not" | "too-long";

/** Null: it is no pattern, has two readings, or might take forever. */
export function readSchemaPattern(text: string): MatchPattern | null {
  const unicode = compiled(text, "u");
  // written for an engine without Unicode: harmless as long as nothing in it depends on that
  const native = unicode ?? (/\\[pPuAaZzk]/.test(text) ? null : compiled(text, ""));
  if (native === null) return null;
  const read = readPattern(text);
  if (read.kind === "pattern") return (value) => read.pattern.look(value);
  return isTame(text) ? (value) => (native.test(value) ? "fits" : "does-not") : null;
}

function compiled(text: string, flags: string): RegExp | null {
  try {
    return new RegExp(text, flags);
  } catch {
    return null;
  }
}

const isTame = (text: string): boolean => text.length <= 200 && !/\)[*+{?]/.test(text) && [...text.matchAll(/[*+]|,\}/g)].length <= 2;
