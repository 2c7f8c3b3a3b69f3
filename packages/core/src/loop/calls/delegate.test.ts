/** Delegation without crashes: what is decided, what is written together, what comes back, and what reaches a delegate. */
import { setImmediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { defineMiddleware } from "../../agents/define-middleware.ts";
import { defineTool } from "../../agents/define-tool.ts";
import { type Row, tableGate } from "../../gate/table.ts";
import { type Mark, parseMarks } from "../../journal/index.ts";
import type { Model } from "../../reason/port.ts";
import { hang, PERMIT_ALL, readAll, reply, type Step, scriptedModel, type World, type WorldOptions, world } from "../../testing/index.ts";
import {
  callId,
  DELEGATE,
  type Ending,
  type EventKind,
  type IntentBody,
  intentId,
  type JournalEvent,
  type Json,
  type RecoveryDefinition,
  type SessionId,
  type Tool,
} from "../../vocab/index.ts";
import { emptyState, evolve } from "../evolve.ts";
import { sha256 } from "../fixtures/stage.ts";
import { listOverdrawn } from "../limits/budgets.ts";
import type { Ports } from "../ports.ts";
import { toResult } from "../session/result.ts";
import { readOpenDelegates } from "./delegate.ts";

const give = (agent: string, more: { readonly [key: string]: Json } = {}, id?: string) => ({
  tool: DELEGATE,
  ...(id === undefined ? {} : { id }),
  args: { agent, task: `read for me, ${agent}`, ...more },
});
const model = (...steps: readonly Step[]) => scriptedModel(steps);
const used = { usage: { input: 100, output: 20 } };

/** `tester` may delegate to `reader`, whose script is the second one. */
function pair(
  own: readonly Step[],
  readers: readonly Step[],
  more: Partial<WorldOptions> & { readonly tools?: readonly Tool[]; readonly readerTools?: readonly Tool[] } = {},
) {
  const { readerTools = [], ...rest } = more;
  const reader = scriptedModel(readers);
  const w = world({
    hash: sha256,
    model: scriptedModel(own),
    delegates: ["reader"],
    others: { reader: { model: reader, tools: readerTools } },
    ...rest,
  });
  return { w, reader };
}

/** Durable events of another session. */
const eventsOf = <K extends EventKind>(w: World, session: SessionId | undefined, kind: K): readonly Extract<JournalEvent, { kind: K }>[] =>
  readAll(w.disk, session ?? w.session(), sha256).flatMap(({ event }) =>
    event.kind === kind ? [event as Extract<JournalEvent, { kind: K }>] : [],
  );
const results = (w: World) => w.state().messages.flatMap((m) => (m.role === "tool" ? [{ text: m.text, isError: m.isError }] : []));
const child = (w: World, nth = 0): SessionId => w.children()[nth] ?? fail();
function fail(): never {
  throw new Error("there is no such delegate");
}
const endingOf = (w: World, session: SessionId) => eventsOf(w, session, "turn.ended").map((e) => e.ending);
const until = async (isSo: () => boolean): Promise<void> => {
  while (!isSo()) await setImmediate();
};

const look = (labels: readonly string[] = ["pii"]): Tool =>
  defineTool({ name: "look", description: "look", input: { type: "object", properties: {} }, repeat: "read", labels, run: () => "seen" });

describe("what a delegate is", () => {
  test("D-1 a delegate is a session of its own, with the task as its input, and its answer is the call's one result", async () => {
    const { w, reader } = pair([reply.calls([give("reader")], used), reply.text("it says: 42", used)], [reply.text("42", used)]);
    const s = await w.run("find out");
    expect(s.last).toMatchObject({ ending: "completed", output: "it says: 42", calls: 1 });
    expect(results(w)).toEqual([{ text: "42", isError: false }]);
    expect(reader.asked[0]?.messages.map((m) => m.role === "user" && m.text)).toEqual(["read for me, reader"]);
    const [opened] = eventsOf(w, child(w), "session.opened");
    expect(opened).toMatchObject({
      agent: { name: "reader" },
      principal: { id: "ann" },
      surface: "library",
      parent: { session: w.session(), call: "1.0", depth: 1, lineage: ["tester"], deepest: 3, speakers: ["ann"] },
    });
    expect(w.disk.sessions.get(child(w))).toMatchObject({ parent: w.session(), state: "idle", ending: "completed" });
    expect(w.state().messages).toEqual(s.messages);
  });

  test("D-1 it is decided as `delegate`, on the agent, and the gate is told nothing of the task", async () => {
    const heard: string[] = [];
    const spoil = (p: Ports): Ports => ({
      ...p,
      gate: {
        ...p.gate,
        decide: (action, facts) => {
          const decision = p.gate.decide(action, facts);
          if (action.kind === "delegate") heard.push(action.to, JSON.stringify(decision.read));
          return decision;
        },
      },
    });
    const { w } = pair([reply.calls([give("reader")]), reply.text("ok")], [reply.text("42")], { spoil });
    await w.run("go");
    expect(heard[0]).toBe("reader");
    expect(heard.join()).not.toContain("read for me");
    expect(w.events("gate.decided").find((e) => e.action.kind === "delegate")).toMatchObject({
      id: "1.0",
      action: { to: "reader", args: { agent: "reader", task: "read for me, reader" } },
      verdict: { kind: "allow" },
    });
  });

  test("D-1 a delegation that no policy permits opens nothing, and the model is told so", async () => {
    const rows: readonly Row[] = [{ id: "not-reader", action: "delegate:reader", verdict: "deny", say: "not him" }, ...PERMIT_ALL];
    const { w } = pair([reply.calls([give("reader")]), reply.text("then not")], [], { rows });
    await w.run("go");
    expect(results(w)).toEqual([{ text: "[denied by policy] delegate (not-reader): not him", isError: true }]);
    expect([w.children(), [...w.disk.sessions.keys()]]).toEqual([[], [w.session()]]);
  });

  test("D-1 a question about a delegation is answered, edited and remembered like one about a call", async () => {
    const ask: Row = { id: "ask", action: "delegate:reader", verdict: "ask", say: "let him?", terms: { grant: "session" } };
    const { w, reader } = pair(
      [
        reply.calls([give("reader")]),
        reply.calls([give("reader", {}, "again")]),
        reply.calls([give("reader", {}, "third")]),
        reply.text("ok"),
      ],
      [reply.text("1"), reply.text("2"), reply.text("3")],
      { rows: [ask, ...PERMIT_ALL] },
    );
    await w.run("go");
    const question = () => [...(w.state().turn?.questions.values() ?? [])].find((q) => q.answer === null) ?? fail();
    expect(question()).toMatchObject({ about: { type: "Agent", id: "reader" } });
    expect(w.disk.questions).toMatchObject([{ tool: "delegate", resource: { type: "Agent", id: "reader" } }]);
    const say = async (answer: Parameters<World["wish"]>[0] & { kind: "answer" }) => w.wish(answer);
    const { approval, digest } = question();
    await say({ kind: "answer", approval, digest, answer: { kind: "edit", args: { agent: "reader", task: "something else" } } });
    await w.go();
    expect(reader.asked[0]?.messages[0]).toMatchObject({ text: "something else" });
    const next = question();
    await say({
      kind: "answer",
      approval: next.approval,
      digest: next.digest,
      answer: { kind: "grant", grant: { scope: "resource", until: "session" } },
    });
    const s = await w.go();
    expect(s.last).toMatchObject({ ending: "completed", output: "ok" }); // the third one needed no person
    expect(w.events("grant.used")).toHaveLength(1);
    expect(w.children()).toHaveLength(3);
  });

  test("S-18 an answer changes what is asked of a delegate, and never whom", async () => {
    const ask: Row = { id: "ask", action: "delegate:reader", verdict: "ask", say: "let him?" };
    const others = { reader: { model: model(reply.text("1")) }, boss: { model: model(reply.text("never")) } };
    const own = [reply.calls([give("reader")]), reply.text("ok")];
    const { w } = pair(own, [], { rows: [ask, ...PERMIT_ALL], delegates: ["reader", "boss"], others });
    await w.run("go");
    const { approval, digest } = [...(w.state().turn?.questions.values() ?? [])][0] ?? fail();
    await w.wish({ kind: "answer", approval, digest, answer: { kind: "edit", args: { agent: "boss", task: "go" } } });
    await w.go();
    expect(w.events("intent.refused")).toMatchObject([{ reason: "it would be another agent's: deny it, and say who is to do it" }]);
    expect(w.children()).toEqual([]);
  });

  test("D-1 unknown, not among the delegates, too deep, a circle, too little budget: refused by its contract", async () => {
    const said = async (own: Step, more: Partial<WorldOptions> = {}) => {
      const { w } = pair([own, reply.text("then not")], [reply.text("never")], more);
      await w.run("go");
      return [results(w)[0]?.text, w.children().length] as const;
    };
    expect(await said(reply.calls([give("nobody")]))).toEqual([
      expect.stringMatching(/^\[not run\] delegate: the arguments do not fit: .*agent/),
      0,
    ]);
    expect(await said(reply.calls([give("reader")]), { others: {} })).toEqual([
      "[not run] delegate: there is no agent `reader` that could be run",
      0,
    ]);
    expect(await said(reply.calls([give("reader", { budget: { tokens: 10 } })]))).toEqual([expect.stringContaining("too small"), 0]);
    expect(await said(reply.calls([give("reader")]), { limits: { iterations: 2 } })).toEqual([expect.stringContaining("too small"), 0]);
    const spoil = (p: Ports): Ports => ({ ...p, children: { ...p.children, delegates: [] } });
    expect(await said(reply.calls([give("reader")]), { spoil })).toEqual([expect.stringContaining("not among the delegates"), 0]);
  });

  test("D-1 the strictest `maxDepth` above counts, and a delegation never comes back to an agent above", async () => {
    const chain = (maxDepth: number, deepest: readonly Step[]) =>
      world({
        hash: sha256,
        model: model(reply.calls([give("a")]), reply.text("end")),
        delegates: ["a"],
        maxDepth,
        others: {
          a: { model: model(reply.calls([give("b")]), reply.text("a is done")), delegates: ["b"] },
          b: { model: model(...deepest), delegates: ["c", "a", "tester"] },
          c: { model: model(reply.text("c is done")) },
        },
      });
    const b = (w: World) => eventsOf(w, eventsOf(w, child(w), "child.opened")[0]?.child, "gate.decided").filter((e) => e.id.includes("."));
    const three = chain(3, [reply.calls([give("c"), give("a", {}, "2"), give("tester", {}, "3")]), reply.text("b is done")]);
    await three.run("go");
    expect(b(three).map((e) => (e.verdict.kind === "deny" ? e.verdict.reason : e.verdict.kind))).toEqual([
      "allow",
      expect.stringContaining("does not come back"),
      expect.stringContaining("does not come back"),
    ]);
    const two = chain(2, [reply.calls([give("c")]), reply.text("b is done")]);
    await two.run("go");
    expect(b(two).map((e) => e.verdict)).toEqual([
      expect.objectContaining({ by: "contract", reason: "it would be level 3 of delegates, and there may be 2" }),
    ]);
    expect(two.state().last).toMatchObject({ ending: "completed", output: "end" });
  });

  test("D-1 a delegate's answer goes to the agent that wanted it, and is decided as such", async () => {
    const to: string[] = [];
    const spoil = (p: Ports): Ports => ({
      ...p,
      gate: {
        ...p.gate,
        decide: (action, facts) => {
          if (action.kind === "respond") to.push(`${facts.agent} to ${action.to.kind} ${action.to.id}`);
          return p.gate.decide(action, facts);
        },
      },
    });
    const { w } = pair([reply.calls([give("reader")]), reply.text("ok")], [reply.text("42")], { spoil });
    await w.run("go");
    expect(new Set(to)).toEqual(new Set(["tester to user ann", "reader to agent tester"]));
  });
});

describe("what is written together", () => {
  test("D-2 a delegate's first entries are in the commit that starts it, and the word of its ending in the one that ends it", async () => {
    const { w } = pair([reply.calls([give("reader")]), reply.text("ok")], [reply.text("42")], { sealing: "each" });
    await w.run("go");
    const transactions = [...w.disk.seals.values()].flat().map((s) => parseMarks(s.wrote) ?? []);
    const begun = transactions.findIndex((marks) => marks.some((m) => m.stream === child(w)));
    const started = w.entries().find((e) => e.event.kind === "child.opened")?.seq ?? 0;
    const endOf = (marks: readonly Mark[] | undefined): number => marks?.find((m) => m.stream === w.session())?.seq ?? 0;
    const before = Math.max(0, ...transactions.slice(0, begun).map(endOf));
    expect(endOf(transactions[begun])).toSatisfy((end: number) => before < started && started <= end);
    expect(w.disk.inbox.get(w.events("child.ended")[0]?.intent ?? fail())).toMatchObject({ session: w.session(), intent: null });
    const kinds = w.entries().map((e) => e.event.kind);
    expect(kinds.slice(kinds.indexOf("act.started"), kinds.indexOf("act.started") + 3)).toEqual([
      "act.started",
      "child.opened",
      "budget.reserved",
    ]);
    expect(kinds.slice(kinds.indexOf("child.ended"), kinds.indexOf("child.ended") + 3)).toEqual([
      "child.ended",
      "budget.settled",
      "act.ended",
    ]);
  });

  test("D-2 a halt at the moment of the start opens nothing", async () => {
    let halt: (() => Promise<void>) | null = null;
    const spoil = (p: Ports): Ports => ({
      ...p,
      journal: {
        ...p.journal,
        append: async (a) => {
          if ((a.opens ?? []).length > 0) await halt?.();
          return p.journal.append(a);
        },
      },
    });
    const { w } = pair([reply.calls([give("reader")]), reply.text("then not")], [], { spoil });
    halt = async () => {
      halt = null;
      await w.order({ kind: "work.halted", scope: "agent:reader", by: { kind: "user", id: "ann" }, reason: "stop him" });
    };
    const s = await w.run("go");
    expect([w.children(), [...w.disk.sessions.keys()], s.last?.ending]).toEqual([[], [w.session()], "completed"]);
    expect(results(w)).toEqual([{ text: expect.stringContaining("work is halted: stop him"), isError: true }]);
    expect(w.events("budget.reserved")).toEqual([]);
  });
});

describe("what comes back", () => {
  const endings: readonly (readonly [Ending, readonly Step[], Partial<WorldOptions>])[] = [
    ["completed", [reply.calls([{ tool: "look", args: {} }]), reply.text("done")], {}],
    ["failed", [reply.calls([{ tool: "look", args: {} }]), { kind: "failure", parts: [], detail: "gone", again: false, broke: false }], {}],
    ["refused", [reply.calls([{ tool: "look", args: {} }]), reply.text("no", { finish: "refused" })], {}],
    [
      "denied",
      [reply.calls([{ tool: "look", args: {} }]), reply.text("x"), reply.text("x"), reply.text("x")],
      { rows: [{ id: "mute", action: "respond", labels: ["pii"], verdict: "deny" }, ...PERMIT_ALL] },
    ],
    ["out-of-iterations", [reply.calls([{ tool: "look", args: {} }])], {}],
  ];
  test.each(endings)(
    "D-3 labels come back when a delegate ends %s, before anything is decided with its words",
    async (ending, steps, more) => {
      const budget = ending === "out-of-iterations" ? { budget: { iterations: 1 } } : {};
      const own =
        ending === "denied"
          ? [reply.calls([give("reader", budget)]), reply.text("a"), reply.text("b"), reply.text("c")]
          : [reply.calls([give("reader", budget)]), reply.text("ok")];
      const { w } = pair(own, steps, { readerTools: [look()], ...more });
      await w.run("go");
      expect(endingOf(w, child(w))).toEqual([ending]);
      expect(w.events("child.ended")).toMatchObject([{ ending }]);
      const kinds = w.entries().map((e) => e.event.kind);
      expect(w.events("labels.added")).toMatchObject([{ labels: ["pii"], from: "1.0" }]);
      expect(kinds.indexOf("labels.added")).toBeLessThan(kinds.indexOf("child.ended"));
      expect(w.state().labels).toEqual(new Set(["pii"]));
      expect(results(w)[0]?.isError).toBe(ending !== "completed");
      expect(w.events("act.ended")).toHaveLength(1);
      expect(w.state().reserved.size).toBe(0);
    },
  );

  test("D-3 a delegate opens with the labels its parent has", async () => {
    const { w } = pair([reply.calls([{ tool: "look", args: {} }]), reply.calls([give("reader")]), reply.text("ok")], [reply.text("42")], {
      tools: [look(["secret"])],
    });
    await w.run("go");
    expect(eventsOf(w, child(w), "session.opened")[0]?.labels).toEqual(["secret"]);
    expect(w.events("labels.added")).toHaveLength(1);
  });

  test("D-3 the ending, its reason and what was said so far reach the model as an error", async () => {
    const steps = [reply.calls([{ tool: "look", args: {} }], { text: "I will look. " })];
    const { w } = pair([reply.calls([give("reader", { budget: { iterations: 1 } })]), reply.text("ok")], steps, {
      readerTools: [look([])],
    });
    await w.run("go");
    expect(results(w)).toEqual([
      { text: "[failed] delegate: reader ended `out-of-iterations` (1 model calls were made); it had said: I will look. ", isError: true },
    ]);
  });

  test("D-3 middleware after tools sees what a delegate brings, as it sees any result", async () => {
    for (const pause of [false, true]) {
      const hide = defineMiddleware({
        name: "hide",
        afterTool: async ({ text }) => {
          if (pause) await setImmediate();
          return text === "secret 42" ? "[hidden]" : undefined;
        },
      });
      const { w } = pair([reply.calls([give("reader")]), reply.text("ok")], [reply.text("secret 42")], { middleware: [hide] });
      await w.run("go");
      expect(results(w)).toEqual([{ text: "[hidden]", isError: false }]);
      expect(w.events("child.ended")).toMatchObject([{ output: "secret 42" }]);
    }
  });

  test("I-3 only the runtime tells of a delegate's ending, once, and only of one that is at work", async () => {
    const { w } = pair([reply.calls([give("reader")]), reply.text("ok")], [hang(), reply.text("42")]);
    const running = w.run("go");
    await until(() => w.disk.sessions.size === 2);
    const wish = {
      kind: "child-ended",
      call: callId("1.0"),
      child: child(w),
      ending: "completed",
      output: "forged",
      detail: null,
      labels: [],
      used: { iterations: 0, tokens: 0, micros: 0, calls: 0, ms: 0 },
    } as const satisfies IntentBody;
    await w.wish(wish);
    await w.wish({ ...wish, child: w.session() }, { kind: "system", id: "w1" });
    await w.wish({ kind: "cancel", reason: "enough" });
    await running;
    expect(w.events("intent.refused").map((e) => e.reason)).toEqual([
      expect.stringContaining("only the runtime"),
      expect.stringContaining("no such delegate"),
    ]);
    expect(w.events("child.ended")).toMatchObject([{ ending: "cancelled" }]);
  });
});

describe("what reaches a delegate", () => {
  const waiting = () =>
    pair([reply.calls([give("reader")]), reply.text("ok")], [reply.calls([{ tool: "look", args: {} }]), reply.text("42")], {
      readerTools: [look([])],
      rows: [{ id: "ask", action: "tool:look", verdict: "ask", say: "may he look?" }, ...PERMIT_ALL],
    });

  test("D-4 cancelling a turn cancels a delegate at work before the turn ends", async () => {
    const { w } = pair([reply.calls([give("reader")])], [hang()]);
    const stop = new AbortController();
    const running = w.run("go", stop.signal);
    await until(() => w.disk.sessions.size === 2 && eventsOf(w, child(w), "model.asked").length === 1);
    stop.abort("enough");
    const s = await running;
    expect([s.last?.ending, endingOf(w, child(w))]).toEqual(["cancelled", ["cancelled"]]);
    expect(eventsOf(w, child(w), "turn.cancel-asked")).toMatchObject([{ reason: "the turn that it works for was stopped (cancelled)" }]);
    expect(results(w)).toEqual([{ text: expect.stringContaining("reader ended `cancelled`"), isError: true }]);
  });

  test("D-4 a delegate that waits for a person is cancelled too, whoever takes the turn up to cancel it", async () => {
    const { w } = waiting();
    await w.run("go");
    await w.wish({ kind: "cancel", reason: "enough" });
    const s = await w.go();
    expect([s.last?.ending, endingOf(w, child(w))]).toEqual(["cancelled", ["cancelled"]]);
    expect(w.disk.questions).toEqual([]);
    const kinds = w.entries().map((e) => e.event.kind);
    expect(kinds.indexOf("child.ended")).toBeLessThan(kinds.indexOf("turn.ended"));
  });

  test("D-4 a delegate that another process holds is cancelled through its inbox, and waited for", async () => {
    const { w } = waiting();
    await w.run("go");
    const row = w.disk.holds.get(child(w)) ?? fail();
    const other = {};
    w.disk.alive.add(other);
    row.owner = other;
    await w.wish({ kind: "cancel", reason: "enough" });
    const going = w.go();
    await until(() => [...w.disk.inbox.values()].some((i) => i.session === child(w) && i.intent?.wish.kind === "cancel"));
    w.disk.alive.delete(other); // it dies before it has heard
    await until(() => w.clock.sleepers() > 0);
    w.clock.advance(1_000);
    const s = await going;
    expect([s.last?.ending, endingOf(w, child(w))]).toEqual(["cancelled", ["cancelled"]]);
  });

  test("D-4 a halt of the parent's agent ends its delegates; a halt of the delegate's agent is the delegate's own ending", async () => {
    for (const [scope, own, theirs] of [
      ["agent:tester", "halted", "halted"],
      ["agent:reader", "completed", "halted"],
      ["all", "halted", "halted"],
    ] as const) {
      const { w } = pair([reply.calls([give("reader")]), reply.text("ok")], [hang()]);
      const running = w.run("go");
      await until(() => w.disk.sessions.size === 2 && eventsOf(w, child(w), "model.asked").length === 1);
      await w.order({ kind: "work.halted", scope, by: { kind: "user", id: "ann" }, reason: "fire" });
      await w.wish({ kind: "steer", text: "look up" }); // whoever drives hears of orders when something arrives
      const session = w.session();
      const below = child(w);
      w.turnTo(below);
      await w.wish({ kind: "steer", text: "you too" });
      w.turnTo(session);
      const s = await running;
      expect([scope, s.last?.ending]).toEqual([scope, own]);
      expect([theirs, "cancelled"]).toContain(endingOf(w, below)[0]); // its own look at the orders or its parent's word: either comes first
    }
  });

  test("D-4 a halt of an agent above holds for a delegate whose parent nobody drives: who brings its answer starts nothing", async () => {
    for (const when of ["before", "at the very commit"] as const) {
      let started = 0;
      let halt: (() => Promise<void>) | null = null;
      const spoil = (p: Ports): Ports => ({
        ...p,
        journal: {
          ...p.journal,
          append: async (a) => {
            if (a.events.some(({ event }) => event.kind === "approval.consumed")) await halt?.();
            return p.journal.append(a);
          },
        },
      });
      const counted: Tool = { ...look([]), run: async () => `seen ${++started}` };
      const { w } = pair([reply.calls([give("reader")]), reply.text("ok")], [reply.calls([{ tool: "look", args: {} }]), reply.text("42")], {
        readerTools: [counted],
        rows: [{ id: "ask", action: "tool:look", verdict: "ask" }, ...PERMIT_ALL],
        spoil,
      });
      await w.run("go");
      const session = w.session();
      const order = async () => {
        halt = null;
        await w.order({ kind: "work.halted", scope: "agent:tester", by: { kind: "user", id: "ann" }, reason: "stop it" });
      };
      if (when === "before") await order();
      else halt = order;
      w.turnTo(child(w));
      const [q] = w.state().turn?.questions.values() ?? [];
      await w.wish({ kind: "answer", approval: q?.approval ?? fail(), digest: q?.digest ?? fail(), answer: { kind: "approve" } });
      const s = await w.go();
      expect([when, started, s.last]).toEqual([when, 0, null]); // the answer waits with the halt
      w.turnTo(session);
      expect([w.state().last, w.events("turn.halted")]).toEqual([null, []]);
    }
  });

  test("D-4 when the turn's time is up its delegate is stopped; the delegate's time never exceeds what was left", async () => {
    const { w } = pair([reply.calls([give("reader")])], [hang()], { limits: { turnMs: 5_000 } });
    const running = w.run("go");
    await until(() => w.disk.sessions.size === 2 && eventsOf(w, child(w), "model.asked").length === 1);
    expect(eventsOf(w, child(w), "turn.started")[0]?.limits.turnMs).toBe(5_000);
    await until(() => w.clock.sleepers() >= 2);
    w.clock.advance(5_000);
    const s = await running;
    expect(s.last?.ending).toBe("timed-out");
    expect(["timed-out", "cancelled"]).toContain(endingOf(w, child(w))[0]);
  });

  test("D-4 while a delegate works its parent hears: what is said then is heard after the result", async () => {
    const free = Promise.withResolvers<void>();
    const answering = model(reply.text("42"));
    const slow: Model = {
      id: answering.id,
      ask: async (...asked) => {
        await free.promise;
        return answering.ask(...asked);
      },
    };
    const own = model(reply.calls([give("reader")]), reply.text("heard you"));
    const w = world({ hash: sha256, model: own, delegates: ["reader"], others: { reader: { model: slow } } });
    const running = w.run("go");
    await until(() => w.disk.sessions.size === 2);
    await w.wish({ kind: "steer", text: "and hurry" });
    await until(() => w.events("input.steered").length === 1); // recorded while the delegate works
    free.resolve();
    await running;
    const said = w.state().messages.map((m) => m.role);
    expect(said).toEqual(["user", "assistant", "tool", "user", "assistant"]);
  });
});

describe("waiting for people", () => {
  const rows: readonly Row[] = [{ id: "ask", action: "tool:look", verdict: "ask", say: "may he look?" }, ...PERMIT_ALL];
  const waiting = (more: Parameters<typeof pair>[2] = {}) =>
    pair([reply.calls([give("reader")]), reply.text("ok")], [reply.calls([{ tool: "look", args: {} }]), reply.text("42")], {
      readerTools: [look([])],
      rows,
      ...more,
    });

  test("D-5 a delegate that waits parks its parent at no cost, and its question is among the parent's", async () => {
    const { w } = waiting();
    const s = await w.run("go");
    expect(s.turn).not.toBe(null);
    expect([w.clock.sleepers(), w.disk.watchers.size]).toEqual([0, 0]);
    expect([...w.disk.holds.values()].every((h) => h.owner === null)).toBe(true);
    const journal = { read: async (stream: SessionId) => readAll(w.disk, stream, sha256) } as unknown as Ports["journal"];
    const result = toResult(s, [], await readOpenDelegates({ journal }, s));
    expect(result).toMatchObject({
      state: "waiting",
      questions: [{ session: child(w), agent: "reader", asks: [{ question: "may he look?" }] }],
    });
  });

  test("D-5 whoever brings the answer drives the delegate on, and then its parent", async () => {
    const { w } = waiting();
    await w.run("go");
    const session = w.session();
    w.turnTo(child(w));
    const [q] = w.state().turn?.questions.values() ?? [];
    await w.wish({ kind: "answer", approval: q?.approval ?? fail(), digest: q?.digest ?? fail(), answer: { kind: "approve" } });
    const s = await w.go();
    expect(s.last).toMatchObject({ ending: "completed", output: "42" });
    w.turnTo(session);
    expect(w.state().last).toMatchObject({ ending: "completed", output: "ok" });
  });

  test("D-2 nobody silences the word of an ending by using up an id for it beforehand", async () => {
    const { w } = waiting();
    await w.run("go");
    const [session, below] = [w.session(), child(w)];
    const { inbox, clock } = w.outside();
    const squat = { kind: "resolve", call: callId("9.9"), as: "happened", note: "" } as const;
    const by = { kind: "user", id: "mallory" } as const;
    for (const id of [`c_${below}`, below, `child-ended:${below}`])
      await inbox.put({ id: intentId(id), session, at: clock.now(), by, key: null, wish: squat, signature: null });
    w.turnTo(below);
    const [q] = w.state().turn?.questions.values() ?? [];
    await w.wish({ kind: "answer", approval: q?.approval ?? fail(), digest: q?.digest ?? fail(), answer: { kind: "approve" } });
    await w.go();
    w.turnTo(session);
    expect(w.state().last).toMatchObject({ ending: "completed", output: "ok" });
  });

  test("D-5 a delegate that another process holds is waited for, and driven on when that process is gone", async () => {
    const { w } = waiting();
    await w.run("go");
    const held = w.disk.holds.get(child(w)) ?? fail();
    const other = {};
    w.disk.alive.add(other);
    held.owner = other;
    const session = w.session();
    const below = child(w);
    w.turnTo(below);
    const [q] = w.state().turn?.questions.values() ?? [];
    await w.wish({ kind: "answer", approval: q?.approval ?? fail(), digest: q?.digest ?? fail(), answer: { kind: "approve" } });
    w.turnTo(session);
    const going = w.go();
    await until(() => w.clock.sleepers() > 1); // the turn's alarm, and the next look
    expect(endingOf(w, below)).toEqual([]);
    w.disk.alive.delete(other);
    w.clock.advance(1_000);
    const s = await going;
    expect([s.last?.output, endingOf(w, below)]).toEqual(["ok", ["completed"]]);
  });

  test("D-2 nothing is said to follow a delegate's turn while another session waits for it; steering reaches it", async () => {
    const { w } = waiting();
    await w.run("go");
    const session = w.session();
    const below = child(w);
    w.turnTo(below);
    await w.wish({ kind: "follow-up", text: "and then" });
    await w.wish({ kind: "steer", text: "quickly" });
    await w.wish({ kind: "cancel", reason: "enough" });
    await w.go();
    expect(w.events("intent.refused")).toMatchObject([{ wish: "follow-up", reason: expect.stringContaining("works for another session") }]);
    expect([w.state().turns, w.events("input.steered").length]).toEqual([1, 1]);
    await w.wish({ kind: "follow-up", text: "now" });
    await w.go();
    expect(w.state().turns).toBe(2); // its turns are its own again
    w.turnTo(session);
    expect(w.state().last?.ending).toBe("completed");
  });

  test("D-5 who has steered the parent is no stranger to what its delegate asks for", async () => {
    const said: string[] = [];
    const spoil = (p: Ports): Ports => ({
      ...p,
      gate: {
        ...tableGate([{ id: "people", action: "approve", verdict: "allow" }, ...rows], sha256),
        decideFor: (user, act) => {
          if (act.kind === "approve") said.push(`${user} for ${act.requester}`);
          return p.gate.decideFor(user, act);
        },
      },
    });
    const own = [reply.calls([{ tool: "wait", args: {} }]), reply.calls([give("reader")]), reply.text("ok")];
    const wait: Tool = defineTool({
      name: "wait",
      description: "wait",
      input: { type: "object", properties: {} },
      labels: [],
      run: async () => {
        await w.wish({ kind: "steer", text: "quick" }, { kind: "user", id: "bob" });
        await until(() => w.events("input.steered").length === 1);
        return "ok";
      },
    });
    const { w } = pair(own, [reply.calls([{ tool: "look", args: {} }]), reply.text("42")], {
      readerTools: [look([])],
      tools: [wait],
      rows,
      spoil,
    });
    await w.run("go");
    w.turnTo(child(w));
    const [q] = w.state().turn?.questions.values() ?? [];
    await w.wish(
      { kind: "answer", approval: q?.approval ?? fail(), digest: q?.digest ?? fail(), answer: { kind: "approve" } },
      { kind: "user", id: "eve" },
    );
    await w.go();
    expect(new Set(said)).toEqual(new Set(["eve for ann", "eve for bob"]));
  });

  test("D-5 the time a delegate was active elsewhere counts in its parent", async () => {
    const slow: Tool = {
      ...look([]),
      run: async () => {
        w.clock.advance(2_000);
        return "seen";
      },
    };
    const { w } = waiting({ limits: { turnMs: 60_000 }, readerTools: [slow] });
    await w.run("go");
    const session = w.session();
    const below = child(w);
    w.turnTo(below);
    const [q] = w.state().turn?.questions.values() ?? [];
    await w.wish({ kind: "answer", approval: q?.approval ?? fail(), digest: q?.digest ?? fail(), answer: { kind: "approve" } });
    w.clock.advance(86_400_000); // parked: nobody's time
    await w.go();
    w.turnTo(session);
    expect(eventsOf(w, below, "turn.ended")[0]?.activeMs).toBe(2_000);
    expect(w.state().last?.activeMs).toBe(2_000);
  });
});

describe("budgets", () => {
  test("D-7 a delegate's share is reserved with its start, its limits lie within it, and what it used is settled", async () => {
    const { w } = pair(
      [reply.calls([give("reader", { budget: { iterations: 3, tokens: 5_000, calls: 4 } })], used), reply.text("ok", used)],
      [reply.text("42", used)],
    );
    await w.run("go");
    expect(w.events("budget.reserved")).toMatchObject([{ call: "1.0", amount: { iterations: 3, tokens: 5_000, calls: 4, ms: 0 } }]);
    expect(eventsOf(w, child(w), "turn.started")[0]?.limits).toMatchObject({ iterations: 3, tokens: 5_000, calls: 4 });
    expect(w.events("budget.settled")).toMatchObject([{ call: "1.0", amount: { iterations: 1, tokens: 120, calls: 0, ms: 0 } }]);
    expect(w.state().used).toMatchObject({ iterations: 3, tokens: 360, calls: 1 });
  });

  test("D-7 beside a call that is to run again, or whose stand-in costs more, a delegate's share leaves the money and the calls for it", async () => {
    const asked: readonly Row[] = [
      { id: "ask-reader", action: "delegate:reader", verdict: "ask" },
      { id: "ask-again", action: "tool:*", labels: ["hot"], verdict: "ask" },
      ...PERMIT_ALL,
    ];
    const flaky = (recover: RecoveryDefinition, maxCents: number): Tool => {
      let runs = 0;
      const run = () => (++runs === 1 ? Promise.reject(new Error("no luck")) : Promise.resolve("paid"));
      return defineTool({
        name: "t",
        description: "t",
        input: { type: "object" },
        repeat: "idempotent",
        labels: ["hot"],
        recover,
        maxCents,
        run,
      });
    };
    const dear = defineTool({ name: "u", description: "u", input: { type: "object" }, maxCents: 60, run: async () => "paid" });
    for (const t of [flaky({ kind: "retry", times: 1, backoffMs: 0 }, 40), flaky({ kind: "fallback", tool: "u" }, 0)]) {
      const prices = { input: 1, output: 1 };
      const { w } = pair([reply.calls([give("reader"), { tool: "t", args: {} }]), reply.text("ok")], [], {
        others: { reader: { model: model(reply.text("42")), prices } },
        tools: [t, dear],
        rows: asked,
        prices,
        limits: { cents: 100 },
      });
      await w.run("go");
      const questions = [...(w.state().turn?.questions.values() ?? [])];
      expect(questions).toHaveLength(2);
      for (const { approval, digest } of questions) await w.wish({ kind: "answer", approval, digest, answer: { kind: "approve" } });
      const s = await w.go();
      expect(s.last).toMatchObject({ ending: "completed", output: "ok" });
      const [opened, ...rest] = w.entries();
      const state = emptyState(w.session(), opened?.event.kind === "session.opened" ? opened.event : fail());
      for (const entry of opened === undefined ? [] : [opened, ...rest])
        expect(listOverdrawn(evolve(state, entry)), `after ${entry.event.kind} (${entry.seq})`).toEqual([]);
    }
  });

  test("D-7 twenty delegates at once: settled and reserved stay within the limit after every event", async () => {
    const names = Array.from({ length: 20 }, (_, i) => `r${i}`);
    const others = Object.fromEntries(
      names.map((name, i) => [
        name,
        {
          model: model(
            ...Array.from({ length: 1 + (i % 3) }, () => reply.calls([{ tool: "look", args: {} }], used)),
            reply.text(name, used),
          ),
          tools: [look([])],
          prices: { input: 1, output: 2 },
        },
      ]),
    );
    const w = world({
      hash: sha256,
      model: model(
        reply.calls(
          names.map((name) => give(name, {}, name)),
          used,
        ),
        reply.text("all in", used),
      ),
      delegates: names,
      others,
      prices: { input: 1, output: 2 },
      limits: { toolsAtOnce: 20, iterations: 120, tokens: 60_000, contextTokens: 8_000, cents: 60, calls: 100 },
    });
    const s = await w.run("go");
    expect(s.last).toMatchObject({ ending: "completed", output: "all in" });
    expect(w.children()).toHaveLength(20);
    expect(results(w).map((r) => r.text)).toEqual(names);
    for (const session of [w.session(), ...w.children()]) {
      const entries = readAll(w.disk, session, sha256);
      const [first] = entries;
      if (first?.event.kind !== "session.opened") throw new Error("a session starts with its opening");
      const state = emptyState(session, first.event);
      for (const entry of entries) expect([entry.event.kind, listOverdrawn(evolve(state, entry))]).toEqual([entry.event.kind, []]);
    }
    const most = w.entries().reduce(
      ({ now, most }, { event: e }) => {
        const after = now + (e.kind === "child.opened" ? 1 : e.kind === "child.ended" ? -1 : 0);
        return { now: after, most: Math.max(most, after) };
      },
      { now: 0, most: 0 },
    ).most;
    expect(most).toBe(20); // really at once
  });
});
