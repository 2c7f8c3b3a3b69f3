/**
 * Strict reading of JSON text that came from outside. Never guesses: a repeated key is an error, like a missing brace; so is a number
 * that no number of ours can hold, and a nesting that would only serve to break a reader. Every error has its place.
 */
import type { Json } from "./canonical.ts";

export type JsonText =
  | { readonly kind: "json"; readonly value: Json }
  | { readonly kind: "not-json"; readonly detail: string; readonly line: number; readonly column: number };

const MAX_DEPTH = 128;

/** `mostValues` bounds keys and values together, where a text may be long: a long string is cheap to read, a million keys are not. */
export function readJson(text: string, mostValues = Number.POSITIVE_INFINITY): JsonText {
  const found = scan(text, mostValues);
  if (found !== null) return { kind: "not-json", detail: found.detail, ...toPosition(text, found.at) };
  return { kind: "json", value: JSON.parse(text) as Json };
}

export function toPosition(text: string, at: number): { line: number; column: number } {
  let line = 1;
  let start = 0;
  for (let i = 0; i < at; i += 1) {
    if (text.charCodeAt(i) !== 0x0a) continue;
    line += 1;
    start = i + 1;
  }
  return { line, column: at - start + 1 };
}

type Wrong = { readonly detail: string; readonly at: number };
/** Expected next: a value, a value or the end of an array, a key, a key or the end of an object, or the token that follows a value. */
type Due = "value" | "value-or-end" | "key" | "key-or-end" | "after";

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /true|false|null/y;
const HEX = /[0-9a-fA-F]{4}/y;

/** The first thing that is wrong, in one pass; null when JSON.parse will take the text and nothing in it is said twice. */
function scan(text: string, mostValues: number): Wrong | null {
  const stack: (Set<string> | null)[] = []; // a set of keys per open object, null per open array
  let due: Due = "value";
  let at = 0;
  let values = 0;
  for (;;) {
    at = afterSpace(text, at);
    const c = text[at];
    if (c === undefined) return due === "after" && stack.length === 0 ? null : { detail: "unexpected end", at };
    const open = stack.at(-1);
    if (due === "after") {
      if (c === "," && open !== undefined) due = open === null ? "value" : "key";
      else if ((c === "]" && open === null) || (c === "}" && open instanceof Set)) stack.pop();
      else return unexpected(text, at);
      at += 1;
    } else if ((c === "]" && due === "value-or-end") || (c === "}" && due === "key-or-end")) {
      stack.pop();
      due = "after";
      at += 1;
    } else if (values >= mostValues) {
      return { detail: `more than ${mostValues} keys and values`, at };
    } else if (due === "key" || due === "key-or-end") {
      values += 1;
      if (c !== '"') return unexpected(text, at);
      const end = stringEnd(text, at);
      if (typeof end !== "number") return end;
      // as it would be written: what is ill-formed is made well-formed first, and then two keys may be one
      const name = nameIn(text.slice(at, end));
      if (open?.has(name)) return { detail: `key \`${clip(name)}\` stands twice in one object`, at };
      open?.add(name);
      at = afterSpace(text, end);
      if (text[at] !== ":") return { detail: at === text.length ? "unexpected end" : `no \`:\` after key \`${clip(name)}\``, at };
      due = "value";
      at += 1;
    } else if (c === "{" || c === "[") {
      values += 1;
      if (stack.length >= MAX_DEPTH) return { detail: `nested deeper than ${MAX_DEPTH}`, at };
      stack.push(c === "{" ? new Set() : null);
      due = c === "{" ? "key-or-end" : "value-or-end";
      at += 1;
    } else {
      values += 1;
      const end = c === '"' ? stringEnd(text, at) : wordEnd(text, at);
      if (typeof end !== "number") return end;
      if (end === at) return unexpected(text, at);
      at = end;
      due = "after";
    }
  }
}

/** A key is quoted in part: an error must not be as long as the text. */
const clip = (name: string): string => (name.length > 100 ? `${name.slice(0, 100)}…` : name);

const unexpected = (text: string, at: number): Wrong => ({
  detail: `unexpected \`${String.fromCodePoint(text.codePointAt(at) ?? 0)}\``,
  at,
});

function afterSpace(text: string, at: number): number {
  for (let i = at; ; i += 1) {
    const c = text.charCodeAt(i);
    if (c !== 0x20 && c !== 0x0a && c !== 0x0d && c !== 0x09) return i;
  }
}

const nameIn = (quoted: string): string => (quoted.includes("\\") ? (JSON.parse(quoted) as string) : quoted.slice(1, -1)).toWellFormed();

function skip(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}

/** Where a number or one of the three words ends; `at` itself when there is none. */
function wordEnd(text: string, at: number): number | Wrong {
  const end = skip(NUMBER, text, at);
  if (end === at) return skip(WORD, text, at);
  const digits = text.slice(at, end);
  if (Number.isFinite(Number(digits))) return end;
  return { detail: `number \`${digits.length > 20 ? `${digits.slice(0, 20)}…` : digits}\` is out of range`, at };
}

function stringEnd(text: string, start: number): number | Wrong {
  for (let i = start + 1; i < text.length; i += 1) {
    const c = text.charCodeAt(i);
    if (c === 0x22) return i + 1;
    if (c < 0x20) return { detail: "a control character in a string", at: i };
    if (c !== 0x5c) continue;
    const end = escapeEnd(text, i);
    if (end === i) return { detail: "a bad escape in a string", at: i };
    i = end - 1;
  }
  return { detail: "a string without its end", at: start };
}

/** Where an escape ends; `at` itself when there is no escape. */
function escapeEnd(text: string, at: number): number {
  switch (text.charCodeAt(at + 1)) {
    case 0x22: // "
    case 0x5c: // \
    case 0x2f: // /
    case 0x62: // b
    case 0x66: // f
    case 0x6e: // n
    case 0x72: // r
    case 0x74: // t
      return at + 2;
    case 0x75: // u
      return skip(HEX, text, at + 2) === at + 6 ? at + 6 : at;
    default:
      return at;
  }
}
