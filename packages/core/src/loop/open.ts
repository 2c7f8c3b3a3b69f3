/**
 * Openings. The only place that builds `session.opened`: sessions of runs, sub-agents, schedules and webhooks all begin here.
 */
import { toOutputSpec } from "../agents/define-output.ts";
import type { Hold } from "../journal/port.ts";
import {
  type AgentFacts,
  type HistoryMessage,
  type JournalEvent,
  type Label,
  type Limits,
  type Origin,
  type OutputSpec,
  type Parent,
  type Principal,
  type SessionEvent,
  type Subject,
  type Surface,
  UNTRUSTED,
} from "../vocab/index.ts";
import { emptyState } from "./evolve.ts";
import { checkHistory } from "./model/history.ts";
import { cleanHistory } from "./model/sanitise.ts";
import type { Ports } from "./ports.ts";
import type { State } from "./state.ts";

export type Opening = Readonly<{
  agent: AgentFacts;
  principal: Principal;
  surface: Surface;
  labels: readonly Label[];
  history: readonly HistoryMessage[];
  external: string | null;
  parent: Parent | null;
  origin: Origin | null;
  /** Whom it serves, where the caller says so. */
  subject?: Subject;
}>;

/**
 * A session in hand: its state, its hold, and the events that go with its first commit.
 * `left` counts tools whose code still runs although their call was given up. The hold is kept until they have ended: the next holder
 * might otherwise ask such a tool about the call, and hear that it did not happen before it does.
 */
export type Held = Readonly<{ state: State; hold: Hold; begin: readonly JournalEvent[]; left: { running: number } }>;

type Opened = Extract<SessionEvent, { kind: "session.opened" }>;

/** An opening without history, labels, parent or origin, unless given. */
export const openedEvent = (opening: Pick<Opening, "agent" | "principal" | "surface"> & Partial<Opening>): Opened => ({
  kind: "session.opened",
  labels: [],
  history: [],
  external: null,
  parent: null,
  origin: null,
  ...opening,
});

export type FirstTurn = Readonly<{ input: string; by: Principal; limits: Limits; output: OutputSpec | null }>;

/** The events of a session's first turn, as they follow its opening. */
export function firstTurnEvents({ input, by, limits, output }: FirstTurn): readonly SessionEvent[] {
  const started: SessionEvent = { kind: "turn.started", turn: 1, input: input.toWellFormed(), files: [], by, limits, intent: null };
  return output === null ? [started] : [started, { kind: "output.asked", output: toOutputSpec(output) }];
}

/** Opens a session with a conversation from elsewhere, or with none: its history is checked and sanitised first. */
export async function openSession(p: Pick<Ports, "journal" | "ids" | "counters">, opening: Opening): Promise<Held> {
  const { history, ...removed } = cleanHistory(checkHistory(opening.history));
  const held = await beginSession(p, { ...opening, history, labels: labelsWith(opening.labels, history) });
  if (removed.invisible + removed.hidden === 0) return held;
  return { ...held, begin: [...held.begin, { kind: "note", from: "orgate", call: null, name: "history-cleaned", value: removed }] };
}

/** Tool results of a conversation from elsewhere are outside content, so the session starts `untrusted`. A person can remove the label. */
const labelsWith = (labels: readonly Label[], history: readonly HistoryMessage[]): readonly Label[] =>
  history.some((said) => said.role === "tool") && !labels.includes(UNTRUSTED) ? [...labels, UNTRUSTED] : labels;

/** Opens a session whose history needs no check, because it comes from another session. */
export async function beginSession(p: Pick<Ports, "journal" | "ids" | "counters">, opening: Opening): Promise<Held> {
  const session = p.ids.session();
  const hold = await p.journal.take(session);
  const opened = openedEvent(opening);
  return { state: emptyState(session, opened, p.counters), hold, begin: [opened, holdTakenEvent(p, hold)], left: { running: 0 } };
}

export const holdTakenEvent = (p: Readonly<{ journal: Pick<Ports["journal"], "writer" | "powerCut"> }>, hold: Hold): SessionEvent => ({
  kind: "hold.taken",
  epoch: hold.epoch,
  writer: p.journal.writer,
  powerCut: p.journal.powerCut,
});
