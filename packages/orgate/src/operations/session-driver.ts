/**
 * The server's session driver: decides which sessions are driven, and has each driven by core's `loop/drive.ts`. Callers put a signed intent into the inbox
 * and learn what it became; driving continues after they have gone. Its parts are in `driving/`.
 *
 * W-28 a session that nobody drives is driven here, looked for at the start of the server and every ten seconds, whichever process wrote it:
 *     - an interrupted turn, and a session with an intent in its inbox, an expired approval request or a decision that is due;
 *     - a session that only waits is left alone, and nothing is written about it.
 * W-28 no more than `atOnce` sessions are driven at a time: the others wait their turn, and none is lost.
 * W-29 when the server goes, no turn is begun any more, those in progress have a time to finish, and what is left then is parked: nothing new is begun in
 *     it, what is in flight lands, and the next server continues from there. What does not land in time is treated as after a crash.
 * Rule: W-16.
 */
import { type Entry, type Fault, FaultError, type IntentBody, type IntentId, isFault, type RunResult, type SessionId } from "@orgate/core";
import { findAgentHalt, type StandingHalt } from "@orgate/core/vocab";
import type { Runtime } from "../runtime/api.ts";
import type { IntentCarrier } from "../runtime/delivery.ts";
import { findSessionHalt } from "../runtime/people/halted.ts";
import { sendIntent } from "../runtime/people/send-intent.ts";
import { NODE } from "../runtime/ports/outside.ts";
import type { Person } from "../store/keyring.ts";
import { DriveQueue } from "./driving/drive-queue.ts";
import { IntentWaiters } from "./driving/intent-waiters.ts";
import { LeftSessions } from "./driving/left-sessions.ts";
import { watchLiftedHalts } from "./driving/resume-after-halt.ts";
import { followToOutcome, type TurnOutcome } from "./driving/turn-outcome.ts";
import { createUnattendedFinder, type FindUnattended } from "./driving/unattended.ts";

export type SessionDriverOptions = Readonly<{
  runtime: Runtime;
  atOnce: number;
  /** How long an intent may take to become an entry before its sender learns that it waits. */
  waitMs: number;
  report(drove: DriveReport): void;
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
  #isSweeping = false;
  #isLeaving = false;

  constructor({ runtime, atOnce, waitMs, report }: SessionDriverOptions) {
    const { journal, inbox } = runtime.place.store;
    this.#runtime = runtime;
    this.#report = report;
    this.#queue = new DriveQueue({
      atOnce,
      drive: (session) => this.#drive(session),
      hasPendingIntents: async (session) => (await inbox.pending(session)).length > 0,
    });
    this.#left = new LeftSessions({ journal, inbox });
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
    this.#stopWatching = this.#watch();
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
    this.#queue.wake(session);
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
    if (this.#isLeaving) return;
    const { store } = this.#runtime.place;
    for (const session of await this.#findUnattended(NODE.clock.now(), also))
      if ((await store.holder(session)) === null && !(await this.#left.isAsLeft(session))) this.wake(session);
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
    try {
      const result = await this.#runtime.resume(session).result;
      this.#report({ kind: "drove", session, result });
    } catch (error) {
      if (isFault(error, "session-held") || (this.#isLeaving && isFault(error, "runtime-closed"))) return; // its holder sees what has come
      this.#report({ kind: "failed", session, error });
      if (isFault(error) && JOURNAL_FAULTS.has(error.fault.kind)) this.#waiters.fail(session, error);
    }
    await this.#left.remember(session);
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
    const stopInbox = inbox.watchChanges(() => this.#sweepSoon());
    const halts = watchLiftedHalts({
      runtime: this.#runtime,
      wake: (session) => this.#wakeAfterDrive(session),
      failed: (error, session) => this.#report({ kind: "failed", session, error }),
    });
    const timer = setInterval(() => this.#sweepSoon("interrupted"), SWEEP_MS).unref();
    return () => {
      stopInbox();
      halts.stop();
      clearInterval(timer);
    };
  }

  /** The present driver may have seen the halt that is lifted now, and be leaving. */
  #wakeAfterDrive(session: SessionId): void {
    void (this.#queue.whenLeft(session) ?? Promise.resolve()).then(() => this.wake(session));
  }

  #sweepSoon(also?: "interrupted"): void {
    if (this.#isSweeping || this.#isLeaving) return;
    this.#isSweeping = true;
    void this.sweep(also)
      .catch((error: unknown) => this.#report({ kind: "failed", session: null, error }))
      .finally(() => {
        this.#isSweeping = false;
      });
  }
}

const isDoneWithin = (ms: number, work: Promise<unknown>): Promise<boolean> =>
  Promise.race([work.then(() => true), NODE.clock.sleep(ms, new AbortController().signal).then(() => false)]);
