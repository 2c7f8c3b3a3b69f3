/** Approvals while work is halted: what was answered waits with the halt, and runs once when it is lifted. */
import { setImmediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { Row } from "../../gate/table.ts";
import { type CrashPoint, PERMIT_ALL, reply, type Step, scriptedModel, type World, world } from "../../testing/index.ts";
import { type Answer, DELEGATE, type Json, type SystemEvent } from "../../vocab/index.ts";
import { ANN, APPROVE, asks, BOB, call, open, pay, REST, refusals, results, say, sha256, stage, toolOf } from "../fixtures/stage.ts";
import type { Ports } from "../ports.ts";

const halt = (scope: string): SystemEvent => ({ kind: "work.halted", scope, by: ANN, reason: "stop it" });
const lift = (scope: string): SystemEvent => ({ kind: "work.resumed", scope, by: ANN, reason: "mended" });
const SCOPES = ["all", "agent:tester", "tool:pay"] as const;
const script = [reply.calls([pay("a")]), reply.text("done")];
const times = (w: World) => ({
  answered: w.events("approval.answered").length,
  consumed: w.events("approval.consumed").length,
  started: w.events("act.started").length,
  halted: w.events("turn.halted").length,
});
const ONCE = { answered: 1, consumed: 1, started: 1, halted: 0 };

/** Every append of the n-th process that starts something finds that a halt came first. */
const haltingFirst =
  (scope: string, w: () => World) =>
  (p: Ports): Ports => ({
    ...p,
    journal: {
      ...p.journal,
      append: async (a) => {
        const isFirst = a.events.some((e) => e.event.kind === "act.started") && w().events("approval.answered").length <= 1;
        if (isFirst && !haltedBefore.has(w())) {
          haltedBefore.add(w());
          await w().order(halt(scope));
        }
        return p.journal.append(a);
      },
    },
  });
const haltedBefore = new WeakSet<World>();

describe("an approval that is given while work is halted", () => {
  test.each(SCOPES)(
    "Q-14 under a halt of %s it is kept, the turn does not end, and once lifted the call runs exactly once",
    async (scope) => {
      const { w, ran } = stage(script, asks());
      await w.run("go");
      await w.order(halt(scope));
      await say(w, APPROVE);
      const held = await w.go();
      expect([held.turn !== null, held.last, ran]).toEqual([true, null, []]);
      expect(times(w)).toEqual({ answered: 1, consumed: 0, started: 0, halted: 0 });
      await w.go(); // another process looks, and finds nothing to do
      expect(times(w)).toMatchObject({ consumed: 0, started: 0, halted: 0 });
      await w.order(lift(scope));
      expect((await w.go()).last).toMatchObject({ ending: "completed", output: "done" });
      expect([ran, times(w)]).toEqual([["a"], ONCE]);
    },
  );

  test.each(SCOPES)("Q-14 a halt of %s that comes between the answer and the act holds the call too", async (scope) => {
    const { w, ran } = stage(script, asks(), { spoil: haltingFirst(scope, () => w) });
    await w.run("go");
    await say(w, APPROVE);
    expect((await w.go()).turn).not.toBeNull();
    expect([ran, times(w)]).toEqual([[], { answered: 1, consumed: 0, started: 0, halted: 0 }]);
    await w.order(lift(scope));
    expect((await w.go()).last).toMatchObject({ ending: "completed" });
    expect([ran, times(w)]).toEqual([["a"], ONCE]);
  });

  test("Q-14 of two halts both have to be lifted; lifting all lifts both", async () => {
    for (const lifts of [["agent:tester", "tool:pay"], ["tool:pay", "agent:tester"], ["all"]]) {
      const { w, ran } = stage(script, asks());
      await w.run("go");
      await w.order(halt("tool:pay"));
      await w.order(halt("agent:tester"));
      await say(w, APPROVE);
      await w.go();
      for (const [i, scope] of lifts.entries()) {
        expect([i, ran]).toEqual([i, []]);
        await w.order(lift(scope));
        await w.go();
      }
      expect([ran, times(w), w.state().last?.ending]).toEqual([["a"], ONCE, "completed"]);
    }
  });

  test("Q-14 it is decided again right before it runs: policies that were tightened during the halt refuse it", async () => {
    let rows: readonly Row[] = asks();
    const { tableGate } = await import("../../gate/table.ts");
    const { w, ran } = stage(script, rows, { spoil: (p) => ({ ...p, gate: tableGate(rows, sha256) }) });
    await w.run("go");
    await w.order(halt("all"));
    await say(w, APPROVE);
    await w.go();
    rows = [{ id: "never", action: "tool:pay", verdict: "deny", say: "not any more" }, ...REST];
    await w.order(lift("all"));
    await w.go();
    expect([ran, results(w)]).toEqual([[], [expect.stringContaining("not any more")]]);
  });

  test.each<[string, Answer, readonly string[]]>([
    ["an edit", { kind: "edit", args: { x: "b" } }, ["b"]],
    ["a grant", { kind: "grant", grant: { scope: "digest", until: "session" } }, ["a"]],
  ])("Q-14 %s waits like a plain yes", async (_, answer, paid) => {
    const { w, ran } = stage(script, asks({ grant: "session" }));
    await w.run("go");
    await w.order(halt("all"));
    await say(w, answer);
    await w.go();
    expect(ran).toEqual([]);
    await w.order(lift("all"));
    expect((await w.go()).last).toMatchObject({ ending: "completed" });
    expect([ran, times(w)]).toEqual([paid, ONCE]);
  });

  test("Q-14 a denial counts at once; the turn waits with the halt, and the model hears of it when it is lifted", async () => {
    const { w, ran, model } = stage(script, asks());
    await w.run("go");
    await w.order(halt("all"));
    await say(w, { kind: "deny", reason: "not that one" });
    const held = await w.go();
    expect([held.turn !== null, open(w), model.asked.length, w.events("turn.halted")]).toEqual([true, [], 1, []]);
    await w.order(lift("all"));
    expect((await w.go()).last).toMatchObject({ ending: "completed" });
    expect([ran, results(w)]).toEqual([[], [expect.stringContaining("not that one")]]);
  });

  test("Q-14 a request that nobody answers expires by its due time, halted or not; an answer that was in time outlives it", async () => {
    const late = stage(script, asks({ expiresMs: 1_000 }));
    await late.w.run("go");
    await late.w.order(halt("all"));
    late.w.clock.advance(1_000);
    const held = await late.w.go();
    expect([held.turn !== null, late.w.events("approval.expired").length]).toEqual([true, 1]);
    await late.w.order(lift("all"));
    expect((await late.w.go()).last).toMatchObject({ ending: "completed" });
    expect(late.ran).toEqual([]);

    const inTime = stage(script, asks({ expiresMs: 1_000 }));
    await inTime.w.run("go");
    await inTime.w.order(halt("all"));
    inTime.w.clock.advance(999);
    await say(inTime.w, APPROVE);
    await inTime.w.go();
    inTime.w.clock.advance(86_400_000);
    await inTime.w.order(lift("all"));
    await inTime.w.go();
    expect(inTime.ran).toEqual(["a"]);
  });

  test("Q-14 where the policy says so, an expiry during a halt ends the turn", async () => {
    const { w, ran } = stage(script, asks({ expiresMs: 1_000, onExpiry: "halt" }));
    await w.run("go");
    await w.order(halt("all"));
    w.clock.advance(1_000);
    expect((await w.go()).last).toMatchObject({ ending: "halted", detail: expect.stringContaining("expired") });
    expect(ran).toEqual([]);
  });

  test("Q-14 a quorum goes on collecting during a halt; a cancelled turn is not held", async () => {
    const { w, ran } = stage(script, asks({ quorum: 2 }));
    await w.run("go");
    await w.order(halt("all"));
    await say(w, APPROVE, ANN);
    await w.go();
    await say(w, APPROVE, BOB);
    await w.go();
    expect([ran, refusals(w)]).toEqual([[], []]);
    await w.wish({ kind: "cancel", reason: "never mind" });
    expect((await w.go()).last).toMatchObject({ ending: "cancelled" });
    expect(ran).toEqual([]);
  });

  test("Q-14 what runs beside an open request is stopped, and the turn is kept for the answer", async () => {
    const stuck = toolOf(
      "stuck",
      (_, { signal }) => new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error("stopped")))),
      { repeat: "read" },
    );
    const { w, ran } = stage([reply.calls([pay("a"), call("stuck")]), reply.text("done")], asks(), { tools: [stuck] });
    const running = w.run("go");
    await setImmediate();
    while (w.events("act.started").length === 0) await setImmediate();
    await w.order(halt("all"));
    await w.wish({ kind: "steer", text: "look" });
    expect([(await running).turn !== null, open(w).length]).toEqual([true, 1]);
    await say(w, APPROVE);
    await w.go();
    expect(ran).toEqual([]);
    await w.order(lift("all"));
    expect((await w.go()).last).toMatchObject({ ending: "completed" });
    expect([ran, results(w)]).toEqual([["a"], ["1", expect.stringContaining("[failed]")]]);
  });

  test("Q-14 a halted tool holds its approved call, and the other calls of the reply go on", async () => {
    const other = toolOf("other", () => "fine", { repeat: "read" });
    const { w, ran } = stage([reply.calls([pay("a"), call("other")]), reply.text("done")], asks(), { tools: [other] });
    await w.run("go");
    await w.order(halt("tool:pay"));
    await say(w, APPROVE);
    await w.go();
    expect([ran, w.events("act.started").map((e) => e.tool)]).toEqual([[], ["other"]]);
    await w.order(lift("tool:pay"));
    expect((await w.go()).last).toMatchObject({ ending: "completed" });
    expect([ran, results(w)]).toEqual([["a"], ["1", "fine"]]);
  });

  test("Q-14 lifted while a process drives the session: that one goes on by itself", async () => {
    const { w, ran } = stage(script, asks(), {
      spoil: (p) => ({
        ...p,
        orders: {
          ...p.orders,
          refresh: async () => {
            await p.orders.refresh();
            if (w.events("approval.answered").length > 0 && p.orders.now().halts.size > 0) await w.order(lift("all"));
          },
        },
      }),
    });
    await w.run("go");
    await w.order(halt("all"));
    await say(w, APPROVE);
    await w.go();
    await w.go();
    expect([ran, times(w)]).toEqual([["a"], ONCE]);
  });
});

