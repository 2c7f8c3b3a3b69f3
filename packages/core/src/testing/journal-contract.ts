/** Contract suite for journal adapters: run it on each of them. The runner's `test` and `expect` are parameters. */
import type { Inbox } from "../inbox/port.ts";
import {
  type Append,
  type ExpiredPage,
  type Hold,
  type Journal,
  parseMarks,
  type Records,
  type TrustedValuePage,
  toBucketSpan,
} from "../journal/index.ts";
import {
  actionText,
  approvalId,
  callId,
  DEFAULT_LIMITS,
  DEFAULT_TERMS,
  type Digest,
  digest,
  type Entry,
  epoch,
  type Fault,
  GRANTS,
  grantId,
  type Intent,
  type IntentId,
  intentId,
  isFault,
  type Json,
  keyId,
  label,
  millis,
  NO_USAGE,
  type Origin,
  PLAIN_WINDOW,
  policyId,
  reconciledEvent,
  type Seq,
  type SessionEvent,
  type SessionId,
  type StreamId,
  type SystemEvent,
  seq,
  sessionId,
  streamId,
  type TimedEvent,
  TRUSTED_VALUES,
  type WriterId,
  ZERO,
} from "../vocab/index.ts";

/** The part of a test runner that a suite needs; vitest's, or any other like it. */
export type Runner = Readonly<{
  test: (name: string, body: () => Promise<void>) => void;
  expect: (value: unknown) => Expectation;
}>;
export type Expectation = Readonly<{
  toBe(value: unknown): void;
  toEqual(value: unknown): void;
  toMatchObject(value: object): void;
  toMatch(value: RegExp): void;
  toHaveLength(value: number): void;
}>;

/** One process on the store. `die` ends it as kill -9 would. */
export type OpenedStore = Readonly<{
  journal: Journal;
  inbox: Inbox;
  /** The stored form of everything that is durable by now. Seals nothing. */
  records(): Promise<Records>;
  /** What other processes have written by now is known here when it resolves; a store that reads one file knows it always. */
  catchUp(): Promise<void>;
  die(): Promise<void>;
}>;

/** A store of its own for each test, on which several processes can be opened. */
export type StoreUnderTest = Readonly<{
  open(): Promise<OpenedStore>;
  /** From here on every commit fails, as on a full disk. */
  fill(): Promise<void>;
  /** Changes one stored payload behind the store's back. */
  spoil(stream: StreamId, seq: Seq): Promise<void>;
  /** Removes one stored entry behind the store's back. */
  remove(stream: StreamId, seq: Seq): Promise<void>;
  /** Changes every stored blob behind the store's back. */
  spoilBlobs(): Promise<void>;
  dispose(): Promise<void>;
}>;
export type MakeStore = () => Promise<StoreUnderTest>;

export const S1: SessionId = sessionId("s_contract0001");
export const S2: SessionId = sessionId("s_contract0002");
const S3: SessionId = sessionId("s_contract0003");
const NOTES = streamId("notes");

export const opened = (agent: string): SessionEvent => ({
  kind: "session.opened",
  agent: {
    name: agent,
    digest: ZERO,
    instructions: "be brief",
    model: "offline/echo",
    policies: ZERO,
    tools: ZERO,
    overheadTokens: 0,
    tokenizer: "estimate",
    context: PLAIN_WINDOW,
    prices: null,
    fallbacks: [],
    charges: {},
    knowledge: null,
  },
  principal: { kind: "user", id: "ana" },
  surface: "library",
  labels: [label("trusted")],
  history: [],
  external: null,
  parent: null,
  origin: null,
});
/** Begins a turn with these words. */
export const turnStarted = (turn: number, input: string): SessionEvent => ({
  kind: "turn.started",
  turn,
  input,
  files: [],
  by: { kind: "user", id: "ana" },
  limits: DEFAULT_LIMITS,
  intent: null,
});
export const note = (value: Json): SessionEvent => ({ kind: "note", from: "test", call: null, name: "n", value });
const EDITED = digest("e".repeat(64));
export const callDecided = (call: string, host = "a.example"): SessionEvent => ({
  kind: "gate.decided",
  id: actionText(call),
  action: {
    kind: "call",
    call: callId(call),
    tool: "send",
    toolDigest: ZERO,
    effects: ["network"],
    args: { token: "not for lists" },
    inexact: [],
    resource: { type: "Host", id: host },
  },
  digest: ZERO,
  slice: ZERO,
  verdict: { kind: "allow", because: [], approval: null },
  read: {},
  shadow: null,
});
export const asked = (approval: string, action: string, quorum: number): SessionEvent => ({
  kind: "approval.asked",
  approval: approvalId(approval),
  action: actionText(action),
  digest: ZERO,
  asks: [{ policy: policyId("p"), question: "may it?", terms: { ...DEFAULT_TERMS, quorum } }],
  expiresAt: millis(9_000),
  again: null,
});
export const answered = (approval: string, by: string, of: Digest): SessionEvent => ({
  kind: "approval.answered",
  approval: approvalId(approval),
  by: { kind: "user", id: by },
  answer: { kind: "approve" },
  counts: [policyId("p")],
  digest: of,
  about: null,
  intent: intentId(`i_${approval}_${by}`),
});
const steered = (): SessionEvent => ({
  kind: "input.steered",
  text: "wait",
  files: [],
  by: { kind: "user", id: "ana" },
  intent: intentId("i_steer"),
});
const turnEnded = (): SessionEvent => ({
  kind: "turn.ended",
  turn: 1,
  ending: "completed",
  output: null,
  detail: null,
  usage: NO_USAGE,
  lost: NO_USAGE,
  micros: null,
  iterations: 1,
  calls: 0,
  activeMs: 0,
});
export const started = (call: string): SessionEvent => ({
  kind: "act.started",
  call: callId(call),
  epoch: epoch(1),
  start: 1,
  edition: 0,
  repeat: "once",
  tool: "look",
  values: {},
  decisions: [],
});
export const lost = (call: string): SessionEvent => ({
  kind: "act.ended",
  call: callId(call),
  outcome: { kind: "unknown", cause: "hold-lost", detail: "gone" },
  evidence: { durationMs: 0, starts: 1, proof: null },
  endsTurn: false,
  recovering: false,
});
const told = (call: string, found: "happened" | "did-not-happen" | "cannot-tell"): SessionEvent => reconciledEvent(callId(call), found, "");
const resolved = (call: string): SessionEvent => ({
  kind: "unknown.resolved",
  call: callId(call),
  as: "happened",
  by: { kind: "user", id: "ana" },
  note: "",
  intent: intentId(`i_resolve_${call}`),
});
const late = (call: string): SessionEvent => ({
  kind: "act.late",
  call: callId(call),
  outcome: { kind: "failed", error: "no" },
  intent: intentId(`i_late_${call}`),
});
const stamp = (event: SessionEvent | SystemEvent, at = 1_000): TimedEvent => ({ at: millis(at), event });
const say = (id: string, session: SessionId, text: string): Intent => ({
  id: intentId(id),
  session,
  at: millis(5),
  by: { kind: "user", id: "ana" },
  key: keyId("k"),
  wish: { kind: "say", text },
  signature: "signed",
});

/** To a session under its hold, or to a stream that belongs to none. */
const append = (
  to: Hold | StreamId,
  after: number,
  events: readonly (SessionEvent | SystemEvent)[],
  consumes: readonly IntentId[] = [],
): Append => ({
  stream: typeof to === "string" ? to : to.session,
  after: seq(after),
  hold: typeof to === "string" ? null : to,
  events: events.map((e) => stamp(e)),
  consumes,
  unlessHalted: [],
});

