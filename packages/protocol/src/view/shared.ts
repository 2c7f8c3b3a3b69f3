/** Shared by the parts of a session's fold: the view, and where in it things are. */
import type { ActionText, ApprovalId, Ask, CallId, Digest, Entry, Millis, Resource, Seq, SessionId, Vote } from "@orgate/core/vocab";
import { NO_USAGE, seq } from "@orgate/core/vocab";
import type { CallItem, CallStatus, QuestionItem, SessionView, TurnTotals, ViewItem } from "./items.ts";

export const NO_TOTALS: TurnTotals = { usage: NO_USAGE, lost: NO_USAGE, micros: 0, iterations: 0, calls: 0, activeMs: 0 };

export type ViewBuilder = {
  readonly view: SessionView;
  readonly places: Map<string, number>;
  /** Calls of the turn that have not come to an end. */
  readonly open: Set<CallId>;
  /** Questions as they are answered: who has said yes. */
  readonly asked: Map<ApprovalId, { readonly asks: readonly Ask[]; digest: Digest; votes: readonly Vote[] }>;
  readonly touched: Map<ActionText, Resource>;
  /** Whether text may be shown, as decided last in this turn; and the part of the last reply that waits for that. */
  isTold: boolean;
  withheld: readonly Readonly<{ key: string; text: string }>[];
  /** Of the last reply that said something. */
  lastReply: string | null;
  /** The words of a reply in progress as they came. */
  raw: { text: string; thinking: string };
  entry: Pick<Entry, "seq" | "at">;
};

export const newView = (session: SessionId): SessionView => ({
  session,
  agent: "",
  model: "",
  principal: null,
  surface: null,
  external: null,
  parent: null,
  forkedFrom: null,
  openedAt: null,
  lastAt: null,
  seq: seq(0),
  state: "idle",
  turn: 0,
  iteration: 0,
  labels: [],
  epoch: 0,
  writer: null,
  openQuestions: [],
  openUnknowns: [],
  running: [],
  totals: NO_TOTALS,
  turns: [],
  items: [],
  streaming: null,
  unread: 0,
});

export function push(ground: ViewBuilder, item: ViewItem): void {
  ground.places.set(item.key, ground.view.items.length);
  ground.view.items.push(item);
}

export const toPlacement = ({ entry }: ViewBuilder, key: string): Readonly<{ key: string; seq: Seq; at: Millis }> => ({
  key,
  seq: entry.seq,
  at: entry.at,
});

const found = <K extends ViewItem["kind"]>({ view, places }: ViewBuilder, kind: K, key: string): Extract<ViewItem, { kind: K }> | null => {
  const item = view.items[places.get(key) ?? -1];
  return item?.kind === kind ? (item as Extract<ViewItem, { kind: K }>) : null; // the type does not follow `kind` through a parameter
};
export const callItem = (ground: ViewBuilder, call: string): CallItem | null => found(ground, "call", `call:${call}`);
export const questionItem = (ground: ViewBuilder, approval: ApprovalId): QuestionItem | null =>
  found(ground, "question", `question:${approval}`);

/** Another object in the same place. */
export function replace(ground: ViewBuilder, item: ViewItem): void {
  const at = ground.places.get(item.key);
  if (at !== undefined) ground.view.items[at] = item;
}
export function setCall(ground: ViewBuilder, call: string, set: Partial<Omit<CallItem, "kind" | "key">>): void {
  const item = callItem(ground, call);
  if (item !== null) replace(ground, { ...item, ...set });
}

/** Nothing more becomes of it. */
export function closeCall(ground: ViewBuilder, call: string, status: CallStatus, set: Partial<Omit<CallItem, "kind" | "key">>): void {
  const item = callItem(ground, call);
  if (item === null) return;
  ground.open.delete(item.call);
  ground.view.running = without(ground.view.running, item.call);
  setCall(ground, call, { endedAt: ground.entry.at, live: "", ...set, status });
}

export const without = <T>(list: readonly T[], one: T): readonly T[] => list.filter((other) => other !== one);
export const withOne = <T>(list: readonly T[], one: T): readonly T[] => (list.includes(one) ? list : [...list, one]);
