/**
 * Whether a value fits a JSON Schema that was audited (`json-schema.ts`), and what it is once defaults are filled in.
 *
 * T-39 One function decides which schemas apply to a key; that a key is unknown, and what its value must fit, both follow from it.
 * T-39 A default is filled in only if it fits its own schema, and what comes out is checked as if it had been sent so.
 * T-40 The work is bounded: a schema whose alternatives multiply refuses the value instead of holding up the process. T-40 So does one of many patterns.
 */
import * as z from "zod";
import { type Json, type JsonObject, toCanonicalJson } from "../../vocab/index.ts";
import { resolveSchemaRef } from "../../vocab/schema-ref.ts";
import { type MatchPattern, readSchemaPattern } from "./schema-pattern.ts";
import type { StandardIssue, StandardResult } from "./standard-schema.ts";

/** Step limit for checking one value: a base, and more for each of its parts. */
const [STEPS, STEPS_PER_PART] = [100_000, 20];
const MAX_DEPTH = 1_000;

type Path = readonly PropertyKey[];
type Pass = Readonly<{
  root: JsonObject;
  patterns: Map<string, MatchPattern | null>;
  fills: boolean;
  count: { left: number; depth: number };
  issues: StandardIssue[];
}>;

class TooMuch extends Error {}

/** Patterns are read once for each schema. */
export function createJsonSchemaCheck(root: JsonObject): (value: Json) => StandardResult<Json> {
  const patterns = new Map<string, MatchPattern | null>();
  const pass = (value: Json, fills: boolean): Readonly<{ value: Json; issues: readonly StandardIssue[] }> => {
    const issues: StandardIssue[] = [];
    const made = fit(root, value, [], {
      root,
      patterns,
      fills,
      count: { left: STEPS + STEPS_PER_PART * partsOf(value), depth: 0 },
      issues,
    });
    return { value: made, issues };
  };
  return (value) => {
    try {
      const first = pass(value, true);
      if (first.issues.length > 0) return { issues: first.issues };
      if (first.value === value) return { value };
      const second = pass(first.value, false);
      return second.issues.length > 0 ? { issues: second.issues } : { value: first.value };
    } catch (error) {
      if (error instanceof TooMuch) return { issues: [{ message: "it takes too many steps to check against the schema" }] };
      throw error;
    }
  };
}

/** The value, with defaults if this pass fills them in. What is wrong is added to the pass. */
function fit(schema: Json, value: Json, at: Path, pass: Pass): Json {
  const { count } = pass;
  count.left -= 1;
  if (count.left < 0 || count.depth > MAX_DEPTH) throw new TooMuch();
  if (schema === true) return value;
  if (!isObject(schema)) return wrong(pass, at, value, "nothing may stand here");
  count.depth += 1;
  try {
    return fitObject(schema, value, at, pass);
  } finally {
    count.depth -= 1;
  }
}

function fitObject(schema: JsonObject, value: Json, at: Path, pass: Pass): Json {
  const { $ref: ref, anyOf, oneOf, allOf, enum: values } = schema;
  if (typeof ref === "string") return fit(resolveSchemaRef(pass.root, ref) ?? false, value, at, pass);
  if (isList(anyOf)) return fitAlternatives({ schemas: anyOf, onlyOne: false }, value, at, pass);
  if (isList(oneOf)) return fitAlternatives({ schemas: oneOf, onlyOne: true }, value, at, pass);
  if (isList(allOf)) return allOf.reduce<Json>((so, one) => fit(one, so, at, pass), value);
  const fixed = isList(values) ? values : "const" in schema ? [schema.const ?? null] : null;
  if (fixed !== null) {
    if (fixed.includes(value)) return value; // 0 and -0 are one number
    return wrong(pass, at, value, `invalid option: expected one of ${fixed.map((one) => JSON.stringify(one)).join("|")}`);
  }
  return fitTyped(schema, value, at, pass);
}

/** `onlyOne`: a value that fits several of the schemas is refused. */
type Alternatives = Readonly<{ schemas: readonly Json[]; onlyOne: boolean }>;

/** The value by the first alternative that it fits. */
function fitAlternatives({ schemas, onlyOne }: Alternatives, value: Json, at: Path, pass: Pass): Json {
  const tried = schemas.map((one) => {
    const issues: StandardIssue[] = [];
    return { value: fit(one, value, at, { ...pass, issues }), issues };
  });
  const fitting = tried.filter(({ issues }) => issues.length === 0);
  const [first] = fitting;
  if (first === undefined) return wrong(pass, at, value, `invalid input: it fits none of ${schemas.length} alternatives`);
  if (onlyOne && fitting.length > 1)
    return wrong(pass, at, value, `invalid input: it fits ${fitting.length} alternatives, and must fit one`);
  return first.value;
}