describe("sub-agents", () => {
  const give = (): { readonly tool: string; readonly args: { readonly [key: string]: Json } } => ({
    tool: DELEGATE,
    args: { agent: "reader", task: "look" },
  });
  const family = (readers: readonly Step[], rows: readonly Row[]) => {
    const ran: string[] = [];
    const look = toolOf("look", ({ x }) => String(ran.push(x)), { repeat: "once" });
    const w = world({
      hash: sha256,
      model: scriptedModel([reply.calls([give()]), reply.text("ok")]),
      delegates: ["reader"],
      others: { reader: { model: scriptedModel(readers), tools: [look] } },
      rows,
    });
    return { w, ran };
  };

  test.each(["all", "agent:tester", "agent:reader", "tool:look"])(
    "Q-14 an answer to a sub-agent's request waits with a halt of %s, whoever drives it, and so does the turn above",
    async (scope) => {
      const { w, ran } = family(
        [reply.calls([call("look", "a")]), reply.text("42")],
        [{ id: "ask", action: "tool:look", verdict: "ask" }, ...PERMIT_ALL],
      );
      await w.run("go");
      const above = w.session();
      const [child] = w.children();
      if (child === undefined) throw new Error("no sub-agent was started");
      await w.order(halt(scope));
      await w.go(); // whoever drives the turn above ends nothing either
      w.turnTo(child);
      await say(w, APPROVE);
      await w.go();
      w.turnTo(above);
      await w.go();
      expect([ran, w.state().turn !== null, w.events("turn.halted")]).toEqual([[], true, []]);
      await w.order(lift(scope));
      w.turnTo(child);
      await w.go();
      w.turnTo(above);
      expect([ran, w.state().last]).toEqual([["a"], expect.objectContaining({ ending: "completed", output: "ok" })]);
    },
  );

  test("Q-14 an approved delegation waits while the agent that it is given to is halted", async () => {
    const { w } = family([reply.text("42")], [{ id: "ask", action: "delegate:reader", verdict: "ask" }, ...PERMIT_ALL]);
    await w.run("go");
    await w.order(halt("agent:reader"));
    await say(w, APPROVE);
    await w.go();
    expect([w.children(), w.state().turn !== null]).toEqual([[], true]);
    await w.order(lift("agent:reader"));
    expect((await w.go()).last).toMatchObject({ ending: "completed" });
    expect(w.children()).toHaveLength(1);
  });
});

