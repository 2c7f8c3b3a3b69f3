/**
 * Delivers a signed intent: by the holder's socket, else as a row in the inbox, else the session is taken and driven here.
 *
 * W-1 An intent is durable before anybody learns that it was sent; delivering the same one again is one intent.
 * W-2 With no holder, or when the holder dies before it takes the intent, the sender drives the session: no intent is left behind.
 */

import { type Entry, type Intent, type IntentId, isFault, type Journal, type JournalEvent, type SessionId, seq } from "@orgate/core";
import { listSockets, offerIntent, type SocketAnswer } from "../store/intent-socket.ts";
import type { ReadStore } from "../store/store.ts";

export type IntentCarrier = Readonly<{
  /** Resolves once the intent is durable, or is refused. `known`: it was put before. */
  put(intent: Intent): Promise<"new" | "known" | Readonly<{ kind: "refused"; reason: string }>>;
  /** False when the time is up first: the session's holder takes the intent when it can. */
  waitUntilTaken(intent: Intent): Promise<boolean>;
}>;

export type IntentDelivery = Readonly<{
  inbox: Pick<ReadStore["inbox"], "put" | "state">;
  /** Of the journal. */
  directory: string;
  waitMs: number;
  /** Takes the session and drives it; `held` when a living process holds it, which may also be a fault `session-held`. */
  takeOver(): Promise<"drove" | "held">;
}>;

const LOOK_EVERY_MS = 50;
const TAKE_OVER_EVERY_MS = 500;

/** Carries one intent to the process that holds its session, or takes the session over. */
export function carryOrTakeOver({ inbox, directory, waitMs, takeOver }: IntentDelivery): IntentCarrier {
  let isHolderAlive = false;
  return {
    async put(intent) {
      const answered = await throughSocket(directory, intent);
      if (answered === null) return inbox.put(intent);
      isHolderAlive = true;
      return answered.kind === "refused" ? answered : answered.kind;
    },
    async waitUntilTaken({ id }) {
      const isTaken = async (): Promise<boolean> => (await inbox.state(id)) === "taken";
      const until = performance.now() + waitMs;
      // a process that has just answered is alive; the others are not known to be
      let nextTry = performance.now() + (isHolderAlive ? TAKE_OVER_EVERY_MS : 0);
      for (;;) {
        if (await isTaken()) return true;
        if (performance.now() >= nextTry) {
          if ((await takeOver().catch(heldElsewhere)) === "drove") return isTaken(); // not taken: the drive was stopped first
          nextTry = performance.now() + TAKE_OVER_EVERY_MS;
        }
        if (performance.now() >= until) return false;
        await new Promise((resume) => setTimeout(resume, LOOK_EVERY_MS));
      }
    },
  };
}

function heldElsewhere(error: unknown): "held" {
  if (isFault(error, "session-held")) return "held";
  throw error;
}

/** Null when no process that drives the session listens. */
async function throughSocket(directory: string, intent: Intent): Promise<Exclude<SocketAnswer, { kind: "elsewhere" }> | null> {
  for (const path of listSockets(directory)) {
    const answered = await offerIntent(path, intent);
    if (answered !== null && answered.kind !== "elsewhere") return answered;
  }
  return null;
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
