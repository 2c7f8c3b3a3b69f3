/** Schedules as the journal has them: a fold of one system stream for each. Its last declaration carries how it stood, so that no fold is long. */
import {
  type Entry,
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

/** Z2 the fold of a schedule's stream, from its beginning or from any declaration that carries; null before the first. */
export function foldSchedule(before: StandingSchedule | null, entries: Iterable<Entry>): StandingSchedule | null {
  let s = before;
  for (const entry of entries) s = folded(s, entry);
  return s;
}

function folded(s: StandingSchedule | null, { seq, at, event: e }: Entry): StandingSchedule | null {
  if (e.kind === "schedule.declared") {
    const { schedule, spec, from, by, carried } = e;
    const standing = carried ?? begun(s, spec, at);
    return { ...standing, schedule, spec, from, by, seq, since: carried === null ? (s?.since ?? 0) + 1 : 0 };
  }
  if (s === null) return null;
  const n = { ...s, seq, since: s.since + 1 };
  switch (e.kind) {
    case "schedule.removed":
      return { ...n, state: "removed", queue: [] };
    case "schedule.paused":
      return { ...n, state: "paused", queue: [] };
    case "schedule.resumed":
      return { ...n, state: "active", failures: 0, through: at };
    case "schedule.fired":
      return {
        ...n,
        through: e.why === "asked" ? n.through : later(n.through, e.dueAt),
        queue: n.queue.filter((due) => due !== e.dueAt),
        open: [...n.open, { session: e.session, dueAt: e.dueAt }],
        fired: n.fired + 1,
        last: { at, dueAt: e.dueAt, session: e.session, ending: null },
      };
    case "schedule.queued":
      return { ...n, through: later(n.through, e.dueAt), queue: [...n.queue, e.dueAt] };
    case "schedule.skipped":
      return {
        ...n,
        through: later(n.through, e.last),
        queue: n.queue.filter((due) => due < e.first || due > e.last),
        failures: n.failures + (FAILS.has(e.why) ? 1 : 0),
      };
    case "schedule.ended": {
      if (!n.open.some(({ session }) => session === e.session)) return n;
      const isLast = n.last?.session === e.session;
      return {
        ...n,
        open: n.open.filter(({ session }) => session !== e.session),
        failures: e.ending === "completed" ? 0 : e.ending === "cancelled" ? n.failures : n.failures + 1,
        last: isLast && n.last !== null ? { ...n.last, ending: e.ending } : n.last,
      };
    }
    case "schedule.stopped":
      return { ...n, state: "stopped", queue: [] };
    default:
      return n;
  }
}

/** It could not be fired, for a reason that does not pass by itself. */
const FAILS: ReadonlySet<string> = new Set(["not-permitted", "agent-missing"]);
const later = (a: Millis, b: Millis): Millis => millis(Math.max(a, b));

/** Declared anew at other times, it counts from then on; with other words or limits it goes on where it was. */
function begun(s: StandingSchedule | null, spec: ScheduleSpec, at: Millis): ScheduleStanding {
  if (s === null) return { state: "active", through: at, queue: [], open: [], failures: 0, fired: 0, last: null, declaredAt: at };
  const isSameTime = JSON.stringify(s.spec.when) === JSON.stringify(spec.when) && s.state !== "removed";
  return {
    ...standingOf(s),
    state: s.state === "removed" ? "active" : s.state,
    through: isSameTime ? s.through : at,
    queue: isSameTime ? s.queue : [],
    declaredAt: at,
  };
}

export const standingOf = ({ state, through, queue, open, failures, fired, last, declaredAt }: ScheduleStanding): ScheduleStanding => ({
  state,
  through,
  queue,
  open,
  failures,
  fired,
  last,
  declaredAt,
});
