/**
 * A tool's JSON Schema as Cedar types, and its arguments as Cedar values.
 * A value that Cedar cannot type (free-form objects, unions of different shapes, mixed lists) is opaque: a policy may test for it with `has`, and one that
 * reads it does not load.
 * G-12 `has` is true of every argument that is given, whatever its type: a test that says false of what is there would permit it.
 */
import { type Json, type JsonObject, toCanonicalJson } from "../../vocab/index.ts";
import { resolveSchemaRef } from "../../vocab/schema-ref.ts";
import type { CedarRecord, CedarValue } from "../policies/engine.ts";
import { escapePointer, toDecimal } from "./numbers.ts";

export type CedarType =
  | Readonly<{ kind: "string" | "long" | "decimal" | "boolean" | "opaque" }>
  | Readonly<{ kind: "set"; of: CedarType }>
  | RecordType;
export type RecordType = Readonly<{ kind: "record"; fields: ReadonlyMap<string, Readonly<{ type: CedarType; required: boolean }>> }>;
/** Where, and why it has no type. */
export type Untyped = Readonly<{ path: string; why: string }>;

/** `__entity` and `__extn` are how Cedar's JSON writes an entity and a call; nothing that is named from outside may look like one. */
export const isPlainType = (name: string): boolean => !name.startsWith("__");
/** The entity type that stands for an opaque value in policies: it has no attributes, so `has` is all that can be asked. */
export const OPAQUE_TYPE = "OrgateOpaque";
const OPAQUE: CedarType = { kind: "opaque" };
export const RESERVED = "names that begin with two underscores mean something else to Cedar";

const MAX_DEPTH = 12;
/** A catalogue comes from outside: however its definitions refer to each other, reading them ends. */
const MAX_PARTS = 2_000;

export function toArgTypes(schema: JsonObject): Readonly<{ type: RecordType; untyped: readonly Untyped[] }> {
  const untyped: Untyped[] = [];
  const found = typeOf(schema, { root: schema, path: "args", depth: 0, within: ["#"], untyped, parts: { left: MAX_PARTS } });
  return { type: found?.kind === "record" ? found : { kind: "record", fields: new Map() }, untyped };
}

type At = Readonly<{
  root: JsonObject;
  path: string;
  depth: number;
  /** The references that led here. */
  within: readonly string[];
  untyped: Untyped[];
  parts: { left: number };
}>;

function typeOf(given: Json | undefined, at: At): CedarType | null {
  const no = (why: string): null => {
    at.untyped.push({ path: at.path, why });
    return null;
  };
  at.parts.left -= 1;
  if (at.depth > MAX_DEPTH || at.parts.left < 0) return no("it is nested too deep");
  const resolved = resolve(given, at.root);
  if (resolved === null) return no("it may be anything");
  const { schema, refs } = resolved;
  if (refs.some((ref) => at.within.includes(ref))) return no("it contains itself");
  const here = refs.length === 0 ? at : { ...at, within: [...at.within, ...refs] };
  const variants = variantsOf(schema, at.root).filter((v) => !isNull(v));
  if (variants.length > 1) return union(variants, here, no);
  const [only = schema] = variants;
  return only === schema ? plain(schema, here, no) : typeOf(only, { ...here, depth: at.depth + 1 });
}

