import { hash as nodeHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { defineTool } from "../../agents/define-tool.ts";
import type { Message, Model, ModelRequest } from "../../reason/port.ts";
import { SUMMARY_SYSTEM } from "../../reason/summary.ts";
import { estimateTokens } from "../../reason/tokens.ts";
import {
  arbitraries,
  type CrashPoint,
  failure,
  refused,
  reply,
  type Step,
  scriptedModel,
  type World,
  type WorldOptions,
  world,
} from "../../testing/index.ts";
import { type ContextPlan, type Digest, digest, FaultError, type Hash, type Tool } from "../../vocab/index.ts";

const sha256: Hash = (text): Digest => digest(nodeHash("sha256", text, "hex"));
const arb = arbitraries(fc);

const WINDOW: ContextPlan = { kind: "window" };
const MASK: ContextPlan = { kind: "mask", keep: 3 };
const SUMMARISE: ContextPlan = { kind: "summarise", keep: 3, model: null };
const PLANS: readonly ContextPlan[] = [WINDOW, MASK, SUMMARISE];

const textOf = (m: Message): string => ("text" in m ? m.text : m.parts.map((p) => p.text).join(" "));
const all = (r: ModelRequest): string => r.messages.map(textOf).join("\n");
const isSummary = (r: ModelRequest): boolean => r.system === SUMMARY_SYSTEM;

/** The overhead of a world's agent is 10 tokens. */
const tokensOf = (r: ModelRequest): number =>
  r.messages.reduce((n, m) => n + m.tokens, isSummary(r) ? estimateTokens(SUMMARY_SYSTEM) + 6 : 10);

/** Requirements of every provider, and our own promises. */
function checkRequest(r: ModelRequest, contextTokens: number): void {
  expect(tokensOf(r), "within contextTokens").toBeLessThanOrEqual(contextTokens);
  expect(["user", "note"], "the first message is sent as a user's").toContain(r.messages[0]?.role);
  if (isSummary(r)) return;
  const open: string[] = [];
  for (const m of r.messages) {
    if (m.role === "tool") expect(open.shift(), "each result stands right after its call, in order").toBe(m.wireId);
    else {
      expect(open, "each call has its result before anything else is said").toEqual([]);
      if (m.role === "assistant") open.push(...m.parts.flatMap((p) => (p.kind === "call" ? [p.wireId] : [])));
    }
  }
  expect(open, "no call is left without its result").toEqual([]);
}

const look = (size: (n: number) => number, fact: (n: number) => string = () => ""): Tool =>
  defineTool({
    name: "look",
    description: "Looks.",
    input: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] },
    repeat: "read",
    run: async (args) => `${fact(Number(args["n"]))}${"lorem ipsum ".repeat(Math.ceil(size(Number(args["n"])) / 12))}`,
  });

/** Calls `look` in every step; the last one is an answer. What it sums up it keeps: every sentence with a fact in it. */
function walker(steps: number, asked: ModelRequest[], answer: (r: ModelRequest) => string = () => "done"): Model {
  let n = 0;
  const ask = async (r: ModelRequest) => {
    asked.push({ ...r, messages: [...r.messages] });
    const usage = { input: 1, output: 1 };
    if (isSummary(r)) {
      const facts = [...new Set(all(r).match(/the password of step \d+ is \w+/g) ?? [])];
      return {
        parts: [{ kind: "text", text: `Nothing much; ${facts.join(", ")}.`, meta: null }],
        finish: "stop",
        usage,
        model: "w/w",
        meta: null,
      } as const;
    }
    n += 1;
    const call = { kind: "call", id: `c${n}`, tool: "look", text: JSON.stringify({ n }), meta: null } as const;
    const parts = n > steps ? [{ kind: "text", text: answer(r), meta: null } as const] : [call];
    return { parts, finish: n > steps ? "stop" : "calls", usage, model: "w/w", meta: null } as const;
  };
  return { id: "w/w", ask };
}

