/** Decisions as the journal has them, with the facts as they stood then. To explain them, and to make them again. */

import { type Entry, evolve, type Facts, fold, type Journal, pastFacts, type SessionId, type State } from "@orgate/core";
import { restoreFacts } from "@orgate/core/gate";
import { eachEntry } from "@orgate/core/journal";

type Decided = Extract<Entry["event"], { kind: "gate.decided" }>;
export type PastDecision = Readonly<{ decided: Decided; facts: Facts }>;

/** Of one session, in order. What was counted in other sessions then, and said of its arguments, is what was journalled with the decision. */
export async function* readPastDecisions(journal: Pick<Journal, "read">, session: SessionId): AsyncGenerator<PastDecision> {
  let state: State | null = null;
  for await (const entry of eachEntry(journal, session)) {
    const { event: e } = entry;
    if (e.kind === "gate.decided" && state !== null) yield { decided: e, facts: { ...pastFacts(state, e), ...restoreFacts(e.read) } };
    state = state === null ? fold([entry]) : evolve(state, entry);
  }
}
