/** Findings of a review of the loop, each as a rule with its sentence: none of them may come back. */

import { setImmediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { type Row, tableGate } from "../gate/table.ts";
import { summariseSession } from "../journal/index.ts";
import type { Model } from "../reason/port.ts";
import { hang, PERMIT_ALL, reply, scriptedModel, type World, type WorldOptions, world } from "../testing/index.ts";
import {
  callId,
  DEFAULT_LIMITS,
  type Facts,
  FaultError,
  type Intent,
  type IntentBody,
  intentId,
  millis,
  type Repeat,
  type UserAct,
} from "../vocab/index.ts";
import { drive } from "./drive.ts";
import { fold } from "./evolve.ts";
import { ANN, APPROVE, asks, BOB, call, open, pay, REST, refusals, results, say, sha256, stage, toolOf } from "./fixtures/stage.ts";
import type { Ports } from "./ports.ts";
import { takeSession } from "./resume.ts";
import { callsIn } from "./state.ts";

const never = () => new AbortController().signal;
const forever = () => new Promise<string>(() => {});
const onAbort = (_: unknown, { signal }: { signal: AbortSignal }) =>
  new Promise<string>((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error("stopped")), { once: true }));
const halt = (scope: string) => ({ kind: "work.halted", scope, by: ANN, reason: "stop it" }) as const;
const allowRest: readonly Row[] = [{ id: "rest", action: "*", verdict: "allow" }];

/** The ports of the first process, to drive by hand what `world` would drive. */
async function byHand(options: Partial<WorldOptions> & Pick<WorldOptions, "model">) {
  let ports: Ports | null = null;
  const w = world({ hash: sha256, ...options, spoil: (p) => (ports ??= options.spoil?.(p) ?? p) });
  await w.run("hello");
  if (ports === null) throw new Error("no process was booted");
  const p: Ports = ports;
  await w.wish({ kind: "say", text: "go" });
  return { w, p, held: await takeSession(p, w.session(), w.state().agent) };
}

test("S-15 words that become entries at the very moment in which their halt is lifted begin", async () => {
  let lift: (() => Promise<void>) | null = null;
  const spoil = (p: Ports): Ports => ({
    ...p,
    journal: {
      ...p.journal,
      async append(given) {
        if (given.events.some(({ event }) => event.kind === "input.queued")) await lift?.(); // by another process, which finds nothing held back yet
        return p.journal.append(given);
      },
    },
  });
  const w = world({ hash: sha256, model: scriptedModel([reply.text("hi"), reply.text("on")]), spoil });
  await w.run("hello");
  await w.order(halt("all"));
  await w.wish({ kind: "follow-up", text: "go" });
  lift = () => w.order({ kind: "work.resumed", scope: "all", by: ANN, reason: "" });
  const s = await w.go();
  expect(s.last).toMatchObject({ turn: 2, output: "on" });
});

describe("holds and tools", () => {
  test("L-26 a tool whose code outlives its call is counted until it ends: so long the hold is not to be given back", async () => {
    const stuck = Promise.withResolvers<string>();
    const tools = [toolOf("stuck", () => stuck.promise)];
    const model = scriptedModel([reply.text("hi"), reply.calls([call("stuck")]), reply.text("on")]);
    const { w, p, held } = await byHand({ model, tools });
    const driven = drive(p, held, { limits: { ...DEFAULT_LIMITS, toolMs: 50 }, cancel: never() });
    await setImmediate();
    w.clock.advance(50);
    await setImmediate();
    w.clock.advance(250); // the grace
    await driven;
    expect(held.left.running).toBe(1);
    stuck.resolve("at last");
    await setImmediate();
    expect(held.left.running).toBe(0);
  });

  test("L-26 a drive that fails has waited for what it started: nobody takes the session while a tool runs", async () => {
    const order: string[] = [];
    const careful = toolOf("careful", async (_, { signal, note }) => {
      note("began", 1);
      await new Promise((over) => signal.addEventListener("abort", over, { once: true }));
      await setImmediate();
      order.push("the tool ended");
      return "";
    });
    const broken = (p: Ports): Ports => ({
      ...p,
      journal: {
        ...p.journal,
        append: (a) => (a.events.some((e) => e.event.kind === "note") ? Promise.reject(new Error("disk full")) : p.journal.append(a)),
      },
    });
    const { w } = stage([reply.calls([call("careful")])], PERMIT_ALL, { tools: [careful], spoil: broken });
    await expect(w.run("go").finally(() => order.push("the drive ended"))).rejects.toThrow("disk full");
    expect(order).toEqual(["the tool ended", "the drive ended"]);
  });

  test.each(["act.started", "model.asked"] as const)(
    "L-5 the hold is looked at right before an effect: lost after %s, nothing runs",
    async (kind) => {
      let lost = false;
      let asked = 0;
      const model = scriptedModel([reply.calls([pay("a")])]);
      const counting: Model = { id: model.id, ask: (...a) => model.ask(...a).finally(() => (asked += 1)) };
      const spoil = (p: Ports): Ports => ({
        ...p,
        journal: {
          ...p.journal,
          holds: (hold) => !lost && p.journal.holds(hold),
          append: async (a) => {
            const first = await p.journal.append(a);
            lost ||= a.events.some((e) => e.event.kind === kind);
            return first;
          },
        },
      });
      const ran: string[] = [];
      const w = world({ hash: sha256, model: counting, tools: [toolOf("pay", ({ x }) => String(ran.push(x)))], spoil });
      await expect(w.run("go")).rejects.toMatchObject({ fault: { kind: "hold-lost" } });
      expect([ran, asked]).toEqual([[], kind === "model.asked" ? 0 : 1]);
    },
  );

  test("L-4 a session that does not come to rest fails; it does not spin", async () => {
    const spoil = (p: Ports): Ports => ({
      ...p,
      journal: {
        ...p.journal,
        append: (a) =>
          a.unlessHalted.includes("tool:pay") ? Promise.reject(new FaultError({ kind: "halted", scope: "tool:pay" })) : p.journal.append(a), // no such halt was ever ordered
      },
    });
    const { w, ran } = stage([reply.calls([pay("a")])], PERMIT_ALL, { spoil });
    await expect(w.run("go")).rejects.toThrow("does not come to rest");
    expect(ran).toEqual([]);
  });

  test("L-27 a session that is taken up with an edited agent, other policies or other tools says so once, and goes on", async () => {
    const { w, p, held } = await byHand({ model: scriptedModel([reply.text("hi"), reply.text("on")]) });
    await p.journal.release(held.hold);
    const { agent } = w.state();
    expect(held.begin.map((e) => e.kind)).toEqual(["hold.taken"]);
    for (const change of [{ digest: sha256("edited") }, { policies: sha256("p") }, { tools: sha256("t") }, { instructions: "be long" }]) {
      const again = await takeSession(p, w.session(), { ...agent, ...change });
      expect(again.begin.slice(1)).toEqual([{ kind: "agent.changed", agent: { ...agent, ...change } }]);
      await p.journal.release(again.hold);
    }
  });

  test("L-27 a session is not taken up by another agent, and its hold is free again", async () => {
    const { w, p, held } = await byHand({ model: scriptedModel([reply.text("hi")]) });
    await p.journal.release(held.hold);
    await expect(takeSession(p, w.session(), { ...w.state().agent, name: "other" })).rejects.toMatchObject({
      fault: { kind: "agent-other", agent: "tester" },
    });
    expect(w.disk.holds.get(w.session())?.owner).toBeNull();
  });
});

/** From the third process on, other policies are in force. */
function fromThird(rows: readonly Row[]): (p: Ports) => Ports {
  let boots = 0;
  return (p) => {
    boots += 1;
    return boots < 3 ? p : { ...p, gate: tableGate([{ id: "people", action: "approve", verdict: "allow" }, ...rows], sha256) };
  };
}

