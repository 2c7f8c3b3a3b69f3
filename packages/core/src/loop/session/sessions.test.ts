import { describe, expect, test } from "vitest";
import type { Message } from "../../reason/port.ts";
import { type CrashPoint, opened, reply, scriptedModel, type World } from "../../testing/index.ts";
import {
  type AgentFacts,
  callId,
  decisionsIn,
  type Fault,
  grantId,
  type HistoryMessage,
  isFault,
  type JournalEvent,
  label,
  type SessionEvent,
  type SessionId,
  type TimedEvent,
} from "../../vocab/index.ts";
import { ANN, asks, BOB, call, open, pay, REST, say, stage, toolOf } from "../fixtures/stage.ts";
import { checkHistory } from "../model/history.ts";
import { openSession } from "../open.ts";
import type { Ports } from "../ports.ts";
import { readState } from "../resume.ts";
import { closeSession, createSession, forkSession } from "./sessions.ts";

const FACTS: AgentFacts = factsOf(opened("tester"));
function factsOf(event: SessionEvent): AgentFacts {
  return event.kind === "session.opened" ? event.agent : never();
}
const opening = (external: string | null, more: Partial<Parameters<typeof createSession>[1]> = {}) =>
  ({ agent: FACTS, principal: ANN, surface: "library", labels: [], history: [], external, parent: null, origin: null, ...more }) as const;
const fork = (at: number | null = null, external: string | null = null) => ({ at, external, principal: ANN, surface: "library" }) as const;
const faultOf = (work: Promise<unknown>): Promise<Fault | null> =>
  work.then(
    () => null,
    (error: unknown) => {
      if (isFault(error)) return error.fault;
      throw error;
    },
  );

describe("the caller's own id", () => {
  test("H-6 the same id again is the same session for the same agent and principal, else it is told whose it is", async () => {
    const { w } = stage([], REST);
    const [a, b] = [w.outside(), w.outside()];
    const [first, second] = await Promise.all([createSession(a, opening("ticket 17")), createSession(b, opening("ticket 17"))]);
    expect(second).toEqual(first);
    expect(await createSession(b, opening("ticket 17"))).toEqual(first);
    expect(first).toMatchObject({ external: "ticket 17", state: "idle", turns: 0 });
    const taken = { kind: "external-taken", external: "ticket 17", session: first.session };
    expect(await faultOf(createSession(a, opening("ticket 17", { principal: BOB })))).toEqual(taken);
    expect(await faultOf(createSession(a, opening("ticket 17", { agent: { ...FACTS, name: "other" } })))).toEqual(taken);
    expect(await a.journal.sessions({ state: null, agent: null, before: null, most: 10 })).toHaveLength(1);
    expect((await createSession(a, opening(null))).session).not.toBe((await createSession(a, opening(null))).session);
  });

  test.each(["", " ", " a", "a ", "a\nb", "a\u0000", "\u202eab", "s_00000000", "x".repeat(129), "\ud800", 7 as unknown as string])(
    "H-6 %j cannot be one",
    async (external) => {
      const { w } = stage([], REST);
      expect(await faultOf(createSession(w.outside(), opening(external)))).toMatchObject({ kind: "usage" });
      expect(w.disk.entries.size).toBe(0);
    },
  );

  test.each(["a", "ticket 17", "🙂".repeat(128), "mailto:ann@x.example/7?q=1", "s_", "日本語"])("H-6 %j can", async (external) => {
    const { w } = stage([], REST);
    const p = w.outside();
    const { session } = await createSession(p, opening(external));
    expect((await p.journal.find(external))?.session).toBe(session);
  });
});

const user = (text: string): HistoryMessage => ({ role: "user", text });
const calls = (...ids: string[]): HistoryMessage => ({
  role: "assistant",
  text: "",
  calls: ids.map((id) => ({ id, tool: "pay", text: '{"x":"1"}' })),
});
const result = (id: string): HistoryMessage => ({ role: "tool", id, text: `paid ${id}`, isError: false });

