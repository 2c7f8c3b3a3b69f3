/**
 * How deep a policy is nested. Cedar reads a text of any depth, and takes back the parsed form, which it decides by, only to some depth: what it did not take
 * back would load, and then deny whatever it has a part in.
 */
import type { CedarError, Engine, PolicyJson } from "./engine.ts";

/** Far below what Cedar takes: only what is deeper is tried. */
const DEEP = 90;

/** Null: the engine decides by it. */
export function refuseTooDeep(json: PolicyJson, engine: Pick<Engine, "keep">): CedarError | null {
  if (depthOf(json) <= DEEP || isTakenBack(json, engine)) return null;
  return {
    message: "it is nested deeper than Cedar can decide by: nothing that it has a part in would be permitted",
    help: 'compare with a set, `["a", "b"].contains(…)`, in place of many `||`, or make several policies of it',
    sourceLocations: [{ start: 0, end: 0 }],
  };
}

function isTakenBack(json: PolicyJson, engine: Pick<Engine, "keep">): boolean {
  try {
    return engine.keep({ policy: json }).type === "success";
  } catch {
    return false; // what reads it for Cedar says so in its own way
  }
}

/** Level by level: a recursion would end where the text is too deep for it. */
function depthOf(json: unknown): number {
  let depth = 0;
  for (let level = [json].filter(isInner); level.length > 0; level = level.flatMap((one) => Object.values(one)).filter(isInner)) depth += 1;
  return depth;
}
const isInner = (value: unknown): value is object => typeof value === "object" && value !== null;
