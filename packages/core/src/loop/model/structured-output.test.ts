/** Structured answers in the loop: looked at before they are delivered, asked for again a bounded number of times, and safe from crashes. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { defineMiddleware } from "../../agents/define-middleware.ts";
import { readRunOutput } from "../../agents/define-output.ts";
import { defineTool } from "../../agents/define-tool.ts";
import { fromJsonSchema } from "../../agents/schemas/json-schema.ts";
import type { Schema } from "../../agents/schemas/schemas.ts";
import type { ModelReply, ModelRequest } from "../../reason/port.ts";
import { arbitraries, PERMIT_ALL, reply, type Step, scriptedModel, type WorldOptions, world } from "../../testing/index.ts";
import { DELEGATE, type Json, type JsonObject, type ReplyPart, toCanonicalJson } from "../../vocab/index.ts";
import { sha256 } from "../fixtures/stage.ts";
import { toResult } from "../session/result.ts";
import { toOutputs } from "./structured-output.ts";

const DEBT = z.strictObject({ name: z.string(), cents: z.int() });
const asked = (schema: Schema, repairs?: number) => readRunOutput(schema, repairs, "tester", sha256);
const ann = '{"name":"Ann","cents":5}';

function setup(steps: readonly Step[], options: Partial<WorldOptions> = {}) {
  const ran: string[] = [];
  const look = defineTool({
    name: "look",
    description: "look",
    input: z.strictObject({ x: z.string() }),
    repeat: "read",
    labels: [],
    run: ({ x }) => `seen ${ran.push(x)}`,
  });
  const model = scriptedModel(steps);
  return { model, ran, w: world({ hash: sha256, model, tools: [look], output: asked(DEBT), ...options }) };
}
const notes = (messages: readonly { role: string }[]) =>
  messages.flatMap((m) => (m.role === "note" && "text" in m ? [String(m.text)] : []));

describe("an answer by a schema", () => {
  test("M-23 what fits is delivered as a value, with its text; request and journal hold the schema", async () => {
    const { w, model } = setup([reply.text(` ${ann}\n`)]);
    const s = await w.run("who owes?");
    expect(toResult(s)).toMatchObject({ ending: "completed", value: { name: "Ann", cents: 5 }, output: '{"cents":5,"name":"Ann"}' });
    const [{ output } = { output: null }] = w.events("output.asked");
    expect(output).toMatchObject({ wrapped: false, repairs: 2, schema: { type: "object", required: ["name", "cents"] } });
    expect(model.asked[0]?.answer).toEqual({ kind: "text", schema: output?.schema });
    expect(w.events("output.checked")).toEqual([
      { kind: "output.checked", iteration: 1, by: "own", result: { kind: "fits", value: { name: "Ann", cents: 5 } } },
    ]);
  });

  test.each<[string, readonly Step[], Partial<WorldOptions>]>([
    ["does not fit, again and again", [reply.text("Ann"), reply.text('{"name":1}'), reply.text("Bob")], {}],
    ["was cut off", [reply.text('{"name":"An', { finish: "length" }), reply.text("{}"), reply.text("{}")], {}],
    ["is out of iterations", [reply.text('{"name":1}'), reply.text('{"name":2}')], { limits: { iterations: 2 } }],
  ])("M-23 M-24 what %s is handed out by no ending, and pieces are not put together", async (_, steps, options) => {
    const { w } = setup(steps, options);
    expect(toResult(await w.run("who owes?"))).toMatchObject({ output: null, value: null });
    expect(w.events("turn.ended")).toMatchObject([{ output: null }]);
  });

  test("M-23 what was said before tools, and what was refused, is told by an early ending as ever", async () => {
    const parts: readonly ReplyPart[] = [
      { kind: "text", text: "I look.", meta: null },
      { kind: "call", id: "c1", tool: "look", text: '{"x":"a"}', meta: null },
    ];
    const steps: readonly Step[] = [
      { kind: "reply", parts, finish: "calls", usage: { input: 1, output: 1 }, meta: null },
      reply.text("Ann"),
    ];
    expect(toResult(await setup(steps, { output: asked(DEBT, 0) }).w.run("go"))).toMatchObject({ ending: "failed", output: "I look." });
    const refusing = setup([reply.text("I will not.", { finish: "refused" })]);
    expect(toResult(await refusing.w.run("go"))).toMatchObject({ ending: "refused", output: "I will not." });
  });

  test("M-23 the value is what the schema makes of the answer", async () => {
    const output = asked(z.object({ n: z.string().transform(Number), m: z.int().default(7) }));
    expect((await setup([reply.text('{"n":"12"}')], { output }).w.run("go")).value).toEqual({ n: 12, m: 7 });
  });

  test("M-23 a fence around the whole answer is taken off; anything else around it is not", async () => {
    expect((await setup([reply.text(`\`\`\`json\n${ann}\n\`\`\``)]).w.run("go")).value).toEqual({ name: "Ann", cents: 5 });
    const { w } = setup([reply.text(`Here: ${ann}`)], { output: asked(DEBT, 0) });
    expect((await w.run("go")).last).toMatchObject({ ending: "failed", detail: expect.stringContaining("it is not JSON") });
  });

  test.each([
    ["a list", z.array(z.int()), '{"value":[1,2]}', [1, 2]],
    ["a choice", z.enum(["yes", "no"]), '{"value":"no"}', "no"],
    ["one of two objects", z.union([z.strictObject({ a: z.int() }), z.strictObject({ b: z.int() })]), '{"value":{"b":1}}', { b: 1 }],
    ["a tree", tree(), '{"name":"r","kids":[{"name":"k","kids":[]}]}', { name: "r", kids: [{ name: "k", kids: [] }] }],
  ])("M-23 what is no object is asked for as one field of an object: %s", async (_, schema, text, value) => {
    const { w, model } = setup([reply.text(text)], { output: asked(schema) });
    expect((await w.run("go")).value).toEqual(value);
    expect(model.asked[0]?.answer).toMatchObject({ schema: { type: "object" } });
  });

  test("M-24 what does not fit goes back with what is wrong, and the next answer counts", async () => {
    const { w, model } = setup([reply.text('{"name":"Ann"}'), reply.text("five"), reply.text(ann)]);
    const s = await w.run("go");
    expect(s.last).toMatchObject({ ending: "completed", iterations: 3 });
    const told = notes(s.messages);
    expect(told[0]).toMatch(
      /^\[does not fit\].*\n- cents: .*\nAnswer again, whole, with nothing else around it\. It is JSON by this schema: \{/,
    );
    expect(told[1]).toContain("- it is not JSON: unexpected `f` (line 1, column 1)");
    expect(model.asked[2]?.messages.at(-1)).toMatchObject({ role: "note" });
  });

  test("M-24 after so many repairs the turn fails, and says what was wrong", async () => {
    const { w, model } = setup([reply.text("a"), reply.text("b"), reply.text('{"name":1,"cents":2}')]);
    const { last } = await w.run("go");
    expect(last).toMatchObject({ ending: "failed", iterations: 3 });
    expect(last?.detail).toMatch(/^the answer does not fit what was asked for, asked for again 2 times: name: /);
    expect(toResult(w.state())).toMatchObject({ value: null });
    model.done();
  });

  test("M-24 a repair is an iteration like any other: no limit is passed for it", async () => {
    const { w } = setup([reply.text("a"), reply.text("b")], { limits: { iterations: 2 } });
    expect((await w.run("go")).last).toMatchObject({ ending: "out-of-iterations", iterations: 2 });
  });

  test("M-24 an answer that was cut off is not taken, though it is JSON so far", async () => {
    const { w } = setup([reply.text(ann, { finish: "length" }), reply.text(ann)]);
    const s = await w.run("go");
    expect(s.value).toEqual({ name: "Ann", cents: 5 });
    expect(notes(s.messages)).toEqual([expect.stringMatching(/^\[cut off\] your answer reached the output limit/)]);
    expect(w.events("output.checked")).toHaveLength(1);
  });

  test("M-24 cut off again and again fails the turn: pieces are not put together", async () => {
    const cut = () => reply.text(ann.slice(0, 9), { finish: "length" });
    const { w } = setup([cut(), cut(), reply.text(ann.slice(9), { finish: "length" })]);
    expect((await w.run("go")).last).toMatchObject({ ending: "failed", detail: expect.stringContaining("cut off at the output limit") });
  });

  test("M-23 tools first, then the answer; a tool that would end the turn does not end one that must bring a value", async () => {
    const ends = defineTool({
      name: "close",
      description: "c",
      input: z.strictObject({}),
      repeat: "read",
      endsTurn: true,
      run: () => "closed",
    });
    const { w } = setup([reply.calls([{ tool: "close", args: {} }], { text: ann }), reply.text(ann)], { tools: [ends] });
    const s = await w.run("go");
    expect(toResult(s)).toMatchObject({ ending: "completed", value: { name: "Ann", cents: 5 }, iterations: 2, calls: 1 });
  });

  test("M-23 an answer is decided as `respond` like any other, whatever it is", async () => {
    const rows = [{ id: "no", action: "respond", verdict: "deny" } as const, ...PERMIT_ALL];
    const { w } = setup([reply.text(ann), reply.text(ann), reply.text(ann)], { rows });
    const s = await w.run("go");
    expect(toResult(s)).toMatchObject({ ending: "denied", value: null });
  });

  test("M-23 middleware sees the answer first, and what it makes of it is looked at", async () => {
    const mask = defineMiddleware({ name: "mask", afterModel: ({ text }) => ({ text: text.replace("Ann", "A.") }) });
    expect((await setup([reply.text(ann)], { middleware: [mask] }).w.run("go")).value).toEqual({ name: "A.", cents: 5 });
  });

  test("M-23 a schema that throws, waits, or makes something that is no JSON fails the turn at once, with the reason", async () => {
    const odd: readonly [Schema, string][] = [
      [z.object({ a: z.string().refine(() => Promise.resolve(true)) }), "asynchronous"],
      [z.object({ a: z.string().transform(() => new Date(0)) }), "not plain JSON"],
      [throwing("no such table"), "no such table"],
    ];
    for (const [schema, why] of odd) {
      const { w } = setup([reply.text('{"a":"x"}')], { output: asked(schema) });
      expect((await w.run("go")).last).toMatchObject({
        ending: "failed",
        iterations: 1,
        detail: expect.stringMatching(/cannot be checked/),
      });
      expect(w.state().last?.detail).toMatch(new RegExp(why === "asynchronous" ? "async|Promise" : why));
    }
  });

  test("M-24 a person who speaks meanwhile comes first: the answer before is forgotten", async () => {
    const rows = [{ id: "ask", action: "respond", verdict: "ask" } as const, ...PERMIT_ALL];
    const { w } = setup([reply.text(ann), reply.text('{"name":"Bob","cents":1}')], { rows });
    await w.run("go");
    await w.wish({ kind: "steer", text: "no, Bob" });
    const s = await w.go();
    expect(s.turn?.phase).toMatchObject({ kind: "answering", fits: { value: { name: "Bob", cents: 1 } } });
  });

  test("M-25 a delegate's value comes back to its parent as JSON", async () => {
    const reader = scriptedModel([reply.text("x"), reply.text('{ "name": "Ann", "cents": 5 }')]);
    const w = world({
      hash: sha256,
      model: scriptedModel([reply.calls([{ tool: DELEGATE, args: { agent: "reader", task: "who owes?" } }]), reply.text("Ann does")]),
      delegates: ["reader"],
      others: { reader: { model: reader, output: asked(DEBT) } },
    });
    const s = await w.run("find out");
    expect(s.messages.flatMap((m) => (m.role === "tool" ? [m.text] : []))).toEqual(['{"cents":5,"name":"Ann"}']);
    expect(toResult(s)).toMatchObject({ output: "Ann does", value: null });
  });
});

describe("another process", () => {
  test("M-23 with the agent: by its own schema, wherever the first one died", async () => {
    const points = ["append", "model"].flatMap((of) =>
      (["before", "after"] as const).flatMap((when) => [0, 1, 2, 3].map((nth) => ({ of, when, nth }))),
    );
    for (const point of points) {
      const at = { ...point, of: point.of === "append" ? ("append" as const) : ("model" as const) };
      const model = {
        id: "placed/model",
        ask: async ({ messages }: { messages: readonly { role: string }[] }) => ({
          parts: [{ kind: "text" as const, text: messages.some((m) => m.role === "note") ? ann : "x", meta: null }],
          finish: "stop" as const,
          usage: { input: 1, output: 1 },
          model: "placed/model",
          meta: null,
        }),
      };
      const w = world({ hash: sha256, model, output: asked(DEBT), crashes: [at] });
      const s = await w.run("go");
      expect(toResult(s), JSON.stringify(at)).toMatchObject({ ending: "completed", value: { name: "Ann", cents: 5 } });
      expect(w.events("output.asked")).toHaveLength(1);
      expect(w.events("turn.ended")).toHaveLength(1);
      expect(w.events("output.checked").map((e) => e.result.kind)).toEqual(["misfit", "fits"]);
    }
  });

  test("M-23 without it: by the JSON Schema of the journal", async () => {
    const output = asked(z.array(z.strictObject({ n: z.int() })));
    const spoil = (p: Parameters<NonNullable<WorldOptions["spoil"]>>[0]) => ({ ...p, outputs: { of: p.outputs.of, find: () => null } });
    const { w } = setup([reply.text('{"value":[{"n":"1"}]}'), reply.text('{"value":[{"n":1}]}')], { output, spoil });
    expect((await w.run("go")).value).toEqual([{ n: 1 }]);
    expect(w.events("output.checked").map((e) => [e.by, e.result.kind])).toEqual([
      ["journal", "misfit"],
      ["journal", "fits"],
    ]);
  });

  test("M-23 what its JSON Schema cannot enforce is not delivered", async () => {
    const output = { ...asked(DEBT), schema: { type: "object", properties: {}, unevaluatedProperties: false } };
    const { w } = setup([reply.text("{}")], { output, spoil: (p) => ({ ...p, outputs: { of: p.outputs.of, find: () => null } }) });
    expect((await w.run("go")).last).toMatchObject({ ending: "failed", detail: expect.stringContaining("cannot be enforced") });
  });

  test("M-25 a run's own schema is of its turn alone", async () => {
    const own = asked(DEBT);
    const run = asked(z.strictObject({ n: z.int() }));
    const spoil = (p: Parameters<NonNullable<WorldOptions["spoil"]>>[0]) => ({ ...p, outputs: toOutputs(own, { turn: 1, output: run }) });
    const { w } = setup([reply.text('{"n":1}'), reply.text(ann)], { spoil });
    expect((await w.run("go")).value).toEqual({ n: 1 });
    expect((await w.say("and now?")).value).toEqual({ name: "Ann", cents: 5 });
  });
});

test("M-23 a batch that a halt refuses is recorded again without asking for the answer twice", async () => {
  const held: { order: (() => Promise<void>) | null } = { order: null };
  const spoil: WorldOptions["spoil"] = (p) => ({
    ...p,
    journal: {
      ...p.journal,
      append: async (batch) => {
        const { order } = held;
        if (order !== null && batch.events.some(({ event }) => event.kind === "turn.started")) {
          held.order = null;
          await order();
        }
        return p.journal.append(batch);
      },
    },
  });
  const { w } = setup([reply.text(ann)], { spoil });
  await w.run("first");
  held.order = () => w.order({ kind: "work.halted", scope: "all", by: { kind: "user", id: "ops" }, reason: "a drill" });
  expect((await w.say("second")).last).toMatchObject({ ending: "halted", turn: 2 });
  expect(w.events("turn.started")).toHaveLength(2);
  expect(w.events("output.asked")).toHaveLength(2);
});

test("M-26 of a reply whose words were not understood nothing runs, whatever else is in it", async () => {
  const texts = ["half a call", ann];
  const { w, ran } = setup([], {
    model: {
      id: "odd/model",
      ask: async () => {
        const text = texts.shift() ?? "";
        const call: ReplyPart = { kind: "call", id: "c", tool: "look", text: '{"x":"y"}', meta: null };
        const parts: ReplyPart[] = [{ kind: "text", text, meta: null }, ...(text === ann ? [] : [call])];
        const misread = text === ann ? null : "it is half a call.";
        return { parts, finish: "stop", usage: { input: 1, output: 1 }, model: "m", meta: null, misread };
      },
    },
  });
  const s = await w.run("go");
  expect(s.value).toEqual({ name: "Ann", cents: 5 });
  expect(ran).toEqual([]);
  expect(notes(s.messages)).toEqual(["[not understood] it is half a call. Nothing was run."]);
  expect(s.messages.flatMap((m) => (m.role === "assistant" ? [m.parts.map((p) => p.kind)] : []))).toEqual([["text"], ["text"]]);
});

describe("whatever the schema and the replies", () => {
  const arb = arbitraries(fc);
  const names = fc.constantFrom("a", "b", "c", "__x", "ö");
  const { schema } = fc.letrec<{ schema: JsonObject }>((tie) => ({
    schema: fc.oneof(
      { depthSize: "small" },
      fc.constantFrom<JsonObject>(
        { type: "string" },
        { type: "integer", minimum: 0 },
        { type: "boolean" },
        { type: "null" },
        { enum: ["x", 1] },
      ),
      fc.record({ type: fc.constant("array"), items: tie("schema") }),
      fc.dictionary(names, tie("schema"), { maxKeys: 3 }).map((properties) => ({
        type: "object",
        properties,
        required: Object.keys(properties).slice(0, 2),
        additionalProperties: false,
      })),
      fc.array(tie("schema"), { minLength: 1, maxLength: 2 }).map((anyOf) => ({ anyOf })),
    ),
  }));
  /** Something near what the schema says, or not near at all. */
  const fitting = (s: JsonObject): fc.Arbitrary<Json> => {
    if (Array.isArray(s.enum)) return fc.constantFrom<Json>(...s.enum);
    if (Array.isArray(s.anyOf)) return fc.oneof(...s.anyOf.map((one: Json) => fitting(one as JsonObject)));
    switch (s.type) {
      case "string":
        return fc.string();
      case "integer":
        return fc.nat();
      case "boolean":
        return fc.boolean();
      case "array":
        return fc.array(fitting(s.items as JsonObject), { maxLength: 3 });
      case "object":
        return fc.record(Object.fromEntries(Object.entries(s.properties as Record<string, JsonObject>).map(([k, v]) => [k, fitting(v)])));
      default:
        return fc.constant(null);
    }
  };
  const replies = (s: JsonObject) => {
    const near = fitting(s).map((v) => JSON.stringify(s.type === "object" ? v : { value: v }));
    const wild = fc.oneof(
      arb.json.map((v) => JSON.stringify(v) ?? ""),
      fc.string(),
      near.map((t) => t.slice(0, -1)),
    );
    const text = fc.oneof(near, wild);
    return fc.array(fc.record({ text, finish: fc.constantFrom("stop", "length", "stop") }), { minLength: 1, maxLength: 5 });
  };

  test("M-23 whatever crashes: asked for once, looked at once for each reply, delivered once", () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom("call", "wrong", "cut", "talk"), { maxLength: 4 }),
        fc.array(arb.crashPoints(6), { maxLength: 3 }),
        async (script, crashes) => {
          const fire = defineTool({
            name: "fire",
            description: "f",
            input: z.strictObject({ n: z.int() }),
            repeat: "idempotent",
            run: ({ n }) => n,
          });
          const model = {
            id: "placed/model",
            ask: async ({ messages }: ModelRequest): Promise<ModelReply> => {
              const at = messages.filter((m) => m.role === "assistant").length;
              const step = script[at] ?? "fits";
              const text = { call: "", wrong: '{"name":1}', cut: ann, talk: "it is Ann", fits: ann }[step] ?? ann;
              const call: ReplyPart = { kind: "call", id: `c${at}`, tool: "fire", text: `{"n":${at}}`, meta: null };
              const parts: ReplyPart[] = step === "call" ? [call] : [{ kind: "text", text, meta: null }];
              const finish = step === "call" ? "calls" : step === "cut" ? "length" : "stop";
              return { parts, finish, usage: { input: 1, output: 1 }, model: "m", meta: null };
            },
          };
          const w = world({ hash: sha256, model, tools: [fire], output: asked(DEBT), crashes });
          const s = await w.run("go");
          const wrong = script.filter((step) => step !== "call").length;
          const { ending } = s.last ?? { ending: null };
          expect(w.events("output.asked")).toHaveLength(1);
          const looked = w.events("output.checked").map((e) => e.iteration);
          expect(new Set(looked).size).toBe(looked.length);
          if (ending === "completed") {
            expect(wrong).toBeLessThanOrEqual(2);
            expect(s.value).toEqual({ name: "Ann", cents: 5 });
          } else expect(ending).toBe("failed"); // too often wrong, or the model's reply was lost too often
          expect(w.events("turn.ended")).toHaveLength(1);
        },
      ),
      { numRuns: 150 },
    ));

  test("M-23 what is delivered fits, and it is asked for again no more often than was said", () =>
    fc.assert(
      fc.asyncProperty(
        schema.chain((s) => fc.tuple(fc.constant(s), replies(s))),
        fc.integer({ min: 0, max: 3 }),
        async ([s, script], repairs) => {
          const judge = fromJsonSchema(s);
          fc.pre(judge.kind === "schema");
          const steps = [...script, ...Array.from({ length: 8 }, () => ({ text: "no", finish: "stop" }))];
          let at = 0;
          const model = {
            id: "random/model",
            ask: async () => {
              const { text, finish } = steps[at++] ?? { text: "no", finish: "stop" };
              const parts = [{ kind: "text" as const, text, meta: null }];
              return {
                parts,
                finish: finish === "length" ? ("length" as const) : ("stop" as const),
                usage: { input: 1, output: 1 },
                model: "m",
                meta: null,
              };
            },
          };
          const w = world({ hash: sha256, model, output: asked(s, repairs) });
          const state = await w.run("go");
          const { ending } = state.last ?? { ending: null };
          const tries = w.events("model.replied").filter((e) => e.parts.some((p) => p.text.trim() !== "")).length;
          expect(tries).toBeLessThanOrEqual(repairs + 1);
          if (ending !== "completed") expect(ending).toBe("failed");
          if (ending !== "completed" || judge.kind !== "schema") return;
          expect(judge.schema["~standard"].validate(state.value)).not.toHaveProperty("issues");
          expect(state.last?.output).toBe(toCanonicalJson(state.value));
        },
      ),
      { numRuns: 300 },
    ));
});

const throwing = (message: string): Schema => ({
  "~standard": {
    version: 1,
    vendor: "odd",
    validate: () => {
      throw new Error(message);
    },
    jsonSchema: { input: () => ({ type: "object" }), output: () => ({ type: "object" }) },
  },
});

function tree() {
  const node = z.strictObject({
    name: z.string(),
    get kids() {
      return z.array(node);
    },
  });
  return node;
}