describe("limits and lost calls", () => {
  const look = (ran: string[], more: { repeat: Repeat } = { repeat: "read" }) => toolOf("look", ({ x }) => String(ran.push(x)), more);

  test("L-16 a call that has started and was lost is run again, whatever the limit; fresh ones are not", async () => {
    const ran: string[] = [];
    const { w } = stage([reply.calls([call("look", "a"), call("look", "b")])], PERMIT_ALL, {
      tools: [look(ran)],
      limits: { calls: 1, toolsAtOnce: 1 },
      crashes: [{ of: "effect", when: "after", nth: 0 }],
    });
    expect((await w.run("go")).last).toMatchObject({ ending: "out-of-calls", calls: 1 });
    expect(ran).toEqual(["a", "a"]);
    expect(results(w)).toEqual(["2", expect.stringContaining("[not run]")]);
  });

  test("L-16 a lost call that waits for a person is told as unknown before the turn ends out of calls", async () => {
    const ran: string[] = [];
    const rows: readonly Row[] = [{ id: "ask-put", action: "tool:put", verdict: "ask" }, ...REST];
    const put = toolOf("put", ({ x }) => String(ran.push(x)), { repeat: "idempotent" });
    const { w } = stage([reply.calls([call("put", "a"), call("put", "b")])], rows, {
      tools: [put],
      spoil: fromThird([{ id: "ask-harder", action: "tool:put", verdict: "ask" }, ...REST]),
      limits: { calls: 1 },
      crashes: [
        { of: "append", when: "after", nth: 99 },
        { of: "effect", when: "after", nth: 0 },
      ],
    });
    await w.run("go");
    await say(w, APPROVE, ANN, 0);
    await w.go(); // it ran, its process died, and meanwhile another policy asks: the answer does not cover that
    expect(open(w)).toHaveLength(2);
    for (const _ of ["to the policy of before", "to the policy of now"]) {
      await say(
        w,
        APPROVE,
        ANN,
        open(w).findIndex((q) => q.action === "1.1"),
      );
      await w.go();
    }
    expect(w.state().last).toMatchObject({ ending: "out-of-calls", calls: 1 });
    expect(w.events("act.ended")).toMatchObject([{ call: "1.0", outcome: { kind: "unknown", cause: "hold-lost" } }]);
    expect([...w.state().unknowns.keys()]).toEqual(["1.0"]);
    expect(results(w)).toEqual([expect.stringContaining("[unknown]"), expect.stringContaining("[not run]")]);
  });

  test.each([
    [1, 2],
    [2, 1],
    [5, 3],
  ])("L-16 with %i at once and a limit of %i no call too many starts, and the turn ends", async (toolsAtOnce, calls) => {
    const ran: string[] = [];
    const { w } = stage([reply.calls(["a", "b", "c", "d"].map((x) => call("look", x)))], PERMIT_ALL, {
      tools: [look(ran)],
      limits: { calls, toolsAtOnce },
    });
    expect((await w.run("go")).last).toMatchObject({ ending: "out-of-calls", calls });
    expect(ran).toHaveLength(calls);
    expect(results(w)).toHaveLength(4);
  });

  test("L-16 the limit is the turn's, over all of its replies", async () => {
    const ran: string[] = [];
    const steps = [reply.calls([call("look", "a"), call("look", "b")]), reply.calls([call("look", "c"), call("look", "d")])];
    const { w } = stage(steps, PERMIT_ALL, { tools: [look(ran)], limits: { calls: 3 } });
    expect((await w.run("go")).last).toMatchObject({ ending: "out-of-calls", calls: 3 });
    expect(ran).toEqual(["a", "b", "c"]);
  });

  test("T-7 a call that brings its process down is not started for ever: after three starts nobody can tell", async () => {
    const ran: string[] = [];
    const crash = { of: "effect", when: "after", nth: 0 } as const;
    const { w } = stage([reply.calls([call("look", "a")]), reply.text("ok")], PERMIT_ALL, {
      tools: [look(ran, { repeat: "idempotent" })],
      crashes: [crash, crash, crash, crash, crash],
    });
    expect((await w.run("go")).last).toMatchObject({ ending: "completed" });
    expect(ran).toEqual(["a", "a", "a"]);
    expect(w.events("act.started").map((e) => e.start)).toEqual([1, 2, 3]);
    expect(w.events("act.ended")).toMatchObject([{ outcome: { kind: "unknown", cause: "hold-lost" }, evidence: { starts: 3 } }]);
  });

  test("L-10 a call whose tool says it did not happen is told as not run, should its turn end before it runs again", async () => {
    const send = toolOf("send", () => "sent", { repeat: "reconcile", reconcile: (async () => ({ kind: "did-not-happen" })) as never });
    const { w } = stage([reply.calls([call("send")]), reply.text("ok")], REST, {
      tools: [send],
      crashes: [{ of: "effect", when: "before", nth: 0 }],
    });
    await w.run("go");
    const until = w.entries().findIndex((e) => e.event.kind === "recovery.applied") + 1;
    const [last] = w.entries().slice(until - 1);
    const ended = w.entries().at(-1);
    if (last === undefined || ended?.event.kind !== "turn.ended") throw new Error("the run did not go as it should");
    const cut = fold([...w.entries().slice(0, until), { ...ended, at: last.at, event: { ...ended.event, ending: "cancelled" } }]);
    expect(cut?.messages.at(-1)).toMatchObject({ role: "tool", text: expect.stringContaining("[not run]") });
    expect(cut?.unknowns.size).toBe(0);
  });
});

/** A tool that says another `repeat` in each process. */
const repeats =
  (...of: readonly Repeat[]) =>
  (p: Ports): Ports => {
    const repeat = of[Number(p.journal.writer.slice(1)) - 1] ?? "once";
    return { ...p, tools: { ...p.tools, find: (name) => changed(p.tools.find(name), { repeat }) } };
  };
const changed = <T extends object>(tool: T | null, fields: Partial<T>): T | null => (tool === null ? null : { ...tool, ...fields });

describe("tools that were edited meanwhile", () => {
  const crashes = [{ of: "effect", when: "after", nth: 0 }] as const;

  test("T-7 a tool edited to be repeatable does not make a call repeatable that had started before", async () => {
    const { w, ran } = stage([reply.calls([pay("a")]), reply.text("ok")], PERMIT_ALL, { crashes, spoil: repeats("once", "idempotent") });
    await w.run("go");
    expect(ran).toEqual(["a"]);
    expect(w.events("act.ended")).toMatchObject([{ outcome: { kind: "unknown" } }]);
  });

  test.each([
    ["read", "failed"],
    ["idempotent", "unknown"],
  ] as const)("T-7 a `%s` tool that must not be repeated any more is not: its call has %s", async (before, kind) => {
    const { w, ran } = stage([reply.calls([pay("a")]), reply.text("ok")], PERMIT_ALL, { crashes, spoil: repeats(before, "once") });
    await w.run("go");
    expect(ran).toEqual(["a"]);
    expect(w.events("act.ended")).toMatchObject([{ outcome: { kind } }]);
  });

  test("T-7 a tool that is gone cannot tell what became of its call", async () => {
    const gone = (p: Ports): Ports => (p.journal.writer === "w1" ? p : { ...p, tools: { ...p.tools, find: () => null } });
    const { w } = stage([reply.calls([pay("a")]), reply.text("ok")], PERMIT_ALL, {
      crashes,
      spoil: (p) => gone(repeats("idempotent", "idempotent")(p)),
    });
    await w.run("go");
    expect(w.events("act.ended")).toMatchObject([{ outcome: { kind: "unknown", cause: "hold-lost" } }]);
  });

  test("T-7 the second start counts as strictly as the first: an idempotent call that is a read by now is still unknown when it hangs", async () => {
    let starts = 0;
    const put = toolOf("put", () => (++starts === 1 ? "done" : forever()), { repeat: "idempotent", timeoutMs: 50 });
    const { w } = stage([reply.calls([call("put")]), reply.text("ok")], PERMIT_ALL, {
      crashes,
      tools: [put],
      spoil: repeats("idempotent", "read"),
    });
    const running = w.run("go");
    await setImmediate();
    await setImmediate();
    w.clock.advance(50);
    await setImmediate();
    w.clock.advance(250);
    await running;
    expect(starts).toBe(2);
    expect(w.events("act.started").map((e) => e.repeat)).toEqual(["idempotent", "idempotent"]);
    expect(w.events("act.ended")).toMatchObject([{ outcome: { kind: "unknown", cause: "timed-out" } }]);
  });

  test("L-7 a lost call that may not go on is given up, not left out: its effect may be there", async () => {
    let rows: readonly Row[] = REST;
    const spoil = (p: Ports): Ports => {
      const gate = tableGate(rows, sha256);
      rows = [{ id: "never", action: "tool:put", verdict: "deny" }, ...REST];
      return { ...p, gate };
    };
    const put = toolOf("put", () => "done", { repeat: "idempotent" });
    const { w } = stage([reply.calls([call("put")]), reply.text("ok")], REST, { crashes, tools: [put], spoil });
    expect((await w.run("go")).last).toMatchObject({ ending: "completed" });
    expect(w.events("act.ended")).toMatchObject([{ outcome: { kind: "unknown", cause: "hold-lost" } }]);
    expect(results(w)).toEqual([expect.stringContaining("[unknown]")]);
  });
});

