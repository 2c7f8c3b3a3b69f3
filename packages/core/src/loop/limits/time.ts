/** A driver's time. A clock may jump; what is measured and what is written down must not. */
import { type Millis, millis } from "../../vocab/index.ts";
import type { Clock } from "../ports.ts";
import type { State } from "../state.ts";

/**
 * The wall's time, but never back, and never slower than time really passes: a clock that is set back neither turns the stream's time around
 * nor gives a turn time it does not have.
 */
export function steadyTime(clock: Clock, s: State): () => Millis {
  let [at, ticks] = [Math.max(clock.now(), s.at), clock.elapsed()];
  return () => {
    const now = clock.elapsed();
    at = Math.max(clock.now(), at + (now - ticks), s.at);
    ticks = now;
    return millis(Math.floor(at)); // an entry's time is whole milliseconds
  };
}

export type Alarm = Readonly<{ isSet(): boolean; set(ms: number): void; clear(): void }>;

/** When what runs has to be over. Setting one hands back how to take it away again. */
export type Deadlines = Readonly<{ set(ms: number, ring: () => void): () => void; clear(): void }>;

/**
 * All on one sleep. Nearly every call is over long before it must be, and a timer of its own would be set and cleared for nothing: the sleep that is
 * there goes on, and when it ends it looks who is due and sleeps until the next.
 */
export function createDeadlines(clock: Clock): Deadlines {
  const waiting = new Set<{ readonly due: number; readonly ring: () => void }>();
  let wakes = Number.POSITIVE_INFINITY;
  const alarm = createAlarm(clock, () => {
    const now = Math.max(wakes, clock.elapsed()); // a timer may be a little early: that it rings means that the time has come
    wakes = Number.POSITIVE_INFINITY;
    for (const one of [...waiting].filter(({ due }) => due <= now)) {
      waiting.delete(one);
      one.ring();
    }
    const next = Math.min(...[...waiting].map(({ due }) => due));
    if (next < wakes) sleepUntil(next);
  });
  function sleepUntil(due: number): void {
    alarm.clear();
    wakes = due;
    alarm.set(due - clock.elapsed());
  }
  return {
    set(ms, ring) {
      const one = { due: clock.elapsed() + (Number.isNaN(ms) ? 0 : ms), ring }; // no number is no time: in a minimum it would hide every other deadline
      waiting.add(one);
      if (one.due < wakes) sleepUntil(one.due);
      return () => waiting.delete(one);
    },
    clear: alarm.clear,
  };
}

/** Rings once. One for as long as the turn is driven: all of its time counts, so the hour does not move. */
export function createAlarm(clock: Clock, ring: () => void): Alarm {
  let current: AbortController | null = null;
  return {
    isSet: () => current !== null,
    set(ms) {
      const mine = new AbortController();
      current = mine;
      void clock.sleep(Math.max(0, ms), mine.signal).then(() => {
        if (current !== mine) return;
        current = null; // should there be time left after all, it is set again
        ring();
      });
    },
    clear() {
      current?.abort("over");
      current = null;
    },
  };
}
