import {
  type Attachment,
  type Digest,
  defineTool,
  FaultError,
  type JsonObject,
  type Message,
  type ModelRequest,
  type Part,
  type Preview,
  type ReplyPart,
  readRunOutput,
  type Tool,
} from "@orgate/core";
import type { Clock } from "@orgate/core/loop";
import { callId, millis, seq } from "@orgate/core/vocab";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { modelFor, type OfflineRule, offlineModel } from "./model.ts";

const never = new AbortController().signal;
const ignore = () => {};
/** Time that passes when somebody sleeps, and never otherwise. */
const clockOf = (slept: number[] = []): Clock => ({
  elapsed: () => 0,
  now: () => millis(slept.reduce((a, b) => a + b, 0)),
  sleep: async (ms) => void slept.push(ms),
});

const tool = (name: string, description: string, input: z.ZodType): Tool => defineTool({ name, description, input, run: () => null });
const TOOLS = [
  tool("read_text", "Read one text file of the workspace.", z.strictObject({ path: z.string(), lines: z.int().optional() })),
  tool("sendMail", "Send a letter to somebody.", z.strictObject({ to: z.string(), subject: z.string() })),
  tool("set_level", "Choose how much is logged.", z.strictObject({ level: z.enum(["quiet", "loud"]), days: z.int(), share: z.number() })),
];

const user = (text: string): Message => ({ role: "user", text, tokens: 3, entry: seq(1) });
const result = (name: string, text: string, isError = false): Message => ({
  role: "tool",
  wireId: "w",
  tool: name,
  text,
  isError,
  tokens: 2,
  entry: seq(1),
});
const called = (name: string): Message => {
  const part: Part = {
    kind: "call",
    id: callId("1.0"),
    wireId: "w",
    tool: name,
    text: "{}",
    meta: null,
  };
  return { role: "assistant", parts: [part], tokens: 2, entry: seq(1) };
};
const request = (messages: readonly Message[], change: Partial<ModelRequest> = {}): ModelRequest => ({
  system: "Be brief.",
  context: [],
  messages,
  tools: TOOLS,
  temperature: 0.3,
  answer: null,
  maxOutputTokens: 1000,
  attempt: 1,
  ...change,
});

const calls = (parts: readonly ReplyPart[]) =>
  parts.flatMap((part) => (part.kind === "call" ? [{ tool: part.tool, args: JSON.parse(part.text) }] : []));
const said = (parts: readonly ReplyPart[]) => parts.flatMap((part) => (part.kind === "text" ? [part.text] : [])).join("");
const echo = offlineModel({ name: "echo" }, clockOf());
const ask = async (messages: readonly Message[], rules: OfflineRule[] = []) =>
  (await offlineModel({ name: "t", rules }, clockOf()).ask(request(messages), ignore, never)).parts;

test("M-2 the same request gets the same reply, always", async () => {
  const messages = fc.array(
    fc.oneof(
      fc.string().map(user),
      fc.tuple(fc.constantFrom("read_text", "x"), fc.string(), fc.boolean()).map((r) => result(...r)),
      fc.constant(called("x")),
    ),
  );
  await fc.assert(
    fc.asyncProperty(messages, async (drawn) => {
      const replies = [];
      for (const model of [echo, echo, offlineModel({ name: "echo" }, clockOf())])
        replies.push(await model.ask(request(drawn), ignore, never));
      expect(replies[1]).toEqual(replies[0]);
      expect(replies[2]).toEqual(replies[0]);
      expect(replies[0]?.parts.length).toBeGreaterThan(0);
    }),
  );
});

test("M-2 what it says is streamed before it is returned, word by word, and counted", async () => {
  const seen: Preview[] = [];
  const model = offlineModel({ name: "t", rules: [{ think: "let me see", say: "Good  morning to you." }] }, clockOf());
  const reply = await model.ask(request([user("hi")]), (p) => seen.push(p), never);
  expect(seen.filter((p) => p.part === "text")).toEqual([
    { part: "text", offset: 0, text: "Good  " },
    { part: "text", offset: 6, text: "morning " },
    { part: "text", offset: 14, text: "to " },
    { part: "text", offset: 17, text: "you." },
  ]);
  expect(seen.filter((p) => p.part === "thinking").map((p) => p.text)).toEqual(["let ", "me ", "see"]);
  expect(reply).toMatchObject({ model: "offline/t", finish: "stop", usage: { output: 7 } });
  expect(reply.usage.input).toBeGreaterThan(3);
});

