/**
 * The gate panel: a question that a person answers with a key. A state, a key and the time in; what is to be done out. Draws nothing, sends nothing.
 *
 * S-4 an answer is bound to the approval and the digest that were shown; a question that has gone takes its keys with it.
 * S-5 a change that is to be saved is shown whole, in pages: no key says yes before its end has been on screen. One whose change is not known here is not
 *     said yes to by a key at all.
 * The key for a grant shows what it would cover, and another key gives it.
 * S-4 while something is written in the line, keys go there; Tab goes to the question.
 */

import type { ApprovalId, Digest, GrantRequest, SessionId } from "@orgate/core/vocab";
import type { EditView, QuestionItem } from "@orgate/protocol/view";
import type { Key } from "./input/keys.ts";

/** `item`: what of a question is shown, and what an answer is bound to. `edit`: what would change in a file, where it says so. */
export type ShownApproval = Readonly<{
  session: SessionId;
  agent: string;
  item: Pick<QuestionItem, "approval" | "digest" | "tool" | "summary" | "asks" | "quorum"> & Partial<Pick<QuestionItem, "subject">>; // lists of requests do not say whom a session serves
  edit: EditView | null;
}>;
export type Panel = Readonly<{
  asked: ShownApproval;
  /** A key that comes sooner is no answer. */
  armedAt: number;
  focus: "panel" | "line";
  /** The kind of text that Enter sends; null: a message. */
  writing: "reason" | "arguments" | null;
  /** Where the page begins that is shown of what would change. */
  from?: number;
  /** As it was drawn last: where the next page begins, null after the last one. Absent until it was drawn. */
  next?: number | null;
  /** All pages have been on screen. */
  isRead?: boolean;
  /** A grant that the next yes gives, and what it would cover. */
  granting?: Readonly<{ grant: GrantRequest; says: string }> | null;
}>;
export type Choice = "approve" | "edit" | "grant" | "give-grant" | "deny" | "why";
const SAVES = "save_artifact";
export type PanelResult =
  /** For the line. */
  | Readonly<{ kind: "passed"; panel: Panel }>
  | Readonly<{ kind: "taken"; panel: Panel }>
  | Readonly<{ kind: "chosen"; panel: Panel; choice: Choice }>;
/** Identifies the exact request that an answer is for. */
export type ApprovalRef = Readonly<{ session: SessionId; approval: ApprovalId; digest: Digest }>;

/** How long keys are ignored after the request appeared, or after the last key. */
export const QUIET_MS = 400;
const CHOICES: Readonly<Record<string, Choice>> = { y: "approve", e: "edit", g: "grant", n: "deny", "?": "why" };

/** `drawnAt`: when it was first on screen. */
const openPanel = (asked: ShownApproval, drawnAt: number, lastKeyAt: number, isLineEmpty: boolean): Panel => ({
  asked,
  armedAt: Math.max(drawnAt, lastKeyAt) + QUIET_MS,
  focus: isLineEmpty ? "panel" : "line",
  writing: null,
});

/** Keys that went elsewhere keep it waiting like those of the line. */
export const rearm = (panel: Panel, now: number): Panel => ({ ...panel, armedAt: Math.max(panel.armedAt, now + QUIET_MS) });

/** The first that is open; null closes. One that was put aside is not shown again unless there is no other. */
export function panelFor(
  current: Panel | null,
  open: readonly ShownApproval[],
  at: Readonly<{ now: number; lastKeyAt: number; isLineEmpty: boolean }>,
): Panel | null {
  const shown = current?.asked.item;
  const still = open.find(({ item }) => item.approval === shown?.approval && item.digest === shown.digest);
  if (current !== null && still !== undefined)
    return still.item.quorum.given.length === current.asked.item.quorum.given.length ? current : { ...current, asked: still };
  const [next] = open;
  return next === undefined ? null : openPanel(next, at.now, at.lastKeyAt, at.isLineEmpty);
}

/** All pages of the change have been on screen. */
export const isRead = ({ asked: { edit, item }, isRead: read = false }: Panel): boolean => (edit === null ? item.tool !== SAVES : read);

/** Notes which page was drawn. After a resize reading starts over. */
export const markDrawn = (panel: Panel, next: number | null): Panel => ({ ...panel, next, isRead: panel.isRead === true || next === null });
export const resetPages = (panel: Panel): Panel => ({ ...panel, from: 0, isRead: false });

export const approvalRef = ({ asked: { session, item } }: Panel): ApprovalRef => ({
  session,
  approval: item.approval,
  digest: item.digest,
});

export function press(panel: Panel, key: Key, now: number, isLineEmpty: boolean): PanelResult {
  if (panel.writing !== null) {
    const isGivenUp = key.kind === "named" && key.name === "escape";
    return isGivenUp
      ? { kind: "taken", panel: { ...panel, writing: null, focus: "panel", armedAt: now + QUIET_MS } }
      : { kind: "passed", panel };
  }
  if (key.kind === "named" && key.name === "tab" && panel.focus === "line")
    return { kind: "taken", panel: { ...panel, focus: "panel", armedAt: now + QUIET_MS } };
  if (panel.focus === "line") return { kind: "passed", panel };
  // what is being typed is a message, and goes on to be one
  if (now < panel.armedAt)
    return { kind: "passed", panel: { ...panel, focus: key.kind === "text" || !isLineEmpty ? "line" : "panel", armedAt: now + QUIET_MS } };
  if (panel.granting != null) return pressGrant(panel, key, now);
  if (key.kind === "named" && key.name === "escape") return { kind: "taken", panel: { ...panel, focus: "line" } };
  if (key.kind !== "text") return { kind: "passed", panel };
  if (key.text === " " && panel.asked.edit !== null) return { kind: "taken", panel: { ...panel, from: panel.next ?? 0 } };
  const choice = CHOICES[key.text.toLowerCase()];
  if (choice !== undefined && choice !== "deny" && choice !== "why" && !isRead(panel)) return { kind: "taken", panel };
  // a word, or a letter that means nothing here, is the beginning of a message
  return choice === undefined ? { kind: "passed", panel: { ...panel, focus: "line" } } : { kind: "chosen", panel, choice };
}

function pressGrant(panel: Panel, key: Key, now: number): PanelResult {
  if (key.kind === "text" && key.text.toLowerCase() === "y") return { kind: "chosen", panel, choice: "give-grant" };
  const isGivenUp = (key.kind === "named" && key.name === "escape") || (key.kind === "text" && key.text.toLowerCase() === "n");
  return { kind: "taken", panel: isGivenUp ? { ...panel, granting: null, armedAt: now + QUIET_MS } : panel };
}
