import { expect, test } from "vitest";
import type { Json, JsonObject } from "../../vocab/index.ts";
import { type CedarType, type Need, toArgTypes, toCedar, toSchemaType, Unrepresentable } from "./arg-types.ts";

const WHOLE: Need = { whole: true, fields: new Map() };
const needs = (...path: string[]): Need =>
  path.reduceRight<Need>((inner, name) => ({ whole: false, fields: new Map([[name, inner]]) }), WHOLE);
const object = (properties: JsonObject, required: readonly string[] = Object.keys(properties)): JsonObject => ({
  type: "object",
  properties,
  required,
});
const typed = (property: JsonObject): Json | undefined => {
  const { attributes } = toSchemaType(toArgTypes(object({ x: property })).type) as { attributes: JsonObject };
  return attributes["x"];
};
const untyped = (schema: JsonObject) => toArgTypes(schema).untyped.map((u) => u.path);
const cedar = (schema: JsonObject, args: JsonObject, need: Need = WHOLE, inexact: readonly string[] = []) =>
  toCedar(args, toArgTypes(schema).type as CedarType, need, inexact);

test("G-6 every form of argument that Cedar can type is typed", () => {
  expect(typed({ type: "string" })).toEqual({ type: "String", required: true });
  expect(typed({ type: "integer" })).toEqual({ type: "Long", required: true });
  expect(typed({ type: "number" })).toEqual({ type: "Extension", name: "decimal", required: true });
  expect(typed({ type: "boolean" })).toEqual({ type: "Boolean", required: true });
  expect(typed({ enum: ["a", "b"] })).toEqual({ type: "String", required: true });
  expect(typed({ enum: [1, 2.5] })).toEqual({ type: "Extension", name: "decimal", required: true });
  expect(typed({ const: 3 })).toEqual({ type: "Long", required: true });
  expect(typed({ type: "array", items: { type: "string" } })).toEqual({ type: "Set", element: { type: "String" }, required: true });
  expect(typed(object({ y: { type: "string" } }, []))).toEqual({
    type: "Record",
    attributes: { y: { type: "String", required: false } },
    required: true,
  });
});

test("G-6 what may be null is optional", () => {
  const optional = { type: "String", required: false };
  expect(typed({ type: ["string", "null"] })).toEqual(optional);
  expect(typed({ anyOf: [{ type: "string" }, { type: "null" }] })).toEqual(optional);
  expect(typed({ enum: ["a", null] })).toEqual(optional);
  expect(typed({ oneOf: [{ const: "a" }, { const: null }] })).toEqual(optional);
});

test("G-6 alternatives that are all records are one record, with what some lack as optional", () => {
  const either = { anyOf: [object({ a: { type: "string" }, b: { type: "integer" } }), object({ a: { type: "string" } })] };
  expect(typed(either)).toEqual({
    type: "Record",
    attributes: { a: { type: "String", required: true }, b: { type: "Long", required: false } },
    required: true,
  });
});

test("G-6 alternatives beside properties keep the properties", () => {
  const schema = { ...object({ a: { type: "string" }, b: { type: "string" } }, []), anyOf: [{ required: ["a"] }, { required: ["b"] }] };
  expect([...toArgTypes(schema).type.fields.keys()]).toEqual(["a", "b"]);
  const more = { ...object({ a: { type: "string" } }), oneOf: [object({ b: { type: "integer" } }), object({})] };
  expect(toSchemaType(toArgTypes(more).type)).toMatchObject({
    attributes: { a: { required: true }, b: { type: "Long", required: false } },
  });
});

test("G-6 G-12 what Cedar cannot type is named, and can only be tested for", () => {
  const schema = object({
    ok: { type: "string" },
    free: { type: "object" },
    any: {},
    mixed: { anyOf: [{ type: "string" }, { type: "integer" }] },
    disagree: { anyOf: [object({ a: { type: "string" } }), object({ a: { type: "integer" } })] },
    pair: { type: "array", prefixItems: [{ type: "string" }] },
    many: { type: "array" },
    far: { $ref: "https://example.org/x" },
    __entity: { type: "string" },
    map: { type: "object", properties: {}, additionalProperties: { type: "string" } },
  });
  const kinds = [...toArgTypes(schema).type.fields].map(([name, { type }]) => `${name}: ${type.kind}`);
  const opaque = ["free", "any", "mixed", "pair", "many", "far"].map((name) => `${name}: opaque`);
  expect(kinds.toSorted()).toEqual(["ok: string", "disagree: record", "map: record", ...opaque].toSorted());
  expect(untyped(schema)).toEqual([
    "args.free",
    "args.any",
    "args.mixed",
    "args.disagree.a",
    "args.pair",
    "args.many[]",
    "args.far",
    "args.__entity",
    "args.map.*",
  ]);
});

