/**
 * M43 Nothing hangs: a model that does not begin to answer in time, or falls silent within an answer, is given up, whether or not it listens.
 * While a preview is being taken, the clock stands still: a slow reader is no silent model.
 */
import { WireTrouble } from "./fault.ts";

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
  /** What the caller said when it stopped us; null while it has not. */
  stopped(): boolean;
  end(): void;
}>;

export function watchdog({ firstByteMs, idleMs }: Patience, caller: AbortSignal): Watchdog {
  const own = new AbortController();
  let begun = false;
  let timer: NodeJS.Timeout | null = null;
  const bite = (): void => {
    const detail = begun ? `the answer stalled for ${idleMs} ms` : `no answer within ${firstByteMs} ms`;
    own.abort(new WireTrouble({ detail, transient: true, again: true }));
  };
  const wind = (ms: number): void => {
    timer = setTimeout(bite, ms);
  };
  const rest = (): void => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
  };
  const onStop = (): void => own.abort(caller.reason);
  caller.addEventListener("abort", onStop, { once: true });
  if (caller.aborted) onStop();
  else wind(firstByteMs);

  function beat(): void {
    begun = true;
    if (own.signal.aborted) return;
    if (timer === null) wind(idleMs);
    else if (isFirst) {
      isFirst = false;
      rest();
      wind(idleMs);
    } else timer.refresh(); // far cheaper than another timer for each piece
  }
  let isFirst = true;
  return {
    signal: own.signal,
    beat,
    async during(wait) {
      if (!(wait instanceof Promise)) return;
      rest();
      try {
        await wait;
      } finally {
        isFirst = false;
        if (!own.signal.aborted) wind(idleMs);
      }
    },
    stopped: () => caller.aborted,
    end() {
      rest();
      caller.removeEventListener("abort", onStop);
    },
  };
}
