/** Which living process holds a session. J-4 a session is held by one process, for as long as that process lives; a new hold has a new epoch. */
import { epoch, FaultError, type SessionId } from "@orgate/core/vocab";
import { isSlotHeld } from "./process-lock.ts";
import type { Holding } from "./sealer.ts";
import type { Owner } from "./sqlite/append-writer.ts";
import type { SqliteReader } from "./sqlite/reader.ts";
import type { HoldRow } from "./sqlite/rows.ts";
import type { AnyWriter } from "./sqlite/thread.ts";
import type { Holder } from "./store.ts";

/** `owner`: null for a process that only reads, and has no slot. */
type HolderLookup = Readonly<{ owner: Owner | null; reader: SqliteReader; slots: string }>;

export function findHolder(session: SessionId, at: HolderLookup): Holder | null {
  const hold = at.reader.stream(session)?.hold;
  return hold === undefined ? null : livingHolder(hold, at);
}

export function findHolders(sessions: readonly SessionId[], at: HolderLookup): ReadonlyMap<SessionId, Holder> {
  const held = at.reader.held(sessions);
  const living = sessions.flatMap((session): readonly (readonly [SessionId, Holder])[] => {
    const hold = held.get(session);
    const holder = hold === undefined ? null : livingHolder(hold, at);
    return holder === null ? [] : [[session, holder]];
  });
  return new Map(living);
}

const livingHolder = (hold: HoldRow, at: HolderLookup): Holder | null =>
  hold.holder !== null && isHolderAlive(hold, at) ? { writer: hold.holder, pid: hold.pid, host: null, until: null } : null;

/** Holds of a process in its slot: it is sure of them for as long as it lives. */
export function slotHolding(writer: Pick<AnyWriter, "take">, at: HolderLookup & Readonly<{ owner: Owner }>): Holding {
  return {
    isSure: () => true,
    onChange: () => {},
    async take(session) {
      for (;;) {
        const hold = at.reader.stream(session)?.hold;
        if (hold !== undefined && isHolderAlive(hold, at))
          throw new FaultError({ kind: "session-held", session, by: `writer \`${hold.holder}\` (process ${hold.pid})` });
        const taken = await writer.take({ session, seen: hold?.epoch ?? epoch(0), owner: at.owner });
        if (taken !== null) return taken; // otherwise somebody else was first: look again
      }
    },
  };
}

/** A hold is valid exactly while its slot is locked by the very process that took the hold. */
function isHolderAlive(hold: HoldRow, at: HolderLookup): boolean {
  if (hold.holder === null) return false;
  if (hold.holder === at.owner?.writer) return hold.incarnation === at.owner.incarnation;
  return hold.incarnation === at.reader.incarnation(hold.holder) && isSlotHeld(at.slots, hold.holder);
}
