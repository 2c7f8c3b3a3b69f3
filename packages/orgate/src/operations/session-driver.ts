/**
 * The server's session driver: decides which sessions are driven, and has each driven by core's `loop/drive.ts`. Callers put a signed intent into the inbox
 * and learn what it became; driving continues after they have gone. Its parts are in `driving/`.
 *
 * W-28 a session that nobody drives is driven here, looked for at the start of the server and every ten seconds, whichever process wrote it:
 *     - an interrupted turn, and a session with an intent in its inbox, an expired approval request or a decision that is due;
 *     - a session that only waits is left alone, and nothing is written about it.
 * W-28 no more than `atOnce` sessions are driven at a time: the others wait their turn, and none is lost.
 * W-28 a coordinator of a cluster drives nothing, and workers do: the store hands a session that wants driving to one of them (`driving/claiming.ts`,
 *     decision 0063); where it cannot, workers look for themselves at every write of another process.
 * W-28 with Restate (decision 0062) messages say that a session wants driving, and workers look for themselves only every ten seconds, for what was lost:
 *     the first look asks Restate again, and only what is still unattended by the next is driven here without it.
 * W-29 when the server goes, no turn is begun any more, those in progress have a time to finish, and what is left then is parked: nothing new is begun in
 *     it, what is in flight lands, and the next server continues from there. What does not land in time is treated as after a crash.
 * Rule: W-16.
 */
import {
  type Entry,
  type Fault,
  FaultError,
  type IntentBody,
  type IntentId,
  isFault,
  type Millis,
  type RunResult,
  type Seq,
  type SessionId,
} from "@orgate/core";
import { findAgentHalt, type StandingHalt } from "@orgate/core/vocab";
import type { Runtime } from "../runtime/api.ts";
import type { IntentCarrier } from "../runtime/delivery.ts";
import { findSessionHalt } from "../runtime/people/halted.ts";
import { sendIntent } from "../runtime/people/send-intent.ts";
import { NODE } from "../runtime/ports/outside.ts";
import type { Person } from "../store/keyring.ts";
import type { ProcessRole } from "../store/store.ts";
import { type Claiming, startClaiming } from "./driving/claiming.ts";
import { DriveQueue } from "./driving/drive-queue.ts";
import { IntentWaiters } from "./driving/intent-waiters.ts";
import { LeftSessions } from "./driving/left-sessions.ts";
import { createAdvancing } from "./driving/restate/advancing.ts";
import { watchLiftedHalts } from "./driving/resume-after-halt.ts";
import { followToOutcome, type TurnOutcome } from "./driving/turn-outcome.ts";
import { createUnattendedFinder, type FindUnattended } from "./driving/unattended.ts";

/** `server`: drives what it is asked to, and what nobody drives; `coordinator`: drives nothing; `worker`: drives what others ask for, too, as soon as they do. */
export type DriverRole = ProcessRole;

export type SessionDriverOptions = Readonly<{
  runtime: Runtime;
  role: DriverRole;
  atOnce: number;
  /** How long an intent may take to become an entry before its sender learns that it waits. */
  waitMs: number;
  report(drove: DriveReport): void;
  /** Asks Restate for somebody who drives a session, in place of driving it here; null: there is none. */
  summon?: ((session: SessionId) => void) | null;
  /** A session is driven here for which Restate was asked in vain. */
  unanswered?: () => void;
  /** A worker gives a session back whose retry is due later than this, where it is brought back then. */
  maxRestMs?: number;
}>;
/** `session` is null where the search for sessions that want driving failed. */
export type DriveReport = Readonly<
  { kind: "drove"; session: SessionId; result: RunResult } | { kind: "failed"; session: SessionId | null; error: unknown }
>;

/** `entry` is null while the session's holder has not taken the intent. `halted`: the halt that the session waits with. */
export type SentToDriver = Readonly<{ session: SessionId; entry: Entry | null; halted: StandingHalt | null }>;
/** `id` makes it idempotent: the same id again is the same intent. */
export type IntentForDriver = Readonly<{ session: SessionId; wish: IntentBody; as: Person; id?: IntentId }>;