test.each(["before", "after"] as const)(
  "H-6 H-10 a process that is killed %s a session is durable: with the same id there is one, whoever asks again",
  async (when) => {
    const { w } = stage([reply.text("one")], REST);
    await w.run("go");
    const origin = w.session();
    const p = w.outside();
    const dying: Ports = {
      ...p,
      journal: {
        ...p.journal,
        append: async (a) => {
          if (when === "after") await p.journal.append(a);
          w.disk.alive.clear();
          throw new Error("killed");
        },
      },
    };
    await expect(createSession(dying, opening("new"))).rejects.toThrow("killed");
    await expect(forkSession(dying, origin, fork(3, "forked"))).rejects.toThrow("killed");
    const next = w.outside();
    const [made, forked] = [await createSession(next, opening("new")), await forkSession(next, origin, fork(3, "forked"))];
    expect((await next.journal.sessions({ state: null, agent: null, before: null, most: 9 })).length).toBe(3);
    for (const { session } of [made, forked]) expect((await next.journal.take(session)).epoch).toBeGreaterThan(0); // held by nobody
  },
);

describe("an imported history", () => {
  const cases: readonly (readonly [string, readonly unknown[], number, string])[] = [
    ["an answer first", [{ role: "assistant", text: "hi" }], 0, "the first message is not the user's"],
    ["an empty text", [user("a"), user("")], 1, "it has no text"],
    ["an empty reply", [user("a"), { role: "assistant", text: "" }], 1, "it has no text"],
    ["another role", [user("a"), { role: "system", text: "obey" }], 1, "role `system`"],
    ["the runtime's own role", [user("a"), { role: "note", text: "obey" }], 1, "role `note` is the runtime's own"],
    ["no message", [user("a"), null], 1, "it is no message"],
    ["no text at all", [user("a"), { role: "user" }], 1, "it has no text"],
    ["a call without a result", [user("a"), calls("1")], 1, "call `1` has no result"],
    ["a word before the result", [user("a"), calls("1"), user("b")], 2, "call `1` of message 1 has no result yet"],
    ["one result of two", [user("a"), calls("1", "2"), result("1"), user("b")], 3, "call `2` of message 1 has no result yet"],
    ["results out of order", [user("a"), calls("1", "2"), result("2")], 2, "it answers `2`, and call `1` comes first"],
    ["a result twice", [user("a"), calls("1"), result("1"), result("1")], 3, "no call `1` waits for a result"],
    ["a result without a call", [user("a"), result("1")], 1, "no call `1` waits for a result"],
    [
      "ids that are one once they are stored",
      [user("a"), calls("\ud800"), result("\ud800"), calls("\ud801"), result("\ud801")],
      3,
      "used twice",
    ],
    ["calls that are no list", [user("a"), { role: "assistant", text: "x", calls: { length: 1 } }], 1, "`calls` is no list"],
    ["an id twice", [user("a"), calls("1"), result("1"), calls("1"), result("1")], 3, "call id `1` is used twice"],
    [
      "arguments that are not JSON",
      [user("a"), { role: "assistant", text: "", calls: [{ id: "1", tool: "t", text: "{" }] }],
      1,
      "the arguments of call `1` are not JSON",
    ],
    [
      "a tool without a name",
      [user("a"), { role: "assistant", text: "", calls: [{ id: "1", tool: "a b", text: "{}" }] }],
      1,
      "`a b` is no name of a tool",
    ],
    [
      "a call without an id",
      [user("a"), { role: "assistant", text: "", calls: [{ id: "", tool: "t", text: "{}" }] }],
      1,
      "a call has no id",
    ],
    ["a result that does not say how it went", [user("a"), calls("1"), { role: "tool", id: "1", text: "x" }], 2, "`isError` is neither"],
    ["a text beyond all measure", [user("a"), user("x".repeat(1_000_001))], 1, "it is longer than 1000000 characters"],
    ["all of it beyond measure", Array.from({ length: 17 }, () => user("x".repeat(1_000_000))), 16, "all of it is longer than"],
    ["too many messages", Array.from({ length: 10_001 }, () => user("x")), 10_000, "there are more than 10000"],
  ];
  test.each(cases)("H-7 %s is refused, and the message is named", (_, history, index, detail) => {
    expect(() => checkHistory(history as readonly HistoryMessage[])).toThrow(detail);
    try {
      checkHistory(history as readonly HistoryMessage[]);
    } catch (error) {
      expect(isFault(error) && error.fault).toMatchObject({ kind: "history-invalid", index });
    }
  });

  test("H-7 an id of the runtime's own making that a history has already is not made again", async () => {
    const { w } = stage([reply.calls([pay("2", "")]), reply.text("done")], REST);
    const history = [user("pay 1"), calls("orgate_1_0"), result("orgate_1_0"), calls("orgate_1_0_2"), result("orgate_1_0_2")] as const;
    const { session } = await createSession(w.outside(), opening(null, { history }));
    w.turnTo(session);
    expectValid((await w.say("and 2")).messages);
    expect(w.events("model.replied")[0]?.parts[0]).toMatchObject({ kind: "call", id: "1.0", wireId: "orgate_1_0_3" });
    const ids = w.state().messages.flatMap((m) => (m.role === "tool" ? [m.wireId] : []));
    expect(new Set(ids).size).toBe(ids.length);
  });

  test("H-7 what is live of a history is what is resumed: well-formed, and nothing but what counts of it", async () => {
    const history = [
      { role: "user", text: "a\ud800", more: () => 1 },
      { role: "assistant", text: "b", calls: undefined, meta: 1n },
    ] as unknown as readonly HistoryMessage[];
    const { w } = stage([reply.text("done")], REST);
    const held = await openSession(w.outside(), opening(null, { history }));
    expect(held.begin[0]).toMatchObject({ kind: "session.opened" });
    expect(held.begin[0]?.kind === "session.opened" && held.begin[0].history).toEqual([
      { role: "user", text: "a\ufffd" },
      { role: "assistant", text: "b" },
    ]);
  });

  test("H-7 what was said before, calls and results included, is what the model is shown, and an id used there is not used again", async () => {
    const { w, model, ran } = stage([reply.calls([pay("2", "1")]), reply.text("done")], REST);
    const history = [
      user("pay 1"),
      calls("1", "b"),
      result("1"),
      { ...result("b"), isError: true },
      { role: "assistant", text: "paid" },
    ] as const;
    const { session } = await createSession(w.outside(), opening(null, { history, labels: [label("pii")] }));
    w.turnTo(session);
    const s = await w.say("and 2");
    expect(model.asked[0]?.messages).toMatchObject([
      { role: "user", text: "pay 1" },
      {
        role: "assistant",
        parts: [
          { kind: "call", id: "0.0", wireId: "1", text: '{"x":"1"}' },
          { id: "0.1", wireId: "b" },
        ],
      },
      { role: "tool", wireId: "1", tool: "pay", text: "paid 1", isError: false },
      { role: "tool", wireId: "b", isError: true },
      { role: "assistant", parts: [{ text: "paid" }] },
      { role: "user", text: "and 2" },
    ]);
    expect(ran).toEqual(["2"]);
    const [own] = w.events("model.replied")[0]?.parts ?? [];
    expect(own).toMatchObject({ kind: "call", id: "1.0", wireId: "orgate_1_0" });
    expect([...s.labels]).toEqual(["pii"]);
    model.done();
  });
});

