/** How much one connection may say. */
import type { Millis } from "@orgate/core";

export type FrameLimits = Readonly<{
  /** Frames at once, and each second after that. */
  burst: number;
  perSecond: number;
  /** Requests that may be under way. */
  asked: number;
  /** Halts that may be under way beside them. */
  halts: number;
  /** Frames that may be on their way beside those of subscriptions. */
  owed: number;
  frameBytes: number;
  /** Of a call whose input carries no files. */
  callBytes: number;
  silenceMs: number;
}>;

/** True while it keeps to its share. */
export function createFrameLimit({ burst, perSecond }: Pick<FrameLimits, "burst" | "perSecond">, now: () => Millis): () => boolean {
  let left = burst;
  let countedAt = now();
  return () => {
    const at = now();
    left = Math.min(burst, left + ((at - countedAt) * perSecond) / 1_000);
    countedAt = at;
    left -= 1;
    return left >= 0;
  };
}