describe("decisions that are overtaken", () => {
  const queue = { toolsAtOnce: 1 };
  const secret: readonly Row[] = [{ id: "no-secrets", action: "tool:pay", labels: ["secret"], verdict: "deny" }, ...REST];
  const reveal = toolOf("reveal", () => "the secret", { repeat: "read", labels: ["secret"] });

  test("L-2 a queued call is decided again when a label it reads has come: what was allowed is refused", async () => {
    const { w, ran } = stage([reply.calls([call("reveal"), pay("a")]), reply.text("ok")], secret, { tools: [reveal], limits: queue });
    await w.run("go");
    expect(ran).toEqual([]);
    expect(w.events("gate.decided").filter((e) => e.id === "1.1")).toMatchObject([
      { verdict: { kind: "allow" } },
      { verdict: { kind: "deny" } },
    ]);
  });

  test("L-2 a queued call is decided again when the policies have changed", async () => {
    let gate = tableGate(REST, sha256);
    const swap = toolOf(
      "swap",
      () => {
        gate = tableGate([{ id: "never", action: "tool:pay", verdict: "deny" }, ...REST], sha256);
        return "swapped";
      },
      { repeat: "read" },
    );
    const live = (p: Ports): Ports => ({
      ...p,
      gate: {
        get digest() {
          return gate.digest;
        },
        lately: [],
        decide: (...a) => gate.decide(...a),
        decideFor: (...a) => gate.decideFor(...a),
        groupsOf: (user) => gate.groupsOf(user),
      },
    });
    const { w, ran } = stage([reply.calls([call("swap"), pay("a")]), reply.text("ok")], REST, {
      tools: [swap],
      limits: queue,
      spoil: live,
    });
    await w.run("go");
    expect(ran).toEqual([]);
  });

  test("L-2 what a queued call was allowed on stays true on record: other labels or other policies, and it is decided again though the verdict is the same", async () => {
    const decisions = (w: World) => w.events("gate.decided").filter((e) => e.id === "1.1");
    const labelled = stage([reply.calls([call("reveal"), pay("a")]), reply.text("ok")], REST, { tools: [reveal], limits: queue });
    await labelled.w.run("go");
    expect(labelled.ran).toEqual(["a"]);
    expect(decisions(labelled.w).map((e) => e.read["labels"])).toEqual([[], ["secret"]]);

    let gate = tableGate(REST, sha256);
    const elsewhere: Row = { id: "elsewhere", action: "tool:pay", labels: ["never-there"], verdict: "deny" };
    const swap = toolOf(
      "swap",
      () => {
        gate = tableGate([elsewhere, ...REST], sha256);
        return "swapped";
      },
      { repeat: "read" },
    );
    const spoil = (p: Ports): Ports => ({ ...p, gate: { ...p.gate, decide: (...a) => gate.decide(...a) } });
    const swapped = stage([reply.calls([call("swap"), pay("a")]), reply.text("ok")], REST, { tools: [swap], limits: queue, spoil });
    await swapped.w.run("go");
    expect(swapped.ran).toEqual(["a"]);
    expect(new Set(decisions(swapped.w).map((e) => e.slice)).size).toBe(2);
  });

  test("L-2 what has not changed is not decided again", async () => {
    const tools = ["one", "two", "three"].map((name) => toolOf(name, () => name, { repeat: "read" }));
    const { w } = stage([reply.calls(tools.map((t) => call(t.name))), reply.text("ok")], REST, { tools, limits: queue });
    await w.run("go");
    expect(results(w)).toEqual(["one", "two", "three"]);
    expect(w.events("gate.decided").filter((e) => e.action.kind === "call")).toHaveLength(3);
  });

  test("Q-3 an approved call that waits for a place is not asked about again, whatever lands meanwhile", async () => {
    const rows: readonly Row[] = [{ id: "ask-reveal", action: "tool:reveal", verdict: "ask" }, ...asks()];
    const { w, ran } = stage([reply.calls([call("reveal"), pay("a")]), reply.text("ok")], rows, { tools: [reveal], limits: queue });
    await w.run("go");
    await say(w, APPROVE, ANN, 0);
    await say(w, APPROVE, ANN, 1);
    expect((await w.go()).last).toMatchObject({ ending: "completed" });
    expect(ran).toEqual(["a"]);
    expect(w.events("approval.asked")).toHaveLength(2);
    expect(w.events("approval.consumed").map((e) => e.action)).toEqual(["1.0", "1.1"]);
  });

  test("Q-9 a grant that is revoked while its call waits for a place covers nothing any more", async () => {
    let revoke = async (): Promise<void> => {};
    const wait = toolOf("wait", () => revoke().then(() => "waited"), { repeat: "read" });
    const steps = [reply.calls([pay("a")]), reply.text("first"), reply.calls([call("wait"), pay("a", "two")])];
    const { w, ran } = stage(steps, asks({ grant: "session" }), { tools: [wait], limits: queue });
    await w.run("go");
    await say(w, { kind: "grant", grant: { scope: "digest", until: "session" } });
    await w.go();
    revoke = async () => {
      const [grant] = await w.grants();
      if (grant !== undefined) await w.order({ kind: "grant.revoked", grant: grant.grant, by: ANN, reason: "enough" });
      await w.wish({ kind: "steer", text: "look" }); // whatever wakes the holder
      await setImmediate();
    };
    await w.wish({ kind: "say", text: "again" });
    await w.go();
    expect(ran).toEqual(["a"]);
    expect(w.events("grant.used")).toEqual([]);
    expect(open(w)).toMatchObject([{ action: "3.1" }]);
  });

  /** Between a call's decision and its start the holder looks into its inbox once more; `meanwhile` happens there. */
  function between(meanwhile: () => Promise<void>) {
    let look = () => {};
    let isDecided = false;
    return (p: Ports): Ports => ({
      ...p,
      gate: {
        ...p.gate,
        decide: (action, facts) => {
          if (action.kind === "call" && !isDecided) look();
          isDecided ||= action.kind === "call";
          return p.gate.decide(action, facts);
        },
      },
      inbox: {
        ...p.inbox,
        pending: async (session) => {
          if (isDecided) await meanwhile();
          return p.inbox.pending(session);
        },
        watch: (session, arrived) => {
          look = arrived;
          return p.inbox.watch(session, arrived);
        },
      },
      orders: {
        ...p.orders,
        refresh: async () => {
          if (isDecided) await meanwhile();
          await p.orders.refresh();
        },
      },
    });
  }

  test("Q-13 a tool that is halted between a call's decision and its start: the call is refused, not tried", async () => {
    let halts = 0;
    const spoil = between(async () => (halts++ === 0 ? w.order(halt("tool:pay")) : undefined));
    const { w, ran } = stage([reply.calls([pay("a")]), reply.text("ok")], PERMIT_ALL, { spoil });
    expect((await w.run("go")).last).toMatchObject({ ending: "completed" });
    expect(ran).toEqual([]);
    expect(
      w
        .events("gate.decided")
        .filter((e) => e.id === "1.0")
        .map((e) => e.verdict.kind),
    ).toEqual(["allow", "deny"]);
  });

  test("Q-9 a grant that is revoked between a call's decision and its start covers it no more", async () => {
    const revoke = async () => {
      const [grant] = await w.grants();
      if (grant !== undefined && w.events("turn.started").length > 1)
        await w.order({ kind: "grant.revoked", grant: grant.grant, by: ANN, reason: "enough" });
    };
    const steps = [reply.calls([pay("a")]), reply.text("first"), reply.calls([pay("a", "two")])];
    const { w, ran } = stage(steps, asks({ grant: "session" }), { spoil: (p) => between(revoke)(p) });
    await w.run("go");
    await say(w, { kind: "grant", grant: { scope: "digest", until: "session" } });
    await w.go();
    await w.wish({ kind: "say", text: "again" });
    await w.go();
    expect([ran, w.events("grant.used")]).toEqual([["a"], []]);
    expect(open(w)).toHaveLength(1);
  });

  test("L-2 policies that change between a call's decision and its start decide it", async () => {
    let gate = tableGate(REST, sha256);
    const spoil = (p: Ports): Ports => {
      const live = between(async () => {
        gate = tableGate([{ id: "never", action: "tool:pay", verdict: "deny" }, ...REST], sha256);
      })({ ...p, gate: { ...gate, decide: (...a) => gate.decide(...a) } });
      const { decide, decideFor, groupsOf } = live.gate;
      return {
        ...live,
        gate: {
          decide,
          decideFor,
          groupsOf,
          lately: [],
          get digest() {
            return gate.digest;
          },
        },
      };
    };
    const { w, ran } = stage([reply.calls([pay("a")]), reply.text("ok")], REST, { spoil });
    await w.run("go");
    expect(ran).toEqual([]);
  });

  test("Q-13 a halt of a tool that commits first: its queued and its starting calls are refused, other tools go on, and the turn ends", async () => {
    let w: World | null = null;
    const spoil = (p: Ports): Ports => ({
      ...p,
      journal: {
        ...p.journal,
        append: async (a) => {
          if (a.events.some((e) => e.event.kind === "act.started")) await w?.order(halt("tool:pay"));
          return p.journal.append(a);
        },
      },
    });
    const other = toolOf("other", () => "fine", { repeat: "read" });
    const calls = [pay("a"), call("other"), pay("b")];
    const staged = stage([reply.calls(calls), reply.text("ok")], PERMIT_ALL, { spoil, tools: [other], limits: queue });
    w = staged.w;
    expect((await w.run("go")).last).toMatchObject({ ending: "completed" });
    expect(staged.ran).toEqual([]);
    expect(results(w)).toEqual([expect.stringContaining("halted"), "fine", expect.stringContaining("halted")]);
  });

  test.each([
    ["all", "act.started"],
    ["agent:tester", "act.started"],
    ["all", "model.asked"],
    ["agent:tester", "model.asked"],
  ] as const)("Q-13 a halt of %s that commits right before %s: it does not commit, and the turn ends halted", async (scope, kind) => {
    let w: World | null = null;
    let asked = 0;
    const spoil = (p: Ports): Ports => ({
      ...p,
      journal: {
        ...p.journal,
        append: async (a) => {
          if (a.events.some((e) => e.event.kind === kind) && ++asked === (kind === "model.asked" ? 2 : 1)) await w?.order(halt(scope));
          return p.journal.append(a);
        },
      },
    });
    const staged = stage([reply.calls([pay("a")])], PERMIT_ALL, { spoil });
    w = staged.w;
    expect((await w.run("go")).last).toMatchObject({ ending: "halted" });
    expect([w.events("act.started").length, w.events("model.asked").length]).toEqual(kind === "act.started" ? [0, 1] : [1, 1]);
    expect(results(w)).toHaveLength(1);
  });

  /** The tool is halted right before the n-th start of a call would be written. */
  const haltBefore =
    (nth: number, w: () => World) =>
    (p: Ports): Ports => ({
      ...p,
      journal: {
        ...p.journal,
        append: async (a) => {
          const starts = a.events.some((e) => e.event.kind === "act.started");
          if (starts && w().events("act.started").length === nth - 1) await w().order(halt("tool:pay"));
          return p.journal.append(a);
        },
      },
    });

  test("Q-13 a halt that commits first leaves the answer unused, and the intent that brought it is taken once", async () => {
    const { w, ran } = stage([reply.calls([pay("a")]), reply.text("ok")], asks(), { spoil: haltBefore(1, () => w) });
    await w.run("go");
    await say(w, APPROVE);
    expect((await w.go()).last).toBeNull(); // the call waits with the halt
    expect([ran, w.events("approval.consumed"), w.events("approval.answered").length]).toEqual([[], [], 1]);
    expect([...w.disk.inbox.values()].filter((row) => row.intent !== null)).toEqual([]);
  });

  test("Q-13 a halt that commits first leaves the grant unused", async () => {
    const steps = [reply.calls([pay("a")]), reply.calls([pay("a", "two")]), reply.text("ok")];
    const { w, ran } = stage(steps, asks({ grant: "session" }), { spoil: haltBefore(2, () => w) });
    await w.run("go");
    await say(w, { kind: "grant", grant: { scope: "digest", until: "session" } });
    expect((await w.go()).last).toMatchObject({ ending: "completed" });
    expect([ran, w.events("grant.used")]).toEqual([["a"], []]);
  });

  test("Q-13 a halt is written into a turn once, however long its calls take to stop", async () => {
    const stuck = toolOf("stuck", onAbort, { repeat: "read" });
    const { w } = stage([reply.calls([call("stuck", "1"), call("stuck", "2")])], PERMIT_ALL, { tools: [stuck] });
    const running = w.run("go");
    await setImmediate();
    await w.order(halt("all"));
    await w.wish({ kind: "steer", text: "look" });
    await w.wish({ kind: "steer", text: "look again" });
    expect((await running).last).toMatchObject({ ending: "halted" });
    expect(w.events("turn.halted")).toMatchObject([{ scope: "all", by: ANN, reason: "stop it" }]);
  });

  test("Q-13 a tool whose halt was lifted within the turn runs again, unstopped", async () => {
    const job = toolOf(
      "job",
      async ({ x }, context) => {
        if (x === "1") return onAbort(null, context);
        await setImmediate();
        return context.signal.aborted ? "stopped" : "done";
      },
      { repeat: "read" },
    );
    const resume = toolOf(
      "resume",
      async () => {
        await w.order({ kind: "work.resumed", scope: "tool:job", by: ANN, reason: "" });
        await w.wish({ kind: "steer", text: "look" });
        return "resumed";
      },
      { repeat: "read" },
    );
    const steps = [reply.calls([call("job", "1")]), reply.calls([call("resume")]), reply.calls([call("job", "2")]), reply.text("ok")];
    const { w } = stage(steps, PERMIT_ALL, { tools: [job, resume] });
    const running = w.run("go");
    await setImmediate();
    await w.order(halt("tool:job"));
    await w.wish({ kind: "steer", text: "look" });
    expect((await running).last).toMatchObject({ ending: "completed" });
    expect(results(w)).toEqual([expect.stringContaining("[failed]"), "resumed", "done"]);
    expect(w.events("turn.halted")).toEqual([]);
  });

  test.each(["all", "agent:tester", "tool:send"])(
    "Q-13 while %s is halted, a tool is not asked about an old call either",
    async (scope) => {
      const { w, asked } = await withUnknown();
      await w.order(halt(scope));
      await w.wish({ kind: "resolve", call: callId("1.0"), as: "reconcile", note: "" });
      await w.go();
      expect([asked(), w.state().unknowns.size]).toEqual([0, 1]);
      expect(w.events("gate.decided").findLast((e) => e.id === "reconcile:1.0")?.verdict).toMatchObject({ kind: "deny", by: "halt" });
    },
  );

  test("Q-13 a halt that commits before the tool is asked about an old call: it is not asked", async () => {
    let armed = false;
    const { w, asked } = await withUnknown((p) => ({
      ...p,
      journal: {
        ...p.journal,
        append: async (a) => {
          if (armed && a.events.some((e) => e.event.kind === "gate.decided")) await w.order(halt("all"));
          return p.journal.append(a);
        },
      },
    }));
    armed = true;
    await w.wish({ kind: "resolve", call: callId("1.0"), as: "reconcile", note: "" });
    await w.go();
    expect(asked()).toBe(0);
    expect(w.state().unknowns.get(callId("1.0"))?.gated).toBeNull();
  });

  /** One call of `send` whose outcome is unknown, its turn over. */
  async function withUnknown(
    spoil: (p: Ports) => Ports = (p) => p,
    says: () => Promise<unknown> = async () => ({ kind: "happened", output: "yes" }),
  ) {
    let asked = 0;
    const send = toolOf("send", forever, {
      repeat: "reconcile",
      timeoutMs: 50,
      reconcile: (() => {
        asked += 1;
        return says();
      }) as never,
    });
    const { w } = stage([reply.calls([call("send")]), reply.text("unknown then"), hang()], REST, { tools: [send], spoil });
    const running = w.run("go");
    await setImmediate();
    w.clock.advance(50);
    await setImmediate();
    w.clock.advance(250);
    await running;
    return { w, asked: () => asked };
  }

  test("Q-20 a cancelled turn does not stop the question to a tool that is asked right after it", async () => {
    const { w, asked } = await withUnknown();
    await w.wish({ kind: "say", text: "more" });
    const running = w.go();
    await setImmediate();
    await w.wish({ kind: "cancel", reason: "enough" });
    await w.wish({ kind: "resolve", call: callId("1.0"), as: "reconcile", note: "" });
    await running;
    await w.go();
    expect([asked(), w.state().unknowns.size]).toEqual([1, 0]);
  });

  test("Q-20 what stopped a turn does not stop a tool that is asked once it has ended", async () => {
    let asked = 0;
    const send = toolOf("send", onAbort, {
      repeat: "reconcile",
      reconcile: (async () => {
        await setImmediate();
        return { kind: "happened", output: `asked ${++asked}` };
      }) as never,
    });
    const spoil = (p: Ports): Ports => ({
      ...p,
      journal: {
        ...p.journal,
        append: async (a) => {
          const first = await p.journal.append(a);
          if (a.events.some((e) => e.event.kind === "turn.ended"))
            await w.wish({ kind: "resolve", call: callId("1.0"), as: "reconcile", note: "" });
          return first;
        },
      },
    });
    const { w } = stage([reply.calls([call("send")])], REST, { tools: [send], spoil });
    const running = w.run("go");
    await setImmediate();
    await w.wish({ kind: "cancel", reason: "enough" });
    await running;
    expect([asked, w.state().unknowns.size, w.processes()]).toEqual([1, 0, 1]);
  });

  test("Q-20 a tool is asked once, whatever else arrives while it thinks", async () => {
    const said = Promise.withResolvers<unknown>();
    let asked = 0;
    const { w } = await withUnknown(undefined, () => {
      asked += 1;
      return said.promise;
    });
    await w.wish({ kind: "resolve", call: callId("1.0"), as: "reconcile", note: "" });
    const running = w.go();
    await setImmediate();
    await w.wish({ kind: "steer", text: "hello?" });
    await setImmediate();
    said.resolve({ kind: "did-not-happen" });
    await running;
    expect([asked, w.state().unknowns.size, w.events("recovery.applied").length]).toEqual([1, 0, 1]);
  });

  test("Q-20 an old call may be asked about in somebody else's turn, and across its end", async () => {
    const { w, asked } = await withUnknown();
    await w.wish({ kind: "say", text: "more" }, BOB);
    await w.wish({ kind: "cancel", reason: "enough" });
    await w.wish({ kind: "resolve", call: callId("1.0"), as: "reconcile", note: "" });
    expect((await w.go()).last).toMatchObject({ ending: "cancelled" });
    expect([asked(), w.state().unknowns.size]).toEqual([1, 0]);
  });
});

