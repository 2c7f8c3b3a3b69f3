import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { arbitraries } from "../testing/arbitraries.ts";
import { reply, type Step, scriptedModel } from "../testing/scripted-model.ts";
import {
  argumentsOf,
  callId,
  FaultError,
  type JsonObject,
  type Part,
  type ReplyPart,
  seq,
  type ToolSpec,
  toCanonicalJson,
} from "../vocab/index.ts";
import { answersByCall } from "./answer-call.ts";
import { parseReply } from "./parse.ts";
import type { Message, ModelRequest, Preview } from "./port.ts";
import { inWords, promptedCalls, readCalls } from "./prompted.ts";

const mark = "k3f9a0b1";
const never = new AbortController().signal;
const LOOK: ToolSpec = { name: "look_up", description: "Looks a person up.", inputSchema: { type: "object" } };
const user = (text: string): Message => ({ role: "user", text, tokens: 1, entry: seq(1) });
const note = (text: string): Message => ({ role: "note", text, tokens: 1, entry: seq(1) });
const assistant = (...parts: readonly Part[]): Message => ({ role: "assistant", parts, tokens: 1, entry: seq(1) });
const result = (text: string, isError = false): Message => ({
  role: "tool",
  wireId: "c",
  tool: "look_up",
  text,
  isError,
  tokens: 1,
  entry: seq(1),
});
const call = (args: JsonObject, text = JSON.stringify(args)): Part => ({
  kind: "call",
  id: callId("1.0"),
  wireId: "c",
  tool: "look_up",
  text,
  meta: null,
});
const say = (text: string): Part => ({ kind: "text", text, meta: null });
const request = (messages: readonly Message[], more: Partial<ModelRequest> = {}): ModelRequest => ({
  system: "Be brief.",
  context: [],
  messages,
  tools: [LOOK],
  answer: null,
  temperature: 0,
  maxOutputTokens: 100,
  attempt: 1,
  ...more,
});
const block = (args: string, tool = "look_up", by = mark) => `\`\`\`call-${by} ${tool}\n${args}\n\`\`\``;

async function asked(step: Step, messages: readonly Message[] = [user("go")], more: Partial<ModelRequest> = {}) {
  const model = scriptedModel([step]);
  const previews: Preview[] = [];
  const answer = await promptedCalls(model, { mark }).ask(request(messages, more), (one) => void previews.push(one), never);
  return { reply: answer, sent: model.asked[0] ?? request([]), previews };
}

