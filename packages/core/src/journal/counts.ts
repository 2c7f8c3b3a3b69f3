/**
 * Counters over hours and days, over all sessions: rows written in the transaction of the events they count, in buckets of five minutes.
 * A cache: the same fold over the entries of the last day makes them again.
 * G-24 a start is counted once, whatever its outcome; the reservation for a model call counts from the moment it is asked, in that moment's bucket.
 */
import {
  type CallId,
  counterForTotal,
  counterForValue,
  type JournalEvent,
  type Millis,
  NO_RESERVATION,
  type RecentCounts,
  type TimedEvent,
  totalTokens,
  type Usage,
} from "../vocab/index.ts";

/** `by` may be negative: an unused reservation. It then has the time of what it takes back. */
export type Count = Readonly<{ name: string; agent: string; value: string; by: number; at: Millis }>;

/** The first bucket that still counts for an hour, and for a day, as of now; `not` is the asking session, which knows its own counts. */
export type CountQuery = Readonly<{ name: string; agent: string; value: string; hour: number; day: number; not: string }>;
/** Counts of others that were read since a bucket; an append that rests on it is refused when it is not so any more. */
export type CountRead = Omit<CountQuery, "hour"> & Readonly<{ seen: number }>;

export const BUCKET_MS = 300_000;
const HOUR = 12;
const DAY = 288;
export const toBucket = (at: number): number => Math.floor(at / BUCKET_MS);
/** A bucket that has begun before the hour did counts whole: never too little. */
export const toBucketSpan = (now: number): Readonly<{ hour: number; day: number }> => ({
  hour: toBucket(now) - HOUR,
  day: toBucket(now) - DAY,
});

export type Rows = Iterable<Readonly<{ bucket: number; n: number }>>;
export function sumBuckets(rows: Rows, { hour, day }: Readonly<{ hour: number; day: number }>): RecentCounts {
  const sums = { hour: 0, day: 0 };
  for (const { bucket, n } of rows) {
    if (bucket >= day) sums.day += n;
    if (bucket >= hour) sums.hour += n;
  }
  return sums;
}

/** One session's open reservations. Part of its fold. */
export type Tally = {
  asked: Readonly<{ at: Millis; usage: Usage; micros: number | null }> | null;
  readonly charged: Map<CallId, { readonly at: Millis; readonly micros: number }>;
  /** Of the last event. */
  last: readonly Count[];
};
export const newTally = (): Tally => ({ asked: null, charged: new Map(), last: NONE });
const NONE: readonly Count[] = Object.freeze([]);

/** Folds one event, and leaves what it counts in `last`. What delegates use is counted by them. */
export function foldTally(t: Tally, agent: string, at: Millis, e: JournalEvent): void {
  t.last = NONE;
  const count = (name: string, by: number, when: Millis, value = ""): Count => ({ name, agent, value, by, at: when });
  switch (e.kind) {
    case "act.started": {
      if (e.start !== 1) return;
      const values = Object.entries(e.values).flatMap(([arg, all]) =>
        all.map((value) => count(counterForValue(e.tool, arg), 1, at, value)),
      );
      const totals = Object.entries(e.amounts ?? {}).flatMap(([arg, { by, per }]) =>
        ["", ...per].map((value) => count(counterForTotal(e.tool, arg), by, at, value)),
      );
      t.last = [count(`calls:${e.tool}`, 1, at), ...values, ...totals];
      return;
    }
    case "model.asked": {
      t.asked = { at, usage: e.reserved, micros: e.reservedMicros };
      const tokens = count("tokens", totalTokens(e.reserved), at);
      t.last = e.reservedMicros === null ? [tokens] : [tokens, count("micros", e.reservedMicros, at)];
      return;
    }
    case "model.replied":
      t.last = settled(t.asked, e.usage, e.micros, count);
      t.asked = null;
      return;
    case "model.failed":
      if (!e.broke) t.last = settled(t.asked, NOTHING_USED, 0, count); // what may have been used counts as used
      t.asked = null;
      return;
    case "budget.reserved": {
      const micros = e.amount.micros ?? 0;
      if (micros === 0 || e.amount.iterations > 0) return; // a delegate's share is its own to count
      const before = t.charged.get(e.call);
      t.charged.set(e.call, { at: before?.at ?? at, micros: micros + (before?.micros ?? 0) });
      t.last = [count("micros", micros, before?.at ?? at)];
      return;
    }
    case "budget.settled": {
      const held = t.charged.get(e.call);
      t.charged.delete(e.call);
      const saved = held === undefined ? 0 : held.micros - (e.amount.micros ?? NO_RESERVATION.micros ?? 0);
      if (held !== undefined && saved > 0) t.last = [count("micros", -saved, held.at)];
      return;
    }
    default: // the others count nothing
  }
}

const NOTHING_USED: Usage = { input: 0, output: 0, cached: 0, reasoning: 0 };

type Counting = (name: string, by: number, when: Millis) => Count;
function settled(asked: Tally["asked"], used: Usage, micros: number | null, count: Counting): readonly Count[] {
  if (asked === null) return NONE; // older than a day, or of a process that was lost: at what was set aside
  const tokens = count("tokens", totalTokens(used) - totalTokens(asked.usage), asked.at);
  return asked.micros === null || micros === null ? [tokens] : [tokens, count("micros", micros - asked.micros, asked.at)];
}

/** Counts of a session's entries, from a bucket on: the rows made again. The entries themselves name its agent. */
export function listCounts(entries: Iterable<TimedEvent>, from: number): readonly Count[] {
  const tally = newTally();
  const counts: Count[] = [];
  let agent = "";
  for (const { at, event } of entries) {
    if (event.kind === "session.opened" || event.kind === "agent.changed") agent = event.agent.name;
    foldTally(tally, agent, at, event);
    for (const one of tally.last) if (toBucket(one.at) >= from) counts.push(one);
  }
  return counts;
}
