/**
 * Delivers a signed intent: by the holder's socket, else as a row in the inbox, else the session is taken and driven here.
 *
 * W-1 An intent is durable before anybody learns that it was sent; delivering the same one again is one intent.
 * W-2 With no holder, or when the holder dies before it takes the intent, the sender drives the session: no intent is left behind.
 * W-1 The outcome of an intent is read from the journal: the event it became, or the reason of its refusal.
 */

import { type Entry, type Intent, type IntentId, type Journal, type JournalEvent, type Seq, type SessionId, seq } from "@orgate/core";
import { eachEntry } from "@orgate/core/journal";
import { listSockets, offerIntent, type SocketAnswer } from "../store/intent-socket.ts";
import type { ReadStore } from "../store/journal.ts";

export type DeliveryRoute = "socket" | "row" | "own";

export type DeliveryOutcome =
  | Readonly<{ kind: "became"; entry: Entry; way: DeliveryRoute }>
  | Readonly<{ kind: "refused"; reason: string }>
  /** Durable, but not taken within the time given: the session's holder takes it when it can. */
  | Readonly<{ kind: "pending" }>;

export type IntentDelivery = Readonly<{
  store: Pick<ReadStore, "journal" | "inbox">;
  /** Of the journal. */
  directory: string;
  intent: Intent;
  waitMs: number;
  /** Takes the session and drives it; `held` when a living process holds it. */
  takeOver(): Promise<"drove" | "held">;
}>;

const LOOK_EVERY_MS = 50;
const TAKE_OVER_EVERY_MS = 500;

export async function deliver({ store, directory, intent, waitMs, takeOver }: IntentDelivery): Promise<DeliveryOutcome> {
  const before = await lastSeq(store, intent.session);
  const answered = await throughSocket(directory, intent);
  if (answered?.kind === "refused") return answered;
  if (answered === null) await store.inbox.put(intent);

  let way: DeliveryRoute = answered === null ? "row" : "socket";
  const until = performance.now() + waitMs;
  // a process that has just answered is alive; the others are not known to be
  let nextTry = performance.now() + (way === "socket" ? TAKE_OVER_EVERY_MS : 0);
  for (;;) {
    if ((await store.inbox.state(intent.id)) === "taken") return found(store, intent, before, way);
    if (performance.now() >= nextTry) {
      if ((await takeOver()) === "drove") way = "own";
      nextTry = performance.now() + TAKE_OVER_EVERY_MS;
      if (way === "own" && (await store.inbox.state(intent.id)) !== "taken") return { kind: "pending" }; // the drive was stopped first
      if (way === "own") continue;
    }
    if (performance.now() >= until) return { kind: "pending" };
    await new Promise((resume) => setTimeout(resume, LOOK_EVERY_MS));
  }
}

/** Null when no process that drives the session listens. */
async function throughSocket(directory: string, intent: Intent): Promise<Exclude<SocketAnswer, { kind: "elsewhere" }> | null> {
  for (const path of listSockets(directory)) {
    const answered = await offerIntent(path, intent);
    if (answered !== null && answered.kind !== "elsewhere") return answered;
  }
  return null;
}

async function lastSeq({ journal }: IntentDelivery["store"], session: SessionId): Promise<Seq> {
  return (await journal.session(session))?.seq ?? seq(0);
}

/** The commit that took the intent from the inbox also wrote the event that it became. */
async function found(
  { journal }: IntentDelivery["store"],
  { id, session }: Intent,
  before: Seq,
  way: DeliveryRoute,
): Promise<DeliveryOutcome> {
  for await (const entry of eachEntry(journal, session, before)) {
    if (readIntentId(entry.event) !== id) continue;
    return entry.event.kind === "intent.refused" ? { kind: "refused", reason: entry.event.reason } : { kind: "became", entry, way };
  }
  return { kind: "refused", reason: "it was sent before" }; // taken, and no trace after the place where we began
}

export function readIntentId(event: JournalEvent): IntentId | null {
  return "intent" in event ? event.intent : null;
}

/** The newest entry that fits; null if there is none. Reads from the end: it is new, and a conversation may be long. */
export async function findNewestEntry(
  journal: Pick<Journal, "read" | "session">,
  session: SessionId,
  isSought: (event: JournalEvent) => boolean,
): Promise<Entry | null> {
  let size = 16;
  for (let end: number = (await journal.session(session))?.seq ?? 0; end > 0; size *= 2) {
    const start = Math.max(0, end - size);
    const found = (await journal.read(session, seq(start), end - start)).findLast(({ event }) => isSought(event));
    if (found !== undefined) return found;
    end = start;
  }
  return null;
}