function fitTyped(schema: JsonObject, value: Json, at: Path, pass: Pass): Json {
  const types = typeof schema.type === "string" ? [schema.type] : isList(schema.type) ? schema.type : null;
  if (types !== null && !types.some((type) => isOfType(value, type)))
    return wrong(pass, at, value, `invalid input: expected ${types.join(" or ")}, received ${kindOf(value)}`);
  if (typeof value === "string") return fitText(schema, value, at, pass);
  if (typeof value === "number") return fitNumber(schema, value, at, pass);
  if (isList(value)) return fitList(schema, value, at, pass);
  return isObject(value) ? fitFields(schema, value, at, pass) : value;
}

function fitText(schema: JsonObject, value: string, at: Path, pass: Pass): Json {
  const { minLength, maxLength, pattern, format } = schema;
  if (typeof minLength === "number" || typeof maxLength === "number") {
    const length = lengthOf(value);
    if (length < Number(minLength ?? 0)) wrong(pass, at, value, `too small: expected string to have >=${minLength} characters`);
    if (length > Number(maxLength ?? length)) wrong(pass, at, value, `too big: expected string to have <=${maxLength} characters`);
  }
  if (typeof pattern === "string" && look(pattern, value, pass) !== "fits")
    wrong(pass, at, value, `invalid string: must match pattern /${pattern}/`);
  if (typeof format === "string" && !formatOf(format).safeParse(value).success)
    wrong(pass, at, value, `invalid ${format.replaceAll("-", " ")}`);
  return value;
}

/** In characters, not in halves of them. */
function lengthOf(text: string): number {
  let length = 0;
  for (const _ of text) length += 1;
  return length;
}

const formats = new Map<string, z.ZodType>();
/** Formats that Zod does not know assert nothing, as JSON Schema has it. */
function formatOf(format: string): z.ZodType {
  const made = formats.get(format) ?? z.fromJSONSchema({ type: "string", format });
  if (formats.size < 100) formats.set(format, made);
  return made;
}

function fitNumber(schema: JsonObject, value: number, at: Path, pass: Pass): Json {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  const hold = (ok: boolean, text: string): void => void (ok || wrong(pass, at, value, text));
  if (typeof minimum === "number") hold(value >= minimum, `too small: expected number to be >=${minimum}`);
  if (typeof maximum === "number") hold(value <= maximum, `too big: expected number to be <=${maximum}`);
  if (typeof exclusiveMinimum === "number") hold(value > exclusiveMinimum, `too small: expected number to be >${exclusiveMinimum}`);
  if (typeof exclusiveMaximum === "number") hold(value < exclusiveMaximum, `too big: expected number to be <${exclusiveMaximum}`);
  if (typeof multipleOf === "number")
    hold(z.number().multipleOf(multipleOf).safeParse(value).success, `invalid number: must be a multiple of ${multipleOf}`);
  return value;
}

function fitList(schema: JsonObject, value: readonly Json[], at: Path, pass: Pass): Json {
  const { prefixItems, items = true, minItems, maxItems, uniqueItems, contains } = schema;
  const places = isList(prefixItems) ? prefixItems : [];
  const made = mapped(value, (one, i) => fit(places[i] ?? items, one, [...at, i], pass));
  if (typeof minItems === "number" && value.length < minItems)
    wrong(pass, at, value, `too small: expected array to have >=${minItems} items`);
  if (typeof maxItems === "number" && value.length > maxItems)
    wrong(pass, at, value, `too big: expected array to have <=${maxItems} items`);
  if (uniqueItems === true && new Set(made.map(toCanonicalJson)).size < made.length) wrong(pass, at, value, "array items must be unique");
  if (contains === undefined) return made;
  const found = made.filter((one) => {
    const issues: StandardIssue[] = [];
    fit(contains, one, at, { ...pass, fills: false, issues });
    return issues.length === 0;
  }).length;
  const [least, most] = [Number(schema.minContains ?? 1), Number(schema.maxContains ?? found)];
  if (found < least) wrong(pass, at, value, `array must contain at least ${least} matching items; found ${found}`);
  if (found > most) wrong(pass, at, value, `array must contain at most ${most} matching items; found ${found}`);
  return made;
}

/** Which schemas apply to a key. None: nothing declares it. Null: a pattern cannot tell. */
function schemasFor(key: string, schema: JsonObject, pass: Pass): readonly Json[] | null {
  const found = ownIn(schema.properties, key);
  const applying = found === undefined ? [] : [found];
  for (const [pattern, one] of Object.entries(isObject(schema.patternProperties) ? schema.patternProperties : {})) {
    const said = look(pattern, key, pass);
    if (said === "too-long") return null;
    if (said === "fits") applying.push(one);
  }
  return applying;
}

