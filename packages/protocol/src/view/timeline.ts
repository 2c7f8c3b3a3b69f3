/**
 * A session as a timeline: what was going on when, in the four phases.
 *
 * A span is Observe, Reason, Gate or Act, from the entry that began it to the one that ended it; what runs at once lies in lanes beside each other.
 * Time in which nothing went on is folded: waiting for people, between turns, after a crash. What is left is to scale.
 * A hold that was taken in the middle of a turn, while nobody was asked, is a crash and its resume: what was open ended there, as lost.
 */
import {
  type ActionText,
  type CallId,
  callId,
  type Entry,
  escapeHidden,
  eventsIn,
  type JournalEvent,
  type Label,
  type Millis,
  millis,
  oneLine,
  type Seq,
  seq,
  type Verdict,
} from "@orgate/core/vocab";

export const PHASES = ["observe", "reason", "gate", "act"] as const;
export type Phase = (typeof PHASES)[number];

/** Which phase an entry is of; null: it is about the session as a whole, or what is said to people. */
export function toPhase(kind: string): Phase | null {
  const [noun = ""] = kind.split(".");
  if (noun === "model") return "reason";
  if (noun === "gate" || noun === "approval" || noun === "grant") return "gate";
  if (noun === "act" || noun === "child" || noun === "recovery" || noun === "note" || noun === "budget") return "act";
  if (noun === "input" || noun === "labels" || noun === "text" || noun === "context" || noun === "knowledge" || noun === "names")
    return "observe";
  return null;
}

export type Span = Readonly<{
  id: string;
  phase: Phase;
  seq: Seq;
  /** Null while it goes on. */
  endSeq: Seq | null;
  at: Millis;
  endAt: Millis | null;
  /** Of calls, from 0: beside each other where they overlap. The other phases have one. */
  lane: number;
  turn: number;
  iteration: number;
  call: CallId | null;
  text: string;
  status: "open" | "done" | "failed" | "unknown" | "denied" | "asks" | "lost";
}>;

/** Nothing went on from `from` to `to`. */
export type Folded = Readonly<{ from: Millis; to: Millis; why: "waiting" | "idle" | "crash"; seq: Seq }>;
export type Mark = Readonly<{
  kind: "turn" | "ended" | "crash" | "resume" | "steered" | "cancel" | "halt" | "question" | "answer";
  seq: Seq;
  at: Millis;
  text: string;
}>;
/** `labels`: all that the session has from here on. */
export type LabelStep = Readonly<{
  seq: Seq;
  at: Millis;
  added: readonly Label[];
  removed: readonly Label[];
  from: CallId | null;
  labels: readonly Label[];
}>;

export type TimelineView = {
  from: Millis | null;
  to: Millis | null;
  seq: Seq;
  /** Grows at the end; a span that ends is another object in the same place. */
  spans: Span[];
  folds: Folded[];
  marks: Mark[];
  labels: LabelStep[];
  lanes: number;
};

export type TimelineFold = Readonly<{ view: TimelineView; add(entry: Entry): void }>;

/** A shorter pause is shown as it was. */
export const FOLD_MS = 2_000;

type Ground = {
  readonly view: TimelineView;
  readonly open: Map<string, number>;
  /** The call in each lane; null: free. */
  readonly lanes: (string | null)[];
  readonly tools: Map<string, string>;
  readonly asking: Set<ActionText>;
  turn: number;
  iteration: number;
  isInTurn: boolean;
  observing: boolean;
  entry: Entry;
};

export function createTimelineFold(): TimelineFold {
  const view: TimelineView = { from: null, to: null, seq: seq(0), spans: [], folds: [], marks: [], labels: [], lanes: 1 };
  let ground: Ground | null = null;
  return {
    view,
    add(entry) {
      ground ??= {
        view,
        open: new Map(),
        lanes: [],
        tools: new Map(),
        asking: new Set(),
        turn: 0,
        iteration: 0,
        isInTurn: false,
        observing: false,
        entry,
      };
      ground.entry = entry;
      view.from ??= entry.at;
      if (entry.event.kind === "hold.taken") taken(ground);
      else pause(ground, resting(ground));
      for (const event of eventsIn(entry.event)) fold(ground, event);
      view.to = millis(Math.max(view.to ?? entry.at, entry.at));
      view.seq = entry.seq;
    },
  };
}

export function buildTimeline(entries: Iterable<Entry>): TimelineView {
  const fold = createTimelineFold();
  for (const entry of entries) fold.add(entry);
  return fold.view;
}

