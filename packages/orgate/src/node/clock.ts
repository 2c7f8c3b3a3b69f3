/** Time as Node tells it. */

import { uptime } from "node:os";
import type { Clock } from "@orgate/core/loop";
import { millis, onAbort } from "@orgate/core/vocab";

/** A timer of Node's fires at once when it is set for longer than this (24.8 days). */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Timers keep the process alive: who sleeps is driving a session. */
export const nodeClock: Clock = {
  now: () => millis(Date.now()),
  elapsed: () => performance.now(),
  sleep: (ms, signal) =>
    new Promise((awake) => {
      if (signal.aborted) return awake();
      let left = ms;
      let timer: NodeJS.Timeout | null = null;
      const stop = (): void => {
        if (timer !== null) clearTimeout(timer);
        stopListening();
        awake();
      };
      const wait = (): void => {
        const step = Math.min(left, LONGEST_TIMER_MS);
        left -= step;
        if (step > 0) timer = setTimeout(wait, step);
        else stop();
      };
      const stopListening = onAbort(signal, stop);
      wait();
    }),
};

const UPTIME_EVERY_MS = 1_000;

/**
 * Milliseconds that the machine has been up, its sleep included. Each reading opens a file (5 µs, several times an iteration), so it is read once a
 * second and counted on in between: for a moment after a sleep it is late, and late counts more, never less (G-25).
 */
export function createUptime(read = () => uptime() * 1_000, ticks = () => performance.now()): () => number {
  let at = ticks();
  let up = read();
  return () => {
    const now = ticks();
    if (now - at >= UPTIME_EVERY_MS) [at, up] = [now, read()];
    return up + (now - at);
  };
}
