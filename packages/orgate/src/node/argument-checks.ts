/** Checks of arguments, with a fault that names the wrong one: plain JavaScript has no compiler to say so. */
import { FaultError } from "@orgate/core/vocab";

/** Null when the value fits, otherwise what is wrong and where. */
export type ArgumentCheck = (value: unknown, at: string) => Wrong | null;
type Wrong = Readonly<{ at: string; must: string; found: string; hint: string }>;

/** Null when every argument fits. `needs` is by the argument's name, in order. */
export function findWrongArgument(
  verb: string,
  needs: Readonly<Record<string, ArgumentCheck>>,
  args: readonly unknown[],
): FaultError | null {
  for (const [i, [name, need]] of Object.entries(needs).entries()) {
    const wrong = need(args[i], name);
    if (wrong === null) continue;
    const { at, must, found, hint } = wrong;
    return new FaultError({ kind: "usage", detail: `\`${verb}\` was called wrongly: \`${at}\` must be ${must}, and is ${found}`, hint });
  }
  return null;
}

/** Throws unless the arguments fit. */
export function assertArguments(verb: string, needs: Readonly<Record<string, ArgumentCheck>>, ...args: readonly unknown[]): void {
  const wrong = findWrongArgument(verb, needs, args);
  if (wrong !== null) throw wrong;
}

/** The same function; a wrong argument rejects before anything is done. */
export function withArgumentCheck<A extends readonly unknown[], R>(
  verb: string,
  needs: Readonly<Record<string, ArgumentCheck>>,
  work: (...args: A) => Promise<R>,
): (...args: A) => Promise<R> {
  return async (...args) => {
    assertArguments(verb, needs, ...args);
    return work(...args);
  };
}

/** A value that `fits` accepts. */
export const need =
  (must: string, hint: string, fits: (value: unknown) => boolean): ArgumentCheck =>
  (value, at) =>
    fits(value) ? null : { at, must, found: kindOf(value), hint };

export const optional =
  (inner: ArgumentCheck): ArgumentCheck =>
  (value, at) =>
    value === undefined ? null : inner(value, at);

export const listOf =
  (inner: ArgumentCheck, must: string, hint: string): ArgumentCheck =>
  (value, at) => {
    if (!Array.isArray(value)) return { at, must, found: kindOf(value), hint };
    for (const [i, one] of value.entries()) {
      const wrong = inner(one, `${at}[${i}]`);
      if (wrong !== null) return wrong;
    }
    return null;
  };

/** An object with these fields and no other: a misspelt option would silently have no effect. */
export const objectOf =
  (fields: Readonly<Record<string, ArgumentCheck>>, hint: string): ArgumentCheck =>
  (value, at) => {
    const names = Object.keys(fields);
    if (Array.isArray(value)) return { at, must: "an object", found: kindOf(value), hint };
    if (!isObject(value)) return objectWith({}, hint)(value, at);
    const stranger = Object.keys(value).find((name) => !names.includes(name) && value[name] !== undefined);
    if (stranger !== undefined)
      return { at: `${at}.${stranger}`, must: "left out", found: "not an option", hint: `known: ${names.join(", ")}` };
    return objectWith(fields, hint)(value, at);
  };

/** An object with at least these fields. */
export const objectWith =
  (fields: Readonly<Record<string, ArgumentCheck>>, hint: string): ArgumentCheck =>
  (value, at) => {
    if (!isObject(value)) return { at, must: "an object", found: kindOf(value), hint };
    for (const [name, inner] of Object.entries(fields)) {
      const wrong = inner(value[name], `${at}.${name}`);
      if (wrong !== null) return wrong;
    }
    return null;
  };

export const isText = (value: unknown): value is string => typeof value === "string" && value !== "";
export const text = (hint: string): ArgumentCheck => need("a text", hint, isText);
export const aList = (hint: string): ArgumentCheck => need("a list", hint, Array.isArray);

export const oneOf = (...values: readonly string[]): ArgumentCheck =>
  need(values.map((v) => `\`${v}\``).join(" or "), "write one of these words", (v) => typeof v === "string" && values.includes(v));

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === "object" && value !== null;

/** Signs for what is done in their name. */
export const PERSON: ArgumentCheck = need(
  "a person with their key: { name, key }",
  "`openPerson(home, name, ed25519)` reads a person's key; a name or a principal alone cannot sign",
  (v) => isObject(v) && isText(v.name) && isObject(v.key) && isText(v.key.id) && typeof v.key.sign === "function",
);

/** Says what a value is without showing it: it may be a secret. */
function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return "a list";
  if (isObject(value) && typeof value.then === "function") return "a promise: `await` it first";
  if (typeof value === "string") return value === "" ? "an empty text" : "a text";
  if (!isObject(value)) return `a ${typeof value}`;
  const names = Object.keys(value);
  return names.length === 0 ? "an object without fields" : `an object of ${names.slice(0, 8).join(", ")}`;
}
