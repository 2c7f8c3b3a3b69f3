/** Strict reading of JSON text that came from outside. Never guesses: a repeated key is an error, like a missing brace. */
import type { Json } from "./canonical.ts";

export type JsonText =
  | { readonly kind: "json"; readonly value: Json }
  | { readonly kind: "not-json"; readonly detail: string; readonly line: number; readonly column: number };

const MAX_DEPTH = 128;

export function readJson(text: string): JsonText {
  const found = scan(text);
  if (found !== null) return { kind: "not-json", detail: found.detail, ...position(text, found.at) };
  // JSON.parse is the grammar; the scan only adds what it lets through
  try {
    return { kind: "json", value: JSON.parse(text) as Json };
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    const at = /position (\d+)/.exec(detail)?.[1];
    return { kind: "not-json", detail: plain(detail), ...position(text, at === undefined ? text.length : Number(at)) };
  }
}

/** V8 quotes the text itself in its messages; ours stay one line and short. */
const plain = (message: string): string =>
  message
    .replace(/,? ?"[\s\S]*$/, "")
    .replace(/ in JSON at position[\s\S]*$/, "")
    .replace(/ \(line[\s\S]*$/, "") || "not JSON";

export function position(text: string, at: number): { line: number; column: number } {
  const before = text.slice(0, at);
  const line = before.split("\n").length;
  return { line, column: at - before.lastIndexOf("\n") };
}

/** Finds a repeated key or a nesting too deep, in one pass over strings and brackets. Anything else is left to JSON.parse. */
function scan(text: string): { detail: string; at: number } | null {
  const stack: (Set<string> | null)[] = []; // a set of keys per open object, null per open array
  let key = false; // the next string is a key
  for (let i = 0; i < text.length; i += 1) {
    const c = text[i];
    if (c === '"') {
      const end = stringEnd(text, i);
      if (key) {
        const name = unquoted(text.slice(i, end));
        const keys = stack.at(-1);
        if (keys?.has(name)) return { detail: `key \`${name}\` stands twice in one object`, at: i };
        keys?.add(name);
        key = false;
      }
      i = end - 1;
    } else if (c === "{" || c === "[") {
      if (stack.length >= MAX_DEPTH) return { detail: `nested deeper than ${MAX_DEPTH}`, at: i };
      stack.push(c === "{" ? new Set() : null);
      key = c === "{";
    } else if (c === "}" || c === "]") {
      stack.pop();
      key = false;
    } else if (c === ",") key = stack.at(-1) instanceof Set;
  }
  return null;
}

function stringEnd(text: string, start: number): number {
  for (let i = start + 1; i < text.length; i += 1) {
    if (text[i] === "\\") i += 1;
    else if (text[i] === '"') return i + 1;
  }
  return text.length;
}

function unquoted(quoted: string): string {
  try {
    return JSON.parse(quoted) as string;
  } catch {
    return quoted; // not a string: JSON.parse of the whole will say so
  }
}
