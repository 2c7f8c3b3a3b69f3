/**
 * A JSON Schema as a check of arguments. A validator passes over what it does not know: a misspelt keyword, a bound without a type. An
 * argument that was never checked would then reach the gate as if it had been, so a schema is audited first, and whatever would not be
 * enforced is refused with its place (T-3).
 *
 * T-39 A reference leads to one schema of the same document, which is audited like any other, or the schema is refused.
 */
import type { Json, JsonObject } from "../../vocab/index.ts";
import { resolveSchemaRef } from "../../vocab/schema-ref.ts";
import { createJsonSchemaCheck } from "./json-schema-check.ts";
import { toJson } from "./plain-json.ts";
import { readSchemaPattern } from "./schema-pattern.ts";
import { pathText, type StandardSchema } from "./standard-schema.ts";

type Refusal = Readonly<{ at: readonly PropertyKey[]; why: string }>;
/** `audited`: targets of references that were checked, or are being checked. */
type Document = Readonly<{ root: JsonObject; audited: Set<Json>; embedded: boolean }>;

export type FromJsonSchema = Readonly<{ kind: "schema"; schema: StandardSchema<unknown, Json> } | { kind: "refused"; detail: string }>;

export function fromJsonSchema(schema: JsonObject): FromJsonSchema {
  const plain = toJson(schema);
  if (plain.kind === "not-json" || !isObject(plain.value)) return { kind: "refused", detail: "it is no JSON object" };
  const root = plain.value;
  const found = audit(root, [], { root, audited: new Set([root]), embedded: hasEmbeddedId(root, true) });
  if (found !== null) return { kind: "refused", detail: found.at.length === 0 ? found.why : `at \`${pathText(found.at)}\`: ${found.why}` };
  const check = createJsonSchemaCheck(root);
  const validate: StandardSchema<unknown, Json>["~standard"]["validate"] = (value) => {
    const given = toJson(value);
    return given.kind === "json" ? check(given.value) : { issues: [{ message: `not plain JSON: ${given.detail}` }] };
  };
  return { kind: "schema", schema: { "~standard": { version: 1, vendor: "orgate", validate } } };
}

/** An `$id` further down makes `#` mean another place for whatever stands beneath it. */
function hasEmbeddedId(value: Json, isRoot: boolean): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (!isRoot && isObject(value) && typeof value.$id === "string") return true;
  return Object.values(value).some((inner: Json) => hasEmbeddedId(inner, false));
}

const ANNOTATIONS = new Set(
  "$schema $id $comment $defs definitions title description default examples deprecated readOnly writeOnly contentEncoding contentMediaType".split(
    " ",
  ),
);
const TYPES = new Set(["object", "array", "string", "number", "integer", "boolean", "null"]);

type Shape = "count" | "number" | "positive" | "pattern" | "text" | "flag" | "names" | "schema" | "schemas" | "schema-map" | "pattern-map";

/** Which type a keyword asserts something about, and what its value must look like. */
const ASSERTIONS: ReadonlyMap<string, readonly [type: string, shape: Shape]> = new Map([
  ["minLength", ["string", "count"]],
  ["maxLength", ["string", "count"]],
  ["pattern", ["string", "pattern"]],
  ["format", ["string", "text"]],
  ["minimum", ["number", "number"]],
  ["maximum", ["number", "number"]],
  ["exclusiveMinimum", ["number", "number"]],
  ["exclusiveMaximum", ["number", "number"]],
  ["multipleOf", ["number", "positive"]],
  ["properties", ["object", "schema-map"]],
  ["required", ["object", "names"]],
  ["additionalProperties", ["object", "schema"]],
  ["patternProperties", ["object", "pattern-map"]],
  ["propertyNames", ["object", "schema"]],
  ["minProperties", ["object", "count"]],
  ["maxProperties", ["object", "count"]],
  ["items", ["array", "schema"]],
  ["prefixItems", ["array", "schemas"]],
  ["minItems", ["array", "count"]],
  ["maxItems", ["array", "count"]],
  ["uniqueItems", ["array", "flag"]],
  ["contains", ["array", "schema"]],
  ["minContains", ["array", "count"]],
  ["maxContains", ["array", "count"]],
]);

