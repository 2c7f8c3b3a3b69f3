/**
 * A tool's JSON Schema as Cedar types, and its arguments as Cedar values.
 * What Cedar cannot type (free-form objects, unions of different shapes, mixed lists) is left out and named: a policy that reads it does not load.
 */
import type { Json, JsonObject } from "../vocab/index.ts";
import type { CedarRecord, CedarValue } from "./engine.ts";
import { escapePointer, toDecimal } from "./numbers.ts";

export type ArgType = Readonly<{ kind: "string" | "long" | "decimal" | "boolean" }> | Readonly<{ kind: "set"; of: ArgType }> | RecordType;
export type RecordType = Readonly<{ kind: "record"; fields: ReadonlyMap<string, Readonly<{ type: ArgType; required: boolean }>> }>;
/** Where, and why it has no type. */
export type Untyped = Readonly<{ path: string; why: string }>;

const MAX_DEPTH = 12;

export function argTypes(schema: JsonObject): Readonly<{ type: RecordType; untyped: readonly Untyped[] }> {
  const untyped: Untyped[] = [];
  const found = typeOf(schema, { root: schema, path: "args", depth: 0, untyped });
  return { type: found?.kind === "record" ? found : { kind: "record", fields: new Map() }, untyped };
}

type At = Readonly<{ root: JsonObject; path: string; depth: number; untyped: Untyped[] }>;

function typeOf(given: Json | undefined, at: At): ArgType | null {
  const no = (why: string): null => {
    at.untyped.push({ path: at.path, why });
    return null;
  };
  if (at.depth > MAX_DEPTH) return no("it is nested too deep");
  const schema = resolve(given, at.root);
  if (schema === null) return no("it may be anything");
  const variants = variantsOf(schema).filter((v) => !isNull(v));
  if (variants.length > 1) return union(variants, at, no);
  const [only = schema] = variants;
  if (only !== schema) return typeOf(only, { ...at, depth: at.depth + 1 });
  return plain(schema, at, no);
}

function plain(schema: JsonObject, at: At, no: (why: string) => null): ArgType | null {
  switch (typeName(schema)) {
    case "string":
      return { kind: "string" };
    case "integer":
      return { kind: "long" };
    case "number":
      return { kind: "decimal" };
    case "boolean":
      return { kind: "boolean" };
    case "array": {
      if (Array.isArray(schema["prefixItems"]) || Array.isArray(schema["items"])) return no("a list of fixed places has no type in Cedar");
      const of = typeOf(schema["items"], { ...at, path: `${at.path}[]`, depth: at.depth + 1 });
      return of === null ? null : { kind: "set", of };
    }
    case "object":
      return record(schema, at, no);
    default:
      return no("it may be anything");
  }
}

function record(schema: JsonObject, at: At, no: (why: string) => null): ArgType | null {
  const properties = asObject(schema["properties"]);
  if (properties === null) return no("a free-form object has no type in Cedar");
  const required = new Set(Array.isArray(schema["required"]) ? schema["required"] : []);
  const fields = new Map<string, { type: ArgType; required: boolean }>();
  for (const [name, property] of Object.entries(properties)) {
    const inner = { ...at, path: `${at.path}.${name}`, depth: at.depth + 1 };
    if (name.startsWith("__")) {
      at.untyped.push({ path: inner.path, why: "names that begin with two underscores mean something else to Cedar" });
      continue;
    }
    const type = typeOf(property, inner);
    if (type !== null) fields.set(name, { type, required: required.has(name) && !mayBeNull(property, at.root) });
  }
  const more = schema["additionalProperties"];
  if (more !== undefined && more !== false && (more !== true || fields.size === 0)) {
    at.untyped.push({ path: `${at.path}.*`, why: "further arguments of any name have no type in Cedar" });
  }
  return { kind: "record", fields };
}

/** Alternatives that are all records become one, with what some of them lack as optional; alternatives of one type are that type. */
function union(variants: readonly JsonObject[], at: At, no: (why: string) => null): ArgType | null {
  const quiet: Untyped[] = [];
  const types = variants.map((v) => typeOf(v, { ...at, depth: at.depth + 1, untyped: quiet }));
  const [first] = types;
  if (first === null || first === undefined || types.some((t) => t === null)) return no("one of its alternatives has no type in Cedar");
  if (types.every((t) => t !== null && same(t, first))) return first;
  if (!types.every((t) => t?.kind === "record")) return no("its alternatives have different types");
  const fields = new Map<string, { type: ArgType; required: boolean }>();
  for (const t of types) {
    if (t?.kind !== "record") continue;
    for (const [name, field] of t.fields) {
      const seen = fields.get(name);
      if (seen !== undefined && !same(seen.type, field.type)) return no(`its alternatives disagree about \`${name}\``);
      fields.set(name, { type: field.type, required: types.every((o) => o?.kind === "record" && o.fields.get(name)?.required === true) });
    }
  }
  at.untyped.push(...quiet);
  return { kind: "record", fields };
}

function same(a: ArgType, b: ArgType): boolean {
  if (a.kind === "set" && b.kind === "set") return same(a.of, b.of);
  if (a.kind !== "record" || b.kind !== "record") return a.kind === b.kind;
  if (a.fields.size !== b.fields.size) return false;
  for (const [name, field] of a.fields) {
    const other = b.fields.get(name);
    if (other === undefined || other.required !== field.required || !same(other.type, field.type)) return false;
  }
  return true;
}

