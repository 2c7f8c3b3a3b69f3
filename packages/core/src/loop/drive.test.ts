import { hash as nodeHash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { defineTool } from "../agents/define-tool.ts";
import type { Row } from "../gate/table.ts";
import type { Model } from "../reason/port.ts";
import { failure, hang, reply, type Step, scriptedModel, type WorldOptions, world } from "../testing/index.ts";
import { DEFAULT_LIMITS, type Digest, digest, type Hash, type Json, type Tool, type ToolContext } from "../vocab/index.ts";
import { drive } from "./drive.ts";
import type { Held } from "./open.ts";
import type { Ports } from "./ports.ts";

const sha256: Hash = (text): Digest => digest(nodeHash("sha256", text, "hex"));
const usage = (input: number, output: number) => ({ usage: { input, output } });

type Run = (args: { x: string }, context: ToolContext) => Promise<Json> | Json;
const tool = (name: string, run: Run, more: Partial<Parameters<typeof defineTool>[0]> = {}): Tool =>
  defineTool({ name, description: name, input: z.strictObject({ x: z.string() }), repeat: "read", labels: [], ...more, run: run as never });

function setup(steps: readonly Step[], options: Partial<WorldOptions> = {}) {
  const model = scriptedModel(steps);
  return { model, w: world({ hash: sha256, model, ...options }) };
}
const echo = tool("echo", ({ x }) => `echo ${x}`);
const call = (name: string, x = "1", id = "c1") => ({ tool: name, args: { x }, id });
const toolTexts = (messages: readonly { role: string }[]) =>
  messages.flatMap((m) => (m.role === "tool" && "text" in m ? [String(m.text)] : []));

describe("reference cases", () => {
  test("L-9 a plain answer takes one iteration and 30 tokens", async () => {
    const { w, model } = setup([reply.text("hello", usage(20, 10))]);
    const s = await w.run("hi");
    expect(s.last).toMatchObject({ ending: "completed", output: "hello", iterations: 1, usage: { input: 20, output: 10 } });
    model.done();
  });

  test("L-9 a tool and then an answer take two iterations and 85 tokens", async () => {
    const { w, model } = setup([reply.calls([call("echo")], usage(25, 10)), reply.text("done", usage(35, 15))], { tools: [echo] });
    const s = await w.run("go");
    expect(s.last).toMatchObject({ ending: "completed", output: "done", iterations: 2, calls: 1, usage: { input: 60, output: 25 } });
    expect(toolTexts(model.asked[1]?.messages ?? [])).toEqual(["echo 1"]);
    model.done();
  });

  test("L-3 a limit of three iterations is three model calls, and the calls of the third still run", async () => {
    const ran: string[] = [];
    const counting = tool("echo", ({ x }) => String(ran.push(x)));
    const { w, model } = setup(
      ["a", "b", "c"].map((x) => reply.calls([call("echo", x)], { text: `${x} ` })),
      { tools: [counting], limits: { iterations: 3 } },
    );
    const s = await w.run("go");
    expect(s.last).toMatchObject({ ending: "out-of-iterations", iterations: 3, output: "a b c " });
    expect(ran).toEqual(["a", "b", "c"]);
    model.done();
  });

  test("L-8 a turn of 100 ms with a model that sleeps 10 s ends timed-out and keeps what it has", async () => {
    const { w, model } = setup([reply.calls([call("echo")], { text: "first ", ...usage(5, 5) }), hang()], {
      tools: [echo],
      limits: { turnMs: 100 },
    });
    const running = w.run("go");
    await setImmediate();
    w.clock.advance(100);
    const s = await running;
    expect(s.last).toMatchObject({ ending: "timed-out", iterations: 1, output: "first ", usage: { input: 5, output: 5 } });
    expect(s.last?.lost.input).toBeGreaterThan(0);
    expect(s.messages.map((m) => m.role)).toEqual(["user", "assistant", "tool"]);
    expect(w.events("turn.ended")).toHaveLength(1);
    model.done();
  });

  test("L-10 a denial is fed back under its call id with its reason, and the model answers", async () => {
    const rows: Row[] = [
      { id: "no-echo", action: "tool:echo", verdict: "deny", say: "not on Sundays" },
      { id: "rest", action: "*", verdict: "allow" },
    ];
    const { w, model } = setup([reply.calls([call("echo", "1", "call_abc")]), reply.text("then not")], { tools: [echo], rows });
    const s = await w.run("go");
    expect(s.last).toMatchObject({ ending: "completed", output: "then not" });
    expect(model.asked[1]?.messages.at(-1)).toMatchObject({
      role: "tool",
      wireId: "call_abc",
      isError: true,
      text: expect.stringContaining("not on Sundays"),
    });
    expect(model.asked[1]?.messages.at(-1)).toMatchObject({ text: expect.stringContaining("no-echo") });
    model.done();
  });
});

describe("calls", () => {
  test("L-1 every call of a reply is decided before any of them runs", async () => {
    const seen: number[] = [];
    const t = tool("echo", () => {
      seen.push(w.events("gate.decided").filter((e) => e.action.kind === "call").length);
      return "";
    });
    const { w } = setup([reply.calls([call("echo", "1", "a"), call("echo", "2", "b"), call("echo", "3", "c")]), reply.text("ok")], {
      tools: [t],
    });
    await w.run("go");
    expect(seen).toEqual([3, 3, 3]);
  });

  test("L-2 no more than toolsAtOnce run at once, and all of them run", async () => {
    let [now, most, total] = [0, 0, 0];
    const t = tool("echo", async () => {
      now += 1;
      total += 1;
      most = Math.max(most, now);
      await setImmediate();
      now -= 1;
      return "";
    });
    const calls = Array.from({ length: 7 }, (_, i) => call("echo", String(i), `c${i}`));
    const { w } = setup([reply.calls(calls), reply.text("ok")], { tools: [t], limits: { toolsAtOnce: 2 } });
    const s = await w.run("go");
    expect([most, total, s.last?.calls]).toEqual([2, 7, 7]);
  });

  test("L-10 exactly one observation per call id, in call order, on every path", async () => {
    const rows: Row[] = [
      { id: "no", action: "tool:forbidden", verdict: "deny" },
      { id: "rest", action: "*", verdict: "allow" },
    ];
    const slow = tool("slow", async ({ x }) => {
      await setImmediate();
      return `slow ${x}`;
    });
    const bad = tool("bad", () => {
      throw new Error("it broke");
    });
    const calls = [
      call("slow", "1", "a"),
      call("nothing", "1", "b"),
      { tool: "echo", text: "{oops", id: "c" },
      { tool: "echo", args: { y: 1 }, id: "d" },
      call("forbidden", "1", "e"),
      call("bad", "1", "f"),
      { tool: "echo", text: '{"x":"1","x":"2"}', id: "g" },
      call("echo", "9", "h"),
    ];
    const { w, model } = setup([reply.calls(calls), reply.text("ok")], { tools: [slow, echo, bad, tool("forbidden", () => "")], rows });
    await w.run("go");
    const results = model.asked[1]?.messages.filter((m) => m.role === "tool") ?? [];
    expect(results.map((m) => m.wireId)).toEqual(["a", "b", "c", "d", "e", "f", "g", "h"]);
    expect(results.map((m) => m.text)).toEqual([
      "slow 1",
      expect.stringContaining("no such tool"),
      expect.stringContaining("not JSON"),
      expect.stringContaining("do not fit"),
      expect.stringContaining("denied by policy"),
      expect.stringContaining("it broke"),
      expect.stringContaining("stands twice"),
      "echo 9",
    ]);
    expect(w.events("gate.decided").filter((e) => e.action.kind === "call")).toHaveLength(8);
  });

  test("L-11 text beside calls is kept, and so is the argument text exactly as the model wrote it", async () => {
    const text = '{ "x" :\t"\\u0041" }';
    const { w, model } = setup([reply.calls([{ tool: "echo", text, id: "a" }], { text: "let me look" }), reply.text("ok")], {
      tools: [echo],
    });
    await w.run("go");
    const [first] = w.events("model.replied");
    expect(first?.parts).toMatchObject([
      { kind: "text", text: "let me look" },
      { kind: "call", text },
    ]);
    expect(w.events("gate.decided").flatMap(({ action }) => (action.kind === "call" ? [action.args] : []))).toEqual([{ x: "A" }]);
    expect(model.asked[1]?.messages[1]).toMatchObject({ role: "assistant", parts: [{ text: "let me look" }, { text }] });
  });

  test("L-10 an id that the model repeats is told apart: each result finds its own call", async () => {
    const { w, model } = setup(
      [reply.calls([call("echo", "1", "x"), call("echo", "2", "x")]), reply.calls([call("echo", "3", "x")]), reply.text("ok")],
      { tools: [echo] },
    );
    await w.run("go");
    const tools = model.asked[2]?.messages.filter((m) => m.role === "tool") ?? [];
    expect(new Set(tools.map((m) => m.wireId)).size).toBe(3);
    expect(tools.map((m) => m.text)).toEqual(["echo 1", "echo 2", "echo 3"]);
  });

  test("L-12 when all calls of a reply say endsTurn and are done, the turn completes without another model call", async () => {
    const last = tool("finish", () => "bye", { endsTurn: true });
    const { w, model } = setup([reply.calls([call("finish", "1", "a"), call("finish", "2", "b")], { text: "closing" })], { tools: [last] });
    const s = await w.run("go");
    expect(s.last).toMatchObject({ ending: "completed", output: "closing", iterations: 1 });
    model.done();
  });

  test("L-12 one call that does not end the turn keeps it going", async () => {
    const last = tool("finish", () => "bye", { endsTurn: true });
    const { w, model } = setup([reply.calls([call("finish", "1", "a"), call("echo", "2", "b")]), reply.text("more")], {
      tools: [last, echo],
    });
    expect((await w.run("go")).last).toMatchObject({ ending: "completed", output: "more", iterations: 2 });
    model.done();
  });

  test("T-5 a `once` call that outlives its time is unknown, a `read` one has failed", async () => {
    const forever = (_: { x: string }, { signal }: ToolContext) =>
      new Promise<string>((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))));
    const tools = [tool("risky", forever, { repeat: "once" }), tool("safe", forever)];
    const { w } = setup([reply.calls([call("risky", "1", "a"), call("safe", "2", "b")]), reply.text("ok")], {
      tools,
      limits: { toolMs: 50 },
    });
    const running = w.run("go");
    await setImmediate();
    w.clock.advance(50);
    await running;
    const outcomes = Object.fromEntries(w.events("act.ended").map((e) => [e.call, e.outcome]));
    expect(outcomes).toMatchObject({ "1.0": { kind: "unknown", cause: "timed-out" }, "1.1": { kind: "failed" } });
  });

  test("T-6 what a given-up call says later settles the unknown, and the model is told", async () => {
    const risky = Promise.withResolvers<string>();
    const wait = Promise.withResolvers<string>();
    const records = [{ type: "order", key: { arg: "x" } }];
    const tools = [tool("risky", () => risky.promise, { repeat: "once", records }), tool("wait", () => wait.promise)];
    const steps = [reply.calls([call("risky")]), reply.calls([call("wait", "1", "b")]), reply.text("ok")];
    const { w, model } = setup(steps, { tools, limits: { toolMs: 500 } });
    const running = w.run("go");
    await setImmediate();
    w.clock.advance(500);
    await setImmediate();
    w.clock.advance(400); // the grace is over: given up, and the model goes on
    await setImmediate();
    expect(w.state().unknowns.size).toBe(1);
    risky.resolve("it worked");
    await setImmediate();
    wait.resolve("waited");
    const s = await running;
    expect(w.events("act.late")).toMatchObject([{ call: "1.0", outcome: { kind: "done", output: "it worked" } }]);
    expect(s.unknowns.size).toBe(0);
    expect(w.events("known.recorded")).toMatchObject([
      { call: "1.0", type: "order", records: [], skipped: [{ key: "1", why: "unknown" }] },
      { call: "1.0", type: "order", records: [{ key: "1" }], skipped: [] }, // as if it had come in time (G-39)
    ]);
    expect(JSON.stringify(model.asked[2]?.messages)).toContain("is known now: it worked");
  });

  test("L-11 a long result is cut for the model, says so, and is whole in the journal", async () => {
    const long = "é".repeat(500);
    const { w, model } = setup([reply.calls([call("big")]), reply.text("ok")], {
      tools: [tool("big", () => long)],
      limits: { observationChars: 100 },
    });
    await w.run("go");
    expect(w.events("act.ended")[0]?.outcome).toEqual({ kind: "done", output: long });
    expect(toolTexts(model.asked[1]?.messages ?? [])[0]).toMatch(/^é{100}\n\[cut: 400 of 500 characters/);
  });
});