/** Requirements of every provider: a user first, each call answered once and in order before anything else. */
function expectValid(messages: readonly Message[]): void {
  let waiting: string[] = [];
  expect(messages[0]?.role).toBe("user");
  for (const m of messages) {
    if (m.role === "tool") expect(waiting.shift()).toBe(m.wireId);
    else expect(waiting).toEqual([]);
    if (m.role === "assistant") {
      expect(m.parts.length).toBeGreaterThan(0);
      waiting = m.parts.flatMap((p) => (p.kind === "call" ? [p.wireId] : []));
    }
  }
  expect(waiting).toEqual([]);
}

/** Two turns: parallel calls, a refusal, a question with a grant, words of people meanwhile, a lost call, labels, a delegate. */
async function rich(): Promise<World> {
  const steps = [
    reply.calls([pay("1"), call("look", "a"), call("no", "b")], { text: "Let me see." }),
    reply.calls([pay("2"), call("gone", "c")]),
    reply.text("first answer"),
    reply.calls([pay("2", "again"), { tool: "delegate", args: { agent: "reader", task: "read it" }, id: "give" }]),
    reply.text("second answer"),
  ];
  const rows = [
    { id: "no", action: "tool:no", verdict: "deny" as const, say: "never" },
    ...asks({ grant: "tool session", grantSurvives: ["untrusted"] }),
  ];
  const look = toolOf("look", () => "seen", { labels: ["untrusted"], repeat: "read" });
  const no = toolOf("no", () => "never");
  const gone = toolOf("gone", () => new Promise<never>(() => {}), { timeoutMs: 5 });
  const reader = { model: scriptedModel([reply.text("it says 42")]), tools: [] };
  const { w } = stage(steps, rows, { tools: [look, no, gone], delegates: ["reader"], others: { reader } });
  await w.run("do it");
  await w.wish({ kind: "steer", text: "and mind the gap" });
  await say(w, { kind: "grant", grant: { scope: "tool", until: "session" } });
  const going = w.go();
  for (let i = 0; i < 200 && w.events("turn.ended").length === 0; i += 1) {
    w.clock.advance(5);
    await new Promise((turn) => setImmediate(turn));
  }
  await going;
  await w.say("once more");
  return w;
}

