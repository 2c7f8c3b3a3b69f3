/**
 * Writes to the journal's database, synchronously, on one connection: in the main thread, or behind `worker.ts`.
 * Entries arrive sealed. Each write is conditional on what its sealer saw, checked inside the transaction, because other processes write too.
 */

import type { DatabaseSync } from "node:sqlite";
import { eraseFromBody, type Records, type SessionSummary, type StoredSeal } from "@orgate/core/journal";
import {
  type Epoch,
  epoch,
  errorMessage,
  type Fault,
  FaultError,
  type IntentId,
  isSessionStream,
  type Seq,
  type SessionId,
  type StreamId,
  seq,
  ZERO,
} from "@orgate/core/vocab";
import { sha256 } from "../../node/crypto.ts";
import type { Erased } from "../store.ts";
import { AppendWriter, type Owner, Refused, type SealedAppend } from "./append-writer.ts";
import { type Blobs, openBlobs } from "./blobs.ts";
import { type CountWriter, countWriter, rebuildCounts } from "./counts.ts";
import { type DeadLetterWriter, deadLetterWriter } from "./dead-letters.ts";
import { type FileGuard, guardDatabase } from "./disk/files.ts";
import { makeWalRoom } from "./disk/wal-room.ts";
import { rebuildSessionCounts, type SessionWriter, sessionWriter } from "./lists/sessions.ts";
import { openPlaceIndex, type PlaceIndex } from "./places.ts";
import { type CountPart, countKeys, openCountLedger } from "./proof/count-proof.ts";
import { JournalRows } from "./rows.ts";
import { type DatabasePaths, withWriteFaults } from "./schema.ts";
import { rebuildTrustedValues, type TrustedValueWriter, trustedValueWriter } from "./trusted-values.ts";

export type Batch = Readonly<{
  appends: readonly SealedAppend[];
  /** The number of the seal that covers the appends: `seal` itself, or the writer's next one. */
  number: number;
  /** Null: what is written here is sealed later. With a seal, the index and the lists catch up. */
  seal: StoredSeal | null;
  /** Rows of sessions that have changed since they were last written. */
  lists: readonly SessionSummary[];
  /** False: it need not reach the disk before the next one that does. */
  flush: boolean;
  owner: Owner;
  /** For each append, how far its process knew what others had changed. A file is read as it is, so nothing is asked of it there. */
  known: readonly number[];
}>;
/** `refused`: nothing was written; the append at `index` cannot be, and why. */
export type BatchResult = Readonly<{ kind: "done" } | { kind: "refused"; index: number; fault: Fault }>;

export type TakeHold = Readonly<{ session: SessionId; seen: Epoch; owner: Owner }>;
export type ErasedRange = Readonly<{ stream: StreamId; first: Seq; last: Seq; waitMs: number }>;

export type SqliteWriter = Readonly<{
  commit(batch: Batch): BatchResult;
  /** Null when the hold is not what was seen any more. */
  take(take: TakeHold): Epoch | null;
  release(session: SessionId, at: Epoch, owner: Owner): void;
  put(id: IntentId, session: SessionId, intent: string): "new" | "known";
  erase(erasure: ErasedRange): Erased;
  keepCounts(names: readonly string[], now: number): void;
  /** Throws unless the file takes a transaction, down to the disk; nothing of it changes. */
  probe(): void;
  close(): void;
}>;

/** Seals counters: the project's blob key, and where the writer's own seals end. */
export type Counting = Readonly<{ key: string | Uint8Array; start: CountPart }>;

/** `counting` is null for a process that only puts intents. */
export const openWriter = (db: DatabaseSync, places: DatabasePaths, counting: Counting | null): SqliteWriter =>
  new JournalWriter(db, places, counting);

/** A process that writes more than a command does is worth the few milliseconds that room in the WAL takes. */
const ROOM_AFTER = 8;
/** SQLite's number for it. */
const FULL = 2;

class JournalWriter implements SqliteWriter {
  readonly #db: DatabaseSync;
  readonly #files: FileGuard;
  readonly #counter: CountWriter | null;
  readonly #records: () => Records;
  readonly #blobs: Blobs;
  readonly #deadLetters: DeadLetterWriter;
  readonly #trustedValues: TrustedValueWriter;
  readonly #sessions: SessionWriter;
  readonly #appends: AppendWriter;
  readonly #sql: ReturnType<typeof prepareWriter>;
  readonly #rows: () => JournalRows;
  readonly #index: PlaceIndex;
  /** Appends that this process has written wait for a seal. */
  #isUnsealed = false;
  /** Somebody keeps counters; that does not end. */
  #isCounted = false;
  readonly #synchronous: number;
  readonly #file: string;
  #transactions = 0;
  #isFlushing = true;