describe("unknowns", () => {
  const crash = { crashes: [{ of: "effect", when: "after", nth: 0 } as const] };

  test("Q-1 an answer about one unknown says nothing about the next: the question is asked again, and says why", async () => {
    const slow = toolOf("slow", forever, { timeoutMs: 50, resource: () => ({ type: "Account", id: "a" }) });
    const twice = [call("slow", "1", "x"), call("slow", "1", "y")];
    const { w } = stage([reply.calls([call("slow")]), reply.calls(twice)], REST, { tools: [slow], limits: { toolsAtOnce: 1 } });
    const pass = async (running: Promise<unknown>) => {
      await setImmediate();
      w.clock.advance(50);
      await setImmediate();
      w.clock.advance(250);
      await running;
    };
    await pass(w.run("go"));
    expect(open(w).map((q) => q.asks.map((a) => a.policy))).toEqual([["orgate:unknown-open/1.0"], ["orgate:unknown-open/1.0"]]);
    await say(w, APPROVE, ANN, 0);
    await say(w, APPROVE, ANN, 1);
    await pass(w.go());
    expect(w.events("act.started").map((e) => e.call)).toEqual(["1.0", "2.0"]);
    expect(open(w).map((q) => q.asks.map((a) => a.policy))).toEqual([["orgate:unknown-open/1.0", "orgate:unknown-open/2.0"]]);
    expect(w.events("approval.asked").at(-1)?.again).toContain("orgate:unknown-open/2.0 asks too");
  });

  test("G-4 the same tool on another resource, another tool on the same resource, and a resource of another type do not ask; the same digest does", async () => {
    const at = (type: string, id: string) => ({ resource: () => ({ type, id }) });
    const tools = [
      toolOf("other", () => "fine", at("Account", "a")),
      toolOf("typed", ({ x }) => x, { resource: (a) => ({ type: (a as { x: string }).x, id: "same" }) }),
    ];
    const steps = [
      reply.calls([pay("a"), call("typed", "Left")]),
      reply.calls([pay("b", "b"), call("other", "1"), call("typed", "Right"), pay("a", "again")]),
    ];
    const { w } = stage(steps, REST, { tools, crashes: [{ of: "effect", when: "after", nth: 1 }], limits: { toolsAtOnce: 2 } });
    await w.run("go");
    expect([...w.state().unknowns.keys()]).toEqual(["1.0", "1.1"]);
    expect(open(w).map((q) => q.action)).toEqual(["2.3"]);
  });

  test("G-4 other arguments on the same resource ask too", async () => {
    const wire = toolOf("wire", ({ x }) => x, { resource: () => ({ type: "Account", id: "a" }) });
    const { w } = stage([reply.calls([call("wire", "10 euros")]), reply.calls([call("wire", "20 euros")])], REST, {
      tools: [wire],
      ...crash,
    });
    await w.run("go");
    expect(open(w)).toMatchObject([{ action: "2.0", asks: [{ policy: "orgate:unknown-open/1.0" }] }]);
  });

  test("Q-7 with two questions about one call each wants those who count for it: one person's yes is not another's", async () => {
    const { w, ran } = stage(
      [reply.calls([pay("a")]), reply.calls([pay("a", "two")]), reply.text("ok")],
      asks({ approvers: ["finance"] }),
      {
        groups: { bob: ["finance"] },
        crashes: [{ of: "append", when: "after", nth: 99 }, ...crash.crashes],
      },
    );
    await w.run("go");
    await say(w, APPROVE, BOB);
    await w.go();
    expect(open(w)[0]?.asks.map((a) => a.policy)).toEqual(["ask-pay", "orgate:unknown-open/1.0"]);
    await say(w, APPROVE, ANN);
    await w.go();
    expect([ran, open(w).length]).toEqual([["a"], 1]);
    await say(w, APPROVE, BOB);
    await w.go();
    expect(ran).toEqual(["a", "a"]);
  });

  test("Q-1 a policy that was loosened meanwhile: the answer is used up all the same", async () => {
    let rows: readonly Row[] = asks();
    const { w, ran } = stage([reply.calls([pay("a")]), reply.text("ok")], rows, {
      spoil: (p) => ({ ...p, gate: tableGate(rows, sha256) }),
    });
    await w.run("go");
    rows = REST;
    await say(w, APPROVE);
    await w.go();
    expect([ran, w.events("approval.consumed").length]).toEqual([["a"], 1]);
  });

  test("Q-1 an answer was given for these policies: when one of them changed, it is asked afresh", async () => {
    let rows: readonly Row[] = asks();
    const spoil = (p: Ports): Ports => ({ ...p, gate: tableGate(rows, sha256) });
    const { w, ran } = stage([reply.calls([pay("a")])], rows, { spoil });
    await w.run("go");
    rows = [...asks().slice(0, 1), { id: "new", action: "tool:pay", labels: ["never-there"], verdict: "deny" }, ...REST]; // the same policy asks; what can decide is another set
    await say(w, APPROVE);
    await w.go();
    expect(ran).toEqual([]);
    expect(w.events("approval.asked").map((e) => e.again)).toEqual([null, expect.stringContaining("changed")]);
  });

  test("Q-1 an answer was given for this action: a tool that was edited meanwhile makes it another", async () => {
    const spoil = (p: Ports): Ports =>
      p.journal.writer === "w1" ? p : { ...p, tools: { ...p.tools, find: (n) => changed(p.tools.find(n), { description: "pays twice" }) } };
    const { w, ran } = stage([reply.calls([pay("a")])], asks(), { spoil });
    await w.run("go");
    await say(w, APPROVE);
    await w.go();
    expect(ran).toEqual([]);
    expect(w.events("approval.asked").map((e) => e.again)).toEqual([null, "it is not what was answered"]);
  });
});

