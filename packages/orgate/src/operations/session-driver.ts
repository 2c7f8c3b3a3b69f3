/**
 * The server's session driver: decides which sessions are driven, and has each driven by core's `loop/drive.ts`. Callers put a signed intent into the inbox
 * and learn what it became; driving continues after they have gone.
 *
 * W-28 a session that wants driving and has nobody to do so is driven here: at the start of the server and every ten seconds those that were interrupted, and those to which an
 *     intent has come, whose question has expired or whose decision is due, whichever process wrote it. One that only waits is left alone, and nothing is written about it.
 * W-28 no more than `atOnce` sessions are driven at a time: the others wait their turn, and none is lost.
 * W-29 when the server goes, no turn is begun any more, those in progress have a time to finish, and what is left then is parked: nothing new is begun in
 *     it, what is in flight lands, and whoever starts next goes on from there. What does not land in time is dealt with as after a crash.
 * Rule: W-16.
 */
import {
  callsIn,
  type Entry,
  type Fault,
  FaultError,
  type Intent,
  type IntentBody,
  type IntentId,
  isFault,
  type Millis,
  millis,
  type RunResult,
  readTurn,
  type SessionId,
  seq,
} from "@orgate/core";
import type { SessionSummary } from "@orgate/core/journal";
import { findAgentHalt, type StandingHalt } from "@orgate/core/vocab";
import type { Runtime } from "../runtime/api.ts";
import { findNewestEntry, readIntentId } from "../runtime/delivery.ts";
import { findSessionHalt } from "../runtime/people/halted.ts";
import { NODE } from "../runtime/ports/outside.ts";
import { type Person, signIntent } from "../store/keyring.ts";
import { watchLiftedHalts } from "./resume-after-halt.ts";

export type SessionDriverOptions = Readonly<{
  runtime: Runtime;
  atOnce: number;
  /** How long a wish may take to become an entry before its sender is told that it waits. */
  waitMs: number;
  /** Hears of sessions that could not be driven, and of what came of those that were. */
  told(drove: DriveReport): void;
}>;
/** A failure of no session is one to look for those that want driving. */
export type DriveReport = Readonly<
  { kind: "drove"; session: SessionId; result: RunResult } | { kind: "failed"; session: SessionId | null; error: unknown }
>;

/** `entry` is null while whoever holds the session has not taken it. `halted`: the halt that the session waits with. */
export type SentToDriver = Readonly<{ session: SessionId; entry: Entry | null; halted: StandingHalt | null }>;
export type IntentToSend = Readonly<{ session: SessionId; wish: IntentBody; as: Person /** Makes it once. */; id?: IntentId }>;

export type SessionDriver = Readonly<{
  /** Throws `intent-refused` with the reason, `session-unknown`, and `runtime-closed` once the server goes. */
  send(sending: IntentToSend): Promise<SentToDriver>;
  /** Has it driven, unless it is; resolves at once. */
  wake(session: SessionId): void;
  /** Follows the turn that a wish began until it has ended or waits for a person; null when the time is up. */
  outcome(session: SessionId, intent: IntentId, waitMs: number, signal?: AbortSignal): Promise<Entry | "waiting" | null>;
  /** Resolves when no session is driven here and none waits to be. */
  settle(): Promise<void>;
  driving(): number;
  queued(): number;
  isLeaving(): boolean;
  /** Looks for sessions that want driving: those interrupted, when told to, and those that something has come for. */
  sweep(what?: "interrupted"): Promise<void>;
  /** Looks no more for sessions that want driving; those that are driven go on. */
  stop(): void;
  /** W-29. `finishMs`: how long turns may go on; `landMs`: how long what is in flight then may take. False: something was still in flight. */
  leave(finishMs: number, landMs: number): Promise<boolean>;
}>;

/** `how` it stood, and when something about it is due by itself. */
type Left = Readonly<{ how: string; due: Millis | null }>;

/** With these nothing is taken, however long anybody waits. */
const JOURNAL_FAULTS: ReadonlySet<Fault["kind"]> = new Set([
  "entry-bad",
  "commit-bad",
  "journal-doubted",
  "journal-unwritable",
  "journal-unreadable",
]);
const SWEEP_MS = 10_000;
const PAGE = 500;

