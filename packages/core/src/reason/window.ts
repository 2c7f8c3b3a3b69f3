/**
 * The part of the conversation that the model is shown. The task is pinned, a call and its results stay together, and the first message is valid for every provider.
 * Old messages go (window), are shown as one line (mask), or are summarised (summary); the journal keeps all of it.
 * Work is amortised: every boundary only moves forward, over messages whose tokens were counted when they were made.
 */
import type { Seq } from "../vocab/index.ts";
import type { Message } from "./port.ts";
import type { TokenCount } from "./tokens.ts";
import { PER_MESSAGE } from "./tokens.ts";

export type Window = {
  from: number;
  task: number;
  newest: number;
  /** Of what is shown. */
  tokens: number;
  /** Results before this message are shown as one line, where that is shorter; `lines` has those that are still shown. */
  masked: number;
  readonly lines: Map<number, Message>;
  /** Units whose results are shown whole. */
  whole: number;
  /** Messages before this one are in the summary, or were never there to be summed up. */
  summed: number;
  summary: Summary | null;
};

/** The note that stands for the entries `first` to `last`. */
export type Summary = Readonly<{ message: Message; first: Seq; last: Seq }>;

export const newWindow = (): Window => ({
  from: 0,
  task: -1,
  newest: 0,
  tokens: 0,
  masked: 0,
  lines: new Map(),
  whole: 0,
  summed: 0,
  summary: null,
});

/** After `message` was pushed: counts it, and lets go of the oldest units, several at once, when the budget does not hold. */
export function widen(messages: readonly Message[], w: Window, message: Message, budget: number): void {
  const at = messages.length - 1;
  if (message.role !== "tool") w.newest = at;
  else if (isFirstResult(messages, at)) w.whole += 1;
  w.tokens += message.tokens;
  if (w.tokens > budget) while (w.tokens > budget * STEP && dropOldest(messages, w)) {}
}
/** So far the oldest go at once: a window that moved with every message would cost a provider's cache of the prompt every time. */
export const STEP = 0.75;

/** A new task is pinned; the one before it becomes an ordinary message. */
export function pinTask(messages: readonly Message[], w: Window): void {
  const old = messages[w.task];
  if (old !== undefined && w.task < w.from) w.tokens -= old.tokens;
  w.task = messages.length - 1;
  if (w.summary !== null) return;
  let start = w.from;
  while (start < w.task && messages[start]?.role !== "user") start += 1; // a window never starts with a reply
  letGo(messages, w, start);
}

function dropOldest(messages: readonly Message[], w: Window): boolean {
  let end = unitEnd(messages, w.from);
  while (w.summary === null && end < w.task && messages[end]?.role !== "user") end = unitEnd(messages, end); // a window never starts with a reply
  if (w.from >= w.newest || end > w.newest) return false;
  letGo(messages, w, end);
  return true;
}

/** Everything before `start` is shown no more, but for the task. */
function letGo(messages: readonly Message[], w: Window, start: number): void {
  for (let i = w.from; i < start; i += 1) {
    if (i !== w.task) w.tokens -= shownAt(messages, w, i)?.tokens ?? 0;
    if (i >= w.masked && isFirstResult(messages, i)) w.whole -= 1;
    w.lines.delete(i);
  }
  w.from = Math.max(w.from, start);
  w.masked = Math.max(w.masked, w.from);
}

function unitEnd(messages: readonly Message[], start: number): number {
  let end = start + 1;
  while (messages[end]?.role === "tool") end += 1;
  return end;
}

function unitStart(messages: readonly Message[], at: number): number {
  let start = at;
  while (start > 0 && messages[start]?.role === "tool") start -= 1;
  return start;
}

const isFirstResult = (messages: readonly Message[], i: number): boolean =>
  messages[i]?.role === "tool" && messages[i - 1]?.role !== "tool";

const shownAt = (messages: readonly Message[], w: Window, i: number): Message | undefined => w.lines.get(i) ?? messages[i];

export function listShownMessages(messages: readonly Message[], w: Window): readonly Message[] {
  const task = messages[w.task];
  const rest = messages.slice(w.from);
  for (const [i, line] of w.lines) rest[i - w.from] = line;
  if (w.summary !== null) rest.unshift(w.summary.message);
  return task !== undefined && w.task < w.from ? [task, ...rest] : rest;
}

// ── where a boundary may go ──

/** Messages before `upTo` that a boundary is moved over, and the entries they come from. */
export type MessageRange = Readonly<{ first: Seq; last: Seq; upTo: number }>;

