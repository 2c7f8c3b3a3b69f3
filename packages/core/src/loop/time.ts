/** A driver's time. A clock may jump; what is measured and what is written down must not. */
import { type Millis, millis } from "../vocab/index.ts";
import type { Clock } from "./ports.ts";
import type { State } from "./state.ts";

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

/** Rings once. One for as long as the turn is driven: all of its time counts, so the hour does not move. */
export function alarmOf(clock: Clock, ring: () => void): Alarm {
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
