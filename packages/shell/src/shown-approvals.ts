/** Collects the open approval requests that the panel can show. */
import { type QuestionItem, toApprovalRow } from "@orgate/protocol/view";
import type { Conversation, Conversations } from "./conversations.ts";
import type { WaitingApprovals } from "./server-state.ts";
import type { ShownApproval } from "./ui/panel.ts";

/** Requests of followed sessions first, then those of other sessions in `others`. */
export function shownApprovals(conversations: Conversations, others: WaitingApprovals): readonly ShownApproval[] {
  const followed = [...conversations.all(), ...conversations.subAgents()];
  return [
    ...followed.flatMap(approvalsIn),
    ...others.filter((one) => !followed.some(({ session }) => session === one.session)).map(toShownApproval),
  ];
}

function approvalsIn({ session, view }: Conversation): readonly ShownApproval[] {
  if (view.openQuestions.length === 0) return []; // an old session has many items, and most of the time none is open
  return view.items.flatMap((item) =>
    item.kind === "question" && item.state === "open" ? [{ session, agent: view.agent, item, edit: editBehind(view, item) }] : [],
  );
}

/** The change of a file that a request is about. */
function editBehind({ items }: Conversation["view"], { call }: QuestionItem): ShownApproval["edit"] {
  const card = call === null ? undefined : items.findLast((item) => item.kind === "call" && item.call === call);
  return card?.kind === "call" ? card.edit : null;
}

function toShownApproval(request: WaitingApprovals[number]): ShownApproval {
  const { approval, session, agent, tool, touches, digest, asks, quorum } = toApprovalRow(request);
  return { session, agent, item: { approval, digest, tool, summary: touches ?? "", asks, quorum }, edit: null };
}