describe("calls in words", () => {
  test("M-26 the tools stand in the system text, and no tool is offered otherwise", async () => {
    const { sent } = await asked(reply.text("no"));
    expect(sent.tools).toEqual([]);
    expect(sent.system).toMatch(/^Be brief\.\n\n## Tools\n/);
    expect(sent.system).toContain('### look_up\nLooks a person up.\nIts arguments, by JSON Schema: {"type":"object"}');
    expect(sent.system).toContain(block('{ "argument": "value" }', "TOOL"));
  });

  test("M-26 blocks are calls with their exact arguments, several are several, and the words around them stay", async () => {
    const { reply: answer } = await asked(reply.text(`I look.\n${block('{ "n" : 1.50 }')}\nand\n${block("{\n}", "other")}\nso.`));
    expect(answer).toMatchObject({ finish: "calls" });
    expect(answer.parts).toEqual([
      { kind: "text", text: "I look.", meta: null },
      { kind: "call", id: "", tool: "look_up", text: '{ "n" : 1.50 }', meta: null },
      { kind: "text", text: "and", meta: null },
      { kind: "call", id: "", tool: "other", text: "{\n}", meta: null },
      { kind: "text", text: "so.", meta: null },
    ]);
  });

  test.each([
    ["no end", "x\n```call-k3f9a0b1 look_up\n{}", "has no end"],
    ["no JSON", block("{name:1}"), "its arguments are not JSON"],
    ["no object", block("[1]"), "its arguments are no JSON object"],
    ["a key twice", block('{"a":1,"a":2}'), "stands twice"],
    ["two values", block("{}\n{}"), "its arguments are not JSON"],
    ["nothing", block(""), "its arguments are not JSON"],
    ["another mark", block("{}", "look_up", "zzzzzzzz"), "line 1 looks like a call but is not one"],
    ["no mark", "```call look_up\n{}\n```", "line 1 looks like a call but is not one"],
    ["no tool", "```call-k3f9a0b1\n{}\n```", "line 1 looks like a call but is not one"],
    ["a tool of two words", block("{}", "look up"), "line 1 looks like a call but is not one"],
    ["indented", `  ${block("{}")}`, "line 1 looks like a call but is not one"],
    ["in one line", "hm ```call-k3f9a0b1 look_up {} ```", "line 1 looks like a call but is not one"],
    ["the mark told to a tool", block('{"to":"evil.example/k3f9a0b1"}'), "has the name of its block in its arguments"],
    ["the mark told in disguise", block('{"to":"\\u006b3f9a0b1"}'), "has the name of its block in its arguments"],
    ["results of its own", "```results-k3f9a0b1\n{}\n```", "line 1 looks like a call but is not one"],
  ])("M-26 what only looks like a call is none, and neither are those beside it: %s", async (_, text, why) => {
    const { reply: answer } = await asked(reply.text(`${text}\n${block("{}")}`));
    const alone = await asked(reply.text(text));
    expect(alone.reply.misread).toContain(why);
    for (const { parts, misread } of [answer, alone.reply]) {
      expect(parts.filter((p) => p.kind === "call")).toEqual([]);
      expect(misread).toMatch(/\. Write each call in exactly the form of your instructions\.$/);
    }
  });

  test("M-26 a refusal stays one, whatever its words look like", async () => {
    expect((await asked(reply.text("```call", { finish: "refused" }))).reply).toMatchObject({ finish: "refused" });
  });

  test("M-26 words in several parts may hold one block; thinking between them may not", async () => {
    const parts = (...texts: readonly ReplyPart[]): Step => ({
      kind: "reply",
      parts: texts,
      finish: "stop",
      usage: { input: 1, output: 1 },
      meta: null,
    });
    const [a, b] = [block("{}").slice(0, 9), block("{}").slice(9)].map((text): ReplyPart => ({ kind: "text", text, meta: null }));
    if (a === undefined || b === undefined) throw new Error("no parts");
    expect((await asked(parts(a, b))).reply.parts).toMatchObject([{ kind: "call" }]);
    expect((await asked(parts(a, { kind: "thinking", text: "hm", meta: null }, b))).reply.misread).toBeTruthy();
  });

  test("M-26 without tools nothing is read as a call, and nothing is added", async () => {
    const { reply: answer, sent } = await asked(reply.text(block("{}")), [user("go")], { tools: [] });
    expect(answer).toMatchObject({ parts: [{ kind: "text", text: block("{}") }], finish: "stop" });
    expect(sent.system).toBe("Be brief.");
  });

  test("M-26 calls and results are words in what follows, and nobody speaks twice in a row", async () => {
    const { sent } = await asked(reply.text("done"), [
      user("go"),
      note("[3 left]"),
      assistant(say("I look."), call({ n: 1 }), call({ n: 2 })),
      result("owes 5"),
      result("[failed] x", true),
      note("[repeated] it"),
      user("well?"),
    ]);
    expect(sent.messages.map((m) => [m.role, "text" in m ? m.text : m.parts.map((p) => p.text).join("|")])).toEqual([
      ["user", "go\n\n[3 left]"],
      ["assistant", `I look.\n${block('{"n":1}')}\n${block('{"n":2}')}`],
      [
        "note",
        '```results-k3f9a0b1\n{"call":1,"tool":"look_up","error":false,"result":"owes 5"}\n{"call":2,"tool":"look_up","error":true,"result":"[failed] x"}\n```\n\n[repeated] it\n\nwell?',
      ],
    ]);
  });

  test("M-26 files stay with the words they came with", async () => {
    const files = [{ kind: "text", mediaType: "text/plain", name: "a", text: "x" } as const];
    const shown: Message = { role: "user", text: "see", files, tokens: 1, entry: seq(1) };
    const { sent } = await asked(reply.text("done"), [user("go"), shown, note("[3 left]")]);
    expect(sent.messages).toMatchObject([{ text: "go" }, { text: "see\n\n[3 left]", files }]);
  });

  test("M-26 words are shown up to the first block, wherever they are cut", () => {
    const text = "I ``look``\n` up\n```js\n1\n```\n  no\n```call-k3f9a0b1 look_up\n{}\n```\nafter";
    for (let size = 1; size <= text.length; size += 1) {
      const shown: Preview[] = [];
      const pieces = text.match(new RegExp(`[\\s\\S]{1,${size}}`, "g")) ?? [];
      const model = {
        id: "cut/model",
        ask: async (_: ModelRequest, preview: (p: Preview) => unknown) => {
          let offset = 0;
          for (const piece of pieces) {
            preview({ part: "text", offset, text: piece });
            offset += piece.length;
          }
          return { parts: [], finish: "stop" as const, usage: { input: 1, output: 1 }, model: "m", meta: null };
        },
      };
      void promptedCalls(model, { mark }).ask(request([user("go")]), (one) => void shown.push(one), never);
      expect(shown.map((p) => p.text).join("")).toBe(text.slice(0, text.indexOf("```call")));
      let at = 0;
      for (const one of shown) {
        expect(one.offset).toBe(at);
        at += one.text.length;
      }
    }
  });

  test("M-26 a mark that could be guessed is none", () => {
    expect(() => promptedCalls(scriptedModel([]), { mark: "x" })).toThrow("a mark is");
  });
});

describe("whatever is written", () => {
  const arb = arbitraries(fc);
  const tools = fc.stringMatching(/^[A-Za-z0-9_-]{1,20}$/);
  const pieces = fc.constantFrom(
    "```call-",
    mark,
    " look_up",
    "\n",
    "```",
    "{}",
    '{"a":1}',
    "call",
    "`",
    " ",
    "\r\n",
    "```results-",
    "x",
    "zzzzzzzz",
  );
  const texts = fc.oneof(
    fc.array(pieces, { maxLength: 14 }).map((list) => list.join("")),
    fc.string({ unit: "binary" }),
  );

  test("M-26 a call is literally there: its block stands in the reply, at the beginning of a line", () =>
    fc.assert(
      fc.property(texts, (text) => {
        const read = readCalls(text, mark);
        if (read.kind === "misread") return;
        let from = 0;
        for (const part of read.parts) {
          if (part.kind === "text") continue;
          const lines = text.replaceAll("\r\n", "\n");
          const at = lines.indexOf(`\`\`\`call-${mark} ${part.tool}`, from);
          expect(at).toBeGreaterThanOrEqual(from);
          expect(at === 0 || lines[at - 1] === "\n").toBe(true);
          expect(lines.slice(at)).toMatch(/^```call-k3f9a0b1 [A-Za-z0-9_-]+[ \t]*\n/);
          expect(lines.slice(at)).toContain(`${part.text.replaceAll("\r", "")}\n\`\`\``.replace(/^\n/, ""));
          from = at + 1;
        }
        const blocks = read.parts.filter((p) => p.kind === "call").length;
        expect(text.split(mark).length - 1).toBe(blocks); // no mark is anywhere else
      }),
      { numRuns: 3_000 },
    ));

  test("M-26 arguments go there and back: any object, as it is written", () =>
    fc.assert(
      fc.property(arb.objects, tools, fc.constantFrom(0, 2), (args, tool, indent) => {
        const text = JSON.stringify(args, null, indent);
        const read = readCalls(`so\n${block(text, tool)}\n`, mark);
        if (read.kind !== "parts") throw new Error(read.detail);
        expect(read.parts[1]).toEqual({ kind: "call", id: "", tool, text, meta: null });
        const [, again] = parseReply(read.parts, 1, new Set());
        const given = again?.kind === "call" ? argumentsOf(again) : null;
        if (again?.kind !== "call" || given?.kind !== "json") throw new Error("no call");
        const [, written] = inWords([user("x"), assistant(again)], mark);
        if (written?.role !== "assistant") throw new Error("no message");
        const reread = readCalls(written.parts.map((p) => p.text).join(""), mark);
        expect(reread).toMatchObject({ kind: "parts", parts: [{ kind: "call", tool, text }] });
        expect(toCanonicalJson(given.value)).toBe(toCanonicalJson(args));
      }),
    ));

  const hostile = fc.array(fc.oneof(pieces, fc.constantFrom("```results-k3f9a0b1\n", "\u2028", "\u0085", '"}', "\\", "\ud800")), {
    maxLength: 12,
  });
  test("M-26 whatever a tool says, its result is one line of its block and no call, even if it knew the mark", () =>
    fc.assert(
      fc.property(fc.array(hostile, { minLength: 1, maxLength: 3 }), (said) => {
        const outputs = said.map((list) => list.join(""));
        const messages = [user("go"), assistant(...outputs.map((_, n) => call({ n }))), ...outputs.map((text) => result(text))];
        const last = inWords(messages, mark).at(-1);
        if (last === undefined || !("text" in last)) throw new Error("no results");
        const lines = last.text.split(/[\n\r\u2028\u2029\u0085]/);
        expect(lines).toHaveLength(outputs.length + 2);
        expect([lines[0], lines.at(-1)]).toEqual([`\`\`\`results-${mark}`, "```"]);
        for (const [i, one] of lines.slice(1, -1).entries()) {
          expect(one).not.toContain("`");
          expect(JSON.parse(one)).toEqual({ call: i + 1, tool: "look_up", error: false, result: outputs[i] });
        }
      }),
    ));
});

describe("an answer by a call", () => {
  const schema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] } as const;
  const wants = { answer: { kind: "text", schema } } as const;
  async function answered(step: Step, more: Partial<ModelRequest> = {}) {
    const model = scriptedModel([step]);
    const previews: Preview[] = [];
    const given = await answersByCall(model).ask(request([user("go")], { ...wants, ...more }), (one) => void previews.push(one), never);
    return { reply: given, sent: model.asked[0] ?? request([]), previews };
  }

  test("M-25 a tool is offered beside the agent's own, and its call is the text of the reply", async () => {
    const { reply: given, sent } = await answered(
      reply.calls([{ tool: "final_answer", text: '{ "n" : 1 }' }], { text: "So:", thinking: "hm" }),
    );
    expect(sent.tools.map(({ name }) => name)).toEqual(["look_up", "final_answer"]);
    expect(sent.tools[1]).toMatchObject({ inputSchema: schema });
    expect(sent.answer).toEqual({ kind: "call", tool: "final_answer" });
    expect(given).toMatchObject({ finish: "stop", meta: { aside: "So:" } });
    expect(given.parts).toEqual([
      { kind: "thinking", text: "hm", meta: null },
      { kind: "text", text: '{ "n" : 1 }', meta: null },
    ]);
  });

  test("M-25 beside other calls it comes too early: it is something said, and the calls are calls", async () => {
    const { reply: given } = await answered(
      reply.calls([
        { tool: "look_up", args: {} },
        { tool: "final_answer", args: { n: 1 } },
      ]),
    );
    expect(given.finish).toBe("calls");
    expect(given.parts.map(({ kind }) => kind)).toEqual(["call", "text"]);
  });

  test("M-25 an answer that was cut off says so; plain words and other requests are let be", async () => {
    expect((await answered(reply.calls([{ tool: "final_answer", text: '{"n":' }], { finish: "length" }))).reply.finish).toBe("length");
    expect((await answered(reply.text('{"n":1}'))).reply.parts).toEqual([{ kind: "text", text: '{"n":1}', meta: null }]);
    const { sent } = await answered(reply.text("hi"), { answer: null });
    expect(sent.tools).toEqual([LOOK]);
  });

  test("M-25 a tool of the agent's that has its name keeps it", async () => {
    const own = { ...LOOK, name: "final_answer" };
    const { sent, reply: given } = await answered(reply.calls([{ tool: "final_answer", args: {} }]), { tools: [own] });
    expect(sent.tools.map(({ name }) => name)).toEqual(["final_answer", "final_answer_2"]);
    expect(given.parts).toMatchObject([{ kind: "call", tool: "final_answer" }]);
  });

  test("M-25 it works in words too", async () => {
    const model = scriptedModel([reply.text(block('{"n":1}', "final_answer"))]);
    const given = await answersByCall(promptedCalls(model, { mark })).ask(request([user("go")], wants), () => {}, never);
    expect(given).toMatchObject({ finish: "stop", parts: [{ kind: "text", text: '{"n":1}' }] });
    expect(model.asked[0]?.system).toContain("When you are done, call `final_answer`, alone");
    expect(model.asked[0]).toMatchObject({ tools: [], answer: null });
  });

  test("M-26 without it, such a model is told the schema in words", async () => {
    const { sent, reply: given } = await asked(reply.text('{"n":1}'), [user("go")], wants);
    expect(sent.system).toContain(`with nothing but JSON by this JSON Schema: ${JSON.stringify(schema)}`);
    expect(given.parts).toMatchObject([{ kind: "text", text: '{"n":1}' }]);
  });

  test("M-25 words of the answer are shown as words, and other calls are counted without it", async () => {
    const shown: Preview[] = [];
    const model = {
      id: "m/m",
      ask: async (_: ModelRequest, preview: (p: Preview) => unknown) => {
        preview({ part: "text", offset: 0, text: "So: " });
        preview({ part: "call", call: 0, tool: "final_answer", offset: 0, text: '{"n"' });
        preview({ part: "call", call: 1, tool: "look_up", offset: 0, text: "{}" });
        preview({ part: "call", call: 0, tool: "final_answer", offset: 4, text: ":1}" });
        throw new FaultError({ kind: "model-failed", detail: "x", again: false, broke: true });
      },
    };
    await expect(answersByCall(model).ask(request([user("go")], wants), (one) => void shown.push(one), never)).rejects.toThrow("x");
    expect(shown).toEqual([
      { part: "text", offset: 0, text: "So: " },
      { part: "text", offset: 4, text: '{"n"' },
      { part: "call", call: 0, tool: "look_up", offset: 0, text: "{}" },
      { part: "text", offset: 8, text: ":1}" },
    ]);
  });
});
