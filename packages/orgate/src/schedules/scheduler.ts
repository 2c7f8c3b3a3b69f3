/**
 * Fires schedules: one timer for all of them, a heap by due time, one transaction for each firing.
 *
 * Z-3 A firing is one transaction: `schedule.fired`, the session (opened for the schedule's owner, surface `schedule`) and its turn. A process that dies
 *    before it has fired nothing; one that dies after it leaves a turn to drive. When two processes fire the same due time, the stream lets one through.
 * Z-7 A schedule that waits costs one entry of the heap and no timer.
 * Rule: Z-4.
 */
import { describeFault, type Hash, isFault, type Millis, millis, type SessionId, type SystemEvent } from "@orgate/core";
import { type Journal, SCHEDULES, type StandingSchedule } from "@orgate/core/journal";
import type { Calendar } from "./calendar.ts";
import { endedEvent, type FiringPorts, findFiringEnd, planFiring, skipEvent, stepEvent, withStop } from "./firing.ts";
import { createHeap } from "./heap.ts";
import { nextStep, type Step } from "./planning.ts";
import type { SchedulePlan, ScheduleStore } from "./store.ts";

export type SchedulerPorts = FiringPorts &
  Readonly<{
    schedules: ScheduleStore;
    journal: Pick<Journal, "session" | "read" | "watch">;
    calendar: Calendar;
    hash: Hash;
    /** Calls `then` after `ms`; returns how to cancel it. */
    timer(ms: number, then: () => void): () => void;
    /** The same for the next due time; `then` may be late where somebody else settles what is due. */
    alarm(ms: number, then: () => void): () => void;
    /** Has a session driven. */
    wake(session: SessionId): void;
    /** Whether some process drives the session. */
    isHeld(session: SessionId): Promise<boolean>;
    failed(schedule: string | null, error: unknown): void;
  }>;

/** Clocks are set, and machines sleep: the time is read again no later than this. */
const LONGEST_MS = 60_000;
/** How often changes by other processes are read, at most; and how soon a failed write is tried again. */
const LOOK_MS = 1_000;
const AT_ONCE = 32;

export class Scheduler {
  readonly #ports: SchedulerPorts;
  readonly #heap = createHeap();
  /** Sessions of firings that have not ended, with their schedules. */
  readonly #open = new Map<SessionId, string>();
  readonly #working = new Map<string, Promise<void>>();
  readonly #again = new Set<string>();
  #cancelTimer: (() => void) | null = null;
  #cancelLook: (() => void) | null = null;
  #unwatch: () => void = () => {};
  #isStopped = true;

  constructor(ports: SchedulerPorts) {
    this.#ports = ports;
  }

  /** Reads all schedules, does what is due, and arms the timer. */
  async start(): Promise<void> {
    const { schedules, journal } = this.#ports;
    this.#isStopped = false;
    this.#unwatch = journal.watch((stream) => this.#onChange(stream));
    await schedules.refresh();
    await this.#tendAll([...schedules.all().keys()]);
    this.#arm();
  }

  stop(): void {
    this.#isStopped = true;
    this.#unwatch();
    this.#cancelTimer?.();
    this.#cancelLook?.();
    [this.#cancelTimer, this.#cancelLook] = [null, null];
  }

  /** Does everything that is due now before it resolves. */
  async settle(): Promise<void> {
    const { now } = this.#ports;
    const due = (): readonly string[] => this.#heap.due(now(), Number.POSITIVE_INFINITY);
    await this.#refresh();
    for (let names = due(); names.length > 0 && !this.#isStopped; names = due()) await this.#tendAll(names);
    while (this.#working.size > 0) await Promise.all(this.#working.values());
  }

  /** Timers that run: none or one. */
  timers(): number {
    return this.#cancelTimer === null ? 0 : 1;
  }

  // ── when ──

  #arm(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    const first = this.#isStopped ? null : this.#heap.first();
    if (first === null) return;
    this.#cancelTimer = this.#ports.alarm(Math.max(0, Math.min(LONGEST_MS, first - this.#ports.now())), () => {
      this.#cancelTimer = null;
      this.#tick();
    });
  }

