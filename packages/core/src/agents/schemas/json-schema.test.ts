import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Json, JsonObject } from "../../vocab/index.ts";
import { fromJsonSchema } from "./json-schema.ts";

const refused = (schema: JsonObject): string => {
  const made = fromJsonSchema(schema);
  return made.kind === "refused" ? made.detail : "taken";
};
/** The value as it would be sent, or what is wrong with it. */
function checked(schema: JsonObject, value: Json): Readonly<{ value: Json }> | readonly string[] {
  const made = fromJsonSchema(schema);
  if (made.kind === "refused") throw new Error(`refused: ${made.detail}`);
  const result = made.schema["~standard"].validate(value);
  if (result instanceof Promise) throw new Error("a schema answers at once");
  return result.issues === undefined
    ? { value: result.value }
    : result.issues.map(({ path = [], message }) => `${path.join(".")}: ${message}`);
}
const fits = (schema: JsonObject, value: Json): boolean => "value" in checked(schema, value);
const parsed = (text: string): Json => JSON.parse(text);

describe("one reading of patterns and keys", () => {
  const letters = { type: "object", patternProperties: { "^\\p{L}+$": { type: "number" } }, additionalProperties: false } as const;

  test("T-40 T-39 a key is known exactly when a schema applies to it, whatever characters its pattern speaks of", () => {
    // without Unicode the pattern means the letters p, {, L and }
    expect(fits(letters, { "p{L}": "unchecked" })).toBe(false);
    expect(fits(letters, { "p{L}": 1 })).toBe(false);
    expect(fits(letters, { é: 1 })).toBe(true);
    expect(fits(letters, { é: "text" })).toBe(false);
    expect(fits({ ...letters, additionalProperties: true }, { é: "text" })).toBe(false);
    expect(fits({ type: "object", patternProperties: { "^.$": { type: "number" } } }, { "😀": "text" })).toBe(false);
    expect(fits({ type: "object", propertyNames: { pattern: "^\\p{L}$" } }, { "p{L}": 1 })).toBe(false);
    expect(fits({ type: "array", contains: { type: "string", pattern: "^\\p{L}$" } }, ["p{L}"])).toBe(false);
    expect(fits({ type: "string", pattern: "^(?!x)\\p{L}$" }, "p{L}")).toBe(false); // one that is left to the engine
  });

  test("T-39 several schemas apply to one key, and what none applies to is additional", () => {
    const schema = {
      type: "object",
      properties: { ab: { type: "string" } },
      patternProperties: { "^a": { enum: ["x", "y"] }, b$: { enum: ["y", "z"] } },
      additionalProperties: { type: "number" },
    } as const;
    expect([{ ab: "y" }, { ab: "x" }, { ab: "z" }, { c: 1 }, { c: "1" }].map((value) => fits(schema, value))).toEqual([
      true,
      false,
      false,
      true,
      false,
    ]);
  });

  test("T-39 a key that a pattern cannot tell of in time is refused", () => {
    const schema = { type: "object", patternProperties: { "(?:[a-c]|[a-d]){1,900}!": { type: "number" } } } as const;
    expect(checked(schema, { ["a".repeat(100_000)]: "unchecked" })).toEqual([expect.stringContaining("unrecognized key")]);
  });

  test.each(["\\p{Foo}", "\\_\\p{L}", "\\Aa\\z", "\\p", "(?i)a"])("T-40 `%s`, which has no reading or two, is refused", (pattern) => {
    expect(refused({ type: "string", pattern })).toContain("one reading");
    expect(refused({ type: "object", patternProperties: { [pattern]: true } })).toContain("one reading");
  });

  test("T-39 names that every object has are names like any other", () => {
    for (const name of ["constructor", "toString", "hasOwnProperty", "__proto__"]) {
      expect(fits({ type: "object", properties: {}, additionalProperties: false }, parsed(`{"${name}": 1}`))).toBe(false);
      expect(fits({ type: "object", additionalProperties: { type: "string" } }, parsed(`{"${name}": 1}`))).toBe(false);
    }
    const needed = { type: "object", properties: { toString: {} }, required: ["toString"] } as const;
    expect(checked(needed, {})).toEqual(["toString: it is required, and missing"]);
    expect(fits({ type: "object", properties: { toString: { type: "string" } } }, {})).toBe(true);
  });

  test("T-39 characters are counted whole", () => {
    expect(fits({ type: "string", minLength: 2 }, "😀")).toBe(false);
    expect(fits({ type: "string", maxLength: 1 }, "😀")).toBe(true);
  });
});

