/**
 * M-10 Nothing hangs: a model that does not begin to answer in time, or falls silent within an answer, is given up, whether or not it listens.
 * While a preview is being taken, the clock stands still: a slow reader is no silent model.
 */
import { onAbort, untilAborted } from "@orgate/core/vocab";
import { WireTrouble } from "./wire-trouble.ts";

export type Patience = Readonly<{
  /** Until the first byte of the answer, connecting included. (Node itself gives up a connection after 10 s.) */
  firstByteMs: number;
  /** Between one piece of the answer and the next. */
  idleMs: number;
}>;

export type Watchdog = Readonly<{
  /** Fires when the caller stops, or patience is at its end. */
  signal: AbortSignal;
  /** Something came. */
  beat(): void;
  /** Waits for somebody else, who is not the model. */
  during(wait: unknown): Promise<void>;
  /** By the caller. */
  stopped(): boolean;
  end(): void;
}>;

export function watchdog({ firstByteMs, idleMs }: Patience, caller: AbortSignal): Watchdog {
  const own = new AbortController();
  let [begun, waiting, over] = [false, false, false];
  let timer: NodeJS.Timeout | null = null;
  const bite = (): void => {
    const detail = begun ? `the answer stalled for ${idleMs} ms` : `no answer within ${firstByteMs} ms`;
    own.abort(new WireTrouble({ detail, transient: true, again: true }));
  };
  const rest = (): void => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
  };
  const wind = (ms: number): void => {
    rest();
    if (!own.signal.aborted && !over) timer = setTimeout(bite, ms);
  };
  const stopListening = onAbort(caller, () => own.abort(caller.reason));
  wind(firstByteMs);
  return {
    signal: own.signal,
    beat() {
      if (waiting || over) return; // bytes also come in while somebody else is waited for
      if (begun && timer !== null)
        timer.refresh(); // far cheaper than another timer for each piece
      else {
        begun = true;
        wind(idleMs);
      }
    },
    async during(wait) {
      if (!(wait instanceof Promise)) return;
      begun = true;
      waiting = true;
      rest();
      try {
        await untilAborted(own.signal, () => wait);
      } finally {
        waiting = false;
        wind(idleMs);
      }
    },
    stopped: () => caller.aborted,
    end() {
      over = true;
      rest();
      stopListening();
    },
  };
}
