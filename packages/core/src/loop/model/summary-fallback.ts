/**
 * Who sums up, and what is done when that fails: tried again like any model call, then the agent's fallbacks in its place, then nobody, and the oldest units go.
 * M-8 a summary call is retried, given up and handed on as a reply's is. A turn that has left its own model behind is not summed up by it either.
 */
import type { AgentFacts, JournalEvent, Prices } from "../../vocab/index.ts";
import { MAX_ATTEMPTS } from "../limits/budgets.ts";
import type { Ports } from "../ports.ts";
import { type State, type Turn, UNDECIDED } from "../state.ts";
import { mayDoElsewhere, NO_TRIES, triesAfter } from "./retry.ts";

type ModelFailed = Extract<JournalEvent, { kind: "model.failed" }>;

/** 0 is the one that the agent names for it, or its own model; then its fallbacks in order. */
function placeOf(agent: AgentFacts, t: Turn): number {
  const named = agent.context.kind === "summarise" ? agent.context.model : null;
  return named === null ? Math.max(t.fellBack, t.summary.fellBack) : t.summary.fellBack;
}

/** As the fold knows it. Of a model that is named for summaries only no price is known. */
export function summariserNow(agent: AgentFacts, t: Turn): Readonly<{ model: string; prices: Prices | null }> {
  const fallback = agent.fallbacks[placeOf(agent, t) - 1];
  if (fallback !== undefined) return fallback;
  const named = agent.context.kind === "summarise" ? agent.context.model : null;
  return named === null ? agent : { model: named, prices: null };
}

/** As it can be asked. */
export const summariserOf = (p: Pick<Ports, "summariser" | "fallbacks">, s: State, t: Turn): Ports["summariser"] =>
  p.fallbacks[placeOf(s.agent, t) - 1] ?? p.summariser;

// ── the fold ──

export function summaryFailed(s: State, t: Turn, e: ModelFailed): void {
  const tries = triesAfter(t.summary.tries, e);
  t.summary = { ...t.summary, gated: UNDECIDED, tries };
  t.modelDue = e.dueAt;
  if (e.dueAt === null || tries.lost >= MAX_ATTEMPTS) handOn(s, t, mayDoElsewhere(e));
}

/** It was in flight when its process ended. */
export function summaryLost(s: State, t: Turn): void {
  const { tries } = t.summary;
  t.summary = { ...t.summary, tries: { ...tries, lost: tries.lost + 1 } };
  if (t.summary.tries.lost >= MAX_ATTEMPTS) handOn(s, t, true);
}

/** Left alone for now, or not allowed in another's place: the next one. That the first is not allowed means that there is no summary. */
export function summaryDenied(s: State, t: Turn): void {
  if (t.summary.gated.kind !== "denied") return;
  if (t.summary.gated.verdict.by === "breaker" || placeOf(s.agent, t) > 0) handOn(s, t, true);
}

function handOn(s: State, t: Turn, elsewhere: boolean): void {
  t.modelDue = null;
  const next = placeOf(s.agent, t) + 1;
  const isLast = !elsewhere || next > s.agent.fallbacks.length;
  t.summary = isLast
    ? { ...t.summary, over: true }
    : { gated: UNDECIDED, attempts: t.summary.attempts, tries: NO_TRIES, fellBack: next, over: false };
}
