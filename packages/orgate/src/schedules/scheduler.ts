/**
 * What makes schedules fire: one timer for all of them, a heap of what is due when, and for each firing one transaction.
 *
 * Z-3 a firing is one transaction: `schedule.fired`, and with it the session, opened for the schedule's owner at the surface `schedule`, and its turn. Whoever
 *    dies before it has fired nothing; whoever dies after it leaves a turn that wants driving. Two who fire the same are told apart by the stream.
 * Z-7 a schedule that waits costs an entry of the heap, and no timer; what is not due is not looked at.
 * Rule: Z-4.
 */
import {
  type AgentFacts,
  describeFault,
  type Ending,
  type Firing,
  firingPrefix,
  firstTurnEvents,
  type Hash,
  type Intent,
  type IntentId,
  intentId,
  isFault,
  type JournalEvent,
  type Limits,
  type Millis,
  millis,
  type OutputSpec,
  openedEvent,
  type Principal,
  type ScheduleSpec,
  type SessionId,
  type SystemEvent,
  seq,
} from "@orgate/core";
import { eachEntry, type Journal, SCHEDULES, type SessionStart, type StandingSchedule } from "@orgate/core/journal";
import type { Calendar } from "./calendar.ts";
import { createHeap } from "./heap.ts";
import { nextStep, retryAfter, type Step } from "./planning.ts";
import type { SchedulePlan, ScheduleStore } from "./store.ts";

/** What a session of an agent begins with; null: there is no such agent, or it cannot be run. */
export type FindSessionStart = (agent: string) => Readonly<{ facts: AgentFacts; limits: Limits; output: OutputSpec | null }> | null;

export type SchedulerPorts = Readonly<{
  schedules: ScheduleStore;
  journal: Pick<Journal, "session" | "read" | "watch">;
  calendar: Calendar;
  hash: Hash;
  now(): Millis;
  /** Calls back after so long; returns the way to stop it. */
  timer(ms: number, then: () => void): () => void;
  newSession(): SessionId;
  /** As the runtime itself sends it. */
  sign(intent: Pick<Intent, "id" | "session" | "at" | "wish">): Intent;
  findSessionStart: FindSessionStart;
  /** Why the owner may not have the agent take a turn; null: they may. */
  mayNotRun(owner: string, agent: string): string | null;
  /** Has a session driven. */
  wake(session: SessionId): void;
  /** Whether some process drives it. */
  isHeld(session: SessionId): boolean;
  failed(schedule: string | null, error: unknown): void;
}>;

export type Scheduler = Readonly<{
  /** Reads what there is and goes on from there. */
  start(): Promise<void>;
  stop(): void;
  /** What is due now is done before it resolves: for tests, and for whoever wants to be sure. */
  settle(): Promise<void>;
  /** Timers that run: none or one. */
  timers(): number;
}>;

/** Clocks are set, and machines sleep: the time is looked at again no later than this. */
const LONGEST_MS = 60_000;
/** Others write: what they changed is looked for no oftener than this. */
const LOOK_MS = 1_000;
const AT_ONCE = 32;

