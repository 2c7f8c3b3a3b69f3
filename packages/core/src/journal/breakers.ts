/** Breakers as the journal has them: what keeps failing, and is left alone for a while. A fold of one system stream for each. */
import { type Entry, type Hash, type Millis, type Principal, type StreamId, streamId } from "../vocab/index.ts";

export type BreakerState = "closed" | "open" | "half-open";

/** As it was last changed; one that never was is closed. */
export type StandingBreaker = Readonly<{
  breaker: string;
  state: BreakerState;
  /** In a row, when it opened. */
  failures: number;
  /** When an open one lets the first call try again; null: not before a person says so. */
  until: Millis | null;
  by: Principal;
  reason: string;
  at: Millis;
}>;

/** `tool:NAME`, `model:PROVIDER/NAME` or `mcp:SERVER`; a model's with `#SETTING` is of one address and key only. */
export const BREAKER = /^(tool:[A-Za-z0-9_-]{1,64}|mcp:[A-Za-z0-9_-]{1,64}|model:[\x21-\x7e]{1,160})$/;

export const BREAKERS = "breaker:";
/** `breaker:tool.NAME`; what a stream's name cannot hold is written as a dot and its code, and what is too long as its hash. */
export function breakerStream(breaker: string, hash: Hash): StreamId {
  const [kind = "", rest = ""] = [breaker.slice(0, breaker.indexOf(":")), breaker.slice(breaker.indexOf(":") + 1)];
  const plain = rest.replace(/[^A-Za-z0-9_-]/g, (c) => `.${c.charCodeAt(0).toString(16).padStart(2, "0")}`);
  const name = `${kind}.${plain}`;
  return streamId(`${BREAKERS}${name.length <= 100 ? name : `${kind}.${hash(breaker)}`}`);
}

export function foldBreaker(before: StandingBreaker | null, entries: readonly Entry[]): StandingBreaker | null {
  const last = entries.findLast(({ event }) => event.kind === "breaker.changed");
  if (last?.event.kind !== "breaker.changed") return before;
  const { breaker, to: state, failures, until, by, reason } = last.event;
  return { breaker, state, failures, until, by, reason, at: last.at };
}