function fitFields(schema: JsonObject, given: JsonObject, at: Path, pass: Pass): Json {
  const { required, propertyNames, minProperties, maxProperties, additionalProperties = true } = schema;
  const value = pass.fills ? withDefaults(schema, given, pass) : given;
  const unknown: string[] = [];
  const fields = Object.entries(value).map(([key, one]): [string, Json] => {
    const here = [...at, key];
    const own = Object.hasOwn(given, key) ? pass : { ...pass, fills: false }; // a default is taken as it stands: it may lead back to itself
    if (propertyNames !== undefined) fit(propertyNames, key, here, { ...pass, fills: false });
    const applying = schemasFor(key, schema, pass);
    if (applying !== null && applying.length > 0) return [key, applying.reduce<Json>((so, s) => fit(s, so, here, own), one)];
    if (applying !== null && additionalProperties !== false) return [key, fit(additionalProperties, one, here, own)];
    unknown.push(key);
    return [key, one];
  });
  if (unknown.length > 0)
    wrong(pass, at, value, `unrecognized key${unknown.length === 1 ? "" : "s"}: ${unknown.map((key) => JSON.stringify(key)).join(", ")}`);
  for (const name of isList(required) ? required : [])
    if (typeof name === "string" && !Object.hasOwn(value, name)) wrong(pass, [...at, name], value, "it is required, and missing");
  const size = fields.length;
  if (typeof minProperties === "number" && size < minProperties)
    wrong(pass, at, value, `too small: expected object to have >=${minProperties} properties`);
  if (typeof maxProperties === "number" && size > maxProperties)
    wrong(pass, at, value, `too big: expected object to have <=${maxProperties} properties`);
  return fields.every(([key, one]) => one === value[key]) ? value : Object.fromEntries(fields);
}

function withDefaults(schema: JsonObject, value: JsonObject, pass: Pass): JsonObject {
  const missing: [string, Json][] = [];
  for (const [name, one] of Object.entries(isObject(schema.properties) ? schema.properties : {})) {
    if (Object.hasOwn(value, name)) continue;
    const given = defaultOf(one, pass.root);
    if (given === undefined) continue;
    const issues: StandardIssue[] = [];
    fit(one, given, [], { ...pass, fills: false, issues });
    if (issues.length === 0) missing.push([name, given]);
  }
  return missing.length === 0 ? value : Object.fromEntries([...Object.entries(value), ...missing]);
}

const MAX_REFS = 20;
/** Its own, or that of what it refers to. */
function defaultOf(schema: Json, root: JsonObject): Json | undefined {
  let at: Json | undefined = schema;
  for (let refs = 0; refs < MAX_REFS && isObject(at); refs += 1) {
    if (at.default !== undefined) return at.default;
    at = typeof at.$ref === "string" ? resolveSchemaRef(root, at.$ref) : undefined;
  }
  return undefined;
}

/** A pattern goes through the text: it costs as many steps more as the text is long. */
function look(pattern: string, text: string, { patterns, count }: Pass): ReturnType<MatchPattern> {
  count.left -= 1 + (text.length >> 3);
  if (count.left < 0) throw new TooMuch();
  const known = patterns.get(pattern);
  const read = known === undefined ? readSchemaPattern(pattern) : known;
  if (known === undefined) patterns.set(pattern, read);
  return read === null ? "too-long" : read(text);
}

function wrong(pass: Pass, path: Path, value: Json, message: string): Json {
  pass.issues.push({ message, path });
  return value;
}

/** The same list where nothing has changed: only what was filled in is checked again. */
function mapped(list: readonly Json[], make: (one: Json, index: number) => Json): readonly Json[] {
  const made = list.map(make);
  return made.every((one, i) => one === list[i]) ? list : made;
}

function partsOf(value: Json): number {
  if (typeof value === "string") return 1 + (value.length >> 4);
  if (typeof value !== "object" || value === null) return 1;
  let parts = 1;
  for (const inner of Object.values(value)) parts += partsOf(inner);
  return parts;
}

const ownIn = (of: Json | undefined, key: string): Json | undefined => (isObject(of) && Object.hasOwn(of, key) ? of[key] : undefined);
const isList = (value: Json | undefined): value is readonly Json[] => Array.isArray(value);
const isObject = (value: Json | undefined): value is JsonObject => typeof value === "object" && value !== null && !Array.isArray(value);
const kindOf = (value: Json): string => (value === null ? "null" : isList(value) ? "array" : typeof value);

function isOfType(value: Json, type: Json): boolean {
  if (type === "integer") return Number.isSafeInteger(value); // beyond, nobody knows which number was meant
  if (type === "number") return Number.isFinite(value);
  return kindOf(value) === type;
}