/** From the last entry to this one nothing went on. */
function pause({ view, entry }: Ground, why: Folded["why"] | null): void {
  if (why === null || view.to === null || entry.at - view.to < FOLD_MS) return;
  view.folds.push({ from: view.to, to: entry.at, why, seq: entry.seq });
}

/** Why nothing goes on; null while something does. What is being made ready waits too, where somebody is asked. */
function resting({ open, observing, asking }: Ground): Folded["why"] | null {
  if (open.size - (observing ? 1 : 0) > 0) return null;
  if (asking.size > 0) return "waiting";
  return observing ? null : "idle";
}

/** A new hold: after a wait or between turns that is nothing; else the process before it is gone. */
function taken(ground: Ground): void {
  const { view } = ground;
  const isCrash = ground.isInTurn && ground.asking.size === 0;
  pause(ground, isCrash ? "crash" : ground.asking.size > 0 ? "waiting" : "idle");
  if (!isCrash) return;
  mark(ground, "crash", "the process that held it is gone", view.to ?? ground.entry.at);
  for (const id of [...ground.open.keys()]) end(ground, id, "lost", view.to ?? ground.entry.at);
  ground.observing = false;
  mark(ground, "resume", "taken up again");
}

function fold(ground: Ground, e: JournalEvent): void {
  switch (e.kind) {
    case "turn.started":
      ground.turn = e.turn;
      ground.iteration = 0;
      ground.isInTurn = true;
      mark(ground, "turn", `turn ${e.turn}: ${oneLine(e.input, 60)}`);
      observe(ground, "what was said");
      return;
    case "model.asked":
      ground.iteration = e.iteration;
      seen(ground);
      {
        begin(ground, {
          id: `reason:${e.iteration}.${e.attempt}.${e.purpose}`,
          phase: "reason",
          call: null,
          text: e.purpose === "reply" ? e.model : `${e.model}, summing up`,
        });
        return;
      }
    case "model.replied":
      for (const part of e.parts) if (part.kind === "call") ground.tools.set(part.id, escapeHidden(part.tool));
      end(ground, `reason:${e.iteration}.${e.attempt}.${e.purpose}`, "done");
      return;
    case "model.failed":
      end(ground, `reason:${e.iteration}.${e.attempt}.${e.purpose}`, "failed");
      return;
    case "gate.decided":
      decided(ground, e.id, nameOf(ground, e), e.verdict);
      return;
    case "approval.asked":
      ground.asking.add(e.action);
      seen(ground);
      mark(ground, "question", oneLine(e.asks.map(({ question }) => question).join(" "), 80));
      return;
    case "act.started":
      seen(ground);
      begin(ground, { id: `act:${e.call}`, phase: "act", call: e.call, text: ground.tools.get(e.call) ?? escapeHidden(e.tool) });
      return;
    case "child.opened":
      seen(ground);
      begin(ground, { id: `act:${e.call}`, phase: "act", call: e.call, text: `${escapeHidden(e.agent)}, delegated` });
      return;
    case "act.ended":
      end(ground, `act:${e.call}`, e.outcome.kind);
      observe(ground, "what came of it");
      return;
    case "child.ended":
      end(ground, `act:${e.call}`, e.ending === "completed" ? "done" : "failed");
      observe(ground, "what came of it");
      return;
    case "labels.added":
      labelled(ground, e.labels, [], e.from);
      return;
    case "labels.removed":
      labelled(ground, [], e.labels, null);
      return;
    case "session.opened":
      e.labels.length === 0 ? undefined : labelled(ground, e.labels, [], null);
      return;
    case "turn.ended":
      for (const id of [...ground.open.keys()]) end(ground, id, id.startsWith("observe") ? "done" : "lost");
      ground.observing = false;
      ground.isInTurn = false;
      ground.asking.clear();
      mark(ground, "ended", e.ending);
      return;
    default:
      markWord(ground, e);
  }
}

/** People's words are moments, not work. */
function markWord(ground: Ground, e: JournalEvent): void {
  switch (e.kind) {
    case "approval.answered":
      mark(ground, "answer", `${escapeHidden(e.by.id)}: ${e.answer.kind}`);
      return;
    case "approval.expired":
      mark(ground, "answer", "nobody answered in time");
      return;
    case "input.steered":
      mark(ground, "steered", oneLine(e.text, 60));
      return;
    case "turn.cancel-asked":
      mark(ground, "cancel", oneLine(e.reason, 60));
      return;
    case "turn.halted":
      mark(ground, "halt", oneLine(`${e.scope}: ${e.reason}`, 60));
      return;
    default: // the others are not on the timeline
  }
}

