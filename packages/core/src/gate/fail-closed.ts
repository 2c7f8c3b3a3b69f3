/**
 * A gate's answer is checked before it counts: an error, a promise, or anything that is no decision denies (G-3).
 * A developer's gate may be plain JavaScript, so its type proves nothing.
 */
import { type Decision, type UserAct, type Verdict, ZERO } from "../vocab/index.ts";
import { AwaitsGate } from "./late.ts";
import type { Gate } from "./port.ts";

export function failClosed(decide: () => Decision): Decision {
  try {
    return orAwaited(decide);
  } catch (error) {
    return denyForFault(error instanceof AwaitsGate ? "the gate answers later, and nobody waits here" : String(error));
  }
}

/** Like `failClosed`, but throws `AwaitsGate` when the gate answers later: for the driver, which waits and decides again. */
export function orAwaited(decide: () => Decision): Decision {
  try {
    const answer: unknown = decide();
    return isDecision(answer) ? answer : denyForFault(notDecision(answer));
  } catch (error) {
    if (error instanceof AwaitsGate) throw error;
    return denyForFault(error instanceof Error ? error.message : String(error));
  }
}

/** Null when the policies simply allow this person to do it, otherwise the reason for the refusal. */
export function refusalFor(gate: Pick<Gate, "decideFor">, user: string, act: UserAct): string | null {
  const { verdict } = failClosed(() => gate.decideFor(user, act));
  if (verdict.kind === "allow") return null;
  return verdict.kind === "deny" ? verdict.reason : `the policies answer \`${verdict.kind}\`, which is not allow`;
}

/** Groups decide who may answer; without a list of them this person is in none. */
export function groupsFor(gate: Pick<Gate, "groupsOf">, user: string): readonly string[] {
  try {
    const groups: unknown = gate.groupsOf(user);
    if (isPromise(groups)) ignoreRejection(groups);
    return Array.isArray(groups) ? groups.filter((group) => typeof group === "string") : [];
  } catch {
    return [];
  }
}

export const denyForFault = (message: string): Decision => ({
  verdict: {
    kind: "deny",
    by: "policy",
    because: [],
    faults: [{ policy: null, message }],
    reason: `the policies could not be evaluated: ${message}`,
  },
  slice: ZERO,
  read: {},
  shadow: null,
});

function notDecision(answer: unknown): string {
  if (!isPromise(answer)) return "the gate's answer is not a decision: a gate returns { verdict, slice, read, shadow }";
  ignoreRejection(answer);
  return "the gate answered a promise, and `decide` must answer at once: `lateGate` waits for a gate that answers later";
}

const isPromise = (value: unknown): value is PromiseLike<unknown> => isRecord(value) && typeof value.then === "function";
/** An unhandled rejection would end the process, after the refusal has been given. */
const ignoreRejection = (promise: PromiseLike<unknown>): void => void Promise.resolve(promise).catch(() => {});

function isDecision(answer: unknown): answer is Decision {
  if (!isRecord(answer) || !isRecord(answer.read) || typeof answer.slice !== "string") return false;
  const { shadow } = answer;
  return isVerdict(answer.verdict) && (shadow === null || isVerdict(shadow));
}

function isVerdict(verdict: unknown): verdict is Verdict {
  if (!isRecord(verdict) || !Array.isArray(verdict.because)) return false;
  switch (verdict.kind) {
    case "allow":
      return true;
    case "deny":
      return typeof verdict.reason === "string" && Array.isArray(verdict.faults);
    case "ask":
      return Array.isArray(verdict.asks) && verdict.asks.length > 0 && verdict.asks.every(isAsk);
    case "defer":
      return typeof verdict.ms === "number" && Number.isFinite(verdict.ms);
    case "modify":
      return Array.isArray(verdict.edits);
    default:
      return false;
  }
}

const isAsk = (ask: unknown): boolean =>
  isRecord(ask) && typeof ask.policy === "string" && typeof ask.question === "string" && isRecord(ask.terms);

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === "object" && value !== null;