test("M-2 it waits between words only when it is told to, on the clock", async () => {
  const slept: number[] = [];
  await offlineModel({ name: "t", rules: [{ say: "a b c" }] }, clockOf(slept)).ask(request([user("")]), ignore, never);
  expect(slept).toEqual([]);
  await offlineModel({ name: "t", rules: [{ say: "a b c" }], delayMs: 40 }, clockOf(slept)).ask(request([user("")]), ignore, never);
  expect(slept).toEqual([40, 40, 40]);
});

test("M-2 it stops at once when the signal fires", async () => {
  const stop = new AbortController();
  const seen: string[] = [];
  const onWord = ({ text }: Preview) => {
    seen.push(text);
    if (seen.length === 2) stop.abort();
  };
  const asked = offlineModel({ name: "t", rules: [{ say: "a b c d" }] }, clockOf()).ask(request([user("")]), onWord, stop.signal);
  await expect(asked).rejects.toMatchObject({ fault: { kind: "model-failed", detail: "stopped", again: false, broke: false } });
  expect(seen).toEqual(["a ", "b "]);
  await expect(echo.ask(request([user("hi")]), () => expect.unreachable(), stop.signal)).rejects.toThrow("stopped");
});

test("M-2 a reply longer than it may be is cut, says so, and calls nothing", async () => {
  const model = offlineModel({ name: "t", rules: [{ say: "x".repeat(500), calls: [{ tool: "read_text" }] }] }, clockOf());
  const reply = await model.ask(request([user("hi")], { maxOutputTokens: 20 }), ignore, never);
  expect(reply.finish).toBe("length");
  expect(reply.usage.output).toBeLessThanOrEqual(20);
  expect(calls(reply.parts)).toEqual([]);
});

test("M-2 the first rule that fits answers, with what the request says in its places", async () => {
  const rules: OfflineRule[] = [
    { when: { says: "never said" }, say: "no" },
    {
      when: { says: "refund (?<order>\\d+) for (.+)" },
      say: "Refunding {{order}}.",
      calls: [{ tool: "refund", args: { order: "{{1}}", who: ["{{ 2 }}"], note: "{{input}}!", fast: true } }],
    },
    { say: "too late" },
  ];
  const parts = await ask([user("old"), user("Refund 17 for Ada")], rules);
  expect(said(parts)).toBe("Refunding 17.");
  expect(calls(parts)).toEqual([{ tool: "refund", args: { order: "17", who: ["Ada"], note: "Refund 17 for Ada!", fast: true } }]);
});

test("M-2 rules look at the latest result, whether it failed, and what was called in this turn", async () => {
  const rules: OfflineRule[] = [
    { when: { called: ["find"], failed: true }, say: "could not: {{result}}" },
    {
      when: { called: ["find"], notCalled: ["pay"], result: '"total"' },
      calls: [{ tool: "pay", args: { cents: "{{result.total}}", to: "{{results.find.names.1}}", odd: "{{result.no.such}}" } }],
    },
    { when: { called: ["find", "pay"] }, say: "paid {{results.find.total}}: {{result}}" },
    { calls: [{ tool: "find" }] },
  ];
  const found = [user("go"), called("find"), result("find", '{"total":5,"names":["a","b"]}')];
  expect(calls(await ask([user("go")], rules))).toEqual([{ tool: "find", args: {} }]);
  expect(calls(await ask(found, rules))).toEqual([{ tool: "pay", args: { cents: 5, to: "b", odd: "" } }]);
  expect(said(await ask([...found, called("pay"), result("pay", "ok")], rules))).toBe("paid 5: ok");
  expect(said(await ask([user("go"), called("find"), result("find", "denied", true)], rules))).toBe("could not: denied");
  expect(calls(await ask([...found, called("pay"), result("pay", "ok"), user("again")], rules))).toEqual([{ tool: "find", args: {} }]);
});

test("M-2 a rule that names no earlier call fits only before the turn's first, so it cannot call for ever", async () => {
  const rules: OfflineRule[] = [{ when: { says: "go" }, calls: [{ tool: "find" }] }];
  expect(said(await ask([user("go"), called("find"), result("find", "five")], rules))).toBe("find answered: five");
});

