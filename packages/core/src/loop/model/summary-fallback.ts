/**
 * Who sums up, and what is done when that fails: tried again like any model call, then the agent's fallbacks in its place, then nobody, and the oldest units go.
 * M-8 a summary call is retried, given up and handed on as a reply's is. A turn that has left its own model behind is not summed up by it either.
 */
import type { AgentFacts, Prices } from "../../vocab/index.ts";

import type { Ports } from "../ports.ts";
import type { State, Turn } from "../state.ts";

/** 0 is the one that the agent names for it, or its own model; then its fallbacks in order. */
export function summariserPlace(agent: AgentFacts, t: Turn): number {
  const named = agent.context.kind === "summarise" ? agent.context.model : null;
  return named === null ? Math.max(t.fellBack, t.summary.fellBack) : t.summary.fellBack;
}

/** As the fold knows it. Of a model that is named for summaries only no price is known. */
export function summariserNow(agent: AgentFacts, t: Turn): Readonly<{ model: string; prices: Prices | null }> {
  const fallback = agent.fallbacks[summariserPlace(agent, t) - 1];
  if (fallback !== undefined) return fallback;
  const named = agent.context.kind === "summarise" ? agent.context.model : null;
  return named === null ? agent : { model: named, prices: null };
}

/** As it can be asked. */
export const currentSummariser = (p: Pick<Ports, "summariser" | "fallbacks">, s: State, t: Turn): Ports["summariser"] =>
  p.fallbacks[summariserPlace(s.agent, t) - 1] ?? p.summariser;
