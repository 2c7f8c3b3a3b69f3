/**
 * The inbox as rows. A put of this process wakes its watchers at once; what other processes put is seen by asking SQLite every 50 ms
 * whether anybody wrote, and only while somebody watches: a parked session costs nothing.
 */
import type { DatabaseSync } from "node:sqlite";
import { type ReadIntent, readIntent } from "@orgate/core/inbox";
import type { Ports } from "@orgate/core/loop";
import { canonical, deepFreeze, type Intent, intentId, millis, readJson, type SessionId } from "@orgate/core/vocab";
import { reading } from "./sqlite/schema.ts";
import type { AnyWriter } from "./sqlite/thread.ts";

export type Inbox = Ports["inbox"] &
  Readonly<{
    /** Calls back when another connection has written anything; returns the way to stop. */
    watchChanges(changed: () => void): () => void;
    /** Sessions that something waits for. */
    waiting(): Promise<readonly SessionId[]>;
  }>;
const LOOK_EVERY_MS = 50;

export type OpenInbox = Inbox &
  Readonly<{
    /** Something was put in by this process, with an append. */
    wake(session: SessionId): void;
    close(): void;
  }>;

/** `close` stops the looking; what is in the inbox stays. `check` throws while nothing may be written. */
export function openInbox(db: DatabaseSync, file: string, writer: Pick<AnyWriter, "put">, check: () => void): OpenInbox {
  const pendingOf = db.prepare("SELECT id, session, intent, arrived_at FROM inbox WHERE session = ? AND taken = 0 ORDER BY arrival");
  const waitingSessions = db.prepare("SELECT DISTINCT session FROM inbox WHERE taken = 0");
  const takenOf = db.prepare("SELECT taken FROM inbox WHERE id = ?");
  const lastArrival = db.prepare("SELECT max(arrival) AS last FROM inbox");
  const arrivedAfter = db.prepare("SELECT arrival, session FROM inbox WHERE arrival > ? ORDER BY arrival");
  const dataVersion = db.prepare("PRAGMA data_version");

  const watchers = new Map<SessionId, Set<() => void>>();
  const anyChange = new Set<() => void>();
  let timer: NodeJS.Timeout | null = null;
  let seen = { version: 0, arrival: 0 };
  const version = (): number => Number(dataVersion.get()?.data_version);

  const wake = (session: SessionId): void => {
    for (const arrived of [...(watchers.get(session) ?? [])]) arrived();
  };
  function look(): void {
    try {
      lookNow();
    } catch {
      // the file cannot be read just now: whoever reads or writes for a reason hears of it; a look is tried again
    }
  }
  function lookNow(): void {
    const now = version();
    if (now === seen.version) return;
    for (const changed of [...anyChange]) changed();
    const rows = arrivedAfter.all(seen.arrival);
    seen = { version: now, arrival: Number(rows.at(-1)?.arrival ?? seen.arrival) };
    for (const session of new Set(rows.map((row) => row.session as SessionId))) wake(session);
  }
  function start(): void {
    seen = { version: version(), arrival: Number(lastArrival.get()?.last ?? 0) };
    timer = setInterval(look, LOOK_EVERY_MS).unref();
  }
  function stop(): void {
    if (timer !== null) clearInterval(timer);
    timer = null;
  }

  return {
    async put(intent) {
      check();
      const outcome = await writer.put(intent.id, intent.session, canonical(intent));
      if (outcome === "new") wake(intent.session);
      return outcome;
    },
    pending: async (session) =>
      reading(file, () => pendingOf.all(session)).map((row) => ({ intent: toIntent(row), arrivedAt: millis(Number(row.arrived_at)) })),
    async state(id) {
      const row = reading(file, () => takenOf.get(id));
      return row === undefined ? "absent" : row.taken === 1 ? "taken" : "pending";
    },
    waiting: async () => reading(file, () => waitingSessions.all()).map((row) => String(row.session) as SessionId),
    watch(session, arrived) {
      if (timer === null) start();
      const mine = (): void => arrived(); // the same function may watch twice
      const all = watchers.get(session) ?? new Set();
      watchers.set(session, all.add(mine));
      return () => {
        all.delete(mine);
        if (all.size === 0 && watchers.get(session) === all) watchers.delete(session);
        if (watchers.size === 0 && anyChange.size === 0) stop();
      };
    },
    watchChanges(changed) {
      if (timer === null) start();
      const mine = (): void => changed();
      anyChange.add(mine);
      return () => {
        anyChange.delete(mine);
        if (watchers.size === 0 && anyChange.size === 0) stop();
      };
    },
    wake,
    close() {
      watchers.clear();
      anyChange.clear();
      stop();
    },
  };
}

/** A row that cannot be read is still one: it is handed over as such, refused, and blocks nothing. */
function toIntent(row: Record<string, unknown>): Intent {
  const [id, session] = [intentId(String(row.id)), String(row.session) as SessionId];
  const json = readJson(String(row.intent));
  const read: ReadIntent = json.kind === "json" ? readIntent(json.value) : { kind: "refused", reason: json.detail };
  if (read.kind === "intent" && read.intent.id === id && read.intent.session === session) return deepFreeze(read.intent);
  const detail = read.kind === "refused" ? read.reason : "it names another session or id than its row";
  return {
    id,
    session,
    at: millis(0),
    by: { kind: "system", id: "unknown" },
    key: null,
    wish: { kind: "unreadable", detail },
    signature: null,
  };
}