describe("limits and endings", () => {
  test("L-13 three replies in a row with every call refused end the turn denied", async () => {
    const rows: Row[] = [
      { id: "no", action: "tool:*", verdict: "deny" },
      { id: "rest", action: "*", verdict: "allow" },
    ];
    const { w, model } = setup(
      ["a", "b", "c"].map((x) => reply.calls([call("echo", x)])),
      { tools: [echo], rows },
    );
    expect((await w.run("go")).last).toMatchObject({ ending: "denied", iterations: 3 });
    model.done();
  });

  test("L-13 a call that runs in between starts the count again", async () => {
    const rows: Row[] = [
      { id: "no", action: "tool:nope", verdict: "deny" },
      { id: "rest", action: "*", verdict: "allow" },
    ];
    const steps = [..."nnennn"].map((c) => reply.calls([call(c === "n" ? "nope" : "echo")]));
    const { w, model } = setup(steps, { tools: [echo, tool("nope", () => "")], rows });
    expect((await w.run("go")).last).toMatchObject({ ending: "denied", iterations: 6 });
    model.done();
  });

  test("G-1 with no policy nothing runs, the model included", async () => {
    const { w, model } = setup([], { rows: [] });
    expect((await w.run("go")).last).toMatchObject({
      ending: "denied",
      iterations: 0,
      detail: expect.stringContaining("no policy permits model"),
    });
    model.done();
  });

  test("L-14 an answer that may not be delivered is withheld, previews too, and the turn ends denied in the end", async () => {
    const rows: Row[] = [
      { id: "hush", action: "respond", verdict: "deny", say: "not to them" },
      { id: "rest", action: "*", verdict: "allow" },
    ];
    const { w, model } = setup([reply.text("secret 1"), reply.text("secret 2"), reply.text("secret 3")], { rows });
    const s = await w.run("go");
    expect(s.last).toMatchObject({ ending: "denied", output: null, iterations: 3 });
    expect(w.live.filter((l) => l.kind === "preview")).toEqual([]);
    expect(JSON.stringify(model.asked[1]?.messages.at(-1))).toContain("not to them");
  });

  test("L-14 leave to answer is looked at before every request and recorded when it is another: once while nothing changes, again with a label that forbids", async () => {
    const rows: Row[] = [
      { id: "hush", action: "respond", labels: ["secret"], verdict: "deny", say: "not with secrets" },
      { id: "rest", action: "*", verdict: "allow" },
    ];
    const secret = tool("open", () => "the key", { labels: ["secret"] });
    const steps = [
      reply.calls([call("echo", "1", "a")]),
      reply.calls([call("echo", "2", "b")]),
      reply.calls([call("open", "3", "c")]),
      ...["no", "no", "no"].map((text) => reply.text(text)),
    ];
    const { w, model } = setup(steps, { rows, tools: [echo, secret] });
    const s = await w.run("go");
    const answers = w.events("gate.decided").filter((e) => e.action.kind === "respond");
    expect(answers.map((e) => [e.id, e.verdict.kind])).toEqual([
      ["respond:1", "allow"],
      ["respond:4", "deny"],
      ["respond:5", "deny"],
      ["respond:6", "deny"],
    ]);
    expect(s.last).toMatchObject({ ending: "denied", output: null });
    expect(w.live.filter((l) => l.kind === "preview" && l.iteration > 3)).toEqual([]);
    model.done();
  });

  test("L-15 previews carry iteration, attempt and offset, have no sequence number, and are not in the journal", async () => {
    const { w } = setup([reply.text("one two three")]);
    await w.run("go");
    const previews = w.live.flatMap((l) => (l.kind === "preview" ? [l] : []));
    expect(previews.map((l) => l.preview.text).join("")).toBe("one two three");
    expect(previews[0]).toMatchObject({ iteration: 1, attempt: 1, preview: { offset: 0 } });
    expect(JSON.stringify(w.entries().filter((e) => e.event.kind !== "model.replied" && e.event.kind !== "turn.ended"))).not.toContain(
      "one two",
    );
  });

  test("L-16 the tokens of the turn are never promised twice: a request that does not fit ends it out-of-tokens", async () => {
    const { w, model } = setup([reply.calls([call("echo")], usage(300, 300)), reply.calls([call("echo")], usage(200, 100))], {
      tools: [echo],
      limits: { tokens: 1000, contextTokens: 500 },
    });
    const s = await w.run("go");
    expect(s.last).toMatchObject({ ending: "out-of-tokens", iterations: 2 });
    expect(model.asked[1]?.maxOutputTokens).toBeLessThan(400);
    model.done();
  });

  test("L-16 calls beyond their limit are not started", async () => {
    let ran = 0;
    const t = tool("echo", () => String(++ran));
    const { w } = setup([reply.calls([call("echo", "1", "a"), call("echo", "2", "b"), call("echo", "3", "c")])], {
      tools: [t],
      limits: { calls: 2 },
    });
    expect((await w.run("go")).last).toMatchObject({ ending: "out-of-calls", calls: 2 });
    expect(ran).toBe(2);
    expect(w.state().messages.filter((m) => m.role === "tool")).toHaveLength(3);
  });

  test.each([
    ["refused", "refused"],
    ["filtered", "filtered"],
  ] as const)("L-17 a reply that finished %s has an ending of its own", async (finish, ending) => {
    const { w } = setup([reply.text("I cannot", { finish })]);
    expect((await w.run("go")).last).toMatchObject({ ending, output: "I cannot" });
  });

  test("L-17 a reply cut off at the output limit goes on, and the answer is whole", async () => {
    const { w, model } = setup([reply.text("first half, ", { finish: "length" }), reply.text("second half")]);
    expect((await w.run("go")).last).toMatchObject({ ending: "completed", output: "first half, second half", iterations: 2 });
    expect(model.asked[1]?.messages.at(-1)).toMatchObject({ role: "note" });
  });

  test("L-17 calls of a reply that was cut off are never run", async () => {
    let ran = 0;
    const t = tool("echo", () => String(++ran));
    const { w } = setup([reply.calls([call("echo")], { finish: "length" }), reply.text("ok")], { tools: [t] });
    await w.run("go");
    expect(ran).toBe(0);
  });

  test("L-13 an empty reply is asked again", async () => {
    const { w, model } = setup([reply.text(""), reply.text("  "), reply.text("now")]);
    expect((await w.run("go")).last).toMatchObject({ ending: "completed", output: "now", iterations: 3 });
    model.done();
  });

  test("L-18 cancelling stops the model call and the tools, is journalled, and every call still has its result", async () => {
    const aborted: string[] = [];
    const stuck =
      (name: string): Run =>
      (_, { signal }) =>
        new Promise((_resolve, reject) =>
          signal.addEventListener("abort", () => {
            aborted.push(name);
            reject(new Error("stopped"));
          }),
        );
    const tools = [tool("risky", stuck("risky"), { repeat: "once" }), tool("safe", stuck("safe"))];
    const calls = [call("risky", "1", "a"), call("safe", "2", "b"), call("safe", "3", "c")];
    const { w } = setup([reply.calls(calls)], { tools, limits: { toolsAtOnce: 2 } });
    const running = w.run("go");
    await setImmediate();
    await w.wish({ kind: "cancel", reason: "enough" });
    const s = await running;
    expect(s.last).toMatchObject({ ending: "cancelled", detail: "enough" });
    expect(aborted.sort()).toEqual(["risky", "safe"]);
    expect(w.events("turn.cancel-asked")).toMatchObject([{ by: { id: "ann" }, reason: "enough" }]);
    expect(toolTexts(s.messages)).toEqual([
      expect.stringContaining("[unknown]"),
      expect.stringContaining("[failed]"),
      expect.stringContaining("[not run]"),
    ]);
    expect(s.unknowns.size).toBe(1);
  });

  test("L-18 cancelling stops a model call in flight", async () => {
    const { w } = setup([hang()]);
    const running = w.run("go");
    await setImmediate();
    await w.wish({ kind: "cancel", reason: "" });
    expect((await running).last).toMatchObject({ ending: "cancelled" });
  });

  test("L-18 a cancel that comes while the batch is being written is not missed", async () => {
    const stop = new AbortController();
    const { w } = setup([hang()], {
      spoil: (p) => ({
        ...p,
        journal: { ...p.journal, append: (a) => p.journal.append(a).finally(() => stop.abort("now")) },
      }),
    });
    expect((await w.run("go", stop.signal)).last).toMatchObject({ ending: "cancelled", detail: "now" });
  });

  test("L-19 what a person says meanwhile comes before the answer", async () => {
    const { w, model } = setup([reply.calls([call("wait")]), reply.text("about both")], {
      tools: [
        tool("wait", async () => {
          await w.wish({ kind: "steer", text: "and mind the gap" });
          return "waited";
        }),
      ],
    });
    await w.run("go");
    expect(model.asked[1]?.messages.map((m) => m.role)).toEqual(["user", "assistant", "tool", "user"]);
    expect(model.asked[1]?.messages.at(-1)).toMatchObject({ text: "and mind the gap" });
  });

  test("L-19 what is said while a model call fails, or is lost with its process, is in the very next request", async () => {
    for (const crashes of [[], [{ of: "model", nth: 0, when: "after" }]] as const) {
      const said = async (): Promise<void> => {
        await w.wish({ kind: "steer", text: "first" });
        do await setImmediate();
        while (w.events("input.steered").length === 0);
      };
      const model = scriptedModel([crashes.length === 0 ? failure("busy") : reply.text("lost"), reply.text("about both")]);
      const slow: Model = {
        ...model,
        ask: async (...asked) => {
          if (model.asked.length === 0) await said();
          return model.ask(...asked);
        },
      };
      const w = world({ hash: sha256, model: slow, crashes });
      const s = await w.run("go");
      expect(s.last).toMatchObject({ ending: "completed", output: "about both", iterations: 1 });
      expect(model.asked[1]?.messages).toMatchObject([{ text: "go" }, { text: "first" }]);
    }
  });

  test("L-6 a failed append stops driving: nothing runs after it", async () => {
    let ran = 0;
    const t = tool("echo", () => String(++ran));
    const { w } = setup([reply.calls([call("echo")])], {
      tools: [t],
      spoil: (p) => ({
        ...p,
        journal: {
          ...p.journal,
          append: (a) => {
            if (a.events.some((e) => e.event.kind === "act.started")) w.disk.broken.detail = "no space left";
            return p.journal.append(a);
          },
        },
      }),
    });
    await expect(w.run("go")).rejects.toMatchObject({ fault: { kind: "journal-unwritable" } });
    expect(ran).toBe(0);
  });
});