test("Q-14 wherever processes die, before, during and after the halt: the approved call runs at most once, and once where nothing was lost in flight", async () => {
  for (const scope of SCOPES)
    for (const of of ["append", "effect"] as const)
      for (const when of ["before", "after"] as const)
        for (let dying = 1; dying < 4; dying += 1)
          for (let nth = 0; nth < 4; nth += 1) {
            const none: CrashPoint = { of: "append", nth: 1_000_000, when: "before" };
            const crashes = [...Array.from({ length: dying }, () => none), { of, nth, when }];
            const { w, ran } = stage(script, asks(), { crashes });
            await w.run("go");
            await w.order(halt(scope));
            await say(w, APPROVE);
            await w.go();
            const at = `${scope} ${of} ${nth} ${when} of process ${dying}`;
            expect([at, ran, w.state().turn !== null]).toEqual([at, [], true]);
            await w.order(lift(scope));
            await w.go();
            const { started, answered, halted } = times(w);
            const isLost = of === "effect" || w.state().unknowns.size > 0;
            expect([at, answered, halted, w.state().turn]).toEqual([at, 1, 0, null]);
            expect([at, ran.length <= 1, started <= 1]).toEqual([at, true, true]);
            if (!isLost) expect([at, ran]).toEqual([at, ["a"]]);
          }
});
