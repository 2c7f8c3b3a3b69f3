import { hash as nodeHash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { defineMiddleware } from "../../agents/define-middleware.ts";
import { defineTool } from "../../agents/define-tool.ts";
import { hang, reply, type Step, scriptedModel, type World, type WorldOptions, world } from "../../testing/index.ts";
import {
  type Action,
  type CallId,
  type Decision,
  type Digest,
  digest,
  type Hash,
  type Json,
  type Middleware,
  policyId,
  type ResultView,
  type Tool,
  type ToolContext,
} from "../../vocab/index.ts";
import { fold } from "../evolve.ts";

const sha256: Hash = (text): Digest => digest(nodeHash("sha256", text, "hex"));
type Run = (args: { x: string }, context: ToolContext) => Promise<Json> | Json;
const tool = (name: string, run: Run, more: Partial<Parameters<typeof defineTool>[0]> = {}): Tool =>
  defineTool({ name, description: name, input: z.strictObject({ x: z.string() }), repeat: "read", labels: [], ...more, run: run as never });
const echo = tool("echo", ({ x }) => `echo ${x}`);
const call = (name: string, x = "1", id = "c1") => ({ tool: name, args: { x }, id });

function setup(steps: readonly Step[], middleware: readonly Middleware[], options: Partial<WorldOptions> = {}) {
  const model = scriptedModel(steps);
  return { model, w: world({ hash: sha256, model, tools: [echo], middleware, ...options }) };
}
const ticks = async () => {
  for (let i = 0; i < 30; i += 1) await setImmediate();
};
const kinds = (w: World) => w.entries().map((e) => e.event.kind);
const applied = (w: World) => w.events("middleware.applied");
const texts = (messages: readonly { role: string }[], role: string) =>
  messages.flatMap((m) => (m.role === role && "text" in m ? [String(m.text)] : []));

/** Every commit's kinds, in order. */
function commits(): { readonly spoil: NonNullable<WorldOptions["spoil"]>; readonly seen: (readonly string[])[] } {
  const seen: (readonly string[])[] = [];
  return {
    seen,
    spoil: (p) => ({
      ...p,
      journal: {
        ...p.journal,
        append: (a) => {
          seen.push(a.events.map((e) => e.event.kind));
          return p.journal.append(a);
        },
      },
    }),
  };
}

describe("the stages", () => {
  test("H-1 what people say is rewritten, in order, and the journal holds both; steering and what is to follow alike", async () => {
    const upper = defineMiddleware({ name: "upper", userMessage: (text) => text.toUpperCase() });
    const mark = defineMiddleware({ name: "mark", userMessage: (text, { turn, iteration }) => `${text} (${turn}.${iteration})` });
    const { w, model } = setup([reply.calls([call("wait")]), reply.text("a"), reply.text("b")], [upper, mark], {
      tools: [
        tool("wait", async () => {
          await w.wish({ kind: "steer", text: "left" });
          await w.wish({ kind: "follow-up", text: "then" });
          return "waited";
        }),
      ],
    });
    await w.run("go");
    expect(texts(model.asked.at(-1)?.messages ?? [], "user")).toEqual(["GO (1.0)", "LEFT (1.1)", "THEN (1.1)"]);
    expect(w.events("input.queued")).toMatchObject([{ text: "THEN (1.1)" }]);
    expect(w.events("turn.started").map((e) => e.input)).toEqual(["GO (1.0)", "THEN (1.1)"]);
    expect(applied(w).slice(0, 2)).toMatchObject([
      { middleware: "upper", stage: "user-message", change: { kind: "input", before: "go" } },
      { middleware: "mark", stage: "user-message", change: { kind: "input", before: "GO" } },
    ]);
    expect(kinds(w).slice(2, 5)).toEqual(["turn.started", "middleware.applied", "middleware.applied"]);
    model.done();
  });

  test("H-4 a request is changed for its one call: system, messages, tools, temperature, room; the digest covers it, the conversation stays", async () => {
    const once = defineMiddleware({
      name: "trim",
      beforeModel: (request, { iteration }) =>
        iteration === 2
          ? {
              system: `${request.system} and kind`,
              messages: [...request.messages.slice(0, 1), { role: "note", text: "mind the gap" }, ...request.messages.slice(1)],
              dropTools: ["other"],
              temperature: 0,
              maxOutputTokens: 100,
            }
          : undefined,
    });
    const steps = () => [reply.calls([call("echo", "a")]), reply.calls([call("echo", "b")]), reply.text("ok")];
    const options = { tools: [echo, tool("other", () => "")], limits: { temperature: 1 } };
    const { w, model } = setup(steps(), [once], options);
    await w.run("go");
    const [first, second, third] = model.asked;
    expect(first).toMatchObject({ system: "be brief", temperature: 1 });
    expect(second).toMatchObject({ system: "be brief and kind", temperature: 0, maxOutputTokens: 100 });
    expect(second?.tools.map((t) => t.name)).toEqual(["echo"]);
    expect(second?.messages.map((m) => m.role)).toEqual(["user", "note", "assistant", "tool"]);
    expect(third?.messages.map((m) => m.role)).toEqual(["user", "assistant", "tool", "assistant", "tool"]);
    expect(applied(w)).toMatchObject([
      {
        middleware: "trim",
        stage: "before-model",
        change: {
          kind: "request",
          set: {
            system: "be brief and kind",
            dropTools: ["other"],
            temperature: 0,
            maxOutputTokens: 100,
            messages: [[0, 1], { role: "note", text: "mind the gap" }, [1, 3]],
          },
        },
      },
    ]);
    const plain = setup(steps(), [], options);
    await plain.w.run("go");
    const [a, b] = [w, plain.w].map((one) => one.events("model.asked").map((e) => e.request));
    expect([a?.[0] === b?.[0], a?.[1] === b?.[1], a?.[2] === b?.[2]]).toEqual([true, false, true]);
    const asked = w.events("model.asked")[1];
    expect(asked?.reserved).toMatchObject({ output: 100 });
    expect(kinds(w).indexOf("middleware.applied")).toBe(kinds(w).indexOf("model.asked", kinds(w).indexOf("model.asked") + 1) - 1);
  });

  test("M-11 what is put beside the instructions is for one call: on record, covered by the digest, counted", async () => {
    const known = `Ann moved in 2024. ${"It is a long story. ".repeat(20)}`;
    const looks = defineMiddleware({
      name: "look-up",
      beforeModel: ({ context }, { iteration }) => (iteration === 1 ? { context: [...context, known] } : undefined),
    });
    const adds = defineMiddleware({ name: "pin", beforeModel: ({ context }) => ({ context: [...context, "Amounts are in euros."] }) });
    const steps = () => [reply.calls([call("echo", "a")]), reply.text("ok")];
    const { w, model } = setup(steps(), [looks, adds], { tools: [echo] });
    await w.run("go");
    expect(model.asked.map(({ context }) => context)).toEqual([[known, "Amounts are in euros."], ["Amounts are in euros."]]);
    expect(model.asked[0]?.system).toBe("be brief");
    expect(applied(w)[0]).toMatchObject({ middleware: "look-up", change: { kind: "request", set: { context: [known] } } });
    const plain = setup(steps(), [], { tools: [echo] });
    await plain.w.run("go");
    const [a, b] = [w, plain.w].map((one) => one.events("model.asked"));
    expect(a?.[0]?.request).not.toBe(b?.[0]?.request);
    expect(a?.[0]?.reserved.input).toBeGreaterThan((b?.[0]?.reserved.input ?? 0) + 80);
  });

  test("H-4 what a longer request needs is set aside for it", async () => {
    const longer = defineMiddleware({ name: "longer", beforeModel: () => ({ system: "be brief ".repeat(100) }) });
    const [a, b] = await Promise.all(
      [[longer], []].map(async (middleware) => {
        const { w } = setup([reply.text("ok")], middleware);
        await w.run("go");
        return w.events("model.asked")[0]?.reserved.input ?? 0;
      }),
    );
    expect((a ?? 0) - (b ?? 0)).toBeGreaterThan(150);
  });

  test("H-4 another attempt at the same reply is prepared anew", async () => {
    let asked = 0;
    const count = defineMiddleware({ name: "count", beforeModel: ({ system }) => ({ system: `${system} ${++asked}` }) });
    const { w, model } = setup([{ kind: "failure", parts: [], detail: "busy", again: true, broke: false }, reply.text("ok")], [count]);
    await w.run("go");
    expect(model.asked.map((r) => r.system)).toEqual(["be brief 1", "be brief 2"]);
  });

  test("H-1 a reply is rewritten: its text, its calls, their arguments; the journal keeps what was received, and what became of it before it", async () => {
    const ids: CallId[] = [];
    const edit = defineMiddleware({
      name: "edit",
      afterModel: ({ text, calls }) => {
        ids.push(...calls.map((c) => c.id));
        const [first, second] = calls;
        if (first === undefined || second === undefined) return { text: text.replace("secret", "…") };
        return { text: "looking", dropCalls: [first.id], args: { [second.id]: { x: "rewritten" } } };
      },
    });
    const { w, model } = setup(
      [reply.calls([call("echo", "a", "c1"), call("echo", "b", "c2")], { text: "let me" }), reply.text("a secret")],
      [edit],
    );
    const s = await w.run("go");
    expect(s.last).toMatchObject({ ending: "completed", output: "a …" });
    expect(ids).toEqual(["1.0", "1.1"]);
    expect(model.asked[1]?.messages).toMatchObject([
      { role: "user" },
      { role: "assistant", parts: [{ text: "looking" }, { kind: "call", wireId: "c2", text: '{"x":"rewritten"}' }] },
      { role: "tool", wireId: "c2", text: "echo rewritten" },
    ]);
    expect(w.events("model.replied")[0]?.parts).toMatchObject([{ text: "let me" }, { wireId: "c1" }, { wireId: "c2" }]);
    expect(applied(w)[0]).toMatchObject({ stage: "after-model", change: { kind: "reply" } });
    expect(kinds(w)[kinds(w).indexOf("model.replied") - 1]).toBe("middleware.applied");
  });

  test("H-1 a reply whose calls are all dropped is told so, and is no answer", async () => {
    const none = defineMiddleware({
      name: "none",
      afterModel: ({ calls }) => ({ dropCalls: calls.map((c) => c.id) }),
    });
    const { w, model } = setup([reply.calls([call("echo")], { text: "let me look" }), reply.text("fine")], [none]);
    expect((await w.run("go")).last).toMatchObject({ ending: "completed", output: "fine", calls: 0 });
    expect(texts(model.asked[1]?.messages ?? [], "note")[0]).toContain("[dropped]");
  });

  test("H-5 arguments rewritten before a tool are checked and gated like the model's own: no verdict is widened", async () => {
    const rewrite = (x: Json) => defineMiddleware({ name: "paths", beforeTool: () => ({ kind: "arguments", args: { x } }) });
    const spoil: NonNullable<WorldOptions["spoil"]> = (p) => ({
      ...p,
      gate: { ...p.gate, decide: (a, f) => notRoot(p.gate.decide(a, f), a) },
    });
    const notRoot = (decision: Decision, action: Action): Decision =>
      action.kind === "call" && action.resource.id === "root"
        ? { ...decision, verdict: { kind: "deny", by: "policy", because: [policyId("no-root")], faults: [], reason: "not there" } }
        : decision;
    const risky = tool("echo", ({ x }) => `echo ${x}`, { resource: (({ x }: { x: string }) => ({ type: "Tool", id: x })) as never });
    const good = setup([reply.calls([call("echo", "a")]), reply.text("ok")], [rewrite("home")], { tools: [risky], spoil });
    await good.w.run("go");
    expect(texts(good.w.state().messages, "tool")).toEqual(["echo home"]);
    expect(good.w.events("gate.decided").find((e) => e.action.kind === "call")?.action).toMatchObject({ args: { x: "home" } });
    expect(good.w.events("model.replied")[0]?.parts).toMatchObject([{ text: '{"x":"a"}' }]);

    const denied = setup([reply.calls([call("echo", "a")]), reply.text("ok")], [rewrite("root")], { tools: [risky], spoil });
    await denied.w.run("go");
    expect(texts(denied.w.state().messages, "tool")[0]).toContain("no-root");
    const unfit = setup([reply.calls([call("echo", "a")]), reply.text("ok")], [rewrite(5)]);
    await unfit.w.run("go");
    expect(texts(unfit.w.state().messages, "tool")[0]).toContain("do not fit");
    expect(unfit.w.events("act.started")).toEqual([]);
  });

  test("H-5 a call that middleware blocks is denied by it, told to the model, and never runs; others of the reply do", async () => {
    const sunday = defineMiddleware({
      name: "sunday",
      beforeTool: ({ args }) => (JSON.stringify(args).includes("b") ? { kind: "block", reason: "not on Sundays" } : undefined),
    });
    const { w } = setup([reply.calls([call("echo", "a", "c1"), call("echo", "b", "c2")]), reply.text("ok")], [sunday]);
    await w.run("go");
    expect(texts(w.state().messages, "tool")).toEqual(["echo a", "[denied by middleware] echo: sunday: not on Sundays"]);
    expect(
      w
        .events("gate.decided")
        .filter((e) => e.action.kind === "call")
        .map((e) => e.verdict),
    ).toMatchObject([{ kind: "allow" }, { kind: "deny", by: "middleware", reason: "sunday: not on Sundays" }]);
    expect(w.events("act.started")).toHaveLength(1);
  });

  test("H-5 edited by a person, a call is not seen before it runs again by middleware", async () => {
    const seen: Json[] = [];
    const watch = defineMiddleware({
      name: "watch",
      beforeTool: ({ args }) => {
        seen.push(args);
        return undefined;
      },
    });
    const rows = [{ id: "ask", action: "tool:echo", verdict: "ask" } as const, { id: "all", action: "*", verdict: "allow" } as const];
    const { w } = setup([reply.calls([call("echo", "a")]), reply.text("ok")], [watch], { rows });
    await w.run("go");
    const [q] = w.state().turn?.questions.values() ?? [];
    if (q === undefined) throw new Error("there is no question");
    await w.wish({ kind: "answer", approval: q.approval, digest: q.digest, answer: { kind: "edit", args: { x: "edited" } } });
    await w.go();
    expect(texts(w.state().messages, "tool")).toEqual(["echo edited"]);
    expect(seen).toEqual([{ x: "a" }]);
  });

  test("H-1 what the model is shown of a result is rewritten; outcome, evidence and labels stand", async () => {
    const mask = defineMiddleware({
      name: "mask",
      afterTool: ({ text, call: { args }, outcome }) => `${text}|${JSON.stringify(args)}|${outcome.kind}`,
    });
    const cut = defineMiddleware({ name: "cut", afterTool: ({ text }) => text.replace("echo", "…") });
    const failing = tool("fail", () => Promise.reject(new Error("no such thing")), { labels: ["secret"] });
    const { w } = setup([reply.calls([call("echo", "a", "c1"), call("fail", "b", "c2")]), reply.text("ok")], [mask, cut], {
      tools: [echo, failing],
    });
    await w.run("go");
    expect(texts(w.state().messages, "tool")).toEqual(['… a|{"x":"a"}|done', '[failed] fail: no such thing|{"x":"b"}|failed']);
    expect(
      w
        .state()
        .messages.filter((m) => m.role === "tool")
        .map((m) => m.role === "tool" && m.isError),
    ).toEqual([false, true]);
    expect(w.events("act.ended").map((e) => e.outcome)).toMatchObject([{ kind: "done", output: "echo a" }, { kind: "failed" }]);
    expect(w.events("labels.added")).toMatchObject([{ labels: ["secret"] }]);
    const at = kinds(w).indexOf("act.ended");
    expect(kinds(w).slice(at - 2, at)).toEqual(["middleware.applied", "middleware.applied"]);
  });

  test.each([
    ["its kind", (r: ResultView) => Object.assign(r.outcome, { kind: "failed", error: "made up" })],
    ["its output", (r: ResultView) => Object.assign((r.outcome as { output: object }).output, { paid: 2 })],
    ["its call", (r: ResultView) => Object.assign(r.call, { tool: "other" })],
  ])("H-1 an outcome is not for middleware to change in place: %s", async (_, spoil) => {
    const m = defineMiddleware({ name: "m", afterTool: (result) => void spoil(result) });
    const { w } = setup([reply.calls([call("pay")])], [m], { tools: [tool("pay", () => ({ paid: 1 }), { repeat: "once" })] });
    expect((await w.run("go")).last).toMatchObject({ ending: "failed" });
    expect(w.events("act.ended")).toMatchObject([{ outcome: { kind: "done", output: { paid: 1 } }, recovering: false }]);
  });

  test("H-1 that nobody can tell what became of a call is not for middleware to rewrite; what comes late is", async () => {
    const late = Promise.withResolvers<Json>();
    const mask = defineMiddleware({ name: "mask", afterTool: () => "masked" });
    const slow = tool("slow", () => late.promise, { repeat: "once", timeoutMs: 5 });
    const { w } = setup([reply.calls([call("slow")]), reply.text("ok"), reply.text("I see")], [mask], { tools: [slow] });
    const running = w.run("go");
    for (let i = 0; i < 20; i += 1) await setImmediate();
    w.clock.advance(10);
    for (let i = 0; i < 20; i += 1) await setImmediate();
    w.clock.advance(400); // the grace is over: given up, and the model goes on
    await running;
    expect(texts(w.state().messages, "tool")[0]).toContain("[unknown]");
    late.resolve("a secret");
    for (let i = 0; i < 20; i += 1) await setImmediate();
    await w.wish({ kind: "say", text: "and?" });
    await w.go();
    expect(texts(w.state().messages, "note")[0]).toContain("is known now: masked");
    expect(w.events("act.late")).toMatchObject([{ outcome: { kind: "done", output: "a secret" } }]);
  });

  test("H-1 each result of a call that is recovered is seen as itself: its error, another tool's, and an old one that stands in", async () => {
    const mask = defineMiddleware({
      name: "mask",
      afterTool: ({ text, call: { tool: name } }) => (text.includes("secret") ? `${name}: …` : undefined),
    });
    let fails = false;
    const flaky = (recover: unknown) =>
      tool("flaky", () => (fails ? Promise.reject(new Error("a secret")) : "plain"), { recover } as never);
    const run = async (recover: unknown, first: boolean) => {
      fails = false;
      const steps = [...(first ? [reply.calls([call("flaky")]), reply.text("one")] : []), reply.calls([call("flaky")]), reply.text("two")];
      const { w } = setup(steps, [mask], { tools: [flaky(recover), echo] });
      if (first) {
        await w.run("go");
        fails = true;
        await w.wish({ kind: "say", text: "again" });
        await w.go();
      } else {
        fails = true;
        await w.run("go");
      }
      expect(fold(w.entries())?.messages).toEqual(w.state().messages);
      return texts(w.state().messages, "tool").at(-1);
    };
    expect(await run({ kind: "ask-model" }, false)).toBe("flaky: …");
    expect(await run({ kind: "fallback", tool: "echo" }, false)).toContain("echo 1");
    expect(await run({ kind: "cached", maxAgeMs: 1e9 }, true)).toMatch(/plain$/);
  });

  test("H-2 a context is read-only, says where the session stands, and its notes are journalled as the middleware's", async () => {
    const seen: unknown[] = [];
    const nosy = defineMiddleware({
      name: "nosy",
      beforeModel: ({ messages }, context) => {
        const { session, agent, turn, iteration, labels } = context;
        seen.push({ session, agent, turn, iteration, labels });
        context.note("asked", { messages: messages.length });
        expect(() => Object.assign(context, { turn: 9 })).toThrow();
        expect(() => Object.assign(messages[0] ?? {}, { text: "forged" })).toThrow();
        return undefined;
      },
    });
    const { w } = setup([reply.text("ok")], [nosy]);
    await w.run("go");
    expect(seen).toEqual([{ session: w.session(), agent: "tester", turn: 1, iteration: 1, labels: [] }]);
    expect(w.events("note")).toEqual([{ kind: "note", from: "middleware:nosy", call: null, name: "asked", value: { messages: 1 } }]);
    expect(w.state().last).toMatchObject({ ending: "completed" });
  });
});

const LONG = "x".repeat(1_000_000);

describe("types", () => {
  test("H-1 a hook may return only what its stage lets it change", () => {
    // @ts-expect-error a request's tools can be left out, never added
    defineMiddleware({ name: "a", beforeModel: () => ({ tools: [{ name: "rm", description: "", inputSchema: {} }] }) });
    // @ts-expect-error a verdict is the gate's
    defineMiddleware({ name: "b", beforeTool: () => ({ kind: "allow" }) });
    // @ts-expect-error the outcome stands: only its text is shown otherwise
    defineMiddleware({ name: "c", afterTool: () => ({ kind: "done", output: "fine" }) });
    // @ts-expect-error calls can be left out or rewritten, never added
    defineMiddleware({ name: "d", afterModel: () => ({ calls: [{ id: "1.9", tool: "rm", args: {} }] }) });
    // @ts-expect-error words stay words
    defineMiddleware({ name: "e", userMessage: () => 5 });
    defineMiddleware({
      name: "f",
      userMessage: (_, context) => {
        // @ts-expect-error the context is read-only
        context.turn = 2;
        return undefined;
      },
    });
    expect(() => defineMiddleware({ name: "g" })).toThrow(/it has no hook/);
    expect(() => defineMiddleware({ name: "a b", userMessage: (t) => t })).toThrow(/`name` is "a b"/);
    expect(() => defineMiddleware({ name: "h", beforeEverything: () => undefined } as never)).toThrow(/no field `beforeEverything`/);
    expect(() => defineMiddleware({ name: "i", afterTool: "x" } as never)).toThrow(/`afterTool` is no function/);
  });

  test.each([
    ["beforeModel", { tools: [] }, "it may not change `tools`"],
    ["beforeModel", { context: "all of it" }, "`context` is no list of texts"],
    ["beforeModel", { dropTools: ["rm"] }, "no tool `rm` is offered"],
    ["beforeModel", { temperature: 2 }, "`temperature` can only be lowered: 2 is more than 0"],
    ["beforeModel", { maxOutputTokens: 1e9 }, "`maxOutputTokens` can only be lowered"],
    ["beforeModel", { messages: [] }, "the first message is not a person's"],
    [
      "beforeModel",
      { messages: [{ role: "tool", wireId: "c1", tool: "echo", text: "", isError: false }] },
      "the first message is not a person's",
    ],
    [
      "beforeModel",
      {
        messages: [
          { role: "user", text: "hi" },
          { role: "tool", wireId: "c1", tool: "echo", text: "", isError: false },
        ],
      },
      "the result of `c1` does not follow its call",
    ],
    ["beforeModel", { messages: [{ role: "user", text: LONG }] }, "the request does not fit"],
    ["beforeModel", "text", "it returned no object"],
    ["afterModel", { calls: [] }, "it may not change `calls`"],
    ["afterModel", { dropCalls: ["9.9"] }, "there is no call `9.9` in the reply"],
    ["afterModel", { args: { "1.0": [] } }, "it returned no object"],
    ["afterModel", { text: 5 }, "`text` is no text"],
    ["beforeTool", { kind: "allow" }, "it returned neither `arguments` nor `block`"],
    ["beforeTool", { kind: "arguments", args: {}, verdict: "allow" }, "it may not change `verdict`"],
    ["afterTool", { text: "fine" }, "it returned no text"],
    ["userMessage", "", "it returned an empty text"],
  ])("H-3 a %s that returns what it may not change fails the turn (case %#)", async (hook, answer, detail) => {
    const { w } = setup(
      [reply.calls([call("echo")]), reply.text("ok")],
      [defineMiddleware({ name: "wild", [hook]: () => answer } as never)],
    );
    expect((await w.run("go")).last).toMatchObject({ ending: "failed", detail: expect.stringContaining(detail) });
  });
});

describe("a middleware that fails", () => {
  const boom = (hook: string, async: boolean) =>
    defineMiddleware({
      name: "bad",
      [hook]: () => {
        if (async) return Promise.reject(new Error("boom"));
        throw new Error("boom");
      },
    } as never);
  const after = defineMiddleware({ name: "after", userMessage: (t) => `${t}!`, afterModel: () => ({ text: "!" }), afterTool: () => "!" });
  const STAGES = [
    ["userMessage", "user-message"],
    ["beforeModel", "before-model"],
    ["afterModel", "after-model"],
    ["beforeTool", "before-tool"],
    ["afterTool", "after-tool"],
  ] as const;

  test.each(STAGES.flatMap(([hook, stage]) => [false, true].map((async) => [hook, stage, async] as const)))(
    "H-3 %s that throws ends the turn failed and is named (%s, async %s); what had happened is on record",
    async (hook, stage, async) => {
      const { w } = setup([reply.calls([call("echo")], { text: "let me" })], [boom(hook, async), after]);
      const s = await w.run("go");
      expect(s.last).toMatchObject({ ending: "failed", detail: `middleware \`bad\` failed (${stage}): boom` });
      expect(w.events("middleware.failed")).toMatchObject([{ middleware: "bad", stage, error: "boom" }]);
      expect(w.events("turn.ended")).toHaveLength(1);
      const happened = {
        started: w.events("act.started").length,
        ended: w.events("act.ended").length,
        replied: w.events("model.replied").length,
      };
      expect(happened).toEqual({
        started: hook === "afterTool" ? 1 : 0,
        ended: hook === "afterTool" ? 1 : 0,
        replied: hook === "userMessage" || hook === "beforeModel" ? 0 : 1,
      });
      expect(fold(w.entries())).toEqual(s);
      const calls = s.messages.flatMap((m) =>
        m.role === "assistant" ? m.parts.flatMap((p) => (p.kind === "call" ? [p.wireId] : [])) : [],
      );
      expect(s.messages.flatMap((m) => (m.role === "tool" ? [m.wireId] : []))).toEqual(calls);
    },
  );

  test("H-3 what it was to look at is withheld from the model, also in the next turn; the journal has it", async () => {
    for (const [hook, secret] of [
      ["userMessage", "go secret"],
      ["afterModel", "a secret aside"],
      ["afterTool", "echo secret"],
    ] as const) {
      let fails = true;
      const once = defineMiddleware({
        name: "bad",
        [hook]: () => {
          if (fails) throw new Error("boom");
          return undefined;
        },
      } as never);
      const requests: string[] = [];
      const own = setup([], [once], {
        model: {
          id: "own/model",
          ask: async ({ messages }) => {
            requests.push(JSON.stringify(messages));
            const first = hook !== "userMessage" && requests.length === 1;
            return {
              parts: first
                ? [
                    { kind: "text", text: "a secret aside", meta: null },
                    { kind: "call", id: "c1", tool: "echo", text: '{"x":"secret"}', meta: null },
                  ]
                : [{ kind: "text", text: "fine", meta: null }],
              finish: first ? "calls" : "stop",
              usage: { input: 1, output: 1 },
              model: "own/model",
              meta: null,
            };
          },
        },
      });
      const s = await own.w.run("go secret");
      expect(s.last?.ending).toBe("failed");
      if (hook === "afterModel") expect(s.last?.output).toBeNull();
      fails = false;
      await own.w.wish({ kind: "say", text: "again" });
      await own.w.go();
      expect(own.w.state().last).toMatchObject({ ending: "completed", output: "fine" });
      expect(requests.at(-1)).not.toContain(secret);
      expect(JSON.stringify(own.w.entries())).toContain(secret);
    }
  });

  test("H-3 a reply whose middleware fails is withheld, also when another had failed before it", async () => {
    const m = defineMiddleware({
      name: "m",
      userMessage: (text) => {
        if (text === "left") throw new Error("no");
        return undefined;
      },
      afterModel: () => new Promise(() => {}),
    });
    const { w } = setup([reply.text("a secret")], [m]);
    const running = w.run("go");
    await ticks();
    await w.wish({ kind: "steer", text: "left" });
    const s = await running;
    expect(w.events("middleware.failed").map((e) => e.stage)).toEqual(["user-message", "after-model"]);
    expect(s.last).toMatchObject({ ending: "failed", output: null });
    expect(JSON.stringify(s.messages)).not.toContain("a secret");
    expect(JSON.stringify(s.messages), "it said something, which was withheld").not.toContain("[empty]");
    expect(fold(w.entries())).toEqual(s);
  });

  test("H-3 what was to follow a turn is refused when its middleware fails; the turn goes on", async () => {
    const bad = defineMiddleware({
      name: "bad",
      userMessage: (text) => {
        if (text === "then") throw new Error("boom");
        return undefined;
      },
    });
    const { w } = setup([reply.calls([call("wait")]), reply.text("done")], [bad], {
      tools: [
        tool("wait", async () => {
          await w.wish({ kind: "follow-up", text: "then" });
          return "waited";
        }),
      ],
    });
    expect((await w.run("go")).last).toMatchObject({ turn: 1, ending: "completed" });
    expect(w.events("intent.refused")).toMatchObject([{ wish: "follow-up", reason: "middleware `bad` failed: boom" }]);
  });

  test("H-3 a call that ran is told as it ended, and the others of its reply are stopped", async () => {
    const bad = defineMiddleware({
      name: "bad",
      afterTool: ({ call: { tool: name } }) => {
        if (name === "echo") throw new Error("boom");
        return undefined;
      },
    });
    const stuck = tool(
      "stuck",
      (_, { signal }) => new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error("stopped")))),
    );
    const { w } = setup([reply.calls([call("echo", "a", "c1"), call("stuck", "b", "c2")])], [bad], { tools: [echo, stuck] });
    expect((await w.run("go")).last).toMatchObject({ ending: "failed", calls: 2 });
    expect(w.events("act.ended").map((e) => e.outcome.kind)).toEqual(["done", "failed"]);
  });

  test.each(STAGES)("H-3 a %s that hangs is bounded by the turn's time and named (%s)", async (hook, stage) => {
    const stuck = defineMiddleware({ name: "stuck", [hook]: () => new Promise(() => {}) } as never);
    const { w } = setup([reply.calls([call("echo")])], [stuck], { limits: { turnMs: 1_000 } });
    const running = w.run("go");
    for (let i = 0; i < 30; i += 1) await setImmediate();
    w.clock.advance(1_001);
    const s = await running;
    expect(s.last?.ending).toBe(hook === "userMessage" ? "failed" : "timed-out");
    expect(w.events("middleware.failed")).toMatchObject([{ middleware: "stuck", stage }]);
    expect(fold(w.entries())).toEqual(s);
  });

  test.each(STAGES.slice(1))("H-3 cancelling does not wait for a %s that hangs (%s)", async (hook) => {
    const stuck = defineMiddleware({ name: "stuck", [hook]: () => new Promise(() => {}) } as never);
    const { w } = setup([reply.calls([call("echo")])], [stuck]);
    const running = w.run("go");
    for (let i = 0; i < 30; i += 1) await setImmediate();
    await w.wish({ kind: "cancel", reason: "enough" });
    expect((await running).last).toMatchObject({ ending: "cancelled" });
  });

  test("H-3 a word that middleware hangs on blocks neither the turn nor a cancel, and is refused when its turn has ended", async () => {
    const stuck = defineMiddleware({ name: "stuck", userMessage: (text) => (text === "left" ? new Promise(() => {}) : undefined) });
    const { w } = setup([hang()], [stuck]);
    const running = w.run("go");
    for (let i = 0; i < 10; i += 1) await setImmediate();
    await w.wish({ kind: "steer", text: "left" });
    for (let i = 0; i < 10; i += 1) await setImmediate();
    await w.wish({ kind: "cancel", reason: "enough" });
    expect((await running).last).toMatchObject({ ending: "cancelled" });
    expect(w.events("intent.refused")).toMatchObject([{ wish: "steer", reason: "there is no turn to steer" }]);
  });

  test("H-3 a word that middleware hangs on does not fail the turn that follows the one it was to steer", async () => {
    const stuck = defineMiddleware({ name: "stuck", userMessage: (text) => (text === "left" ? new Promise(() => {}) : undefined) });
    const gate = Promise.withResolvers<string>();
    const { w } = setup([reply.calls([call("wait")]), reply.text("one"), reply.text("two")], [stuck], {
      tools: [tool("wait", () => gate.promise)],
    });
    const running = w.run("go");
    await ticks();
    await w.wish({ kind: "follow-up", text: "then" });
    await w.wish({ kind: "steer", text: "left" });
    await ticks();
    gate.resolve("ok");
    await running;
    expect(w.events("turn.ended").map((e) => e.ending)).toEqual(["completed", "completed"]);
    expect(w.events("intent.refused")).toMatchObject([{ wish: "steer", reason: "the turn that it was to steer has ended" }]);
  });

  test("L-20 what is to follow and is still with middleware stays in the inbox when its driver stops, and goes when all is cancelled", async () => {
    let answers = false;
    const slow = defineMiddleware({
      name: "slow",
      userMessage: (text) => (text === "then" && !answers ? new Promise(() => {}) : undefined),
    });
    const stop = new AbortController();
    const { w, model } = setup([hang(), hang(), reply.text("three")], [slow]);
    const first = w.run("go", stop.signal);
    await ticks();
    await w.wish({ kind: "follow-up", text: "then" });
    await ticks();
    stop.abort("closing");
    expect((await first).last).toMatchObject({ ending: "cancelled" });
    expect(w.events("intent.refused")).toEqual([]);

    const second = w.say("again");
    await ticks();
    await w.wish({ kind: "cancel-all", reason: "enough" });
    expect((await second).last).toMatchObject({ turn: 2, ending: "cancelled" });
    expect(w.events("intent.refused")).toMatchObject([{ wish: "follow-up", reason: "what was to follow the turn was cancelled" }]);

    answers = true;
    await w.wish({ kind: "follow-up", text: "then" });
    expect((await w.go()).last).toMatchObject({ turn: 3, output: "three" });
    model.done();
  });
});

