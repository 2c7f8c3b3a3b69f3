/**
 * Keeping the conversation within its budget, by the agent's plan. The journal keeps everything; what is shown otherwise is on record (C-2, C-3).
 * Under the plain window the fold itself lets the oldest units go. Under the others nothing moves without its event: `next` finds what is due before a
 * model is asked, the driver records it, and the fold below moves the boundary. Boundaries move in steps, so that a provider's cache of the prompt holds.
 */

import { cut } from "../../observe/observe.ts";
import { type PlannedStep, planStep } from "../../reason/own-plan.ts";
import type { ModelRequest } from "../../reason/port.ts";
import { SUMMARY_SYSTEM, transcript } from "../../reason/summary.ts";
import { PER_MESSAGE } from "../../reason/tokens.ts";
import { droppable, type MessageRange, maskable, STEP, summable } from "../../reason/window.ts";
import { type CompactionKind, type Hash, type SessionEvent, toCanonicalJson } from "../../vocab/index.ts";
import { type Room, roomFor } from "../limits/budgets.ts";
import type { CompactBy } from "../moves.ts";
import type { Ports } from "../ports.ts";
import type { State, Turn } from "../state.ts";
import { reservedTokens, tokenCounter } from "./conversation.ts";
import { foldCompacted } from "./evolve-context.ts";
import { summariserNow } from "./summary-fallback.ts";

type Compacted = Extract<SessionEvent, { kind: "context.compacted" }>;

/** The compaction that the next request needs; null when it fits. */
export function compaction(s: State, t: Turn): CompactBy | "summarise" | null {
  const plan = s.agent.context;
  const { messages, window: w } = s;
  const isOver = w.tokens > wantedOf(s, t);
  switch (plan.kind) {
    case "window":
      return null;
    case "mask":
      if (w.whole > 2 * plan.keep || (isOver && maskable(messages, w, plan.keep) !== null)) return "mask";
      break;
    case "summarise":
      if (isOver && !t.summary.over && t.summary.gated.kind !== "denied" && summaryFor(s, t) !== null) return "summarise";
      break;
    case "own":
      break;
  }
  if (!isOver || droppable(messages, w, stepOf(s, t)) === null) return null;
  return plan.kind === "own" ? "own" : "window";
}

/** Tokens of messages that a request may hold. */
export const messageBudget = (s: State, t: Turn): number => t.limits.contextTokens - reservedTokens(s);

/** No more than may be, and than somebody wants (J-30). */
const wantedOf = (s: State, t: Turn): number => Math.min(messageBudget(s, t), s.compactTo ?? Number.POSITIVE_INFINITY);

/** So far the oldest go at once: not one unit before every request. */
const stepOf = (s: State, t: Turn): number => Math.min(Math.floor(messageBudget(s, t) * STEP), s.compactTo ?? Number.POSITIVE_INFINITY);

/** The event for what needs no model. */
export function compactedEvent(p: Pick<Ports, "contextPlans">, s: State, t: Turn, how: CompactBy): Compacted | null {
  const plan = s.agent.context;
  if (how === "own") return ownCompaction(p, s, t) ?? compactedEvent(p, s, t, "window");
  const range =
    how === "window"
      ? droppable(s.messages, s.window, stepOf(s, t))
      : plan.kind === "mask"
        ? maskable(s.messages, s.window, plan.keep)
        : null;
  if (range === null) return null;
  return toCompacted(s, how, range, { summary: null, model: null });
}

/** The step of the program's plan, in the words of the built-in ones; null when it has none that saves tokens. `model` names the plan. */
function ownCompaction({ contextPlans }: Pick<Ports, "contextPlans">, s: State, t: Turn): Compacted | null {
  const { context: plan } = s.agent;
  const own = plan.kind === "own" ? contextPlans(plan.plan) : null;
  if (plan.kind !== "own" || own === null) return null;
  const step = planStep(own, s.messages, s.window, wantedOf(s, t));
  if (step === null) return null;
  const summary = step.summary === null ? null : cut(step.summary, summaryChars(s, t));
  const event = toCompacted(s, step.how, withEarlier(s, step), { summary, model: `own/${plan.plan}` });
  return event.after < event.before ? event : null;
}

