/** Time that passes only when a test says so. */
import type { Clock } from "../loop/ports.ts";
import { type Millis, millis } from "../vocab/index.ts";

export type ManualClock = Clock & Readonly<{ advance(ms: number): void; set(at: number): void; sleepers(): number }>;

export function manualClock(start = 1_800_000_000_000): ManualClock {
  let now = start;
  let ticks = 0;
  const sleeping = new Set<{ readonly due: number; readonly wake: () => void }>();
  const ring = () => {
    for (const sleeper of [...sleeping].sort((a, b) => a.due - b.due)) if (sleeper.due <= ticks) sleeper.wake();
  };
  return {
    now: (): Millis => millis(now),
    elapsed: () => ticks,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        const sleeper = {
          due: ticks + ms,
          wake: () => {
            sleeping.delete(sleeper);
            resolve();
          },
        };
        if (signal.aborted || ms <= 0) return resolve();
        sleeping.add(sleeper);
        signal.addEventListener("abort", sleeper.wake, { once: true });
      }),
    advance(ms) {
      now += ms;
      ticks += ms;
      ring();
    },
    set(at) {
      now = at;
    },
    sleepers: () => sleeping.size,
  };
}
