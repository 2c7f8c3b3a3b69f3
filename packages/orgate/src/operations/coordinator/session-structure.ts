/**
 * The structure of a session, without its words.
 *
 * W-36 the coordinator gets the structure of a session: which calls were made and what they touch, how they were decided, by which policies and why, how
 *      they ended. No input, no argument, no result, no answer: people read those in the session itself.
 */
import type { Journal, JournalEvent, JsonObject, SessionId } from "@orgate/core";
import { eventsIn, seq } from "@orgate/core/vocab";

const PAGE = 200;
const MOST_ENTRIES = 2_000;

/** The newest `most` of those wanted, in order, read from the end in pages. */
export async function readStructure(
  journal: Pick<Journal, "read" | "session">,
  session: SessionId,
  only: "denied" | "all",
  most: number,
): Promise<readonly JsonObject[]> {
  const found: JsonObject[] = [];
  const last = (await journal.session(session))?.seq ?? 0;
  for (let end: number = last; end > 0 && found.length < most && last - end < MOST_ENTRIES; end -= PAGE) {
    const start = Math.max(0, end - PAGE);
    for (const entry of (await journal.read(session, seq(start), end - start)).toReversed())
      for (const event of eventsIn(entry.event).toReversed()) {
        const one = toStructure(event);
        const isWanted = one !== null && (only === "all" || one["verdict"] === "deny");
        if (isWanted && found.length < most) found.push({ session, seq: entry.seq, at: new Date(entry.at).toISOString(), ...one });
      }
  }
  return found.toReversed();
}

/** W-36. Null for an entry that the structure leaves out. */
function toStructure(e: JournalEvent): JsonObject | null {
  switch (e.kind) {
    case "gate.decided": {
      const { verdict: v, action } = e;
      const tool = action.kind === "call" ? action.tool : action.kind;
      const why =
        v.kind === "deny" ? (v.by === "contract" ? "there is no such tool, or what it was called with does not fit" : v.reason) : "";
      return {
        event: "decided",
        tool,
        verdict: v.kind,
        policies: v.because.join(", "),
        by: v.kind === "deny" ? v.by : "policy",
        reason: why,
      };
    }
    case "turn.started":
      return { event: "turn started", turn: e.turn, by: e.by.id };
    case "turn.ended":
      return { event: "turn ended", turn: e.turn, ending: e.ending, iterations: e.iterations, calls: e.calls };
    case "approval.asked":
      return { event: "asked", approval: e.approval, questions: e.asks.map(({ question }) => question).join(" ") };
    case "approval.answered":
      return { event: "answered", approval: e.approval, by: e.by.id, answer: e.answer.kind };
    case "approval.expired":
      return { event: "question expired", approval: e.approval };
    case "act.started":
      return { event: "started", tool: e.tool, call: e.call };
    case "act.ended":
      return { event: "ended", call: e.call, outcome: e.outcome.kind };
    case "child.opened":
      return { event: "delegated", agent: e.agent, session: e.child };
    case "session.opened":
    case "session.closed":
    case "turn.cancel-asked":
    case "turn.halted":
    case "model.failed":
      return { event: e.kind };
    default:
      return null;
  }
}