describe("what others hand in", () => {
  test.each<[string, unknown]>([
    ["nothing", undefined],
    ["no parts", { finish: "stop", usage: { input: 1, output: 1 }, model: "m", meta: null }],
    ["a part without text", { parts: [{ kind: "text" }], finish: "stop", usage: { input: 1, output: 1 }, model: "m", meta: null }],
    ["half a token", { parts: [], finish: "stop", usage: { input: 0.5, output: 1 }, model: "m", meta: null }],
    ["a promise as meta", { parts: [], finish: "stop", usage: { input: 1, output: 1 }, model: "m", meta: Promise.resolve() }],
    ["an unknown finish", { parts: [], finish: "maybe", usage: { input: 1, output: 1 }, model: "m", meta: null }],
  ])("L-28 a model's adapter that returns %s fails the turn, and not the drive", async (_, given) => {
    const model: Model = { id: "odd/model", ask: async () => given as never };
    const s = await world({ hash: sha256, model }).run("go");
    expect(s.last).toMatchObject({ ending: "failed", detail: expect.stringContaining("no reply") });
  });

  test("L-28 a model that throws at once, or something odd, fails the turn with a text", async () => {
    const odd = {
      toString: () =>
        ((): never => {
          throw new Error("no");
        })(),
    };
    for (const thrown of [new Error("plain"), "text", Symbol("odd"), odd, null]) {
      const ask: Model["ask"] = () => {
        throw thrown;
      };
      const s = await world({ hash: sha256, model: { id: "odd/model", ask } }).run("go");
      expect(s.last).toMatchObject({ ending: "failed", detail: expect.any(String) });
    }
  });

  test("L-28 what a reply holds is the journal's own: its adapter cannot change it afterwards", async () => {
    const part = { kind: "text" as const, text: "as said \ud800", meta: null };
    const model: Model = {
      id: "odd/model",
      ask: async () => {
        void setImmediate().then(() => Object.assign(part, { text: "changed" }));
        return { parts: [part], finish: "stop", usage: { input: 1, output: 1 }, model: "m", meta: null };
      },
    };
    const w = world({ hash: sha256, model });
    const s = await w.run("go");
    await setImmediate();
    expect(s.messages.at(-1)).toMatchObject({ parts: [{ text: "as said \ufffd" }] });
    expect(w.state().messages).toEqual(s.messages);
  });

  test("T-6 a tool's notes never stop the drive: what is no JSON or too long is left out with a word", async () => {
    const circle: Record<string, unknown> = {};
    circle["self"] = circle;
    const noting = toolOf("noting", (_, { note }) => {
      const changing = { step: 1 };
      note("as it was", changing);
      changing.step = 2;
      note("circle", circle as never);
      note("nothing", undefined as never);
      note("long", "x".repeat(20_000));
      note(Symbol("name") as never, 1);
      note("n".repeat(500), "\ud800");
      return "done";
    });
    const { w } = stage([reply.calls([call("noting")]), reply.text("ok")], PERMIT_ALL, { tools: [noting] });
    expect((await w.run("go")).last).toMatchObject({ ending: "completed" });
    expect(w.events("note").map((e) => e.value)).toEqual([
      { step: 1 },
      expect.stringContaining("left out"),
      expect.stringContaining("left out"),
      expect.stringContaining("left out"),
      1,
      "\ufffd",
    ]);
    expect(Math.max(...w.events("note").map((e) => e.name.length))).toBe(64);
  });

  test("T-6 whatever a tool throws is told as a text", async () => {
    const odd = { toString: () => 5 };
    for (const thrown of [Symbol("odd"), odd, Object.create(null), undefined, "\ud800"]) {
      const tool = toolOf("odd", () => {
        throw thrown;
      });
      const { w } = stage([reply.calls([call("odd")]), reply.text("ok")], PERMIT_ALL, { tools: [tool] });
      expect((await w.run("go")).last).toMatchObject({ ending: "completed" });
      expect(w.events("act.ended")).toMatchObject([{ outcome: { kind: "failed", error: expect.any(String) } }]);
    }
  });

  test("L-26 a watcher that throws changes nothing", async () => {
    const spoil = (p: Ports): Ports => ({
      ...p,
      watch: () => {
        throw new Error("the screen is gone");
      },
    });
    const { w, ran } = stage([reply.calls([pay("a")]), reply.text("ok")], PERMIT_ALL, { spoil });
    expect((await w.run("go")).last).toMatchObject({ ending: "completed" });
    expect(ran).toEqual(["a"]);
  });

  const poison: readonly unknown[] = [
    undefined,
    null,
    "say",
    {},
    { kind: "nonsense" },
    { kind: "say" },
    { kind: "steer", text: 5 },
    { kind: "cancel" },
    { kind: "cancel", reason: { toString: 5 } },
    { kind: "answer" },
    { kind: "answer", approval: "q", digest: "d", answer: null },
    { kind: "answer", approval: "q", digest: "d", answer: { kind: "deny" } },
    { kind: "answer", approval: "q", digest: "d", answer: { kind: "edit", args: [] } },
    { kind: "answer", approval: "q", digest: "d", answer: { kind: "grant" } },
    { kind: "answer", approval: "q", digest: "d", answer: { kind: "grant", grant: { scope: "world", until: "turn" } } },
    { kind: "answer", approval: "q", digest: "d", answer: { kind: "grant", grant: { scope: "tool", until: "ever" } } },
    { kind: "resolve", call: "1.0", as: "eaten", note: "" },
    { kind: "resolve", call: "1.0", as: "happened" },
    { kind: "late", call: "1.0" },
    { kind: "late", call: "1.0", outcome: { kind: "done" } },
    { kind: "unreadable", detail: "not JSON" },
  ];

  test("L-19 rows that nobody can understand are refused and journalled, and block nothing", async () => {
    const { w, ran } = stage([reply.calls([pay("a")]), reply.text("ok")], asks());
    await w.run("go");
    for (const [i, wish] of poison.entries())
      put(w, `odd${i}`, { by: i % 2 === 0 ? ANN : { kind: "system", id: "w1" }, wish: wish as IntentBody });
    put(w, "odd-by-1", { by: undefined as never, wish: { kind: "cancel", reason: "" } });
    put(w, "odd-by-2", { by: { kind: "god", id: 5 } as never, wish: { kind: "cancel", reason: "" } });
    await say(w, APPROVE);
    expect((await w.go()).last).toMatchObject({ ending: "completed" });
    expect(ran).toEqual(["a"]);
    expect(refusals(w)).toHaveLength(poison.length + 2);
    expect([...w.disk.inbox.values()].filter((row) => row.intent !== null)).toEqual([]);
  });

  test("L-19 an authentication that throws, or says no, refuses the row", async () => {
    const spoil = (p: Ports): Ports => ({
      ...p,
      authenticate: (intent) => {
        if (intent.by.id === "eve") return { kind: "refused", reason: "not signed by eve" };
        if (intent.by.id === "bob") throw new Error("no key at hand");
        return { kind: "genuine" };
      },
    });
    const { w } = stage([reply.calls([pay("a")])], asks(), { spoil });
    await w.run("go");
    await w.wish({ kind: "cancel", reason: "" }, { kind: "user", id: "eve" });
    await w.wish({ kind: "cancel", reason: "" }, BOB);
    await w.go();
    expect(refusals(w)).toEqual(["not signed by eve", expect.stringContaining("no key at hand")]);
    expect(w.state().turn).not.toBeNull();
  });

  test("T-6 only the runtime reports a late outcome, and only of a call that is unknown", async () => {
    const { w } = stage([reply.calls([pay("a")]), reply.text("ok")], REST, { crashes: [{ of: "effect", when: "after", nth: 0 }] });
    await w.run("go");
    const outcome = { kind: "done", output: "1" } as const;
    await w.wish({ kind: "late", call: callId("1.0"), outcome }, ANN);
    await w.wish({ kind: "late", call: callId("9.9"), outcome }, { kind: "system", id: "w1" });
    await w.go();
    expect(refusals(w)).toEqual([expect.stringContaining("only the runtime"), expect.stringContaining("known already")]);
    expect(w.state().unknowns.size).toBe(1);
    put(w, "odd", {
      by: { kind: "system", id: "w1" },
      wish: { kind: "late", call: callId("1.0"), outcome: { kind: "done", output: new Map() as never } },
    });
    await w.go();
    expect([w.state().unknowns.size, refusals(w).at(-1)]).toEqual([1, expect.stringContaining("cannot be understood")]);
    await w.wish({ kind: "late", call: callId("1.0"), outcome }, { kind: "system", id: "w1" });
    await w.go();
    expect(w.state().unknowns.size).toBe(0);
  });
});

