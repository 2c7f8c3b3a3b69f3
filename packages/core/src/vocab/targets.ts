/** Targets of a call, and the way to them: `passengers[].email` leads to the address of each passenger. */
import type { Digest } from "./ids.ts";
import { resolveSchemaRef } from "./schema-ref.ts";
import type { Json, JsonObject } from "./text/canonical.ts";
import { followJsonPath, type PathStep } from "./text/json-path.ts";

const MAX_REFS = 12;

/** Values of the arguments that a tool marks as targets, by argument; empty where one was not given. */
export type Targets = Readonly<Record<string, readonly string[]>>;
/** What a call adds to the totals of a number: ten-thousandths, and the values of the target for which totals are counted apart. */
export type CountedAmount = Readonly<{ by: number; per: readonly Digest[] }>;

/** The name that policies use, which needs no quotes: `passengers_email`. */
export const toTargetName = (path: readonly PathStep[]): string =>
  path.flatMap((step) => (step.kind === "field" ? [step.name] : [])).join("_");

/** What lies there, in the order of the arguments; nulls and absent fields are left out. */
export const findAtPath = (args: JsonObject, path: readonly PathStep[]): readonly Json[] =>
  followJsonPath(args, path).filter((one) => one !== undefined && one !== null);

/** `required`: whoever fits the schema has every field on the way. Null: the schema does not lead there. */
export function followSchema(schema: JsonObject, path: readonly PathStep[]): Readonly<{ required: boolean }> | null {
  let at: JsonObject | null = schema;
  let required = true;
  for (const step of path) {
    at = at === null ? null : resolved(schema, at);
    if (at === null) return null;
    const inner: Json | undefined = step.kind === "each" ? at["items"] : asObject(at["properties"])?.[step.name];
    if (inner === undefined) return null;
    if (step.kind === "field") required &&= Array.isArray(at["required"]) && (at["required"] as readonly Json[]).includes(step.name);
    at = asObject(inner);
  }
  return at === null ? null : { required };
}

/** What may be null besides is followed as if it could not be; other alternatives lead nowhere. */
function resolved(root: JsonObject, given: JsonObject): JsonObject | null {
  let at: JsonObject | null = given;
  for (let left = MAX_REFS; at !== null && left > 0; left -= 1) {
    if (at["properties"] !== undefined || at["items"] !== undefined) return at;
    const variants: Json | undefined = at["anyOf"] ?? at["oneOf"];
    const some: readonly (JsonObject | null)[] = Array.isArray(variants)
      ? variants.map(asObject).filter((one) => one !== null && one["type"] !== "null")
      : [];
    if (typeof at["$ref"] === "string") at = asObject(resolveSchemaRef(root, at["$ref"]));
    else if (some.length === 1) at = some[0] ?? null;
    else return at;
  }
  return null;
}

const asObject = (value: Json | undefined): JsonObject | null =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : null;