const LONG = { tokens: 10_000_000, iterations: 400, calls: 400, outputTokens: 500, contextTokens: 4_000 };

describe("300 iterations at 4,000 tokens, where step 290 needs a fact of step 5", () => {
  async function walk(context: ContextPlan): Promise<{ w: World; asked: ModelRequest[]; replies: ModelRequest[] }> {
    const asked: ModelRequest[] = [];
    const fact = (n: number) => (n === 5 ? "the password of step 5 is heron " : "");
    const w = world({ hash: sha256, model: walker(300, asked), tools: [look(() => 400, fact)], context, limits: LONG });
    const s = await w.run("find the password of step 5, and use it in step 290");
    expect(s.last).toMatchObject({ ending: "completed", iterations: 301 });
    for (const r of asked) checkRequest(r, 4_000);
    const replies = asked.filter((r) => !isSummary(r));
    for (const r of replies) expect(all(r), "the task").toContain("use it in step 290");
    return { w, asked, replies };
  }
  const FACT = "the password of step 5 is heron";

  test("C-2 the window: the request of step 290 has the task and the newest units, and not the fact; nothing about it is journalled", async () => {
    const { w, replies } = await walk(WINDOW);
    const at = replies[290];
    expect(all(replies[6] ?? at ?? fail())).toContain(FACT);
    expect(all(at ?? fail())).not.toContain(FACT);
    expect(w.events("context.compacted")).toEqual([]);
    expect(
      w.events("act.ended").some((e) => JSON.stringify(e.outcome).includes(FACT)),
      "the journal keeps it",
    ).toBe(true);
  });

  test("C-2 masking: the request of step 290 has its newest results whole and older ones as one line each, with tool, call, entry and size", async () => {
    const { w, replies } = await walk(MASK);
    const at = replies[290] ?? fail();
    expect(all(at)).not.toContain(FACT);
    const results = at.messages.filter((m) => m.role === "tool");
    const lines = results.filter((m) => m.text.startsWith("[left out:"));
    expect(results.length - lines.length).toBeGreaterThanOrEqual(3);
    expect(results.length - lines.length).toBeLessThanOrEqual(6);
    expect(lines.length, "many more steps are in sight than without").toBeGreaterThan(30);
    for (const m of lines) {
      const [, call, entry, size] = /^\[left out: a result of look, call (c\d+), entry (\d+), (\d+) characters\]$/.exec(m.text) ?? [];
      const ended = w.entries()[Number(entry) - 1]?.event;
      expect(ended).toMatchObject({ kind: "act.ended", outcome: { kind: "done" } });
      expect([call, size]).toEqual([m.wireId, "408"]);
    }
    const moves = w.events("context.compacted");
    expect(moves.filter((e) => e.how === "mask").length, "in steps, not at every iteration").toBeLessThanOrEqual(100);
    expect(moves.every((e) => e.after < e.before)).toBe(true);
  });

  test("C-3 summing up: the request of step 290 has the fact, in a note that names the entries it stands for, and the journal says who made it of what", async () => {
    const { w, asked, replies } = await walk(SUMMARISE);
    const at = replies[290] ?? fail();
    expect(all(at)).toContain(FACT);
    const note = at.messages.find((m) => m.role === "note" && m.text.startsWith("[summary"));
    const [, first, last] =
      /^\[summary of entries (\d+) to (\d+), made by w\/w; the entries themselves are kept\]/.exec(
        note === undefined ? "" : textOf(note),
      ) ?? [];
    const made = w.events("context.compacted").filter((e) => e.how === "summarise");
    expect(made.find((e) => e.last === Number(last))).toMatchObject({
      first: Number(first),
      model: "w/w",
      summary: expect.stringContaining(FACT),
    });
    const fact = w.entries().findIndex((e) => e.event.kind === "act.ended" && JSON.stringify(e.event).includes(FACT)) + 1;
    expect(Number(first)).toBeLessThanOrEqual(fact);
    expect(Number(last)).toBeGreaterThanOrEqual(fact);
    for (const [i, e] of made.entries()) if (i > 0) expect(e.first, "each one has the one before it in it").toBe(made[i - 1]?.first);
    const calls = asked.length - replies.length;
    expect([calls, made.length]).toEqual([made.length, calls]);
    expect(calls, "far fewer than iterations").toBeLessThan(40);
    expect(w.events("model.asked").filter((e) => e.purpose === "summary")).toHaveLength(calls);
    expect(w.events("turn.ended")[0]?.usage.input, "counted as use, not as iterations").toBe(301 + calls);
    expect(
      w.live.filter((l) => l.kind === "preview"),
      "never shown while it comes",
    ).toEqual([]);
  });
});