function plain(schema: JsonObject, at: At, no: (why: string) => null): CedarType | null {
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

function record(schema: JsonObject, at: At, no: (why: string) => null): CedarType | null {
  const properties = asObject(schema["properties"]);
  if (properties === null) return no("a free-form object has no type in Cedar");
  const required = new Set(Array.isArray(schema["required"]) ? schema["required"] : []);
  const fields = new Map<string, { type: CedarType; required: boolean }>();
  for (const [name, property] of Object.entries(properties)) {
    const inner = { ...at, path: `${at.path}.${name}`, depth: at.depth + 1 };
    if (!isPlainType(name)) {
      at.untyped.push({ path: inner.path, why: RESERVED });
      continue;
    }
    const type = typeOf(property, inner) ?? OPAQUE;
    fields.set(name, { type, required: required.has(name) && !mayBeNull(property, at.root) });
  }
  const more = schema["additionalProperties"];
  if (more !== undefined && more !== false && (more !== true || fields.size === 0)) {
    at.untyped.push({ path: `${at.path}.*`, why: "further arguments of any name have no type in Cedar" });
  }
  return { kind: "record", fields };
}

/** Alternatives that are all records become one, with what some of them lack as optional; alternatives of one type are that type. */
function union(variants: readonly JsonObject[], at: At, no: (why: string) => null): CedarType | null {
  const quiet: Untyped[] = [];
  const types = variants.map((v) => typeOf(v, { ...at, depth: at.depth + 1, untyped: quiet }));
  const [first] = types;
  if (first === null || first === undefined || types.some((t) => t === null)) return no("one of its alternatives has no type in Cedar");
  if (types.every((t) => t !== null && same(t, first))) return first;
  if (!types.every((t) => t?.kind === "record")) return no("its alternatives have different types");
  const fields = new Map<string, { type: CedarType; required: boolean }>();
  for (const t of types) {
    if (t?.kind !== "record") continue;
    for (const [name, field] of t.fields) {
      const seen = fields.get(name);
      const agree = seen === undefined || same(seen.type, field.type);
      if (!agree && seen.type !== OPAQUE) quiet.push({ path: `${at.path}.${name}`, why: "its alternatives have different types" });
      const required = types.every((o) => o?.kind === "record" && o.fields.get(name)?.required === true);
      fields.set(name, { type: agree ? field.type : OPAQUE, required });
    }
  }
  at.untyped.push(...quiet);
  return { kind: "record", fields };
}

function same(a: CedarType, b: CedarType): boolean {
  if (a.kind === "set" && b.kind === "set") return same(a.of, b.of);
  if (a.kind !== "record" || b.kind !== "record") return a.kind === b.kind;
  if (a.fields.size !== b.fields.size) return false;
  for (const [name, field] of a.fields) {
    const other = b.fields.get(name);
    if (other === undefined || other.required !== field.required || !same(other.type, field.type)) return false;
  }
  return true;
}

/** The alternatives of a value, one schema each. Keywords beside them hold for all of them. */
function variantsOf(schema: JsonObject, root: JsonObject): readonly JsonObject[] {
  for (const key of ["anyOf", "oneOf"]) {
    const list = schema[key];
    if (!Array.isArray(list)) continue;
    const { [key]: _, ...beside } = schema;
    if (typeof beside["type"] !== "string" && asObject(beside["properties"]) === null) return objectsOf(list);
    const merged = objectsOf(list).map((v) => withBase(beside, resolve(v, root)?.schema ?? v));
    return merged.every((m) => toCanonicalJson(m["properties"] ?? {}) === toCanonicalJson(beside["properties"] ?? {})) ? [beside] : merged;
  }
  const all = schema["allOf"];
  if (Array.isArray(all) && all.length === 1 && schema["type"] === undefined) return objectsOf(all);
  if (Array.isArray(all) && all.length > 0) {
    const { allOf: _, ...beside } = schema;
    return [objectsOf(all).reduce<JsonObject>((base, part) => withBase(base, resolve(part, root)?.schema ?? part), beside)];
  }
  const type = schema["type"];
  if (Array.isArray(type)) return type.map((t) => ({ ...schema, type: t as Json }));
  const values = schema["enum"];
  return type === undefined && Array.isArray(values) && values.length > 1 && values.includes(null)
    ? [{ enum: values.filter((v) => v !== null) }, { type: "null" }]
    : [schema];
}

function withBase(base: JsonObject, variant: JsonObject): JsonObject {
  const properties = { ...asObject(base["properties"]), ...asObject(variant["properties"]) };
  const required = [base, variant].flatMap((s) => (Array.isArray(s["required"]) ? (s["required"] as Json[]) : []));
  return { ...base, ...variant, properties, required };
}

const objectsOf = (list: readonly Json[]): readonly JsonObject[] => list.map(asObject).filter((o) => o !== null);

function typeName(schema: JsonObject): string | null {
  if (typeof schema["type"] === "string") return schema["type"];
  const values = Array.isArray(schema["enum"]) ? schema["enum"] : "const" in schema ? [schema["const"]] : [];
  const kinds = new Set(values.map((v) => typeof v));
  const [kind] = kinds;
  if (kinds.size !== 1 || kind === undefined || kind === "object") return null;
  return kind === "number" && values.every(Number.isInteger) ? "integer" : kind;
}

const isNull = (schema: JsonObject): boolean =>
  schema["type"] === "null" ||
  schema["const"] === null ||
  (Array.isArray(schema["enum"]) && schema["enum"].length > 0 && schema["enum"].every((v) => v === null));
const mayBeNull = (given: Json | undefined, root: JsonObject): boolean => {
  const schema = resolve(given, root)?.schema;
  return schema !== undefined && variantsOf(schema, root).some(isNull);
};

function asObject(value: Json | undefined): JsonObject | null {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : null;
}

/** References within the document only. */
function resolve(given: Json | undefined, root: JsonObject): { readonly schema: JsonObject; readonly refs: readonly string[] } | null {
  const refs: string[] = [];
  let schema = asObject(given);
  for (; schema !== null && typeof schema["$ref"] === "string"; ) {
    const ref: string = schema["$ref"];
    if (refs.includes(ref)) return null;
    refs.push(ref);
    schema = asObject(resolveSchemaRef(root, ref));
  }
  return schema === null ? null : { schema, refs };
}

/** The type as a Cedar schema in its JSON form writes it. */
export function toSchemaType(type: CedarType): { readonly [key: string]: Json } {
  switch (type.kind) {
    case "string":
      return { type: "String" };
    case "long":
      return { type: "Long" };
    case "boolean":
      return { type: "Boolean" };
    case "decimal":
      return { type: "Extension", name: "decimal" };
    case "opaque":
      return { type: "Entity", name: OPAQUE_TYPE };
    case "set":
      return { type: "Set", element: toSchemaType(type.of) };
    case "record":
      return {
        type: "Record",
        attributes: Object.fromEntries([...type.fields].map(([name, f]) => [name, { ...toSchemaType(f.type), required: f.required }])),
      };
  }
}

/** A policy reads a value that Cedar cannot hold exactly: the action is denied, whatever the policies say. */
export class Unrepresentable extends Error {
  override readonly name = "Unrepresentable";
}

/** The part of a record that policies read: all of it, or these fields; without any, only whether it is there. */
export type Need = { whole: boolean; readonly fields: Map<string, Need> };

/** The values a slice can read, and no others. `inexact` are pointers to numbers whose text says more than they hold. */
export const toCedar = (value: Json, type: CedarType, need: Need, inexact: readonly string[]): CedarValue | null =>
  toCedarAt({ inexact, pointer: "" }, value, type, need);

/** `pointer` names a value in messages; `inexact` lists pointers of numbers that JavaScript has rounded. */
type ArgPlace = Readonly<{ inexact: readonly string[]; pointer: string }>;

function toCedarAt(at: ArgPlace, value: Json, type: CedarType, need: Need): CedarValue | null {
  const { inexact, pointer } = at;
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
      return value.map(
        (v, i) => toCedarAt({ inexact, pointer: `${pointer}/${i}` }, v as Json, type.of, WHOLE) ?? noNull(`${pointer}/${i}`),
      );
    case "opaque":
      return opaque(pointer);
    case "record":
      return toCedarRecord(at, value, type, need);
  }
}

