/**
 * Chooses the next step of one schedule: state and time in, one step out. No I/O, so that every case is a line of a table.
 *
 * Z-5 While a firing has not ended, the next is skipped, queued, or runs beside it, up to a limit.
 * Z-5 Missed due times are skipped, made up for once with the latest, or each within a bound. One that is late by less than its grace is not missed.
 * Rule: Z-7.
 */
import { type FiredWhy, type Hash, type Millis, millis, type SkippedWhy } from "@orgate/core";
import type { StandingSchedule } from "@orgate/core/journal";
import type { Calendar } from "./calendar.ts";

export type Step =
  /** Nothing before this time; null: not before something else happens. */
  | Readonly<{ kind: "wait"; until: Millis | null }>
  | Readonly<{ kind: "fire"; dueAt: Millis; attempt: number; why: FiredWhy }>
  | Readonly<{ kind: "queue"; dueAt: Millis }>
  | Readonly<{ kind: "skip"; first: Millis; last: Millis; count: number; why: SkippedWhy; detail: string }>;

export const MOST_QUEUED = 100;
/** Counting stops here: a larger number is not worth the time. */
const MOST_COUNTED = 1_000;
const RETRY_MS = 30_000;
const MOST_RETRY_MS = 3_600_000;

/** Half a minute, then twice as long each time, an hour at the most. */
export const retryAfter = (attempt: number): number => Math.min(MOST_RETRY_MS, RETRY_MS * 2 ** Math.min(20, attempt - 1));

export function computeJitter(schedule: string, dueAt: Millis, most: number, hash: Hash): number {
  return most === 0 ? 0 : Number.parseInt(hash(`orgate-jitter-1\n${schedule}\n${dueAt}`).slice(0, 12), 16) % (most + 1);
}

export function nextStep(s: StandingSchedule, now: Millis, calendar: Calendar, hash: Hash): Step {
  const { spec } = s;
  if (!spec.enabled || (s.state !== "active" && s.state !== "done")) return NEVER;
  const hasRoom = s.open.length < (spec.overlap === "parallel" ? spec.atOnce : 1);
  const [retry] = s.retry.toSorted((a, b) => a.at - b.at);
  if (hasRoom && retry !== undefined && retry.at <= now) return { kind: "fire", dueAt: retry.dueAt, attempt: retry.attempt, why: "retry" };
  const [queued] = s.queue;
  if (hasRoom && queued !== undefined) return { kind: "fire", dueAt: queued, attempt: 1, why: "queued" };
  const retryAt = hasRoom ? (retry?.at ?? null) : null;
  const dueAt = s.state === "done" ? null : calendar.next(spec.when, s.through);
  if (dueAt === null) return { kind: "wait", until: retryAt };
  const firesAt = millis(dueAt + computeJitter(s.schedule, dueAt, spec.jitterMs, hash));
  if (firesAt > now) return { kind: "wait", until: retryAt === null ? firesAt : millis(Math.min(firesAt, retryAt)) };
  // Counted from the end of the jitter: one behind another whose jitter is longer is late, and nobody has missed it.
  if (now - dueAt <= spec.jitterMs + spec.graceMs) return dispatch({ s, hasRoom }, dueAt, "due", () => dueBy(s, now, calendar, hash));
  return makeUp({ s, hasRoom }, dueAt, now, calendar);
}
const NEVER: Step = Object.freeze({ kind: "wait", until: null });

type Due = Readonly<{ last: Millis; count: number }>;
/** `hasRoom`: another firing may begin now. */
type Dispatched = Readonly<{ s: StandingSchedule; hasRoom: boolean }>;

/** `upTo`: all due times until now. Skipped ones are one entry, however many: a night with a long grace is not a night of entries. */
function dispatch({ s, hasRoom }: Dispatched, dueAt: Millis, why: FiredWhy, upTo: () => Due): Step {
  if (hasRoom) return { kind: "fire", dueAt, attempt: 1, why };
  const waits = s.spec.overlap === "queue" || (why === "missed" && s.spec.missed === "all");
  const skip = (because: SkippedWhy, detail: string): Step => ({ kind: "skip", first: dueAt, ...upTo(), why: because, detail });
  if (!waits) return skip("overlap", `${s.open.length === 1 ? "the one before it is" : `${s.open.length} before it are`} not over`);
  return s.queue.length < MOST_QUEUED ? { kind: "queue", dueAt } : skip("queue-full", `${MOST_QUEUED} wait already`);
}

/** Makes up for missed due times; those that are not made up for are skipped in one entry. */
function makeUp(at: Dispatched, first: Millis, now: Millis, calendar: Calendar): Step {
  const { s } = at;
  const { when, missed: policy, graceMs, jitterMs, mostMissed } = s.spec;
  const last = calendar.last(when, s.through, millis(now - graceMs - jitterMs)) ?? first;
  const before = (at: Millis): Millis | null => calendar.last(when, s.through, millis(at - 1));
  const skipTo = (until: Millis): Step => {
    const count = countUntil(s, first, until, calendar);
    return { kind: "skip", first, last: until, count, why: "missed", detail: "nobody served the project then" };
  };
  if (policy === "skip") return skipTo(last);
  if (policy === "once") {
    const isAnotherDue = (calendar.next(when, last) ?? Number.POSITIVE_INFINITY) <= now;
    const dropped = isAnotherDue ? last : before(last); // the one that is due now is the one that makes up for them
    return dropped === null ? dispatch(at, last, "missed", () => ({ last, count: 1 })) : skipTo(dropped);
  }
  let kept: Millis | null = last;
  for (let n = 1; n < mostMissed && kept !== null; n += 1) kept = before(kept);
  const dropped = kept === null ? null : before(kept);
  return dropped === null ? dispatch(at, first, "missed", () => ({ last: first, count: 1 })) : skipTo(dropped);
}

/** Schedules whose time, jitter included, has come. Those within the longest jitter are checked one by one: they may come in another order. */
function dueBy(s: StandingSchedule, now: Millis, calendar: Calendar, hash: Hash): Due {
  const { when, jitterMs } = s.spec;
  const first = calendar.next(when, s.through);
  if (first === null) return { last: s.through, count: 0 }; // whoever asks has found one
  const isDue = (at: Millis): boolean => at + computeJitter(s.schedule, at, jitterMs, hash) <= now;
  let last = calendar.last(when, s.through, millis(now - jitterMs)) ?? first;
  for (let at = calendar.next(when, last); at !== null && isDue(at); at = calendar.next(when, at)) last = at;
  return { last, count: countUntil(s, first, last, calendar) };
}

function countUntil(s: StandingSchedule, first: Millis, until: Millis, calendar: Calendar): number {
  let count = 1;
  for (let at = calendar.next(s.spec.when, first); at !== null && at <= until && count < MOST_COUNTED; at = calendar.next(s.spec.when, at))
    count += 1;
  return count;
}