describe("commits", () => {
  const all = (answer: <T>(value: T) => T | Promise<T>) =>
    defineMiddleware({
      name: "all",
      userMessage: (text) => answer(`${text}.`),
      beforeModel: ({ system }) => answer({ system: `${system}.` }),
      afterModel: ({ text }) => answer(text === "" ? {} : { text: `${text}.` }),
      beforeTool: () => answer({ kind: "arguments", args: { x: "z" } } as const),
      afterTool: ({ text }) => answer(`${text}.`),
    });
  const steps = () => [reply.calls([call("echo")]), reply.text("ok")];

  test("L-9 hooks that answer at once leave an iteration its two commits, whatever they change", async () => {
    const with_ = commits();
    const plain = commits();
    await setup(steps(), [all((v) => v)], { spoil: with_.spoil }).w.run("go");
    await setup(steps(), [], { spoil: plain.spoil }).w.run("go");
    expect(with_.seen).toHaveLength(plain.seen.length);
  });

  test("H-2 a hook that takes its time before the model costs a commit: what ended before it is durable meanwhile", async () => {
    const gate = Promise.withResolvers<undefined>();
    const slow = defineMiddleware({ name: "slow", beforeModel: (_, { iteration }) => (iteration === 2 ? gate.promise : undefined) });
    const { w } = setup(steps(), [slow]);
    const running = w.run("go");
    for (let i = 0; i < 30; i += 1) await setImmediate();
    expect(kinds(w).at(-1)).toBe("gate.decided");
    expect(kinds(w)).toContain("act.ended");
    gate.resolve(undefined);
    expect((await running).last).toMatchObject({ ending: "completed" });
  });

  test("H-4 what is said while middleware is at a request is in the request that is sent", async () => {
    const gate = Promise.withResolvers<undefined>();
    let seen = 0;
    const slow = defineMiddleware({
      name: "slow",
      beforeModel: ({ system }) => {
        seen += 1;
        return gate.promise.then(() => ({ system: `${system} ${seen}` }));
      },
    });
    const { w, model } = setup([reply.text("ok")], [slow]);
    const running = w.run("go");
    for (let i = 0; i < 10; i += 1) await setImmediate();
    await w.wish({ kind: "steer", text: "left" });
    for (let i = 0; i < 10; i += 1) await setImmediate();
    gate.resolve(undefined);
    await running;
    expect(texts(model.asked[0]?.messages ?? [], "user")).toEqual(["go", "left"]);
    expect(model.asked[0]?.system).toBe("be brief 2");
    expect(applied(w)).toHaveLength(1);
  });

  test("H-2 words are heard in order, also when the first takes longer", async () => {
    const gate = Promise.withResolvers<undefined>();
    const slow = defineMiddleware({ name: "slow", userMessage: (text) => (text === "first" ? gate.promise : undefined) });
    const { w, model } = setup([reply.calls([call("wait")]), reply.text("ok")], [slow], {
      tools: [
        tool("wait", async () => {
          await w.wish({ kind: "steer", text: "first" });
          await w.wish({ kind: "steer", text: "second" });
          for (let i = 0; i < 10; i += 1) await setImmediate();
          gate.resolve(undefined);
          for (let i = 0; i < 10; i += 1) await setImmediate();
          return "waited";
        }),
      ],
    });
    await w.run("go");
    expect(texts(model.asked[1]?.messages ?? [], "user")).toEqual(["go", "first", "second"]);
  });

  test("H-5 previews are withheld while middleware is to see the reply first", async () => {
    const previews = async (middleware: readonly Middleware[]) => {
      const { w } = setup([reply.text("a secret")], middleware);
      await w.run("go");
      return w.live.filter((l) => l.kind === "preview").length;
    };
    expect(await previews([])).toBeGreaterThan(0);
    expect(await previews([defineMiddleware({ name: "edit", afterModel: () => ({ text: "…" }) })])).toBe(0);
  });

  test("H-2 taken up without its middleware, or with another, a session folds to the same state and goes on", async () => {
    const rows = [{ id: "ask", action: "tool:echo", verdict: "ask" } as const, { id: "all", action: "*", verdict: "allow" } as const];
    const middleware: Middleware[] = [all((v) => v)];
    const { w, model } = setup(steps(), [], { rows, spoil: (p) => ({ ...p, middleware: [...middleware] }) });
    const parked = await w.run("go");
    expect(fold(w.entries())).toEqual(parked);
    middleware.splice(0);
    const [q] = w.state().turn?.questions.values() ?? [];
    if (q === undefined) throw new Error("there is no question");
    await w.wish({ kind: "answer", approval: q.approval, digest: q.digest, answer: { kind: "approve" } });
    const s = await w.go();
    expect(s.last).toMatchObject({ ending: "completed", output: "ok" });
    expect(texts(s.messages, "tool")).toEqual(["echo z"]); // as it was rewritten, and decided, before
    expect(texts(model.asked[1]?.messages ?? [], "user")).toEqual(["go."]);
    expect(model.asked.map((r) => r.system)).toEqual(["be brief.", "be brief"]);
    expect(fold(w.entries())).toEqual(s);
  });
});
