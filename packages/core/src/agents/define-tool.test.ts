import { describe, expect, test } from "vitest";
import * as z from "zod";
import {
  callId,
  callKey,
  digest,
  epoch,
  FaultError,
  type Json,
  type Reconciled,
  sessionId,
  type Tool,
  type ToolContext,
} from "../vocab/index.ts";
import { defineTool, toolbox } from "./define-tool.ts";
import type { StandardSchema } from "./schemas/standard-schema.ts";

const hash = (text: string) => digest(`${text.length}:${text}`);

const plain = { name: "look", description: "Look.", input: z.strictObject({ path: z.string() }), run: () => null } as const;

function context(notes: [string, Json][] = []): ToolContext {
  const session = sessionId("s_00000001");
  const note = (name: string, value: Json) => void notes.push([name, value]);
  return {
    session,
    key: callKey(session, callId("1.1")),
    epoch: epoch(1),
    start: 1,
    signal: new AbortController().signal,
    note,
    spent: () => {},
    wouldPermit: () => "yes" as const,
    evidence: () => {},
  };
}

function refusal(define: () => unknown): string {
  try {
    define();
  } catch (error) {
    if (error instanceof FaultError && error.fault.kind === "tool-invalid") return error.message;
    throw error;
  }
  throw new Error("the definition was accepted");
}

const issues = (tool: Tool, args: Json): readonly string[] => {
  const checked = tool.check(args);
  return checked.kind === "invalid" ? checked.issues : [];
};

/** A schema from a library other than Zod. */
const standard = (validate: (value: unknown) => unknown): StandardSchema => {
  const brought: unknown = {
    "~standard": { version: 1, vendor: "test", validate, jsonSchema: { input: () => ({ type: "object" }), output: () => ({}) } },
  };
  return brought as StandardSchema;
};

describe("definition", () => {
  test("T-1 what is not said is the strictest: once, execute, untrusted, the tool itself", () => {
    const tool = defineTool(plain);
    expect(tool).toMatchObject({
      repeat: "once",
      effects: ["execute"],
      labels: ["untrusted"],
      endsTurn: false,
      timeoutMs: null,
      reconcile: null,
    });
    expect(tool.resource({ path: "a" })).toEqual({ type: "Tool", id: "look" });
    expect(Object.isFrozen(tool)).toBe(true);
  });

  test.each(["", "a b", "a\u0000b", "r\u0435ad", "look\n", "\u202elook", "a".repeat(65), "a.b", "look\u200b"])(
    "T-1 the name %j is refused",
    (name) => {
      const message = refusal(() => defineTool({ ...plain, name }));
      expect(message).toMatch(/^[\x20-\x7e]*$/); // and nothing of it reaches a terminal as it is
      expect(message).toContain("a name is 1 to 64");
    },
  );

  test("T-1 the longest name is taken", () => {
    expect(defineTool({ ...plain, name: "A-z_9".padEnd(64, "x") }).name).toHaveLength(64);
  });

  test("T-1 a misspelt field is refused and the known ones are named", () => {
    const misspelt = { ...plain, timeout: 5 };
    expect(refusal(() => defineTool(misspelt))).toMatch(/no field `timeout`.*timeoutMs/);
  });

  test.each([
    ["description", { description: " " }],
    ["repeat", { repeat: "twice" }],
    ["effects", { effects: [] }],
    ["effects", { effects: ["destroy"] }],
    ["label", { labels: ["Not A Label"] }],
    ["timeoutMs", { timeoutMs: 0 }],
    ["timeoutMs", { timeoutMs: Number.NaN }],
    ["endsTurn", { endsTurn: "yes" }],
    ["run", { run: "rm" }],
    ["input", { input: "text" }],
    ["output", { output: 5 }],
    ["resource", { resource: "File" }],
  ])("T-1 a bad %s is refused by name", (field, change) => {
    const given: unknown = { ...plain, ...change };
    expect(refusal(() => defineTool(given as typeof plain))).toContain(field);
  });

  test("T-5 a reconcile tool brings a reconcile function, and no other may", () => {
    const reconcile = async (): Promise<Reconciled> => ({ kind: "did-not-happen" });
    expect(refusal(() => defineTool({ ...plain, repeat: "reconcile" }))).toContain("needs a `reconcile` function");
    expect(refusal(() => defineTool({ ...plain, reconcile }))).toContain("needs `repeat: reconcile`");
    expect(defineTool({ ...plain, repeat: "reconcile", reconcile }).reconcile).not.toBeNull();
  });

  test("T-2 arguments of `run` and `resource` have the type of the schema", () => {
    defineTool({ ...plain, resource: ({ path }) => ({ type: "File", id: path.toUpperCase() }), run: ({ path }) => path.length });
    // @ts-expect-error there is no such argument
    defineTool({ ...plain, run: ({ file }) => file });
    // @ts-expect-error the output schema wants text
    defineTool({ ...plain, output: z.strictObject({ text: z.string() }), run: () => ({ text: 5 }) });
    defineTool({ ...plain, input: { type: "object" }, run: (args) => args.anything ?? null });
  });
});

