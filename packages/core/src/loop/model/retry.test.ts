/** A model that fails: asked again in time, within the turn's limits, and then another one; nothing twice, nothing past the gate. */
import { setImmediate } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { defineMiddleware } from "../../agents/define-middleware.ts";
import {
  arbitraries,
  broken,
  type CrashPoint,
  failure,
  PERMIT_ALL,
  refused,
  reply,
  type ScriptedModel,
  type Step,
  scriptedModel,
  type World,
  type WorldOptions,
  world,
} from "../../testing/index.ts";
import { DEFAULT_MODEL_RETRY, FaultError, type Json } from "../../vocab/index.ts";
import { call, sha256, toolOf } from "../fixtures/stage.ts";
import type { Ports } from "../ports.ts";
import { toResult } from "../session/result.ts";

type Setting = Partial<Omit<WorldOptions, "model" | "hash">>;
type Staged = Readonly<{ w: World; model: ScriptedModel; others: readonly ScriptedModel[] }>;

/** The agent's own model, and those that are asked in its place. */
function stage(steps: readonly Step[], others: readonly (readonly Step[])[] = [], setting: Setting = {}): Staged {
  const model = scriptedModel(steps, { id: "own/model" });
  const rest = others.map((script, i) => scriptedModel(script, { id: `other/${i + 1}` }));
  const fallbacks = setting.fallbacks ?? rest.map((one) => ({ model: one }));
  return { w: world({ hash: sha256, model, ...setting, fallbacks }), model, others: rest };
}

/** Time goes on, `step` at a time, whenever everything waits for it. */
async function pacing<T>(w: World, running: Promise<T>, step = 250): Promise<T> {
  let over = false;
  const result = running.finally(() => {
    over = true;
  });
  result.catch(() => {});
  for (let turns = 0; !over && turns < 20_000; turns += 1) {
    await setImmediate();
    if (turns % 20 === 19 && !over && w.clock.sleepers() > 0) w.clock.advance(step);
  }
  return result;
}
const through = (w: World) => pacing(w, w.run("go"));
async function waiting(w: World): Promise<void> {
  do await setImmediate();
  while (w.events("model.failed").length === 0 || w.state().turn?.modelDue == null);
}

/** When each request was announced, and how long after the failure before it. */
function waits(w: World): readonly number[] {
  const all = w.entries();
  return all.flatMap(({ event, at }, i) => {
    const before = all.slice(0, i).findLast((e) => e.event.kind === "model.failed");
    return event.kind === "model.asked" && event.attempt > 1 && before !== undefined ? [at - before.at] : [];
  });
}
const asked = (w: World) => w.events("model.asked").map((e) => `${e.model} ${e.attempt}`);
const decidedFor = (w: World) =>
  w.events("gate.decided").flatMap((e) => (e.action.kind === "model" ? [`${e.action.model} ${e.verdict.kind}`] : []));

