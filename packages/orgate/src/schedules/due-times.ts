/**
 * The next due times of a schedule, as people see them.
 * Z-7 the command line, the API and the coordinator report the same times: future ones, jitter included, without those that were missed.
 */
import { type Millis, millis } from "@orgate/core";
import type { StandingSchedule } from "@orgate/core/journal";
import { sha256 } from "../node/crypto.ts";
import type { Calendar } from "./calendar.ts";
import { computeJitter } from "./planning.ts";

type Timed = Pick<StandingSchedule, "schedule" | "spec" | "state" | "through">;

/** Due times within the jitter that are checked one by one; beyond that, only future ones are. */
const MOST_LOOKED = 1_000;

export function dueTimes({ schedule, spec, state, through }: Timed, calendar: Calendar, most: number, now: Millis): readonly Millis[] {
  const out: Millis[] = [];
  if (state !== "active" || !spec.enabled) return out;
  const { when, jitterMs } = spec;
  let looked = 0;
  for (let at = calendar.next(when, millis(Math.max(through, now - jitterMs - 1, 0))); at !== null && out.length < most; ) {
    const firesAt = millis(at + computeJitter(schedule, at, jitterMs, sha256));
    if (firesAt >= now) out.push(firesAt);
    if (spec.oneShot && out.length > 0) break;
    looked += 1;
    at = calendar.next(when, looked === MOST_LOOKED ? millis(Math.max(at, now)) : at);
  }
  return out;
}

/** Working one out costs a tenth of a millisecond: they are kept for as long as the schedule stands as it stood and the first has not come. */
export function nextThree(s: StandingSchedule, calendar: Calendar, now: Millis): readonly Millis[] {
  const known = kept.get(s);
  const [first = null] = known?.times ?? [];
  if (known !== undefined && known.asked <= now && (first === null || first > now)) return known.times; // a clock may go back
  const times = dueTimes(s, calendar, 3, now);
  kept.set(s, { times, asked: now });
  return times;
}
const kept = new WeakMap<StandingSchedule, Readonly<{ times: readonly Millis[]; asked: Millis }>>();
