/**
 * Questions that wait for a person, of all sessions: one row each, kept by the events in the transaction that writes them, so that a list
 * of what waits reads no session. A cache: the same fold over a session's entries makes its rows again.
 * Q-25 what the list shows is what the sessions wait for: a question is in it from `approval.asked` until it is answered by enough people,
 * has expired, is overtaken, or its turn ends.
 */
import {
  type ActionText,
  type ApprovalId,
  type Ask,
  actionKind,
  type CallSubject,
  type Digest,
  decisionsIn,
  type Entry,
  hasQuorum,
  type Millis,
  principalName,
  type Resource,
  type SessionId,
  toCallSubject,
  type Vote,
} from "../vocab/index.ts";

/** The resource, and who is asked; no argument of the call. */
export type PendingApproval = Readonly<{
  approval: ApprovalId;
  session: SessionId;
  agent: string;
  action: ActionText;
  /** A tool's name; `model` or `respond` for the others. */
  tool: string;
  resource: Resource | null;
  digest: Digest;
  asks: readonly Ask[];
  /** Why an earlier answer does not count. */
  again: string | null;
  askedAt: Millis;
  expiresAt: Millis | null;
  /** Who has said yes, while others still have to. */
  votes: readonly Vote[];
}>;

/** `arrival` is its place in the list: in the order in which they were asked. */
export type ListedApproval = PendingApproval & Readonly<{ arrival: number }>;
export type ApprovalPage = Readonly<{ after: number; most: number }>;
/** `after`: the last of the page before. */
export type ExpiredPage = Readonly<{ by: Millis; after: Pick<ListedApproval, "expiresAt" | "arrival"> | null; most: number }>;

/** Of one session. */
export type PendingApprovals = ReadonlyMap<ApprovalId, PendingApproval>;
export const NO_PENDING_APPROVALS: PendingApprovals = new Map();

/** `agent` as of these entries; they come in one append, so that a call's decision is among them when its question is. */
export function foldPendingApprovals(
  before: PendingApprovals,
  session: SessionId,
  agent: string,
  entries: Iterable<Pick<Entry, "at" | "event">>,
): PendingApprovals {
  const open = new Map(before);
  const touched = new Map<ActionText, Readonly<{ tool: string; resource: Resource }>>();
  const touch = (id: ActionText, doing: CallSubject | null): void => {
    if (doing !== null) touched.set(id, { tool: doing.tool, resource: doing.resource });
  };
  const drop = (isGone: (q: PendingApproval) => boolean): void => {
    for (const [id, q] of open) if (isGone(q)) open.delete(id);
  };
  for (const { at, event: e } of entries) {
    for (const { id, action } of decisionsIn(e)) touch(id, toCallSubject(action));
    switch (e.kind) {
      case "approval.asked": {
        const { approval, action, digest, asks, again, expiresAt } = e;
        const about = touched.get(action) ?? { tool: action.split(":")[0] ?? action, resource: null };
        open.set(approval, { approval, session, agent, action, ...about, digest, asks, again, askedAt: at, expiresAt, votes: [] });
        break;
      }
      case "approval.answered": {
        const q = open.get(e.approval);
        if (q === undefined) break;
        const vote: Vote = { by: principalName(e.by), counts: e.counts, grant: e.answer.kind === "grant" ? e.answer.grant : null };
        const votes = e.digest === q.digest ? [...q.votes, vote] : [vote];
        if (e.answer.kind === "deny" || hasQuorum(q.asks, votes)) open.delete(e.approval);
        else open.set(e.approval, { ...q, resource: e.about ?? q.resource, digest: e.digest, votes });
        break;
      }
      case "approval.expired":
      case "approval.consumed":
        open.delete(e.approval);
        break;
      case "input.steered": // an answer that waits for leave is overtaken
        drop((q) => actionKind(q.action) === "respond");
        break;
      case "model.failed":
      case "model.replied":
        drop((q) => /^(respond|model|summary):/.test(q.action));
        break;
      case "turn.ended":
      case "session.closed":
        open.clear();
        break;
      default: // the others leave every question as it is
    }
  }
  return open;
}

export type ApprovalChanges = Readonly<{ gone: readonly ApprovalId[]; put: readonly PendingApproval[] }>;
export const computeApprovalChanges = (before: PendingApprovals, after: PendingApprovals): ApprovalChanges => ({
  gone: [...before.keys()].filter((id) => !after.has(id)),
  put: [...after.values()].filter((q) => before.get(q.approval) !== q),
});
