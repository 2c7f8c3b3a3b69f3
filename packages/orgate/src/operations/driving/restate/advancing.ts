/** What Restate's handlers do here: drive a session, and say when somebody should look at it again. */
import { type Millis, millis, type SessionId } from "@orgate/core";
import { NODE } from "../../../runtime/ports/outside.ts";
import type { Store } from "../../../store/store.ts";
import type { DriveQueue } from "../drive-queue.ts";
import type { LeftSessions } from "../left-sessions.ts";
import type { RestatePorts } from "./endpoint.ts";

type Parts = Readonly<{
  store: Pick<Store, "journal" | "inbox" | "holder">;
  queue: Pick<DriveQueue, "drive">;
  left: Pick<LeftSessions, "due">;
  isLeaving(): boolean;
}>;

/** An intent that came while its driver was leaving, or a session for another worker, is looked for after this. */
const LEAVING_MS = 1_000;
/** What is due and was not done waits for something else, such as the end of a halt; a hold without an end is looked at again as often. */
const HELD_MS = 10_000;
const EVER = millis(0);

export function createAdvancing({ store, queue, left, isLeaving }: Parts): Pick<RestatePorts, "advance" | "look"> {
  const hasPending = async (session: SessionId): Promise<boolean> => (await store.inbox.pending(session)).length > 0;
  const isRunning = async (session: SessionId): Promise<boolean> => (await store.journal.session(session))?.state === "running";
  /** Null where nothing is due by itself. */
  async function dueIn(session: SessionId, since: Millis): Promise<number | null> {
    const due = await left.due(session, since).catch(() => null); // of an erased session nothing is due
    return due === null ? null : due - NODE.clock.now();
  }
  async function wantsDriving(session: SessionId): Promise<boolean> {
    if ((await hasPending(session)) || (await isRunning(session))) return true;
    const inMs = await dueIn(session, EVER);
    return inMs !== null && inMs <= 0;
  }
  /** Whoever holds it may be dead: its lease ends by itself. */
  const untilFree = (until: number | null): number =>
    until === null ? HELD_MS : Math.max(LEAVING_MS, until - NODE.clock.now() + LEAVING_MS);

  return {
    async advance(session) {
      const since = NODE.clock.now();
      if (await wantsDriving(session)) await queue.drive(session); // a message that comes late or twice writes nothing
      const holder = await store.holder(session);
      if (holder !== null) {
        const isOpen = (await hasPending(session)) || (await isRunning(session));
        return { againMs: isOpen ? untilFree(holder.until) : null };
      }
      if (isLeaving()) return { againMs: LEAVING_MS }; // for another worker: a new message goes where Restate sends messages by then
      const inMs = await dueIn(session, since);
      return { againMs: inMs === null || inMs > 0 ? inMs : HELD_MS };
    },
    async look(session) {
      if ((await store.holder(session)) === null) return { kind: "free" };
      return { kind: "held", againMs: (await hasPending(session)) ? LEAVING_MS : null };
    },
  };
}