describe("schemas", () => {
  test("T-2 the model is shown what the schema takes, without the dialect", () => {
    const tool = defineTool({ ...plain, input: z.strictObject({ path: z.string().describe("Where."), depth: z.int().min(1).default(2) }) });
    expect(tool.inputSchema).toMatchObject({ type: "object", required: ["path"], additionalProperties: false });
    expect(tool.inputSchema).not.toHaveProperty("$schema");
    expect(tool.check({ path: "a" })).toEqual({ kind: "valid", args: { path: "a", depth: 2 } });
  });

  test("T-2 issues name the path and what is wrong", () => {
    const tool = defineTool({ ...plain, input: z.strictObject({ to: z.array(z.strictObject({ mail: z.string() })) }) });
    expect(issues(tool, { to: [{ mail: 5 }] })).toEqual(["to[0].mail: invalid input: expected string, received number"]);
    expect(issues(tool, { to: [], cc: 1 })).toEqual(['unrecognized key: "cc"']);
    expect(issues(tool, { to: Array.from({ length: 40 }, () => ({ mail: 1 })) })).toHaveLength(11);
  });

  test.each([null, 5, "text", [], true])("T-2 arguments that are %j are invalid", (args) => {
    expect(issues(defineTool(plain), args)).toHaveLength(1);
    expect(issues(defineTool({ ...plain, input: { type: "object" } }), args)).toHaveLength(1);
    expect(issues(defineTool({ ...plain, input: standard((value) => ({ value })) }), args)).toEqual(["arguments must be an object"]);
  });

  test("T-2 a schema that answers asynchronously is invalid, and its rejection harms nobody", async () => {
    const slow = defineTool({ ...plain, input: z.strictObject({ path: z.string().refine(async () => true) }) });
    expect(issues(slow, { path: "a" })[0]).toContain("asynchronously");
    const rejecting = defineTool({ ...plain, input: standard(async () => Promise.reject(new Error("late"))) });
    expect(issues(rejecting, {})[0]).toContain("asynchronously");
  });

  test("T-2 a schema that throws, or whose result is not JSON, is invalid", () => {
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    for (const value of [{ at: new Date(0) }, { n: Number.NaN }, { n: 1n }, { f: () => 1 }, circle, { m: new Map() }, { l: [undefined] }])
      expect(issues(defineTool({ ...plain, input: standard(() => ({ value })) }), {})[0]).toContain("not plain JSON");
    const throwing = standard(() => {
      throw new Error("boom");
    });
    expect(issues(defineTool({ ...plain, input: throwing }), {})).toEqual(["the schema itself failed: boom"]);
    expect(defineTool({ ...plain, input: standard(() => ({ value: { a: 1, b: undefined } })) }).check({})).toEqual({
      kind: "valid",
      args: { a: 1 },
    });
  });

  test("T-2 what was checked cannot change afterwards", () => {
    const inner = { path: ["a"] };
    const checked = defineTool({ ...plain, input: standard(() => ({ value: inner })) }).check({});
    inner.path.push("b");
    expect(checked).toEqual({ kind: "valid", args: { path: ["a"] } });
    expect(checked.kind === "valid" && Object.isFrozen(checked.args.path)).toBe(true);
  });

  test("T-2 a call whose resource cannot be named is invalid", () => {
    const nameless = defineTool({ ...plain, resource: ({ path }) => ({ type: "File", id: path }) });
    expect(issues(nameless, { path: "" })[0]).toContain("the resource of the call is unknown");
    const throwing = defineTool({
      ...plain,
      resource: () => {
        throw new Error("no");
      },
    });
    expect(issues(throwing, { path: "a" })).toEqual(["the resource of the call is unknown: no"]);
    expect(issues(defineTool({ ...plain, resource: () => ({ type: 'File"::', id: "x" }) }), { path: "a" })).toHaveLength(1);
  });

  test("T-2 what a call touches is a type and an id, and nothing else of what the function returned", () => {
    const given = { type: "File", id: "a", owner: "root" };
    const touched = defineTool({ ...plain, resource: () => given }).resource({ path: "a" });
    given.id = "b";
    expect(touched).toEqual({ type: "File", id: "a" });
  });

  test("T-3 a schema that cannot be described to a model is refused at definition", () => {
    expect(refusal(() => defineTool({ ...plain, input: z.strictObject({ at: z.date() }) }))).toContain("Date cannot be represented");
    expect(refusal(() => defineTool({ ...plain, input: z.string() }))).toContain("must describe an object");
    const mute: unknown = { "~standard": { version: 1, vendor: "mute", validate: () => ({ value: {} }) } };
    expect(refusal(() => defineTool({ ...plain, input: mute as StandardSchema }))).toContain("(mute) cannot describe itself");
  });
});

