/** Recovery after a failed call: every strategy, in order, and none of them past the gate or twice. */
import { setImmediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { type Row, tableGate } from "../../gate/table.ts";
import { reply, type Step, type World } from "../../testing/index.ts";
import {
  type EventKind,
  type RecoveryDefinition,
  type Repeat,
  type Strategy,
  type Tool,
  type ToolContext,
  UNTRUSTED,
} from "../../vocab/index.ts";
import { ANN, APPROVE, call, open, REST, refusals, results, say, sha256, stage, toolOf } from "../fixtures/stage.ts";
import type { Ports } from "../ports.ts";
import { backoff } from "./backoff.ts";

const RETRY = { kind: "retry", times: 2, backoffMs: 100, maxBackoffMs: 1_000 } as const;

type Log = { tool: string; x: string; key: string; start: number }[];

/** Fails the first `fails` times. */
function failing(
  log: Log,
  name: string,
  fails: number,
  repeat: Repeat,
  recover: RecoveryDefinition | undefined,
  more: Record<string, unknown> = {},
): Tool {
  let runs = 0;
  const run = ({ x }: { x: string }, { key, start }: ToolContext) => {
    log.push({ tool: name, x, key, start });
    runs += 1;
    if (runs <= fails) throw new Error(`no luck ${runs}`);
    return `${name} ${x}`;
  };
  return toolOf(name, run, { repeat, ...(recover === undefined ? {} : { recover }), ...more });
}

const once = (tool: string, ...more: readonly Step[]): readonly Step[] => [reply.calls([call(tool)]), ...more, reply.text("done")];

/** Time goes on whenever everything waits for it. */
async function through(w: World, input = "go"): ReturnType<World["run"]> {
  return pacing(w, w.run(input));
}
async function pacing<T>(w: World, running: Promise<T>): Promise<T> {
  let over = false;
  const result = running.finally(() => {
    over = true;
  });
  result.catch(() => {});
  for (let turns = 0; !over && turns < 10_000; turns += 1) {
    await setImmediate();
    if (turns % 20 === 19 && !over && w.clock.sleepers() > 0) w.clock.advance(50);
  }
  return result;
}
async function hasHappened(w: World, kind: EventKind): Promise<void> {
  do await setImmediate();
  while (w.events(kind).length === 0);
}
const applied = (w: World) => w.events("recovery.applied").map((e) => e.strategy);
const details = (w: World) => w.events("recovery.applied").map((e) => e.detail);

function table(
  recover: RecoveryDefinition | undefined,
  {
    repeat = "idempotent",
    fails = 99,
    rows = REST,
    steps = once("t"),
    others = [],
  }: {
    repeat?: Repeat;
    fails?: number;
    rows?: readonly Row[];
    steps?: readonly Step[];
    others?: readonly ((log: Log) => Tool)[];
  } = {},
) {
  const log: Log = [];
  const tool = failing(
    log,
    "t",
    fails,
    repeat,
    recover,
    repeat === "reconcile" ? { reconcile: async () => ({ kind: "did-not-happen" }) } : {},
  );
  return { ...stage(steps, rows, { tools: [tool, ...others.map((make) => make(log))] }), log };
}

describe("choosing", () => {
  test("F-1 unsaid, the error goes to the model, and the journal says so before the model is asked again", async () => {
    const { w, model } = table(undefined);
    const s = await w.run("go");
    expect(s.last).toMatchObject({ ending: "completed", output: "done" });
    expect(results(w)).toEqual(["[failed] t: no luck 1"]);
    expect(w.events("recovery.applied")).toMatchObject([{ strategy: "ask-model", plan: [{ kind: "ask-model" }], step: 0, tries: 1 }]);
    const kinds = w.entries().map((e) => e.event.kind);
    expect(kinds.indexOf("recovery.applied")).toBeLessThan(kinds.lastIndexOf("model.asked"));
    model.done();
  });

  test("F-2 strategies are tried in order, and when none is left the turn stops and says why", async () => {
    const { w, log } = table([RETRY, { kind: "cached", maxAgeMs: 1_000 }, { kind: "fallback", tool: "gone" }], {
      steps: [reply.calls([call("t")])],
    });
    const s = await through(w);
    expect(applied(w)).toEqual(["retry", "retry", "stop"]);
    expect(w.events("recovery.applied").map((e) => [e.step, e.tries])).toEqual([
      [0, 1],
      [0, 2],
      [3, 1],
    ]);
    expect(details(w).at(-1)).toBe(
      "cached: the very same call has no result in this session; fallback: there is no tool `gone`; nothing is left to try",
    );
    expect(s.last).toMatchObject({ ending: "failed", detail: "tool execution failed: t: no luck 3", output: null });
    expect(log).toHaveLength(3);
  });

  test("F-3 a `once` call is never run again by a strategy, whatever the list says", async () => {
    for (const recover of [RETRY, [RETRY, RETRY], "retry"] satisfies RecoveryDefinition[]) {
      const { w, log } = table(recover, { repeat: "once", steps: [reply.calls([call("t")])] });
      const s = await through(w);
      expect([log.length, s.last?.ending, applied(w)]).toEqual([1, "failed", ["stop"]]);
      expect(details(w)[0]).toContain("a `once` call is never run again");
    }
  });

  test("F-3 a call that started as `once` is not run again because its tool was edited meanwhile", async () => {
    const log: Log = [];
    let strict = true;
    const spoil = (p: Ports): Ports => ({
      ...p,
      tools: {
        ...p.tools,
        find: (name) => {
          const tool = p.tools.find(name);
          if (tool === null) return null;
          return { ...tool, repeat: strict ? "once" : "idempotent" };
        },
      },
    });
    const tool = failing(log, "t", 99, "idempotent", RETRY);
    const { w } = stage([reply.calls([call("t")])], REST, {
      tools: [
        {
          ...tool,
          run: (args, context) => {
            strict = false;
            return tool.run(args, context);
          },
        },
      ],
      spoil,
    });
    await through(w);
    expect([log.length, applied(w)]).toEqual([1, ["stop"]]);
  });

  test("F-3 a `reconcile` tool is asked first, and runs again only when it says that it did not happen", async () => {
    const cases = [
      { found: { kind: "did-not-happen" }, runs: 2, said: "t 1", strategies: ["retry", "reconcile"] },
      { found: { kind: "happened", output: "it was there" }, runs: 1, said: "it was there", strategies: ["retry", "reconcile"] },
      {
        found: { kind: "cannot-tell", detail: "no idea" },
        runs: 1,
        said: "[failed] t: no luck 1",
        strategies: ["retry", "reconcile", "ask-model"],
      },
    ] as const;
    for (const { found, runs, said, strategies } of cases) {
      const log: Log = [];
      const keys: string[] = [];
      const reconcile = async (_: unknown, { key }: ToolContext) => {
        keys.push(key);
        return found;
      };
      const tool = failing(log, "t", 1, "reconcile", [RETRY, "ask-model"], { reconcile });
      const { w } = stage(once("t"), REST, { tools: [tool] });
      const s = await through(w);
      expect([log.length, results(w), applied(w)]).toEqual([runs, [said], strategies]);
      expect(keys).toEqual([log[0]?.key]);
      expect(new Set(log.map((l) => l.key)).size).toBe(1);
      expect(s.unknowns.size).toBe(0);
    }
  });

  test("F-2 a function is asked once for each failing call, sees the failure, and what it says is journalled and holds", async () => {
    const seen: unknown[] = [];
    const recover = (failure: unknown): Strategy[] => {
      seen.push(failure);
      return [RETRY, "ask-model"];
    };
    const { w } = table(recover);
    await through(w);
    expect(applied(w)).toEqual(["retry", "retry", "ask-model"]);
    expect(seen).toEqual([{ tool: "t", call: "1.0", args: { x: "1" }, error: "no luck 1", starts: 1, repeat: "idempotent" }]);
    expect(w.events("recovery.applied")[0]?.plan).toEqual([RETRY, { kind: "ask-model" }]);
  });

  test("F-2 a function that throws, or answers with no strategy, stops the turn and is named", async () => {
    const bad = [
      () => {
        throw new Error("broken too");
      },
      () => "shrug" as never,
      () => [],
      async () => "ask-model" as never,
    ];
    for (const recover of bad) {
      const { w } = table(recover as RecoveryDefinition, { steps: [reply.calls([call("t")])] });
      const s = await w.run("go");
      expect([s.last?.ending, applied(w)]).toEqual(["failed", ["stop"]]);
      expect(details(w)[0]).toMatch(/^what was to choose a strategy (failed itself: broken too|chose none: )/);
    }
  });

  test("F-2 an unknown outcome is never recovered from: rule 4 owns it", async () => {
    const hangs = toolOf("t", () => new Promise<never>(() => {}), { repeat: "idempotent", timeoutMs: 1_000, recover: RETRY });
    const { w } = stage(once("t"), REST, { tools: [hangs] });
    await through(w);
    expect([applied(w), w.events("act.ended").map((e) => e.outcome.kind)]).toEqual([[], ["unknown"]]);
  });

  test("F-2 a time-out of a `read` is a failure, and is retried", async () => {
    let runs = 0;
    const slow = toolOf("t", () => (++runs === 1 ? new Promise<never>(() => {}) : "seen"), {
      repeat: "read",
      timeoutMs: 1_000,
      recover: RETRY,
    });
    const { w } = stage(once("t"), REST, { tools: [slow] });
    await through(w);
    expect([applied(w), results(w)]).toEqual([["retry"], ["seen"]]);
  });
});

describe("retry", () => {
  test("M-7 F-4 a call whose retry is due much later rests without a holder, and runs once more when it is due", async () => {
    const log: Log = [];
    const patient = failing(log, "t", 1, "read", [{ kind: "retry", times: 2, backoffMs: 60_000, maxBackoffMs: 60_000 }]);
    const { w } = stage(once("t"), REST, { tools: [patient, failing(log, "u", 0, "read", undefined)], maxRestMs: 10_000 });
    await w.run("go"); // without time going on
    const due = w.events("recovery.applied")[0]?.dueAt ?? 0;
    await w.go(); // too early
    expect([log.length, w.clock.sleepers(), w.state().turn === null]).toEqual([1, 0, false]);
    w.clock.advance(due - w.clock.now());
    expect((await w.go()).last).toMatchObject({ ending: "completed", output: "done" });
    expect([log.map(({ start }) => start), applied(w), results(w)]).toEqual([[1, 2], ["retry"], ["t 1"]]);
    const again = w.entries().find(({ event }) => event.kind === "act.started" && event.start === 2);
    expect(again?.at).toBeGreaterThanOrEqual(due);
  });

  test("F-4 a retry that is due and that a person is asked about parks the session", async () => {
    const log: Log = [];
    const tool = failing(log, "t", 1, "idempotent", RETRY, { labels: ["hot"] });
    const { w } = stage(once("t"), [{ id: "ask", action: "tool:t", labels: ["hot"], verdict: "ask" }, ...REST], { tools: [tool] });
    const s = await through(w);
    expect([s.turn === null, log.length, open(w).length, w.clock.sleepers()]).toEqual([false, 1, 1, 0]);
    await say(w, APPROVE);
    expect((await pacing(w, w.go())).last).toMatchObject({ ending: "completed", output: "done" });
    expect(log).toHaveLength(2);
  });

  test("F-4 one that is due and has no place waits for the place, and not for a clock that rings at once", async () => {
    const log: Log = [];
    const { promise, resolve } = Promise.withResolvers<string>();
    const slow = toolOf("slow", () => promise);
    let sleeps = 0;
    const spoil = (p: Ports): Ports => {
      const sleep: Ports["clock"]["sleep"] = (ms, signal) => (++sleeps > 50 ? new Promise<void>(() => {}) : p.clock.sleep(ms, signal));
      return { ...p, clock: { ...p.clock, sleep } };
    };
    const tools = [failing(log, "t", 1, "idempotent", RETRY), slow];
    const steps = [reply.calls([call("t"), call("slow")]), reply.text("done")];
    const { w } = stage(steps, REST, { tools, spoil, limits: { toolsAtOnce: 1 } });
    const running = w.run("go");
    await hasHappened(w, "recovery.applied");
    for (let i = 0; i < 200; i += 1) {
      await setImmediate();
      if (i === 50) w.clock.advance(1_000);
    }
    expect(sleeps).toBeLessThan(10);
    expect(log).toHaveLength(1);
    resolve("slow");
    expect((await running).last?.ending).toBe("completed");
    expect(log).toHaveLength(2);
  });

  test("F-4 it runs again with the same key and the next start, gated again right before, after a wait that is journalled", async () => {
    const { w, log } = table(RETRY, { fails: 2 });
    const s = await through(w);
    expect([s.last?.ending, results(w)]).toEqual(["completed", ["t 1"]]);
    expect(log.map((l) => l.start)).toEqual([1, 2, 3]);
    expect(new Set(log.map((l) => l.key)).size).toBe(1);
    expect(w.events("gate.decided").filter((e) => (e.id as string) === "1.0")).toHaveLength(3);
    const at = (kind: string) => w.entries().filter((e) => e.event.kind === kind);
    for (const [i, retry] of at("recovery.applied").entries()) {
      const due = retry.event.kind === "recovery.applied" ? retry.event.dueAt : null;
      const wait = (due ?? 0) - retry.at;
      expect(wait).toBeGreaterThanOrEqual(50 * 2 ** i);
      expect(wait).toBeLessThanOrEqual(100 * 2 ** i);
      expect(at("act.started")[i + 1]?.at).toBeGreaterThanOrEqual(due ?? Number.POSITIVE_INFINITY);
    }
  });

  test("F-4 the wait doubles up to its bound, and is spread by key and try", () => {
    const waits = (key: string) => [1, 2, 3, 4, 5, 60].map((tries) => backoff({ ...RETRY, times: 60 }, tries, sha256, key));
    for (const [i, wait] of waits("a").entries()) {
      const full = Math.min(1_000, 100 * 2 ** i);
      expect(wait).toBeGreaterThanOrEqual(full / 2);
      expect(wait).toBeLessThanOrEqual(full);
    }
    expect(waits("a")).not.toEqual(waits("b"));
    expect(waits("a")).toEqual(waits("a"));
  });

  test("F-4 a crash while it waits: the next process goes on from the time that was journalled", async () => {
    const log: Log = [];
    const tool = failing(log, "t", 1, "idempotent", { kind: "retry", times: 1, backoffMs: 10_000, maxBackoffMs: 10_000 });
    const stop = new AbortController();
    let died = false;
    const spoil = (p: Ports): Ports => ({
      ...p,
      clock: {
        ...p.clock,
        sleep: (ms, signal) => {
          if (!died && log.length === 1 && ms < 20_000 && w.events("recovery.applied").length === 1) {
            died = true;
            throw new Error("power cut"); // while the first process waits: nothing of it is left
          }
          return p.clock.sleep(ms, signal);
        },
      },
    });
    const { w } = stage(once("t"), REST, { tools: [tool], spoil });
    await expect(w.run("go", stop.signal)).rejects.toThrow("power cut");
    const [retry] = w.events("recovery.applied");
    w.disk.holds.clear();
    w.clock.advance(4_000);
    await pacing(w, w.go());
    expect(log.map((l) => l.start)).toEqual([1, 2]);
    const second = w.entries().findLast((e) => e.event.kind === "act.started");
    expect(second?.at).toBeGreaterThanOrEqual(retry?.dueAt ?? Number.POSITIVE_INFINITY);
    expect((second?.at ?? 0) - (retry?.dueAt ?? 0)).toBeLessThan(200);
    expect(applied(w)).toEqual(["retry"]);
  });

  test("F-4 a denial of the retry gives way to the next strategy", async () => {
    const rows: readonly Row[] = [{ id: "no-more", action: "tool:t", labels: ["spent"], verdict: "deny" }, ...REST];
    const log: Log = [];
    const tool = failing(log, "t", 99, "idempotent", [RETRY, "ask-model"], { labels: ["spent"] });
    const { w } = stage(once("t"), rows, { tools: [tool] });
    await through(w);
    expect([log.length, applied(w), results(w)]).toEqual([1, ["retry", "ask-model"], ["[failed] t: no luck 1"]]);
  });

  test("F-4 a call that a person let run is still theirs when it is run again: nobody is asked twice", async () => {
    const rows: readonly Row[] = [{ id: "ask-t", action: "tool:t", verdict: "ask" }, ...REST];
    const { w, log } = table(RETRY, { fails: 1, rows });
    await w.run("go");
    await say(w, APPROVE);
    await pacing(w, w.go());
    expect([log.length, w.events("approval.asked").length, w.events("approval.consumed").length, results(w)]).toEqual([2, 1, 1, ["t 1"]]);
  });

  test("F-4 retries count as calls, and wait within the turn's time", async () => {
    const log: Log = [];
    const few = stage([reply.calls([call("t")])], REST, {
      tools: [failing(log, "t", 99, "read", { ...RETRY, times: 9 })],
      limits: { calls: 2 },
    });
    const s = await through(few.w);
    expect([log.length, s.last?.ending, s.last?.calls]).toEqual([2, "failed", 2]);
    expect(details(few.w).at(-1)).toContain("the turn has no calls left");

    const slow = { kind: "retry", times: 1, backoffMs: 60_000, maxBackoffMs: 60_000 } as const;
    const late = stage([reply.calls([call("t")])], REST, { tools: [failing([], "t", 99, "read", slow)], limits: { turnMs: 20_000 } });
    await late.w.run("go");
    expect(details(late.w)).toEqual(["retry: the turn has no time left for it; nothing is left to try"]);
  });

  test("F-4 a cancel while it waits ends the turn at once, and the error is told", async () => {
    const { w, log } = table(RETRY, { steps: [reply.calls([call("t")])] });
    const stop = new AbortController();
    const running = w.run("go", stop.signal);
    await hasHappened(w, "recovery.applied");
    stop.abort("enough");
    const s = await running;
    expect([s.last?.ending, log.length, results(w)]).toEqual(["cancelled", 1, ["[failed] t: no luck 1"]]);
  });

  test("F-4 a halt of its tool while it waits: it is not run again", async () => {
    const { w, log } = table([RETRY, "ask-model"]);
    const running = w.run("go");
    await hasHappened(w, "recovery.applied");
    await w.order({ kind: "work.halted", scope: "tool:t", by: ANN, reason: "stop it" });
    await pacing(w, running);
    expect([log.length, applied(w)]).toEqual([1, ["retry", "ask-model"]]);
  });
});

describe("a stand-in", () => {
  const other =
    (repeat: Repeat = "once", fails = 0, more: Record<string, unknown> = {}) =>
    (log: Log) =>
      failing(log, "u", fails, repeat, undefined, more);
  const FALL = { kind: "fallback", tool: "u" } as const;

  test("F-5 another tool runs under the same call id, gated as itself, with a key of its own, and the model is told", async () => {
    const { w, log } = table(FALL, { others: [other()] });
    const s = await w.run("go");
    expect(results(w)).toEqual(["[u stood in for t, which failed] u 1"]);
    expect(log.map((l) => [l.tool, l.start])).toEqual([
      ["t", 1],
      ["u", 1],
    ]);
    expect(log[0]?.key).not.toBe(log[1]?.key);
    expect(w.events("gate.decided").flatMap((e) => (e.action.kind === "call" ? [e.action.tool] : []))).toEqual(["t", "u"]);
    expect(w.events("act.started").map((e) => e.repeat)).toEqual(["idempotent", "once"]);
    expect(s.last?.calls).toBe(2);
    expect([s.allowedCalls.get("t"), s.allowedCalls.get("u")]).toEqual([1, 1]);
  });

  test("F-5 its labels and its way to be repeated are its own", async () => {
    const { w } = table(FALL, { others: [other("once", 0, { labels: ["hot"] })] });
    const s = await w.run("go");
    expect([...s.labels]).toEqual(["hot"]);
  });

  test("F-5 arguments that do not fit it, a denial and its failure each give way to the next strategy", async () => {
    const denied: readonly Row[] = [{ id: "not-u", action: "tool:u", verdict: "deny" }, ...REST];
    for (const [rows, others, ran] of [
      [denied, [other()], 1],
      [REST, [other("once", 9)], 2],
      [
        REST,
        [
          (log: Log) =>
            toolOf("u", () => String(log.push({ tool: "u", x: "", key: "", start: 1 })), {
              input: { type: "object", properties: { y: { type: "string" } }, required: ["y"], additionalProperties: false } as never,
            }),
        ],
        1,
      ],
    ] as const) {
      const { w, log } = table([FALL, "ask-model"], { rows, others });
      await w.run("go");
      expect([log.length, applied(w)]).toEqual([ran, ["fallback", "ask-model"]]);
      const alone = table(FALL, { rows, others, steps: [reply.calls([call("t")])] });
      expect((await alone.w.run("go")).last?.ending).toBe("failed");
    }
  });

  test("F-5 one that is not let run has not failed: what failed is what is told, and what a person is asked about", async () => {
    const rows: readonly Row[] = [{ id: "not-u", action: "tool:u", verdict: "deny" }, ...REST];
    const told = table([FALL, "ask-model"], { rows, others: [other()] });
    await told.w.run("go");
    expect(results(told.w)).toEqual(["[failed] t: no luck 1"]);
    const { w, log } = table([FALL, RETRY, "escalate", "ask-model"], { rows, others: [other()], repeat: "once", fails: 1 });
    await w.run("go");
    expect(applied(w)).toEqual(["fallback", "escalate"]);
    expect(open(w).map((q) => q.asks[0]?.question)).toEqual(["t failed, and may have had an effect (no luck 1): run it again?"]);
    await say(w, APPROVE);
    await w.go();
    expect(log.map(({ tool, start }) => [tool, start])).toEqual([
      ["t", 1],
      ["t", 2],
    ]);
    expect(log[1]?.key).toBe(log[0]?.key);
    expect(results(w)).toEqual(["t 1"]);
  });

  test("F-5 one that there is no money for gives way to the next strategy, and so does a retry", async () => {
    const dear = (log: Log) => failing(log, "u", 0, "once", undefined, { maxCents: 60 });
    for (const recover of [FALL, RETRY]) {
      const log: Log = [];
      const tools = [failing(log, "t", 9, "idempotent", [recover, "ask-model"], { maxCents: 60 }), dear(log)];
      const { w } = stage(once("t"), REST, { tools, prices: { input: 1, output: 1 }, limits: { cents: 100 } });
      expect((await through(w)).last?.ending).toBe("completed");
      expect([log.length, applied(w), details(w)]).toEqual([1, ["ask-model"], [`${recover.kind}: the turn has no money left for it`]]);
    }
  });

  test("F-5 a `once` stand-in that was lost is unknown, as itself", async () => {
    const { w } = (() => {
      const log: Log = [];
      const t = failing(log, "t", 9, "idempotent", FALL);
      return stage(once("t"), REST, { tools: [t, other()(log)], crashes: [{ of: "effect", nth: 1, when: "after" }] });
    })();
    const s = await w.run("go");
    expect([...s.unknowns.values()].map((u) => [u.tool, u.key.endsWith("~1")])).toEqual([["u", true]]);
    expect(results(w)[0]).toContain("[unknown] u");
  });

  test("F-5 a policy that asks about the stand-in is heard, and the answer is for it", async () => {
    const rows: readonly Row[] = [{ id: "ask-u", action: "tool:u", verdict: "ask" }, ...REST];
    const { w, log } = table([FALL, "ask-model"], { rows, others: [other()] });
    await w.run("go");
    expect(log.map((l) => l.tool)).toEqual(["t"]);
    await say(w, APPROVE);
    await w.go();
    expect(log.map((l) => l.tool)).toEqual(["t", "u"]);
    const no = table([FALL, "ask-model"], { rows, others: [other()] });
    await no.w.run("go");
    await say(no.w, { kind: "deny", reason: "no" });
    await no.w.go();
    expect([no.log.length, applied(no.w)]).toEqual([1, ["fallback", "ask-model"]]);
  });
});

describe("an old result", () => {
  const cachedFor = (maxAgeMs: number) => [{ kind: "cached", maxAgeMs }, "ask-model"] as const;
  function twice(maxAgeMs: number, xs: readonly string[] = ["1", "1"], between = () => {}) {
    let runs = 0;
    const tool = toolOf(
      "t",
      ({ x }) => {
        if (++runs > 1) throw new Error("down");
        return { seen: x };
      },
      { repeat: "read", recover: cachedFor(maxAgeMs), labels: [UNTRUSTED] },
    );
    return stage(
      [...xs.map((x, i) => reply.calls([call("t", x, `c${i}`)], { expect: i === 0 ? () => {} : between })), reply.text("done")],
      REST,
      { tools: [tool] },
    );
  }

  test("F-5 the last result of the very same action stands in, with where it comes from, and the model is told that it is old", async () => {
    const { w } = twice(60_000);
    const s = await w.run("go");
    expect(results(w)).toEqual([
      '{"seen":"1"}',
      expect.stringMatching(/^\[an old result, of \d+ s ago: the call itself failed now\] \{"seen":"1"\}$/),
    ]);
    const [event] = w.events("recovery.applied");
    expect(event).toMatchObject({ strategy: "cached", output: { seen: "1" } });
    expect(w.entries()[(event?.from ?? 0) - 1]?.event).toMatchObject({
      kind: "act.ended",
      outcome: { kind: "done", output: { seen: "1" } },
    });
    expect([...s.labels]).toEqual([UNTRUSTED]);
  });

  test("F-5 after a stand-in that failed too, it is told as what it is: a result of the tool that was asked for", async () => {
    const log: Log = [];
    const flaky = toolOf("t", ({ x }) => (log.push({ tool: "t", x, key: "", start: 1 }) > 1 ? Promise.reject(new Error("down")) : "good"), {
      repeat: "read",
      recover: [
        { kind: "fallback", tool: "u" },
        { kind: "cached", maxAgeMs: 60_000 },
      ],
    });
    const steps = [reply.calls([call("t", "1", "c1")]), reply.calls([call("t", "1", "c2")]), reply.text("done")];
    const { w } = stage(steps, REST, { tools: [flaky, failing(log, "u", 9, "once", undefined)] });
    await w.run("go");
    expect(results(w)[1]).toBe("[an old result, of 0 s ago: the call itself failed now] good");
  });

  test("F-5 one that is too old, or of other arguments, does not stand in", async () => {
    const other = twice(60_000, ["1", "2"]);
    await other.w.run("go");
    expect(applied(other.w)).toEqual(["ask-model"]);

    const old = twice(1_000, ["1", "1"], () => old.w.clock.advance(5_000));
    await old.w.run("go");
    expect(details(old.w)).toEqual(["cached: its last result is 5000 ms old"]);
  });
});

const DAY = 24 * 3_600_000;
const ASKS_A_DAY: Row = { id: "asks", action: "tool:t", verdict: "ask", say: "t?", terms: { expiresMs: DAY } };

describe("a person", () => {
  test("F-6 a question waits for a person, at no cost and through a crash; approved, it runs again, gated again", async () => {
    const { w, log } = table("escalate", { fails: 1 });
    const s = await w.run("go");
    expect(s.turn).not.toBeNull();
    expect(w.clock.sleepers()).toBe(0);
    expect(open(w)).toMatchObject([{ asks: [{ policy: "orgate:escalated/1.0/1", question: "t failed (no luck 1): run it again?" }] }]);
    await say(w, APPROVE);
    await w.go();
    expect([log.map((l) => l.start), results(w)]).toEqual([[1, 2], ["t 1"]]);
    expect(new Set(log.map((l) => l.key)).size).toBe(1);
    expect(w.events("approval.consumed")).toHaveLength(1);
  });

  test("F-6 edited, it runs with the other arguments, under another key", async () => {
    const { w, log } = table("escalate", { fails: 1 });
    await w.run("go");
    await say(w, { kind: "edit", args: { x: "2" } });
    await w.go();
    expect(refusals(w)).toEqual([]);
    expect(log.map((l) => [l.x, l.key])).toEqual([
      ["1", log[0]?.key],
      ["2", `${log[0]?.key}~1`],
    ]);
    expect(results(w)).toEqual(["t 2"]);
  });

  test("F-6 denied, the turn goes on, and the model is told of the error and of the no", async () => {
    const { w, log } = table("escalate", { fails: 1 });
    await w.run("go");
    await say(w, { kind: "deny", reason: "leave it" });
    const s = await w.go();
    expect([log.length, s.last?.ending, results(w)]).toEqual([
      1,
      "completed",
      ["[a person decided not to run it again: leave it] [failed] t: no luck 1"],
    ]);
  });

  test("F-6 unanswered in time, it is told as that, and as nobody's decision", async () => {
    const { w, log } = table("escalate", { fails: 1, rows: [ASKS_A_DAY, ...REST] });
    await w.run("go");
    await say(w, APPROVE);
    await w.go();
    w.clock.advance(2 * DAY);
    const s = await w.go();
    expect([log.length, s.last?.ending, results(w)]).toEqual([
      1,
      "completed",
      ["[whether to run it again was asked: nobody answered in time] [failed] t: no luck 1"],
    ]);
  });

  test("F-6 a `once` call runs again only by a person's word, who is told what that may mean", async () => {
    const { w, log } = table("escalate", { fails: 1, repeat: "once" });
    await w.run("go");
    expect(open(w)[0]?.asks[0]?.question).toContain("may have had an effect");
    await w.go();
    expect(log).toHaveLength(1);
    await say(w, APPROVE);
    await w.go();
    expect(log).toHaveLength(2);
  });

  test("F-6 failing again it goes on down the list, and a second escalation is a question of its own", async () => {
    const { w, log } = table(["escalate", "escalate", "ask-model"]);
    await w.run("go");
    await say(w, APPROVE);
    await w.go();
    expect([log.length, open(w).length]).toEqual([2, 1]);
    await say(w, APPROVE);
    const s = await w.go();
    expect([log.length, s.last?.ending, applied(w)]).toEqual([3, "completed", ["escalate", "escalate", "ask-model"]]);
  });

  test("F-6 what the policies deny a person cannot let run: the next strategy's turn", async () => {
    let rows: readonly Row[] = REST;
    const spoil = (p: Ports): Ports => ({ ...p, gate: tableGate(rows, sha256) });
    const log: Log = [];
    const { w } = stage(once("t"), REST, { tools: [failing(log, "t", 9, "once", ["escalate", "ask-model"])], spoil });
    await w.run("go");
    rows = [{ id: "never", action: "tool:t", verdict: "deny" }, ...REST];
    await say(w, APPROVE);
    await w.go();
    expect([log.length, applied(w)]).toEqual([1, ["escalate", "ask-model"]]);
  });
});

describe("set aside, and stopped", () => {
  test("F-6 a call that is set aside is told to the model so, and waits for a person to see to it", async () => {
    const { w } = table("dead-letter");
    const s = await w.run("go");
    expect([s.last?.ending, results(w)]).toEqual([
      "completed",
      ["[it was set aside for an operator to look at; do not repeat it] [failed] t: no luck 1"],
    ]);
    expect([...s.deadLetters]).toEqual([["1.0", "t"]]);
    await w.wish({ kind: "dismiss", call: w.events("recovery.applied")[0]?.call ?? ("" as never), note: "done by hand" });
    const after = await w.go();
    expect(after.deadLetters.size).toBe(0);
    expect(w.events("dead-letter.dismissed")).toMatchObject([{ call: "1.0", note: "done by hand", by: ANN }]);
    await w.wish({ kind: "dismiss", call: "1.0" as never, note: "" });
    await w.go();
    expect(refusals(w)).toEqual(["no call `1.0` is set aside"]);
  });

  test("F-6 only a person whom the policies let resolve may dismiss it", async () => {
    const rows: readonly Row[] = [{ id: "nobody", action: "resolve", verdict: "deny", say: "not you" }, ...REST];
    const { w } = table("dead-letter", { rows });
    await w.run("go");
    await w.wish({ kind: "dismiss", call: "1.0" as never, note: "" });
    expect((await w.go()).deadLetters.size).toBe(1);
    expect(refusals(w)).toEqual([expect.stringContaining("not you")]);
  });

  test("F-6 stop ends the turn `failed`, and what else runs is stopped as a cancel would", async () => {
    const hangs = toolOf(
      "h",
      (_, { signal }) =>
        new Promise<never>((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error("told to stop")))),
      { repeat: "once" },
    );
    const log: Log = [];
    const { w } = stage([reply.calls([call("h"), call("t")])], REST, { tools: [hangs, failing(log, "t", 9, "read", "stop")] });
    const s = await through(w);
    expect(s.last).toMatchObject({ ending: "failed", detail: "tool execution failed: t: no luck 1" });
    expect(w.events("act.ended").map((e) => [e.outcome.kind, "cause" in e.outcome ? e.outcome.cause : null])).toEqual([
      ["failed", null],
      ["unknown", "cancelled"],
    ]);
    expect(results(w)).toEqual([expect.stringContaining("[unknown] h"), "[failed] t: no luck 1"]);
  });
});
