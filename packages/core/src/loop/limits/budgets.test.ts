import { hash as nodeHash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { defineTool } from "../../agents/define-tool.ts";
import type { Model, ModelRequest } from "../../reason/port.ts";
import { arbitraries, PERMIT_ALL, reply, type Step, scriptedModel, type World, type WorldOptions, world } from "../../testing/index.ts";
import {
  callId,
  DEFAULT_LIMITS,
  type Digest,
  digest,
  epoch,
  FaultError,
  type Hash,
  type JournalEvent,
  millis,
  NO_RESERVATION,
  type Reservation,
  seq,
  sessionId,
  type Tool,
  type ToolContext,
  toUsage,
  writerId,
} from "../../vocab/index.ts";
import { evolve, fold } from "../evolve.ts";
import { toResult } from "../session/result.ts";
import type { State } from "../state.ts";
import { allot, DIMENSIONS, isWorthwhile, limitsWithin, listOverdrawn, ownShare, remaining, roomForOutput, sumUsed } from "./budgets.ts";

const sha256: Hash = (text): Digest => digest(nodeHash("sha256", text, "hex"));
const arb = arbitraries(fc);
const PRICES = { input: 3, output: 15 };

function priced(
  name: string,
  maxCents: number,
  run: (context: ToolContext) => unknown,
  more: Partial<Parameters<typeof defineTool>[0]> = {},
): Tool {
  return defineTool({
    name,
    description: "Costs money.",
    input: { type: "object" },
    maxCents,
    run: async (_, context) => {
      run(context);
      return "done";
    },
    ...more,
  });
}

const setup = (steps: readonly Step[], options: Partial<WorldOptions> = {}) => {
  const model = scriptedModel(steps);
  return { model, w: world({ hash: sha256, model, prices: PRICES, ...options }) };
};
const calls = (...tools: readonly string[]): Step => reply.calls(tools.map((tool, i) => ({ tool, id: `${tool}${i}`, args: {} })));

/** Folds the journal entry by entry: what holds must hold after each of them. */
function checkAfterEvery(w: World): void {
  let s: State | null = null;
  for (const entry of w.entries()) {
    s = s === null ? fold([entry]) : evolve(s, entry);
    if (s !== null) expect(listOverdrawn(s), `after ${entry.event.kind} (${entry.seq})`).toEqual([]);
  }
}

describe("model calls", () => {
  test("B-3 what a request can cost is set aside before it, and settled at what was reported", async () => {
    const { w } = setup([reply.text("hello", { usage: { input: 100, output: 20 } })], { limits: { cents: 50 } });
    const s = await w.run("hi");
    const [asked] = w.events("model.asked");
    expect(asked?.reservedMicros).toBe(Math.ceil((asked?.reserved.input ?? 0) * 3 + (asked?.reserved.output ?? 0) * 15));
    expect(w.events("model.replied")[0]?.micros).toBe(100 * 3 + 20 * 15);
    expect(w.events("turn.ended")[0]?.micros).toBe(600);
    expect(toResult(s).cost).toBe(0.0006);
  });

  test("B-3 the longest reply is cut down to what is left, so that neither tokens nor money can be overshot", async () => {
    const { w, model } = setup([reply.text("hello")], { limits: { cents: 1 } });
    await w.run("hi");
    const [asked] = w.events("model.asked");
    const [request] = model.asked;
    expect(request?.maxOutputTokens).toBe(Math.floor((10_000 - (asked?.reserved.input ?? 0) * 3) / 15));
    expect(asked?.reservedMicros).toBeLessThanOrEqual(10_000);
  });

  test("B-3 where tokens are estimated more than the estimate is set aside", async () => {
    const { w, model } = setup([reply.text("hello")]);
    await w.run("x".repeat(4_000));
    const shown = model.asked[0]?.messages.reduce((n, m) => n + m.tokens, 10) ?? 0;
    expect(w.events("model.asked")[0]?.reserved.input).toBe(Math.ceil(shown * 1.25));
  });

  test("B-3 when not even a short reply could be paid, the turn ends out-of-money", async () => {
    const spend = { input: 0, output: 600 }; // 9,000 of 10,000 micros
    const { w } = setup([reply.calls([{ tool: "none", args: {} }], { usage: spend })], { limits: { cents: 1 } });
    const s = await w.run("hi");
    expect(s.last).toMatchObject({ ending: "out-of-money", iterations: 1, detail: expect.stringContaining("1 cents") });
    checkAfterEvery(w);
  });

  test("B-4 a reply that is lost costs what was set aside for it, in tokens and in money", async () => {
    const { w } = setup([reply.text("late", { usage: { input: 1, output: 1 } }), reply.text("again", { usage: { input: 1, output: 1 } })], {
      crashes: [{ of: "model", when: "after", nth: 0 }],
      limits: { cents: 100 },
    });
    const s = await w.run("hi");
    const [lost] = w.events("model.asked");
    expect(s.last).toMatchObject({ ending: "completed", lost: lost?.reserved, micros: (lost?.reservedMicros ?? 0) + 3 + 15 });
    expect(toResult(s).usage.lost).toBe((lost?.reserved.input ?? 0) + (lost?.reserved.output ?? 0));
    checkAfterEvery(w);
  });

  test("B-4 a provider that reports more than there was: the truth is recorded, the ending names it, and none of the calls is begun", async () => {
    const ran: string[] = [];
    const steps = [reply.calls([{ tool: "look", args: {} }], { usage: { input: 200_000, output: 5 } })];
    const { w } = setup(steps, { tools: [priced("look", 0, () => ran.push("look"))] });
    const s = await w.run("hi");
    expect(s.last).toMatchObject({
      ending: "out-of-tokens",
      usage: { input: 200_000, output: 5 },
      detail: expect.stringContaining("200005 of 100000"),
    });
    expect([ran, w.events("act.started")]).toEqual([[], []]);
  });

  test("B-4 an answer that was billed for more than there was is delivered, and the ending says so", async () => {
    const { w } = setup([reply.text("here", { usage: { input: 1, output: 1_000 } })], { limits: { cents: 1 } });
    const s = await w.run("hi");
    expect(s.last).toMatchObject({ ending: "completed", output: "here", micros: 15_003, detail: expect.stringContaining("2 of 1 cents") });
  });

  test("M-12 a model that reports no token for a reply is not believed: the token limit trips", async () => {
    const nothing = { usage: { input: 0, output: 0 } };
    const calls = Array.from({ length: 40 }, () => reply.calls([{ tool: "none", args: { text: "word ".repeat(200) } }], nothing));
    const { w } = setup(calls, { limits: { tokens: 3_000, iterations: 40, refusedInARow: 50 } });
    const s = await w.run("hi");
    expect(s.last?.ending).toBe("out-of-tokens");
    expect(w.events("model.replied")[0]?.usage.output).toBeGreaterThan(100);
    checkAfterEvery(w);
  });

  test("B-5 without prices the cost is unknown, never zero, and the gate is told no cents", async () => {
    const model = scriptedModel([reply.text("hello", { usage: { input: 100, output: 20 } })]);
    const w = world({ hash: sha256, model });
    const s = await w.run("hi");
    expect([w.events("turn.ended")[0]?.micros, toResult(s).cost]).toEqual([null, null]);
  });

  test("B-5 an agent whose price got lost while its turn ran is asked nothing more", async () => {
    const opened = state({ cents: 5 }, null);
    expect(roomForOutput(opened, turnOf(opened)).short).toMatchObject({ ending: "out-of-money", detail: expect.stringContaining("price") });
  });
});

/** A model that costs nothing: what is left is what tools cost. */
const setupFree = (steps: readonly Step[], options: Partial<WorldOptions> = {}) =>
  setup(steps, { prices: { input: 0, output: 0 }, ...options });

describe("tools that cost", () => {
  test("B-6 the most a call may cost is set aside in the commit that starts it, and settled at what the tool says in the one that ends it", async () => {
    const tool = priced("buy", 40, ({ spent }) => spent(25));
    const { w } = setupFree([calls("buy"), reply.text("ok")], { tools: [tool], limits: { cents: 100 } });
    const s = await w.run("hi");
    expect(w.events("budget.reserved")).toEqual([{ kind: "budget.reserved", call: "1.0", amount: { ...NO_RESERVATION, micros: 400_000 } }]);
    expect(w.events("budget.settled")).toEqual([{ kind: "budget.settled", call: "1.0", amount: { ...NO_RESERVATION, micros: 250_000 } }]);
    const kinds = w.entries().map((e) => e.event.kind);
    expect(kinds[kinds.indexOf("act.started") + 1]).toBe("budget.reserved");
    expect(kinds[kinds.indexOf("act.ended") - 1]).toBe("budget.settled");
    expect(s.last?.micros).toBe(250_000);
  });

  test.each([
    ["says nothing", () => {}, 40],
    ["says more than its maximum", ({ spent }: ToolContext) => spent(70), 40],
    ["says no amount of money", ({ spent }: ToolContext) => spent(Number.NaN), 40],
    ["says that it was free", ({ spent }: ToolContext) => spent(0), 0],
    ["fails after it said so", fails((c) => c.spent(7)), 7],
    ["fails and says nothing", fails(() => {}), 40],
  ])("B-6 a tool that %s", async (_, run, cents) => {
    const { w } = setupFree([calls("buy"), reply.text("ok")], { tools: [priced("buy", 40, run)], limits: { cents: 100 } });
    const s = await w.run("hi");
    expect(s.last?.micros).toBe(cents * 10_000);
    expect(w.events("note").map((e) => e.name)).toEqual(cents === 40 && run.toString().includes("70") ? ["spent-beyond-maximum"] : []);
  });

  test("B-6 calls that there is no money for are not started; what there is money for runs first, then the turn ends out-of-money", async () => {
    const { w } = setupFree([calls("buy", "buy", "peek")], {
      tools: [priced("buy", 40, ({ spent }) => spent(30)), priced("peek", 0, () => {})],
      limits: { cents: 60 },
    });
    const s = await w.run("hi");
    expect(w.events("act.started").map((e) => e.call)).toEqual(["1.0", "1.2"]);
    expect(s.last).toMatchObject({
      ending: "out-of-money",
      micros: 300_000,
      detail: "a call of buy may cost 40 cents, and 30 of 60 are left",
    });
    checkAfterEvery(w);
  });

  test("B-6 what waits for its retry, or for a person, runs before the turn ends out-of-money", async () => {
    const dear = priced("dear", 500, () => {});
    for (const [rows, recover] of [
      [[], { kind: "retry", times: 1, backoffMs: 100 }],
      [[{ id: "ask", action: "tool:t", verdict: "ask" }], "ask-model"],
    ] as const) {
      let runs = 0;
      const run = () => (++runs === 1 && rows.length === 0 ? Promise.reject(new Error("no luck")) : Promise.resolve("done"));
      const t = priced("t", 0, () => {}, { repeat: "idempotent", recover, run });
      const { w } = setupFree([calls("t", "dear")], { tools: [t, dear], limits: { cents: 100 }, rows: [...rows, ...PERMIT_ALL] });
      const running = w.run("go");
      if (rows.length === 0) {
        do await setImmediate();
        while (w.clock.sleepers() < 2); // the turn's own time, and the retry's
        w.clock.advance(100);
      }
      let s = await running;
      const [question] = s.turn?.questions.values() ?? [];
      if (question !== undefined) {
        const { approval, digest: asked } = question;
        await w.wish({ kind: "answer", approval, digest: asked, answer: { kind: "approve" } });
        s = await w.go();
      }
      expect([s.last?.ending, runs]).toEqual(["out-of-money", rows.length === 0 ? 2 : 1]);
    }
  });

  test("B-6 a tool that is called like something every object has costs nothing unless it says so", async () => {
    const t = priced("constructor", 0, () => {});
    const { w } = setupFree([calls("constructor", "constructor"), reply.text("done")], { tools: [t], limits: { cents: 100 } });
    expect((await w.run("go")).last?.ending).toBe("completed");
    expect(w.events("budget.reserved")).toEqual([]);
  });

  test("B-6 what one call leaves over lets the next one start", async () => {
    const { w } = setupFree([calls("buy", "buy"), reply.text("ok", { usage: { input: 1, output: 1 } })], {
      tools: [priced("buy", 40, ({ spent }) => spent(10))],
      limits: { cents: 60 },
    });
    expect((await w.run("hi")).last).toMatchObject({ ending: "completed", calls: 2, micros: 200_000 });
    checkAfterEvery(w);
  });

  test("B-6 a call whose outcome is unknown keeps what was set aside for it until somebody says what became of it", async () => {
    const crashes = [{ of: "effect", when: "after", nth: 0 } as const];
    const { w } = setupFree([calls("buy"), reply.text("ok", { usage: { input: 1, output: 1 } }), reply.text("fine")], {
      tools: [priced("buy", 40, ({ spent }) => spent(1), { repeat: "once" })],
      limits: { cents: 100 },
      crashes,
    });
    const s = await w.run("hi");
    expect([s.last?.micros, s.used.micros, s.micros, s.reserved.size]).toEqual([400_000, 400_000, 0, 1]);
    await w.wish({ kind: "resolve", call: callId("1.0"), as: "did-not-happen", note: "" });
    const after = await w.go();
    expect(w.events("budget.settled").map((e) => e.amount.micros)).toEqual([0]);
    expect([after.micros, after.reserved.size]).toEqual([0, 0]);
  });

  test("B-6 a call that runs again after a crash may cost again: each start is set aside, and only the last one is settled at less", async () => {
    const { w } = setupFree([calls("buy"), reply.text("ok")], {
      tools: [priced("buy", 40, ({ spent }) => spent(5), { repeat: "idempotent" })],
      limits: { cents: 100 },
      crashes: [{ of: "effect", when: "after", nth: 0 }],
    });
    const s = await w.run("hi");
    expect(w.events("budget.reserved")).toHaveLength(2);
    expect(s.last).toMatchObject({ ending: "completed", micros: 450_000 });
    checkAfterEvery(w);
  });

  test("B-6 a lost call that there is no money to run again is given up, and told", async () => {
    const { w } = setupFree([calls("buy"), reply.text("ok")], {
      tools: [priced("buy", 40, () => {}, { repeat: "idempotent" })],
      limits: { cents: 60 },
      crashes: [{ of: "effect", when: "after", nth: 0 }],
    });
    await w.run("hi");
    expect(w.events("act.ended").map((e) => e.outcome.kind)).toEqual(["unknown"]);
    checkAfterEvery(w);
  });

  test("B-7 the gate is told what was spent in cents, rounded up, with what is set aside", async () => {
    const seen: unknown[] = [];
    const { w } = setupFree([calls("buy"), reply.text("ok", { usage: { input: 1, output: 0 } })], {
      tools: [priced("buy", 40, ({ spent }) => spent(2.5))],
      limits: { cents: 100 },
      spoil: (p) => ({
        ...p,
        gate: {
          ...p.gate,
          decide: (action, facts) => {
            if (action.kind === "model") seen.push(facts.cents);
            return p.gate.decide(action, facts);
          },
        },
      }),
    });
    await w.run("hi");
    expect(seen).toEqual([
      { turn: 0, session: 0 },
      { turn: 3, session: 3 },
    ]);
  });
});

function fails(say: (context: ToolContext) => void): (context: ToolContext) => void {
  return (context) => {
    say(context);
    throw new Error("no");
  };
}

// ── a turn by itself, folded from events ──

function state(limits: Partial<typeof DEFAULT_LIMITS> = {}, prices: typeof PRICES | null = PRICES): State {
  const agent = {
    name: "a",
    digest: sha256("a"),
    instructions: "",
    model: "m/m",
    policies: sha256("p"),
    tools: sha256("t"),
    overheadTokens: 10,
    tokenizer: "estimate",
    context: { kind: "window" } as const,
    prices,
    fallbacks: [],
    charges: {},
    knowledge: null,
  };
  const by = { kind: "user", id: "ann" } as const;
  const opened = {
    kind: "session.opened",
    agent,
    principal: by,
    surface: "library",
    labels: [],
    history: [],
    external: null,
    parent: null,
    origin: null,
  } as const;
  const session = sessionId("s_000000000001");
  const events: readonly JournalEvent[] = [
    opened,
    { kind: "hold.taken", epoch: epoch(1), writer: writerId("w1"), powerCut: "lose-nothing" },
    { kind: "turn.started", turn: 1, input: "go", files: [], by, limits: { ...DEFAULT_LIMITS, ...limits }, intent: null },
  ];
  const s = fold(events.map((event, i) => ({ stream: session, seq: seq(i + 1), at: millis(0), event })));
  if (s === null) throw new Error("no state");
  return s;
}
const turnOf = (s: State) => {
  if (s.turn === null) throw new Error("no turn");
  return s.turn;
};
const put = (s: State, event: JournalEvent) => evolve(s, { stream: s.session, seq: seq(s.seq + 1), at: s.at, event });

describe("shares", () => {
  test("B-2 delegates of one reply get equal shares of what is left, and the turn keeps enough for one more model call", () => {
    const s = state({ iterations: 21, tokens: 50_000, cents: 100, calls: 45, turnMs: 60_000 });
    const t = turnOf(s);
    const own = ownShare(s, t, 4);
    const share = allot(remaining(s, t, millis(0)), 4, {}, own);
    expect(share).toEqual({
      iterations: 5,
      tokens: Math.floor((50_000 - own.tokens) / 4),
      micros: Math.floor((1_000_000 - (own.micros ?? 0)) / 4),
      calls: 10,
      ms: 12_000,
    });
    expect(isWorthwhile(share)).toBe(true);
    for (let i = 1; i <= 4; i += 1) put(s, { kind: "budget.reserved", call: callId(`1.${i}`), amount: share });
    expect(roomForOutput(s, t).short, "one more model call").toBe(null);
    expect(remaining(s, t, millis(0))).toMatchObject({ iterations: 1, calls: 5, ms: 12_000 });
  });

  test("B-2 a wish is a bound, never more than the share", () => {
    const left: Reservation = { iterations: 10, tokens: 10_000, micros: 100, calls: 10, ms: 1_000 };
    expect(allot(left, 1, { iterations: 3, tokens: 99_999, micros: 7 })).toEqual({
      iterations: 3,
      tokens: 10_000,
      micros: 7,
      calls: 9,
      ms: 500,
    });
    expect(allot({ ...left, micros: null }, 2, {}).micros).toBe(null);
    expect(allot({ ...left, micros: null }, 2, { micros: 5 }).micros).toBe(5);
  });

  test("B-2 what is not worth starting is said so, and a delegate's limits are its own within its share", () => {
    expect(isWorthwhile({ ...NO_RESERVATION, iterations: 1, tokens: 64, ms: 1 })).toBe(false);
    const share: Reservation = { iterations: 2, tokens: 5_000, micros: 25_000, calls: 0, ms: 900 };
    expect(limitsWithin(DEFAULT_LIMITS, share)).toMatchObject({ iterations: 2, tokens: 5_000, cents: 2, calls: 0, turnMs: 900 });
    expect(limitsWithin({ ...DEFAULT_LIMITS, cents: 1 }, { ...share, micros: null }).cents).toBe(1);
  });

  test("B-2 what a delegate used counts as the turn's own, what it left over is free again", () => {
    const s = state({ tokens: 100_000, cents: 100 });
    const t = turnOf(s);
    put(s, {
      kind: "budget.reserved",
      call: callId("1.1"),
      amount: { iterations: 5, tokens: 20_000, micros: 500_000, calls: 5, ms: 1_000 },
    });
    put(s, { kind: "budget.settled", call: callId("1.1"), amount: { iterations: 2, tokens: 1_000, micros: 10_000, calls: 1, ms: 300 } });
    expect(remaining(s, t, millis(0))).toEqual({ iterations: 23, tokens: 99_000, micros: 990_000, calls: 199, ms: 299_700 });
    expect(sumUsed(s, t)).toEqual({ iterations: 2, tokens: 1_000, micros: 10_000, calls: 1, ms: 300 });
  });
});

describe("nothing is overshot", () => {
  /** Events of a turn: the model replies or is lost, several delegates start, one of them ends having used part of its budget, the process dies. */
  const happenings = fc.array(
    fc.oneof(
      fc.record({ kind: fc.constant("model" as const), part: fc.double({ min: 0, max: 1, noNaN: true }), lost: fc.boolean() }),
      fc.record({ kind: fc.constant("delegate" as const), askers: fc.integer({ min: 1, max: 20 }) }),
      fc.record({ kind: fc.constant("end" as const), which: fc.nat({ max: 40 }), part: fc.double({ min: 0, max: 1, noNaN: true }) }),
      fc.record({ kind: fc.constant("die" as const) }),
    ),
    { maxLength: 60 },
  );
  type Happening = typeof happenings extends fc.Arbitrary<(infer H)[]> ? H : never;
  const limits = fc.record({
    iterations: fc.integer({ min: 1, max: 60 }),
    tokens: fc.integer({ min: 200, max: 60_000 }),
    cents: fc.option(fc.integer({ min: 1, max: 200 })),
    calls: fc.integer({ min: 1, max: 60 }),
    turnMs: fc.integer({ min: 100, max: 60_000 }),
  });
  const ofPart = (a: Reservation, part: number): Reservation => ({
    iterations: Math.floor(a.iterations * part),
    tokens: Math.floor(a.tokens * part),
    micros: Math.floor((a.micros ?? 0) * part),
    calls: Math.floor(a.calls * part),
    ms: Math.floor(a.ms * part),
  });

  function live(s: State, happening: Happening, check: (s: State) => void, share: typeof allot): void {
    const t = turnOf(s);
    const tell = (event: JournalEvent) => check(put(s, event));
    switch (happening.kind) {
      case "model": {
        const room = roomForOutput(s, t);
        if (t.phase.kind === "asking" || room.short !== null || remaining(s, t, s.at).iterations === 0) return;
        const reserved = toUsage(room.input, room.output);
        const micros = Math.ceil(reserved.input * 3 + reserved.output * 15);
        const at = { iteration: t.iterations + 1, attempt: 1 };
        tell({
          kind: "model.asked",
          ...at,
          model: "m/m",
          purpose: "reply",
          request: sha256("r"),
          reserved,
          reservedMicros: micros,
          decisions: [],
        });
        if (happening.lost) {
          const cause = { model: "m/m", transient: false, status: null, retryAfterMs: null, dueAt: s.at };
          tell({ kind: "model.failed", ...at, purpose: "reply", error: "broke", broke: true, again: true, ...cause });
          return;
        }
        const usage = toUsage(Math.floor(reserved.input * happening.part), Math.floor(reserved.output * happening.part));
        const cost = Math.ceil(usage.input * 3 + usage.output * 15);
        tell({ kind: "model.replied", ...at, purpose: "reply", parts: [], finish: "calls", usage, micros: cost, model: "m/m", meta: null });
        return;
      }
      case "delegate": {
        for (let askers = happening.askers; askers > 0; askers -= 1) {
          const amount = share(remaining(s, t, s.at), askers, {}, ownShare(s, t, askers));
          if (!isWorthwhile(amount)) return;
          tell({ kind: "budget.reserved", call: callId(`9.${s.seq}`), amount });
        }
        return;
      }
      case "end": {
        const [call, held] = [...s.reserved][happening.which] ?? [];
        if (call === undefined || held === undefined) return;
        tell({ kind: "budget.settled", call, amount: ofPart(held.amount, happening.part) });
        return;
      }
      case "die":
        tell({ kind: "hold.taken", epoch: epoch(2), writer: writerId("w2"), powerCut: "lose-nothing" });
        return;
    }
  }

  const overshoots = (share: typeof allot) =>
    fc.property(limits, happenings, (given, all) => {
      const s = state(given);
      for (const one of all) live(s, one, (now) => expect(listOverdrawn(now)).toEqual([]), share);
    });

  test("B-1 random costs, lost processes and up to 20 delegates at once: settled + reserved ≤ limit after every event", () => {
    fc.assert(overshoots(allot), { numRuns: 500 });
  });

  test("B-1 a share that forgets the others is noticed, in every dimension", () => {
    expect(
      fc.check(
        overshoots((left) => left),
        { numRuns: 500 },
      ).failed,
      "each takes all",
    ).toBe(false); // what is set aside is gone for the next one
    for (const of of DIMENSIONS) {
      const greedy: typeof allot = (left, askers, wish, own) => ({ ...allot(left, askers, wish, own), [of]: (left[of] ?? 0) + 1_000_000 });
      expect(fc.check(overshoots(greedy), { numRuns: 500 }).failed, of).toBe(true);
    }
  });

  /** As a provider and tools would, and within what was set aside: a part of it, at random. */
  function spender(parts: readonly number[]): { readonly model: Model; readonly tools: readonly Tool[] } {
    let n = 0;
    const part = () => parts[n++ % parts.length] ?? 1;
    const ask = async (request: ModelRequest) => {
      const asked = request.messages.filter((m) => m.role === "assistant").length;
      const usage = {
        input: Math.floor(request.messages.reduce((sum, m) => sum + m.tokens, 10) * 1.2 * part()),
        output: Math.floor(request.maxOutputTokens * part() * 0.5),
      };
      if (part() > 0.95) throw new FaultError({ kind: "model-failed", detail: "broke", again: true, broke: true });
      const calls = Array.from({ length: Math.floor(part() * 20) }, (_, i) => {
        const tool = ["buy", "rent", "peek"][i % 3] ?? "peek";
        return { kind: "call", id: `${asked}.${i}`, tool, text: "{}", meta: null } as const;
      });
      const parts = asked >= 6 || calls.length === 0 ? [{ kind: "text", text: "done", meta: null } as const] : calls;
      return { parts, finish: "stop", usage, model: "s/s", meta: null } as const;
    };
    const bill = ({ spent }: ToolContext) => {
      if (part() > 0.3) spent(part() * 12);
      if (part() > 0.8) throw new Error("no");
    };
    return {
      model: { id: "s/s", ask },
      tools: [priced("buy", 10, bill), priced("rent", 5, bill, { repeat: "idempotent" }), priced("peek", 0, bill, { repeat: "read" })],
    };
  }

  test("B-1 a real loop with random costs, crashes around anything and 20 tools at once: settled + reserved ≤ limit after every event", async () => {
    const endings = new Set<string>();
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 3, maxLength: 40 }),
        fc.array(arb.crashPoints(8), { maxLength: 3 }),
        fc.record({
          cents: fc.integer({ min: 1, max: 300 }),
          tokens: fc.integer({ min: 300, max: 100_000 }),
          calls: fc.integer({ min: 1, max: 60 }),
          iterations: fc.integer({ min: 1, max: 8 }),
        }),
        async (parts, crashes, given) => {
          const w = world({
            hash: sha256,
            ...spender(parts),
            prices: PRICES,
            crashes,
            limits: { ...given, contextTokens: 3_000, toolsAtOnce: 20 },
          });
          await w.run("go");
          for (let i = 0; i < 30 && w.state().turn !== null; i += 1) {
            for (const q of w.state().turn?.questions.values() ?? [])
              if (q.answer === null) await w.wish({ kind: "answer", approval: q.approval, digest: q.digest, answer: { kind: "approve" } });
            await w.go();
          }
          checkAfterEvery(w);
          const ended = w.state().last;
          endings.add(ended?.ending ?? "none");
          expect(ended?.micros).toBeLessThanOrEqual(given.cents * 10_000);
          const open = w.events("act.ended").filter((e) => e.outcome.kind === "unknown").length;
          const unsettled = [...w.state().reserved.keys()];
          expect(unsettled.length, "only what nobody knows of stays set aside").toBeLessThanOrEqual(open);
        },
      ),
      { numRuns: Number(process.env["ORGATE_BUDGET_RUNS"] ?? 150) },
    );
    expect(endings.size, "more than one way to end").toBeGreaterThanOrEqual(3);
  });
});
