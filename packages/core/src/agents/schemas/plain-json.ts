import { copyFrozen, type Json } from "../../vocab/index.ts";

type Plain = Readonly<{ kind: "json"; value: Json } | { kind: "not-json"; detail: string }>;

/** A frozen copy as JSON. A field that is `undefined` counts as absent; anything else that JSON cannot hold is refused. */
export function toJson(value: unknown): Plain {
  try {
    return { kind: "json", value: copyFrozen((holdsUndefined(value, 0) ? withoutUndefined(value) : value) as Json) };
  } catch (error) {
    return { kind: "not-json", detail: jsonErrorText(error) };
  }
}

const MAX_DEPTH = 512;

/** Looks everywhere, so that a circle is met here, wherever it lies. */
function holdsUndefined(value: unknown, depth: number): boolean {
  if (depth > MAX_DEPTH) throw new TypeError(`nested deeper than ${MAX_DEPTH}, or a circle`);
  if (typeof value !== "object" || value === null) return value === undefined;
  let found = false;
  for (const inner of Object.values(value)) found = holdsUndefined(inner, depth + 1) || found;
  return found;
}

function withoutUndefined(value: unknown): unknown {
  if (Array.isArray(value)) return Array.from(value, withoutUndefined);
  if (typeof value !== "object" || value === null) return value;
  const proto: unknown = Object.getPrototypeOf(value);
  if (proto !== Object.prototype && proto !== null) return value; // the copy will refuse it by name
  const kept: Record<string, unknown> = Object.create(null);
  for (const [key, inner] of Object.entries(value)) if (inner !== undefined) kept[key] = withoutUndefined(inner);
  return kept;
}

export const jsonErrorText = (error: unknown): string => (error instanceof Error ? error.message : String(error));