/** A row as a foreign writer might leave it. */
function put(w: World, id: string, given: Pick<Intent, "by" | "wish">): void {
  const intent: Intent = { id: intentId(id), session: w.session(), at: w.clock.now(), key: null, signature: null, ...given };
  w.disk.inbox.set(intent.id, { id: intent.id, session: intent.session, intent, arrivedAt: w.clock.now() });
}

describe("time, people, answers", () => {
  test("L-25 a clock that is set back neither turns the stream's time around nor gives a turn time it does not have", async () => {
    const { w } = stage([hang()], PERMIT_ALL, { limits: { turnMs: 100 } });
    const running = w.run("go");
    await setImmediate();
    w.clock.set(w.clock.now() - 3_600_000);
    w.clock.advance(100);
    const s = await running;
    expect(s.last).toMatchObject({ ending: "timed-out", activeMs: 100 });
    const at = w.entries().map((e) => e.at);
    expect(at).toEqual([...at].sort((a, b) => a - b));
  });

  test("L-25 a clock that was set back does not hold up what is due: it is denied, once", async () => {
    const rows: readonly Row[] = [{ id: "later", action: "tool:pay", verdict: "defer", deferMs: 1_000 }, ...REST];
    const slow = toolOf(
      "slow",
      async () => {
        w.clock.set(w.clock.now() - 3_600_000);
        w.clock.advance(1_000);
        return "slow";
      },
      { repeat: "read" },
    );
    const { w, ran } = stage([reply.calls([pay("a"), call("slow")]), reply.text("ok")], rows, { tools: [slow] });
    expect((await w.run("go")).last).toMatchObject({ ending: "completed" });
    expect(ran).toEqual([]);
    expect(results(w)).toEqual([expect.stringContaining("could not be decided in time"), "slow"]);
  });

  test("L-27 a turn is decided, answered and asked about on behalf of whoever started it", async () => {
    const seen: Facts["onBehalfOf"][] = [];
    const acts: UserAct[] = [];
    const spoil = (p: Ports): Ports => ({
      ...p,
      gate: {
        ...p.gate,
        decide: (action, facts) => {
          seen.push(facts.onBehalfOf, ...(action.kind === "respond" ? [action.to] : []));
          return p.gate.decide(action, facts);
        },
        decideFor: (user, act) => {
          acts.push(act);
          return p.gate.decideFor(user, act);
        },
      },
    });
    const { w } = stage([reply.text("hello ann"), reply.calls([pay("a")]), reply.text("hello bob")], asks(), { spoil });
    await w.run("go");
    expect(seen.every((who) => who.id === "ann")).toBe(true);
    seen.length = 0;
    await w.wish({ kind: "say", text: "pay" }, BOB);
    await w.go();
    await say(w, APPROVE, ANN);
    await w.go();
    expect(seen.length).toBeGreaterThan(0);
    expect(seen.every((who) => who.id === "bob")).toBe(true);
    expect(acts).toMatchObject([
      { kind: "say", requester: "ann", agent: "tester" }, // in the session that runs for ann
      { kind: "approve", requester: "bob", tool: "pay", agent: "tester" },
    ]);
  });

  test("Q-22 whoever holds a session decides who speaks in it, steers and cancels, whichever way the intent came", async () => {
    const decided: string[] = [];
    const spoil = (p: Ports): Ports => ({
      ...p,
      gate: {
        ...p.gate,
        decideFor(user, act) {
          decided.push(`${user} ${act.kind}`);
          const open = { kind: "deny", by: "policy", because: [], faults: [], reason: "no policy permits it" } as const;
          const isAllowed = user === "ann" && act.kind === "run";
          return isAllowed ? p.gate.decideFor(user, act) : { ...p.gate.decideFor(user, act), verdict: open };
        },
      },
    });
    const { w } = stage([reply.text("one"), reply.text("two")], asks(), { spoil });
    await w.run("go");
    const wishes: readonly IntentBody[] = [
      { kind: "say", text: "x" },
      { kind: "follow-up", text: "x" },
      { kind: "steer", text: "x" },
      { kind: "cancel", reason: "x" },
      { kind: "cancel-all", reason: "x" },
      { kind: "clear" },
      { kind: "compact", tokens: null },
      { kind: "choose-model", model: "m" },
    ];
    for (const wish of wishes) await w.wish(wish, BOB);
    await w.go();
    const refused = w.events("intent.refused");
    expect(refused).toHaveLength(wishes.length);
    for (const { reason } of refused) expect(reason).toMatch(/^`bob` may not (say|steer|cancel) it: no policy permits it$/);
    expect(decided).not.toContain("bob run"); // it is not bob's session
    await w.wish({ kind: "say", text: "y" }, ANN);
    await w.go();
    expect(decided).toContain("ann run"); // hers, and she may have it run
    expect(w.events("turn.started")).toHaveLength(2);
  });

  test("Q-9 a grant given in one person's turn covers no other person's", async () => {
    const steps = [reply.calls([pay("a")]), reply.text("first"), reply.calls([pay("a", "two")])];
    const { w, ran } = stage(steps, asks({ grant: "session" }));
    await w.run("go");
    await say(w, { kind: "grant", grant: { scope: "resource", until: "session" } });
    await w.go();
    await w.wish({ kind: "say", text: "again" }, BOB);
    await w.go();
    expect(ran).toEqual(["a"]);
    expect(open(w)).toHaveLength(1);
  });

  const check: readonly Row[] = [{ id: "check", action: "respond", verdict: "ask" }, ...allowRest];
  test("Q-6 an answer that was overtaken by a person's word takes its question with it", async () => {
    const { w } = stage([reply.text("old answer"), reply.text("new answer")], check);
    await w.run("go");
    const [old] = open(w);
    if (old === undefined) throw new Error("no question");
    await w.wish({ kind: "steer", text: "no, the other one" });
    await w.wish({ kind: "answer", approval: old.approval, digest: old.digest, answer: APPROVE });
    await w.go();
    expect(refusals(w)).toEqual([expect.stringContaining("no open approval request")]);
    expect(open(w)).toHaveLength(1);
    await say(w, APPROVE);
    expect((await w.go()).last).toMatchObject({ ending: "completed", output: "new answer" });
    expect(w.events("approval.consumed").map((e) => e.approval)).toEqual([w.events("approval.asked")[1]?.approval]);
  });

  test("Q-6 the question about an answer is bound to its text", async () => {
    const { w } = stage([reply.text("one"), reply.text("two")], check);
    await w.run("go");
    await w.wish({ kind: "steer", text: "again" });
    await w.go();
    const [one, two] = w.events("approval.asked");
    expect(one?.digest).not.toBe(two?.digest);
  });

  test("Q-3 leave to ask the model is used up by asking it: the next request is asked about again", async () => {
    const rows: readonly Row[] = [{ id: "ask-model", action: "model", verdict: "ask" }, ...REST];
    const { w } = stage([reply.calls([pay("a")]), reply.text("ok")], rows);
    await w.run("go");
    await say(w, APPROVE);
    await w.go();
    const kinds = w.entries().map((e) => e.event.kind);
    expect(kinds.indexOf("model.asked") - kinds.indexOf("approval.consumed")).toBe(1);
    expect(open(w)).toMatchObject([{ action: "model:2" }]);
    await say(w, APPROVE);
    expect((await w.go()).last).toMatchObject({ ending: "completed" });
    expect(w.events("approval.consumed").map((e) => e.action)).toEqual(["model:1", "model:2"]);
  });

  test("Q-12 a model call or an answer that is put off comes due like a call: denied when its time is up, decided when a label has come", async () => {
    for (const action of ["model", "respond"]) {
      const rows: readonly Row[] = [{ id: "later", action, verdict: "defer", deferMs: 1_000 }, ...allowRest];
      const { w } = stage(action === "model" ? [] : [reply.text("one"), reply.text("two"), reply.text("three")], rows, {
        limits: { refusedInARow: 1 },
      });
      expect((await w.run("go")).turn, action).not.toBeNull();
      w.clock.advance(999);
      expect((await w.go()).turn, action).not.toBeNull();
      w.clock.advance(1);
      expect((await w.go()).last, action).toMatchObject({ ending: "denied" });
    }
  });

  test("Q-12 only so many calls are put off at a time; the others are denied at once", async () => {
    const rows: readonly Row[] = [{ id: "later", action: "tool:pay", verdict: "defer", deferMs: 1_000 }, ...REST];
    const calls = Array.from({ length: 10 }, (_, i) => pay(String(i)));
    const { w } = stage([reply.calls(calls), reply.text("ok")], rows);
    await w.run("go");
    expect(callsIn(w.state().turn).map((c) => c.gated.kind)).toEqual([...Array(8).fill("deferred"), "denied", "denied"]);
    w.clock.advance(1_000);
    expect((await w.go()).last).toMatchObject({ ending: "completed" });
  });

  test("Q-12 what is put off again for another reason keeps its due time", async () => {
    const rows: readonly Row[] = [{ id: "later", action: "tool:pay", verdict: "defer", deferMs: 1_000 }, ...REST];
    const slow = toolOf(
      "slow",
      () => {
        w.clock.advance(500);
        return "slow";
      },
      { repeat: "read" },
    );
    const { w } = stage([reply.calls([pay("a"), call("slow")]), reply.text("ok")], rows, { tools: [slow] });
    await w.run("go");
    const decisions = w.events("gate.decided").filter((e) => e.id === "1.0");
    expect(decisions.length).toBeGreaterThan(1); // once more for each thing that has changed
    expect(new Set(decisions.map((e) => e.verdict.kind))).toEqual(new Set(["defer"]));
    w.clock.advance(500);
    expect((await w.go()).last).toMatchObject({ ending: "completed" });
  });

  test("Q-6 an answer to deliver has no arguments to edit, and leave to deliver it is not remembered", async () => {
    const { w } = stage(
      [reply.text("the answer")],
      [{ id: "check", action: "respond", verdict: "ask", terms: { grant: "tool session" } }, ...allowRest],
    );
    await w.run("go");
    await say(w, { kind: "grant", grant: { scope: "digest", until: "session" } });
    await say(w, { kind: "edit", args: { text: "another" } });
    await w.go();
    expect(refusals(w)).toEqual([expect.stringContaining("only an answer about a tool's call"), "there are no arguments to edit"]);
    expect(open(w)).toHaveLength(1);
  });

  test("Q-6 an answer that a person keeps back goes to the model with the reason, and it may try another", async () => {
    const { w, model } = stage([reply.text("too blunt"), reply.text("kinder")], check);
    await w.run("go");
    await say(w, { kind: "deny", reason: "be kind" });
    await w.go();
    expect(model.asked[1]?.messages.at(-1)).toMatchObject({ role: "note", text: expect.stringContaining("be kind") });
    await say(w, APPROVE);
    expect((await w.go()).last).toMatchObject({ ending: "completed", output: "kinder" });
  });

  test("G-2 the gate is told what was spent, of the turn and of the session, lost replies included", async () => {
    const seen: (readonly [string, Facts["spent"]])[] = [];
    const spoil = (p: Ports): Ports => ({
      ...p,
      gate: {
        ...p.gate,
        decide: (action, facts) => {
          if (action.kind === "model") seen.push([action.kind, facts.spent]);
          return p.gate.decide(action, facts);
        },
      },
    });
    const usage = { usage: { input: 7, output: 3 } };
    const steps = [reply.calls([pay("a")], usage), reply.text("lost"), reply.text("one", usage), reply.text("two", usage)];
    const { w } = stage(steps, REST, { spoil, crashes: [{ of: "model", when: "after", nth: 1 }] });
    const first = (await w.run("go")).last;
    await w.wish({ kind: "say", text: "more" });
    await w.go();
    const lost = (first?.lost.input ?? 0) + (first?.lost.output ?? 0);
    expect(lost).toBeGreaterThan(0);
    expect(seen.map(([, spent]) => [spent.turn, spent.session])).toEqual([
      [0, 0],
      [10, 10],
      [10 + lost, 10 + lost],
      [0, 20 + lost],
    ]);
  });

  test("L-24 a call is counted once, however often it is decided", async () => {
    const rows: readonly Row[] = [
      { id: "two", action: "tool:put", callsBelow: 2, verdict: "allow" },
      { id: "no-more", action: "tool:put", verdict: "deny" },
      ...REST,
    ];
    const reveal = toolOf("reveal", () => "seen", { repeat: "read", labels: ["secret"] });
    const put = toolOf("put", ({ x }) => x, { repeat: "idempotent" });
    const steps = [
      reply.calls([call("reveal"), call("put", "a")]),
      reply.calls([call("put", "b")]),
      reply.calls([call("put", "c")]),
      reply.text("ok"),
    ];
    const queued = stage(steps, rows, { tools: [reveal, put], limits: { toolsAtOnce: 1 } });
    await queued.w.run("go");
    expect(results(queued.w)).toEqual(["seen", "a", "b", expect.stringContaining("no-more")]);
    const crashed = stage(steps, rows, { tools: [reveal, put], crashes: [{ of: "effect", when: "after", nth: 1 }] });
    await crashed.w.run("go");
    expect(results(crashed.w)).toEqual(["seen", "a", "b", expect.stringContaining("no-more")]);

    const three: readonly Row[] = [{ id: "three", action: "tool:put", callsBelow: 3, verdict: "allow" }, ...rows.slice(1)];
    const two = [reply.calls([call("put", "a"), call("put", "b")]), reply.calls([call("put", "c"), call("put", "d")]), reply.text("ok")];
    const waiting = stage(two, three, { tools: [put], limits: { toolsAtOnce: 1 }, crashes: [{ of: "effect", when: "after", nth: 0 }] });
    await waiting.w.run("go");
    expect(results(waiting.w)).toEqual(["a", "b", "c", expect.stringContaining("no-more")]);
  });

  test("C-1 a long session shows the model its task and what fits beside it, turn after turn", async () => {
    const long = toolOf("long", ({ x }) => x.padEnd(200, "."), { repeat: "read" });
    const looks = ["1", "2", "3", "4"].map((x) => reply.calls([call("long", x)]));
    const { w, model } = stage([...looks, reply.text("first"), reply.calls([call("long", "5")]), reply.text("second")], PERMIT_ALL, {
      tools: [long],
      limits: { contextTokens: 200 },
    });
    await w.run("the first task");
    await w.wish({ kind: "say", text: "the second task" });
    await w.go();
    for (const [i, { messages }] of model.asked.entries()) {
      const task = i < 5 ? "the first task" : "the second task";
      expect(
        messages.filter((m) => m.role === "user" && m.text === task),
        `request ${i + 1}`,
      ).toHaveLength(1);
      expect(messages[0]?.role, `request ${i + 1}`).toBe("user");
      expect(
        messages.reduce((n, m) => n + m.tokens, 0),
        `request ${i + 1}`,
      ).toBeLessThanOrEqual(190); // the agent itself takes ten
    }
    expect(model.asked[4]?.messages.length).toBeLessThan(w.state().messages.length);
  });

  test("L-17 what was cut off belongs to its own continuation, and to nothing later", async () => {
    const look = toolOf("look", () => "seen", { repeat: "read" });
    const steps = [reply.text("half of ", { finish: "length" }), reply.calls([call("look")]), reply.text("the whole")];
    const { w } = stage(steps, PERMIT_ALL, { tools: [look] });
    expect((await w.run("go")).last).toMatchObject({ ending: "completed", output: "the whole" });
  });

  test("L-17 three pieces are one answer", async () => {
    const steps = [reply.text("a", { finish: "length" }), reply.text("b", { finish: "length" }), reply.text("c")];
    expect((await stage(steps, PERMIT_ALL).w.run("go")).last).toMatchObject({ output: "abc", iterations: 3 });
  });

  test.each(["refused", "filtered"] as const)("L-17 what a %s reply asks for is not done, and is told as not run", async (finish) => {
    const { w, ran } = stage([reply.calls([pay("a")], { finish, text: "no" })], PERMIT_ALL);
    expect((await w.run("go")).last).toMatchObject({ ending: finish, output: "no" });
    expect(ran).toEqual([]);
    expect(w.events("gate.decided").filter((e) => e.action.kind === "call")).toEqual([]);
    expect(results(w)).toEqual([expect.stringContaining("[not run]")]);
  });

  test("L-18 a cancel that comes with the question ends the turn: it does not wait for a person", async () => {
    const stop = new AbortController();
    const spoil = (p: Ports): Ports => ({
      ...p,
      journal: {
        ...p.journal,
        append: async (a) => {
          const first = await p.journal.append(a);
          if (a.events.some((e) => e.event.kind === "approval.asked")) stop.abort("now");
          return first;
        },
      },
    });
    const { w } = stage([reply.calls([pay("a")])], asks(), { spoil });
    expect((await w.run("go", stop.signal)).last).toMatchObject({ ending: "cancelled", detail: "now" });
  });

  test("L-18 cancelling does not wait for a tool that is asked what became of its call", async () => {
    const send = toolOf("send", () => "sent", { repeat: "reconcile", reconcile: forever as never });
    const { w } = stage([reply.calls([call("send")])], PERMIT_ALL, { tools: [send], crashes: [{ of: "effect", when: "after", nth: 0 }] });
    const running = w.run("go");
    await setImmediate();
    await w.wish({ kind: "cancel", reason: "enough" });
    expect((await running).last).toMatchObject({ ending: "cancelled" });
    expect(w.events("recovery.applied")).toMatchObject([{ found: "cannot-tell" }]);
    expect(w.events("act.ended")).toMatchObject([{ outcome: { kind: "unknown", cause: "not-reconciled" } }]);
  });

  test("M-4 a model call in flight at a crash is lost: its reservation counts as used, and it is repeated at most twice", async () => {
    const crash = { of: "model", when: "after", nth: 0 } as const;
    const once = stage([reply.text("lost"), reply.text("found")], PERMIT_ALL, { crashes: [crash] });
    const s = await once.w.run("go");
    const [first] = once.w.events("model.asked");
    expect(s.last).toMatchObject({ ending: "completed", output: "found", lost: first?.reserved });
    expect(first?.reserved.output).toBeGreaterThan(0);

    const thrice = stage([reply.text("1"), reply.text("2"), reply.text("3")], PERMIT_ALL, { crashes: [crash, crash, crash] });
    expect((await thrice.w.run("go")).last).toMatchObject({ ending: "failed", detail: expect.stringContaining("in flight") });
    expect(thrice.w.events("model.asked").map((e) => e.attempt)).toEqual([1, 2, 3]);
  });

  test("L-16 what was lost is not promised again", async () => {
    const { w } = stage([reply.text("lost")], PERMIT_ALL, {
      crashes: [{ of: "model", when: "after", nth: 0 }],
      limits: { tokens: 500, contextTokens: 100, outputTokens: 450 },
    });
    expect((await w.run("go")).last).toMatchObject({ ending: "out-of-tokens" });
  });

  test("J-6 the list says `waiting` while a question is open and `running` once all are answered", async () => {
    const { w } = stage([reply.calls([pay("a"), pay("b")]), reply.text("ok")], asks());
    await w.run("go");
    const line = () => w.entries().reduce((before: ReturnType<typeof summariseSession>, e) => summariseSession(before, e), null);
    expect(line()).toMatchObject({ state: "waiting", openQuestions: 2 });
    await say(w, APPROVE);
    await w.go();
    expect(line()).toMatchObject({ state: "waiting", openQuestions: 1 });
    await say(w, APPROVE);
    await w.go();
    expect(line()).toMatchObject({ state: "idle", openQuestions: 0 });
  });
});

