/**
 * Drives one session: performs the moves that `next` chooses, commits their events, launches their effects, until it waits or its turn has ended.
 * L-9 two commits per iteration: `model.replied`, decisions, `act.started`; then `act.ended`, the next decision, `model.asked`.
 * Only this loop touches the state; effects hand in results. Streaming is a watcher, not a second loop.
 */
import type { Millis } from "../vocab/index.ts";
import { nextRetry } from "./calls/recovery.ts";
import { createParts, type DriverParts, type Driving } from "./driver-parts.ts";
import { remainingMs } from "./limits/budgets.ts";
import { next } from "./next.ts";
import type { Held } from "./open.ts";
import { giveGrants } from "./people/grants.ts";
import { findHeldBack, isHaltLifted, obeyHalts } from "./people/halts.ts";
import { performOrAwait } from "./perform.ts";
import type { Ports } from "./ports.ts";
import type { State } from "./state.ts";

export const drive = (p: Ports, held: Held, driving: Driving): Promise<State> => new SessionDriver(createParts(p, held, driving)).run();

/** Choosing moves takes a few passes between two commits. More is a bug: a failed turn is better than a process that spins. */
const MAX_PASSES = 1_000;

class SessionDriver {
  readonly #parts: DriverParts;
  readonly #s: State;
  #granted = 0; // of the session's grants, from the first on

  constructor(parts: DriverParts) {
    this.#parts = parts;
    this.#s = parts.held.state;
  }

  async run(): Promise<State> {
    const { p, effects, commits, late, waits, stop, cancel, leave } = this.#parts;
    const unwatch = [p.inbox.watch(this.#s.session, () => waits.look()), p.orders.watch(() => waits.look())];
    const onAbort = () => waits.wake();
    for (const signal of [cancel, leave]) signal?.addEventListener("abort", onAbort, { once: true });
    try {
      return await this.#loop();
    } catch (error) {
      stop.stopTurn("failed"); // effects are aborted and waited for: nobody may take the session before they have stopped
      await effects.waitForAll();
      throw error;
    } finally {
      for (const stopWatching of unwatch) stopWatching();
      commits.close();
      late.forget();
      waits.close();
      for (const signal of [cancel, leave]) signal?.removeEventListener("abort", onAbort);
    }
  }

  async #loop(): Promise<State> {
    const { p, held, effects, commits, intake, announcer, late, waits, time, leave } = this.#parts;
    const s = this.#s;
    for (const event of held.begin) for (const e of await intake.first(event)) commits.record(e);
    for (let passes = 1; ; passes += 1) {
      if (passes > MAX_PASSES) throw new Error("the session does not come to rest");
      if (leave?.aborted && (await this.#leaveIfSettled())) return s;
      if (this.#hasToLook()) await this.#look();
      this.#hear();
      if (leave?.aborted) continue; // nothing new begins
      const now = time();
      const moves = next(s, now, findHeldBack(s, p.orders.now()));
      const performed = moves.map((move) => performOrAwait(this.#parts, move));
      if (performed.includes(true)) continue; // same commit, next moves
      const launches = moves.map((move, i) => (performed[i] === "awaited" ? null : announcer.announce(move)));
      if (!(await commits.flush())) continue;
      passes = 0;
      for (const launch of launches) launch?.();
      if (s.grantsDue.length > this.#granted) this.#granted = await giveGrants(p, s, this.#granted);
      if (p.breakers.isDue()) await p.breakers.settle();
      if (effects.isBusy() || late.isWaiting() || this.#hasNews() || this.#isWaitingOut(now)) await this.#idle(now);
      else if (!(await isHaltLifted(p, s)) && !waits.hasArrived()) return s; // it waits, rests or has ended: a waiting session costs nothing
    }
  }

  /** M-7 a retry is due, and so soon that the session is kept until then. */
  #isWaitingOut(now: Millis): boolean {
    const due = nextRetry(this.#s.turn, now);
    return due !== null && due - now <= this.#parts.maxRestMs;
  }

  /** True once nothing is in flight and every result is durable: the session may be left to the next driver. */
  async #leaveIfSettled(): Promise<boolean> {
    const { effects, commits } = this.#parts;
    await effects.waitForAll();
    if (this.#hasToLook()) await this.#look();
    this.#hear();
    return !effects.isBusy() && !effects.hasResults() && (await commits.flush());
  }

  #hasToLook(): boolean {
    const { p, waits } = this.#parts;
    return waits.hasArrived() || !p.counts.areKept(p.gate.lately);
  }

  /** Takes in what has arrived from elsewhere: orders, intents. */
  async #look(): Promise<void> {
    const { p, intake, waits } = this.#parts;
    if (waits.takeArrived()) {
      await p.orders.refresh();
      await p.breakers.refresh();
      await intake.drain();
    }
    if (!p.counts.areKept(p.gate.lately)) await p.counts.keep(p.gate.lately); // a policy reads a counter for the first time: nothing is decided before it is there
  }

  /** Records what has come since: results of effects, the caller's cancel, halts. */
  #hear(): void {
    const { p, effects, commits, stop, cancel } = this.#parts;
    for (const result of effects.takeResults()) for (const event of result()) commits.record(event);
    const t = this.#s.turn;
    if (t !== null && this.#isCancelDue())
      commits.record({ kind: "turn.cancel-asked", by: t.by, reason: String(cancel.reason ?? "cancelled"), all: false, intent: null });
    obeyHalts(this.#s, p.orders.now(), { record: (event) => commits.record(event), stopCalls: stop.halt });
  }

  /** Until a result or an intent comes, a retry is due (as of when the moves were chosen), the turn's time is up, or the caller cancels. */
  #idle(seen: Millis): Promise<void> {
    const { waits, stop, time, leave } = this.#parts;
    if (this.#hasNews() || leave?.aborted) return Promise.resolve(); // it may have come while the batch was being written
    const t = this.#s.turn;
    const due = nextRetry(t, seen);
    const turnMs = () => (t === null || stop.isTurnStopped() ? null : remainingMs(this.#s, t, time()));
    return waits.untilWoken(turnMs, due === null ? null : due - time());
  }

  #hasNews = (): boolean => this.#parts.effects.hasResults() || this.#parts.waits.hasArrived() || this.#isCancelDue();

  #isCancelDue(): boolean {
    return this.#parts.cancel.aborted && this.#s.turn !== null && this.#s.turn.cancel === null;
  }
}
