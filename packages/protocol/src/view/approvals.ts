/** Approval requests as an inbox shows them. */

import type { PendingApproval } from "@orgate/core/journal";
import type { StandingHalt } from "@orgate/core/vocab";
import { type ApprovalId, escapeHidden, haltText, liftText, type Millis } from "@orgate/core/vocab";
import {
  type AskView,
  askView,
  type CallItem,
  countMissing,
  findQuorum,
  type QuestionItem,
  type Quorum,
  type SessionView,
} from "./items.ts";
import { resourceText } from "./lines/line.ts";
import { ageText, countNoun } from "./text-width.ts";

export type ApprovalRow = Readonly<{
  approval: PendingApproval["approval"];
  session: PendingApproval["session"];
  agent: string;
  tool: string;
  touches: string | null;
  digest: PendingApproval["digest"];
  asks: readonly AskView[];
  /** Who may answer, in words. */
  approvers: string;
  /** How many more people have to say yes, to the question that wants the most. */
  missing: number;
  quorum: Quorum;
  votes: readonly string[];
  again: string | null;
  askedAt: Millis;
  expiresAt: Millis | null;
}>;

export function toApprovalRow(q: PendingApproval): ApprovalRow {
  const asks = q.asks.map(askView);
  const groups = [...new Set(asks.flatMap(({ approvers }) => approvers))];
  const quorum = findQuorum(q.asks, q.votes);
  return {
    approval: q.approval,
    session: q.session,
    agent: escapeHidden(q.agent),
    tool: escapeHidden(q.tool),
    touches: q.resource === null ? null : resourceText(q.resource),
    digest: q.digest,
    asks,
    approvers: groups.length === 0 ? "anybody whom the policies let approve" : groups.join(" or "),
    quorum,
    missing: countMissing(quorum),
    votes: q.votes.map(({ by }) => escapeHidden(by)),
    again: q.again === null ? null : escapeHidden(q.again),
    askedAt: q.askedAt,
    expiresAt: q.expiresAt,
  };
}

/** Time left, in words; null: it does not expire. */
export function timeLeft(expiresAt: Millis | null, now: number): string | null {
  if (expiresAt === null) return null;
  return expiresAt <= now ? "its time is up" : `${ageText(expiresAt - now)} left`;
}

export const missingText = (missing: number): string => (missing <= 1 ? "one yes" : countNoun(missing, "yes", "yeses"));

/** Result of a closed approval request: who answered it and how, and the call's outcome. */
export type SettledApproval = Readonly<{ says: string; at: Millis | null }>;

/** Q-23 Q-17 `halt`: the one that its session waits with. `me`: the viewer, as principals are written; null where that is not known. Null while it is open, or not in this session. */
export function findSettledApproval(
  view: Pick<SessionView, "items">,
  approval: ApprovalId,
  me: string | null,
  halt: StandingHalt | null,
): SettledApproval | null {
  const item = view.items.find((one): one is QuestionItem => one.kind === "question" && one.approval === approval);
  if (item === undefined || item.state === "open") return null;
  const call = view.items.find((one): one is CallItem => one.kind === "call" && one.call === item.call);
  const outcome = call === undefined ? null : OUTCOME[call.status];
  const held = outcome === NOT_YET && halt !== null ? ` It waits: ${escapeHidden(haltText(halt))}. ${liftText(halt)} lets it run.` : "";
  const became = outcome === null ? "" : ` ${outcome}${held}`;
  return { says: `${answeredText(item, me)}${became}`, at: item.answers.at(-1)?.at ?? null };
}

/** `You approved it.`, `ana and bo approved it.`, `ana denied it: not today.` */
export function answeredText({ state, answers }: Pick<QuestionItem, "state" | "answers">, me: string | null): string {
  const last = answers.at(-1);
  if (last === undefined) return state === "expired" ? "Nobody answered it in time." : "Its turn ended before anybody answered.";
  if (state === "expired") return "Not enough people answered it in time.";
  const agreeing = answers.filter(({ answer }) => answer !== "denied" && answer !== "withdrawn");
  const isRefused = last.answer === "denied" || last.answer === "withdrawn";
  const names = [...new Set((isRefused ? [last] : agreeing).map(({ by }) => (by === me ? "you" : by.replace(/^user:/, ""))))];
  const who = names.join(" and ");
  return `${who.charAt(0).toUpperCase()}${who.slice(1)} ${DID[last.answer] ?? last.answer}${last.reason === null ? "" : `: ${last.reason}`}.`;
}
const DID: Readonly<Record<string, string>> = {
  approved: "approved it",
  edited: "approved it with other arguments",
  granted: "approved it, and it is remembered",
  denied: "denied it",
  withdrawn: "withdrew it",
};
const NOT_YET = "The call has not run yet.";
const OUTCOME: Readonly<Record<CallItem["status"], string>> = {
  proposed: NOT_YET,
  allowed: NOT_YET,
  asking: NOT_YET,
  deferred: NOT_YET,
  running: "The call is running.",
  recovering: "The call failed, and is being recovered.",
  done: "The call ran.",
  failed: "The call ran and failed.",
  unknown: "Nobody can tell whether the call took effect.",
  denied: "The call did not run.",
  dropped: "The turn ended before the call ran.",
};
