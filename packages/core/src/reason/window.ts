/**
 * What of the conversation the model is shown. The task is pinned, a call and its results stay together, and the first message shown is a user's.
 * Work is amortised: the window only moves forward, over messages whose tokens were counted when they were made.
 */
import type { Message } from "./port.ts";

export type Window = { from: number; task: number; newest: number; tokens: number };

/** After `message` was pushed: counts it, and lets go of the oldest units until the budget holds again. */
export function widen(messages: readonly Message[], w: Window, message: Message, budget: number): void {
  if (message.role !== "tool") w.newest = messages.length - 1;
  w.tokens += message.tokens;
  while (w.tokens > budget && dropOldest(messages, w)) {}
}

/** A new task is pinned; the one before it becomes an ordinary message. */
export function pinTask(messages: readonly Message[], w: Window): void {
  const old = messages[w.task];
  if (old !== undefined && w.task < w.from) w.tokens -= old.tokens;
  w.task = messages.length - 1;
  for (; w.from < w.task && messages[w.from]?.role !== "user"; w.from += 1) w.tokens -= messages[w.from]?.tokens ?? 0; // a window never starts with a reply
}

function dropOldest(messages: readonly Message[], w: Window): boolean {
  let end = unitEnd(messages, w.from);
  while (end < w.task && messages[end]?.role !== "user") end = unitEnd(messages, end); // a window never starts with a reply
  if (w.from >= w.newest || end > w.newest) return false;
  for (let i = w.from; i < end; i += 1) if (i !== w.task) w.tokens -= messages[i]?.tokens ?? 0;
  w.from = end;
  return true;
}

function unitEnd(messages: readonly Message[], start: number): number {
  let end = start + 1;
  while (messages[end]?.role === "tool") end += 1;
  return end;
}

export function shown(messages: readonly Message[], w: Window): readonly Message[] {
  const task = messages[w.task];
  const rest = messages.slice(w.from);
  return task !== undefined && w.task < w.from ? [task, ...rest] : rest;
}
