/** Halts that stand: a fold of the stream that holds them, and their words. Every surface that shows halts uses these. */
import type { Entry } from "../event.ts";
import type { Millis } from "../ids.ts";
import { type Principal, principalName } from "../principal.ts";

export type StandingHalt = Readonly<{ scope: string; by: Principal; reason: string; at: Millis }>;
/** By scope: `all`, `agent:NAME`, `tool:NAME`. */
export type StandingHalts = ReadonlyMap<string, StandingHalt>;
export const HALT_SCOPE = /^(all|agent:[A-Za-z0-9_-]{1,64}|tool:[A-Za-z0-9_-]{1,64})$/;

/** Lifting `all` lifts every halt: work goes on everywhere. */
export function foldHalts(before: StandingHalts, entries: readonly Entry[]): StandingHalts {
  const halts = new Map(before);
  for (const { at, event: e } of entries) {
    if (e.kind === "work.halted") halts.set(e.scope, { scope: e.scope, by: e.by, reason: e.reason, at });
    else if (e.kind === "work.resumed" && e.scope === "all") halts.clear();
    else if (e.kind === "work.resumed") halts.delete(e.scope);
  }
  return halts;
}

/** The halt that stops a session of this agent as a whole; a tool's halt refuses its calls only. */
export const findAgentHalt = ({ halts }: Readonly<{ halts: StandingHalts }>, agent: string): StandingHalt | null =>
  halts.get("all") ?? halts.get(`agent:${agent}`) ?? null;

/** A halt in words: its scope, who ordered it and why. */
export const haltText = ({ scope, by, reason }: Omit<StandingHalt, "at">): string =>
  `${scope === "all" ? "all work" : scope.replace(":", " ")} is halted by ${principalName(by)} (${reason}), and what is approved waits with it`;

/** The command that lifts a halt, in backticks. */
export const liftText = ({ scope }: Pick<StandingHalt, "scope">): string =>
  `\`orgate resume-work ${scope.replace(":", " ")} --reason "…"\``;