describe("G-5 modified actions", () => {
  const redacting =
    (edits: (n: number) => string) =>
    (p: Ports): Ports => {
      let n = 0;
      return {
        ...p,
        gate: {
          ...p.gate,
          decide: (action, facts) => {
            const decision = p.gate.decide(action, facts);
            if (action.kind !== "call") return decision;
            return { ...decision, verdict: { kind: "modify", because: [], edits: [{ path: ["x"], value: edits(n++) }] } };
          },
        },
      };
    };

  test("G-5 a modified call runs with what it was modified to, gated again once", async () => {
    const { w, ran } = stage([reply.calls([pay("secret")]), reply.text("ok")], REST, { spoil: redacting(() => "[redacted]") });
    await w.run("go");
    expect(ran).toEqual(["[redacted]"]);
    expect(
      w
        .events("gate.decided")
        .filter((e) => e.id === "1.0")
        .map((e) => e.verdict.kind),
    ).toEqual(["modify", "allow"]);
  });

  test("G-5 what would be modified a second time is refused", async () => {
    const { w, ran } = stage([reply.calls([pay("secret")]), reply.text("ok")], REST, { spoil: redacting((n) => `version ${n}`) });
    await w.run("go");
    expect(ran).toEqual([]);
    expect(results(w)).toEqual([expect.stringContaining("modified again")]);
  });
});