describe("a fork", () => {
  test("H-10 at every entry: a valid conversation, the labels of that moment, nothing else; and it runs a turn", async () => {
    const w = await rich();
    const origin = w.session();
    const entries = w.entries();
    expect(new Set(entries.map((e) => e.event.kind)).size).toBeGreaterThan(14);
    for (const kind of ["child.opened", "child.ended", "grant.used", "labels.added", "input.steered"])
      expect(w.events(kind as "note")).not.toEqual([]);
    const p = w.outside();
    const sizes: number[] = [];
    for (const { seq: at } of entries) {
      const there = await readState(p, origin, { upTo: at });
      const { session } = await forkSession(p, origin, fork(at));
      const state = await readState(p, session);
      expect(state.labels).toEqual(there.labels);
      expect(state).toMatchObject({ turn: null, turns: 0, queued: [], grantsDue: [] });
      expect(state.unknowns.size).toBe(0);
      if (state.messages.length > 0) expectValid(state.messages);
      for (const m of there.messages) if (m.role === "user") expect(state.messages).toContainEqual({ ...m, entry: 1 }); // what came along comes from the first entry
      sizes.push(state.messages.length);

      const fresh = stage([reply.calls([pay("9", "c9")]), reply.text("forked")], REST);
      fresh.w.disk.entries.set(session, w.disk.entries.get(session) ?? never());
      fresh.w.disk.heads.set(session, w.disk.heads.get(session) ?? never());
      fresh.w.disk.sessions.set(session, w.disk.sessions.get(session) ?? never());
      fresh.w.disk.holds.set(session, w.disk.holds.get(session) ?? never());
      fresh.w.turnTo(session);
      expect((await fresh.w.say("go on from here")).last).toMatchObject({ ending: "completed", output: "forked" });
      for (const { messages } of fresh.model.asked) expectValid(messages);
      expect(fresh.ran).toEqual(["9"]);
    }
    expect(sizes).toEqual([...sizes].sort((a, b) => a - b));
    expect(w.session()).toBe(origin);
    expect(w.entries()).toEqual(entries);
  });

  test("H-10 calls that were open are told as unknown and named; a question stays where it was asked, a session's grant does not cover the fork", async () => {
    const { w, ran, model } = stage(
      [reply.calls([pay("1"), pay("2")]), reply.text("origin"), reply.calls([pay("1", "f")])],
      asks({ grant: "tool session" }),
    );
    await w.run("go");
    const origin = w.session();
    const parked = await forkSession(w.outside(), origin, fork());
    expect(parked).toMatchObject({ state: "idle", openQuestions: 0 });
    w.turnTo(parked.session);
    expect(w.events("session.forked")).toEqual([{ kind: "session.forked", from: origin, at: expect.any(Number), unknown: ["1.0", "1.1"] }]);
    expect(w.entries().map((e) => e.event.kind)).toEqual(["session.opened", "session.forked", "hold.taken"]);
    expect(w.state().messages.filter((m) => m.role === "tool")).toMatchObject([
      { text: expect.stringContaining("[unknown] pay") },
      { isError: true },
    ]);
    w.turnTo(origin);
    await say(w, { kind: "grant", grant: { scope: "tool", until: "session" } });
    await say(w, { kind: "approve" }, ANN, 1);
    await w.go();
    expect(ran).toEqual(["1", "2"]);
    w.turnTo(parked.session);
    await w.say("pay 1");
    expect(ran).toEqual(["1", "2"]);
    expect(open(w)).toHaveLength(1);
    model.done();
  });

  test("H-10 what was cut to fit is cut in the fork as it was, by the tokenizer of its agent", async () => {
    const long = toolOf("long", () => "lorem ipsum ".repeat(400));
    const counters = () => (text: string) => text.length;
    const steps = [reply.calls([call("long")]), reply.text("done")];
    const { w } = stage(steps, REST, { tools: [long], counters, limits: { contextTokens: 2_000, outputTokens: 100 } });
    const { messages } = await w.run("go");
    const p = w.outside();
    const { session } = await forkSession(p, w.session(), fork());
    const texts = (all: readonly Message[]) => all.map((m) => ("text" in m ? m.text : null));
    expect(texts((await readState(p, session, p)).messages)).toEqual(texts(messages));
  });

  test("H-10 of a session that another process holds, with an id of its own that means this fork only", async () => {
    const { w } = stage([reply.text("one"), reply.text("two")], REST);
    await w.run("go");
    const origin = w.session();
    const holder = w.outside();
    await holder.journal.take(origin);
    const p = w.outside();
    const made = await forkSession(p, origin, fork(4, "branch"));
    expect(await forkSession(p, origin, fork(4, "branch"))).toEqual(made);
    expect(await faultOf(forkSession(p, origin, fork(5, "branch")))).toMatchObject({ kind: "external-taken", session: made.session });
    expect(await faultOf(createSession(p, opening("branch", { principal: BOB })))).toMatchObject({ kind: "external-taken" });
    for (const at of [0, 99, 1.5, -1]) expect(await faultOf(forkSession(p, origin, fork(at)))).toMatchObject({ kind: "usage" });
    expect(await faultOf(forkSession(p, "s_nowhere0" as SessionId, fork()))).toMatchObject({ kind: "session-unknown" });
  });

  test("H-10 what was erased cannot be forked; what lies before it can", async () => {
    const { w } = stage([reply.text("one"), reply.text("two")], REST);
    await w.run("go");
    await w.say("my secret");
    const turn = w.entries().findLast((e) => e.event.kind === "turn.started");
    const at = turn?.seq ?? never();
    w.disk.entries.set(
      w.session(),
      (w.disk.entries.get(w.session()) ?? []).map((e) => (e.seq === at ? { ...e, payload: null, salt: null } : e)),
    );
    const p = w.outside();
    expect(await faultOf(forkSession(p, w.session(), fork()))).toMatchObject({ kind: "entry-erased", seq: at });
    expect(await faultOf(forkSession(p, w.session(), fork(at - 1)))).toBe(null);
  });
});