test.each<[string, JsonObject, string]>([
  ["an unknown field", { rule: [] }, 'unrecognized key: "rule"'],
  ["a name in the options", { name: "other" }, 'unrecognized key: "name"'],
  ["a broken expression", { rules: [{ when: { says: "(" }, say: "x" }] }, "`rules.0.when.says` is no regular expression"],
  ["a rule that does nothing", { rules: [{ when: { says: "x" } }] }, "`rules.0` says nothing and calls nothing"],
  ["a delay that is no number", { delayMs: "fast" }, "`delayMs`"],
])("M-2 %s is refused before anything runs", (_, options, message) => {
  expect(() => modelFor("offline/t", options, clockOf())).toThrow(message);
});

test.each([
  ['read "notes/a.txt" please', "read_text", { path: "notes/a.txt" }],
  ["Read the text in `b.md`", "read_text", { path: "b.md" }],
  ["send mail to 'ada@example.test' saying “it's done”", "sendMail", { to: "ada@example.test", subject: "it's done" }],
  ["set the level to loud for 3 days, share 0.5", "set_level", { level: "loud", days: 3, share: 0.5 }],
  ["set the level to quiet with share 0.5 over 30 days", "set_level", { level: "quiet", days: 30, share: 0.5 }],
])("M-2 without a rule, %j calls the tool it names with what it quotes", async (text, name, args) => {
  const reply = await echo.ask(request([user(text)]), ignore, never);
  expect(calls(reply.parts)).toEqual([{ tool: name, args }]);
  expect(reply.finish).toBe("calls");
  const found = TOOLS.find((one) => one.name === name);
  expect(found?.check(args).kind).toBe("valid");
});

test("M-2 it never invents an argument: it says what is missing", async () => {
  const parts = await ask([user('send a mail to "ada@example.test"')]);
  expect(calls(parts)).toEqual([]);
  expect(said(parts)).toContain("I would call sendMail, but your request does not say subject");
});

test("M-2 what stands in quotes chooses no tool", async () => {
  expect(calls(await ask([user('say "read text send mail" back')]))).toEqual([]);
});

test("M-2 it tells what a tool answered or why it did not work, every one of the latest reply", async () => {
  const parts = await ask([
    user("x"),
    called("b"),
    result("b", "old"),
    called("a"),
    result("a", "five"),
    result("c", "refused by policy", true),
  ]);
  expect(said(parts)).toBe("a answered: five\nc did not work: refused by policy");
});

test("M-2 with nothing to do it says what it is and what it can do", async () => {
  const text = said(await ask([user("how are you?")]));
  expect(text).toContain("I am offline/t, a model of fixed rules");
  expect(text).toContain("read_text, sendMail, set_level");
  expect(text).toContain("how are you?");
  const bare = await echo.ask(request([], { tools: [] }), ignore, never);
  expect(said(bare.parts)).toContain("I have no tools here");
});

test.each(["openai/gpt", "echo", "offline/", "", "OFFLINE/echo", "__proto__/x"])(
  "M-3 a model that is not there, %j, is refused with what is",
  (id) => {
    try {
      modelFor(id, {}, clockOf());
      expect.unreachable();
    } catch (error) {
      if (!(error instanceof FaultError)) throw error;
      expect(error.fault).toMatchObject({ kind: "model-unknown", model: id });
      expect(error.message).toContain("available: offline/NAME");
    }
  },
);

test("M-3 every offline name is a model", async () => {
  const model = modelFor("offline/any/thing", { rules: [{ say: "hello" }] }, clockOf());
  expect(model.id).toBe("offline/any/thing");
  expect(said((await model.ask(request([user("x")]), ignore, never)).parts)).toBe("hello");
});

test("M-2 the files it was shown are told by name, type and size, in its own words and in a rule", async () => {
  const files: readonly Attachment[] = [
    { kind: "image", mediaType: "image/png", name: "a.png", base64: "iVBORw0KGgo=" },
    { kind: "text", mediaType: "text/csv", name: null, text: "a,b" },
  ];
  const request: ModelRequest = {
    system: "s",
    context: [],
    messages: [{ role: "user", text: "what is it?", files, tokens: 3, entry: seq(1) }],
    tools: [],
    answer: null,
    temperature: 0,
    maxOutputTokens: 1_000,
    attempt: 1,
  };
  const say = async (rules: readonly OfflineRule[]) => {
    const { parts } = await offlineModel({ name: "eye", rules: [...rules] }, clockOf()).ask(request, ignore, never);
    return parts.map((part) => part.text).join("");
  };
  expect(await say([])).toMatch(/You said: what is it\? You showed me: a\.png \(image\/png, 8 bytes\), a file \(text\/csv, 3 bytes\)$/);
  expect(await say([])).toBe(await say([]));
  expect(await say([{ say: "I see {{files}}." }])).toBe("I see a.png (image/png, 8 bytes), a file (text/csv, 3 bytes).");
});