describe("summing up", () => {
  const small = { tokens: 100_000, contextTokens: 500, outputTokens: 200, iterations: 40 };
  const steps = (n: number): readonly Step[] =>
    Array.from({ length: n }, (_, i) => reply.calls([{ tool: "look", id: `c${i}`, args: { n: i } }]));
  function run(replies: readonly Step[], summaries: readonly Step[], more: Partial<WorldOptions> = {}) {
    const model = scriptedModel(replies);
    const summariser = scriptedModel(summaries, { id: "cheap/model" });
    const context = { kind: "summarise", keep: 2, model: "cheap/model" } as const;
    return { model, summariser, w: world({ hash: sha256, model, summariser, tools: [look(() => 800)], context, limits: small, ...more }) };
  }

  test("C-3 another model may do it, under its own name, gated like any model, and at a price that is not known", async () => {
    const { w, summariser } = run([...steps(4), reply.text("done")], [reply.text("so far so good", { usage: { input: 7, output: 3 } })], {
      prices: { input: 1, output: 1 },
    });
    const s = await w.run("go");
    const replies = w.events("model.replied");
    expect(replies.find(({ purpose }) => purpose === "summary")?.usage).toMatchObject({ input: 7, output: 3 });
    const used = (of: "input" | "output") => replies.reduce((sum, { usage }) => sum + usage[of], 0);
    expect(s.last).toMatchObject({
      ending: "completed",
      iterations: 5,
      micros: null,
      usage: { input: used("input"), output: used("output") },
    });
    expect(w.events("gate.decided").filter((e) => e.id.startsWith("summary:"))).toMatchObject([
      { action: { kind: "model", model: "cheap/model" }, verdict: { kind: "allow" } },
    ]);
    expect(summariser.asked[0]).toMatchObject({ tools: [], temperature: 0 });
    summariser.done();
  });

  test("C-3 when the gate refuses it the oldest units go, and the turn goes on", async () => {
    const gated = run([...steps(6), reply.text("done")], [], {
      spoil: (p) => ({
        ...p,
        gate: {
          ...p.gate,
          decide: (action, facts) => {
            const decision = p.gate.decide(action, facts);
            return action.kind === "model" && action.model === "cheap/model"
              ? { ...decision, verdict: { kind: "deny", by: "policy", because: [], faults: [], reason: "not that one" } }
              : decision;
          },
        },
      }),
    });
    const s = await gated.w.run("go");
    expect(s.last?.ending).toBe("completed");
    expect(gated.w.events("context.compacted").map((e) => e.how)).toEqual(expect.arrayContaining(["window"]));
    expect(gated.w.events("context.compacted").some((e) => e.how === "summarise")).toBe(false);
    for (const r of gated.model.asked) checkRequest(r, 500);
  });

  test("C-3 when it fails it is asked again twice at the most, then the oldest units go; a reply later it is tried again", async () => {
    const { w, model, summariser } = run(
      [...steps(6), reply.text("done")],
      [failure("busy"), failure("busy"), failure("busy"), reply.text("now it works"), reply.text("and again")],
    );
    const s = await w.run("go");
    expect(s.last?.ending).toBe("completed");
    const asked = w.events("model.asked").filter((e) => e.purpose === "summary");
    expect(asked.slice(0, 4).map((e) => e.attempt)).toEqual([1, 2, 3, 1]);
    const hows = w.events("context.compacted").map((e) => e.how);
    expect(hows[0]).toBe("window");
    expect(hows).toContain("summarise");
    for (const r of [...model.asked, ...summariser.asked]) checkRequest(r, 500);
  });

  describe("M-8 another sums up in its place", () => {
    const spare = (...summaries: readonly Step[]) => scriptedModel(summaries, { id: "spare/model" });
    const askedFor = (w: World) => w.events("model.asked").flatMap((e) => (e.purpose === "summary" ? [`${e.model} ${e.attempt}`] : []));

    test("M-8 when it cannot be had: the next of the fallbacks, under its own decision and price, and the turn stays with it", async () => {
      const other = spare(
        reply.text("so far so good", { usage: { input: 7, output: 3 } }),
        reply.text("still", { usage: { input: 1, output: 1 } }),
      );
      const { w, summariser } = run([...steps(6), reply.text("done")], [refused(401, { transient: false })], {
        fallbacks: [{ model: other, prices: { input: 10, output: 10 } }],
      });
      expect((await w.run("go")).last?.ending).toBe("completed");
      expect(askedFor(w)).toEqual(["cheap/model 1", "spare/model 2", "spare/model 1"]);
      expect(w.events("model.failed")).toMatchObject([{ purpose: "summary", model: "cheap/model", status: 401, dueAt: null }]);
      expect(
        w
          .events("model.replied")
          .filter((e) => e.purpose === "summary")
          .map((e) => e.micros),
      ).toEqual([100, 20]);
      expect(w.events("context.compacted").every((e) => e.how === "summarise" && e.model === "spare/model")).toBe(true);
      const decided = w
        .events("gate.decided")
        .flatMap((e) => (e.id.startsWith("summary:") && e.action.kind === "model" ? [e.action.model] : []));
      expect(decided).toEqual(["cheap/model", "spare/model", "spare/model"]);
      summariser.done();
      other.done();
    });

    test("M-8 M-7 what is refused for the moment is asked again as often as a reply is, then the fallback", async () => {
      const other = spare(reply.text("so far so good"));
      const busy = Array.from({ length: 5 }, () => refused(503));
      const { w, summariser } = run([...steps(4), reply.text("done")], busy, {
        fallbacks: [{ model: other }],
        spoil: (p) => ({ ...p, modelRetry: { ...p.modelRetry, backoffMs: 0 }, modelBreaker: { ...p.modelBreaker, failures: 100 } }),
      });
      expect((await w.run("go")).last?.ending).toBe("completed");
      expect(askedFor(w)).toEqual([1, 2, 3, 4, 5].map((n) => `cheap/model ${n}`).concat("spare/model 6"));
      summariser.done();
      other.done();
    });

    test("M-8 a request that is bad everywhere is asked of nobody else: the oldest units go", async () => {
      const other = spare();
      const { w } = run([...steps(3), reply.text("done")], [refused(400, { transient: false })], { fallbacks: [{ model: other }] });
      expect((await w.run("go")).last?.ending).toBe("completed");
      expect(askedFor(w)).toEqual(["cheap/model 1"]);
      expect(w.events("context.compacted").map((e) => e.how)).toEqual(["window"]);
    });

    test("M-8 a turn that has left its own model behind is not summed up by it", async () => {
      const context = { kind: "summarise", keep: 2, model: null } as const;
      const model = scriptedModel([refused(401, { transient: false })], { id: "own/model" });
      const other = scriptedModel([...steps(3), reply.text("so far so good"), ...steps(4).slice(3), reply.text("done")], {
        id: "spare/model",
      });
      const w = world({ hash: sha256, model, fallbacks: [{ model: other }], tools: [look(() => 800)], context, limits: small });
      expect((await w.run("go")).last?.ending).toBe("completed");
      expect(askedFor(w)).toEqual(["spare/model 1"]);
      other.done();
    });

    test("M-8 a summary that was in flight when its process ended is asked for again, twice at the most, then the fallback", async () => {
      const other = spare(reply.text("so far so good"));
      const crash = { of: "model", when: "before" } as const;
      const { w } = run([...steps(4), reply.text("done")], [], {
        fallbacks: [{ model: other }],
        crashes: [
          { ...crash, nth: 3 },
          { ...crash, nth: 0 },
          { ...crash, nth: 0 },
        ],
      });
      expect((await w.run("go")).last?.ending).toBe("completed");
      expect(askedFor(w)).toEqual(["cheap/model 1", "cheap/model 2", "cheap/model 3", "spare/model 4"]);
      other.done();
    });
  });

  test("F-7 a model that only sums up is left alone too when it keeps failing, and the oldest units go without asking it", async () => {
    const busy = Array.from({ length: 5 }, () => failure("busy"));
    const { w, summariser } = run([...steps(12), reply.text("done")], busy);
    const s = await w.run("go");
    expect(s.last?.ending).toBe("completed");
    expect(w.events("gate.decided").filter((e) => e.id.startsWith("summary:") && e.verdict.kind === "deny")).not.toEqual([]);
    expect(w.events("context.compacted").every((e) => e.how === "window")).toBe(true);
    summariser.done();
  });

  test("C-3 an empty summary, or a refused one, is none", async () => {
    const { w } = run([...steps(3), reply.text("done")], [reply.text("  ")]);
    await w.run("go");
    expect(w.events("context.compacted").map((e) => e.how)).toEqual(["window"]);
    expect(w.events("model.replied").filter((e) => e.purpose === "summary")).toHaveLength(1);
  });

  test("C-3 without the tokens or the money for it the oldest units go", async () => {
    const { w, summariser } = run([...steps(4), reply.text("done")], [], {
      prices: { input: 1, output: 1 },
      limits: { ...small, cents: 10 },
    });
    expect((await w.run("go")).last?.ending).toBe("completed");
    expect(summariser.asked).toEqual([]);
    expect(w.events("context.compacted").map((e) => e.how)).toContain("window");
  });

  test("C-3 the digest of a summary's request covers what it is made of", async () => {
    const digests = async (text: string) => {
      const { w } = run([...steps(4), reply.text("done")], [reply.text("sum")], {});
      await w.run(text);
      return w.events("model.asked").find((e) => e.purpose === "summary")?.request;
    };
    expect(await digests("go")).toBe(await digests("go"));
    expect(await digests("go")).not.toBe(await digests("stay"));
  });
});

