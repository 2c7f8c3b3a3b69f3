/**
 * Approval requests that no longer wait: who answered, when, and the outcome of the call.
 * Q-23 it is looked for in the session that is named, else among the newest entries of the journal: a stranger's id costs the same however long it is.
 */
import { type ApprovalId, approvalId, type Entry, FaultError, isFault, type Journal, type SessionId, seq } from "@orgate/core";
import { foldPendingApprovals, NO_PENDING_APPROVALS, type PendingApproval } from "@orgate/core/journal";
import type { SettledApproval } from "@orgate/protocol/view";
import { findNewestEntry } from "../delivery.ts";
import { findSessionHalt, readHalts } from "./halted.ts";

export type SettledRequest = SettledApproval & Pick<PendingApproval, "approval" | "session" | "agent" | "tool">;
type Reads = Pick<Journal, "read" | "session" | "tail" | "position">;

const PAGE = 500;
const MOST_LOOKED = 5_000;
/** A call's decision lies in one append with its question, a little before it. */
const BEFORE = 200;
/** How many entries after the answer are searched for its effect. */
const AFTER = 2_000;

/** Null where none is found, it is still open, or it was erased. `me`: who asks, as principals are written; null where that is not known. */
export async function findSettledRequest(
  journal: Reads,
  id: string,
  { me, session = null }: Readonly<{ me: string | null; session?: SessionId | null }>,
): Promise<SettledRequest | null> {
  const approval = approvalId(id);
  try {
    const asked = session === null ? await askedLately(journal, approval) : await askedIn(journal, session, approval);
    return asked === null ? null : await settledBy(journal, asked, approval, me);
  } catch (error) {
    if (isFault(error, "entry-erased")) return null; // what is left does not tell what became of it
    throw error;
  }
}

const isAsked =
  (approval: ApprovalId) =>
  (event: Entry["event"]): boolean =>
    event.kind === "approval.asked" && event.approval === approval;

const askedIn = (journal: Reads, session: SessionId, approval: ApprovalId): Promise<Entry | null> =>
  findNewestEntry(journal, session, isAsked(approval));

async function askedLately(journal: Reads, approval: ApprovalId): Promise<Entry | null> {
  const end = await journal.position();
  for (let to = end; to > Math.max(0, end - MOST_LOOKED); to -= PAGE) {
    for (let from = Math.max(0, to - PAGE); from < to; ) {
      const page = await journal.tail(from, to - from);
      const found = page.find((written) => written.kind === "entry" && isAsked(approval)(written.entry.event));
      if (found?.kind === "entry") return found.entry;
      const last = page.at(-1);
      if (last === undefined) break;
      from = last.position;
    }
  }
  return null;
}

async function settledBy(journal: Reads, asked: Entry, approval: ApprovalId, me: string | null): Promise<SettledRequest | null> {
  const session = asked.stream as SessionId; // questions are asked in sessions alone
  const summary = await journal.session(session);
  if (summary === null) return null;
  const start = seq(Math.max(0, asked.seq - 1 - BEFORE));
  const entries = await journal.read(session, start, asked.seq - start + AFTER);
  const upTo = entries.filter((entry) => entry.seq <= asked.seq);
  const question = foldPendingApprovals(NO_PENDING_APPROVALS, session, summary.agent, upTo).get(approval);
  if (question === undefined) return null;
  if (question.resource === null && /^\d/.test(question.action)) return null; // its tool is not known: a policy about it must not be passed by
  const halt = await findSessionHalt({ journal, halts: await readHalts(journal), isHeld: false }, summary);
  const { buildSessionView, findSettledApproval } = await import("@orgate/protocol/view"); // 27 files that a run without such a request does not need
  const settled = findSettledApproval(buildSessionView(session, entries), approval, me, halt);
  return settled === null ? null : { ...settled, approval, session, agent: question.agent, tool: question.tool };
}

/** As one line, and what to do next. */
export function settledText({ approval, session, says, at }: SettledRequest): Readonly<{ detail: string; hint: string }> {
  const when = at === null ? "" : ` (${new Date(at).toISOString()})`;
  return {
    detail: `approval request \`${approval}\` is not open any more${when}: ${says}`,
    hint: `session \`${session}\` has all that happened`,
  };
}

export const settledFault = (request: SettledRequest): FaultError => new FaultError({ kind: "usage", ...settledText(request) });
