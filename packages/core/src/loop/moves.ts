/** The moves of a session, and the parts that its phases share to choose them. `next.ts` is where they are chosen. */
import type { ActionId, CompactionKind, Ending, Millis } from "../vocab/index.ts";
import type { HeldBack } from "./people/halts.ts";
import { type Call, callsIn, type FollowUp, type Gated, type Question, type State, type Turn, type Unknown } from "./state.ts";

export type Move =
  | { readonly kind: "gate"; readonly action: ActionId }
  | { readonly kind: "question"; readonly action: ActionId } // asks people for an approval; the session then waits for one of them
  | { readonly kind: "act"; readonly call: Call } // for the first time, or again: after its process was lost, or after a failure
  | { readonly kind: "follow"; readonly call: Call } // a sub-agent is at work: drive it on, or wait for the process that does
  | { readonly kind: "call-off"; readonly call: Call } // a sub-agent that lost a race
  | { readonly kind: "reconcile"; readonly call: Call } // ask the tool whether the call happened
  | { readonly kind: "recover"; readonly call: Call } // it failed: choose a recovery strategy
  | { readonly kind: "give-up"; readonly call: Call; readonly why: GiveUpReason } // its outcome stays `unknown`
  | { readonly kind: "reconcile-unknown"; readonly unknown: Unknown } // a person wants the tool asked about an old unknown outcome
  | { readonly kind: "expire"; readonly question: Question } // by due time, not by when a timer ran
  | { readonly kind: "compact"; readonly how: CompactBy } // make the conversation fit its next request
  | { readonly kind: "summarise" } // the same, by a model call of its own
  | { readonly kind: "check-output" } // check the answer against its schema
  | { readonly kind: "recall" } // search the agent's knowledge for the next request
  | { readonly kind: "ask-model" }
  | { readonly kind: "keep" } // remember the turn before it ends
  | { readonly kind: "stop"; readonly ending: Ending } // abort the effects in flight
  | { readonly kind: "start"; readonly followUp: FollowUp } // the next turn, from a queued message
  | { readonly kind: "wait" } // for a person
  | EndMove;
/** Compactions that need no model call. `own`: by the program's plan. */
export type CompactBy = Exclude<CompactionKind, "summarise"> | "own";
export type EndMove = { readonly kind: "end"; readonly ending: Ending; readonly output: string | null; readonly detail: string | null };

/** Why a call whose process was lost is not run again. */
export type GiveUpReason = "not-repeatable" | "tool-changed" | "too-many-starts" | "denied" | "out-of-money" | "turn-ends";

/** A turn and the moment at which its moves are chosen. */
export type TurnNow = Readonly<{ s: State; t: Turn; now: Millis; heldBack: HeldBack }>;

/** Moves that an action needs before it may go ahead; null when it may, or was denied. Each phase deals with a denial itself. */
export function decideFirst(gated: Gated, action: ActionId, at: Pick<TurnNow, "s" | "now">): readonly Move[] | null {
  switch (gated.kind) {
    case "undecided":
      return [{ kind: "gate", action }];
    case "to-ask":
      return [{ kind: "question", action }];
    case "asked":
      return [{ kind: "wait" }];
    case "deferred":
      return [isDue(gated, at) ? { kind: "gate", action } : { kind: "wait" }];
    case "allowed":
    case "denied":
      return null;
  }
}

/** A deferred decision is made again once something it may read has changed, or its time is up. A second defer at that time denies. */
export const isDue = (gated: Gated, { s, now }: Pick<TurnNow, "s" | "now">): boolean =>
  gated.kind === "deferred" && (now >= gated.due || s.changes + s.counted > gated.seen);

/** Ends the turn with what the model has said so far. */
export const end = (t: Turn, ending: Ending, detail: string | null): EndMove => ({
  kind: "end",
  ending,
  output: t.aside === "" ? null : t.aside,
  detail,
});

export type Stop = Readonly<{ ending: Ending; detail: string | null }>;

/** Ends the turn, after calls whose process was lost have been given up: no call that started ends without an outcome. */
export function endAfterLost(t: Turn, stop: Stop): readonly Move[] {
  const lost = callsIn(t).filter((c) => c.run.kind === "lost");
  return lost.length > 0 ? lost.map((call) => ({ kind: "give-up", call, why: "turn-ends" })) : [end(t, stop.ending, stop.detail)];
}