test("G-12 what stands in several parts of one schema is all of it", () => {
  const schema = { allOf: [object({ a: { type: "string" } }), { $ref: "#/$defs/b" }], $defs: { b: object({ b: { type: "integer" } }) } };
  expect(toSchemaType(toArgTypes(schema).type)).toMatchObject({ attributes: { a: { type: "String" }, b: { type: "Long" } } });
});

test("G-6 references are followed, and what contains itself ends", () => {
  const schema = {
    ...object({ a: { $ref: "#/$defs/name" }, tree: { $ref: "#/$defs/node" }, all: { $ref: "#" }, loop: { $ref: "#/$defs/loop" } }),
    $defs: {
      name: { type: "string" },
      node: object({ left: { $ref: "#/$defs/node" }, right: { $ref: "#/$defs/node" }, value: { type: "integer" } }),
      loop: { $ref: "#/$defs/loop" },
    },
  };
  expect(toSchemaType(toArgTypes(schema).type)).toMatchObject({
    attributes: { a: { type: "String" }, tree: { attributes: { value: { type: "Long" } } } },
  });
  expect(untyped(schema)).toEqual(["args.tree.left", "args.tree.right", "args.all", "args.loop"]);
});

test("G-6 a catalogue whose definitions multiply does not hold up the load", () => {
  const $defs: Record<string, JsonObject> = {};
  for (let i = 0; i < 12; i += 1)
    $defs[`d${i}`] = object(Object.fromEntries(Array.from({ length: 10 }, (_, n) => [`f${n}`, { $ref: `#/$defs/d${i + 1}` }])));
  $defs["d12"] = { type: "string" };
  const { untyped: named } = toArgTypes({ ...object({ x: { $ref: "#/$defs/d0" } }), $defs }); // 10^12 strings, were they all looked at
  expect(named.some((u) => u.why === "it is nested too deep")).toBe(true);
});

test("G-2 arguments that look like an entity or a function stay data", () => {
  const schema = object({
    x: object({ type: { type: "string" }, id: { type: "string" } }),
    list: { type: "array", items: object({ a: { type: "string" } }) },
  });
  const hostile = { __entity: { type: "User", id: "root" }, __extn: { fn: "ip", arg: "::1" }, __proto__: { type: "x" } };
  const args = JSON.parse(JSON.stringify({ x: { type: "User", id: "root", ...hostile }, list: [{ a: "1", ...hostile }], ...hostile }));
  const byName: Need = {
    whole: false,
    fields: new Map([
      [
        "x",
        {
          whole: false,
          fields: new Map([
            ["type", WHOLE],
            ["id", WHOLE],
          ]),
        },
      ],
    ]),
  };
  expect(cedar(schema, args, byName)).toEqual({ x: { type: "User", id: "root" } });
  for (const name of ["x", "list"]) expect(() => cedar(schema, args, needs(name))).toThrow("is not in the tool's schema");
  for (const name of ["__entity", "__extn"]) expect(() => cedar(schema, args, needs(name))).toThrow("is not in the tool's schema");
});

test("G-10 only what is read is converted", () => {
  const schema = object({ a: object({ b: { type: "integer" }, c: { type: "number" } }), d: { type: "number" } });
  expect(cedar(schema, { a: { b: 1, c: 1.5 }, d: 0.000001 }, needs("a", "b"))).toEqual({ a: { b: 1 } });
  expect(cedar(schema, { a: { b: 1, c: 1.5 }, d: 2 }, needs("a"))).toEqual({ a: { b: 1, c: { __extn: { fn: "decimal", arg: "1.5" } } } });
});

test("G-12 what Cedar cannot hold exactly is refused if it is read, and only then", () => {
  const schema = object({
    n: { type: "integer" },
    d: { type: "number" },
    s: { type: "string" },
    l: { type: "array", items: { type: ["string", "null"] } },
  });
  const args = { n: 2 ** 53, d: 1.00005, s: "x", l: ["a", null] };
  expect(cedar(schema, args, needs("s"))).toEqual({ s: "x" });
  for (const name of ["n", "d", "l"]) expect(() => cedar(schema, args, needs(name))).toThrow(Unrepresentable);
  expect(() => cedar(schema, { ...args, n: 1, d: 1, l: [] }, WHOLE, ["/n"])).toThrow("args/n says more than a number can hold");
});

test("G-12 a value that is not what the schema says is refused if it is read", () => {
  const schema = object({
    s: { type: "string" },
    b: { type: "boolean" },
    r: object({}),
    l: { type: "array", items: { type: "string" } },
    n: { type: "integer" },
  });
  const args = { s: 1, b: "true", r: [], l: {}, n: "1" };
  for (const name of Object.keys(args)) expect(() => cedar(schema, args, needs(name))).toThrow(Unrepresentable);
});
