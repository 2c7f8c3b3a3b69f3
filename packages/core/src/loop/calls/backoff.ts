import type { Hash, Recovery } from "../../vocab/index.ts";

/** Doubles with each try, and is spread over the upper half, so that sessions that failed together do not come back together. */
export function backoff({ backoffMs, maxBackoffMs }: Extract<Recovery, { kind: "retry" }>, tries: number, hash: Hash, key: string): number {
  const full = Math.min(maxBackoffMs, backoffMs * 2 ** Math.min(tries - 1, 30));
  const spread = Number.parseInt(hash(`orgate-jitter-1\n${key}\n${tries}`).slice(0, 8), 16) / 0xffffffff;
  return Math.round(full / 2 + (full / 2) * spread);
}