test("L-21 a session without a gate does not type-check", () => {
  // @ts-expect-error: `tsc` fails when this line is no error any more
  const gateless = (p: Omit<Ports, "gate">, held: Held) => drive(p, held, { limits: DEFAULT_LIMITS, cancel: new AbortController().signal });
  expect(gateless).toBeTypeOf("function");
});

describe("models that fail", () => {
  test("M-4 a stream that breaks is repeated at most twice, its reservation counted as lost", async () => {
    const { w, model } = setup([broke("wor"), broke("wor"), reply.text("words")]);
    const s = await w.run("go");
    expect(s.last).toMatchObject({ ending: "completed", output: "words", iterations: 1 });
    expect(s.last?.lost.output).toBeGreaterThan(0);
    expect(w.events("model.asked").map((e) => [e.iteration, e.attempt])).toEqual([
      [1, 1],
      [1, 2],
      [1, 3],
    ]);
    model.done();
  });

  test("M-4 the third failure ends the turn failed, with its cause", async () => {
    const { w, model } = setup([broke("a"), broke("b"), broke("c")]);
    expect((await w.run("go")).last).toMatchObject({ ending: "failed", detail: expect.stringContaining("stream broke") });
    model.done();
  });
});

const broke = (text: string): Step => ({
  kind: "failure",
  parts: [{ kind: "text", text, meta: null }],
  detail: "the stream broke",
  again: true,
  broke: true,
});