describe("M-6 M-7 the same model again", () => {
  test("M-6 a failure says what the provider answered, of which model, and when it is asked again", async () => {
    const { w, model } = stage([refused(429, { retryAfterMs: 3_000 }), reply.text("hi")]);
    const s = await through(w);
    model.done();
    expect(s.last).toMatchObject({ ending: "completed", output: "hi" });
    const [failed] = w.events("model.failed");
    expect(failed).toMatchObject({ model: "own/model", transient: true, status: 429, retryAfterMs: 3_000, broke: false, again: true });
    const at = w.entries().find((e) => e.event.kind === "model.failed")?.at ?? 0;
    expect(failed?.dueAt).toBeGreaterThanOrEqual(at + 3_000);
  });

  test("M-7 never sooner than the provider asks for", async () => {
    const { w } = stage([refused(429, { retryAfterMs: 7_000 }), reply.text("hi")]);
    await through(w);
    expect(waits(w)[0]).toBeGreaterThanOrEqual(7_000);
    expect(waits(w)[0]).toBeLessThanOrEqual(7_000 + 250 + 250);
  });

  test("M-7 without its word the wait doubles, and is spread over its upper half", async () => {
    const { w, model } = stage([refused(503), refused(529), refused(500), refused(429), reply.text("hi")]);
    const s = await through(w);
    model.done();
    expect(s.last?.ending).toBe("completed");
    const due = w.entries().flatMap(({ event, at }) => (event.kind === "model.failed" ? [(event.dueAt ?? 0) - at] : []));
    expect(due).toHaveLength(4);
    for (const [i, wait] of due.entries()) {
      expect(wait).toBeGreaterThanOrEqual(500 * 2 ** i);
      expect(wait).toBeLessThanOrEqual(1_000 * 2 ** i);
    }
    expect(new Set(due.map((wait, i) => wait / 2 ** i)).size).toBeGreaterThan(1);
  });

  test("M-7 refused for the moment is asked again four times, costs nothing, and is not counted as lost", async () => {
    const steps = Array.from({ length: 5 }, () => refused(503));
    const { w, model } = stage(steps, [], { spoil: (p) => ({ ...p, modelBreaker: { ...p.modelBreaker, failures: 100 } }) });
    const s = await through(w);
    model.done();
    expect(s.last).toMatchObject({ ending: "failed", detail: "the provider answered 503", lost: { input: 0, output: 0 } });
    expect(w.events("model.failed").map((e) => e.dueAt === null)).toEqual([false, false, false, false, true]);
  });

  test("S-21 as the shell has it: one more try, 1.5 to 3 seconds later, from where it was; nothing that was done is done again", async () => {
    const once: NonNullable<Setting["spoil"]> = (p) => ({ ...p, modelRetry: { times: 1, backoffMs: 3_000, maxBackoffMs: 3_000 } });
    const done: string[] = [];
    const tool = toolOf("write", () => String(done.push("written")));
    const { w, model } = stage([reply.calls([call("write")]), refused(503), reply.text("it is written")], [], {
      tools: [tool],
      spoil: once,
    });
    expect((await through(w)).last).toMatchObject({ ending: "completed", output: "it is written" });
    model.done();
    expect(done).toEqual(["written"]);
    expect(asked(w)).toEqual(["own/model 1", "own/model 1", "own/model 2"]);
    const due = w.entries().flatMap(({ event, at }) => (event.kind === "model.failed" ? [(event.dueAt ?? 0) - at] : []));
    expect(due[0]).toBeGreaterThanOrEqual(1_500);
    expect(due[0]).toBeLessThanOrEqual(3_000);
    const twice = stage([refused(429), refused(429)], [], { spoil: once });
    expect((await through(twice.w)).last).toMatchObject({ ending: "failed" });
    twice.model.done();
    // what does not pass by itself is not tried again: a bad request, a denial, an answer
    const bad = stage([failure("a bad request", { again: false })], [], { spoil: once });
    expect((await through(bad.w)).last).toMatchObject({ ending: "failed" });
    bad.model.done();
  });

  test("M-7 what broke off is asked again twice, with a wait where it passes by itself, and counts as used", async () => {
    const cut = () => broken("half", { cause: { transient: true } });
    const { w, model } = stage([cut(), cut(), cut()]);
    const s = await through(w);
    model.done();
    expect(s.last).toMatchObject({ ending: "failed", detail: "the stream broke" });
    expect(s.last?.lost.output).toBeGreaterThan(0);
    expect(waits(w).every((ms) => ms >= 500)).toBe(true);
    const mixed = stage([refused(429), cut(), refused(429), cut(), reply.text("hi")]);
    expect((await through(mixed.w)).last?.ending).toBe("completed");
    mixed.model.done();
  });

  test("M-7 what is refused for good is not asked again", async () => {
    const { w, model } = stage([refused(400, { transient: false })]);
    const s = await through(w);
    model.done();
    expect(s.last).toMatchObject({ ending: "failed", detail: "the provider answered 400" });
  });

  test("M-7 a wait that does not fit into the turn's time is not begun", async () => {
    const { w, model } = stage([refused(429, { retryAfterMs: 60_000 })], [], { limits: { turnMs: 30_000 } });
    const s = await w.run("go"); // without time going on
    model.done();
    expect(s.last).toMatchObject({ ending: "failed", detail: "the provider answered 429" });
    expect(w.events("model.failed")[0]?.dueAt).toBeNull();
  });

  test("M-7 cancel, halt and the end of the turn's time reach a turn that waits", async () => {
    const wait = () => refused(429, { retryAfterMs: 50_000 });
    const cancelled = stage([wait()]);
    const stop = new AbortController();
    const running = cancelled.w.run("go", stop.signal);
    await waiting(cancelled.w);
    stop.abort("enough");
    expect((await running).last).toMatchObject({ ending: "cancelled", detail: "enough" });

    const halted = stage([wait()]);
    const on = halted.w.run("go");
    await waiting(halted.w);
    await halted.w.order({ kind: "work.halted", scope: "all", by: { kind: "user", id: "ann" }, reason: "stop" });
    await halted.w.wish({ kind: "steer", text: "look up" }); // whoever drives hears of orders when something arrives
    expect((await on).last).toMatchObject({ ending: "halted" });

    const late = stage([wait()], [], { limits: { turnMs: 60_000 } });
    const timed = late.w.run("go");
    await waiting(late.w);
    late.w.clock.advance(60_000);
    expect((await timed).last?.ending).toBe("timed-out");
  });

  test("M-7 once its time has come nobody waits for it: not while middleware takes its time, nor while a person is asked", async () => {
    const slow = defineMiddleware({ name: "slow", beforeModel: () => setImmediate(undefined) });
    const { w, model } = stage([refused(429), reply.text("hi")], [], { middleware: [slow] });
    expect((await through(w)).last?.ending).toBe("completed");
    model.done();

    const rows = [{ id: "ask", action: "model", verdict: "ask" } as const, ...PERMIT_ALL];
    const asking = stage([refused(429), reply.text("hi")], [], { rows });
    const yes = async () => {
      const open = [...(asking.w.state().turn?.questions.values() ?? [])].filter((q) => q.answer === null);
      for (const { approval, digest } of open) await asking.w.wish({ kind: "answer", approval, digest, answer: { kind: "approve" } });
      return open.length;
    };
    await through(asking.w);
    expect(await yes()).toBe(1);
    await pacing(asking.w, asking.w.go()); // refused, waited, and then asked about again: it is parked
    expect(asking.w.state().turn?.modelDue).not.toBeNull();
    expect(await yes()).toBe(1);
    expect((await asking.w.go()).last).toMatchObject({ ending: "completed", output: "hi" });
    asking.model.done();
  });

  test("M-7 a process that ends while it waits: the next one goes on from the time that is on record", async () => {
    const { w, model } = stage([refused(429, { retryAfterMs: 20_000 }), reply.text("hi")]);
    const first = w.run("go").catch(() => {});
    await waiting(w);
    const due = w.events("model.failed")[0]?.dueAt ?? 0;
    w.clock.advance(15_000);
    w.disk.holds.clear(); // its process is gone, and nobody told it
    const s = await pacing(w, w.go());
    await pacing(w, first);
    model.done();
    expect(s.last).toMatchObject({ ending: "completed", output: "hi" });
    const again = w.entries().find((e) => e.event.kind === "model.asked" && e.event.attempt === 2);
    expect(again?.at).toBeGreaterThanOrEqual(due);
    expect(again?.at).toBeLessThan(due + 1_000);
  });
});