  #tick(): void {
    for (const name of this.#heap.due(this.#ports.now(), AT_ONCE - this.#working.size)) void this.#tend(name);
    if (this.#working.size === 0) this.#arm(); // otherwise the first to finish arms it
  }

  #onChange(stream: string | null): void {
    if (this.#isStopped) return;
    const own = stream === null ? undefined : this.#open.get(stream as SessionId);
    if (own !== undefined) void this.#tend(own);
    else if (stream?.startsWith(SCHEDULES) === true) this.#onScheduleChange(stream.slice(SCHEDULES.length));
    else if (stream === null) this.#lookSoon();
  }

  /** The change was made in this process: by a person through the API, or by the scheduler itself. */
  #onScheduleChange(name: string): void {
    const { schedules, failed } = this.#ports;
    if (this.#working.has(name)) this.#again.add(name);
    else
      void schedules.refresh(name).then(
        () => this.#tend(name),
        (error: unknown) => failed(name, error),
      );
  }

  /** Another process wrote: which streams is not known. */
  #lookSoon(): void {
    this.#cancelLook ??= this.#ports.timer(LOOK_MS, () => {
      this.#cancelLook = null;
      void this.#refresh().catch((error: unknown) => this.#ports.failed(null, error));
    });
  }

  async #refresh(): Promise<void> {
    const names = new Set([...(await this.#ports.schedules.refresh()), ...this.#open.values()]);
    await this.#tendAll([...names]);
  }

  // ── one schedule ──

  async #tendAll(names: readonly string[]): Promise<void> {
    for (let i = 0; i < names.length; i += AT_ONCE) await Promise.all(names.slice(i, i + AT_ONCE).map((name) => this.#tend(name)));
  }

  /** One at a time for each schedule; a request that comes meanwhile is served afterwards. */
  #tend(name: string): Promise<void> {
    const running = this.#working.get(name);
    if (running !== undefined) {
      this.#again.add(name);
      return running;
    }
    const work = this.#tendUntilQuiet(name).finally(() => {
      this.#working.delete(name);
      this.#arm();
    });
    this.#working.set(name, work);
    return work;
  }

  async #tendUntilQuiet(name: string): Promise<void> {
    const { now, failed } = this.#ports;
    do {
      this.#again.delete(name);
      await this.#tendOnce(name).catch((error: unknown) => {
        this.#heap.set(name, millis(now() + LOOK_MS)); // it stays due: a full disk may have room again
        failed(name, error);
      });
    } while (this.#again.has(name) && !this.#isStopped);
  }

  async #tendOnce(name: string): Promise<void> {
    await this.#settleEnded(name);
    for (;;) {
      const s = this.#ports.schedules.get(name);
      if (s === null || this.#isStopped) return;
      this.#track(s);
      const step = this.#nextStep(s);
      if (step.kind === "wait") {
        this.#heap.set(name, step.until);
        return;
      }
      await this.#takeStep(name);
    }
  }

  #nextStep(s: StandingSchedule): Step {
    const { now, calendar, hash } = this.#ports;
    return nextStep(s, now(), calendar, hash);
  }

  #track(s: StandingSchedule): void {
    for (const { session } of s.open) this.#open.set(session, s.schedule);
  }

  /** Takes one step, planned on the state at the moment of the append. */
  async #takeStep(name: string): Promise<void> {
    const { schedules, wake } = this.#ports;
    let fired: SessionId | null = null;
    const skips = new Map<Millis, SystemEvent>();
    const plan = (s: StandingSchedule | null): SchedulePlan | null => {
      fired = null;
      const step = s === null ? null : this.#nextStep(s);
      if (s === null || step === null || step.kind === "wait") return null;
      if (step.kind !== "fire") return { events: [stepEvent(name, step)] };
      const skip = skips.get(step.dueAt);
      if (skip !== undefined) return { events: withStop(s, [skip]) };
      const firing = planFiring(this.#ports, s, step);
      if ("kind" in firing) return { events: withStop(s, [firing]) };
      fired = firing.session;
      return firing.plan;
    };
    for (;;) {
      try {
        const after = await schedules.change(name, plan);
        if (after === null) return;
        this.#track(after);
        if (fired !== null) wake(fired);
        return;
      } catch (error) {
        if (!isFault(error, "halted") && !isFault(error, "external-taken")) throw error;
        // Nothing was written. Work is halted; or this due time has opened a session already, before a clock was set back.
        const s = schedules.get(name);
        const step = s === null ? null : this.#nextStep(s);
        if (step?.kind !== "fire") return;
        const why = isFault(error, "halted") ? "halted" : "missed";
        skips.set(step.dueAt, skipEvent(name, step.dueAt, why, describeFault(error.fault).message));
      }
    }
  }

  /** Records the end of firings whose turns have ended; only the first process that sees it does. */
  async #settleEnded(name: string): Promise<void> {
    const { schedules, journal, now, wake, isHeld } = this.#ports;
    for (const firing of schedules.get(name)?.open ?? []) {
      const end = await findFiringEnd(journal, firing);
      if (end === null) {
        const summary = await journal.session(firing.session);
        if (summary?.state === "running" && !(await isHeld(firing.session))) wake(firing.session);
        continue;
      }
      this.#open.delete(firing.session);
      await schedules.change(name, (s) => {
        if (s === null || !s.open.some((one) => one.dueAt === firing.dueAt && one.attempt === firing.attempt)) return null;
        return { events: withStop(s, [endedEvent(s, firing, end.ending, now())]) };
      });
    }
  }
}