test.each(PLANS)("in a run far longer than its window ($kind) most requests begin with all of the one before", async (context) => {
  const asked: ModelRequest[] = [];
  const limits = { tokens: 10_000_000, contextTokens: 4_000, outputTokens: 200, iterations: 400, calls: 1_000 };
  const w = world({ hash: sha256, model: walker(200, asked), tools: [look(() => 300)], context, limits });
  expect((await w.run("go")).last?.ending).toBe("completed");
  const texts = asked.filter((r) => !isSummary(r)).map((r) => r.messages.map((m) => JSON.stringify(m)));
  const moved = texts.filter((now, i) => i > 0 && texts[i - 1]?.some((m, at) => now[at] !== m) === true).length;
  expect(texts).toHaveLength(201);
  expect(moved).toBeGreaterThan(3); // it is longer than its window
  expect(moved).toBeLessThan(texts.length / 3); // `mask` with few to keep moves most often
});

describe("what must fit", () => {
  test("C-2 results that are too long to fit beside the task are cut to their share, say so, and are whole in the journal", async () => {
    const asked: ModelRequest[] = [];
    const w = world({
      hash: sha256,
      model: walker(2, asked),
      tools: [look(() => 20_000)],
      limits: { tokens: 100_000, contextTokens: 800, outputTokens: 200 },
    });
    expect((await w.run("go")).last?.ending).toBe("completed");
    for (const r of asked) checkRequest(r, 800);
    expect(all(asked[1] ?? fail())).toMatch(/\[cut: \d+ of \d+ characters left out; the journal has all of it\]/);
    expect(JSON.stringify(w.events("act.ended")[0]).length).toBeGreaterThan(20_000);
  });

  test("C-2 a short result beside long ones is left whole", async () => {
    const sizes = [10, 9_000, 9_000];
    const model = scriptedModel([reply.calls([0, 1, 2].map((n) => ({ tool: "look", id: `c${n}`, args: { n } }))), reply.text("done")]);
    const w = world({
      hash: sha256,
      model,
      tools: [look((n) => sizes[n] ?? 0)],
      limits: { tokens: 100_000, contextTokens: 900, outputTokens: 200 },
    });
    await w.run("go");
    const texts = model.asked[1]?.messages.filter((m) => m.role === "tool").map(textOf) ?? [];
    expect(texts[0]).toBe("lorem ipsum ");
    expect(texts[1]?.length).toBe(texts[2]?.length);
    checkRequest(model.asked[1] ?? fail(), 900);
  });

  test("C-1 what cannot be made to fit is not sent: the turn ends, and says how much there is of it", async () => {
    const model = scriptedModel([]);
    const w = world({ hash: sha256, model, limits: { tokens: 100_000, contextTokens: 200 } });
    const s = await w.run("word ".repeat(1_000));
    expect(s.last).toMatchObject({ ending: "out-of-tokens", iterations: 0, detail: expect.stringContaining("contextTokens is 200") });
  });

  test("C-4 tokens are counted by the tokenizer that the agent names, once per message", async () => {
    let texts = 0;
    const counters = () => (text: string) => {
      texts += 1;
      return text.length; // one for each character
    };
    const model = scriptedModel([reply.text("four")]);
    const w = world({ hash: sha256, model, counters });
    await w.run("abc");
    expect(model.asked[0]?.messages[0]?.tokens).toBe(3 + 6);
    expect(texts).toBeLessThanOrEqual(4);
  });
});

