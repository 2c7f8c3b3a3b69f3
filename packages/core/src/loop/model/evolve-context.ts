import { summaryText } from "../../reason/summary.ts";
import { PER_MESSAGE } from "../../reason/tokens.ts";
import { drop, mask, newWindow, sumUp } from "../../reason/window.ts";
import type { EventOf } from "../fold-parts.ts";
import type { State, Turn } from "../state.ts";
import { tokenCounter } from "./conversation.ts";
/** The fold of what the model is shown of the conversation: compaction, clearing, another model. */
export function foldCompacted(s: State, e: EventOf<"context.compacted">): State {
  const { messages, window: w } = s;
  if (e.how !== "mask") s.compactTo = null; // what was wanted has been done, as far as it goes
  switch (e.how) {
    case "window":
      drop(messages, w, e.upTo);
      return s;
    case "mask":
      mask(messages, w, e.upTo, tokenCounter(s));
      return s;
    case "summarise": {
      const text = summaryText(e.summary ?? "", e.first, e.last, e.model ?? "a model");
      const message = { role: "note", text, tokens: tokenCounter(s)(text) + PER_MESSAGE, entry: s.seq } as const;
      sumUp(messages, w, e.upTo, { message, first: e.first, last: e.last });
      return s;
    }
  }
}

/** The journal's entry for a requested summary: whatever its result, there is no other before the next reply. */
export function foldSummaryOver(t: Turn): void {
  t.summary = { ...t.summary, over: true };
}

export function foldCleared(s: State): State {
  const end = s.messages.length;
  s.cleared = end;
  s.compactTo = null;
  Object.assign(s.window, { ...newWindow(), from: end, newest: end, masked: end, summed: end, lines: s.window.lines });
  s.window.lines.clear();
  return s;
}

export function foldCompactAsked(s: State, { tokens }: EventOf<"context.compact-asked">): State {
  const { kind } = s.agent.context;
  s.compactTo = (kind === "summarise" || kind === "own") && s.window.tokens > tokens ? tokens : null;
  return s;
}

export function foldModelChosen(s: State, { model }: EventOf<"model.chosen">): State {
  s.chosen = model;
  return s;
}
