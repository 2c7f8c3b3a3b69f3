/** Schedules as the journal has them: a fold of one system stream for each. Its last declaration carries how it stood, so that no fold is long. */
import {
  type Entry,
  isEventKind,
  type JournalEvent,
  type Millis,
  millis,
  type Principal,
  type ScheduleSpec,
  type ScheduleStanding,
  type Seq,
  type StreamId,
  streamId,
} from "../vocab/index.ts";

export const SCHEDULES = "schedule:";
export const scheduleStream = (name: string): StreamId => streamId(`${SCHEDULES}${name}`);

export type StandingSchedule = ScheduleStanding &
  Readonly<{
    schedule: string;
    spec: ScheduleSpec;
    from: string | null;
    by: Principal;
    seq: Seq /** Entries since it last carried how it stood. */;
    since: number;
  }>;

/** Z-2 the fold of a schedule's stream, from its beginning or from any declaration that carries; null before the first. */
export function foldSchedule(before: StandingSchedule | null, entries: Iterable<Entry>): StandingSchedule | null {
  let s = before;
  for (const entry of entries) s = folded(s, entry);
  return s;
}

function folded(s: StandingSchedule | null, { seq, at, event: e }: Entry): StandingSchedule | null {
  if (e.kind === "schedule.declared") {
    const { schedule, spec, from, by, carried } = e;
    const standing = carried ?? begun(s, spec, e.after);
    return { ...standing, schedule, spec, from, by, seq, since: carried === null ? (s?.since ?? 0) + 1 : 0 };
  }
  if (s === null) return null;
  const n = { ...s, seq, since: s.since + 1 };
  if (!isScheduleEvent(e)) return n;
  switch (e.kind) {
    case "schedule.removed":
      return { ...n, state: "removed", queue: [], retry: [] };
    case "schedule.paused":
      return { ...n, state: n.state === "done" ? "done" : "paused", queue: [], retry: [] }; // what has come once is not made to come again
    case "schedule.resumed":
      return { ...n, state: "active", failures: 0, through: e.after };
    case "schedule.fired": {
      const { dueAt, attempt, session, intent, why } = e;
      const isPlanned = why !== "asked" && why !== "retry"; // a retry's due time has counted, or was nobody's: a person had asked
      return {
        ...n,
        state: isPlanned && n.spec.oneShot && n.state === "active" ? "done" : n.state,
        through: isPlanned ? later(n.through, dueAt) : n.through,
        queue: n.queue.filter((due) => due !== dueAt),
        retry: n.retry.filter((one) => one.dueAt !== dueAt),
        open: [...n.open, { dueAt, attempt, session, intent }],
        setAside: n.setAside.filter((one) => one.dueAt !== dueAt),
        fired: n.fired + 1,
        last: { at, dueAt, session, ending: null },
        shared: n.spec.session === "shared" ? session : n.shared,
      };
    }
    case "schedule.queued":
      return { ...n, through: later(n.through, e.dueAt), queue: [...n.queue, e.dueAt] };
    case "schedule.skipped":
      return {
        ...n,
        through: n.retry.some(({ dueAt }) => dueAt === e.last) ? n.through : later(n.through, e.last),
        queue: n.queue.filter((due) => due < e.first || due > e.last),
        retry: n.retry.filter(({ dueAt }) => dueAt < e.first || dueAt > e.last),
        failures: n.failures + (FAILS.has(e.why) ? 1 : 0),
      };
    case "schedule.ended": {
      const { dueAt, attempt, session, ending, result, retryAt } = e;
      const isIt = (one: Readonly<{ dueAt: Millis; attempt: number }>): boolean => one.dueAt === dueAt && one.attempt === attempt;
      if (!n.open.some(isIt)) return n;
      return {
        ...n,
        open: n.open.filter((one) => !isIt(one)),
        retry: result === "retry" && retryAt !== null ? [...n.retry, { dueAt, attempt: attempt + 1, at: retryAt }] : n.retry,
        setAside: result === "set-aside" ? [{ dueAt, session }, ...n.setAside].slice(0, MOST_SHOWN) : n.setAside,
        failures: result === "set-aside" ? n.failures + 1 : ending === "completed" ? 0 : n.failures,
        shared: ending === null && n.shared === session ? null : n.shared, // the next one opens another
        last: n.last?.session === session && n.last.dueAt === dueAt ? { ...n.last, ending } : n.last,
      };
    }
    case "schedule.stopped":
      return { ...n, state: "stopped", queue: [], retry: [] };
  }
}

type ScheduleEvent = Extract<JournalEvent, { kind: `schedule.${string}` }>;
/** False for a kind that only a newer version knows: such an entry changes nothing. */
const isScheduleEvent = (event: JournalEvent): event is ScheduleEvent => isEventKind(event.kind) && event.kind.startsWith("schedule.");

const MOST_SHOWN = 20;
/** It could not be fired, for a reason that does not pass by itself. */
const FAILS: ReadonlySet<string> = new Set(["not-permitted", "agent-missing"]);
const later = (a: Millis, b: Millis): Millis => millis(Math.max(a, b));

/** Declared again with other times, it counts from then on; with other texts or limits it goes on where it was. */
function begun(s: StandingSchedule | null, spec: ScheduleSpec, at: Millis): ScheduleStanding {
  if (s === null) return newScheduleStanding(at);
  const { when, oneShot, enabled } = s.spec;
  const goesOn = s.state !== "removed" && enabled && JSON.stringify([when, oneShot]) === JSON.stringify([spec.when, spec.oneShot]);
  const isTheirs = s.state !== "removed" && s.spec.agent === spec.agent && s.spec.owner === spec.owner && spec.session === "shared";
  return {
    ...toScheduleStanding(s),
    state: goesOn || s.state === "paused" || s.state === "stopped" ? s.state : "active",
    through: goesOn ? s.through : at,
    queue: goesOn ? s.queue : [],
    retry: goesOn ? s.retry : [],
    shared: isTheirs ? s.shared : null, // one agent's session is not another's, nor one person's
    declaredAt: at,
  };
}

/** Nothing has become of it yet. */
export function newScheduleStanding(at: Millis): ScheduleStanding {
  return {
    state: "active",
    through: at,
    declaredAt: at,
    queue: [],
    open: [],
    retry: [],
    setAside: [],
    failures: 0,
    shared: null,
    fired: 0,
    last: null,
  };
}

/** Without what is not carried. */
export function toScheduleStanding(s: ScheduleStanding): ScheduleStanding {
  const { state, through, queue, open, retry, setAside, failures, shared, fired, last, declaredAt } = s;
  return { state, through, queue, open, retry, setAside, failures, shared, fired, last, declaredAt };
}
