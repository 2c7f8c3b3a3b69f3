/**
 * Counts of what waits and what is broken, for every page. Read once and shared by all components.
 * The first page shows it at a glance, and every page links to it.
 */
import { countNoun } from "@orgate/protocol/view";
import { createContext, use } from "react";
import { useQuery } from "../link/use.ts";
import type { Figure } from "../parts/charts/Figures.tsx";
import type { Halt } from "./halts.ts";

/** Null: unknown. Never shown as zero. */
type Counted = number | null;
export type Overview = Readonly<{
  questions: Counted;
  unknowns: Counted;
  stopped: Counted;
  broken: Counted;
  halted: Counted;
  halts: readonly Halt[];
  reloadHalts(): void;
}>;
type Wrong = Pick<Overview, "broken" | "halted" | "stopped">;

export const APPROVAL_TOPICS = [
  "approval.asked",
  "approval.answered",
  "approval.expired",
  "approval.consumed",
  "turn.ended",
  "session.closed",
] as const;
export const UNKNOWN_TOPICS = ["act.ended", "act.late", "unknown.resolved", "recovery.applied", "hold.taken"] as const;
const STOPPED_TOPICS = ["schedule.stopped", "schedule.resumed", "schedule.removed", "schedule.declared"] as const;
export const HALT_TOPICS = ["work.halted", "work.resumed"] as const;
export const BREAKER_TOPICS = ["breaker.changed"] as const;

export function useOverview(): Overview {
  const questions = useQuery("approvals", { query: { limit: 100 } }, APPROVAL_TOPICS);
  const unknowns = useQuery("unknowns", { query: { limit: 100 } }, UNKNOWN_TOPICS);
  const schedules = useQuery("schedules", { query: { limit: 100, state: "stopped" } }, STOPPED_TOPICS);
  const breakers = useQuery("breakers", { query: {} }, BREAKER_TOPICS);
  const halts = useQuery("halts", { query: {} }, HALT_TOPICS);
  return {
    questions: questions.value?.items.length ?? null,
    unknowns: unknowns.value?.items.length ?? null,
    stopped: schedules.value?.items.length ?? null,
    broken: breakers.value?.items.filter(({ state }) => state !== "closed").length ?? null,
    halted: halts.value?.items.length ?? null,
    halts: halts.value?.items ?? [],
    reloadHalts: halts.reload,
  };
}

/** The sum of the known counts; null if it would be zero while a count is unknown. */
function sum(counts: readonly Counted[]): Counted {
  const known = counts.reduce<number>((total, one) => total + (one ?? 0), 0);
  return known === 0 && counts.includes(null) ? null : known;
}

/** `2 breakers, 1 schedule`. */
const wrongWords = ({ broken, halted, stopped }: Wrong): string =>
  (
    [
      [broken, "breaker"],
      [halted, "halt"],
      [stopped, "schedule"],
    ] as const
  )
    .flatMap(([n, word]) => (n === null || n === 0 ? [] : [countNoun(n, word)]))
    .join(", ");

/** Shown until a count is known. */
export const NOT_YET = "…";
/** Lists are read a hundred at a time. */
const many = (n: Counted): string => (n === null ? NOT_YET : n >= 100 ? "100+" : String(n));

/** The three figures at the top of Chat and Fleet. */
export function overviewFigures(
  working: Counted,
  waiting: Counted,
  wrong: Wrong,
): Readonly<Record<"working" | "waiting" | "wrong", Figure>> {
  const all = sum([wrong.broken, wrong.halted, wrong.stopped]);
  return {
    working: {
      name: "Working",
      value: many(working),
      says: working === 1 ? "turn in progress" : "turns in progress",
      to: "/sessions?state=running",
    },
    waiting: {
      name: "Waiting for people",
      value: many(waiting),
      says: waiting === null ? "not known yet" : waiting === 0 ? "nothing to answer" : "answer in Approvals",
      tone: waiting === null ? "plain" : waiting > 0 ? "wait" : "ok",
      to: "/approvals",
    },
    wrong: {
      name: "Broken or stopped",
      value: many(all),
      says: all === null ? "not known yet" : all === 0 ? "all runs" : wrongWords(wrong),
      tone: all === null ? "plain" : all > 0 ? "bad" : "ok",
      to: all !== null && all > 0 && all === wrong.stopped ? "/schedules" : "/fleet",
    },
  };
}

export const countWaiting = ({ questions, unknowns }: Overview): Counted => sum([questions, unknowns]);

export const OverviewContext = createContext<Overview>({
  questions: null,
  unknowns: null,
  stopped: null,
  broken: null,
  halted: null,
  halts: [],
  reloadHalts: () => {},
});

/** The number beside each screen's name. */
export function useBadges(): Readonly<Record<string, number>> {
  const glance = use(OverviewContext);
  return { approvals: countWaiting(glance) ?? 0, schedules: glance.stopped ?? 0, fleet: sum([glance.broken, glance.halted]) ?? 0 };
}
