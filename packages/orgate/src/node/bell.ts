import { onAbort } from "@orgate/core/vocab";

/** Wakes a loop that looks again whenever something may have changed. Rings between two looks count as one; none is lost. */
export type Bell = Readonly<{
  ring(): void;
  /** Before a look: rings from here on are new ones. A bell whose signal has aborted keeps ringing. */
  still(): void;
  rung(): Promise<void>;
  remove(): void;
}>;

/** `keepAlive`: waiting for the bell keeps the process alive. */
export function openBell(signal: AbortSignal, { keepAlive = false } = {}): Bell {
  let isRinging = false;
  let wake = (): void => {};
  const ring = (): void => {
    isRinging = true;
    wake();
  };
  return {
    ring,
    still: () => {
      isRinging = signal.aborted;
    },
    async rung() {
      if (isRinging) return;
      const alive = keepAlive ? setInterval(() => {}, 2 ** 30) : undefined;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
      clearInterval(alive);
      wake = () => {};
    },
    remove: onAbort(signal, ring),
  };
}