/** A summary stands for what an earlier one stood for, too. */
const withEarlier = ({ window: { summary } }: State, { how, range }: Pick<PlannedStep, "how" | "range">): MessageRange =>
  how === "summarise" && summary !== null && summary.first < range.first ? { ...range, first: summary.first } : range;

/** `after` is found by doing it: to a copy of the window, which is small. */
export function toCompacted(
  s: State,
  how: CompactionKind,
  { first, last, upTo }: MessageRange,
  by: Pick<Compacted, "summary" | "model">,
): Compacted {
  const event: Compacted = { kind: "context.compacted", how, first, last, upTo, ...by, before: s.window.tokens, after: 0 };
  const trial = { ...s, window: { ...s.window, lines: new Map(s.window.lines) } };
  return { ...event, after: foldCompacted(trial, event).window.tokens };
}

// ── the summary ──

export type SummaryPlan = Readonly<{ range: MessageRange; text: string; tokens: number; room: Room }>;

/** The input of a summary; null when there is nothing to sum up, or neither tokens nor money for it. */
export function summaryFor(s: State, t: Turn): SummaryPlan | null {
  const plan = s.agent.context;
  if (plan.kind !== "summarise" || t.summary.over) return null;
  const { prices } = summariserNow(s.agent, t);
  if (t.limits.cents !== null && prices === null) return null;
  const { messages, window: w } = s;
  const range = summable(messages, w, plan.keep, Math.floor(wantedOf(s, t) / 2));
  if (range === null) return null;
  const count = tokenCounter(s);
  const system = count(SUMMARY_SYSTEM) + PER_MESSAGE;
  const { text, tokens } = transcript(messages.slice(w.summed, range.upTo), w.summary, t.limits.contextTokens - system, count);
  if (system + tokens > t.limits.contextTokens) return null;
  const most = Math.min(t.limits.outputTokens, summaryTokens(s, t));
  const room = roomFor(s, t, { tokens: system + tokens, most, prices });
  return room.short === null ? { range, text, tokens, room } : null;
}

/** A summary is a fifth of what fits, at the most. */
const summaryTokens = (s: State, t: Turn): number => Math.max(64, Math.min(1_024, Math.floor(messageBudget(s, t) / 5)));

const summaryChars = (s: State, t: Turn): number => Math.max(256, summaryTokens(s, t) * 6);

export function summaryRequest(s: State, t: Turn, { text, tokens, room }: SummaryPlan): ModelRequest {
  const message = { role: "user", text, tokens, entry: s.seq } as const;
  const attempt = t.summary.attempts + 1;
  return {
    system: SUMMARY_SYSTEM,
    context: [],
    messages: [message],
    tools: [],
    answer: null,
    temperature: 0,
    maxOutputTokens: room.output,
    attempt,
  };
}

export const summaryDigest = (model: string, { system, messages, maxOutputTokens }: ModelRequest, hash: Hash) =>
  hash(toCanonicalJson({ model, system, text: messages.map((m) => ("text" in m ? m.text : "")), maxOutputTokens }));

/** The event that puts it in place; null when the model had nothing to say, and the oldest units go instead. */
export function summedEvent(
  s: State,
  t: Turn,
  { range }: SummaryPlan,
  { text, model }: Readonly<{ text: string; model: string }>,
): Compacted | null {
  const summary = cut(text.trim(), summaryChars(s, t)); // a provider may say more than it was asked for
  if (summary === "") return null;
  return toCompacted(s, "summarise", withEarlier(s, { how: "summarise", range }), { summary, model });
}