/** With these nothing is taken, however long anybody waits. */
const JOURNAL_FAULTS: ReadonlySet<Fault["kind"]> = new Set([
  "entry-bad",
  "seal-bad",
  "journal-doubted",
  "journal-unwritable",
  "journal-unreadable",
]);
const SWEEP_MS = 10_000;
/** As long a wait costs more in a place and a lease than in taking the session anew. */
const REST_MS = 30_000;
/** Between two looks of a worker, which come with the writes of all others. */
const WORKER_PAUSE_MS = 100;

export const openSessionDriver = (options: SessionDriverOptions): SessionDriver => new SessionDriver(options);

export class SessionDriver {
  readonly #runtime: Runtime;
  readonly #report: SessionDriverOptions["report"];
  readonly #queue: DriveQueue;
  readonly #left: LeftSessions;
  readonly #waiters: IntentWaiters;
  readonly #carrier: IntentCarrier;
  readonly #findUnattended: FindUnattended;
  readonly #stopWatching: () => void;
  readonly #atOnce: number;
  /** Null where workers look for themselves, and where Restate asks them. */
  readonly #claiming: Claiming | null;
  readonly #role: DriverRole;
  readonly #summon: ((session: SessionId) => void) | null;
  readonly #unanswered: () => void;
  readonly #maxRestMs: number;
  /** When Restate was asked for sessions that nobody has taken since. */
  readonly #summoned = new Map<SessionId, Millis>();
  /** Handlers for Restate's messages. */
  readonly advancing: ReturnType<typeof createAdvancing>;
  #isSweeping = false;
  /** What changed while a sweep was under way is looked at by the next. */
  #sweepNext: "none" | "arrived" | "interrupted" = "none";
  #isLeaving = false;
  /** The journal takes nothing any more: whoever runs this process is told so, and not of every session. */
  #isStopped = false;