describe("closing", () => {
  test("H-9 a closed session takes no turn and no wish; a turn in progress keeps it open; closing twice is closing once", async () => {
    const { w } = stage([reply.calls([pay("1")]), reply.text("one")], asks());
    await w.run("go");
    const p = w.outside();
    expect(await faultOf(closeSession(p, w.session(), ANN, "done"))).toEqual({ kind: "session-busy", session: w.session() });
    await say(w, { kind: "approve" });
    await w.go();
    expect(await closeSession(p, w.session(), ANN, "done")).toMatchObject({ state: "closed" });
    const entries = w.entries();
    await closeSession(p, w.session(), ANN, "done");
    expect(w.entries()).toEqual(entries);
    expect(w.events("session.closed")).toEqual([{ kind: "session.closed", by: ANN, reason: "done" }]);
    await w.wish({ kind: "say", text: "more" });
    await w.go();
    expect(w.events("intent.refused")).toMatchObject([{ reason: "the session is closed" }]);
    expect(w.events("turn.started")).toHaveLength(1);
  });

  test("H-9 what became of a call can still be said when its session is closed: calls like it would ask for ever", async () => {
    const { w } = stage([reply.calls([pay("1")]), reply.text("one")], REST, { crashes: [{ of: "effect", nth: 0, when: "after" }] });
    await w.run("go");
    await closeSession(w.outside(), w.session(), ANN, "done");
    expect(w.disk.unknowns).toHaveLength(1);
    await w.wish({ kind: "resolve", call: callId("1.0"), as: "happened", note: "it is on the statement" });
    const s = await w.go();
    expect(w.events("intent.refused")).toEqual([]);
    expect(w.disk.unknowns).toEqual([]);
    expect(s.turn).toBeNull();
  });
});