  constructor(db: DatabaseSync, places: DatabasePaths, counting: Counting | null) {
    this.#db = db;
    this.#file = places.database;
    this.#synchronous = Number(db.prepare("PRAGMA synchronous").get()?.synchronous);
    this.#files = guardDatabase(places.database);
    rebuildCounts(db);
    this.#rows = () => new JournalRows(db, places);
    this.#records = () => this.#rows().records;
    this.#index = openPlaceIndex(db);
    this.#counter = counting === null ? null : openCounter(db, counting);
    this.#blobs = openBlobs(db, places.blobs);
    this.#deadLetters = deadLetterWriter(db);
    rebuildTrustedValues(db, this.#records);
    this.#trustedValues = trustedValueWriter(db);
    rebuildSessionCounts(db);
    this.#sessions = sessionWriter(db);
    const tables = { blobs: this.#blobs, deadLetters: this.#deadLetters, trustedValues: this.#trustedValues, sessions: this.#sessions };
    this.#appends = new AppendWriter(db, { ...tables, counts: () => this.#counts() });
    this.#sql = prepareWriter(db);
  }

  commit(batch: Batch): BatchResult {
    try {
      this.#flushing(batch.flush);
      if (!this.#commitAlone(batch)) this.#commitAll(batch);
      return { kind: "done" };
    } catch (error) {
      if (error instanceof Refused) return { kind: "refused", index: error.index, fault: error.fault };
      throw error;
    }
  }

  /** In WAL mode a later FULL commit flushes what NORMAL ones before it have written. */
  #flushing(flush: boolean): void {
    if (flush === this.#isFlushing) return;
    this.#db.exec(`PRAGMA synchronous = ${flush ? this.#synchronous : "normal"}`);
    this.#isFlushing = flush;
  }

  /** Most appends of a turn concern no table but their own: one statement, which is its own transaction. */
  #commitAlone({ appends, number, seal, owner }: Batch): boolean {
    const [a, ...more] = appends;
    if (a === undefined || more.length > 0 || seal !== null || !this.#isUnsealed || a.epoch === null) return false;
    if (a.isCountsOnly ? this.#isCounted : a.beside !== null) return false;
    const isWritten = withWriteFaults(() => this.#appends.writeAlone(a, { owner, seal: number }));
    if (isWritten) this.#confirm();
    else if (a.isCountsOnly) this.#isCounted = withWriteFaults(() => this.#appends.isAnythingCounted());
    return isWritten;
  }

  #commitAll({ appends, number, seal, lists, owner }: Batch): void {
    const { ledger } = this.#counts();
    this.#transact(() => {
      ledger.begin();
      this.#transactions += 1;
      if (this.#transactions === ROOM_AFTER && this.#synchronous >= FULL) makeWalRoom(this.#file);
      if (seal === null && !this.#isUnsealed) this.#sql.markUnsealed.run(owner.writer);
      for (const [index, append] of appends.entries()) this.#appends.write(append, index, { owner, seal: number });
      if (seal === null) return ledger.settleLast();
      this.#addSeal(seal, ledger.settle(seal));
      for (const one of lists) this.#sessions.touch(one);
      this.#index.catchUp(seal.at);
    });
    this.#isUnsealed = seal === null;
    ledger.done();
  }

  #addSeal(s: StoredSeal, counts: string): void {
    const recovered = s.recovered ? 1 : 0;
    this.#sql.addSeal.run(s.writer, s.number, s.at, s.previous, s.key, recovered, s.wrote, s.seen, s.hash, s.signature, counts);
    this.#sql.markSealed.run(s.writer);
  }

  take({ session, seen, owner }: TakeHold): Epoch | null {
    const row = this.#transact(() => this.#sql.takeHold.get(session, owner.writer, owner.incarnation, owner.pid, seen));
    return row === undefined ? null : epoch(Number(row.epoch));
  }

  release(session: SessionId, at: Epoch, owner: Owner): void {
    this.#transact(() => this.#sql.freeHold.run(session, at, owner.writer, owner.incarnation));
  }

  put(id: IntentId, session: SessionId, intent: string): "new" | "known" {
    return this.#transact(() => this.#appends.putIntent(id, session, intent)) ? "new" : "known";
  }

  erase({ stream, first, last, waitMs }: ErasedRange): Erased {
    this.#db.exec("PRAGMA secure_delete = ON");
    const rows = this.#transact(() => {
      const erased = this.#eraseRows({ stream, first, last });
      if (isSessionStream(stream)) {
        // The session cannot go on. Its unknowns and approval requests went with the record of the erasure; dead letters and its title are content too (J-9).
        this.#deadLetters.forget(stream);
        this.#sessions.endErased(stream);
      }
      this.#trustedValues.forget(stream);
      return { entries: erased.entries, blobs: this.#blobs.drop(erased.blobs), intents: Number(this.#sql.dropIntents.run(stream).changes) };
    });
    // Only now: had the erasure not become durable, its files would still be needed.
    const files = this.#transact(() => this.#blobs.sweep());
    return { ...rows, files, truncated: scrub(this.#db, waitMs) };
  }

  /** Takes salts and payloads out of the rows; hashes stay. Returns the blobs that these payloads referred to. */
  #eraseRows({ stream, first, last }: Omit<ErasedRange, "waitMs">): Readonly<{ entries: number; blobs: readonly string[] }> {
    const rows = this.#rows();
    const blobs: string[] = [];
    let entries = 0;
    for (let from = first; from <= last; ) {
      const [append] = rows.appendsFrom(stream, from, 1);
      if (append === undefined || append.first > last) break;
      const gone = rows.entriesOf(append).filter((e) => e.seq >= first && e.seq <= last && e.payload !== null);
      for (const { payload } of gone) blobs.push(...listBlobs(payload ?? ""));
      if (gone.length > 0) this.#sql.setBody.run(eraseFromBody(append, { first, last }, sha256), append.id);
      entries += gone.length;
      from = seq(append.first + append.count);
    }
    return { entries, blobs };
  }

  keepCounts(names: readonly string[], now: number): void {
    withWriteFaults(() => this.#counts().keep(names, this.#records, now));
    this.#confirm();
  }

  probe(): void {
    this.#transact(() => this.#db.exec("UPDATE format SET version = version"));
  }

  close(): void {
    this.#files.close();
    this.#db.close();
  }

  #counts(): CountWriter {
    return this.#counter ?? missingKey();
  }

  #transact<T>(work: () => T): T {
    try {
      this.#sql.begin.run();
      const result = work();
      this.#sql.commit.run();
      this.#confirm();
      return result;
    } catch (error) {
      // On a full disk SQLite has rolled back by itself.
      if (this.#db.isTransaction) this.#db.exec("ROLLBACK");
      if (error instanceof FaultError || error instanceof Refused) throw error;
      throw new FaultError({ kind: "journal-unwritable", detail: errorMessage(error) }, error);
    }
  }

  /** A commit counts only in files that others will read (J-3). A WAL that is merely unlinked is checkpointed first: it holds the commit. */
  #confirm(): void {
    try {
      this.#files.check();
    } catch (error) {
      if (this.#files.isWalGone()) rescue(this.#db);
      throw error;
    }
  }
}

const prepareWriter = (db: DatabaseSync) => ({
  begin: db.prepare("BEGIN IMMEDIATE"),
  commit: db.prepare("COMMIT"),
  addSeal: db.prepare("INSERT INTO seals VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"),
  /** Appends of this writer after that id are not sealed; null while all are. */
  markUnsealed: db.prepare("UPDATE writers SET unsealed = coalesce((SELECT max(id) FROM appends), 0) WHERE writer = ?"),
  markSealed: db.prepare("UPDATE writers SET unsealed = NULL WHERE writer = ? AND unsealed IS NOT NULL"),
  setBody: db.prepare("UPDATE appends SET body = ? WHERE id = ?"),
  takeHold: db.prepare(
    `INSERT INTO streams (stream, seq, hash, at, epoch, holder, incarnation, pid) VALUES (?, 0, '${ZERO}', 0, 1, ?, ?, ?)
     ON CONFLICT DO UPDATE SET epoch = epoch + 1, holder = excluded.holder, incarnation = excluded.incarnation, pid = excluded.pid
     WHERE epoch = ? RETURNING epoch`,
  ),
  freeHold: db.prepare(
    "UPDATE streams SET holder = NULL, incarnation = NULL, pid = NULL WHERE stream = ? AND epoch = ? AND holder = ? AND incarnation = ?",
  ),
  dropIntents: db.prepare("UPDATE inbox SET taken = 1, intent = NULL WHERE session = ? AND intent IS NOT NULL"),
});

function openCounter(db: DatabaseSync, { key, start }: Counting): CountWriter {
  const keys = countKeys(key);
  return countWriter(db, keys, openCountLedger(db, keys, start));
}
export function missingKey(): never {
  throw new Error("a writer that commits needs the project's keys");
}

function rescue(db: DatabaseSync): void {
  try {
    db.exec("PRAGMA wal_checkpoint(FULL)");
  } catch {
    // the error that made it necessary is the one that is reported
  }
}

/** Rewrites the file without what was freed, and empties the WAL. False when a reader was in the way for longer than `waitMs`. */
function scrub(db: DatabaseSync, waitMs: number): boolean {
  const timeout = Number(db.prepare("PRAGMA busy_timeout").get()?.timeout);
  try {
    return withWriteFaults(() => {
      db.exec("VACUUM");
      db.exec(`PRAGMA busy_timeout = ${waitMs}`);
      return db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get()?.busy === 0;
    });
  } finally {
    db.exec(`PRAGMA busy_timeout = ${timeout}`);
  }
}

/** Addresses in a stored payload, once per reference: its JSON is in one form, and a key of the event's own is never `$blob` (codec.ts). */
export const listBlobs = (payload: string): readonly string[] =>
  [...payload.matchAll(/"\$blob":\{"address":"([^"]+)"/g)].flatMap(([, address]) => address ?? []);