type Begin = Pick<Span, "id" | "phase" | "call" | "text">;
function begin(ground: Ground, { id, phase, call, text }: Begin): void {
  const { view, entry, lanes } = ground;
  if (ground.open.has(id)) end(ground, id, "lost");
  const lane = phase === "act" ? laneFor(lanes, id) : 0;
  view.lanes = Math.max(view.lanes, lanes.length);
  ground.open.set(id, view.spans.length);
  const where = { seq: entry.seq, endSeq: null, at: entry.at, endAt: null, lane, turn: ground.turn, iteration: ground.iteration };
  view.spans.push({ id: `${id}@${entry.seq}`, phase, ...where, call, text, status: "open" });
}

/** The lowest that is free. */
function laneFor(lanes: (string | null)[], id: string): number {
  const free = lanes.indexOf(null);
  const lane = free === -1 ? lanes.length : free;
  lanes[lane] = id;
  return lane;
}

function end({ view, open, lanes, entry }: Ground, id: string, status: Span["status"], at = entry.at): void {
  const place = open.get(id);
  const span = place === undefined ? undefined : view.spans[place];
  if (place === undefined || span === undefined) return;
  open.delete(id);
  if (span.phase === "act") lanes[span.lane] = null;
  view.spans[place] = { ...span, endSeq: entry.seq, endAt: millis(Math.max(at, span.at)), status };
}

/** From here until somebody is asked, or acts again, what came in is made ready. */
function observe(ground: Ground, text: string): void {
  if (ground.observing) return;
  ground.observing = true;
  begin(ground, { id: "observe", phase: "observe", call: null, text });
}
function seen(ground: Ground): void {
  if (!ground.observing) return;
  ground.observing = false;
  end(ground, "observe", "done");
}

const SAID: Readonly<Record<Verdict["kind"], Span["status"]>> = {
  allow: "done",
  deny: "denied",
  ask: "asks",
  defer: "asks",
  modify: "done",
};

/** A decision takes no time of its own: from what it is about to the entry that has it. */
function decided(ground: Ground, id: ActionText, text: string, verdict: Verdict): void {
  seen(ground);
  ground.asking.delete(id);
  begin(ground, { id: `gate:${id}`, phase: "gate", call: ground.tools.has(id) ? callId(id) : null, text: `${text}: ${verdict.kind}` });
  end(ground, `gate:${id}`, SAID[verdict.kind] ?? "asks");
}

function nameOf(ground: Ground, { id, action }: Extract<JournalEvent, { kind: "gate.decided" }>): string {
  if (action.kind === "call") {
    ground.tools.set(action.call, escapeHidden(action.tool));
    return escapeHidden(action.tool);
  }
  return action.kind === "delegate" ? `delegate to ${escapeHidden(action.to)}` : (id.split(":")[0] ?? action.kind);
}

function labelled({ view, entry }: Ground, added: readonly Label[], removed: readonly Label[], from: CallId | null): void {
  const before = view.labels.at(-1)?.labels ?? [];
  const labels = [...new Set([...before, ...added.map(shown)])].filter((one) => !removed.map(shown).includes(one));
  view.labels.push({ seq: entry.seq, at: entry.at, added: added.map(shown), removed: removed.map(shown), from, labels });
}
const shown = (label: Label): Label => escapeHidden(label) as Label; // still the label, made visible

function mark({ view, entry }: Ground, kind: Mark["kind"], text: string, at = entry.at): void {
  view.marks.push({ kind, seq: entry.seq, at, text: escapeHidden(text) });
}

/** Where a moment stands when folds are taken out: milliseconds from the start, each fold as wide as `foldMs`. */
export function createTimeScale(
  { from, to, folds }: Pick<TimelineView, "from" | "to" | "folds">,
  foldMs: number,
): Readonly<{ whole: number; place(at: number): number }> {
  const start = from ?? 0;
  const saved: number[] = [0]; // up to the beginning of each fold
  for (const fold of folds) saved.push((saved.at(-1) ?? 0) + (fold.to - fold.from) - foldMs);
  const place = (at: number): number => {
    let [low, high] = [0, folds.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((folds[middle]?.from ?? 0) < at) low = middle + 1;
      else high = middle;
    }
    const last = folds[low - 1];
    const before = saved[low] ?? 0;
    if (last === undefined || at >= last.to) return at - start - before;
    return last.from - start - (saved[low - 1] ?? 0) + ((at - last.from) / (last.to - last.from)) * foldMs; // within it
  };
  return { whole: to === null ? 0 : place(to), place };
}
