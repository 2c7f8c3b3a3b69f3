/**
 * What an operator has to know wherever they are: what waits for people, and whether anything is wrong. Asked for once, for everybody who shows it.
 * O71 the first page says within one look what works, what waits and what is wrong; the way to each stands beside it, on every page.
 */
import { count } from "@orgate/core/journal/view";
import { createContext, use } from "react";
import { useCalled } from "../link/use.ts";

export type Glance = Readonly<{ questions: number; unknowns: number; stopped: number; broken: number; halted: number }>;

export const QUESTION_TOPICS = [
  "approval.asked",
  "approval.answered",
  "approval.expired",
  "approval.consumed",
  "turn.ended",
  "session.closed",
] as const;
export const UNKNOWN_TOPICS = ["act.ended", "act.late", "unknown.resolved", "recovery.applied", "hold.taken"] as const;
export const STOPPED_TOPICS = ["schedule.stopped", "schedule.resumed", "schedule.removed", "schedule.declared"] as const;
export const HALT_TOPICS = ["work.halted", "work.resumed"] as const;
export const BREAKER_TOPICS = ["breaker.changed"] as const;

export function useGlance(): Glance {
  const questions = useCalled("approvals", { query: { limit: 100 } }, QUESTION_TOPICS);
  const unknowns = useCalled("unknowns", { query: { limit: 100 } }, UNKNOWN_TOPICS);
  const schedules = useCalled("schedules", { query: { limit: 100, state: "stopped" } }, STOPPED_TOPICS);
  const breakers = useCalled("breakers", { query: {} }, BREAKER_TOPICS);
  const halts = useCalled("halts", { query: {} }, HALT_TOPICS);
  return {
    questions: questions.value?.items.length ?? 0,
    unknowns: unknowns.value?.items.length ?? 0,
    stopped: schedules.value?.items.length ?? 0,
    broken: breakers.value?.items.filter(({ state }) => state !== "closed").length ?? 0,
    halted: halts.value?.items.length ?? 0,
  };
}

/** `2 breakers, 1 schedule`. */
export const wrongWords = ({ broken, halted, stopped }: Pick<Glance, "broken" | "halted" | "stopped">): string =>
  [broken > 0 ? count(broken, "breaker") : "", halted > 0 ? count(halted, "halt") : "", stopped > 0 ? count(stopped, "schedule") : ""]
    .filter((text) => text !== "")
    .join(", ");

export const GlanceContext = createContext<Glance>({ questions: 0, unknowns: 0, stopped: 0, broken: 0, halted: 0 });

/** How much stands at a screen's name. */
export function useWaiting(): Readonly<Record<string, number>> {
  const { questions, unknowns, stopped, broken, halted } = use(GlanceContext);
  return { approvals: questions + unknowns, schedules: stopped, fleet: broken + halted };
}