export function openScheduler(ports: SchedulerPorts): Scheduler {
  const { schedules, journal, now } = ports;
  const heap = createHeap();
  const opened = new Map<SessionId, string>(); // sessions of firings that are not over, and whose they are
  const working = new Map<string, Promise<void>>();
  const again = new Set<string>();
  let stopTimer: (() => void) | null = null;
  let stopWatching: () => void = () => {};
  let looking: (() => void) | null = null;
  let stopped = true;

  /** One at a time for each schedule; who comes meanwhile is looked at afterwards. */
  function tend(name: string): Promise<void> {
    const running = working.get(name);
    if (running !== undefined) {
      again.add(name);
      return running;
    }
    const work = (async () => {
      do {
        again.delete(name);
        await tendOnce(name).catch((error: unknown) => {
          heap.set(name, millis(now() + LOOK_MS)); // it stays due: a disk that was full may have room again
          ports.failed(name, error);
        });
      } while (again.has(name) && !stopped);
    })().finally(() => {
      working.delete(name);
      arm();
    });
    working.set(name, work);
    return work;
  }

  async function tendOnce(name: string): Promise<void> {
    await settleEnded(name);
    for (;;) {
      const s = schedules.get(name);
      if (s === null || stopped) return;
      track(s);
      const step = nextStep(s, now(), ports.calendar, ports.hash);
      if (step.kind === "wait") {
        heap.set(name, step.until);
        return;
      }
      await take(name);
    }
  }

  const track = (s: StandingSchedule): void => {
    for (const { session } of s.open) opened.set(session, s.schedule);
  };

  /** One step, planned on what is there at the moment it is written. */
  async function take(name: string): Promise<void> {
    let fired: SessionId | null = null;
    const skipping = new Map<Millis, SystemEvent>();
    const plan = (s: StandingSchedule | null): SchedulePlan | null => {
      fired = null;
      const step = s === null ? null : nextStep(s, now(), ports.calendar, ports.hash);
      if (s === null || step === null || step.kind === "wait") return null;
      if (step.kind !== "fire") return { events: [stepEvent(name, step)] };
      const skipped = skipping.get(step.dueAt);
      if (skipped !== undefined) return { events: stopping(s, [skipped]) };
      const firing = planFiring(ports, s, step);
      if ("kind" in firing) return { events: stopping(s, [firing]) };
      fired = firing.session;
      return firing.plan;
    };
    for (;;) {
      try {
        const after = await schedules.change(name, plan);
        if (after === null) return;
        track(after);
        if (fired !== null) ports.wake(fired);
        return;
      } catch (error) {
        if (!isFault(error, "halted") && !isFault(error, "external-taken")) throw error;
        // Nothing was written. It is halted; or this very due time has opened a session, before a clock was set back.
        const s = schedules.get(name);
        const step = s === null ? null : nextStep(s, now(), ports.calendar, ports.hash);
        if (step?.kind !== "fire") return;
        const why = isFault(error, "halted") ? "halted" : "missed";
        skipping.set(step.dueAt, skipEvent(name, step.dueAt, why, describeFault(error.fault).message));
      }
    }
  }

  /** Turns that are over: told once, whoever sees it first. */
  async function settleEnded(name: string): Promise<void> {
    for (const firing of schedules.get(name)?.open ?? []) {
      const over = await overOf(journal, firing);
      if (over === null) {
        const summary = await journal.session(firing.session);
        if (summary?.state === "running" && !ports.isHeld(firing.session)) ports.wake(firing.session);
        continue;
      }
      opened.delete(firing.session);
      await schedules.change(name, (s) => {
        if (s === null || !s.open.some((one) => one.dueAt === firing.dueAt && one.attempt === firing.attempt)) return null;
        return { events: stopping(s, [endedEvent(s, firing, over.ending, now())]) };
      });
    }
  }

  function arm(): void {
    stopTimer?.();
    stopTimer = null;
    if (stopped) return;
    const first = heap.first();
    if (first === null) return;
    stopTimer = ports.timer(Math.max(0, Math.min(LONGEST_MS, first - now())), () => {
      stopTimer = null;
      tick();
    });
  }

  function tick(): void {
    for (const name of heap.due(now(), AT_ONCE - working.size)) void tend(name);
    if (working.size === 0) arm(); // else whoever is done first does
  }

  function look(stream: string | null): void {
    if (stopped) return;
    const own = stream === null ? undefined : opened.get(stream as SessionId);
    if (own !== undefined) void tend(own);
    else if (stream?.startsWith(SCHEDULES) === true) changed(stream.slice(SCHEDULES.length));
    else if (stream === null && looking === null)
      looking = ports.timer(LOOK_MS, () => {
        looking = null;
        void refresh().catch((error: unknown) => ports.failed(null, error));
      });
  }

  /** Whoever changes a schedule in this process: a person through the API, or what is at work here itself. */
  function changed(name: string): void {
    if (working.has(name)) again.add(name);
    else
      void schedules.refresh(name).then(
        () => tend(name),
        (error: unknown) => ports.failed(name, error),
      );
  }

  async function refresh(): Promise<void> {
    const names = new Set([...(await schedules.refresh()), ...opened.values()]);
    await inTurn([...names]);
  }
  async function inTurn(names: readonly string[]): Promise<void> {
    for (let i = 0; i < names.length; i += AT_ONCE) await Promise.all(names.slice(i, i + AT_ONCE).map(tend));
  }

  return {
    async start() {
      stopped = false;
      stopWatching = journal.watch(look);
      await schedules.refresh();
      await inTurn([...schedules.all().keys()]);
      arm();
    },
    stop() {
      stopped = true;
      stopWatching();
      stopTimer?.();
      looking?.();
      [stopTimer, looking] = [null, null];
    },
    async settle() {
      await refresh();
      for (let due = heap.due(now(), Number.POSITIVE_INFINITY); due.length > 0; due = heap.due(now(), Number.POSITIVE_INFINITY))
        await inTurn(due);
      while (working.size > 0) await Promise.all(working.values());
    },
    timers: () => (stopTimer === null ? 0 : 1),
  };
}