describe("checkpoints", () => {
  /** The table of SPEC: each is a position in the journal. */
  const CHECKPOINTS: readonly (readonly [string, (e: JournalEvent) => boolean])[] = [
    ["after-input", (e) => e.kind === "turn.started"],
    ["before-model", (e) => e.kind === "model.asked"],
    ["before-calls", (e) => decisionsIn(e).some(({ id }) => id === "1.1")],
    ["after-calls", (e) => e.kind === "act.ended" && e.call === "1.1"],
  ];
  const steps = [reply.calls([pay("1"), call("look", "a")]), reply.text("done")];
  const look = toolOf("look", () => "seen", { repeat: "read" });

  test.each(CHECKPOINTS)("H-11 %s: killed right after it is durable, the turn goes on from there and ends", async (_, isPlace) => {
    const calm = stage(steps, REST, { tools: [look], sealing: "each" });
    await calm.w.run("go");
    const place = calm.w.entries().find((e) => isPlace(e.event))?.seq ?? never();
    const commit = [...calm.w.disk.seals.values()].flat().findIndex(({ wrote }) => lastOf(wrote) >= place);
    const crash: CrashPoint = { of: "append", nth: commit, when: "after" };
    const { w, ran, model } = stage(steps, REST, {
      tools: [look],
      crashes: [crash],
    });
    const s = await w.run("go");
    expect(w.processes()).toBe(2);
    expect(s.last).toMatchObject({ ending: "completed", output: "done" });
    expect(ran.length).toBeLessThanOrEqual(1);
    expectValid(s.messages);
    expect(w.events("turn.ended")).toHaveLength(1);
    model.done();
  });

  test.each(CHECKPOINTS)("H-11 %s: an older one is gone on from in a fork at its position", async (_, isPlace) => {
    const { w, model } = stage([...steps, reply.text("another way")], REST, { tools: [look] });
    await w.run("go");
    const place = w.entries().find((e) => isPlace(e.event))?.seq ?? never();
    const { session } = await forkSession(w.outside(), w.session(), fork(place));
    w.turnTo(session);
    expect((await w.say("try it another way")).last).toMatchObject({ ending: "completed", output: "another way" });
    expectValid(model.asked.at(-1)?.messages ?? []);
    model.done();
  });
});

describe("a grant that is revoked at the last moment", () => {
  /** Somebody revokes it right before the commit that would use it. */
  const revokingBefore =
    (w: () => World, isMeant: (events: readonly TimedEvent[]) => boolean) =>
    (p: Ports): Ports => ({
      ...p,
      journal: {
        ...p.journal,
        append: async (a) => {
          if (isMeant(a.events))
            for (const { grant } of await w().grants())
              await w().order({ kind: "grant.revoked", grant: grantId(grant), by: ANN, reason: "no" });
          return p.journal.append(a);
        },
      },
    });

  test("Q-11 a call that it covered does not start, and asks", async () => {
    let revoke = false;
    const { w, ran } = stage([reply.calls([pay("a")]), reply.calls([pay("a", "two")])], asks({ grant: "tool session" }), {
      spoil: revokingBefore(
        () => w,
        (events) => revoke && events.some(({ event: e }) => e.kind === "grant.used"),
      ),
    });
    await w.run("go");
    await say(w, { kind: "grant", grant: { scope: "tool", until: "session" } });
    revoke = true;
    await w.go();
    expect(ran).toEqual(["a"]);
    expect(w.events("grant.used")).toEqual([]);
    expect(open(w)).toMatchObject([{ action: "2.0" }]);
    expect(w.events("gate.decided").flatMap((e) => (e.id === "2.0" ? [e.verdict.kind] : []))).toEqual(["ask"]); // no leave by a grant that is gone is on record
    revoke = false;
    await say(w, { kind: "approve" });
    await w.go().catch(() => {});
    expect(ran).toEqual(["a", "a"]);
  });
});

const lastOf = (wrote: string): number => Number(/#(\d+):[0-9a-f]+$/.exec(wrote)?.[1] ?? 0);
function never(): never {
  throw new Error("it is not there");
}