describe("M-7 a rest that is longer than a driver waits out", () => {
  const rests = { maxRestMs: 10_000 };
  const later = (w: World, ms: number): void => w.clock.advance(ms);
  const isHeld = (w: World): boolean => [...w.disk.holds.values()].some(({ owner }) => owner !== null);
  const dueOf = (w: World) => w.events("model.failed").at(-1)?.dueAt ?? 0;

  test("M-7 the driver leaves, one that comes too early writes and asks nothing, and the next goes on when it is due", async () => {
    const { w, model } = stage([refused(429, { retryAfterMs: 60_000 }), reply.text("hi")], [], rests);
    const s = await w.run("go"); // without time going on
    expect([s.turn?.modelDue, isHeld(w), w.clock.sleepers()]).toEqual([dueOf(w), false, 0]);
    expect(toResult(s)).toMatchObject({ state: "waiting", sentence: "The turn rests until what failed may be tried again." });
    later(w, 30_000);
    const before = w.entries().length;
    await w.go();
    const news = w.entries().slice(before);
    expect(news.map(({ event }) => event.kind)).toEqual(["hold.taken"]);
    later(w, dueOf(w) - w.clock.now());
    expect((await w.go()).last).toMatchObject({ ending: "completed", output: "hi" });
    model.done();
    expect(asked(w)).toEqual(["own/model 1", "own/model 2"]);
    expect(w.entries().find(({ event }) => event.kind === "model.asked" && event.attempt === 2)?.at).toBeGreaterThanOrEqual(dueOf(w));
  });

  test("M-7 a shorter one is waited out, and so is what is left of a long one", async () => {
    const short = stage([refused(429, { retryAfterMs: 5_000 }), reply.text("hi")], [], rests);
    expect((await through(short.w)).last?.output).toBe("hi");
    expect(short.w.events("hold.taken")).toHaveLength(1);
    const long = stage([refused(429, { retryAfterMs: 60_000 }), reply.text("hi")], [], rests);
    expect((await long.w.run("go")).turn).not.toBeNull();
    later(long.w, 55_000);
    expect((await pacing(long.w, long.w.go())).last?.output).toBe("hi");
    expect(long.w.events("hold.taken")).toHaveLength(2);
  });

  test("M-7 nobody works while it rests: it is not the turn's time, which only says whether a wait is begun", async () => {
    const wait = () => refused(429, { retryAfterMs: 20_000 });
    const { w, model } = stage([wait(), wait(), wait(), reply.text("hi")], [], { ...rests, limits: { turnMs: 30_000 } });
    await w.run("go");
    for (let i = 0; i < 3; i += 1) {
      later(w, dueOf(w) - w.clock.now());
      await w.go();
    }
    model.done();
    expect(w.state().last).toMatchObject({ ending: "completed", output: "hi" });
    expect(w.events("turn.ended")[0]?.activeMs).toBeLessThan(1_000);
    const never = stage([refused(429, { retryAfterMs: 31_000 })], [], { ...rests, limits: { turnMs: 30_000 } });
    expect((await never.w.run("go")).last).toMatchObject({ ending: "failed", detail: "the provider answered 429" });
  });

  test("M-7 M-8 attempts that were rested are counted: when none is left the next model is asked", async () => {
    const steps = Array.from({ length: 5 }, () => refused(429, { retryAfterMs: 20_000 }));
    const { w, model, others } = stage(steps, [[reply.text("hi")]], rests);
    await w.run("go");
    for (let i = 0; i < 4; i += 1) {
      expect(w.state().turn?.tries).toEqual({ lost: 0, refused: i + 1 });
      later(w, dueOf(w) - w.clock.now());
      await w.go();
    }
    model.done();
    others[0]?.done();
    expect(w.state().last).toMatchObject({ ending: "completed", output: "hi" });
  });

  test("M-7 what a person says, a cancel and a halt reach a turn that rests", async () => {
    const resting = async (then: readonly Step[] = []) => {
      const { w, model } = stage([refused(429, { retryAfterMs: 60_000 }), ...then], [], rests);
      await w.run("go");
      return { w, model };
    };
    const steered = await resting([reply.text("hi")]);
    await steered.w.wish({ kind: "steer", text: "and the weather" });
    expect((await steered.w.go()).turn?.modelDue).toBe(dueOf(steered.w)); // taken in, and still nothing is asked
    expect(steered.w.events("input.steered")).toHaveLength(1);
    later(steered.w, 65_000);
    expect((await steered.w.go()).last?.output).toBe("hi");
    steered.model.done();
    expect(JSON.stringify(steered.model.asked.at(-1)?.messages)).toContain("and the weather");

    const cancelled = await resting();
    await cancelled.w.wish({ kind: "cancel", reason: "enough" });
    expect((await cancelled.w.go()).last).toMatchObject({ ending: "cancelled", detail: "enough" });
    const stopped = await resting();
    expect((await stopped.w.go(AbortSignal.abort("closing"))).last).toMatchObject({ ending: "cancelled" });

    const halted = await resting();
    await halted.w.order({ kind: "work.halted", scope: "all", by: { kind: "user", id: "ann" }, reason: "stop" });
    expect((await halted.w.go()).last).toMatchObject({ ending: "halted", detail: "stop" });
    for (const { model } of [cancelled, stopped, halted]) model.done();
  });
});