describe("questions", () => {
  const rows: Row[] = [
    { id: "ask-echo", action: "tool:echo", verdict: "ask", say: "echo it?" },
    { id: "rest", action: "*", verdict: "allow" },
  ];

  async function asked(steps: readonly Step[] = [reply.calls([call("echo")]), reply.text("ok")], options: Partial<WorldOptions> = {}) {
    let ran = 0;
    const counting = tool("echo", ({ x }) => `${x}${++ran}`);
    const both = setup(steps, { tools: [counting], rows, ...options });
    await both.w.run("go");
    return { ...both, ran: () => ran };
  }

  test("Q-2 a question parks the session: nothing runs, nothing is held", async () => {
    const { w, ran } = await asked();
    expect(ran()).toBe(0);
    expect(w.state().turn?.questions.size).toBe(1);
    expect(w.disk.holds.get(w.session())?.owner).toBeNull();
    expect(w.clock.sleepers()).toBe(0);
  });

  test("Q-3 once approved, another process runs it exactly once, and the approval is consumed in the commit that starts it", async () => {
    const { w, ran, model } = await asked();
    const [q] = w.events("approval.asked");
    if (q === undefined) throw new Error("no question");
    await w.wish({ kind: "answer", approval: q.approval, digest: q.digest, answer: { kind: "approve" } });
    const s = await w.go();
    expect(s.last).toMatchObject({ ending: "completed" });
    expect(ran()).toBe(1);
    const kinds = w.entries().map((e) => e.event.kind);
    expect(kinds.indexOf("act.started") - kinds.indexOf("approval.consumed")).toBe(1);
    model.done();
  });

  test("Q-4 a person's denial goes back to the model with its reason", async () => {
    const { w, ran, model } = await asked();
    const [q] = w.events("approval.asked");
    if (q === undefined) throw new Error("no question");
    await w.wish({ kind: "answer", approval: q.approval, digest: q.digest, answer: { kind: "deny", reason: "use the other one" } });
    await w.go();
    expect(ran()).toBe(0);
    expect(toolTexts(model.asked[1]?.messages ?? [])[0]).toContain("use the other one");
  });

  test("Q-5 an answer bound to another digest, to no question, or given twice is refused and journalled", async () => {
    const { w, ran } = await asked();
    const [q] = w.events("approval.asked");
    if (q === undefined) throw new Error("no question");
    const approve = { kind: "approve" } as const;
    await w.wish({ kind: "answer", approval: q.approval, digest: sha256("another"), answer: approve });
    await w.wish({ kind: "answer", approval: "q999" as typeof q.approval, digest: q.digest, answer: approve });
    await w.wish({ kind: "answer", approval: q.approval, digest: q.digest, answer: approve }, { kind: "agent", id: "tester" });
    await w.go();
    expect(ran()).toBe(0);
    expect(w.events("intent.refused").map((e) => e.reason)).toEqual([
      expect.stringContaining("another action"),
      expect.stringContaining("no open approval request"),
      expect.stringContaining("only a person"),
    ]);
  });

  test("Q-7 only whom the policies let approve answers a question: the holder refuses the others, and says so", async () => {
    const nobody = (["approve", "deny"] as const).map(
      (action): Row => ({ id: `nobody-${action}`, action, verdict: "deny", say: "not for you" }),
    );
    const { w, ran } = await asked(undefined, { rows: [...nobody, ...rows] });
    const [q] = w.events("approval.asked");
    if (q === undefined) throw new Error("no question");
    await w.wish({ kind: "answer", approval: q.approval, digest: q.digest, answer: { kind: "approve" } });
    await w.wish({ kind: "answer", approval: q.approval, digest: q.digest, answer: { kind: "deny", reason: "no" } });
    await w.go();
    expect(ran()).toBe(0);
    expect([...(w.state().turn?.questions.values() ?? [])]).toMatchObject([{ answer: null }]);
    expect(w.events("intent.refused").map((e) => e.reason)).toEqual([
      "`ann` may not approve it: not for you",
      "`ann` may not deny it: not for you",
    ]);
  });

  test("Q-6 an answer to deliver may be asked about: withheld until a person lets it go", async () => {
    const hush: Row[] = [
      { id: "check", action: "respond", verdict: "ask" },
      { id: "rest", action: "*", verdict: "allow" },
    ];
    const { w } = setup([reply.text("the answer")], { rows: hush });
    expect((await w.run("go")).last).toBeNull();
    const [q] = w.events("approval.asked");
    if (q === undefined) throw new Error("no question");
    await w.wish({ kind: "answer", approval: q.approval, digest: q.digest, answer: { kind: "approve" } });
    expect((await w.go()).last).toMatchObject({ ending: "completed", output: "the answer" });
    expect(w.events("model.asked")).toHaveLength(1);
  });

  test("L-8 parked time is not the turn's: only time in which a holder drives counts", async () => {
    const { w } = await asked(undefined, { limits: { turnMs: 1_000 } });
    w.clock.advance(3 * 7 * 24 * 3_600_000);
    const [q] = w.events("approval.asked");
    if (q === undefined) throw new Error("no question");
    await w.wish({ kind: "answer", approval: q.approval, digest: q.digest, answer: { kind: "approve" } });
    const s = await w.go();
    expect(s.last).toMatchObject({ ending: "completed" });
    expect(s.last?.activeMs).toBeLessThan(1_000);
  });
});

describe("unknown outcomes", () => {
  const risky = (ran: string[]) =>
    tool("pay", ({ x }) => String(ran.push(x)), {
      repeat: "once",
      resource: (input: unknown) => ({ type: "Account", id: (input as { x: string }).x }),
    });

  test("G-4 while an unknown is open, a call of the same tool on the same resource asks; others do not", async () => {
    const ran: string[] = [];
    const steps = [reply.calls([call("pay", "a")]), reply.calls([call("pay", "a", "again"), call("pay", "b", "other")])];
    const { w } = setup(steps, { tools: [risky(ran)], crashes: [{ of: "effect", when: "after", nth: 0 }] });
    await w.run("go");
    expect(ran).toEqual(["a", "b"]);
    expect(w.events("approval.asked")).toMatchObject([{ action: "2.0", asks: [{ policy: "orgate:unknown-open/1.0" }] }]);
    expect(w.events("act.ended")[0]).toMatchObject({ outcome: { kind: "unknown", cause: "hold-lost" } });
  });
});
