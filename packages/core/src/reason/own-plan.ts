/**
 * A context plan that a program brings, beside window, mask and summarise. It is asked when the conversation no longer fits its next request, and names
 * one step. The step moves a boundary that only moves forward: the task and the newest messages stay, and a call stays with its results.
 * A plan that throws, returns nonsense, or saves nothing is passed over, and the oldest messages go instead.
 */
import type { Message } from "./port.ts";
import { droppableBefore, type MessageRange, maskableBefore, summableBefore, type Window } from "./window.ts";

/** A copy: what a plan does to it changes nothing. */
export type PlannedMessage = Readonly<{ role: Message["role"]; text: string; tokens: number; tool: string | null }>;

export type ContextView = Readonly<{
  /** Oldest first; a task before them is pinned and not listed. */
  messages: readonly PlannedMessage[];
  /** The text that stands in place of earlier messages, as the model is shown it. */
  replaced: string | null;
  /** Of everything that is shown now. */
  tokens: number;
  /** Tokens that the next request may hold. */
  budget: number;
}>;

/** `upTo` counts messages of the view, from the first on. It is lowered to a place where the conversation may be cut. */
export type ContextStep =
  /** They are shown no more. */
  | Readonly<{ kind: "drop"; upTo: number }>
  /** Their tool results become one line each. */
  | Readonly<{ kind: "mask"; upTo: number }>
  /** This text stands in their place, and in place of an earlier replacement. */
  | Readonly<{ kind: "replace"; upTo: number; text: string }>;

/** Answers at once. Null: nothing to do, and the oldest messages go. */
export type OwnContextPlan = (view: ContextView) => ContextStep | null;

export type PlannedStep = Readonly<{ how: "window" | "mask" | "summarise"; range: MessageRange; summary: string | null }>;

/** Null when the plan has no usable step. */
export function planStep(plan: OwnContextPlan, messages: readonly Message[], w: Window, budget: number): PlannedStep | null {
  const step = readStep(() =>
    plan({
      messages: messages.slice(w.from).map(toPlanned),
      replaced: w.summary === null ? null : textOf(w.summary.message),
      tokens: w.tokens,
      budget,
    }),
  );
  if (step === null) return null;
  const upTo = w.from + step.upTo;
  switch (step.kind) {
    case "drop":
      return withRange(droppableBefore(messages, w, upTo), "window", null);
    case "mask":
      return withRange(maskableBefore(messages, w, upTo), "mask", null);
    case "replace": {
      const summary = step.text.trim();
      return summary === "" ? null : withRange(summableBefore(messages, w, upTo), "summarise", summary);
    }
  }
}

const withRange = (range: MessageRange | null, how: PlannedStep["how"], summary: string | null): PlannedStep | null =>
  range === null ? null : { how, range, summary };

const toPlanned = (m: Message): PlannedMessage => ({
  role: m.role,
  text: textOf(m),
  tokens: m.tokens,
  tool: m.role === "tool" ? m.tool : null,
});

const textOf = (m: Message): string => (m.role === "assistant" ? m.parts.map((part) => part.text).join("\n") : m.text);

/** A plan may be plain JavaScript, so its type proves nothing. */
function readStep(ask: () => unknown): ContextStep | null {
  try {
    const step: unknown = ask();
    if (typeof step !== "object" || step === null) return null;
    if ("then" in step) void Promise.resolve(step).catch(() => {}); // it must answer at once; a later rejection would end the process
    if (!("kind" in step) || !("upTo" in step) || !Number.isSafeInteger(step.upTo)) return null;
    const upTo = Number(step.upTo);
    if (step.kind === "drop" || step.kind === "mask") return { kind: step.kind, upTo };
    return step.kind === "replace" && "text" in step && typeof step.text === "string" ? { kind: "replace", upTo, text: step.text } : null;
  } catch {
    return null;
  }
}
