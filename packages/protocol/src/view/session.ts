/**
 * A session's entries as what people see of it. Shell and console show this and nothing else, and send intents, never state.
 *
 * V-1 every text of a view is escaped already: control, hidden and bidirectional characters are shown, whatever their source.
 * V-3 a call has one card from proposal to outcome, paired by its call id; a question stands where it was asked; a turn has one ending.
 * V-3 one entry is folded at a time, and what that costs does not grow with the session; the view at any entry is the fold of the entries up to it.
 * V-3 what the gate withholds is in no view until it is let through: no text of it, nor previews.
 */
import {
  actionKind,
  addUsage,
  ENDINGS,
  type Entry,
  escapeHidden,
  eventsIn,
  isEventKind,
  type JournalEvent,
  type Label,
  millis,
  type Part,
  principalName,
  type SessionId,
  seq,
} from "@orgate/core/vocab";
import { type CallEvent, dropCall, foldCall, foldProposal } from "./calls.ts";
import { MAX_SAID, type SessionView, shownText, type TurnTotals } from "./items.ts";
import { type Line, unknownKindLine } from "./lines/line.ts";
import { createNarrator } from "./lines/narrator.ts";
import { foldPreview, type PreviewOf } from "./preview.ts";
import { foldQuestion, type QuestionEvent, withdraw } from "./questions.ts";
import { foldEarlier, pushSaid } from "./said.ts";
import { callItem, NO_TOTALS, newView, push, replace, setCall, toPlacement, type ViewBuilder } from "./shared.ts";

type Of<K extends JournalEvent["kind"]> = Extract<JournalEvent, { kind: K }>;
export type SessionFold = Readonly<{
  /** Grows in place: its viewer reads it again after each entry. */
  view: SessionView;
  add(entry: Entry): void;
  /** An entry that is erased or bad: named in its place, and the others go on. */
  miss(place: Pick<Entry, "seq" | "at">, detail: string): void;
  preview(piece: PreviewOf): void;
}>;

export function createSessionFold(session: SessionId): SessionFold {
  const view = newView(session);
  const narrate = createNarrator();
  const ground: ViewBuilder = {
    view,
    places: new Map(),
    open: new Set(),
    asked: new Map(),
    touched: new Map(),
    isTold: false,
    withheld: [],
    lastReply: null,
    raw: { text: "", thinking: "" },
    entry: { seq: seq(0), at: millis(0) },
  };
  const notice = ({ mark, tone, text }: Pick<Line, "mark" | "tone" | "text">): void =>
    push(ground, { kind: "notice", ...toPlacement(ground, `notice:${ground.entry.seq}`), mark, tone, text });

  return {
    view,
    add(entry) {
      ground.entry = entry;
      view.seq = entry.seq;
      view.lastAt = entry.at;
      if (!isEventKind(entry.event.kind)) {
        view.unread += 1;
        return notice(unknownKindLine(entry.event));
      }
      const [line] = narrate(entry);
      for (const event of eventsIn(entry.event)) fold(ground, event);
      if (line !== undefined && NOTICED.has(entry.event.kind) && isNoticed(line, entry.event)) notice(line);
      view.state = stateOf(ground, entry.event);
    },
    miss(place, detail) {
      ground.entry = place;
      view.seq = place.seq;
      view.unread += 1;
      notice({ mark: "✗", tone: "warn", text: escapeHidden(detail) });
    },
    preview: (piece) => foldPreview(ground, piece),
  };
}

/** The view at an entry: the fold of those up to it. */
export function buildSessionView(session: SessionId, entries: Iterable<Entry>): SessionView {
  const fold = createSessionFold(session);
  for (const entry of entries) fold.add(entry);
  return fold.view;
}

function stateOf({ view }: ViewBuilder, e: JournalEvent): SessionView["state"] {
  if (e.kind === "session.closed" || view.state === "closed") return "closed";
  const last = view.turns.at(-1);
  if (last === undefined || last.endedAt !== null) return "idle";
  return view.openQuestions.length > 0 ? "waiting" : "running";
}