/** The results of all units but the newest `keep`. */
export function maskable(messages: readonly Message[], w: Window, keep: number): MessageRange | null {
  let [start, left] = [messages.length, keep];
  for (; left > 0 && start > w.masked; left -= 1) {
    let at = start - 1;
    while (at >= w.masked && !isFirstResult(messages, at)) at -= 1;
    start = at < w.masked ? w.masked : unitStart(messages, at);
  }
  return rangeOf(messages, w.masked, start);
}

/** The oldest units, until no more than `target` tokens are left, or only what must stay. */
export function droppable(messages: readonly Message[], w: Window, target: number): MessageRange | null {
  const trial = { ...w, lines: new Map(w.lines) };
  while (trial.tokens > target && dropOldest(messages, trial)) {}
  return rangeOf(messages, w.from, trial.from);
}

/** All but the newest `keep` units, and of these only as many as have no more than `target` tokens. The newest one stays. */
export function summable(messages: readonly Message[], w: Window, keep: number, target: number): MessageRange | null {
  let [start, tokens] = [messages.length, 0];
  for (let left = keep; left > 0 && start > w.summed; left -= 1) {
    const at = unitStart(messages, start - 1);
    let more = 0;
    for (let i = at; i < start; i += 1) more += shownAt(messages, w, i)?.tokens ?? 0;
    if (start < messages.length && tokens + more > target) break;
    [start, tokens] = [at, tokens + more];
  }
  return start <= w.from ? null : rangeOf(messages, w.summed, start);
}

/** Whole units before `upTo` that may go: the newest stays, and what is left does not begin with a reply. */
export function droppableBefore(messages: readonly Message[], w: Window, upTo: number): MessageRange | null {
  const trial = { ...w, lines: new Map(w.lines) };
  let from = w.from;
  while (trial.from < upTo && dropOldest(messages, trial)) if (trial.from <= upTo) from = trial.from;
  return rangeOf(messages, w.from, from);
}

/** Results of the units before `upTo`, but for the newest unit. */
export const maskableBefore = (messages: readonly Message[], w: Window, upTo: number): MessageRange | null =>
  rangeOf(messages, w.masked, cutBefore(messages, w, upTo));

/** Units before `upTo`, but for the newest unit; an earlier summary is in the range. */
export function summableBefore(messages: readonly Message[], w: Window, upTo: number): MessageRange | null {
  const start = cutBefore(messages, w, upTo);
  return start <= w.from ? null : rangeOf(messages, w.summed, start);
}

/** The last place at or before `upTo` where the conversation may be cut: between two units, and before the newest. */
const cutBefore = (messages: readonly Message[], w: Window, upTo: number): number => unitStart(messages, Math.min(upTo, w.newest));

function rangeOf(messages: readonly Message[], base: number, upTo: number): MessageRange | null {
  if (upTo <= base) return null;
  const entries = messages.slice(base, upTo).map((m) => m.entry); // not in order: words said meanwhile come after the results that were awaited
  return { first: entries.reduce((a, b) => (b < a ? b : a)), last: entries.reduce((a, b) => (b > a ? b : a)), upTo };
}

// ── moving it; part of the fold ──

export function mask(messages: readonly Message[], w: Window, upTo: number, count: TokenCount): void {
  for (let i = w.masked; i < upTo; i += 1) {
    const m = messages[i];
    if (m?.role !== "tool") continue;
    if (isFirstResult(messages, i)) w.whole -= 1;
    const line = lineFor(m, count);
    if (line.tokens >= m.tokens) continue;
    w.lines.set(i, line);
    w.tokens -= m.tokens - line.tokens;
  }
  w.masked = Math.max(w.masked, upTo);
}

function lineFor(m: Extract<Message, { role: "tool" }>, count: TokenCount): Message {
  const text = `[left out: ${m.isError ? "an error" : "a result"} of ${m.tool}, call ${m.wireId}, entry ${m.entry}, ${m.text.length} characters]`;
  return { ...m, text, tokens: count(text) + PER_MESSAGE };
}

export function drop(messages: readonly Message[], w: Window, upTo: number): void {
  letGo(messages, w, Math.min(upTo, w.newest));
  w.summed = Math.max(w.summed, w.from); // what went without a summary is not gone over again before every later one
}

/** The summary stands in place of all it sums up; the one before it is in it. */
export function sumUp(messages: readonly Message[], w: Window, upTo: number, summary: Summary): void {
  w.summed = Math.max(w.summed, upTo);
  letGo(messages, w, Math.min(upTo, w.newest));
  w.tokens += summary.message.tokens - (w.summary?.message.tokens ?? 0);
  w.summary = summary;
}
