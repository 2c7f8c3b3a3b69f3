/**
 * A structured answer without a language: a value that fits a schema, from what the request and the results say, and from the schema where they say nothing.
 *
 * M-2 the same request gets the same value, and for schemas without patterns it fits. A field is taken from a result that has it by name; a text
 *      from quotes, a number from the numbers, a fixed value where it is named. What is not said is the least that fits, and may be empty.
 */
import type { Json, JsonObject } from "@orgate/core";

/** Values that an answer may use, each once. */
export type AnswerSources = { texts: string[]; numbers: number[]; said: ReadonlySet<string>; results: readonly Json[] };

export const answerFromSources = (schema: JsonObject, sources: AnswerSources): Json =>
  valueBy(schema, { root: schema, sources, name: null, depth: 0 });

type At = Readonly<{ root: JsonObject; sources: AnswerSources; name: string | null; depth: number }>;
const MAX_DEPTH = 12;

function valueBy(given: Json, at: At): Json {
  const schema = resolved(given, at.root);
  const found = at.name === null ? undefined : named(at.name, at.sources.results);
  if (found !== undefined && fits(found, schema, at.root)) return found;
  if (schema.const !== undefined) return schema.const;
  if (isList(schema.enum)) return schema.enum.find((one) => at.sources.said.has(String(one).toLowerCase())) ?? schema.enum[0] ?? null;
  const choices = choicesIn(schema);
  if (choices !== null) return choice(choices, at);
  if (schema.default !== undefined) return schema.default;
  const examples = schema.examples;
  if (examples !== undefined && isList(examples) && examples[0] !== undefined) return examples[0];
  switch (typeOf(schema)) {
    case "object":
      return objectBy(schema, at);
    case "array":
      return Array.from({ length: countIn(schema.minItems) }, () => valueBy(schema.items ?? {}, deeper(at, null)));
    case "string":
      return textBy(schema, at);
    case "integer":
    case "number":
      return numberBy(schema, at);
    case "boolean":
      return at.sources.said.has("true") || at.sources.said.has("yes");
    default:
      return null;
  }
}

/** Several types are several schemas. */
function choicesIn(schema: JsonObject): readonly Json[] | null {
  const { type, anyOf, oneOf } = schema;
  if (isList(type)) return type.map((one) => ({ ...schema, type: one }));
  const choices = anyOf ?? oneOf;
  return isList(choices) ? choices : null;
}

/** Of several the one that something was said for; null goes before what would be made up. */
function choice(choices: readonly Json[], at: At): Json {
  const schemas = choices.map((one) => resolved(one, at.root));
  const isNull = (one: JsonObject): boolean => one.type === "null";
  const said = schemas.find((one) => !isNull(one) && isSaid(one, at.sources));
  const first = schemas.find((one) => !isNull(one));
  const taken = said ?? (schemas.some(isNull) || at.depth > MAX_DEPTH ? null : first);
  return taken === null || taken === undefined ? null : valueBy(taken, deeper(at, at.name));
}

function isSaid(schema: JsonObject, { texts, numbers, said }: AnswerSources): boolean {
  const fixed = isList(schema.enum) ? schema.enum : schema.const === undefined ? [] : [schema.const];
  if (fixed.length > 0) return fixed.some((one) => said.has(String(one).toLowerCase()));
  const type = typeOf(schema);
  return (type === "string" && texts.length > 0) || ((type === "number" || type === "integer") && numbers.length > 0);
}

/** Required fields, and fields that a result has. */
function objectBy(schema: JsonObject, at: At): Json {
  const properties = objectOf(schema.properties);
  const required = isList(schema.required) ? schema.required : [];
  const names = Object.keys(properties).filter((name) => required.includes(name) || named(name, at.sources.results) !== undefined);
  if (at.depth > MAX_DEPTH) return {};
  return Object.fromEntries(names.map((name) => [name, valueBy(properties[name] ?? {}, deeper(at, name))]));
}

const FORMATS: Readonly<Record<string, string>> = {
  date: "1970-01-01",
  "date-time": "1970-01-01T00:00:00Z",
  time: "00:00:00Z",
  email: "nobody@example.com",
  uri: "https://example.com/",
  uuid: "00000000-0000-4000-8000-000000000000",
};

function textBy(schema: JsonObject, { root, sources }: At): string {
  const at = sources.texts.findIndex((one) => fits(one, schema, root));
  const [taken] = at < 0 ? [] : sources.texts.splice(at, 1);
  if (taken !== undefined) return taken;
  const made = typeof schema.format === "string" ? (FORMATS[schema.format] ?? "") : "";
  return made.padEnd(countIn(schema.minLength), "-");
}

