/**
 * Patterns of contracts and schemas, matched in time that grows with the text alone.
 *
 * T-40 whatever a pattern and whatever a value, matching takes a bounded number of steps: all ways through the pattern are gone at once, one
 *      character after the other, and none is gone twice. What cannot be matched so (backward references, looking around) is refused at load.
 */
import { type Node, readPatternText } from "./pattern-text.ts";

export type Pattern = Readonly<{
  /** `too-long`: it would take more steps than there may be. */
  look(text: string): "fits" | "does-not" | "too-long";
  /** Every reader of JSON Schema understands it alike. */
  isCommon: boolean;
}>;
export type ReadPattern = Readonly<{ kind: "pattern"; pattern: Pattern } | { kind: "refused"; why: string }>;

const MAX_PARTS = 20_000;
export const MAX_STEPS = 10_000_000;

export function readPattern(text: string): ReadPattern {
  const read = readPatternText(text);
  if (read.kind === "refused") return read;
  const parts = partsOf(read.tree);
  if (typeof parts === "string") return { kind: "refused", why: parts };
  return { kind: "pattern", pattern: { look: (value) => looked(parts, value), isCommon: isCommon(text) } };
}

/** Rust's flags and anchors are not everybody's. */
function isCommon(text: string): boolean {
  if (/\(\?(?![:<])|\(\?P/.test(text)) return false;
  try {
    return new RegExp(text, "u") instanceof RegExp;
  } catch {
    return false;
  }
}

type Part =
  | Readonly<{ kind: "one"; is(code: number): boolean }>
  | { kind: "fork"; other: number }
  | { kind: "go"; to: number }
  | Readonly<{ kind: "place"; what: Extract<Node, { kind: "place" }>["what"]; isWord(code: number): boolean }>
  | Readonly<{ kind: "end" }>;

/** One after the other; a string says why not. */
function partsOf(tree: Node): readonly Part[] | string {
  const parts: Part[] = [];
  const kinds = new Map<string, (code: number) => boolean>();
  const kindOf = (source: string, flags: string): ((code: number) => boolean) => {
    const key = `${flags}/${source}`;
    const found = kinds.get(key) ?? memberOf(source, flags);
    kinds.set(key, found);
    return found;
  };
  const add = (part: Part): void => {
    if (parts.length >= MAX_PARTS) throw new RangeError("too large");
    parts.push(part);
  };
  const put = (node: Node): void => {
    if (node.kind === "one") add({ kind: "one", is: kindOf(node.source, node.flags) });
    else if (node.kind === "place") add({ kind: "place", what: node.what, isWord: kindOf("\\w", node.flags) });
    else if (node.kind === "all") for (const one of node.of) put(one);
    else if (node.kind === "any") choices(node.of);
    else repeat(node);
  };
  const choices = (of: readonly Node[]): void => {
    const ends: { kind: "go"; to: number }[] = [];
    for (const [i, one] of of.entries()) {
      const fork = { kind: "fork" as const, other: 0 };
      if (i < of.length - 1) add(fork);
      put(one);
      if (i === of.length - 1) continue;
      const end = { kind: "go" as const, to: 0 };
      add(end);
      ends.push(end);
      fork.other = parts.length;
    }
    for (const end of ends) end.to = parts.length;
  };
  const repeat = ({ of, min, max }: Extract<Node, { kind: "repeat" }>): void => {
    for (let i = 0; i < min; i += 1) put(of);
    if (max === null) {
      const fork = { kind: "fork" as const, other: 0 };
      const from = parts.length;
      add(fork);
      put(of);
      add({ kind: "go", to: from });
      fork.other = parts.length;
      return;
    }
    const forks: { kind: "fork"; other: number }[] = [];
    for (let i = min; i < max; i += 1) {
      const fork = { kind: "fork" as const, other: 0 };
      add(fork);
      forks.push(fork);
      put(of);
    }
    for (const fork of forks) fork.other = parts.length;
  };
  try {
    put(tree);
    add({ kind: "end" });
    return parts;
  } catch (error) {
    if (error instanceof RangeError) return "stands for too much: its counts multiply";
    if (error instanceof SyntaxError) return "names characters that nobody knows";
    throw error;
  }
}

/** Whether a character is of a kind; a pattern over one character takes no time to speak of, and most are in the table. */
function memberOf(source: string, flags: string): (code: number) => boolean {
  const one = new RegExp(`^${source}$`, flags);
  const table = Uint8Array.from({ length: 128 }, (_, code) => (one.test(String.fromCharCode(code)) ? 1 : 0));
  return (code) => (code < 128 ? table[code] === 1 : one.test(String.fromCodePoint(code)));
}

/** All ways at once: `now` holds the parts that wait for the next character, each once. */
function looked(parts: readonly Part[], text: string): "fits" | "does-not" | "too-long" {
  const seen = new Int32Array(parts.length).fill(-1);
  let [now, later]: [number[], number[]] = [[], []];
  const todo: number[] = [];
  let steps = 0;
  /** Follows what needs no character; true when the end is among it. */
  const reach = (from: number, at: number, before: number, after: number): boolean => {
    todo.push(from);
    for (let i = todo.pop(); i !== undefined; i = todo.pop()) {
      if (seen[i] === at) continue;
      seen[i] = at;
      steps += 1;
      const part = parts[i];
      if (part === undefined || part.kind === "end") {
        todo.length = 0;
        return true;
      }
      if (part.kind === "one") later.push(i);
      else if (part.kind === "go") todo.push(part.to);
      else if (part.kind === "fork") todo.push(part.other, i + 1);
      else if (isThere(part, before, after)) todo.push(i + 1);
    }
    return false;
  };
  for (let [at, before, tick] = [0, NONE, 0]; ; tick += 1) {
    const after = at < text.length ? (text.codePointAt(at) ?? NONE) : NONE;
    // what waits was found by the character before; a match may begin at any place
    if (reach(0, tick, before, after)) return "fits";
    if (after === NONE) return "does-not";
    [now, later] = [later, []];
    at += after > 0xffff ? 2 : 1;
    const next = at < text.length ? (text.codePointAt(at) ?? NONE) : NONE;
    for (const i of now) {
      steps += 1;
      const part = parts[i];
      if (part?.kind === "one" && part.is(after) && reach(i + 1, tick + 1, after, next)) return "fits";
    }
    if (steps > MAX_STEPS) return "too-long";
    before = after;
  }
}

const NONE = -1;
const isLineEnd = (code: number): boolean => code === 10 || code === 13 || code === 0x2028 || code === 0x2029;

function isThere({ what, isWord }: Extract<Part, { kind: "place" }>, before: number, after: number): boolean {
  const edge = (): boolean => (before !== NONE && isWord(before)) !== (after !== NONE && isWord(after));
  switch (what) {
    case "start":
      return before === NONE;
    case "end":
      return after === NONE;
    case "line-start":
      return before === NONE || isLineEnd(before);
    case "line-end":
      return after === NONE || isLineEnd(after);
    case "edge":
      return edge();
    case "no-edge":
      return !edge();
  }
}