function audit(schema: Json, at: readonly PropertyKey[], doc: Document): Refusal | null {
  if (typeof schema === "boolean") return null;
  if (!isObject(schema)) return { at, why: "a schema is an object, true or false" };
  const asserting = Object.keys(schema).filter((key) => !ANNOTATIONS.has(key) && !key.startsWith("x-"));
  const alone = (key: string, allowed: readonly string[]): Refusal | null => {
    const beside = asserting.find((other) => other !== key && !allowed.includes(other));
    return beside === undefined
      ? null
      : { at: [...at, beside], why: `\`${beside}\` beside \`${key}\` would not be enforced: put it into a schema of its own` };
  };

  const definitions = auditDefinitions(schema, at, doc);
  if (definitions !== null) return definitions;
  if ("$ref" in schema) return alone("$ref", []) ?? auditReference(schema.$ref ?? null, [...at, "$ref"], doc);
  for (const key of ["anyOf", "oneOf", "allOf"]) {
    if (!(key in schema)) continue;
    const inner = schema[key];
    if (!Array.isArray(inner) || inner.length === 0) return { at: [...at, key], why: "must be a list of schemas" };
    if (key === "allOf" && inner.length > 1)
      return { at: [...at, key], why: "`allOf` of several schemas is not supported: write them as one" };
    return alone(key, []) ?? first(inner, (one: Json, i) => audit(one, [...at, key, i], doc));
  }
  if ("enum" in schema || "const" in schema) return auditValues(schema, at) ?? alone("enum" in schema ? "enum" : "const", ["type"]);
  return auditTyped(schema, asserting, at, doc);
}

function auditReference(ref: Json, at: readonly PropertyKey[], doc: Document): Refusal | null {
  const target = typeof ref === "string" ? resolveSchemaRef(doc.root, ref) : undefined;
  if (target === undefined) return { at, why: `\`${String(ref)}\` leads to no schema of this document` };
  if (doc.embedded)
    return { at, why: "a reference is not followed in a document that has an `$id` below its top: it would have two readings" };
  if (doc.audited.has(target)) return null;
  doc.audited.add(target);
  return audit(target, at, doc);
}

function auditDefinitions(schema: JsonObject, at: readonly PropertyKey[], doc: Document): Refusal | null {
  for (const key of ["$defs", "definitions"]) {
    const inner = schema[key];
    if (inner === undefined) continue;
    if (schema !== doc.root) return { at: [...at, key], why: "definitions belong at the top of the schema" };
    if (!isObject(inner)) return { at: [...at, key], why: "must be an object of schemas" };
    const found = first(Object.entries(inner), ([name, one]) => audit(one, [...at, key, name], doc));
    if (found !== null) return found;
  }
  return null;
}

function auditValues(schema: JsonObject, at: readonly PropertyKey[]): Refusal | null {
  const values = "enum" in schema ? schema.enum : [schema.const ?? null];
  if (!Array.isArray(values) || values.length === 0) return { at: [...at, "enum"], why: "must be a list of values" };
  const list: readonly Json[] = values;
  if (list.some((value) => typeof value === "object" && value !== null))
    return { at, why: "lists and objects as fixed values are not supported" };
  const types = typesOf(schema.type ?? null);
  const stray = list.find((value) => types !== null && !types.some((type) => isOfType(value, type)));
  return stray === undefined ? null : { at, why: `the value ${JSON.stringify(stray)} does not fit \`type\`` };
}

