/**
 * One text per value: RFC 8785 JSON. What is hashed, signed and compared is always this text.
 * Ill-formed strings (lone surrogates) are made well-formed first; what JSON cannot hold is refused, never dropped.
 */
import type { Digest } from "../ids.ts";

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = { readonly [key: string]: Json };

/** Synchronous ports of `core`: the host brings the primitives. */
export type Hash = (text: string) => Digest;
export type Sign = (text: string) => string;

export function toCanonicalJson(value: unknown): string {
  if (isInForm(value)) return JSON.stringify(value);
  const met: Met = { index: false, freeze: false };
  const plain = inForm(value, met);
  return met.index ? written(plain) : JSON.stringify(plain);
}

/** The same of an object without one of its fields. */
export function toCanonicalJsonWithout(value: object, field: string): string {
  if (isFrozenCopy(value)) {
    const { [field]: _, ...rest } = value as Fields;
    return JSON.stringify(rest);
  }
  const met: Met = { index: false, freeze: false };
  const plain = record(value, met, field);
  return met.index ? written(plain) : JSON.stringify(plain);
}

export const digestJson = (value: unknown, hash: Hash): Digest => hash(toCanonicalJson(value));

/**
 * A copy nobody else holds, frozen all the way down: what is checked later cannot have changed meanwhile.
 * It is what the canonical text reads back to: the same values are refused, and the same ones are made well-formed.
 */
export function copyFrozen<T>(value: T): T {
  const met: Met = { index: false, freeze: true };
  const copy = inForm(value, met);
  if (typeof copy === "object" && copy !== null && !met.index && copy !== value) new Marked(copy);
  return copy as T;
}

/** The same of a value that was put together on the spot: nobody else holds it, so that one in canonical order is frozen instead of copied. */
export function freezeOwn<T extends object>(value: T): T {
  if (!isInForm(value)) return copyFrozen(value);
  freezeAll(value);
  return new Marked(value) as T;
}

function freezeAll(value: unknown): void {
  if (typeof value !== "object" || value === null || isFrozenCopy(value)) return;
  for (const inner of Object.values(value)) freezeAll(inner);
  Object.freeze(value);
}

/** A constructor that makes nothing: the fields of a class that extends it are put on what is handed to it. */
function Given(value: object): object {
  return value;
}
/** Puts a mark on copies made here, which nobody can have changed since. A private field: a WeakSet is gone over at every collection, and cost ten times as much. */
class Marked extends (Given as unknown as new (value: object) => object) {
  readonly #isCopy = true;
  static has = (value: object): boolean => #isCopy in value;
}
/** A frozen copy is neither copied nor put in order again. */
export const isFrozenCopy = (value: object): boolean => Marked.has(value);

export function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const inner of Object.values(value)) deepFreeze(inner);
  }
  return value;
}

type Fields = Readonly<Record<string, unknown>>;
/** `index`: there is a key such as `10`. Objects put those first and by number, whatever order they came in. */
type Met = { index: boolean; readonly freeze: boolean };

/** True: `JSON.stringify` writes the canonical text of the value as it stands. What is written often is put together in this order. */
function isInForm(value: unknown): boolean {
  switch (typeof value) {
    case "string":
      return value.isWellFormed();
    case "number":
      return Number.isFinite(value);
    case "boolean":
      return true;
    case "object":
      if (value === null || isFrozenCopy(value)) return true;
      return Array.isArray(value) ? isListInForm(value) : isRecordInForm(value);
    default:
      return false;
  }
}

function isListInForm(values: readonly unknown[]): boolean {
  for (let i = 0; i < values.length; i += 1) if (!isInForm(values[i])) return false; // by index: a hole is no value
  return true;
}

function isRecordInForm(value: object): boolean {
  const proto: unknown = Object.getPrototypeOf(value);
  if (proto !== Object.prototype && proto !== null) return false;
  let before = "";
  for (const key in value) {
    if (key < before || startsWithDigit(key) || !key.isWellFormed() || !isInForm((value as Fields)[key])) return false;
    before = key;
  }
  return true;
}

/** A copy whose own order of keys is the canonical one, so that `JSON.stringify` writes the canonical text: much the quickest way to it. */
function inForm(value: unknown, met: Met): unknown {
  switch (typeof value) {
    case "string":
      return value.isWellFormed() ? value : value.toWellFormed();
    case "number":
      if (!Number.isFinite(value)) throw new TypeError(`${value} is not JSON`);
      return value === 0 ? 0 : value; // -0 is written as 0
    case "boolean":
      return value;
    case "object":
      if (value === null || isFrozenCopy(value)) return value;
      return Array.isArray(value) ? list(value, met) : record(value, met);
    default:
      throw new TypeError(`${typeof value} is not JSON`);
  }
}

function list(values: readonly unknown[], met: Met): readonly unknown[] {
  const copy: unknown[] = [];
  for (let i = 0; i < values.length; i += 1) copy.push(inForm(values[i], met)); // by index: a hole is refused like any `undefined`
  return met.freeze ? Object.freeze(copy) : copy;
}

function record(value: object, met: Met, without: string | null = null): object {
  const proto: unknown = Object.getPrototypeOf(value);
  if (proto !== Object.prototype && proto !== null) throw new TypeError("only plain objects are JSON");
  const fields = value as Fields;
  const copy: Record<string, unknown> = {};
  for (const key of inOrder(fields)) {
    if (key === without) continue;
    if (!key.isWellFormed()) return record(withWellFormedKeys(fields), met, without);
    const inner = inForm(fields[key], met);
    if (key === "__proto__")
      Object.defineProperty(copy, key, { value: inner, enumerable: true }); // assigning it would set the prototype
    else copy[key] = inner;
    if (startsWithDigit(key)) met.index = true;
  }
  return met.freeze ? Object.freeze(copy) : copy;
}

/** By UTF-16 code unit, as RFC 8785 asks. Most objects have few keys, half of them in order already: quicker put in place one by one. */
function inOrder(fields: Fields): readonly string[] {
  const keys = Object.keys(fields);
  if (keys.length > FEW) return keys.sort();
  for (let i = 1; i < keys.length; i += 1) {
    const key = keys[i] ?? "";
    let place = i;
    for (; place > 0 && (keys[place - 1] ?? "") > key; place -= 1) keys[place] = keys[place - 1] ?? "";
    keys[place] = key;
  }
  return keys;
}
const FEW = 16;

function startsWithDigit(key: string): boolean {
  const first = key.charCodeAt(0);
  return first >= 0x30 && first <= 0x39;
}

/** Of what is JSON already, in canonical order, where no object could keep that order by itself. */
function written(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(written).join(",")}]`;
  const fields = value as Fields;
  return `{${inOrder(fields)
    .map((key) => `${JSON.stringify(key)}:${written(fields[key])}`)
    .join(",")}}`;
}

/** Two keys that differ only in what is ill-formed would become one: refused, never merged. */
function withWellFormedKeys(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const clean: Record<string, unknown> = Object.create(null);
  for (const [key, value] of Object.entries(fields)) {
    const name = key.toWellFormed();
    if (name in clean) throw new TypeError("two keys are the same once they are well-formed");
    clean[name] = value;
  }
  return clean;
}