/** Kinds that are shown beside the conversation; the others are in cards, or only in the list of entries. */
const NOTICED: ReadonlySet<JournalEvent["kind"]> = new Set<JournalEvent["kind"]>([
  "session.forked",
  "agent.changed",
  "hold.taken",
  "model.failed",
  "context.compacted",
  "context.cleared",
  "context.compact-asked",
  "model.chosen",
  "output.checked",
  "calls.misread",
  "middleware.failed",
  "act.late",
  "labels.added",
  "labels.removed",
  "turn.cancel-asked",
  "turn.halted",
  "unknown.resolved",
  "unknown.reconcile-asked",
  "dead-letter.dismissed",
  "intent.refused",
  "session.closed",
]);
/** A new hold is shown only where the process before it was lost; that is why its line stands out. */
function isNoticed({ tone }: Line, e: JournalEvent): boolean {
  if (e.kind === "hold.taken") return tone === "accent";
  return e.kind !== "output.checked" || e.result.kind !== "fits";
}
function fold(ground: ViewBuilder, e: JournalEvent): void {
  const { view } = ground;
  switch (e.kind) {
    case "session.opened":
      opened(ground, e);
      return;
    case "session.forked":
      view.forkedFrom = { session: e.from, at: e.at };
      return;
    case "agent.changed":
      view.agent = escapeHidden(e.agent.name);
      view.model = e.agent.model;
      return;
    case "hold.taken":
      view.epoch = e.epoch;
      view.writer = e.writer;
      view.streaming = null;
      return;
    case "turn.started":
      started(ground, e);
      return;
    case "input.steered":
      withdraw(ground, (action) => actionKind(action) === "respond");
      pushSaid(ground, { how: "steered", by: principalName(e.by), text: e.text, files: e.files });
      return;
    case "input.queued":
      pushSaid(ground, { how: "queued", by: principalName(e.by), text: e.text, files: e.files });
      return;
    case "model.asked":
      view.iteration = e.iteration;
      view.streaming = null;
      return;
    case "model.failed":
      view.streaming = null;
      withdraw(ground, isOfModel);
      return;
    case "model.replied":
      replied(ground, e);
      return;
    case "labels.added":
      view.labels = [...new Set([...view.labels, ...e.labels.map(shownLabel)])];
      if (e.from !== null)
        setCall(ground, e.from, { labels: [...new Set([...(callItem(ground, e.from)?.labels ?? []), ...e.labels.map(shownLabel)])] });
      return;
    case "labels.removed":
      view.labels = view.labels.filter((one) => !e.labels.map(shownLabel).includes(one));
      return;
    case "turn.ended":
      ended(ground, e);
      return;
    case "gate.decided":
      if (e.action.kind === "respond") {
        responding(ground, e.verdict.kind === "allow");
        return;
      }
      foldCall(ground, e);
      return;
    case "middleware.applied":
      if (e.change.kind === "reply") {
        rewritten(ground, e.change.parts);
        return;
      }
      foldCall(ground, e);
      return;
    default:
      if (isOfCall(e)) {
        foldCall(ground, e);
        return;
      }
      if (isOfQuestion(e)) {
        foldQuestion(ground, e);
        return;
      }
  }
}

const OF_CALLS: ReadonlySet<string> = new Set<CallEvent["kind"]>([
  "act.started",
  "act.ended",
  "act.late",
  "recovery.applied",
  "child.opened",
  "child.ended",
  "unknown.resolved",
  "note",
]);
const OF_QUESTIONS: ReadonlySet<string> = new Set<QuestionEvent["kind"]>([
  "approval.asked",
  "approval.answered",
  "approval.expired",
  "approval.consumed",
]);
const isOfCall = (e: JournalEvent): e is CallEvent => OF_CALLS.has(e.kind);
const isOfQuestion = (e: JournalEvent): e is QuestionEvent => OF_QUESTIONS.has(e.kind);
const isOfModel = (action: string): boolean => /^(respond|model|summary):/.test(action);
const shownLabel = (label: Label): Label => escapeHidden(label) as Label; // still the label, made visible

function opened(ground: ViewBuilder, e: Of<"session.opened">): void {
  const { view, entry } = ground;
  view.agent = escapeHidden(e.agent.name);
  view.model = e.agent.model;
  view.principal = e.principal;
  view.surface = e.surface;
  view.external = e.external === null ? null : escapeHidden(e.external);
  view.parent = e.parent?.session ?? null;
  view.openedAt = entry.at;
  view.labels = e.labels.map(shownLabel);
  for (const [i, one] of e.history.entries()) foldEarlier(ground, one, i);
}

function started(ground: ViewBuilder, e: Of<"turn.started">): void {
  const { view, entry } = ground;
  view.turn = e.turn;
  view.iteration = 0;
  ground.isTold = false;
  ground.withheld = [];
  view.turns.push({ turn: e.turn, seq: entry.seq, startedAt: entry.at, endedAt: null, ending: null, totals: NO_TOTALS });
  pushSaid(ground, { how: "turn", by: principalName(e.by), text: e.input, files: e.files });
}

function replied(ground: ViewBuilder, e: Of<"model.replied">): void {
  const { view } = ground;
  view.streaming = null;
  withdraw(ground, isOfModel);
  count(
    view,
    { usage: addUsage(view.totals.usage, e.usage), micros: plus(view.totals.micros, e.micros), iterations: view.totals.iterations + 1 },
    e,
  );
  if (e.purpose !== "reply") return;
  ground.withheld = [];
  words(ground, e.parts, e.iteration, e.model);
  for (const part of e.parts) if (part.kind === "call") foldProposal(ground, part, view.turn);
}