export function openSessionDriver({ runtime, atOnce, waitMs, told }: SessionDriverOptions): SessionDriver {
  const { journal, inbox, holder } = runtime.place.store;
  const queue = new Set<SessionId>();
  const driven = new Map<SessionId, Promise<void>>();
  const knocked = new Set<SessionId>();
  /** How a session with something left to do stood when it was last left: until something comes there is nothing that could be done. */
  const leftAt = new Map<SessionId, Left>();
  /** Who waits for a session to take what was put into its inbox. */
  const waiting = new Map<SessionId, Set<(error: unknown) => void>>();
  let leaving = false;

  const wake = (session: SessionId): void => {
    if (leaving) return;
    if (driven.has(session))
      knocked.add(session); // whoever drives it sees what has come, unless it is just leaving
    else queue.add(session);
    next();
  };

  /** Whoever drives it now may have seen what stood before, and be leaving. */
  const wakeAfter = (session: SessionId): void => void (driven.get(session) ?? Promise.resolve()).then(() => wake(session));

  function next(): void {
    for (const session of queue) {
      if (leaving || driven.size >= atOnce) return;
      queue.delete(session);
      driven.set(
        session,
        drive(session).finally(() => {
          driven.delete(session);
          if (knocked.delete(session)) void inbox.pending(session).then((left) => left.length > 0 && wake(session));
          next();
        }),
      );
    }
  }

  async function drive(session: SessionId): Promise<void> {
    try {
      const result = await runtime.resume(session).result;
      told({ kind: "drove", session, result });
    } catch (error) {
      if (isFault(error, "session-held") || (leaving && isFault(error, "runtime-closed"))) return; // its holder sees what has come
      told({ kind: "failed", session, error });
      if (isFault(error) && JOURNAL_FAULTS.has(error.fault.kind)) for (const fail of [...(waiting.get(session) ?? [])]) fail(error);
    }
    const how = await standing(session).catch(() => null);
    if (how === null) leftAt.delete(session);
    else leftAt.set(session, { how, due: await dueOf(session).catch(() => null) });
  }

  /** Null where nothing is left to do. */
  async function standing(session: SessionId): Promise<string | null> {
    const at = await journal.session(session);
    const pending = (await inbox.pending(session)).map(({ intent }) => intent.id);
    return at === null || (at.state !== "running" && pending.length === 0) ? null : [at.seq, ...pending].join(" ");
  }

  /** When what was put off is to be decided again; null where nothing was. */
  async function dueOf(session: SessionId): Promise<Millis | null> {
    const { turn } = await readTurn({ journal }, session);
    if (turn === null) return null;
    const gated = [...callsIn(turn).map((call) => call.gated), turn.model, turn.respond, turn.summary.gated];
    const dues = gated.flatMap((one) => (one.kind === "deferred" ? [one.due] : []));
    return dues.length === 0 ? null : millis(Math.min(...dues));
  }

  async function isAsLeft(session: SessionId): Promise<boolean> {
    const left = leftAt.get(session);
    if (left === undefined || (left.due !== null && NODE.clock.now() >= left.due)) return false;
    return left.how === (await standing(session));
  }

  async function send({ session, wish, as, id = NODE.ids.intent() }: IntentToSend): Promise<SentToDriver> {
    if (leaving) throw new FaultError({ kind: "runtime-closed" });
    const summary = await journal.session(session);
    if (summary === null) throw new FaultError({ kind: "session-unknown", session });
    const intent = signIntent(as, { id, session, at: NODE.clock.now(), wish });
    const isNew = (await runtime.wish(intent)) === "new";
    wake(session);
    const taken = await untilTaken(intent);
    if (!taken) return { session, entry: null, halted: await haltNow(session) };
    const entry = await entryOf(session, id, isNew ? summary.seq : 0);
    if (entry?.event.kind === "intent.refused") throw new FaultError({ kind: "intent-refused", intent: id, detail: entry.event.reason });
    return { session, entry, halted: await haltNow(session) };
  }

  async function haltNow(session: SessionId): Promise<StandingHalt | null> {
    await runtime.place.orders.refresh();
    const orders = runtime.place.orders.now();
    const summary = orders.halts.size === 0 ? null : await journal.session(session);
    if (summary === null) return null;
    if (summary.state === "idle") return findAgentHalt(orders, summary.agent); // what was said waits without a turn
    return findSessionHalt({ journal, halts: orders.halts, isHeld: false }, summary);
  }

  async function untilTaken({ id, session }: Intent): Promise<boolean> {
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    const others = waiting.get(session) ?? new Set();
    waiting.set(session, others.add(reject));
    const look = (): void =>
      void inbox.state(id).then(
        (state) => state === "taken" && resolve(true),
        () => resolve(false),
      );
    const stop = journal.watch((stream) => (stream === null || stream === session) && look());
    const timer = setTimeout(() => resolve(false), waitMs);
    look();
    try {
      return await promise;
    } finally {
      stop();
      clearTimeout(timer);
      others.delete(reject);
      if (others.size === 0 && waiting.get(session) === others) waiting.delete(session);
    }
  }

  async function entryOf(session: SessionId, intent: IntentId, from: number): Promise<Entry | null> {
    for await (const entry of entriesAfter(session, from)) if (readIntentId(entry.event) === intent) return entry;
    return null;
  }

  async function* entriesAfter(session: SessionId, from: number): AsyncGenerator<Entry> {
    for (let after = from; ; ) {
      const chunk = await journal.read(session, seq(after), PAGE);
      yield* chunk;
      const last = chunk.at(-1);
      if (last === undefined) return;
      after = last.seq;
    }
  }

  async function outcome(
    session: SessionId,
    intent: IntentId,
    patienceMs: number,
    signal?: AbortSignal,
  ): Promise<Entry | "waiting" | null> {
    const began = await findNewestEntry(journal, session, (event) => readIntentId(event) === intent);
    const from = Math.max(0, (began?.seq ?? 1) - 1);
    const left = new AbortController(); // whoever drove it here has gone: it has ended, or waits
    void driven.get(session)?.then(() => left.abort());
    const until = AbortSignal.any([AbortSignal.timeout(patienceMs), left.signal, ...(signal === undefined ? [] : [signal])]);
    const ending = endingOf(intent);
    for await (const live of runtime.subscribe({ session }, { after: from, signal: until })) {
      const ended = live.kind === "entry" ? ending(live.entry) : null;
      if (ended !== null) return ended;
      const isAsked = live.kind === "entry" && live.entry.event.kind === "approval.asked";
      if (isAsked && (await journal.session(session))?.state === "waiting") return "waiting";
    }
    return left.signal.aborted ? ((await lastOf(session, intent, from)) ?? "waiting") : null;
  }

  async function lastOf(session: SessionId, intent: IntentId, from: number): Promise<Entry | null> {
    const ending = endingOf(intent);
    for await (const entry of entriesAfter(session, from)) {
      const ended = ending(entry);
      if (ended !== null) return ended;
    }
    return null;
  }

  async function sweep(what?: "interrupted"): Promise<void> {
    if (leaving) return;
    const found = new Set<SessionId>();
    if (what === "interrupted") for await (const { session } of interrupted()) found.add(session);
    for (const session of await inbox.waiting()) found.add(session);
    for await (const session of expired(NODE.clock.now())) found.add(session);
    for (const session of found) if (holder(session) === null && !(await isAsLeft(session))) wake(session);
  }

  /** Whom a delegate works for in the end: who drives that drives all below it, and calls off what is no longer wanted (S-16). Later turns are its own. */
  async function topOf(one: SessionSummary): Promise<SessionSummary> {
    const above = one.parent === null || one.turns > 1 ? null : await journal.session(one.parent);
    return above === null || above.state !== "running" ? one : topOf(above);
  }

  /** A turn that wants driving and has nobody to do so. One that waits for its delegates is found by them. */
  async function* interrupted(): AsyncGenerator<SessionSummary> {
    for (let before: SessionSummary | null = null; ; ) {
      const page: readonly SessionSummary[] = await journal.sessions({ state: "running", agent: null, before, most: PAGE });
      for (const one of page) if (one.children.length === 0) yield await topOf(one);
      before = page.at(-1) ?? null;
      if (page.length < PAGE) return;
    }
  }

  async function* expired(now: Millis): AsyncGenerator<SessionId> {
    for (let after = 0; ; ) {
      const page = await journal.questions({ after, most: PAGE });
      for (const { session, expiresAt } of page) if (expiresAt !== null && now >= expiresAt) yield session;
      after = page.at(-1)?.arrival ?? after;
      if (page.length < PAGE) return;
    }
  }

  /** What others wrote may be for a session that nobody drives; what is due comes by itself. */
  let isSweeping = false;
  const sweepSoon = (what?: "interrupted"): void => {
    if (isSweeping || leaving) return;
    isSweeping = true;
    void sweep(what)
      .catch((error: unknown) => told({ kind: "failed", session: null, error }))
      .finally(() => {
        isSweeping = false;
      });
  };
  const stopWatching = inbox.watchChanges(() => sweepSoon());
  const lifting = watchLiftedHalts({ runtime, wake: wakeAfter, failed: (error, session) => told({ kind: "failed", session, error }) });
  const timer = setInterval(() => sweepSoon("interrupted"), SWEEP_MS).unref();

  function stop(): void {
    stopWatching();
    lifting.stop();
    clearInterval(timer);
  }

  async function settle(): Promise<void> {
    while (driven.size > 0) await Promise.all(driven.values());
  }

  async function leave(finishMs: number, landMs: number): Promise<boolean> {
    leaving = true;
    queue.clear();
    stop();
    const within = (ms: number, all: () => Promise<unknown>): Promise<boolean> =>
      Promise.race([all().then(() => true), NODE.clock.sleep(ms, new AbortController().signal).then(() => false)]);
    if (driven.size > 0) await within(finishMs, () => Promise.all(driven.values()));
    return within(landMs, () => runtime.park());
  }

  return {
    send,
    wake,
    outcome,
    settle,
    driving: () => driven.size,
    queued: () => queue.size,
    isLeaving: () => leaving,
    sweep,
    stop,
    leave,
  };
}

/** Told entries in order: the one that ends the turn which this wish began. */
function endingOf(intent: IntentId): (entry: Entry) => Entry | null {
  let turn: number | null = null;
  return (entry) => {
    const { event } = entry;
    if (event.kind === "turn.started" && event.intent === intent) turn = event.turn;
    return event.kind === "turn.ended" && event.turn === turn ? entry : null;
  };
}
