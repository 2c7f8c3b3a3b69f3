/** Where each action stands with the gate and with people: decisions, questions, answers, expiries. Part of the fold. */

import { type ActionText, actionKind } from "../../vocab/index.ts";

import { type Answered, type Call, callsIn, type Gated, type Turn } from "../state.ts";

/** An answer that was given and not yet used is still good; it is checked again when the action is. */
export function reopenDecision(t: Turn, gated: Gated): Gated {
  if (gated.kind === "asked" || gated.kind === "undecided" || gated.kind === "deferred") return gated;
  return { kind: "undecided", answered: findAnswered(t, gated) };
}

/** The answer an action stands on, as long as it is not used up: also while its call waits for a place. */
export function findAnswered(t: Turn, gated: Gated): Answered | null {
  if (gated.kind === "undecided") return gated.answered;
  const approval = gated.kind === "allowed" && gated.decided.verdict.kind === "allow" ? gated.decided.verdict.approval : null;
  return [...t.questions.values()].find((q) => q.approval === approval && q.answer !== null) ?? null;
}

export const findCall = (t: Turn, action: ActionText): Call | null => callsIn(t).find((c) => (c.proposed.id as string) === action) ?? null;

export function findGated(t: Turn, action: ActionText): Gated | null {
  switch (actionKind(action)) {
    case "model":
      return t.model;
    case "respond":
      return t.respond;
    case "summary":
      return t.summary.gated;
    case "recall":
      return t.recall.gated;
    case "remember":
      return t.keep.gated;
    case "call":
      return findCall(t, action)?.gated ?? null;
    case "reconcile":
      return null; // an old unknown has its own place in the state
  }
}
