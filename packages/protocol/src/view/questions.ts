/** Approval requests where they were made, and their results. */
import {
  type ActionText,
  type Answer,
  type ApprovalId,
  escapeHidden,
  hasQuorum,
  isRefusal,
  type JournalEvent,
  principalName,
  type Vote,
} from "@orgate/core/vocab";
import { askView, findQuorum, type QuestionState } from "./items.ts";
import { resourceText } from "./lines/line.ts";
import { callItem, closeCall, push, questionItem, replace, setCall, toPlacement, type ViewBuilder, withOne, without } from "./shared.ts";

type Of<K extends JournalEvent["kind"]> = Extract<JournalEvent, { kind: K }>;
export type QuestionEvent = Of<"approval.asked" | "approval.answered" | "approval.expired" | "approval.consumed">;

export function foldQuestion(ground: ViewBuilder, e: QuestionEvent): void {
  switch (e.kind) {
    case "approval.asked":
      asked(ground, e);
      return;
    case "approval.answered":
      answered(ground, e);
      return;
    case "approval.expired":
      refuse(ground, e.approval, "nobody answered in time");
      settle(ground, e.approval, "expired");
      return;
    case "approval.consumed":
      gone(ground, e.approval);
      return;
  }
}

function asked(ground: ViewBuilder, e: Of<"approval.asked">): void {
  const { view } = ground;
  const call = callItem(ground, e.action);
  const resource = ground.touched.get(e.action);
  ground.asked.set(e.approval, { asks: e.asks, digest: e.digest, votes: [] });
  push(ground, {
    kind: "question",
    ...toPlacement(ground, `question:${e.approval}`),
    turn: view.turn,
    approval: e.approval,
    action: e.action,
    call: call?.call ?? null,
    tool: call?.tool ?? toolOf(e.action),
    summary: call?.summary ?? "",
    resource: resource === undefined ? null : resourceText(resource),
    subject: e.subject == null ? null : escapeHidden(e.subject),
    digest: e.digest,
    asks: e.asks.map(askView),
    quorum: findQuorum(e.asks, []),
    again: e.again === null ? null : escapeHidden(e.again),
    expiresAt: e.expiresAt,
    state: "open",
    answers: [],
  });
  setCall(ground, e.action, { status: "asking", approval: e.approval });
  view.openQuestions = withOne(view.openQuestions, e.approval);
}

const toolOf = (action: ActionText): string => escapeHidden(action.split(":")[0] ?? action);

const STATES: Readonly<Record<Answer["kind"], QuestionState>> = {
  approve: "approved",
  deny: "denied",
  edit: "edited",
  grant: "granted",
  withdraw: "withdrawn",
};

function answered(ground: ViewBuilder, { approval, by, answer, counts, digest, about }: Of<"approval.answered">): void {
  const item = questionItem(ground, approval);
  const before = ground.asked.get(approval);
  if (item === null || before === undefined) return;
  const vote: Vote = { by: principalName(by), counts, grant: answer.kind === "grant" ? answer.grant : null };
  before.votes = digest === before.digest ? [...before.votes, vote] : [vote];
  before.digest = digest;
  const reason = isRefusal(answer) ? escapeHidden(answer.reason) : null;
  const answers = [...item.answers, { by: escapeHidden(principalName(by)), answer: STATES[answer.kind], reason, at: ground.entry.at }];
  const resource = about === null ? item.resource : resourceText(about);
  const isOver = isRefusal(answer) || hasQuorum(before.asks, before.votes);
  const quorum = findQuorum(before.asks, before.votes);
  replace(ground, { ...item, answers, quorum, digest, resource, state: isOver ? STATES[answer.kind] : "open" });
  if (isRefusal(answer)) refuse(ground, approval, `${principalName(by)}: ${answer.reason}`);
  if (isOver) gone(ground, approval);
}

/** The action is refused: its card gives the reason, and does not say that its turn ended. */
function refuse(ground: ViewBuilder, approval: ApprovalId, why: string): void {
  const item = questionItem(ground, approval);
  if (item !== null && callItem(ground, item.action)?.status === "asking")
    closeCall(ground, item.action, "denied", { result: escapeHidden(why) });
}

function settle(ground: ViewBuilder, approval: ApprovalId, state: QuestionState): void {
  const item = questionItem(ground, approval);
  if (item?.state === "open") replace(ground, { ...item, state });
  gone(ground, approval);
}

function gone(ground: ViewBuilder, approval: ApprovalId): void {
  ground.view.openQuestions = without(ground.view.openQuestions, approval);
}

/** Nobody is to answer them any more. */
export function withdraw(ground: ViewBuilder, which: (action: ActionText) => boolean): void {
  for (const approval of ground.view.openQuestions) {
    const item = questionItem(ground, approval);
    if (item !== null && which(item.action)) settle(ground, approval, "withdrawn");
  }
}
