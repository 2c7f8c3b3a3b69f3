/**
 * The inbox as rows. A put of this process wakes its watchers at once. Intents of other processes are noticed by asking SQLite every 50 ms
 * whether anything was written, only while somebody watches: a parked session costs nothing.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { type ReadIntent, readIntent } from "@orgate/core/inbox";
import { deepFreeze, type Intent, intentId, millis, readJson, type SessionId, toCanonicalJson } from "@orgate/core/vocab";
import { withReadFaults } from "./sqlite/schema.ts";
import type { AnyWriter } from "./sqlite/thread.ts";
import type { StoreInbox } from "./store.ts";
import { Watchers } from "./watchers.ts";

const LOOK_EVERY_MS = 50;

export type OpenInbox = StoreInbox &
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
  const watch = new InboxWatch(db);

  return {
    async put(intent) {
      check();
      const outcome = await writer.put(intent.id, intent.session, toCanonicalJson(intent));
      if (outcome === "new") watch.wake(intent.session);
      return outcome;
    },
    pending: async (session) =>
      withReadFaults(file, () => pendingOf.all(session)).map((row) => ({
        intent: toIntent(row),
        arrivedAt: millis(Number(row.arrived_at)),
      })),
    async state(id) {
      const row = withReadFaults(file, () => takenOf.get(id));
      return row === undefined ? "absent" : row.taken === 1 ? "taken" : "pending";
    },
    waiting: async () => withReadFaults(file, () => waitingSessions.all()).map((row) => String(row.session) as SessionId),
    watch: (session, arrived) => watch.session(session, arrived),
    watchChanges: (changed) => watch.anything(changed),
    wake: (session) => watch.wake(session),
    close: () => watch.close(),
  };
}

/** Asks the database for changes, only while somebody watches. */
class InboxWatch {
  readonly #lastArrival: StatementSync;
  readonly #arrivedAfter: StatementSync;
  readonly #dataVersion: StatementSync;
  readonly #watchers = new Watchers();
  #timer: NodeJS.Timeout | null = null;
  #seen = { version: 0, arrival: 0 };

  constructor(db: DatabaseSync) {
    this.#lastArrival = db.prepare("SELECT max(arrival) AS last FROM inbox");
    this.#arrivedAfter = db.prepare("SELECT arrival, session FROM inbox WHERE arrival > ? ORDER BY arrival");
    this.#dataVersion = db.prepare("PRAGMA data_version");
  }

  wake(session: SessionId): void {
    this.#watchers.wake(session);
  }

  /** The result stops watching. */
  session(session: SessionId, arrived: () => void): () => void {
    return this.#until(this.#watchers.session(session, arrived));
  }

  anything(changed: () => void): () => void {
    return this.#until(this.#watchers.anything(changed));
  }

  #until(stop: () => void): () => void {
    this.#start();
    return () => {
      stop();
      this.#stopUnlessWatched();
    };
  }

  close(): void {
    this.#watchers.clear();
    this.#stopUnlessWatched();
  }

  #start(): void {
    if (this.#timer !== null) return;
    this.#seen = { version: this.#version(), arrival: Number(this.#lastArrival.get()?.last ?? 0) };
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY_MS).unref();
  }

  #stopUnlessWatched(): void {
    if (!this.#watchers.isEmpty) return;
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  #version(): number {
    return Number(this.#dataVersion.get()?.data_version);
  }

  #look(): void {
    try {
      this.#lookNow();
    } catch {
      // the file cannot be read just now: a read or write reports that; the look is tried again
    }
  }

  #lookNow(): void {
    const now = this.#version();
    if (now === this.#seen.version) return;
    this.#watchers.tellAll();
    const rows = this.#arrivedAfter.all(this.#seen.arrival);
    this.#seen = { version: now, arrival: Number(rows.at(-1)?.arrival ?? this.#seen.arrival) };
    for (const session of new Set(rows.map((row) => row.session as SessionId))) this.wake(session);
  }
}

/** A row that cannot be read is still one: it is handed over as such, refused, and blocks nothing. */
export function toIntent(row: Readonly<Record<string, unknown>>): Intent {
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
