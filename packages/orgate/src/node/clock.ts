/** Time as Node tells it. */

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