describe("references", () => {
  const pair = { type: "object", properties: { a: { type: "string" }, b: { type: "number" } }, additionalProperties: false } as const;
  const to = ($ref: string, more: JsonObject = {}): JsonObject => ({
    type: "object",
    properties: { x: { $ref } },
    $defs: { pair },
    ...more,
  });

  test("T-39 a reference leads to the schema that it names, and no further up", () => {
    expect(fits(to("#/$defs/pair/properties/b"), { x: { a: "the whole pair" } })).toBe(false);
    expect(fits(to("#/$defs/pair/properties/b"), { x: 1 })).toBe(true);
    expect(fits(to("#/properties/y", { properties: { x: { $ref: "#/properties/y" }, y: { type: "number" } } }), { x: "1" })).toBe(false);
    expect(fits(to("#/definitions/n", { definitions: { n: { type: "number" } } }), { x: "1" })).toBe(false);
    expect(fits(to("#/$defs/a~1b%25", { $defs: { "a/b%": { type: "number" } } }), { x: "1" })).toBe(false);
    expect(fits(to("#"), { x: { x: 1 } })).toBe(false);
  });

  test.each(["", "#/$defs/constructor", "#/$defs/__proto__", "#/$defs", "#anchor", "#/$defs/pair/type", "#/$defs/%zz", "other.json#"])(
    "T-39 `%s` leads to no schema, and is refused with its place",
    (ref) => {
      expect(refused(to(ref))).toMatch(/^at `properties\.x\.\$ref/);
    },
  );

  test("T-39 what a reference leads to is audited, wherever it lies", () => {
    expect(
      refused(to("#/properties/x/default", { properties: { x: { $ref: "#/properties/y/default" }, y: { default: { minLenght: 3 } } } })),
    ).toContain("`minLenght` is not supported");
    expect(refused(to("#/$defs/inner", { $defs: { inner: { $id: "urn:inner", type: "number" } } }))).toContain("two readings");
  });
});

describe("defaults", () => {
  const having = (schema: JsonObject, required: readonly string[] = []): JsonObject => ({
    type: "object",
    properties: { a: schema },
    required,
  });

  test("T-39 a default is filled in where it fits, and never where it does not", () => {
    expect(checked(having({ type: "string", default: "x" }), {})).toEqual({ value: { a: "x" } });
    expect(checked(having({ type: "string", default: "x" }, ["a"]), {})).toEqual({ value: { a: "x" } });
    expect(checked(having({ type: "string", default: 5 }), {})).toEqual({ value: {} });
    expect(checked(having({ type: "string", default: 5 }, ["a"]), {})).toEqual(["a: it is required, and missing"]);
    const through = { type: "object", properties: { a: { $ref: "#/$defs/n" } }, $defs: { n: { type: "number", default: 3 } } } as const;
    expect(checked(through, {})).toEqual({ value: { a: 3 } });
  });

  test("T-39 what comes out is checked as if it had been sent so", () => {
    const schema = { type: "object", properties: { a: { default: 1 }, b: {} }, maxProperties: 1 } as const;
    expect(fits(schema, { b: 1 })).toBe(false);
    const either = {
      oneOf: [
        { type: "object", properties: { a: { default: 1 } } },
        { type: "object", properties: { a: {} }, required: ["a"] },
      ],
    };
    expect(fits(either, {})).toBe(false);
    const deep = { type: "object", properties: { next: { $ref: "#", default: {} } } } as const;
    expect(checked(deep, {})).toEqual({ value: { next: {} } });
  });
});

test("T-40 a schema of many patterns refuses what it cannot look at in so many steps, and one of a few does not", () => {
  const patterns = (many: number): JsonObject => ({
    type: "object",
    patternProperties: Object.fromEntries(Array.from({ length: many }, (_, i) => [`^(a|b)*${i}$`, true])),
  });
  const keys = Object.fromEntries(Array.from({ length: 2_000 }, (_, i) => [`${"ab".repeat(10)}${i}`, 1]));
  expect(checked(patterns(300), keys)).toEqual([": it takes too many steps to check against the schema"]);
  expect(checked(patterns(5), keys)).toEqual({ value: keys });
  const long = { type: "object", properties: { text: { type: "string", pattern: "^[ab]+$" } } } as const;
  const text = "ab".repeat(500_000);
  expect(checked(long, { text })).toEqual({ value: { text } });
});

test("T-40 a schema whose alternatives multiply, or lead nowhere, refuses what it cannot check in so many steps", () => {
  const next = { type: "object", properties: { next: { $ref: "#/$defs/either" } } } as const;
  const multiplying = {
    type: "object",
    properties: { a: { $ref: "#/$defs/either" } },
    $defs: { either: { anyOf: [next, next, { type: "number" }] } },
  };
  let nested: Json = "no number";
  for (let i = 0; i < 40; i += 1) nested = { next: nested };
  expect(checked(multiplying, { a: nested })).toEqual([": it takes too many steps to check against the schema"]);
  const circle = {
    type: "object",
    properties: { a: { $ref: "#/$defs/a" } },
    $defs: { a: { anyOf: [{ $ref: "#/$defs/a" }, { $ref: "#/$defs/a" }] } },
  };
  expect(checked(circle, { a: 1 })).toEqual([": it takes too many steps to check against the schema"]);
});

// ── against a second reader ──

const RUNS = Number(process.env["ORGATE_SCHEMA_RUNS"] ?? 20);
const NAMES = ["a", "ab", "é", "x-1", "constructor", "toString", "😀", "p{L}", "p", "1"] as const;
const PATTERNS = ["^\\p{L}+$", "^.$", "^x-", "\\d", "^\\P{L}", "[^a]", "^(?!x)", "\\u{1F600}", "^(?:a|b)*$", "\\W", "\\}"] as const;
const name = fc.constantFrom(...NAMES);
const pattern = fc.constantFrom(...PATTERNS);
const count = fc.integer({ min: 0, max: 3 });
const scalar: fc.Arbitrary<Json> = fc.oneof(
  fc.constantFrom<Json>(null, true, false, 0, -0, 1, 1.5, -2, 1e3, ""),
  name,
  fc.string({ unit: fc.constantFrom("a", "é", "😀", "-", "1"), maxLength: 3 }),
);
const some = (keys: Record<string, fc.Arbitrary<Json>>): fc.Arbitrary<JsonObject> =>
  fc
    .record(keys, { requiredKeys: [] })
    .map((made) => Object.fromEntries(Object.entries(made).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]]))));
const named = <T extends Json>(of: fc.Arbitrary<T>): fc.Arbitrary<Readonly<Record<string, T>>> =>
  fc.uniqueArray(fc.tuple(name, of), { selector: ([key]) => key, maxLength: 4 }).map((entries) => Object.fromEntries(entries));

const { schema: anySchema } = fc.letrec<{ schema: Json; object: JsonObject }>((tie) => ({
  object: fc
    .record(
      {
        type: fc.constantFrom<Json>("object", ["object", "null"]),
        properties: named(tie("schema")),
        patternProperties: fc
          .uniqueArray(fc.tuple(pattern, tie("schema")), { selector: ([key]) => key, maxLength: 2 })
          .map((entries) => Object.fromEntries(entries)),
        additionalProperties: fc.oneof(fc.constant<Json>(false), tie("schema")),
        propertyNames: some({ minLength: count, maxLength: count, pattern }),
        minProperties: count,
        maxProperties: count,
        take: fc.integer({ min: 0, max: 15 }),
      },
      { requiredKeys: ["type", "take"] },
    )
    .map(({ take, ...schema }): JsonObject => {
      const required = Object.keys(schema.properties ?? {}).filter((_, i) => (take >> i) & 1);
      return required.length === 0 ? schema : { ...schema, required };
    }),
  schema: fc.oneof(
    { depthSize: "small", maxDepth: 3 },
    fc.oneof(
      fc.boolean(),
      fc.constantFrom<Json>({}, { type: "null" }, { type: "boolean" }),
      some({ minLength: count, maxLength: count, pattern }).map((rest) => ({ type: "string", ...rest })),
      fc
        .tuple(
          fc.constantFrom("number", "integer"),
          some({ minimum: fc.constantFrom(-1, 0, 1), exclusiveMaximum: fc.constantFrom(0, 1, 2), multipleOf: fc.constantFrom(1, 2, 0.5) }),
        )
        .map(([type, rest]) => ({ type, ...rest })),
      fc.uniqueArray(scalar, { minLength: 1, maxLength: 3 }).map((values) => ({ enum: values })),
      scalar.map((value) => ({ const: value })),
      fc.constantFrom({ $ref: "#" }, { $ref: "#/$defs/one" }),
    ),
    tie("object"),
    some({
      prefixItems: fc.array(tie("schema"), { minLength: 1, maxLength: 2 }),
      items: tie("schema"),
      minItems: count,
      maxItems: count,
      uniqueItems: fc.boolean(),
      contains: tie("schema"),
      minContains: count,
      maxContains: count,
    }).map(({ contains = true, ...rest }) => ({ type: "array", ...rest, ...("prefixItems" in rest ? {} : { contains }) })), // together the second reader takes an empty list
    fc
      .tuple(fc.constantFrom("anyOf", "oneOf"), fc.array(tie("schema"), { minLength: 1, maxLength: 3 }))
      .map(([key, of]) => ({ [key]: of })),
    tie("schema").map((one) => ({ allOf: [one] })),
  ),
}));
const { value: anyValue } = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", maxDepth: 3 },
    scalar,
    named(tie("value")),
    fc.array(tie("value"), { maxLength: 3 }),
    tie("value").map((inner): Json => Object.fromEntries([["__proto__", inner]])),
  ),
}));

/** Its own properties only: what every object inherits is no argument. Null: a schema that refers to nothing but itself is lost on the stack. */
function second(schema: JsonObject): ((value: Json) => boolean | null) | null {
  try {
    const validate = new Ajv2020({ strict: false, ownProperties: true, validateFormats: false, validateSchema: false }).compile(schema);
    return (value) => {
      try {
        return validate(value) === true;
      } catch (error) {
        // It compares items by their `toString`, and breaks where an argument of that name is no function: it then says nothing.
        // A schema that refers to itself is lost on the stack here, where ours counts steps.
        if (error instanceof RangeError || (error instanceof TypeError && error.message.includes("toString is not a function")))
          return null;
        throw error;
      }
    };
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}
/** For ever in a circle is no answer either. */
const isEndless = (ours: ReturnType<typeof checked>): boolean =>
  Array.isArray(ours) && ours.some((line) => line.includes("too many steps"));

test("T-39 whatever the schema: a value is accepted exactly when a second, independent reader of JSON Schema accepts it", () => {
  const document = fc.tuple(fc.oneof(anySchema), anySchema).map(
    ([body, one]): JsonObject => ({
      ...(typeof body === "object" && body !== null && !Array.isArray(body) ? (body as JsonObject) : { allOf: [body] }),
      $defs: { one },
    }),
  );
  let looked = 0;
  fc.assert(
    fc.property(document, fc.array(anyValue, { minLength: 5, maxLength: 10 }), (schema, values) => {
      const other = fromJsonSchema(schema).kind === "refused" ? null : second(schema);
      for (const value of other === null ? [] : values) {
        const ours = checked(schema, value);
        const theirs = other === null ? null : other(value);
        if (theirs === null || isEndless(ours)) continue;
        looked += 1;
        expect("value" in ours, JSON.stringify({ schema, value, ours })).toBe(theirs);
      }
    }),
    { numRuns: RUNS * 10 },
  );
  expect(looked).toBeGreaterThan(RUNS * 10);
});

test("T-39 whatever the defaults: what is sent on is accepted by the second reader as it stands", () => {
  const withDefault = fc
    .tuple(anySchema, scalar)
    .map(
      ([schema, value]): Json =>
        typeof schema === "object" && schema !== null && !Array.isArray(schema) ? { ...(schema as JsonObject), default: value } : schema,
    );
  const document = fc.tuple(named(withDefault), fc.uniqueArray(name, { maxLength: 2 }), fc.boolean(), anySchema).map(
    ([properties, required, open, one]): JsonObject => ({
      type: "object",
      properties,
      required: required.filter((key) => Object.hasOwn(properties, key)),
      additionalProperties: open,
      $defs: { one },
    }),
  );
  fc.assert(
    fc.property(document, fc.array(named(anyValue), { minLength: 3, maxLength: 6 }), (schema, values) => {
      const other = fromJsonSchema(schema).kind === "refused" ? null : second(schema);
      for (const value of other === null ? [] : values) {
        const ours = checked(schema, value);
        const theirs = other !== null && "value" in ours ? other(ours.value) : null;
        if (theirs !== null) expect(theirs, JSON.stringify({ schema, value, ours })).toBe(true);
      }
    }),
    { numRuns: RUNS * 5 },
  );
});
