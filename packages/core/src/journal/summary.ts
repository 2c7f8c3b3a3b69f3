/**
 * One line about a session, kept by the same events in the same transaction: what lists need, without reading streams. Its title is the only content in it.
 * J-8 a session's title is the first line of its first input, as the journal has it, shortened and with hidden characters escaped; an erasure in the
 *      session removes it.
 */
import type {
  Ending,
  Entry,
  EventKind,
  HistoryMessage,
  Millis,
  Principal,
  Seq,
  SessionId,
  Surface,
  TimedEvent,
  Usage,
} from "../vocab/index.ts";
import { addUsage, isSessionStream, NO_USAGE, sessionTitle } from "../vocab/index.ts";

export type SessionSummary = Readonly<{
  session: SessionId;
  /** The caller's own name for it. */
  external: string | null;
  /** Null before the first input, after an erasure, and for a session that was listed before there were titles. */
  title: string | null;
  agent: string;
  principal: Principal;
  /** Of a delegate: the session that it works for. */
  parent: SessionId | null;
  surface: Surface;
  openedAt: Millis;
  lastAt: Millis;
  seq: Seq;
  /** `idle` between turns, `running` while a turn wants driving, `waiting` while it only waits for people. */
  state: "idle" | "running" | "waiting" | "closed";
  turns: number;
  /** Of the last turn that ended. */
  ending: Ending | null;
  iterations: number;
  usage: Usage;
  openQuestions: number;
  openUnknowns: number;
  /** The delegates that are at work for it. */
  children: readonly SessionId[];
}>;

/** Null before `session.opened` (a stream starts with nothing else). */
export function summariseSession(before: SessionSummary | null, { stream, seq, at, event: e }: Entry): SessionSummary | null {
  if (e.kind === "session.opened") {
    if (!isSessionStream(stream)) return null;
    const { agent, principal, surface, external } = e;
    const parent = e.parent?.session ?? null;
    const fresh = { turns: 0, ending: null, iterations: 0, usage: NO_USAGE, openQuestions: 0, openUnknowns: 0, children: [] };
    return {
      session: stream,
      external,
      title: titleOfHistory(e.history),
      agent: agent.name,
      principal,
      parent,
      surface,
      openedAt: at,
      lastAt: at,
      seq,
      state: "idle",
      ...fresh,
    };
  }
  if (before === null) return null;
  const s = { ...before, seq, lastAt: at };
  switch (e.kind) {
    case "agent.changed":
      return { ...s, agent: e.agent.name };
    case "turn.started":
      return { ...s, state: "running", turns: e.turn, title: s.turns === 0 ? (s.title ?? sessionTitle(e.input, e.files)) : s.title };
    case "model.replied":
      return { ...s, iterations: s.iterations + (e.purpose === "reply" ? 1 : 0), usage: addUsage(s.usage, e.usage) };
    case "approval.asked":
      return { ...s, openQuestions: s.openQuestions + 1, state: "waiting" };
    case "approval.answered":
      return settled(s);
    case "approval.expired":
      return settled(s);
    case "act.ended":
      return e.outcome.kind === "unknown" ? { ...s, openUnknowns: s.openUnknowns + 1 } : s;
    case "act.late":
    case "unknown.resolved":
      return { ...s, openUnknowns: Math.max(0, s.openUnknowns - 1) };
    case "child.opened":
      return { ...s, children: [...s.children, e.child] };
    case "child.ended":
      return { ...s, children: s.children.filter((child) => child !== e.child) };
    case "turn.ended":
      return { ...s, state: "idle", ending: e.ending, openQuestions: 0 };
    case "session.closed":
      return { ...s, state: "closed" };
    default:
      return s; // the other kinds change nothing that a list shows
  }
}

/** Kinds that change nothing that a list shows but how far the session is, its iterations and its usage; most of a turn is of these. */
const PLAIN_KINDS: ReadonlySet<EventKind> = new Set<EventKind>([
  ...(["gate.decided", "model.asked", "model.replied", "model.failed", "act.started", "act.ended"] as const),
  ...(["labels.added", "note", "text.cleaned", "names.told", "budget.reserved", "budget.settled"] as const),
  ...(["context.compacted", "knowledge.recalled", "output.checked", "middleware.applied", "calls.misread"] as const),
]);
export const isPlainProgress = (events: readonly TimedEvent[]): boolean =>
  events.every(({ event: e }) => PLAIN_KINDS.has(e.kind) && (e.kind !== "act.ended" || e.outcome.kind !== "unknown"));

/** The same as `summariseSession` for each of these events in turn, where all are plain. */
export function summariseProgress(
  before: SessionSummary,
  { seq, at }: Readonly<{ seq: Seq; at: Millis }>,
  events: readonly TimedEvent[],
): SessionSummary {
  let { iterations, usage } = before;
  for (const { event: e } of events)
    if (e.kind === "model.replied") {
      iterations += e.purpose === "reply" ? 1 : 0;
      usage = addUsage(usage, e.usage);
    }
  return { ...before, seq, lastAt: at, iterations, usage };
}

/** Of a fork or an import: what the conversation began with. */
function titleOfHistory(history: readonly HistoryMessage[]): string | null {
  const first = history.find((said) => said.role === "user");
  return first === undefined ? null : sessionTitle(first.text, first.files ?? []);
}

/** One question fewer; it goes on waiting while another is open. Whether a yes was enough is not told from here: `withQuestions` knows. */
function settled(s: SessionSummary): SessionSummary {
  return withPendingApprovals(s, Math.max(0, s.openQuestions - 1));
}

/** By what really waits (`questions.ts`): an answer short of its quorum leaves the session waiting. */
export function withPendingApprovals(s: SessionSummary, open: number): SessionSummary {
  if (s.state !== "running" && s.state !== "waiting") return s;
  return { ...s, openQuestions: open, state: open > 0 ? "waiting" : "running" };
}