describe("quorums and grants", () => {
  const grant = { kind: "grant", grant: { scope: "digest", until: "session" } } as const;
  const steps = [reply.calls([pay("a")]), reply.calls([pay("a", "two")])];

  test("Q-8 with a quorum one person alone remembers nothing: whoever comes second can only approve it this once", async () => {
    const { w, ran } = stage(steps, asks({ quorum: 2, grant: "session" }));
    await w.run("go");
    await say(w, APPROVE, ANN);
    await w.go();
    await say(w, grant, BOB);
    await w.go();
    expect([ran, refusals(w)]).toEqual([[], [expect.stringContaining("this once")]]);
    await say(w, APPROVE, BOB);
    await w.go();
    expect(ran).toEqual(["a"]);
    expect(await w.grants()).toEqual([]);
  });

  test("Q-8 a grant that the second person does not give is not given", async () => {
    const { w, ran } = stage(steps, asks({ quorum: 2, grant: "session" }));
    await w.run("go");
    await say(w, grant, ANN);
    await w.go();
    await say(w, APPROVE, BOB);
    await w.go();
    expect([ran, await w.grants(), open(w).length]).toEqual([["a"], [], 1]);
  });

  test("Q-8 what all of them want remembered is", async () => {
    const { w, ran } = stage(steps, asks({ quorum: 2, grant: "session" }));
    await w.run("go");
    await say(w, grant, ANN);
    await w.go();
    await say(w, grant, BOB);
    await w.go();
    expect(ran).toEqual(["a", "a"]);
    expect(await w.grants()).toHaveLength(1);
  });

  test("Q-8 a question whose arguments somebody edited is answered this once", async () => {
    const { w, ran } = stage(steps, asks({ quorum: 2, grant: "tool session" }));
    await w.run("go");
    await say(w, { kind: "edit", args: { x: "b" } }, ANN);
    await w.go();
    await say(w, { kind: "grant", grant: { scope: "resource", until: "session" } }, BOB);
    await w.go();
    expect([ran, refusals(w).length, await w.grants()]).toEqual([[], 1, []]);
  });

  test("Q-9 a grant says for whom, where and until when it is good", async () => {
    const hour = (w: World) => millis(w.clock.now() + 3_600_000);
    const given = async (terms: string, until: (w: World) => "turn" | "session" | ReturnType<typeof millis>) => {
      const { w } = stage([reply.text("hello"), reply.calls([pay("a")]), reply.text("ok")], asks({ grant: terms }));
      await w.run("go");
      await w.wish({ kind: "say", text: "pay" }, BOB);
      await w.go();
      await say(w, { kind: "grant", grant: { scope: "resource", until: until(w) } });
      await w.go();
      const [grant, ...more] = await w.grants();
      expect(more).toEqual([]);
      expect(grant).toMatchObject({
        by: ANN,
        agent: "tester",
        onBehalfOf: BOB,
        tool: "pay",
        scope: "resource",
        resource: { type: "Account", id: "a" },
        policies: ["ask-pay"],
      });
      return [grant?.session === w.session(), grant?.turn, grant?.until === null ? null : grant?.until === hour(w)];
    };
    expect(await given("session", () => "turn")).toEqual([true, 2, null]);
    expect(await given("session", () => "session")).toEqual([true, null, null]);
    expect(await given("8h", hour)).toEqual([false, null, true]);
  });

  test("Q-9 a grant until a time is measured by the driver's time", async () => {
    const { w, ran } = stage([reply.calls([pay("a")]), reply.text("first"), reply.calls([pay("a", "two")])], asks({ grant: "1h" }));
    await w.run("go");
    await say(w, { kind: "grant", grant: { scope: "digest", until: millis(w.clock.now() + 1_000) } });
    await w.go();
    w.clock.advance(1_000);
    await w.wish({ kind: "say", text: "again" });
    await w.go();
    expect(ran).toEqual(["a"]);
  });
});
