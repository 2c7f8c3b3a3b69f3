/**
 * The fleet: what every agent is doing now, and how it has been doing.
 * A turn is in the fleet from `turn.started` to `turn.ended`, with what it does as of its last entry; rates are of what was counted, and null of nothing.
 */

import type { SessionSummary } from "@orgate/core/journal";
import { type Entry, isSessionStream, type JournalEvent, type Millis, oneLine, type SessionId } from "@orgate/core/vocab";
import { addCounts, listUsage, NO_USAGE_COUNTS, sumByHour, type UsageCounts, type UsageRow } from "./usage.ts";

export type RunningTurn = Readonly<{ session: SessionId; agent: string; turn: number; since: Millis; doing: string; waits: boolean }>;
type Halts = readonly Readonly<{ scope: string }>[];
export type AgentRow = Readonly<{
  agent: string;
  running: readonly RunningTurn[];
  waiting: number;
  /** Turns that neither work nor wait for a person: a halt keeps them. */
  halted: number;
  counts: UsageCounts;
  /** Of turns that ended in any way. */
  success: number | null;
  /** Of decisions on calls. */
  denial: number | null;
  /** Of a turn, on average. */
  turnMs: number | null;
  series: Readonly<{ turns: readonly number[]; micros: readonly number[]; ms: readonly number[]; denials: readonly number[] }>;
}>;
export type FleetView = Readonly<{ agents: readonly AgentRow[]; running: number; waiting: number; halted: number }>;

export type FleetFold = Readonly<{
  add(entry: Entry): void;
  /** `now` says which hours there are; `halts` are those in force: a turn under one is not at work. */
  view(now: Millis, halts: Halts): FleetView;
}>;
type Known = Pick<SessionSummary, "session" | "agent" | "state" | "turns" | "lastAt" | "openQuestions">;

export const FLEET_HOURS = 24;

/** From what lists say of now, and then entry by entry. */
export function createFleetFold(agents: readonly string[], sessions: readonly Known[], rows: readonly UsageRow[]): FleetFold {
  const agentOf = new Map<SessionId, string>();
  const turns = new Map<SessionId, RunningTurn>();
  const more = new Map<string, UsageRow>();
  for (const { session, agent, state, turns: turn, lastAt, openQuestions } of sessions) {
    agentOf.set(session, agent);
    if (state === "running" || state === "waiting")
      turns.set(session, {
        session,
        agent,
        turn,
        since: lastAt,
        doing: openQuestions > 0 ? "waits for a person" : "at work",
        waits: state === "waiting",
      });
  }
  function add({ stream: session, at, event: e }: Entry): void {
    if (e.kind === "content.erased" && isSessionStream(e.stream)) turns.delete(e.stream); // it cannot go on
    if (!isSessionStream(session)) return;
    if (e.kind === "session.opened" || e.kind === "agent.changed") agentOf.set(session, e.agent.name);
    const agent = agentOf.get(session);
    if (agent === undefined) return; // one that the caller does not know of
    const used = listUsage({ at, event: e }, () => null);
    if (used !== null) {
      const key = JSON.stringify([used.hour, agent, used.model]);
      const row = more.get(key) ?? { hour: used.hour, agent, model: used.model, ...NO_USAGE_COUNTS };
      more.set(key, { ...row, ...addCounts(row, used.counts) });
    }
    const turn = turns.get(session);
    const progress = turnProgress(e);
    if (e.kind === "turn.started") turns.set(session, { session, agent, turn: e.turn, since: at, doing: "begins", waits: false });
    else if (e.kind === "turn.ended" || e.kind === "session.closed") turns.delete(session);
    else if (turn !== undefined && progress !== null) turns.set(session, { ...turn, ...progress });
  }

  function view(now: Millis, halts: Halts): FleetView {
    const isHalted = ({ agent, waits }: RunningTurn): boolean =>
      !waits && halts.some(({ scope }) => scope === "all" || scope === `agent:${agent}`);
    const all = [...rows, ...more.values()];
    const first = Math.floor(now / 3_600_000) - FLEET_HOURS + 1;
    const names = new Set([...agents, ...[...turns.values()].map(({ agent }) => agent)]);
    const shown = [...names].sort().map((agent) =>
      rowOf(
        { agent, turns: [...turns.values()].filter((turn) => turn.agent === agent), isHalted },
        all.filter((row) => row.agent === agent && row.hour >= first),
        first,
      ),
    );
    return {
      agents: shown,
      running: [...turns.values()].filter((turn) => !turn.waits && !isHalted(turn)).length,
      waiting: [...turns.values()].filter(({ waits }) => waits).length,
      halted: [...turns.values()].filter(isHalted).length,
    };
  }
  return { add, view };
}

/** Null: the entry changes nothing that the fleet shows of a running turn. */
function turnProgress(e: JournalEvent): Partial<RunningTurn> | null {
  switch (e.kind) {
    case "model.asked":
      return { doing: `asks ${e.model}`, waits: false };
    case "act.started":
      return { doing: oneLine(`runs ${e.tool}`, 60), waits: false };
    case "child.opened":
      return { doing: oneLine(`delegates to ${e.agent}`, 60) };
    case "approval.asked":
      return { doing: "waits for a person", waits: true };
    case "approval.answered":
    case "approval.expired":
      return { doing: "goes on", waits: false };
    default:
      return null;
  }
}

type Open = Readonly<{ agent: string; turns: readonly RunningTurn[]; isHalted(turn: RunningTurn): boolean }>;

function rowOf({ agent, turns, isHalted }: Open, rows: readonly UsageRow[], first: number): AgentRow {
  const counts = rows.reduce<UsageCounts>(addCounts, NO_USAGE_COUNTS);
  const series = (of: (one: UsageCounts) => number): readonly number[] => sumByHour(rows, first, FLEET_HOURS, of);
  const [ended, ms] = [series((one) => one.turns), series((one) => one.activeMs)];
  return {
    agent,
    running: turns.filter((turn) => !turn.waits && !isHalted(turn)),
    waiting: turns.filter(({ waits }) => waits).length,
    halted: turns.filter(isHalted).length,
    counts,
    success: rate(counts.completed, counts.turns),
    denial: rate(counts.denials, counts.decisions),
    turnMs: counts.turns === 0 ? null : counts.activeMs / counts.turns,
    series: {
      turns: ended,
      micros: series((one) => one.micros),
      ms: ms.map((sum, i) => (ended[i] === 0 ? 0 : sum / (ended[i] ?? 1))),
      denials: series((one) => one.denials),
    },
  };
}
const rate = (part: number, of: number): number | null => (of === 0 ? null : part / of);