/** Left out of a set, it would be invisible: `containsAll` and `isEmpty` would say too much. */
function noNull(pointer: string): never {
  throw new Unrepresentable(`args${pointer} is null, which no set of Cedar's can hold`);
}

const WHOLE: Need = { whole: true, fields: new Map() };

const opaque = (pointer: string): CedarValue => ({ __entity: { type: OPAQUE_TYPE, id: pointer } });

/** An argument that is given and not declared (the schema is open) is opaque too where a policy asks for it by name. A record that is read whole cannot hold it. */
function toCedarRecord({ inexact, pointer }: ArgPlace, value: Json, type: RecordType, need: Need): CedarRecord {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Unrepresentable(`args${pointer} is no object`);
  const fields = value as JsonObject;
  const out: Record<string, CedarValue> = {};
  for (const name of need.whole ? Object.keys(fields) : need.fields.keys()) {
    const given = Object.hasOwn(fields, name) ? (fields[name] ?? null) : null;
    if (given === null) continue;
    const field = type.fields.get(name);
    const at = `${pointer}/${escapePointer(name)}`;
    if (field === undefined && (need.whole || !isPlainType(name)))
      throw new Unrepresentable(`args${at} is not in the tool's schema, so it cannot be compared`);
    const inner = field === undefined ? opaque(at) : toCedarAt({ inexact, pointer: at }, given, field.type, within(need, name));
    if (inner !== null) out[name] = inner;
  }
  return out;
}
const within = (need: Need, name: string): Need => (need.whole ? WHOLE : (need.fields.get(name) ?? WHOLE));

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
