/**
 * Lists the sub-agents of a turn from its journal: every delegation that was decided, in that order, also one that was refused and never began.
 * S-17 A completed turn says nothing about its sub-agents: each has its own ending.
 */
import { type CallId, type Ending, type Entry, eventsIn, type Journal, type JournalEvent, type SessionId, seq } from "@orgate/core";

export type SubAgentRun = Readonly<{
  agent: string;
  /** Null: it was not begun. */
  session: SessionId | null;
  /** Null: it is at work, or waits for a person. */
  ending: Ending | null;
  output: string | null;
  detail: string | null;
  /** Used, without `lost`. */
  tokens: number;
  /** Tokens that were reserved for model calls which were cut off. */
  lost: number;
  /** In the currency of the prices; null: not known. */
  cost: number | null;
}>;

const PAGE = 500;

/** Those of the turn that the entry `upTo` belongs to; null: of the last turn. Reads no more than that turn. */
export async function listSubAgentRuns(
  journal: Pick<Journal, "read" | "session">,
  session: SessionId,
  upTo: number | null = null,
): Promise<readonly SubAgentRun[]> {
  const events: JournalEvent[] = [];
  for (let last = upTo ?? (await journal.session(session))?.seq ?? 0; last > 0; ) {
    const after = Math.max(0, last - PAGE);
    const page: readonly Entry[] = await journal.read(session, seq(after), last - after);
    const first = page.findLastIndex(({ event }) => event.kind === "turn.started");
    events.unshift(...page.slice(Math.max(0, first)).flatMap(({ event }) => eventsIn(event).filter(isAbout)));
    if (first >= 0) break;
    last = after;
  }
  const members = new Map<CallId, SubAgentRun>();
  for (const event of events) tell(members, event);
  return [...members.values()];
}

const isAbout = ({ kind }: JournalEvent): boolean =>
  kind === "gate.decided" || kind === "child.opened" || kind === "child.ended" || kind === "turn.ended";

function tell(members: Map<CallId, SubAgentRun>, event: JournalEvent): void {
  const set = (call: CallId, more: Partial<SubAgentRun>): void => {
    const member = members.get(call);
    if (member !== undefined) members.set(call, { ...member, ...more });
  };
  if (event.kind === "gate.decided" && event.action.kind === "delegate") {
    const { call, to: agent } = event.action;
    if (!members.has(call))
      members.set(call, { agent, session: null, ending: null, output: null, detail: null, tokens: 0, lost: 0, cost: null });
    if (event.verdict.kind === "deny") set(call, { ending: "denied", detail: event.verdict.reason });
  }
  if (event.kind === "child.opened") set(event.call, { session: event.child, ending: null, detail: null });
  if (event.kind === "child.ended") {
    const { ending, output, detail, used, lost } = event;
    set(event.call, {
      ending,
      output,
      detail,
      tokens: used.tokens - lost,
      lost,
      cost: used.micros === null ? null : used.micros / 1_000_000,
    });
  }
  // what has not begun when all is over was called off: another was first, or the turn was ended
  if (event.kind === "turn.ended")
    for (const [call, { session, ending }] of members) if (session === null && ending === null) set(call, { ending: "cancelled" });
}