type Fire = Pick<Extract<Step, { kind: "fire" }>, "dueAt" | "attempt" | "why">;
type FiringPorts = Pick<SchedulerPorts, "findSessionStart" | "mayNotRun" | "newSession" | "now" | "sign">;

/** What tells a session that all share that its schedule has fired. */
export const toFiringId = (schedule: string, which: string): IntentId => intentId(`${firingPrefix(schedule)}${which}`);

/** All that fires it, in one append; or why it is skipped. `by` is who asked for it, the schedule itself unless a person did. `which`: by due time and attempt unless said. */
export function planFiring(
  ports: FiringPorts,
  s: StandingSchedule,
  { dueAt, attempt, why }: Fire,
  by: Principal = { kind: "user", id: s.spec.owner },
  which = `${dueAt}-${attempt}`,
): Readonly<{ session: SessionId; plan: SchedulePlan }> | Extract<SystemEvent, { kind: "schedule.skipped" }> {
  const { schedule, spec } = s;
  const reason = ports.mayNotRun(spec.owner, spec.agent);
  if (reason !== null) return skipEvent(schedule, dueAt, "not-permitted", reason);
  const found = ports.findSessionStart(spec.agent);
  if (found === null) return skipEvent(schedule, dueAt, "agent-missing", `there is no agent \`${spec.agent}\` that can be run`);
  const unlessHalted = ["all", `agent:${spec.agent}`];
  const fired = (session: SessionId, intent: IntentId | null): SystemEvent => ({
    kind: "schedule.fired",
    schedule,
    dueAt,
    attempt,
    session,
    intent,
    why,
    by,
  });
  const at = ports.now();
  if (spec.session === "shared" && s.shared !== null) {
    const intent = ports.sign({
      id: toFiringId(schedule, which),
      session: s.shared,
      at,
      wish: { kind: "follow-up", text: spec.input },
    });
    return { session: s.shared, plan: { events: [fired(s.shared, intent.id)], tells: [intent], unlessHalted } };
  }
  const session = ports.newSession();
  const begin: SessionStart = { session, events: openingOf(spec, found, { schedule, dueAt, attempt }).map((event) => ({ at, event })) };
  return { session, plan: { events: [fired(session, null)], opens: [begin], unlessHalted } };
}

function openingOf(
  spec: ScheduleSpec,
  { facts, limits, output }: NonNullable<ReturnType<FindSessionStart>>,
  from: Readonly<{ schedule: string; dueAt: Millis; attempt: number }>,
): readonly JournalEvent[] {
  const owner: Principal = { kind: "user", id: spec.owner };
  const opened = openedEvent({ agent: facts, principal: owner, surface: "schedule", origin: { kind: "schedule", ...from } });
  return [opened, ...firstTurnEvents({ input: spec.input, by: owner, limits, output })];
}

const stepEvent = (schedule: string, step: Extract<Step, { kind: "queue" | "skip" }>): SystemEvent => {
  if (step.kind === "queue") return { kind: "schedule.queued", schedule, dueAt: step.dueAt };
  const { first, last, count, why, detail } = step;
  return { kind: "schedule.skipped", schedule, first, last, count, why, detail };
};
const skipEvent = (schedule: string, dueAt: Millis, why: "not-permitted" | "halted" | "agent-missing" | "missed", detail: string) =>
  ({ kind: "schedule.skipped", schedule, first: dueAt, last: dueAt, count: 1, why, detail: detail.slice(0, 500) }) as const;

