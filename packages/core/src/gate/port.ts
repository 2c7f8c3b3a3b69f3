/**
 * 2. The gate: one action and the facts in, one decision out. A pure function of the loaded policies.
 * G-1 deny is the default. G-2 it reads structure, never prose. G-3 any error denies.
 */
import type { Action, Decision, Digest, Facts, UserAct } from "../vocab/index.ts";

export type Gate = Readonly<{
  /** Of everything that could decide anything: a session records it, a queued call is gated again when it changes. */
  digest: Digest;
  /** Counters that a policy can read over hours and days: the driver makes sure that they are kept. */
  lately: readonly string[];
  /** At once; throws `AwaitsGate` when it has to ask elsewhere first. */
  decide(action: Action, facts: Facts): Decision;
  /** May this person do this? A verdict like any other: an error, or no permit, denies. */
  decideFor(user: string, act: UserAct): Decision;
  groupsOf(user: string): readonly string[];
}>;