function auditTyped(schema: JsonObject, asserting: readonly string[], at: readonly PropertyKey[], doc: Document): Refusal | null {
  const types = typesOf(schema.type ?? null);
  if ("type" in schema) {
    const bad = types === null ? schema.type : types.find((type) => !TYPES.has(type));
    if (bad !== undefined) return { at: [...at, "type"], why: `${JSON.stringify(bad)} is no type: use ${[...TYPES].join(", ")}` };
  }
  for (const key of asserting) {
    if (key === "type") continue;
    const [type, shape] = ASSERTIONS.get(key) ?? [null, null];
    if (type === null) return { at: [...at, key], why: `\`${key}\` is not supported, so it would not be enforced` };
    const covered = (types ?? []).some((one) => one === type || (type === "number" && one === "integer"));
    // names of properties are text whether or not they say so
    if (!covered && !(at.at(-1) === "propertyNames" && type === "string" && types === null))
      return { at: [...at, key], why: `\`${key}\` asserts nothing without \`"type": "${type}"\` beside it` };
    const found = auditShape(shape, schema[key] ?? null, [...at, key], doc);
    if (found !== null) return found;
  }
  return auditNames(schema, at);
}

/** Names that policies could not speak of, or that are misspelt. */
function auditNames(schema: JsonObject, at: readonly PropertyKey[]): Refusal | null {
  const properties = isObject(schema.properties ?? null) ? Object.keys(schema.properties ?? {}) : [];
  const required: readonly Json[] = Array.isArray(schema.required) ? schema.required : [];
  const undeclared = required.find((name) => typeof name === "string" && !properties.includes(name));
  if (undeclared !== undefined)
    return { at: [...at, "required"], why: `\`${String(undeclared)}\` is required but not among \`properties\`` };
  return properties.includes("__proto__") ? { at: [...at, "properties"], why: "`__proto__` cannot be the name of an argument" } : null;
}

function auditShape(shape: Shape, value: Json, at: readonly PropertyKey[], doc: Document): Refusal | null {
  const must = (ok: boolean, what: string): Refusal | null => (ok ? null : { at, why: `must be ${what}` });
  switch (shape) {
    case "count":
      return must(Number.isSafeInteger(value) && Number(value) >= 0, "a whole number of at least 0");
    case "number":
      return must(typeof value === "number", "a number");
    case "positive":
      return must(typeof value === "number" && value > 0, "a number above 0");
    case "flag":
      return must(typeof value === "boolean", "true or false");
    case "text":
      return must(typeof value === "string", "text");
    case "pattern":
      return must(typeof value === "string" && readSchemaPattern(value) !== null, PATTERN);
    case "names":
      return must(Array.isArray(value) && value.every((name) => typeof name === "string"), "a list of names");
    case "schema":
      return Array.isArray(value) ? { at, why: "a list of schemas here is an old draft: use `prefixItems`" } : audit(value, at, doc);
    case "schemas":
      return Array.isArray(value) ? first(value, (one: Json, i) => audit(one, [...at, i], doc)) : must(false, "a list of schemas");
    case "schema-map":
      return isObject(value)
        ? first(Object.entries(value), ([name, one]) => audit(one, [...at, name], doc))
        : must(false, "an object of schemas");
    case "pattern-map":
      if (!isObject(value)) return must(false, "an object of schemas");
      return first(Object.entries(value), ([name, one]) =>
        readSchemaPattern(name) !== null ? audit(one, [...at, name], doc) : { at: [...at, name], why: `must be ${PATTERN}` },
      );
  }
}

const isObject = (value: Json): value is JsonObject => typeof value === "object" && value !== null && !Array.isArray(value);

function typesOf(type: Json): readonly string[] | null {
  if (typeof type === "string") return [type];
  return Array.isArray(type) && type.length > 0 && type.every((one) => typeof one === "string") ? type : null;
}

function isOfType(value: Json, type: string): boolean {
  if (type === "null") return value === null;
  if (type === "integer") return Number.isInteger(value);
  return typeof value === type;
}

const PATTERN = "a regular expression that has one reading and takes time in proportion to the text";

function first<T>(items: readonly T[], look: (item: T, index: number) => Refusal | null): Refusal | null {
  for (const [i, item] of items.entries()) {
    const found = look(item, i);
    if (found !== null) return found;
  }
  return null;
}
