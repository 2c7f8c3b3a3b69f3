/**
 * Notice that something waits for a person: said by the process that recorded the question, once it is durable.
 *
 * Q-26 a notice says what will be touched and by which tool, the names of the arguments and never what they hold: not even a secret that a
 *     policy would have redacted can be in it.
 * Q-26 telling never holds up a run and never fails it.
 */
import {
  decisionsIn,
  type GateDecided,
  isSessionStream,
  type Live,
  type Millis,
  type Parent,
  type Resource,
  type SessionId,
  toCallSubject,
} from "@orgate/core";

export type Notice = Readonly<{
  version: 1;
  kind: "approval.asked";
  project: string | null;
  session: string;
  agent: string;
  /** Of a delegate: the session that it works for, and the agents above it, the first one first. */
  parent: Readonly<{ session: string; lineage: readonly string[] }> | null;
  /** A tool's name; `model` or `respond` for the others. */
  tool: string;
  resource: Resource | null;
  /** Their names. */
  arguments: readonly string[];
  approval: string;
  digest: string;
  questions: readonly Readonly<{ policy: string; question: string; approvers: readonly string[]; quorum: number }>[];
  /** Why an earlier answer does not count. */
  again: string | null;
  askedAt: Millis;
  expiresAt: Millis | null;
}>;

/** For one run: hands on what is asked in it. */
export function createNotifier(
  about: Readonly<{ agent: string; project: string | null; parentOf(session: SessionId): Parent | null }>,
  tell: (notice: Notice) => void,
): (live: Live) => void {
  const decided = new Map<string, GateDecided["action"]>();
  return (live) => {
    if (live.kind !== "entry") return;
    const { stream, at, event: e } = live.entry;
    if (e.kind === "turn.ended" || e.kind === "model.replied") decided.clear(); // what was decided before is asked about no more
    for (const one of decisionsIn(e)) decided.set(one.id, one.action);
    if (e.kind !== "approval.asked") return;
    const action = decided.get(e.action);
    const call = action === undefined ? null : toCallSubject(action);
    const parent = isSessionStream(stream) ? about.parentOf(stream) : null;
    tell({
      version: 1,
      kind: "approval.asked",
      project: about.project,
      session: stream,
      agent: about.agent,
      parent: parent === null ? null : { session: parent.session, lineage: parent.lineage },
      tool: call?.tool ?? e.action.split(":")[0] ?? e.action,
      resource: call?.resource ?? null,
      arguments: Object.keys(call?.args ?? {}),
      approval: e.approval,
      digest: e.digest,
      questions: e.asks.map(({ policy, question, terms }) => ({ policy, question, approvers: terms.approvers, quorum: terms.quorum })),
      again: e.again,
      askedAt: at,
      expiresAt: e.expiresAt,
    });
  };
}
