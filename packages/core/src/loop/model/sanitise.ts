/**
 * Text that a person would not see in an untrusted result is removed before the model sees it, and that is on record. The journal keeps the outcome whole;
 * the fold cleans what it shows of it once `text.cleaned` says so, so that an older journal reads as it did (G-35).
 */
import { cleanOutcome, cleanText, type Markup } from "../../observe/clean.ts";
import { type CallId, type HistoryMessage, type JournalEvent, type Outcome, type Tool, UNTRUSTED } from "../../vocab/index.ts";
import type { Ports } from "../ports.ts";
import type { State } from "../state.ts";

/** In front of the event that ends it; nothing where there is nothing to take out. */
export function cleanedEvents(call: CallId, outcome: Outcome, markup: Markup): readonly JournalEvent[] {
  const { invisible, hidden } = cleanOutcome(outcome, markup);
  return invisible + hidden === 0 ? [] : [{ kind: "text.cleaned", call, invisible, hidden, markup }];
}

/** Output of a trusted tool is shown as it is. */
export const cleanedEventsFor = (tool: Tool, call: CallId, outcome: Outcome): readonly JournalEvent[] =>
  tool.labels.includes(UNTRUSTED) ? cleanedEvents(call, outcome, tool.markup) : [];

/** Outcomes that come by the inbox are sanitised too: late outcomes, and the output of sub-agents. */
export function withCleanedEvents(p: Pick<Ports, "tools">, s: State, events: readonly JournalEvent[]): readonly JournalEvent[] {
  return events.flatMap((e): readonly JournalEvent[] => {
    if (e.kind === "act.late") {
      const tool = p.tools.find(s.unknowns.get(e.call)?.tool ?? "");
      return [...(tool === null ? cleanedEvents(e.call, e.outcome, "clean") : cleanedEventsFor(tool, e.call, e.outcome)), e];
    }
    const isUntrusted = s.labels.has(UNTRUSTED) || events.some((one) => one.kind === "labels.added" && one.labels.includes(UNTRUSTED));
    return e.kind === "act.ended" && isUntrusted ? [...cleanedEvents(e.call, e.outcome, "clean"), e] : [e];
  });
}

export const shownOutcome = (outcome: Outcome, markup: Markup | null): Outcome =>
  markup === null ? outcome : cleanOutcome(outcome, markup).outcome;
export const sanitisedText = (text: string, markup: Markup | null): string => (markup === null ? text : cleanText(text, markup).text);

export type CleanHistory = Readonly<{ history: readonly HistoryMessage[]; invisible: number; hidden: number }>;

/** Tool results of an imported conversation. They are sanitised when they are imported: this journal has no outcome of it to keep. */
export function cleanHistory(history: readonly HistoryMessage[]): CleanHistory {
  const taken = { invisible: 0, hidden: 0 };
  const cleaned = history.map((said) => {
    if (said.role !== "tool") return said;
    const { text, invisible, hidden } = cleanText(said.text, "clean");
    taken.invisible += invisible;
    taken.hidden += hidden;
    return { ...said, text };
  });
  return { history: cleaned, ...taken };
}