describe("M-2 a structured answer", () => {
  const schema = z.toJSONSchema(
    z.object({
      customer: z.string(),
      cents: z.int().min(1),
      kind: z.enum(["invoice", "refund"]),
      paid: z.boolean(),
      tags: z.array(z.string()),
      note: z.string().nullable(),
      extra: z.string().optional(),
    }),
    { io: "input" },
  ) as JsonObject;
  const answer = { kind: "text", schema } as const;
  const answerTo = async (messages: readonly Message[], change: Partial<ModelRequest> = {}, rules: OfflineRule[] = []) =>
    said(
      (await offlineModel({ name: "t", rules }, clockOf()).ask(request(messages, { answer, tools: [], ...change }), ignore, never)).parts,
    );

  test("M-2 it is made of what the request says, and the same every time", async () => {
    const asked = [user('a refund of 250 to "Ann", yes')];
    const text = await answerTo(asked);
    expect(JSON.parse(text)).toEqual({ customer: "Ann", cents: 250, kind: "refund", paid: true, tags: [], note: null });
    expect(await answerTo(asked)).toBe(text);
  });

  test("M-2 what nothing is said of is the least that fits", async () => {
    expect(JSON.parse(await answerTo([user("well?")]))).toEqual({
      customer: "",
      cents: 1,
      kind: "invoice",
      paid: false,
      tags: [],
      note: null,
    });
  });

  test("M-2 tools come first, and a result's fields are taken by name", async () => {
    const first = await offlineModel({ name: "t" }, clockOf()).ask(request([user('read the text of "a.txt"')], { answer }), ignore, never);
    expect(calls(first.parts)).toHaveLength(1);
    const text = await answerTo([user("go"), called("x"), result("x", '{"customer":"Bob","extra":"e","cents":0}')], { tools: TOOLS });
    expect(JSON.parse(text)).toMatchObject({ customer: "Bob", extra: "e", cents: 1 });
  });

  test("M-2 a rule may say what it answers with", async () => {
    const rules = [{ when: { says: "(\\d+) cents" }, answer: { cents: "{{1}}", to: ["{{input}}"] } }];
    expect(JSON.parse(await answerTo([user("5 cents")], {}, rules))).toEqual({ cents: "5", to: ["5 cents"] });
  });

  const names = fc.constantFrom("a", "b", "customer");
  const { schema: schemas } = fc.letrec<{ schema: JsonObject }>((tie) => ({
    schema: fc.oneof(
      { depthSize: "small" },
      fc.record({ type: fc.constant("string"), minLength: fc.nat(3) }),
      fc.record({
        type: fc.constantFrom("integer", "number"),
        minimum: fc.integer({ min: -9, max: 9 }),
        maximum: fc.integer({ min: 9, max: 20 }),
      }),
      fc.constantFrom<JsonObject>({ type: "boolean" }, { enum: ["x", 2] }, { type: "string", format: "email" }, { type: "null" }),
      fc.record({ type: fc.constant("array"), items: tie("schema"), minItems: fc.nat(2) }),
      fc.array(tie("schema"), { minLength: 1, maxLength: 2 }).map((anyOf) => ({ anyOf })),
      fc.tuple(fc.dictionary(names, tie("schema"), { maxKeys: 3 }), fc.boolean()).map(
        ([properties, all]): JsonObject => ({
          type: "object",
          properties,
          required: Object.keys(properties).slice(all ? 0 : 1),
          additionalProperties: false,
        }),
      ),
    ),
  }));
  test("M-2 for any simple schema it fits", () =>
    fc.assert(
      fc.asyncProperty(schemas, fc.constantFrom("well?", 'it is "x" and 7 and 2.5', "yes"), fc.boolean(), async (one, input, looked) => {
        const output = readRunOutput(one, 0, "t", (text) => text as Digest);
        const before = looked ? [called("x"), result("x", '{"a":1,"customer":"Ann","b":["x"]}')] : [];
        const text = await answerTo([user(input), ...before], { answer: { kind: "text", schema: output.schema } });
        expect(output.check(JSON.parse(text))).toMatchObject({ kind: "fits" });
      }),
    ));
});