/** Endings that another try may change. What a policy, a person or a provider refused is refused again. */
const PASSING: ReadonlySet<Ending> = new Set(["failed", "timed-out", "out-of-iterations", "out-of-tokens", "out-of-money", "out-of-calls"]);

function endedEvent(s: StandingSchedule, { dueAt, attempt, session, intent }: Firing, ending: Ending | null, now: Millis): SystemEvent {
  const isGood = ending === "completed" || ending === "cancelled";
  const isLost = ending === null && intent !== null; // the session that all share was closed: the next one opens another
  const mayRetry = !isGood && (isLost || (ending !== null && PASSING.has(ending))) && attempt <= s.spec.retries;
  const result = isGood ? "done" : mayRetry && (s.state === "active" || s.state === "done") ? "retry" : "set-aside";
  const retryAt = result === "retry" ? millis(isLost ? now : now + retryAfter(attempt)) : null;
  return { kind: "schedule.ended", schedule: s.schedule, dueAt, attempt, session, ending, result, retryAt };
}

/** Z-6 with the failure that is one too many, in the same commit. */
function stopping(s: StandingSchedule, events: readonly SystemEvent[]): readonly SystemEvent[] {
  const fails = events.some(
    (e) =>
      (e.kind === "schedule.ended" && e.result === "set-aside") ||
      (e.kind === "schedule.skipped" && (e.why === "not-permitted" || e.why === "agent-missing")),
  );
  const failures = s.failures + 1;
  if (!fails || s.spec.failures === 0 || failures < s.spec.failures || (s.state !== "active" && s.state !== "done")) return events;
  const [first] = events;
  const session = first?.kind === "schedule.ended" ? first.session : null;
  const reason =
    first?.kind === "schedule.ended"
      ? `the last one ended \`${first.ending ?? "lost"}\``
      : first?.kind === "schedule.skipped"
        ? first.detail
        : "";
  return [...events, { kind: "schedule.stopped", schedule: s.schedule, failures, session, reason }];
}

const PAGE = 500;

/** Null while the turn that the firing began goes on, or waits. */
async function overOf(
  journal: Pick<Journal, "session" | "read">,
  { session, intent }: Firing,
): Promise<Readonly<{ ending: Ending | null }> | null> {
  const summary = await journal.session(session);
  if (summary === null) return { ending: null };
  if (intent === null) {
    const isOver = summary.turns > 1 || (summary.turns === 1 && summary.state === "idle") || summary.state === "closed";
    return isOver ? { ending: summary.turns > 1 ? await endingOf(journal, session, 1) : summary.ending } : null;
  }
  if (summary.state === "running" || summary.state === "waiting") return null; // and whoever is before it in the same session
  const found = await turnOf(journal, session, intent, summary.seq);
  return found ?? (summary.state === "closed" ? { ending: null } : null);
}

async function endingOf(journal: Pick<Journal, "read">, session: SessionId, turn: number): Promise<Ending | null> {
  for await (const { event } of eachEntry(journal, session)) if (event.kind === "turn.ended" && event.turn === turn) return event.ending;
  return null;
}

/** Null: its word has not been taken, or waits its turn. Looked for from the end: it is among the last that was said. */
async function turnOf(
  journal: Pick<Journal, "session" | "read">,
  session: SessionId,
  intent: IntentId,
  last: number,
): Promise<Readonly<{ ending: Ending | null }> | null> {
  for (let size = PAGE; ; size *= 4) {
    const start = Math.max(0, last - size);
    let turn: number | null = null;
    let isQueued = false;
    for await (const { event } of eachEntry(journal, session, seq(start))) {
      if (event.kind === "input.queued" && event.intent === intent) isQueued = true;
      if (event.kind === "turn.started" && event.intent === intent) turn = event.turn;
      if (event.kind === "turn.ended" && event.turn === turn) return { ending: event.ending };
      if (event.kind === "turn.cancel-asked" && event.all && isQueued && turn === null) return { ending: "cancelled" }; // before it began
      if (event.kind === "intent.refused" && event.intent === intent) return { ending: null };
    }
    if (start === 0 || turn !== null || isQueued) return null;
  }
}
