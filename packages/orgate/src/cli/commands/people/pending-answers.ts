/** Answers that are signed and in the inbox, and that no process has taken up yet: the request is still open in the journal. */
import { type ApprovalId, type Intent, type IntentId, principalName, type SessionId } from "@orgate/core";
import { visible } from "@orgate/shell/terminal";
import type { ReadOnlyStore } from "../../../store/open-read-only.ts";

type AnswerIntent = Intent & Readonly<{ wish: Extract<Intent["wish"], { kind: "answer" }> }>;
export type PendingAnswer = Readonly<{ approval: ApprovalId; by: string; answer: AnswerIntent["wish"]["answer"]; intent: IntentId }>;
/** `isHeld`: a living process drives the session and will take the answer. */
export type PendingAnswers = Readonly<{ session: SessionId; isHeld: boolean; answers: readonly PendingAnswer[] }>;

const isAnswer = (intent: Intent): intent is AnswerIntent => intent.wish.kind === "answer";

export async function listPendingAnswers({ inbox, holder }: ReadOnlyStore, session: SessionId): Promise<PendingAnswers> {
  const intents = (await inbox.pending(session)).map(({ intent }) => intent).filter(isAnswer);
  const answers = intents.map(({ id, by, wish: { approval, answer } }) => ({ approval, by: principalName(by), answer, intent: id }));
  return { session, isHeld: (await holder(session)) !== null, answers };
}

export function pendingAnswerTexts({ session, isHeld, answers }: PendingAnswers, approval: ApprovalId): readonly string[] {
  const next = isHeld ? "" : `: \`orgate sessions resume ${session}\``;
  return answers
    .filter((one) => one.approval === approval)
    .map(({ by, answer }) => `answered by ${visible(by)} (${answer.kind}), not taken up yet${next}`);
}
