/** What waits for people, as an inbox shows it. */
import { escapeHidden, type Millis } from "../vocab/index.ts";
import type { WaitingQuestion } from "./questions.ts";
import { type AskView, askView } from "./view-items.ts";
import { resourceText } from "./view-lines.ts";
import { age, count } from "./view-words.ts";

export type ApprovalRow = Readonly<{
  approval: WaitingQuestion["approval"];
  session: WaitingQuestion["session"];
  agent: string;
  tool: string;
  touches: string | null;
  digest: WaitingQuestion["digest"];
  asks: readonly AskView[];
  /** Who may answer, in words. */
  approvers: string;
  /** How many more people have to say yes, to the question that wants the most. */
  missing: number;
  votes: readonly string[];
  again: string | null;
  askedAt: Millis;
  expiresAt: Millis | null;
}>;

export function approvalRow(q: WaitingQuestion): ApprovalRow {
  const asks = q.asks.map(askView);
  const groups = [...new Set(asks.flatMap(({ approvers }) => approvers))];
  const missing = q.asks.map(
    ({ policy, terms }) => terms.quorum - new Set(q.votes.filter((v) => v.counts.includes(policy)).map((v) => v.by)).size,
  );
  return {
    approval: q.approval,
    session: q.session,
    agent: escapeHidden(q.agent),
    tool: escapeHidden(q.tool),
    touches: q.resource === null ? null : resourceText(q.resource),
    digest: q.digest,
    asks,
    approvers: groups.length === 0 ? "anybody whom the policies let approve" : groups.join(" or "),
    missing: Math.max(0, ...missing),
    votes: q.votes.map(({ by }) => escapeHidden(by)),
    again: q.again === null ? null : escapeHidden(q.again),
    askedAt: q.askedAt,
    expiresAt: q.expiresAt,
  };
}

/** What is left of it, in words; null: it does not expire. */
export function timeLeft(expiresAt: Millis | null, now: number): string | null {
  if (expiresAt === null) return null;
  return expiresAt <= now ? "its time is up" : `${age(expiresAt - now)} left`;
}

export const missingText = (missing: number): string => (missing <= 1 ? "one yes" : count(missing, "yes", "yeses"));