const faultOf = async (work: Promise<unknown>): Promise<Fault | null> =>
  work.then(
    () => null,
    (error: unknown) => {
      if (isFault(error)) return error.fault;
      throw error;
    },
  );
const all = (journal: Pick<Journal, "read">, stream: StreamId): Promise<readonly Entry[]> => journal.read(stream, seq(0), 100_000);
/** For each seal of the writer: the ends of streams that it names. */
const sealedIn = async ({ records }: Pick<OpenedStore, "records">, writer: WriterId): Promise<readonly (readonly string[])[]> =>
  [...(await records()).seals(writer)].map(({ wrote }) => (parseMarks(wrote) ?? []).map(({ stream, seq: at }) => `${stream}#${at}`));
const valuesOf = (entries: readonly Entry[]): unknown[] => entries.map((e) => (e.event.kind === "note" ? e.event.value : e.event.kind));

export function journalContract(name: string, make: MakeStore, { test, expect }: Runner): void {
  const rule = (sentence: string, body: (store: StoreUnderTest) => Promise<void>): void =>
    test(`${sentence} [${name}]`, async () => {
      const store = await make();
      try {
        await body(store);
      } finally {
        await store.dispose();
      }
    });

  rule("J-1 what was appended is there for every process, in order, as it was", async (store) => {
    const a = await store.open();
    const hold = await a.journal.take(S1);
    expect(await a.journal.append(append(hold, 0, [opened("echo"), note("one")]))).toBe(1);
    expect(await a.journal.append(append(hold, 2, [note({ b: 1, a: ["ü", null] })]))).toBe(3);
    const b = await store.open();
    const entries = await all(b.journal, S1);
    expect(entries.map((e) => e.seq)).toEqual([1, 2, 3]);
    expect(entries.map((e) => e.event)).toEqual([opened("echo"), note("one"), note({ b: 1, a: ["ü", null] })]);
    expect(valuesOf(await b.journal.read(S1, seq(1), 1))).toEqual(["one"]);
    expect(await b.journal.read(S1, seq(3), 10)).toEqual([]);
    expect(await b.journal.read(S2, seq(0), 10)).toEqual([]);
  });

  rule("J-1 the hash of an entry is told by its place, the same to every process; where there is no entry there is none", async (store) => {
    const a = await store.open();
    const hold = await a.journal.take(S1);
    await a.journal.append(append(hold, 0, [opened("echo"), note("one")]));
    const b = await store.open();
    for (const { seq: at, entryHash } of (await b.records()).entries(S1)) {
      expect(await a.journal.hashAt(S1, at)).toBe(entryHash);
      expect(await b.journal.hashAt(S1, at)).toBe(entryHash);
    }
    for (const at of [0, 3]) expect(await b.journal.hashAt(S1, seq(at))).toBe(null);
    expect(await b.journal.hashAt(S2, seq(1))).toBe(null);
  });

  rule("J-4 an append on another sequence number is refused and says where the stream is", async (store) => {
    const { journal } = await store.open();
    await journal.append(append(NOTES, 0, [note(1), note(2)]));
    for (const after of [0, 1, 3])
      expect(await faultOf(journal.append(append(NOTES, after, [note("lost")])))).toEqual({
        kind: "append-conflict",
        stream: NOTES,
        expected: after,
        found: 2,
      });
    expect(valuesOf(await all(journal, NOTES))).toEqual([1, 2]);
  });

  rule("J-4 two processes that append to one stream: one is first, the other is told", async (store) => {
    const [a, b] = [await store.open(), await store.open()];
    await a.journal.append(append(NOTES, 0, [note("a1")]));
    await b.journal.append(append(NOTES, 1, [note("b2")]));
    expect(await faultOf(a.journal.append(append(NOTES, 1, [note("a2")])))).toMatchObject({ kind: "append-conflict", found: 2 });
    await a.journal.append(append(NOTES, 2, [note("a3")]));
    expect(valuesOf(await all(b.journal, NOTES))).toEqual(["a1", "b2", "a3"]);
  });

  rule(
    "J-1 what is appended in one tick is one transaction under one seal, whatever the streams, chained to the writer's last",
    async (store) => {
      const { journal, records } = await store.open();
      const [h1, h2] = [await journal.take(S1), await journal.take(S2)];
      const firsts = await Promise.all([
        journal.append(append(h1, 0, [opened("echo"), note(1)])),
        journal.append(append(h2, 0, [opened("echo")])),
        journal.append(append(h1, 2, [note(2)])),
        journal.append(append(NOTES, 0, [note(3)])),
      ]);
      expect(firsts).toEqual([1, 1, 3, 1]);
      expect(await sealedIn({ records }, journal.writer)).toEqual([[`${NOTES}#1`, `${S1}#3`, `${S2}#1`]]);
      await journal.append(append(NOTES, 1, [note(4)]));
      const [first, second] = [...(await records()).seals(journal.writer)];
      expect(second).toMatchObject({ number: 2, previous: first?.hash });
    },
  );

  rule("J-31 most of a session waits for a seal at an interval; what gives authority, ends or is handed over does not", async (store) => {
    for (let tries = 1; ; tries += 1) {
      const { journal, records } = await store.open();
      const [session, notes] = [sessionId(`s_contract31${String(tries).padStart(2, "0")}`), streamId(`notes.${tries}`)];
      const hold = await journal.take(session);
      const seals = () => sealedIn({ records }, journal.writer);
      await journal.append(append(hold, 0, [opened("echo")]));
      await journal.append(append(hold, 1, [note(1)]));
      await journal.append(append(hold, 2, [note(2), note(3)]));
      const waiting = await seals();
      expect((await all(journal, session)).length).toBe(4); // read and believed by its own project
      await journal.append(append(hold, 4, [note(4), { kind: "grant.used", grant: grantId("g_1"), action: actionText("1.0") }]));
      expect((await seals()).at(-1)).toEqual([`${session}#6`]);
      await journal.append(append(hold, 6, [note(5)]));
      await journal.append(append(notes, 0, [note("a system stream")]));
      const [before, system] = [await seals(), [`${notes}#1`, `${session}#7`]];
      await journal.append(append(hold, 7, [note(6)]));
      await journal.release(hold);
      const sealed = await seals();
      expect(sealed.at(-1)).toEqual([`${session}#8`]);
      expect([...(await records()).seals(journal.writer)].map((s) => s.recovered)).toEqual(sealed.map(() => false));
      // on a slow machine an interval may have ended in between: then the scene is set again
      if (sealed.length > 4 && tries < 20) continue;
      expect(waiting).toEqual([[`${session}#1`]]);
      expect(before.at(-1)).toEqual(system);
      expect(sealed).toEqual([[`${session}#1`], [`${session}#6`], system, [`${session}#8`]]);
      return;
    }
  });

  rule("J-4 a conflict rejects only its own append of a group", async (store) => {
    const { journal, records } = await store.open();
    const hold = await journal.take(S1);
    const outcomes = await Promise.allSettled([
      journal.append(append(hold, 0, [opened("echo")])),
      journal.append(append(hold, 7, [note("conflict")])),
      journal.append(append({ ...hold, session: S2 }, 0, [note("no hold")])),
      journal.append(append(NOTES, 0, [note("fine")])),
      journal.append(append(NOTES, 1, [note("consumes nothing")], [intentId("never-put")])),
      journal.append(append(NOTES, 1, [note("too late")])),
    ]);
    expect(outcomes.map((o) => o.status)).toEqual(["fulfilled", "rejected", "rejected", "fulfilled", "rejected", "fulfilled"]);
    expect(valuesOf(await all(journal, NOTES))).toEqual(["fine", "too late"]);
    expect((await all(journal, S1)).length).toBe(1);
    expect([...(await records()).seals(journal.writer)].length).toBe(1);
  });

  const telling = (id: string): Intent => ({ ...say(id, S2, "told"), by: { kind: "system", id: "w" } });

  rule("J-1 what an append opens and tells is written with it, under one seal, and nobody holds what it opened", async (store) => {
    const { journal, inbox, records } = await store.open();
    const hold = await journal.take(S1);
    const begun = { session: S2, events: [stamp(opened("reader")), stamp(note("task"))] };
    let woken = 0;
    const stop = inbox.watch(S2, () => {
      woken += 1;
    });
    const [first] = await Promise.all([
      journal.append({ ...append(hold, 0, [opened("echo")]), opens: [begun], tells: [telling("i_told")] }),
      journal.append(append(NOTES, 0, [note("beside it")])),
    ]);
    stop();
    expect(first).toBe(1);
    expect(woken > 0).toBe(true);
    expect(await sealedIn({ records }, journal.writer)).toEqual([[`${NOTES}#1`, `${S1}#1`, `${S2}#2`]]);
    expect(valuesOf(await all(journal, S2))).toEqual(["session.opened", "task"]);
    expect(await journal.session(S2)).toMatchObject({ session: S2, agent: "reader", seq: 2 });
    expect((await inbox.pending(S2)).map((a) => a.intent)).toEqual([telling("i_told")]);
    const next = await store.open();
    const child = await next.journal.take(S2); // by whoever comes first
    expect(child.epoch).toBe(1);
    await next.journal.append(append(child, 2, [note("goes on")], [intentId("i_told")]));
    expect(await inbox.state(intentId("i_told"))).toBe("taken");
    await journal.append({ ...append(hold, 1, [note("again")]), tells: [telling("i_told")] });
    expect(await inbox.state(intentId("i_told"))).toBe("taken"); // known, and not put again
  });

  rule("J-1 an append that is refused opens nothing and tells nobody, whatever it was refused for", async (store) => {
    const { journal, inbox, records } = await store.open();
    const hold = await journal.take(S1);
    await journal.append(append(hold, 0, [opened("echo")]));
    const begun = (session: SessionId) => ({ session, events: [stamp(opened("reader"))] });
    const S3 = sessionId("s_contract0003");
    await journal.append({
      ...append(streamId("halt"), 0, []),
      events: [{ at: millis(1), event: { kind: "work.halted", scope: "agent:reader", by: { kind: "user", id: "ana" }, reason: "" } }],
    });
    const held = await journal.take(S3); // it has no entry yet, and is somebody's all the same
    const wants = { tells: [telling("i_never")], opens: [begun(S2)] };
    const outcomes = await Promise.all([
      faultOf(journal.append({ ...append(hold, 7, [note("conflict")]), ...wants })),
      faultOf(journal.append({ ...append(hold, 1, [note("halted")]), ...wants, unlessHalted: ["agent:reader"] })),
      faultOf(journal.append({ ...append(hold, 1, [note("held")]), ...wants, opens: [begun(S2), begun(S3)] })),
      faultOf(journal.append({ ...append(hold, 1, [note("there")]), ...wants, opens: [begun(S2), begun(S1)] })),
      faultOf(journal.append({ ...append(hold, 1, [note("twice")]), ...wants, opens: [begun(S2), begun(S2)] })),
      faultOf(journal.append(append(hold, 1, [note("fine")]))),
    ]);
    const conflict = "append-conflict";
    expect(outcomes.map((f) => f?.kind ?? null)).toEqual([conflict, "halted", conflict, conflict, conflict, null]);
    expect(valuesOf(await all(journal, S1))).toEqual(["session.opened", "fine"]);
    expect(await all(journal, S2)).toEqual([]);
    expect(await journal.session(S2)).toBe(null);
    expect(await inbox.state(intentId("i_never"))).toBe("absent");
    const sealed = await sealedIn({ records }, journal.writer); // the note waits for the next seal, which comes by itself before long
    expect(sealed.filter((entries) => entries.join() !== `${S1}#2`)).toEqual([[`${S1}#1`], ["halt#1"]]);
    await journal.append({ ...append(hold, 2, [note("now")]), opens: [begun(S2)] });
    expect((await all(journal, S2)).length).toBe(1);
    await journal.release(held);
  });

  rule("J-1 a process that dies has opened and told all of an append or nothing of it", async (store) => {
    const a = await store.open();
    const hold = await a.journal.take(S1);
    const append1 = a.journal.append({
      ...append(hold, 0, [opened("echo")]),
      opens: [{ session: S2, events: [stamp(opened("reader"))] }],
      tells: [telling("i_told")],
    });
    await faultOf(append1);
    await a.die();
    const b = await store.open();
    expect((await all(b.journal, S1)).length).toBe(1);
    expect((await all(b.journal, S2)).length).toBe(1);
    expect(await b.inbox.state(intentId("i_told"))).toBe("pending");
  });

  rule("J-3 a commit error fails all who wait and everything after, and nothing of it is there", async (store) => {
    const { journal } = await store.open();
    const hold = await journal.take(S1);
    await journal.append(append(hold, 0, [opened("echo")]));
    await store.fill();
    const big = note("x".repeat(16_000));
    const outcomes = await Promise.all([
      faultOf(
        journal.append(
          append(
            hold,
            1,
            Array.from({ length: 200 }, () => big),
          ),
        ),
      ),
      faultOf(journal.append(append(NOTES, 0, [note("waits too")]))),
    ]);
    expect(outcomes.map((f) => f?.kind)).toEqual(["journal-unwritable", "journal-unwritable"]);
    expect((await faultOf(journal.append(append(NOTES, 0, [note("after")]))))?.kind).toBe("journal-unwritable");
    expect(journal.holds(hold)).toBe(false);
    expect((await faultOf(journal.take(S2)))?.kind).toBe("journal-unwritable");
    expect((await all(journal, S1)).length).toBe(1);
    expect(await all(journal, NOTES)).toEqual([]);
  });

  rule("J-6 a clock that jumps back does not turn the stream's time around", async (store) => {
    const { journal, records } = await store.open();
    const events = [stamp(note(1), 500), stamp(note(2), 200), stamp(note(3), 700)];
    await journal.append({ ...append(NOTES, 0, []), events });
    await journal.append({ ...append(NOTES, 3, []), events: [stamp(note(4), 100)] });
    expect((await all(journal, NOTES)).map((e) => e.at)).toEqual([500, 500, 700, 700]);
    expect([...(await records()).seals(journal.writer)].map((s) => s.at)).toEqual([700, 700]);
  });

  rule("J-4 a session has one holder; each hold has an epoch of its own; release and death free it", async (store) => {
    const [a, b] = [await store.open(), await store.open()];
    const first = await a.journal.take(S1);
    expect(first).toEqual({ session: S1, epoch: 1 });
    expect(a.journal.holds(first)).toBe(true);
    expect(b.journal.holds(first)).toBe(false);
    const refused = await faultOf(b.journal.take(S1));
    expect(refused).toMatchObject({ kind: "session-held", session: S1 });
    expect(refused?.kind === "session-held" && refused.by.includes(`\`${a.journal.writer}\``)).toBe(true);
    expect((await faultOf(a.journal.take(S1)))?.kind).toBe("session-held");
    await a.journal.release(first);
    expect(a.journal.holds(first)).toBe(false);
    const second = await b.journal.take(S1);
    expect(second.epoch).toBe(2);
    await a.journal.release(first); // late, and not its own any more
    expect(b.journal.holds(second)).toBe(true);
    await b.die();
    expect((await a.journal.take(S1)).epoch).toBe(3);
  });

  rule("J-4 only the hold appends to a session: not none, not a lost one, not another session's, not another process's", async (store) => {
    const [a, b] = [await store.open(), await store.open()];
    const lost = await a.journal.take(S1);
    await a.journal.append(append(lost, 0, [opened("echo")]));
    await a.journal.release(lost);
    const held = await b.journal.take(S1);
    const attempts: [Journal, Append][] = [
      [a.journal, append(lost, 1, [note("lost")])],
      [a.journal, append(held, 1, [note("of another process")])],
      [b.journal, append(lost, 1, [note("of another epoch")])],
      [b.journal, { ...append(held, 1, [note("none")]), hold: null }],
      [b.journal, { ...append(held, 1, [note("another's")]), hold: { ...held, session: S2 } }],
    ];
    for (const [journal, attempt] of attempts) expect((await faultOf(journal.append(attempt)))?.kind).toBe("hold-lost");
    await b.journal.append(append(held, 1, [note("mine")]));
    expect(valuesOf(await all(b.journal, S1))).toEqual(["session.opened", "mine"]);
  });

  rule("J-4 the next process in a slot is not taken for the one that died in it", async (store) => {
    const a = await store.open();
    const hold = await a.journal.take(S1);
    await a.journal.append(append(hold, 0, [opened("echo")]));
    await a.die();
    const next = await store.open();
    expect(next.journal.holds(hold)).toBe(false);
    expect((await faultOf(next.journal.append(append(hold, 1, [note("old hold")]))))?.kind).toBe("hold-lost");
    expect((await next.journal.take(S1)).epoch).toBe(2);
  });

  rule(
    "Z-3 one due time, and one delivery by its name and by what was signed, opens one session in however many processes",
    async (store) => {
      const [a, b] = [await store.open(), await store.open()];
      const by = (origin: Origin): SessionEvent => ({ ...opened("echo"), origin }) as SessionEvent;
      const begin = (store: typeof a, session: SessionId, origin: Origin, after: number) =>
        faultOf(
          store.journal.append({
            ...append(streamId("schedule:nightly"), after, [{ kind: "schedule.queued", schedule: "nightly", dueAt: millis(after) }]),
            opens: [{ session, events: [{ at: millis(1), event: by(origin) }] }],
          }),
        );
      const due = { kind: "schedule", schedule: "nightly", dueAt: millis(1_000), attempt: 1 } as const;
      expect(await begin(a, S1, due, 0)).toBe(null);
      expect(await begin(b, S2, due, 1)).toMatchObject({ kind: "external-taken", session: S1 });
      expect(await b.journal.session(S2)).toBe(null);
      expect((await b.journal.read(streamId("schedule:nightly"), seq(0), 9)).length).toBe(1); // nothing of it is there
      const sent = { kind: "webhook", webhook: "in", provider: "github", delivery: "d-1", key: digest("a".repeat(64)) } as const;
      expect(await begin(b, S2, sent, 1)).toBe(null);
      const other = digest("b".repeat(64));
      expect(await begin(a, S3, { ...sent, key: other }, 2)).toMatchObject({ kind: "external-taken", session: S2 });
      expect(await begin(a, S3, { ...sent, delivery: "d-2" }, 2)).toMatchObject({ kind: "external-taken", session: S2 });
      expect(await begin(a, S3, { ...sent, delivery: "d-2", key: other }, 2)).toBe(null);
    },
  );

  rule(
    "J-29 a session's own id means one session: two processes that open it at once, one wins, and the other is told which",
    async (store) => {
      const [a, b] = [await store.open(), await store.open()];
      const [h1, h2] = [await a.journal.take(S1), await b.journal.take(S2)];
      const named = (agent: string): SessionEvent => ({ ...opened(agent), external: "ticket 17 \u{1f600}" }) as SessionEvent;
      const faults = await Promise.all([
        faultOf(a.journal.append(append(h1, 0, [named("echo"), note(1)]))),
        faultOf(b.journal.append(append(h2, 0, [named("other")]))),
      ]);
      const won = faults[0] === null ? S1 : S2;
      expect(faults.filter((f) => f !== null)).toEqual([{ kind: "external-taken", external: "ticket 17 \u{1f600}", session: won }]);
      for (const { journal } of [a, b]) {
        expect(await journal.find("ticket 17 \u{1f600}")).toMatchObject({ session: won, external: "ticket 17 \u{1f600}" });
        expect(await journal.find("ticket 1")).toBe(null);
      }
      const lost = won === S1 ? S2 : S1;
      expect(await all(a.journal, lost)).toEqual([]);
      expect(await a.journal.session(lost)).toBe(null);
      const c = await store.open();
      expect((await c.journal.find("ticket 17 \u{1f600}"))?.session).toBe(won);
    },
  );

  rule("Q-11 a grant that is revoked is not used, in the very transaction that would write it, in whichever process", async (store) => {
    const [a, b] = [await store.open(), await store.open()];
    const hold = await a.journal.take(S1);
    const used: SessionEvent = { kind: "grant.used", grant: grantId("g_1"), action: actionText("1.0") };
    const other: SessionEvent = { kind: "grant.used", grant: grantId("g_2"), action: actionText("1.1") };
    await a.journal.append(append(hold, 0, [opened("echo"), used]));
    const revoked: SystemEvent = { kind: "grant.revoked", grant: grantId("g_1"), by: { kind: "user", id: "ana" }, reason: "enough" };
    await b.journal.append({ ...append(GRANTS, 0, []), events: [{ at: millis(1), event: revoked }] });
    const outcomes = await Promise.all([
      faultOf(a.journal.append(append(hold, 2, [note("x"), used]))),
      faultOf(a.journal.append(append(NOTES, 0, [note("beside it")]))),
    ]);
    expect(outcomes).toEqual([{ kind: "grant-revoked", grant: "g_1" }, null]);
    await a.journal.append(append(hold, 2, [other]));
    expect((await all(a.journal, S1)).map((e) => e.event)).toEqual([opened("echo"), used, other]);
  });

  rule(
    "J-25 the journal as a whole is read in the order in which it became durable, without gaps, by every process alike",
    async (store) => {
      const [a, b] = [await store.open(), await store.open()];
      expect(await a.journal.position()).toBe(0);
      const [h1, h2] = [await a.journal.take(S1), await b.journal.take(S2)];
      await a.journal.append(append(h1, 0, [opened("echo"), note(1)]));
      await b.journal.append(append(h2, 0, [opened("echo")]));
      await Promise.all([a.journal.append(append(h1, 2, [note(2)])), a.journal.append(append(NOTES, 0, [note(3)]))]);
      await faultOf(a.journal.append(append(h1, 0, [note("refused")])));
      await b.journal.append(append(h2, 1, [note(4), note(5)]));
      const whole = await b.journal.tail(0, 100);
      expect(whole.map((w) => w.position)).toEqual([1, 2, 3, 4, 5, 6, 7]);
      expect(await Promise.all(whole.map((w) => a.journal.positionOf(w.stream, w.seq)))).toEqual([1, 2, 3, 4, 5, 6, 7]);
      expect([await a.journal.positionOf(S1, seq(4)), await a.journal.positionOf(S3, seq(1))]).toEqual([null, null]);
      expect(whole.map((w) => [w.stream, w.seq])).toEqual([
        [S1, 1],
        [S1, 2],
        [S2, 1],
        [S1, 3],
        [NOTES, 1],
        [S2, 2],
        [S2, 3],
      ]);
      expect(whole.map((w) => w.kind === "entry" && w.entry)).toEqual(
        [...(await all(a.journal, S1)).slice(0, 2), ...(await all(a.journal, S2)).slice(0, 1)].concat(
          (await all(a.journal, S1)).slice(2),
          await all(a.journal, NOTES),
          (await all(a.journal, S2)).slice(1),
        ),
      );
      expect(await a.journal.tail(3, 2)).toEqual(whole.slice(3, 5));
      expect(await a.journal.tail(7, 10)).toEqual([]);
      expect(await a.journal.position()).toBe(7);
    },
  );

  rule("J-25 what is bad is named in its place, and keeps nobody from reading the others", async (store) => {
    const { journal } = await store.open();
    const hold = await journal.take(S1);
    await journal.append(append(hold, 0, [opened("echo"), note(1)]));
    await journal.append(append(NOTES, 0, [note(2)]));
    await store.spoil(S1, seq(2));
    const whole = await journal.tail(0, 100);
    expect(whole.map((w) => w.kind)).toEqual(["entry", "bad", "entry"]);
    expect(whole[1]).toMatchObject({ stream: S1, seq: 2, detail: "its hash does not match its payload" });
  });

  rule("J-25 whoever watches is told of what any process appends, and no more once it has stopped", async (store) => {
    const [a, b] = [await store.open(), await store.open()];
    const told: (StreamId | null)[] = [];
    let wake = (): void => {};
    const stop = a.journal.watch((stream) => {
      told.push(stream);
      wake();
      throw new Error("an onlooker's own trouble");
    });
    const one = (): Promise<void> =>
      new Promise((resolve) => {
        wake = resolve;
        if (told.length > 0) resolve();
      });
    await a.journal.append(append(NOTES, 0, [note(1)]));
    await one();
    expect(told.includes(NOTES) || told.includes(null)).toBe(true);
    told.length = 0;
    const seen = one();
    await b.journal.append(append(NOTES, 1, [note(2)]));
    await seen;
    stop();
    told.length = 0;
    await a.journal.append(append(NOTES, 2, [note(3)]));
    expect(told).toEqual([]);
  });

  rule("J-25 whoever watches one stream is told of what any process appends to it", async (store) => {
    const [a, b] = [await store.open(), await store.open()];
    for (const [writes, seq] of [
      [a, 0],
      [b, 1],
    ] as const) {
      const { promise, resolve } = Promise.withResolvers<StreamId | null>();
      const stop = a.journal.watch(resolve, NOTES);
      await writes.journal.append(append(NOTES, seq, [note(seq + 1)]));
      expect(((await promise) ?? NOTES) === NOTES).toBe(true);
      stop();
    }
  });

  rule("F-6 what was set aside is listed for every session, from then until a person has seen to it", async (store) => {
    const [a, b] = [await store.open(), await store.open()];
    const held = await a.journal.take(S1);
    const aside: SessionEvent = { ...reconciledEvent(callId("1.0"), "happened", "the disk is full"), strategy: "dead-letter", found: null };
    await a.journal.append(append(held, 0, [opened("desk"), callDecided("1.0"), started("1.0")]));
    await a.journal.append(append(held, 3, [aside]));
    const [letter] = await b.journal.deadLetters({ after: 0, most: 10 });
    expect(letter).toMatchObject({ session: S1, call: "1.0", agent: "desk", tool: "send", error: "the disk is full" });
    expect(await b.journal.deadLetters({ after: letter?.arrival ?? 0, most: 10 })).toEqual([]);
    const seen: SessionEvent = {
      kind: "dead-letter.dismissed",
      call: callId("1.0"),
      by: { kind: "user", id: "ana" },
      note: "",
      intent: intentId("i_1"),
    };
    await a.journal.append(append(held, 4, [seen]));
    expect(await b.journal.deadLetters({ after: 0, most: 10 })).toEqual([]);
  });

  rule("F-9 streams are found by how their names begin, with where they end", async (store) => {
    const [a, b] = [await store.open(), await store.open()];
    for (const name of ["breaker:tool.b", "breaker:tool.a", "breakerx", "other"])
      await a.journal.append(append(streamId(name), 0, [note(1)]));
    await b.journal.append(append(streamId("breaker:tool.a"), 1, [note(2), note(3)]));
    expect(await a.journal.streams("breaker:")).toEqual([
      { stream: "breaker:tool.a", seq: 3 },
      { stream: "breaker:tool.b", seq: 1 },
    ]);
    expect(await b.journal.streams("nothing:")).toEqual([]);
  });

  rule("J-2 a bad entry is named, wherever it stands", async (store) => {
    const { journal } = await store.open();
    await journal.append(append(NOTES, 0, [note(1), note(2), note(3)]));
    await store.spoil(NOTES, seq(2));
    expect(await faultOf(all(journal, NOTES))).toMatchObject({ kind: "entry-bad", stream: NOTES, seq: 2 });
    expect(valuesOf(await journal.read(NOTES, seq(2), 10))).toEqual([3]); // of the same append, and whole
    await store.spoil(NOTES, seq(3));
    expect(await faultOf(journal.read(NOTES, seq(2), 10))).toMatchObject({ kind: "entry-bad", stream: NOTES, seq: 3 });
  });

  rule("J-2 a missing entry is named, the last one too, and is never taken for the end", async (store) => {
    const { journal } = await store.open();
    for (const [after, value] of [1, 2, 3].entries()) await journal.append(append(NOTES, after, [note(value)]));
    await store.remove(NOTES, seq(3));
    expect(await faultOf(all(journal, NOTES))).toMatchObject({ kind: "entry-bad", stream: NOTES, seq: 3 });
    await store.remove(NOTES, seq(1));
    expect(await faultOf(all(journal, NOTES))).toMatchObject({ kind: "entry-bad", stream: NOTES, seq: 1 });
  });

  rule("J-5 a long string comes back whole, from a row or from a file, and a changed one is refused", async (store) => {
    const { journal, records } = await store.open();
    const texts = ["a".repeat(16_385), "ü".repeat(140_000), `${"b".repeat(300_000)}\u{1f600}`, "short"];
    await journal.append(append(NOTES, 0, [note(texts), note(texts[0] ?? null)]));
    expect(valuesOf(await all(journal, NOTES))).toEqual([texts, texts[0]]);
    const [stored] = [...(await records()).entries(NOTES)];
    expect((stored?.payload?.length ?? 0) < 2_000).toBe(true);
    const addresses = [...(stored?.payload?.matchAll(/"address":"(\w+)"/g) ?? [])].map((m) => m[1] ?? "");
    const stand = await records();
    expect(addresses.map((address) => stand.blob(address))).toEqual(texts.slice(0, 3));
    expect(stand.blob("nowhere")).toBe(null);
    await store.spoilBlobs();
    expect(await faultOf(all(journal, NOTES))).toMatchObject({ kind: "entry-bad", stream: NOTES, seq: 1 });
  });

  rule("J-5 a key that looks like a blob's survives, and names no blob", async (store) => {
    const { journal, records } = await store.open();
    await journal.append(append(NOTES, 0, [note("secret ".repeat(3_000))]));
    const [stored] = [...(await records()).entries(NOTES)];
    const stolen = JSON.parse(stored?.payload ?? "null") as { value: Json };
    const values: Json[] = [stolen.value, { $blob: 1 }, { $$blob: { $blob: "x" } }, [{ $blob: { address: "?" } }]];
    await journal.append(append(NOTES, 1, values.map(note)));
    expect(valuesOf(await journal.read(NOTES, seq(1), 10))).toEqual(values);
  });

  rule("J-6 lists of sessions follow their events, newest first, by state and agent, page by page", async (store) => {
    const { journal } = await store.open();
    const ids = ["a", "b", "c", "d", "e"].map((c) => sessionId(`s_${c.repeat(10)}`));
    for (const [i, id] of ids.entries()) {
      const hold = await journal.take(id);
      const events = [stamp(opened(i % 2 === 0 ? "even" : "odd"), 1_000 + Math.floor(i / 2))];
      if (i === 4) events.push(stamp({ kind: "session.closed", by: { kind: "user", id: "ana" }, reason: "done" }, 2_000));
      await journal.append({ ...append(hold, 0, []), events });
    }
    const [a, b, c, d, e] = ids;
    const list = async (page: Partial<Parameters<Journal["sessions"]>[0]>): Promise<(string | undefined)[]> =>
      (await journal.sessions({ state: null, agent: null, before: null, most: 10, ...page })).map((s) => s.session);
    expect(await list({})).toEqual([e, d, c, b, a]);
    expect(await list({ most: 2 })).toEqual([e, d]);
    expect(await list({ before: { openedAt: millis(1_001), session: d ?? S1 }, most: 2 })).toEqual([c, b]);
    expect(await list({ agent: "odd" })).toEqual([d, b]);
    expect(await list({ state: "closed" })).toEqual([e]);
    expect(await list({ state: "idle", agent: "even" })).toEqual([c, a]);
    expect(await journal.session(e ?? S1)).toMatchObject({ agent: "even", state: "closed", seq: 2, turns: 0, usage: NO_USAGE });
    expect(await journal.session(S2)).toBe(null);
  });

  rule("J-8 a list gives each session the title of its first input, whatever is said later", async (store) => {
    const { journal } = await store.open();
    const titleOf = async (id: SessionId, ...events: readonly SessionEvent[]): Promise<string | null | undefined> => {
      const hold = await journal.take(id);
      await journal.append(append(hold, 0, events));
      await journal.release(hold);
      return (await journal.sessions({ state: null, agent: null, before: null, most: 10 })).find((one) => one.session === id)?.title;
    };
    expect(await titleOf(S1, opened("echo"))).toBe(null);
    expect(
      await titleOf(S2, opened("echo"), turnStarted(1, "\n  refund\u202e order 17\nplease"), turnEnded(), turnStarted(2, "and 18")),
    ).toBe("refund\\u{202e} order 17");
    const forked = { ...opened("echo"), history: [{ role: "user", text: `${"long ".repeat(30)}` }] } as SessionEvent;
    expect(await titleOf(S3, forked, turnStarted(1, "and then"))).toBe(`${"long ".repeat(12).slice(0, 59)}…`);
  });

  rule(
    "Q-25 the list of what waits follows the events: asked, half answered, answered, expired, overtaken, its turn over",
    async (store) => {
      const [a, b] = [await store.open(), await store.open()];
      const [one, two] = [await a.journal.take(S1), await b.journal.take(S2)];
      const waiting = async (page = { after: 0, most: 10 }): Promise<(string | undefined)[]> =>
        (await b.journal.questions(page)).map((q) => `${q.session.slice(-1)}${q.approval}`);
      await a.journal.append(append(one, 0, [opened("echo"), callDecided("1.0"), asked("q1", "1.0", 2), asked("q2", "respond:1", 1)]));
      await b.journal.append(append(two, 0, [opened("other"), asked("q1", "model:1", 1)]));
      expect(await waiting()).toEqual(["1q1", "1q2", "2q1"]);
      const [first, second] = await a.journal.questions({ after: 0, most: 2 });
      const about = { session: S1, agent: "echo", tool: "send", resource: { type: "Host", id: "a.example" }, askedAt: 1_000, votes: [] };
      expect(first).toMatchObject({ ...about, approval: "q1", action: "1.0", digest: ZERO, expiresAt: 9_000, again: null });
      expect(second).toMatchObject({ tool: "respond", resource: null });
      expect(await waiting({ after: second?.arrival ?? 0, most: 2 })).toEqual(["2q1"]);
      expect((await b.journal.question(approvalId("q1"))).map((q) => q.session)).toEqual([S1, S2]);
      expect(await b.journal.question(approvalId("q9"))).toEqual([]);
      const expired = async (by: number, after: ExpiredPage["after"] = null) =>
        (await b.journal.expired({ by: millis(by), after, most: 2 })).map((q) => `${q.session.slice(-1)}${q.approval}`);
      expect(await expired(8_999)).toEqual([]);
      expect(await expired(9_000)).toEqual(["1q1", "1q2"]);
      expect(await expired(9_000, second ?? null)).toEqual(["2q1"]);

      await a.journal.append(append(one, 4, [answered("q1", "ana", ZERO)]));
      expect(await waiting()).toEqual(["1q1", "1q2", "2q1"]); // one of two
      expect(await b.journal.session(S1)).toMatchObject({ state: "waiting", openQuestions: 2 });
      expect((await b.journal.questions({ after: 0, most: 1 }))[0]).toMatchObject({ votes: [{ by: "user:ana" }] });
      await a.journal.append(append(one, 5, [answered("q1", "ben", EDITED)]));
      expect((await b.journal.questions({ after: 0, most: 1 }))[0]).toMatchObject({ digest: EDITED, votes: [{ by: "user:ben" }] }); // of another action
      await a.journal.append(append(one, 6, [answered("q1", "ana", EDITED), steered()]));
      expect(await b.journal.session(S1)).toMatchObject({ state: "running", openQuestions: 0 });
      expect(await waiting()).toEqual(["2q1"]);
      await a.journal.append(append(one, 8, [callDecided("2.0"), asked("q3", "2.0", 1)]));
      await b.journal.append(append(two, 2, [{ kind: "approval.expired", approval: approvalId("q1"), result: "deny" }]));
      expect(await waiting()).toEqual(["1q3"]);
      expect((await faultOf(b.journal.append(append(two, 2, [asked("q4", "model:1", 1)]))))?.kind).toBe("append-conflict");
      expect(await waiting()).toEqual(["1q3"]); // what was not written is not listed
      await a.journal.release(one);
      const again = await b.journal.take(S1);
      await b.journal.append(append(again, 10, [turnEnded()])); // another process knows what was open
      expect(await waiting()).toEqual([]);
      await b.journal.append(append(again, 11, [asked("q5", "3.0", 1)]));
      expect(((await b.journal.questions({ after: 0, most: 1 }))[0]?.arrival ?? 0) > (second?.arrival ?? 0) + 2).toBe(true); // places are not given twice
    },
  );

  rule("G-4 open unknowns are listed for every session, from the outcome until it is known, resolved or told", async (store) => {
    const [a, b] = [await store.open(), await store.open()];
    const [one, two] = [await a.journal.take(S1), await b.journal.take(S2)];
    const [send, other] = [
      { tool: "send", resource: { type: "Host", id: "a.example" } },
      { tool: "read", resource: { type: "Host", id: "a.example" } },
    ];
    const like = async (sought = { ...send, digest: EDITED }): Promise<string[]> => {
      await b.catchUp();
      return b.journal.unknownsLike(sought).map((u) => `${u.session.slice(-1)}/${u.call}`);
    };
    await a.journal.append(append(one, 0, [opened("echo"), callDecided("1.0"), started("1.0"), callDecided("1.0", "b.example")]));
    expect(await like()).toEqual([]); // what runs is not unknown
    await a.journal.release(one);
    const again = await b.journal.take(S1); // another process finds out what the first one started
    await b.journal.append(append(again, 4, [lost("1.0")]));
    await b.journal.append(append(two, 0, [opened("other"), callDecided("1.0"), started("1.0"), lost("1.0"), lost("9.9")]));
    expect(await like()).toEqual(["1/1.0", "2/1.0"]); // each as it was when it started; of 9.9 nobody knows what it was
    await a.catchUp();
    expect(a.journal.unknownsLike({ ...send, digest: EDITED })[0]).toEqual({
      session: S1,
      call: "1.0",
      ...send,
      digest: ZERO,
      cause: "hold-lost",
      at: 1_000,
    });
    expect(await like({ ...other, digest: ZERO })).toEqual(["1/1.0", "2/1.0"]); // the same digest
    expect(await like({ ...other, digest: EDITED })).toEqual([]);
    expect(await like({ ...send, resource: { type: "Host", id: "b.example" }, digest: EDITED })).toEqual([]);
    expect(await like({ ...send, resource: { type: "Path", id: "a.example" }, digest: EDITED })).toEqual([]);

    expect((await faultOf(b.journal.append(append(two, 1, [resolved("1.0")]))))?.kind).toBe("append-conflict");
    expect(await like()).toEqual(["1/1.0", "2/1.0"]); // what was not written settles nothing
    await b.journal.append(append(two, 5, [told("1.0", "cannot-tell"), turnEnded()]));
    expect(await like()).toEqual(["1/1.0", "2/1.0"]);
    await b.journal.append(append(two, 7, [told("1.0", "did-not-happen")]));
    expect(await like()).toEqual(["1/1.0"]);
    await b.journal.append(append(again, 5, [resolved("1.0"), callDecided("2.0"), started("2.0")]));
    expect(await like()).toEqual([]);
    const begun = b.journal.append(append(again, 8, [callDecided("3.0"), started("3.0")]));
    await Promise.all([begun, b.journal.append(append(again, 10, [lost("3.0"), lost("2.0")]))]); // in one breath
    expect((await like()).toSorted()).toEqual(["1/2.0", "1/3.0"]);
    await b.journal.append(append(again, 12, [late("2.0"), told("3.0", "happened")]));
    expect(await like()).toEqual([]);
  });

  rule("G-30 what is known is known in every process as soon as it is durable, whoever said so, until it is taken out", async (store) => {
    const [a, b] = [await store.open(), await store.open()];
    const hold = await a.journal.take(S1);
    const by = { kind: "user", id: "ann" } as const;
    const learnt: SessionEvent = { kind: "known.learned", call: callId("1.0"), set: "people", values: ["Ben@x.org", "carl@x.org"] };
    await a.journal.append(append(hold, 0, [opened("echo"), learnt]));
    await a.journal.append(append(TRUSTED_VALUES, 0, [{ kind: "known.added", set: "paths", value: "docs/A", by, why: "ours" }]));
    const isKnown = (set: string, value: string, cased: boolean): boolean => b.journal.isKnown(set, [value], cased);
    await b.catchUp();
    expect([isKnown("people", "ben@X.org", false), isKnown("people", "ben@x.org", true), isKnown("payees", "carl@x.org", false)]).toEqual([
      true,
      false,
      false,
    ]);
    expect([isKnown("paths", "docs/A", true), isKnown("paths", "docs/a", true)]).toEqual([true, false]);
    const listed = async (set: string | null, most = 10, after: TrustedValuePage["after"] = null) =>
      (await b.journal.known({ set, after, most })).map(
        ({ set: of, value, from }) => `${of} ${value} ${from === TRUSTED_VALUES ? "person" : "tool"}`,
      );
    expect(await listed(null)).toEqual(["paths docs/A person", "people Ben@x.org tool", "people carl@x.org tool"]);
    expect(await listed("people", 1)).toEqual(["people Ben@x.org tool"]);
    expect(await listed(null, 10, { set: "people", value: "Ben@x.org" })).toEqual(["people carl@x.org tool"]);
    await b.journal.append(append(TRUSTED_VALUES, 1, [{ kind: "known.removed", set: "people", value: "ben@x.org", by, why: "left" }]));
    await a.catchUp();
    expect([a.journal.isKnown("people", ["ben@x.org"], false), a.journal.isKnown("people", ["x", "carl@x.org"], false)]).toEqual([
      false,
      true,
    ]);
  });

  rule(
    "G-39 what a trusted source last said of a thing is read in every process as soon as it is durable, until it says something else",
    async (store) => {
      const [a, b] = [await store.open(), await store.open()];
      const [one, two] = [await a.journal.take(S1), await b.journal.take(S2)];
      const told = (
        set: "session" | "project",
        status: string,
        skipped: readonly string[] = [],
      ): Extract<SessionEvent, { kind: "known.recorded" }> => ({
        kind: "known.recorded",
        call: callId("1.0"),
        type: "order",
        set,
        maxAgeSeconds: 60,
        establishes: null,
        records: status === "" ? [] : [{ key: "O-1", owner: "c1", fields: { status } }],
        skipped: skipped.map((key) => ({ key, field: "status", why: "missing" })),
      });
      const statusOf = (opened: typeof a, key = "O-1", type = "order") => opened.journal.recorded(type, key)?.fields["status"];
      await a.journal.append(append(one, 0, [opened("echo"), told("session", "secret")]));
      expect(statusOf(b)).toBe(undefined); // the session's own matter
      await a.journal.append(append(one, 2, [told("project", "pending")]));
      expect(a.journal.recorded("order", "O-1")).toMatchObject({
        key: "O-1",
        owner: "c1",
        fields: { status: "pending" },
        maxAgeSeconds: 60,
      });
      await b.catchUp();
      expect([statusOf(b), statusOf(b, "o-1"), statusOf(b, "O-1", "parcel")]).toEqual(["pending", undefined, undefined]);
      await b.journal.append(append(two, 0, [opened("echo"), told("project", "shipped")]));
      await a.catchUp();
      expect([statusOf(a), statusOf(b)]).toEqual(["shipped", "shipped"]);
      expect((await faultOf(b.journal.append(append(two, 1, [told("project", "lost")]))))?.kind).toBe("append-conflict");
      expect(statusOf(a)).toBe("shipped"); // what was not written says nothing
      await a.journal.append(append(one, 3, [told("project", "", ["O-1"])]));
      await b.catchUp();
      expect([statusOf(a), statusOf(b)]).toEqual([undefined, undefined]); // it said something that could not be read
      const doubted = (key: string | null): SessionEvent => ({ ...told("project", ""), skipped: [{ key, field: "key", why: "unknown" }] });
      await a.journal.append(append(one, 4, [told("project", "pending"), doubted(null)]));
      await b.catchUp();
      expect([statusOf(a), statusOf(b)]).toEqual(["pending", "pending"]); // it may be any of them: its own session does not believe it
      await b.journal.append(append(two, 2, [doubted("O-1")]));
      await a.catchUp();
      expect([statusOf(a), statusOf(b)]).toEqual([undefined, undefined]); // nobody knows what a call did to it
      await a.journal.append(append(one, 6, [told("project", "pending")]));
      const by = { kind: "user", id: "ann" } as const;
      await b.journal.append(append(TRUSTED_VALUES, 0, [{ kind: "known.removed", set: "record:order", value: "O-1", by, why: "wrong" }]));
      await a.catchUp(); // until then the store refuses what would begin on the older record
      expect([statusOf(a), statusOf(b)]).toEqual([undefined, undefined]);
    },
  );

  rule("G-25 what rests on a count is refused once another has counted, and nothing of it is there", async (store) => {
    const [a, b] = [await store.open(), await store.open()];
    const [one, two] = [await a.journal.take(S1), await b.journal.take(S2)];
    const at = millis(1_800_000_000_000);
    const { hour, day } = toBucketSpan(at);
    const counter = { name: "calls:look", agent: "echo", value: "" };
    const sought = (not: string) => ({ ...counter, hour, day, not });
    const begin = (owner: string, seen: number) => ({
      owner,
      add: [{ ...counter, by: 1, at }],
      unless: [{ ...counter, day, not: owner, seen }],
      before: day,
    });
    await a.journal.keepCounts(["calls:look"], at);
    await a.journal.append({ ...append(one, 0, [opened("echo")]), counts: begin("a", 0) });
    await b.catchUp();
    expect([a, b].map(({ journal }, i) => journal.counted(sought(i === 0 ? "a" : "b")))).toEqual([
      { hour: 0, day: 0 },
      { hour: 1, day: 1 },
    ]);
    const late = await faultOf(b.journal.append({ ...append(two, 0, [opened("echo")]), counts: begin("b", 0) }));
    expect(late).toEqual({ kind: "counters-moved", counter: "calls:look" });
    expect(await all(b.journal, S2)).toEqual([]);
    await b.journal.append({ ...append(two, 0, [opened("echo")]), counts: begin("b", 1) });
    await a.catchUp();
    expect(a.journal.counted(sought("a"))).toEqual({ hour: 1, day: 1 });
  });

  rule("G-24 what nobody keeps is not counted, and is made from the entries of the last day when somebody does", async (store) => {
    const { journal } = await store.open();
    const hold = await journal.take(S1);
    const at = 1_800_000_000_000;
    const stamped = (event: SessionEvent, ago: number): TimedEvent => ({ at: millis(at - ago), event });
    const [minute, day] = [60_000, 86_400_000];
    const events = [
      stamped(opened("echo"), day * 2),
      stamped(started("1.0"), day * 2),
      stamped(started("2.0"), 90 * minute),
      stamped(started("3.0"), 59 * minute),
      stamped({ ...(started("3.0") as Extract<SessionEvent, { kind: "act.started" }>), start: 2 }, 1),
    ];
    await journal.append({ ...append(hold, 0, [note("replaced")]), events });
    const sought = { name: "calls:look", agent: "echo", value: "", ...toBucketSpan(at), not: "" };
    const unlike = { ...sought, not: "nobody" };
    expect(journal.counted(unlike)).toEqual({ hour: 0, day: 0 });
    await journal.keepCounts(["calls:look"], millis(at));
    await journal.keepCounts(["calls:look"], millis(at));
    expect(journal.counted(unlike)).toEqual({ hour: 1, day: 2 });
    expect(journal.counted({ ...unlike, agent: "another" })).toEqual({ hour: 0, day: 0 });
  });

  rule("G-24 calls of a session that began while nobody counted are counted, each once, from when another process does", async (store) => {
    const [a, b] = [await store.open(), await store.open()];
    const hold = await a.journal.take(S1);
    const at = millis(1_800_000_000_000);
    const { hour, day } = toBucketSpan(at);
    const counter = { name: "calls:look", agent: "echo", value: "" };
    const counts = { owner: "a", add: [{ ...counter, by: 1, at }], unless: [], before: day };
    const call = (n: number) =>
      a.journal.append({ ...append(hold, n, [note("replaced")]), events: [{ at, event: started(`${n}.0`) }], counts });
    await a.journal.append({ ...append(hold, 0, [note("replaced")]), events: [{ at, event: opened("echo") }] });
    for (const n of [1, 2, 3]) await call(n);
    await b.journal.keepCounts(["calls:look"], at);
    expect(b.journal.counted({ ...counter, hour, day, not: "nobody" })).toEqual({ hour: 3, day: 3 });
    for (const n of [4, 5]) await call(n);
    await b.catchUp();
    expect(b.journal.counted({ ...counter, hour, day, not: "nobody" })).toEqual({ hour: 5, day: 5 });
  });

  rule(
    "G-42 amounts are summed exactly, per value too, from the entries and from then on, and what rests on an older sum is refused",
    async (store) => {
      const [a, b] = [await store.open(), await store.open()];
      const hold = await a.journal.take(S1);
      const at = millis(1_800_000_000_000);
      const { hour, day } = toBucketSpan(at);
      const amount = (by: number) => ({ amounts: { sum: { by, per: ["d1"] } } });
      const call = (n: string, by: number): TimedEvent => ({ at, event: { ...started(n), ...amount(by) } as SessionEvent });
      const counter = (value: string) => ({ name: "total:look/sum", agent: "echo", value });
      const sums = (opened: typeof a) =>
        ["", "d1", "d2"].map((value) => opened.journal.counted({ ...counter(value), hour, day, not: "nobody" }).day);
      const add = (by: number) => ["", "d1"].map((value) => ({ ...counter(value), by, at }));
      await a.journal.append({ ...append(hold, 0, [note("replaced")]), events: [{ at, event: opened("echo") }, call("1.0", 1_000)] });
      await b.journal.keepCounts(["total:look/sum"], at);
      expect(sums(b)).toEqual([1_000, 1_000, 0]);
      const rests = (seen: number) => ({ owner: "a", add: add(2_345), unless: [{ ...counter(""), day, not: "a", seen }], before: day });
      const more = { ...append(hold, 2, [note("replaced")]), events: [call("2.0", 2_345)] };
      expect((await faultOf(a.journal.append({ ...more, counts: rests(999) })))?.kind).toBe("counters-moved");
      await a.catchUp();
      await a.journal.append({ ...more, counts: rests(1_000) });
      await b.catchUp();
      expect([sums(a), sums(b)]).toEqual([
        [3_345, 3_345, 0],
        [3_345, 3_345, 0],
      ]);
    },
  );

  rule("I-2 an intent leaves the inbox with the event that it became, exactly once, or not at all", async (store) => {
    const [a, b] = [await store.open(), await store.open()];
    const hold = await a.journal.take(S1);
    await a.journal.append(append(hold, 0, [opened("echo")]));
    await b.inbox.put(say("i1", S1, "hello"));
    await b.inbox.put(say("i2", S1, "again"));
    await b.inbox.put(say("i3", S2, "elsewhere"));
    const refused = async (work: Append): Promise<unknown> => (await faultOf(a.journal.append(work)))?.kind;
    expect(await refused(append(hold, 9, [note("conflict")], [intentId("i1")]))).toBe("append-conflict");
    expect(await a.inbox.state(intentId("i1"))).toBe("pending");
    await a.journal.append(append(hold, 1, [note("took i1")], [intentId("i1")]));
    expect(await b.inbox.state(intentId("i1"))).toBe("taken");
    expect((await b.inbox.pending(S1)).map((i) => i.intent.id)).toEqual(["i2"]);
    expect(await refused(append(hold, 2, [note("again")], [intentId("i2"), intentId("i1")]))).toBe("intent-refused");
    expect(await refused(append(hold, 2, [note("twice")], [intentId("i2"), intentId("i2")]))).toBe("intent-refused");
    expect(await refused(append(hold, 2, [note("unknown")], [intentId("i9")]))).toBe("intent-refused");
    expect(await refused(append(hold, 2, [note("elsewhere")], [intentId("i3")]))).toBe("intent-refused");
    expect(await b.inbox.state(intentId("i2"))).toBe("pending");
    expect((await all(a.journal, S1)).length).toBe(2);
    expect(await b.inbox.put(say("i1", S1, "hello"))).toBe("known");
    expect(await b.inbox.state(intentId("i1"))).toBe("taken");
  });

  rule("J-1 a closed journal has written what it was given, and takes no more", async (store) => {
    const [a, b] = [await store.open(), await store.open()];
    const given = a.journal.append(append(NOTES, 0, [note(1)]));
    await a.journal.close();
    expect(await given).toBe(1);
    expect((await faultOf(a.journal.append(append(NOTES, 1, [note(2)]))))?.kind).toBe("journal-unwritable");
    expect(valuesOf(await all(b.journal, NOTES))).toEqual([1]);
  });
}