function numberBy(schema: JsonObject, { root, sources }: At): number {
  const at = sources.numbers.findIndex((one) => fits(one, schema, root));
  const [taken] = at < 0 ? [] : sources.numbers.splice(at, 1);
  if (taken !== undefined) return taken;
  const step = typeof schema.multipleOf === "number" ? schema.multipleOf : 1;
  const least = Math.max(numberIn(schema.minimum, Number.NEGATIVE_INFINITY), numberIn(schema.exclusiveMinimum, Number.NEGATIVE_INFINITY));
  const most = Math.min(numberIn(schema.maximum, Number.POSITIVE_INFINITY), numberIn(schema.exclusiveMaximum, Number.POSITIVE_INFINITY));
  const start = least > 0 ? Math.ceil(least / step) * step : most < 0 ? Math.floor(most / step) * step : 0;
  const tries = [start, start + step, start - step, (least + most) / 2];
  return tries.find((one) => fits(one, schema, root)) ?? 0;
}

// ─ a rough check of the schema; the runtime's own check is the one that counts

function fits(value: Json, given: Json, root: JsonObject): boolean {
  const schema = resolved(given, root);
  if (schema.const !== undefined) return JSON.stringify(value) === JSON.stringify(schema.const);
  if (isList(schema.enum)) return schema.enum.some((one) => one === value);
  const choices = choicesIn(schema);
  if (choices !== null) return choices.some((one) => fits(value, one, root));
  const type = typeOf(schema);
  if (typeof value === "string") return type === "string" && fitsText(value, schema);
  if (typeof value === "number")
    return (type === "number" || (type === "integer" && Number.isSafeInteger(value))) && fitsNumber(value, schema);
  if (typeof value === "boolean" || value === null) return type === (value === null ? "null" : "boolean");
  if (isList(value)) {
    const items = schema.items ?? {};
    return type === "array" && value.length >= countIn(schema.minItems) && value.every((one) => fits(one, items, root));
  }
  const properties = objectOf(schema.properties);
  const required = isList(schema.required) ? schema.required : [];
  if (type !== "object" || required.some((name) => typeof name === "string" && !Object.hasOwn(value, name))) return false;
  return Object.entries(value).every(([name, one]: [string, Json]) =>
    Object.hasOwn(properties, name) ? fits(one, properties[name] ?? {}, root) : schema.additionalProperties !== false,
  );
}

const fitsText = (value: string, { minLength, maxLength, pattern, format }: JsonObject): boolean =>
  value.length >= countIn(minLength) &&
  value.length <= numberIn(maxLength, Number.POSITIVE_INFINITY) &&
  (typeof pattern !== "string" || new RegExp(pattern, "u").test(value)) &&
  (typeof format !== "string" || !Object.hasOwn(FORMATS, format) || FORMATS[format] === value);

const fitsNumber = (value: number, { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf }: JsonObject): boolean =>
  value >= numberIn(minimum, Number.NEGATIVE_INFINITY) &&
  value <= numberIn(maximum, Number.POSITIVE_INFINITY) &&
  value > numberIn(exclusiveMinimum, Number.NEGATIVE_INFINITY) &&
  value < numberIn(exclusiveMaximum, Number.POSITIVE_INFINITY) &&
  (typeof multipleOf !== "number" || Number.isInteger(value / multipleOf));

/** The latest result that has it. */
function named(name: string, results: readonly Json[]): Json | undefined {
  const having = results.findLast((one) => typeof one === "object" && one !== null && !isList(one) && Object.hasOwn(one, name));
  return having === undefined ? undefined : objectOf(having)[name];
}

function resolved(given: Json, root: JsonObject): JsonObject {
  const schema = objectOf(given);
  const path = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(typeof schema.$ref === "string" ? schema.$ref : "");
  if (schema.$ref === "#") return root;
  return path === null ? schema : objectOf(objectOf(root[path[1] ?? ""])[path[2] ?? ""]);
}

const typeOf = ({ type, properties }: JsonObject): string =>
  typeof type === "string" ? type : properties === undefined ? "null" : "object";

const deeper = (at: At, name: string | null): At => ({ ...at, name, depth: at.depth + 1 });
const isList = (value: Json | undefined): value is readonly Json[] => Array.isArray(value);
const objectOf = (value: Json | undefined): JsonObject => (typeof value === "object" && value !== null && !isList(value) ? value : {});
const countIn = (value: Json | undefined): number => (typeof value === "number" ? value : 0);
const numberIn = (value: Json | undefined, otherwise: number): number => (typeof value === "number" ? value : otherwise);
