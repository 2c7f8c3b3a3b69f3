/**
 * One text per value: RFC 8785 JSON. What is hashed, signed and compared is always this text.
 * Ill-formed strings (lone surrogates) are made well-formed first; what JSON cannot hold is refused, never dropped.
 */
import type { Digest } from "./ids.ts";

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = { readonly [key: string]: Json };

/** Synchronous ports of `core`: the host brings the primitives. */
export type Hash = (text: string) => Digest;
export type Sign = (text: string) => string;

export function canonical(value: unknown): string {
  switch (typeof value) {
    case "string":
      return JSON.stringify(value.isWellFormed() ? value : value.toWellFormed());
    case "number":
      if (!Number.isFinite(value)) throw new TypeError(`${value} is not JSON`);
      return JSON.stringify(value); // ECMAScript's shortest form is what RFC 8785 asks for; -0 becomes 0
    case "boolean":
      return value ? "true" : "false";
    case "object":
      return value === null ? "null" : Array.isArray(value) ? list(value) : record(value);
    default:
      throw new TypeError(`${typeof value} is not JSON`);
  }
}

function list(values: readonly unknown[]): string {
  let text = "[";
  for (let i = 0; i < values.length; i += 1) text += (i === 0 ? "" : ",") + canonical(values[i]);
  return `${text}]`;
}

function record(value: object): string {
  const fields = plainFields(value);
  let text = "{";
  for (const key of inOrder(fields)) {
    const name = PLAIN_KEY.test(key) ? `"${key}"` : JSON.stringify(key);
    text += `${text === "{" ? "" : ","}${name}:${canonical(fields[key])}`;
  }
  return `${text}}`;
}

/** Keys that are their own JSON text: almost all of them, and quicker to tell than to write. */
const PLAIN_KEY = /^[\w.:/@ -]*$/;

type Fields = Readonly<Record<string, unknown>>;

function plainFields(value: object): Fields {
  const proto: unknown = Object.getPrototypeOf(value);
  if (proto !== Object.prototype && proto !== null) throw new TypeError("only plain objects are JSON");
  const fields = value as Fields;
  for (const key in fields) if (!key.isWellFormed()) return withWellFormedKeys(fields);
  return fields;
}

/** By UTF-16 code unit, as RFC 8785 asks. What was written or copied here before is in order already. */
function inOrder(fields: Fields): readonly string[] {
  const keys = Object.keys(fields);
  for (let i = 1; i < keys.length; i += 1) if ((keys[i - 1] ?? "") > (keys[i] ?? "")) return keys.sort();
  return keys;
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

export const digestOf = (value: unknown, hash: Hash): Digest => hash(canonical(value));

/**
 * A copy nobody else holds, frozen all the way down: what is checked later cannot have changed meanwhile.
 * The same as reading back the canonical text, without writing it: the same values are refused, and the same ones are made well-formed.
 */
export function frozenCopy<T>(value: T): T {
  return copied(value) as T;
}

function copied(value: unknown): unknown {
  switch (typeof value) {
    case "string":
      return value.isWellFormed() ? value : value.toWellFormed();
    case "number":
      if (!Number.isFinite(value)) throw new TypeError(`${value} is not JSON`);
      return value === 0 ? 0 : value; // -0 is written as 0
    case "boolean":
      return value;
    case "object":
      return value === null
        ? null
        : Object.freeze(Array.isArray(value) ? Array.from(value, (inner) => copied(inner)) : copiedRecord(value));
    default:
      throw new TypeError(`${typeof value} is not JSON`);
  }
}

function copiedRecord(value: object): object {
  const fields = plainFields(value);
  const copy: Record<string, unknown> = {};
  for (const key of inOrder(fields)) {
    const inner = copied(fields[key]);
    if (key !== "__proto__") copy[key] = inner;
    else Object.defineProperty(copy, key, { value: inner, enumerable: true }); // a key like any other: assigning it would set the prototype
  }
  return copy;
}

export function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const inner of Object.values(value)) deepFreeze(inner);
  }
  return value;
}