describe("for any conversation and any budget", () => {
  const turns = fc.array(
    fc.array(fc.record({ calls: fc.array(fc.integer({ min: 0, max: 3_000 }), { maxLength: 4 }), say: fc.string({ maxLength: 200 }) }), {
      maxLength: 12,
    }),
    { minLength: 1, maxLength: 3 },
  );
  const plans = fc.constantFrom<ContextPlan>(
    WINDOW,
    { kind: "mask", keep: 1 },
    MASK,
    { kind: "summarise", keep: 1, model: null },
    SUMMARISE,
  );

  async function live(
    script: readonly (readonly { calls: readonly number[]; say: string }[])[],
    context: ContextPlan,
    contextTokens: number,
    crashes: readonly CrashPoint[],
  ) {
    const asked: ModelRequest[] = [];
    const flat = script.flatMap((turn) => [...turn, null]);
    const usage = { input: 1, output: 1 };
    const model: Model = {
      id: "p/p",
      ask: async (r) => {
        asked.push({ ...r, messages: [...r.messages] });
        if (isSummary(r)) {
          if (asked.length % 5 === 0)
            throw new FaultError({ kind: "model-failed", detail: "busy", again: true, broke: asked.length % 2 === 0 });
          return {
            parts: [{ kind: "text", text: `sum ${"x ".repeat(asked.length % 90)}`, meta: null }],
            finish: "stop",
            usage,
            model: "p/p",
            meta: null,
          };
        }
        const at = w.events("model.replied").filter((e) => e.purpose === "reply").length; // the same place, the same reply
        const step = flat[at] ?? null;
        const calls = (step?.calls ?? []).map(
          (n, i) => ({ kind: "call", id: `c${at}.${i}`, tool: "look", text: JSON.stringify({ n }), meta: null }) as const,
        );
        const text = { kind: "text", text: step === null ? "done" : `${step.say}.`, meta: null } as const;
        return { parts: [text, ...calls], finish: calls.length > 0 ? "calls" : "stop", usage, model: "p/p", meta: null };
      },
    };
    const w: World = world({
      hash: sha256,
      model,
      tools: [look((n) => n)],
      context,
      crashes,
      limits: { tokens: 1_000_000, contextTokens, outputTokens: 300, iterations: 60, calls: 300 },
    });
    await w.run("the first task: be thorough");
    for (const [i] of script.slice(1).entries()) {
      await w.wish({ kind: "say", text: `task number ${i + 2}: go on` });
      await w.go();
    }
    return { w, asked };
  }

  test("C-1 the task is there, units are whole, the first message is valid, and every request is within contextTokens, also after crashes", async () => {
    const seen = { summaries: 0, masks: 0, cut: 0 };
    await fc.assert(
      fc.asyncProperty(
        turns,
        plans,
        fc.integer({ min: 250, max: 2_500 }),
        fc.array(arb.crashPoints(12), { maxLength: 2 }),
        async (script, plan, contextTokens, crashes) => {
          const { w, asked } = await live(script, plan, contextTokens, crashes);
          for (const r of asked) {
            checkRequest(r, contextTokens);
            if (!isSummary(r)) expect(all(r), "the task").toMatch(/the first task: be thorough|task number \d: go on/);
          }
          const live_ = w.state();
          expect(live_.turn, "it came to an end").toBe(null);
          for (const e of w.events("context.compacted")) {
            expect(e.first).toBeLessThanOrEqual(e.last);
            if (e.how === "summarise") seen.summaries += 1;
            if (e.how === "mask") seen.masks += 1;
            if (e.how === "window") seen.cut += 1;
          }
          const between = w
            .entries()
            .map((e) => (e.event.kind === "model.replied" ? e.event.purpose : e.event.kind === "turn.started" ? "turn" : null))
            .filter((e) => e !== null);
          for (const [i, purpose] of between.entries())
            if (purpose === "summary") expect(between[i + 1], "at most one between two replies").not.toBe("summary");
        },
      ),
      { numRuns: Number(process.env["ORGATE_CONTEXT_RUNS"] ?? 60), endOnFailure: true },
    );
    expect(Math.min(seen.summaries, seen.masks, seen.cut), JSON.stringify(seen)).toBeGreaterThan(0);
  });

  const never: Model = { id: "cheap/model", ask: () => Promise.reject(new Error("it never works")) };
  test.each([
    ...PLANS.map((plan) => [plan.kind, plan, {}] as const),
    ["summaries that never come", { ...SUMMARISE, model: "cheap/model" }, { summariser: never }] as const,
  ])(
    "C-4 under %s, what a run costs by itself does not grow with its length",
    async (_, context: ContextPlan, more: Partial<WorldOptions>) => {
      const work = async (steps: number) => {
        let counted = 0;
        const counters = () => (text: string) => {
          counted += text.length;
          return estimateTokens(text);
        };
        const asked: ModelRequest[] = [];
        const w = world({
          hash: sha256,
          model: walker(steps, asked),
          tools: [look(() => 200)],
          context,
          counters,
          limits: { ...LONG, contextTokens: 1_000 },
          ...more,
        });
        await w.run("go");
        return counted / steps;
      };
      const [short, long] = [await work(60), await work(300)];
      expect(long / short, "characters counted per step").toBeLessThan(1.3);
    },
  );
});

function fail(): never {
  throw new Error("there is no such request");
}