describe("JSON Schema", () => {
  const taking = (properties: { [name: string]: Json }, rest: { [name: string]: Json } = {}) =>
    defineTool({
      ...plain,
      input: { type: "object", properties, required: Object.keys(properties), additionalProperties: false, ...rest },
    });

  test("T-3 what is taken is enforced", () => {
    const address = {
      type: "object",
      properties: { city: { type: "string", minLength: 2 } },
      required: ["city"],
      additionalProperties: false,
    };
    const tool = taking(
      {
        to: { $ref: "#/$defs/address" },
        n: { type: ["integer", "null"], minimum: 1 },
        tags: { type: "array", items: { enum: ["a", "b"] }, maxItems: 1, uniqueItems: true },
      },
      { $defs: { address } },
    );
    expect(tool.check({ to: { city: "Rome" }, n: null, tags: ["a"] }).kind).toBe("valid");
    expect(issues(tool, { to: { city: "R" }, n: 1, tags: [] })[0]).toMatch(/^to\.city: /);
    expect(issues(tool, { to: { city: "Rome", zip: 1 }, n: 1, tags: [] })[0]).toMatch(/^to: unrecognized key/);
    expect(issues(tool, { to: { city: "Rome" }, n: 0, tags: [] })).toHaveLength(1);
    expect(issues(tool, { to: { city: "Rome" }, n: 1, tags: ["c"] })).toHaveLength(1);
    expect(issues(tool, { to: { city: "Rome" }, n: 1 })[0]).toMatch(/^tags: /);
    expect(issues(taking({ one: { anyOf: [{ type: "string" }, { type: "boolean" }] } }), { one: 5 })).toHaveLength(1);
    expect(issues(taking({ two: { type: "array", minItems: 2 } }), { two: [1] })).toHaveLength(1);
  });

  // a validator that passes over what it does not know would accept each of these, and not enforce it
  test.each<[string, Json]>([
    ["a misspelt keyword", { type: "string", minLenght: 3 }],
    ["a bound that is no number", { type: "string", minLength: "3" }],
    ["a bound without a type", { minLength: 3 }],
    ["a bound of another type", { type: "string", maximum: 3 }],
    ["a required name that is not declared", { type: "object", required: ["b"] }],
    ["a sibling of $ref", { $ref: "#", maxLength: 3 }],
    ["strictness beside allOf", { type: "object", additionalProperties: false, allOf: [{ type: "object" }] }],
    ["allOf of two", { allOf: [{ type: "object", additionalProperties: false }, { type: "object" }] }],
    ["anyOf beside properties", { properties: { a: { type: "string" } }, anyOf: [{ type: "object" }] }],
    ["anyOf beside oneOf", { anyOf: [{ type: "string" }], oneOf: [{ type: "string" }] }],
    ["an enum with a value of another type", { type: "string", enum: ["a", 5] }],
    ["an enum of objects", { enum: [{ a: 1 }, "b"] }],
    ["OpenAPI's nullable", { type: "string", nullable: true }],
    ["an argument named __proto__", JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"}}}')],
    ["a draft-04 bound", { type: "number", minimum: 1, exclusiveMinimum: true }],
  ])("T-3 %s is refused with its place", (_, schema) => {
    expect(refusal(() => taking({ a: schema }))).toMatch(/`input` cannot be enforced: at `properties\.a/);
  });

  test.each<[string, Json]>([
    ["a reference elsewhere", { $ref: "http://127.0.0.1/x" }],
    ["a reference to nothing", { $ref: "#/$defs/none" }],
    ["not", { not: { type: "string" } }],
    ["a condition", { if: { type: "string" }, else: false }],
    ["an unknown type", { type: "date" }],
    ["a broken pattern", { type: "string", pattern: "(" }],
  ])("T-3 %s is refused", (_, schema) => {
    expect(refusal(() => taking({ a: schema }))).toContain("`input` cannot be enforced");
  });

  test("T-3 two tools may use the same $id", () => {
    const input = { $id: "https://example.test/in", type: "object", properties: { a: { type: "string", description: "A." } } };
    expect([defineTool({ ...plain, input }).check({}).kind, defineTool({ ...plain, input }).check({ a: 1 }).kind]).toEqual([
      "valid",
      "invalid",
    ]);
  });
});

describe("output", () => {
  const output = z.object({ text: z.string() });

  test("T-3 an output that fits is what the schema made of it", async () => {
    const tool = defineTool({ ...plain, output, run: async () => ({ text: "hi", secret: "s" }) });
    expect(await tool.run({ path: "a" }, context())).toEqual({ text: "hi" });
    expect(await defineTool({ ...plain, run: () => undefined }).run({ path: "a" }, context())).toBeNull();
  });

  test("T-3 an output that does not fit leaves the call done, withheld and noted", async () => {
    const wrong: unknown = { text: 5, secret: "hunter2" };
    const notes: [string, Json][] = [];
    const got = await defineTool({ ...plain, output, run: () => wrong as { text: string } }).run({ path: "a" }, context(notes));
    expect(got).toMatchObject({ done: true, issues: ["text: invalid input: expected string, received number"] });
    expect(JSON.stringify([got, notes])).not.toContain("hunter2");
    expect(notes).toEqual([["output-withheld", { issues: ["text: invalid input: expected string, received number"] }]]);
  });

  test("T-3 an output that is not JSON leaves the call done too", async () => {
    for (const value of [new Date(0), { n: Number.POSITIVE_INFINITY }, () => 1, Symbol("s"), { l: [1n] }]) {
      const odd: unknown = value;
      const notes: [string, Json][] = [];
      expect(await defineTool({ ...plain, run: () => odd as Json }).run({ path: "a" }, context(notes))).toMatchObject({ done: true });
      expect(notes).toHaveLength(1);
    }
  });

  test("T-3 what the tool throws is the tool's own failure", async () => {
    const run = () => {
      throw new Error("disk full");
    };
    await expect(defineTool({ ...plain, run }).run({ path: "a" }, context())).rejects.toThrow("disk full");
  });

  test("T-5 what `reconcile` answers is held to its three words, and its output to the schema", async () => {
    const answering = (answer: unknown) =>
      defineTool({
        ...plain,
        output,
        run: () => ({ text: "" }),
        repeat: "reconcile",
        reconcile: async () => answer as Reconciled,
      }).reconcile?.({ path: "a" }, context());
    expect(await answering({ kind: "happened", output: { text: "x", more: 1 } })).toEqual({ kind: "happened", output: { text: "x" } });
    expect(await answering({ kind: "did-not-happen" })).toEqual({ kind: "did-not-happen" });
    expect(await answering({ kind: "cannot-tell", detail: "gone" })).toEqual({ kind: "cannot-tell", detail: "gone" });
    for (const odd of [undefined, null, true, { kind: "maybe" }, "happened"])
      expect(await answering(odd)).toMatchObject({ kind: "cannot-tell" });
  });
});

describe("toolbox", () => {
  const a = defineTool({ ...plain, name: "a" });
  const b = defineTool({ ...plain, name: "b" });

  test("T-1 the same name twice is a fault", () => {
    expect(() => toolbox([a, b, a], hash)).toThrow("two tools are named `a`");
  });

  test("T-1 the order of definition leaves no trace", () => {
    const [one, other] = [toolbox([a, b], hash), toolbox([b, a], hash)];
    expect(one.digest).toBe(other.digest);
    expect(other.offered.map((tool) => tool.name)).toEqual(["a", "b"]);
    expect(one.find("a")).toBe(a);
    expect([one.find("A"), one.find("__proto__"), one.find("constructor")]).toEqual([null, null, null]);
  });

  test.each([
    ["description", { description: "Other." }],
    ["input", { input: z.strictObject({ path: z.string(), more: z.string() }) }],
    ["repeat", { repeat: "read" as const }],
    ["effects", { effects: ["read" as const] }],
    ["labels", { labels: [] }],
    ["endsTurn", { endsTurn: true }],
    ["timeoutMs", { timeoutMs: 5 }],
  ])("A-1 another %s is another digest", (_, change) => {
    expect(toolbox([defineTool({ ...plain, name: "a", ...change })], hash).digest).not.toBe(toolbox([a], hash).digest);
  });
});
