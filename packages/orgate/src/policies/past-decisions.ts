/** Decisions as the journal has them, with the facts as they stood then. To explain them, and to make them again. */

import {
  type Entry,
  eventsIn,
  evolve,
  type Facts,
  fold,
  type Journal,
  pastFacts,
  type SessionId,
  type State,
  trackProposals,
} from "@orgate/core";
import { restoreFacts } from "@orgate/core/gate";
import { eachEntry } from "@orgate/core/journal";

type Decided = Extract<Entry["event"], { kind: "gate.decided" }>;
export type PastDecision = Readonly<{ decided: Decided; facts: Facts }>;

/** Of one session, in order. What was counted in other sessions then, and said of its arguments, is what was journalled with the decision. */
export async function* readPastDecisions(journal: Pick<Journal, "read">, session: SessionId): AsyncGenerator<PastDecision> {
  let state: State | null = null;
  const proposals = trackProposals();
  for await (const entry of eachEntry(journal, session)) {
    proposals.hear(entry.event);
    for (const event of eventsIn(entry.event, proposals.argsOf)) {
      if (event.kind === "gate.decided" && state !== null)
        yield { decided: event, facts: { ...pastFacts(state, event), ...restoreFacts(event.read) } };
      state = state === null ? fold([{ ...entry, event }]) : evolve(state, { ...entry, event });
    }
  }
}