  constructor({ runtime, role, atOnce, waitMs, report, summon = null, unanswered = () => {}, maxRestMs = REST_MS }: SessionDriverOptions) {
    const { store } = runtime.place;
    const { journal, inbox } = store;
    this.#runtime = runtime;
    void store.stopped.then(() => {
      this.#isStopped = true;
    });
    this.#role = role;
    this.#report = report;
    this.#summon = role === "server" ? null : summon;
    this.#unanswered = unanswered;
    this.#maxRestMs = maxRestMs;
    this.#atOnce = atOnce;
    this.#queue = new DriveQueue({
      atOnce,
      drive: (session) => this.#drive(session),
      hasPendingIntents: async (session) => (await inbox.pending(session)).length > 0,
      left: () => this.#claiming?.left(),
    });
    this.#left = new LeftSessions({ journal, inbox });
    this.advancing = createAdvancing({ store, queue: this.#queue, left: this.#left, isLeaving: () => this.#isLeaving });
    this.#findUnattended = createUnattendedFinder({ journal, inbox });
    this.#waiters = new IntentWaiters({ journal, inbox, waitMs });
    this.#carrier = {
      put: async (intent) => {
        const put = await inbox.put(intent);
        this.wake(intent.session);
        return put;
      },
      waitUntilTaken: (intent) => this.#waiters.wait(intent),
    };
    this.#claiming = role === "worker" && this.#summon === null ? this.#startClaiming() : null;
    this.#stopWatching = role === "coordinator" ? () => {} : this.#watch();
  }

  /** Throws `intent-refused` with the reason, `session-unknown`, and `runtime-closed` once the server goes. */
  async send({ session, wish, as, id = NODE.ids.intent() }: IntentForDriver): Promise<SentToDriver> {
    if (this.#isLeaving) throw new FaultError({ kind: "runtime-closed" });
    const { journal } = this.#runtime.place.store;
    const { entry } = await sendIntent({ journal, clock: NODE.clock, carrier: this.#carrier }, { session, wish, as, id });
    return { session, entry, halted: await this.#findHalt(session) };
  }

  /** Has the session driven, unless it is; returns at once. */
  wake(session: SessionId): void {
    if (this.#summon !== null) this.#summon(session);
    else if (this.#claiming !== null) this.#claiming.soon();
    else if (this.#role !== "coordinator") this.#queue.wake(session); // what woke it is durable: a worker finds it
  }

  /** Follows the turn that an intent began until it has ended or waits for a person; null when the time is up. */
  outcome(session: SessionId, intent: IntentId, waitMs: number, signal?: AbortSignal): Promise<TurnOutcome> {
    return followToOutcome(this.#runtime, { session, intent, waitMs, driving: this.#queue.whenLeft(session), signal });
  }

  /** Resolves when no session is driven here and none waits to be. */
  settle(): Promise<void> {
    return this.#queue.settle();
  }

  driving(): number {
    return this.#queue.driving;
  }

  queued(): number {
    return this.#queue.queued;
  }

  isLeaving(): boolean {
    return this.#isLeaving;
  }

  /** Wakes sessions that something has come for; with `interrupted` also those whose process is gone. */
  async sweep(also?: "interrupted"): Promise<void> {
    if (this.#isLeaving || this.#role === "coordinator") return;
    if (this.#claiming !== null) return this.#claiming.soon();
    const found = [...(await this.#findUnattended(NODE.clock.now(), also))];
    const held = await this.#runtime.place.store.holders(found);
    const unattended: SessionId[] = [];
    for (const session of found) if (!held.has(session) && !(await this.#left.isAsLeft(session))) unattended.push(session);
    if (this.#summon === null) for (const session of unattended) this.#queue.wake(session);
    else this.#summonOrDrive(unattended, this.#summon);
  }

  /** A Restate that is down, or sends its messages to a worker that is gone, costs two looks, not the work. */
  #summonOrDrive(unattended: readonly SessionId[], summon: (session: SessionId) => void): void {
    const now = NODE.clock.now();
    for (const session of this.#summoned.keys()) if (!unattended.includes(session)) this.#summoned.delete(session);
    for (const session of unattended) {
      const since = this.#summoned.get(session);
      if (since !== undefined && now - since >= SWEEP_MS) {
        this.#queue.wake(session);
        this.#unanswered();
      } else if (since === undefined) {
        this.#summoned.set(session, now);
        summon(session);
      }
    }
  }

  /** Looks no more for sessions that want driving; those that are driven go on. */
  stop(): void {
    this.#stopWatching();
  }

  /** W-29. `finishMs`: how long turns may go on; `landMs`: how long what is in flight then may take. False: something was still in flight. */
  async leave(finishMs: number, landMs: number): Promise<boolean> {
    this.#isLeaving = true;
    this.stop();
    const isDriving = this.#queue.driving > 0;
    const left = this.#queue.close();
    if (isDriving) await isDoneWithin(finishMs, left);
    return isDoneWithin(landMs, this.#runtime.park());
  }

  async #drive(session: SessionId): Promise<void> {
    const since = NODE.clock.now();
    const isBroughtBack = this.#claiming !== null || this.#summon !== null;
    let bad: Seq | null = null;
    try {
      const result = await this.#runtime.resume(session, isBroughtBack ? { maxRestMs: this.#maxRestMs } : {}).result;
      this.#report({ kind: "drove", session, result });
    } catch (error) {
      if (isFault(error, "session-held") || (this.#isLeaving && isFault(error, "runtime-closed"))) return; // its holder sees what has come
      if (!this.#isStopped) this.#report({ kind: "failed", session, error });
      if (isFault(error, "entry-bad") && error.fault.stream === session) bad = error.fault.seq;
      if (isFault(error, "hold-lost")) return; // whoever has it now drives it; if nobody has, the next sweep finds it: it was not left as it stands
      if (isFault(error) && JOURNAL_FAULTS.has(error.fault.kind)) this.#waiters.fail(session, error);
      if (isFault(error, "journal-unreadable") || isFault(error, "journal-unwritable")) return; // a database that is back is no news of the session: the next sweep takes it up
    }
    await this.#left.remember(session, since, bad);
    if (this.#claiming !== null && bad === null) await this.#sayWhenDue(session, since); // of what cannot be read nobody knows, and it was said already
    if (this.#summon !== null) this.#sweepSoon(); // what this turn has told other sessions is in their inboxes
  }

  #startClaiming(): Claiming | null {
    const { claims } = this.#runtime.place.store;
    if (claims === null) return null;
    return startClaiming({
      claims,
      room: () => this.#atOnce - this.#queue.driving - this.#queue.queued,
      offer: async (session) => {
        if (await this.#left.isAsLeft(session)) return { kind: "as-left", due: this.#left.dueOf(session) };
        this.#queue.wake(session);
        return { kind: "driven" };
      },
      failed: (error) => this.#report({ kind: "failed", session: null, error }),
      timer(ms, then) {
        const timer = setTimeout(then, ms).unref();
        return () => clearTimeout(timer);
      },
      now: NODE.clock.now,
    });
  }

  /** A deferred decision, or a retry, is due at a time that only its driver knows. */
  async #sayWhenDue(session: SessionId, since: Millis): Promise<void> {
    const { claims, journal } = this.#runtime.place.store;
    try {
      const state = (await journal.session(session))?.state;
      const due = state === "running" || state === "waiting" ? await this.#left.due(session, since) : null;
      if (due !== null) await claims?.leave(session, due, false);
    } catch (error) {
      this.#report({ kind: "failed", session, error }); // it is handed out again by and by
    }
  }

  async #findHalt(session: SessionId): Promise<StandingHalt | null> {
    const { orders, store } = this.#runtime.place;
    await orders.refresh();
    const standing = orders.now();
    const summary = standing.halts.size === 0 ? null : await store.journal.session(session);
    if (summary === null) return null;
    if (summary.state === "idle") return findAgentHalt(standing, summary.agent); // the message waits without a turn
    return findSessionHalt({ journal: store.journal, halts: standing.halts, isHeld: false }, summary);
  }

  /** Other processes write for sessions that nobody drives; time passes for those that wait. */
  #watch(): () => void {
    const { inbox } = this.#runtime.place.store;
    const stopInbox =
      this.#summon !== null || this.#claiming !== null
        ? () => {} // who writes for a session sends a message too, or the store hands it out
        : inbox.watchChanges(() => this.#sweepSoon(this.#role === "worker" ? "interrupted" : undefined));
    const halts = watchLiftedHalts({
      runtime: this.#runtime,
      wake: (session) => this.#wakeAfterDrive(session),
      failed: (error, session) => this.#report({ kind: "failed", session, error }),
    });
    const timer = this.#claiming !== null ? undefined : setInterval(() => this.#sweepSoon("interrupted"), SWEEP_MS).unref();
    return () => {
      stopInbox();
      halts.stop();
      this.#claiming?.stop();
      clearInterval(timer);
    };
  }

  /** The present driver may have seen the halt that is lifted now, and be leaving. */
  #wakeAfterDrive(session: SessionId): void {
    void (this.#queue.whenLeft(session) ?? Promise.resolve()).then(() => this.#queue.wake(session)); // also one that is idle, for which a message would do nothing
  }

  #sweepSoon(also?: "interrupted"): void {
    if (this.#isLeaving || this.#isStopped) return;
    if (this.#isSweeping) {
      if (this.#sweepNext !== "interrupted") this.#sweepNext = also ?? "arrived";
      return;
    }
    this.#isSweeping = true;
    void this.sweep(also)
      .catch((error: unknown) => this.#report({ kind: "failed", session: null, error }))
      .then(() => (this.#role === "worker" ? NODE.clock.sleep(WORKER_PAUSE_MS, new AbortController().signal) : undefined))
      .finally(() => {
        this.#isSweeping = false;
        const next = this.#sweepNext;
        this.#sweepNext = "none";
        if (next !== "none") this.#sweepSoon(next === "interrupted" ? next : undefined);
      });
  }
}

const isDoneWithin = (ms: number, work: Promise<unknown>): Promise<boolean> =>
  Promise.race([work.then(() => true), NODE.clock.sleep(ms, new AbortController().signal).then(() => false)]);