function words(ground: ViewBuilder, parts: readonly Part[], iteration: number, model: string): void {
  const { view, entry } = ground;
  const textOf = (kind: "text" | "thinking"): string => parts.flatMap((part) => (part.kind === kind ? [part.text] : [])).join("");
  const [thinking, text] = [shownText(textOf("thinking"), MAX_SAID).text, shownText(textOf("text"), MAX_SAID).text];
  const shown = (whole: string): string => (ground.isTold ? whole : "");
  const hide = (key: string, whole: string): void => {
    if (!ground.isTold) ground.withheld = [...ground.withheld, { key, text: whole }];
  };
  if (thinking !== "") {
    const place = toPlacement(ground, `thinking:${entry.seq}`);
    hide(place.key, thinking);
    push(ground, { kind: "thinking", ...place, turn: view.turn, iteration, text: shown(thinking) });
  }
  if (text === "") return;
  const place = toPlacement(ground, `reply:${entry.seq}`);
  hide(place.key, text);
  ground.lastReply = place.key;
  push(ground, { kind: "reply", ...place, turn: view.turn, iteration, text: shown(text), withheld: !ground.isTold, model });
}

/** Only the last reply waits to be shown: text under an earlier refusal stays hidden. */
function responding(ground: ViewBuilder, isTold: boolean): void {
  ground.isTold = isTold;
  if (!isTold) return;
  for (const { key, text } of ground.withheld) {
    const item = ground.view.items[ground.places.get(key) ?? -1];
    if (item?.kind === "reply") replace(ground, { ...item, text, withheld: false });
    if (item?.kind === "thinking") replace(ground, { ...item, text });
  }
  ground.withheld = [];
}

/** Middleware has put other words in place of the model's. */
function rewritten(ground: ViewBuilder, parts: readonly Readonly<{ kind: string; text?: string }>[]): void {
  const text = shownText(parts.flatMap((part) => (part.kind === "text" ? [part.text ?? ""] : [])).join(""), MAX_SAID).text;
  const item = ground.view.items[ground.places.get(ground.lastReply ?? "") ?? -1];
  if (item?.kind !== "reply" || item.turn !== ground.view.turn || item.iteration !== ground.view.iteration) return;
  if (item.withheld) ground.withheld = ground.withheld.map((one) => (one.key === item.key ? { ...one, text } : one));
  else replace(ground, { ...item, text });
}

function ended(ground: ViewBuilder, e: Of<"turn.ended">): void {
  const { view, entry } = ground;
  const { ending, usage, lost, micros, iterations, calls, activeMs } = e;
  const totals = { usage, lost, micros, iterations, calls, activeMs };
  dropCall(ground);
  withdraw(ground, () => true);
  const last = view.turns.length - 1;
  const turn = view.turns[last];
  if (turn !== undefined) view.turns[last] = { ...turn, endedAt: entry.at, ending, totals };
  count(
    view,
    { calls: view.totals.calls + calls, activeMs: view.totals.activeMs + activeMs, lost: addUsage(view.totals.lost, lost) },
    null,
  );
  const output = e.output === null ? null : shownText(e.output, MAX_SAID).text;
  const answer = view.items.findLast((item) => item.kind === "reply" || item.kind === "said");
  push(ground, {
    kind: "ended",
    ...toPlacement(ground, `ended:${e.turn}`),
    turn: e.turn,
    ending,
    ...ENDINGS[ending],
    ...totals,
    detail: e.detail === null ? null : escapeHidden(e.detail),
    output: answer?.kind === "reply" && answer.text === output ? null : output,
    said: (output ?? "") !== "" || saidIn(view, e.turn),
  });
  view.running = [];
  view.streaming = null;
}

/** Looked for from the end: a turn's own items stand there. */
const saidIn = ({ items }: SessionView, turn: number): boolean =>
  items.findLast(
    (item) => (item.kind === "reply" && item.turn === turn && item.text.trim() !== "") || (item.kind === "said" && item.how === "turn"),
  )?.kind === "reply";

/** Of the session; and, of what a model used, of the turn in progress. */
function count(view: SessionView, set: Partial<TurnTotals>, used: Of<"model.replied"> | null): void {
  view.totals = { ...view.totals, ...set };
  const last = view.turns.length - 1;
  const turn = view.turns[last];
  if (used === null || turn === undefined) return;
  const { totals } = turn;
  const more = { usage: addUsage(totals.usage, used.usage), micros: plus(totals.micros, used.micros), iterations: totals.iterations + 1 };
  view.turns[last] = { ...turn, totals: { ...totals, ...more } };
}
const plus = (a: number | null, b: number | null): number | null => (a === null || b === null ? null : a + b);
