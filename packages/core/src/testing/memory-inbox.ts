/** The inbox on a memory disk. Watchers are called in the tick of the put, whichever process put it. */
import type { Arrived, Inbox } from "../inbox/port.ts";
import { copyFrozen, type Fault, FaultError, type Millis } from "../vocab/index.ts";
import type { MemoryDisk } from "./memory-journal.ts";

/** `stopped` says why the process that asks can no longer write, if so. */
export function memoryInbox(disk: MemoryDisk, stopped: () => Fault | null, now: () => Millis): Inbox {
  return {
    async put(intent) {
      const fault = stopped();
      if (fault !== null) throw new FaultError(fault);
      if (disk.inbox.has(intent.id)) return "known";
      disk.inbox.set(intent.id, { id: intent.id, session: intent.session, intent: copyFrozen(intent), arrivedAt: now() });
      for (const w of [...disk.watchers]) if (w.session === intent.session) w.arrived();
      return "new";
    },
    async pending(session) {
      const pending: Arrived[] = [];
      for (const { intent, arrivedAt, session: of } of disk.inbox.values())
        if (of === session && intent !== null) pending.push({ intent, arrivedAt });
      return pending;
    },
    async state(id) {
      const row = disk.inbox.get(id);
      return row === undefined ? "absent" : row.intent === null ? "taken" : "pending";
    },
    watch(session, arrived) {
      const watcher = { session, arrived: () => (stopped() === null ? arrived() : undefined) };
      disk.watchers.add(watcher);
      return () => disk.watchers.delete(watcher);
    },
  };
}