describe("M-8 another model", () => {
  const down = (n = 5) => Array.from({ length: n }, () => refused(529));

  test("M-8 when the retries are used up the next one is asked, decided for itself, and the turn stays with it", async () => {
    const { w, model, others } = stage(down(), [[reply.calls([call("look")]), reply.text("hi")]], {
      tools: [toolOf("look", () => "seen")],
    });
    const s = await through(w);
    model.done();
    others[0]?.done();
    expect(s.last).toMatchObject({ ending: "completed", output: "hi" });
    expect(asked(w).slice(-2)).toEqual(["other/1 6", "other/1 1"]);
    expect(decidedFor(w).slice(-2)).toEqual(["other/1 allow", "other/1 allow"]);
    expect(w.events("model.replied").map((e) => e.model)).toEqual(["other/1", "other/1"]);
  });

  test.each([401, 403, 404, 413, 415, 429])(
    "M-8 a %i that does not pass is one provider's own: another is asked at once",
    async (status) => {
      const { w, others } = stage([refused(status, { transient: false })], [[reply.text("hi")]]);
      expect((await w.run("go")).last).toMatchObject({ ending: "completed", output: "hi" });
      others[0]?.done();
    },
  );

  test("M-8 nobody was reached, for good: a host that is not there is one provider's own", async () => {
    const { w, others } = stage([failure("there is no such host (ENOTFOUND)", { again: false })], [[reply.text("hi")]]);
    expect((await w.run("go")).last).toMatchObject({ ending: "completed", output: "hi" });
    others[0]?.done();
  });

  test("M-8 a bad request is bad everywhere", async () => {
    const { w, others } = stage([refused(400, { transient: false })], [[]]);
    expect((await w.run("go")).last).toMatchObject({ ending: "failed", detail: "the provider answered 400" });
    expect(others[0]?.asked).toEqual([]);
  });

  test("M-8 a wait that does not fit falls back at once", async () => {
    const { w } = stage([refused(429, { retryAfterMs: 9_000_000 })], [[reply.text("hi")]]);
    expect((await w.run("go")).last?.ending).toBe("completed");
    expect(asked(w)).toEqual(["own/model 1", "other/1 2"]);
  });

  test("M-8 in order, to the last; what it says when none is left", async () => {
    const broke = stage([refused(404, { transient: false })], [[refused(401, { transient: false })], [refused(401, { transient: false })]]);
    expect((await through(broke.w)).last).toMatchObject({ ending: "failed", detail: "the provider answered 401" });
    expect(asked(broke.w)).toEqual(["own/model 1", "other/1 2", "other/2 3"]);
  });

  test("M-8 an open breaker passes over its model, and each model has its own", async () => {
    const { w, model, others } = stage([...down(), refused(529)], [[reply.text("first"), reply.text("second")]], {});
    expect((await through(w)).last?.output).toBe("first"); // five failures have opened it
    expect((await pacing(w, w.say("again"))).last?.output).toBe("second");
    expect(decidedFor(w).slice(-2)).toEqual(["own/model deny", "other/1 allow"]);
    expect(model.asked).toHaveLength(5);
    others[0]?.done();
  });

  test("M-8 a fallback that the gate denies is passed over; that the agent's own is denied ends the turn", async () => {
    const no =
      (id: string) =>
      (p: Ports): Ports => ({
        ...p,
        gate: {
          ...p.gate,
          decide: (action, facts) => {
            const decision = p.gate.decide(action, facts);
            const isDenied = action.kind === "model" && action.model === id;
            return isDenied ? { ...decision, verdict: { kind: "deny", by: "policy", because: [], faults: [], reason: "no" } } : decision;
          },
        },
      });
    const { w } = stage([refused(404, { transient: false })], [[], [reply.text("hi")]], { spoil: no("other/1") });
    expect((await w.run("go")).last).toMatchObject({ ending: "completed", output: "hi" });
    expect(decidedFor(w)).toEqual(["own/model allow", "other/1 deny", "other/2 allow"]);
    const own = stage([], [[]], { spoil: no("own/model") });
    expect((await own.w.run("go")).last?.ending).toBe("denied");
    const last = stage([refused(404, { transient: false })], [[]], { spoil: no("other/1") });
    expect((await last.w.run("go")).last).toMatchObject({ ending: "failed", detail: expect.stringContaining("other/1 may not be asked") });
  });

  test("M-8 each is reserved and paid at its own price; one without a price makes the cost unknown", async () => {
    const usage = { input: 100, output: 10 };
    const at = async (prices?: { input: number; output: number }) => {
      const other = scriptedModel([reply.text("hi", { usage })], { id: "other/1" });
      const fallbacks = [{ model: other, ...(prices === undefined ? {} : { prices }) }];
      const { w } = stage([refused(404, { transient: false })], [], { prices: { input: 1, output: 1 }, fallbacks });
      const s = await w.run("go");
      return { cost: toResult(s).cost, reserved: w.events("model.asked").map((e) => e.reservedMicros) };
    };
    const dear = await at({ input: 10, output: 20 });
    expect(dear.cost).toBe((100 * 10 + 10 * 20) / 1_000_000);
    expect(dear.reserved[1]).toBeGreaterThan(5 * (dear.reserved[0] ?? 0));
    expect(await at()).toMatchObject({ cost: null, reserved: [expect.any(Number), null] });
  });
});