function variantsOf(schema: JsonObject): readonly JsonObject[] {
  for (const key of ["anyOf", "oneOf"]) {
    const list = schema[key];
    if (Array.isArray(list)) return objectsOf(list);
  }
  const all = schema["allOf"];
  if (Array.isArray(all) && all.length === 1) return objectsOf(all);
  const type = schema["type"];
  return Array.isArray(type) ? type.map((t) => ({ ...schema, type: t as Json })) : [schema];
}

const objectsOf = (list: readonly Json[]): readonly JsonObject[] => list.map(asObject).filter((o) => o !== null);

function typeName(schema: JsonObject): string | null {
  if (typeof schema["type"] === "string") return schema["type"];
  const values = Array.isArray(schema["enum"]) ? schema["enum"] : "const" in schema ? [schema["const"]] : [];
  const kinds = new Set(values.map((v) => (typeof v === "number" ? (Number.isInteger(v) ? "integer" : "number") : typeof v)));
  const [kind] = kinds;
  return kinds.size === 1 && kind !== undefined && kind !== "object" ? kind : null;
}

const isNull = (schema: JsonObject): boolean => schema["type"] === "null" || schema["const"] === null;
const mayBeNull = (schema: Json | undefined, root: JsonObject): boolean => {
  const resolved = resolve(schema, root);
  return resolved !== null && variantsOf(resolved).some(isNull);
};

function asObject(value: Json | undefined): JsonObject | null {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : null;
}

/** References within the document only. */
function resolve(given: Json | undefined, root: JsonObject): JsonObject | null {
  let schema = asObject(given);
  for (let hops = 0; schema !== null && typeof schema["$ref"] === "string" && hops < 16; hops += 1) {
    const ref = schema["$ref"];
    if (!ref.startsWith("#")) return null;
    const steps = ref
      .slice(1)
      .split("/")
      .filter((s) => s !== "");
    schema = steps.reduce<JsonObject | null>((o, s) => asObject(o?.[s.replaceAll("~1", "/").replaceAll("~0", "~")]), root);
  }
  return schema;
}

/** The type as a Cedar schema in its JSON form writes it. */
export function toSchemaType(type: ArgType): { readonly [key: string]: Json } {
  switch (type.kind) {
    case "string":
      return { type: "String" };
    case "long":
      return { type: "Long" };
    case "boolean":
      return { type: "Boolean" };
    case "decimal":
      return { type: "Extension", name: "decimal" };
    case "set":
      return { type: "Set", element: toSchemaType(type.of) };
    case "record":
      return {
        type: "Record",
        attributes: Object.fromEntries([...type.fields].map(([name, f]) => [name, { ...toSchemaType(f.type), required: f.required }])),
      };
  }
}

/** What a policy reads and Cedar cannot hold exactly: the action is denied, whatever the policies say. */
export class Unrepresentable extends Error {
  override readonly name = "Unrepresentable";
}

/** What is wanted of a record: all of it, or these fields. */
export type Need = { whole: boolean; readonly fields: Map<string, Need> };

/** The values a slice can read, and no others. `inexact` are pointers to numbers whose text says more than they hold. */
export function toCedar(value: Json, type: ArgType, need: Need, inexact: readonly string[], pointer = ""): CedarValue | null {
  if (value === null) return null; // absent, as far as a policy can see
  switch (type.kind) {
    case "string":
      return expect(typeof value === "string" ? value : null, pointer, "is no text");
    case "boolean":
      return expect(typeof value === "boolean" ? value : null, pointer, "is neither true nor false");
    case "long":
    case "decimal":
      return numeric(value, type.kind, inexact, pointer);
    case "set":
      if (!Array.isArray(value)) throw new Unrepresentable(`args${pointer} is no list`);
      return value.flatMap((v, i) => toCedar(v as Json, type.of, WHOLE, inexact, `${pointer}/${i}`) ?? []);
    case "record":
      return toCedarRecord(value, type, need, inexact, pointer);
  }
}

const WHOLE: Need = { whole: true, fields: new Map() };

function toCedarRecord(value: Json, type: RecordType, need: Need, inexact: readonly string[], pointer: string): CedarRecord {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Unrepresentable(`args${pointer} is no object`);
  const fields = value as JsonObject;
  const out: Record<string, CedarValue> = {};
  for (const name of need.whole ? type.fields.keys() : need.fields.keys()) {
    const field = type.fields.get(name);
    if (field === undefined || !Object.hasOwn(fields, name)) continue;
    const inner = toCedar(
      fields[name] ?? null,
      field.type,
      need.whole ? WHOLE : (need.fields.get(name) ?? WHOLE),
      inexact,
      `${pointer}/${escapePointer(name)}`,
    );
    if (inner !== null) out[name] = inner;
  }
  return out;
}

function numeric(value: Json, kind: "long" | "decimal", inexact: readonly string[], pointer: string): CedarValue {
  if (typeof value !== "number") throw new Unrepresentable(`args${pointer} is no number`);
  if (inexact.includes(pointer)) throw new Unrepresentable(`args${pointer} says more than a number can hold`);
  if (kind === "long") {
    if (!Number.isSafeInteger(value)) throw new Unrepresentable(`args${pointer} is beyond what a whole number can hold exactly`);
    return value;
  }
  const decimal = toDecimal(value);
  if (decimal === null) throw new Unrepresentable(`args${pointer} has more than four places, or is out of range`);
  return { __extn: { fn: "decimal", arg: decimal } };
}

function expect<T>(value: T | null, pointer: string, wrong: string): T {
  if (value === null) throw new Unrepresentable(`args${pointer} ${wrong}`);
  return value;
}