test("M-12 what was cached and what was thought is told apart, added up, and never more than the whole", async () => {
  const { w } = stage(
    [
      reply.calls([call("look")], { usage: { input: 100, output: 20, cached: 80, reasoning: 5 } }),
      reply.text("hi", { usage: { input: 10, output: 5, cached: 70, reasoning: 70 } }),
    ],
    [],
    { tools: [toolOf("look", () => "seen")] },
  );
  const s = await w.run("go");
  expect(toResult(s).usage).toEqual({ input: 110, output: 25, cached: 90, reasoning: 10, total: 135, lost: 0 });
  expect(w.events("turn.ended")[0]?.usage).toEqual({ input: 110, output: 25, cached: 90, reasoning: 10 });
});

test.each(["refused", "filtered"] as const)(
  "M-13 a reply that was %s is an ending of its own, and what it asked for is not done",
  async (finish) => {
    const ran: Json[] = [];
    const { w } = stage([reply.calls([call("look")], { finish, text: "I" })], [[]], { tools: [toolOf("look", ({ x }) => ran.push(x))] });
    expect((await w.run("go")).last).toMatchObject({ ending: finish, output: "I" });
    expect(ran).toEqual([]);
  },
);

/** Models that fail in every way, processes that die anywhere, waits included: every turn ends once, no reply is asked for again, no effect is doubled. */
describe("M-7 whatever crashes", () => {
  const arb = arbitraries(fc);
  type Way = "well" | "refused" | "cut" | "gone" | "bad";
  const ways = fc.array(fc.constantFrom<Way>("well", "refused", "cut", "gone", "bad"), { minLength: 1, maxLength: 10 });
  const crashes: fc.Arbitrary<readonly CrashPoint[]> = fc.array(arb.crashPoints(12), { maxLength: 4 });
  const rest = fc.constantFrom(0, 1_500, 1e9); // left at every wait, at some, at none

  function failOr(way: Way): void {
    const fault = (status: number, transient: boolean, broke: boolean) =>
      new FaultError({ kind: "model-failed", detail: `${way} ${status}`, again: transient, broke, status, transient });
    if (way === "refused") throw fault(429, true, false);
    if (way === "cut") throw fault(200, true, true);
    if (way === "gone") throw fault(404, false, false);
    if (way === "bad") throw fault(400, false, false);
  }

  test("M-7 a wait is kept, an attempt is counted, an effect is not doubled", async () => {
    await fc.assert(
      fc.asyncProperty(ways, crashes, fc.integer({ min: 0, max: 2 }), rest, async (all, dying, spare, maxRestMs) => {
        const paid: string[] = [];
        const early: string[] = []; // what a model throws is a failure like any other: kept until the end
        const tools = [toolOf("pay", ({ x }) => paid.push(x), { repeat: "once" })];
        let n = 0;
        const make = (id: string) => ({
          id,
          ask: async ({ messages }: { messages: readonly { role: string }[] }) => {
            const at = w.entries().at(-1)?.at ?? 0;
            const due = w.events("model.failed").at(-1);
            if (due?.dueAt != null && at < due.dueAt) early.push(`${id} at ${at}, due ${due.dueAt}`);
            failOr(all[n++ % all.length] ?? "well");
            const isFirst = messages.every((m) => m.role !== "assistant");
            const parts = isFirst
              ? [{ kind: "call" as const, id: "c1", tool: "pay", text: '{"x":"5"}', meta: null }]
              : [{ kind: "text" as const, text: "done", meta: null }];
            return {
              parts,
              finish: isFirst ? ("calls" as const) : ("stop" as const),
              usage: { input: 5, output: 5 },
              model: id,
              meta: null,
            };
          },
        });
        const fallbacks = Array.from({ length: spare }, (_, i) => ({ model: make(`other/${i + 1}`) }));
        const w: World = world({ hash: sha256, model: make("own/model"), tools, rows: PERMIT_ALL, crashes: dying, fallbacks, maxRestMs });
        await pacing(w, w.run("go"), 2_000);
        for (let i = 0; i < 100 && w.state().turn !== null; i += 1) {
          w.clock.advance(i % 2 === 0 ? 500 : 8_000); // often too early
          await pacing(w, w.go(), 2_000);
        }
        expect(early, "M-7 not before its time").toEqual([]);
        expect(w.events("turn.ended"), "L-4 it ends once").toHaveLength(1);
        expect(paid.length, "no doubled effect").toBeLessThanOrEqual(1);
        expect(new Set(w.events("model.replied").map((e) => e.iteration)).size, "M-4 no reply twice").toBe(
          w.events("model.replied").length,
        );
        checkTries(w);
      }),
      { numRuns: Number(process.env["ORGATE_CRASH_RUNS"] ?? 150) },
    );
  }, 120_000);

  /** For each reply and model: no more tries than are allowed, each announced after its own yes. */
  function checkTries(w: World): void {
    const tries = new Map<string, { lost: number; refused: number }>();
    let flying: string | null = null;
    for (const { event: e } of w.entries()) {
      if (e.kind === "model.asked") {
        flying = `${e.iteration} ${e.model}`;
        const before = tries.get(flying) ?? { lost: 0, refused: 0 };
        expect(before.lost, "rule 5").toBeLessThan(3);
        expect(before.refused, "M-7").toBeLessThanOrEqual(DEFAULT_MODEL_RETRY.times);
      } else if (e.kind === "model.replied") flying = null;
      else if ((e.kind === "model.failed" || e.kind === "hold.taken") && flying !== null) {
        const before = tries.get(flying) ?? { lost: 0, refused: 0 };
        const isRefused = e.kind === "model.failed" && e.transient && !e.broke;
        tries.set(flying, isRefused ? { ...before, refused: before.refused + 1 } : { ...before, lost: before.lost + 1 });
        flying = null;
      }
    }
  }
});
