/**
 * Opens the store of a project: journal, inbox and records in SQLite, for any number of processes at once.
 * `appends.ts` collects and commits, `sealer.ts` seals, `sqlite/writer.ts` writes in this thread or in a worker, `sqlite/reader.ts` reads.
 */

import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import type { Head, Journal, SealPorts } from "@orgate/core/journal";
import { type Digest, errorMessage, FaultError, type WriterId } from "@orgate/core/vocab";
import { sha256 } from "../node/crypto.ts";
import { saltSource } from "../node/salts.ts";
import { assertTrusted, SqliteJournal } from "./appends.ts";
import { findHolder, findHolders, slotHolding } from "./holders.ts";
import { openRequestKeys } from "./idempotency-keys.ts";
import { openInbox } from "./inbox.ts";
import { journalReads } from "./journal-reads.ts";
import { listProcesses, takeSlot } from "./process-lock.ts";
import type { Owner } from "./sqlite/append-writer.ts";
import { findWrongCounts } from "./sqlite/counts.ts";
import { guardFiles } from "./sqlite/disk/files.ts";
import { findWrongSessionCounts } from "./sqlite/lists/sessions.ts";
import { findWrongPlaces } from "./sqlite/places.ts";
import { type Alarms, openAlarms, toStoreAlarms } from "./sqlite/proof/alarms.ts";
import { type Bonds, openBonds } from "./sqlite/proof/bonds.ts";
import { findMisattributed, findWrongTables } from "./sqlite/proof/compare.ts";
import { appendMacs, findForgedRows, findWrongWriters, openSeals, UNPROVED } from "./sqlite/proof/seals.ts";
import { openSums, type Sums } from "./sqlite/proof/sums.ts";
import { openReader, type SqliteReader } from "./sqlite/reader.ts";
import { JournalRows } from "./sqlite/rows.ts";
import { databasePaths, findStrangeSchema, openDatabase, withWriteFaults } from "./sqlite/schema.ts";
import { dataVersion } from "./sqlite/side-table.ts";
import { type AnyWriter, openWriterThread } from "./sqlite/thread.ts";
import { findWrongTrustedSets } from "./sqlite/trusted-values.ts";
import { missingKey, openWriter } from "./sqlite/writer.ts";
import type { CommitOptions, ReadStore, Snapshot, Store, StoreOpening } from "./store.ts";

export type StoreOptions = StoreOpening &
  CommitOptions &
  Readonly<{
    thread?: "main" | "worker";
    /** The database grows to at most this many pages of 4 KiB. */
    maxPages?: number;
  }>;

/** The files of a store in SQLite are their own snapshot. */
export type SqliteReadStore = ReadStore & Omit<Snapshot, "close">;
export type SqliteStore = Store & Omit<Snapshot, "close">;

/** Whether anything was ever written here: before the first run there is nothing to look at. */
export const hasJournal = (directory: string): boolean => existsSync(databasePaths(directory).database);

export type ReadOptions = Readonly<{
  directory: string;
  /** A project that has no journal yet gets an empty one. */
  create?: boolean;
  /** Null without the project's root key: entries are then chained, and not proved. */
  trust?: StoreOptions["trust"] | null;
  /** Null without the project's keys: rows of approval requests are then believed. */
  blobKey?: StoreOptions["blobKey"] | null;
}>;

/** Throws `journal-unreadable`. */
export function openReadStore({ directory, create = false, trust = null, blobKey = null }: ReadOptions): SqliteReadStore {
  const places = databasePaths(directory);
  const db = openDatabase(places, { create, synchronous: "full", maxPages: null });
  const alarms = openAlarms(directory, trust === null ? null : blobKey);
  raiseStrange(db, alarms);
  const macOf = blobKey === null ? null : appendMacs(blobKey);
  const seals = (rows: JournalRows) => (trust === null ? UNPROVED : openSeals({ rows, trust, alarms, hash: sha256, macOf }));
  const reader = openReader(db, places, { seals, key: trust === null ? null : blobKey });
  const writer = openWriter(db, places, null);
  const inbox = openInbox(db, places.database, writer, () => assertTrusted(alarms));
  return {
    journal: { ...journalReads(reader), watch: (changed) => inbox.watchChanges(() => changed(null)) },
    inbox,
    alarms: toStoreAlarms(alarms),
    head: async () => headOf(reader),
    ...snapshotOf({ directory, records: reader.records, wrongRows: (now) => wrongRows(db, reader, { now, macOf }) }),
    holder: async (session) => findHolder(session, { owner: null, reader, slots: places.writers }),
    holders: async (sessions) => findHolders(sessions, { owner: null, reader, slots: places.writers }),
    processes: async () => listProcesses(places.writers, null),
    async close() {
      inbox.close();
      writer.close();
    },
  };
}

export function openStore(options: StoreOptions): SqliteStore {
  const { directory, keyFor, thread = "main", powerCut = "lose-nothing", maxPages = null } = options;
  const places = databasePaths(directory);
  const open = { create: true, synchronous: powerCut === "lose-last-moments" ? "off" : "full", maxPages } as const;
  const db = openDatabase(places, open);
  const taken = closingOnError(db, () => withWriteFaults(() => takeSlot(places.writers)));
  try {
    const alarms = openAlarms(directory, options.blobKey);
    raiseStrange(db, alarms);
    const macOf = appendMacs(options.blobKey);
    const seals = (rows: JournalRows) => openSeals({ rows, trust: options.trust, alarms, hash: sha256, macOf });
    const reader = openReader(db, places, { seals, key: options.blobKey });
    const owner: Owner = { writer: taken.writer, incarnation: withWriteFaults(() => nextIncarnation(db, taken.writer)), pid: process.pid };
    const counting = { key: options.blobKey, start: reader.countProof?.partOf(owner.writer) ?? missingKey() };
    const writer: AnyWriter = thread === "main" ? openWriter(db, places, counting) : openWriterThread({ places, open, counting });
    const ports: SealPorts = { writer: owner.writer, hash: sha256, salt: saltSource(), ...keyFor(owner.writer) };
    const confirm = guardFiles([taken.file]).check;
    const inbox = openInbox(db, places.database, writer, () => assertTrusted(alarms));
    const rows = new JournalRows(db, places);
    const { bonds, sums } = openProofs({ ...{ db, rows, reader, alarms }, owner: owner.writer, blobKey: options.blobKey });
    const journal = new SqliteJournal({
      reader,
      writer,
      ports,
      owner,
      alarms,
      bonds,
      sums,
      holding: slotHolding(writer, { owner, reader, slots: places.writers }),
      fetch: null,
      isKeyNew: false,
      keepCounts: countKeeper(reader, writer),
      blobKey: options.blobKey,
      sealing: options.sealing ?? "interval",
      powerCut,
      inbox,
      confirm,
    });
    const requests = openRequestKeys(directory);
    let closing: Promise<void> | null = null;
    const close = async (): Promise<void> => {
      await journal.close();
      for (const one of [requests, inbox]) one.close();
      await writer.close();
      if (thread === "worker") db.close();
      taken.free();
    };
    return {
      journal: { ...journal.port(), close: () => (closing ??= close()) },
      inbox,
      alarms: toStoreAlarms(alarms),
      head: async () => headOf(reader),
      ...snapshotOf({ directory, records: reader.records, wrongRows: (now) => wrongRows(db, reader, { now, macOf }) }),
      holder: async (session) => findHolder(session, { owner, reader, slots: places.writers }),
      holders: async (sessions) => findHolders(sessions, { owner, reader, slots: places.writers }),
      slot: { writer: owner.writer, incarnation: owner.incarnation, isNew: reader.writerHead(owner.writer).number === 0 },
      requests,
      ...{ claims: null, signals: null },
      processes: async () => listProcesses(places.writers, owner.writer),
      play: async () => {}, // on one machine nobody asks
      unknowns: async (page) => reader.unknowns.page(page),
      unknownsOf: async (session) => reader.unknowns.ofSession(session),
      tally: async () => reader.tally(),
      stored: async (stream, place) => reader.stored(stream, place),
      async checkWritable() {
        journal.check();
        await writer.probe();
        await probeDisk(directory);
      },
      stopped: journal.whenStopped,
      seal: () => journal.seal(),
      erase: async (stream, first, last, waitMs = 5_000) => writer.erase({ stream, first, last, waitMs }),
      close: () => (closing ??= close()),
    };
  } catch (error) {
    taken.free();
    db.close();
    throw error;
  }
}

const snapshotOf = (own: Omit<Snapshot, "close">) => ({
  ...own,
  snapshot: async (): Promise<Snapshot> => ({ ...own, close: async () => {} }),
});

/** What will be counted is proved first. */
const countKeeper =
  (reader: SqliteReader, writer: Pick<AnyWriter, "keepCounts">): Journal["keepCounts"] =>
  async (names, now) => {
    reader.proveToBeCounted(names, now);
    await writer.keepCounts(names, now);
  };

/** More than a journal's own files have to spare: a change in place does not notice a full disk. */
const PROBE_BYTES = 256 * 1024;

/** W-23 a file is written, put on disk and taken away again. */
async function probeDisk(directory: string): Promise<void> {
  const file = join(directory, `.probe-${process.pid}-${randomBytes(4).toString("hex")}`);
  try {
    await writeFile(file, new Uint8Array(PROBE_BYTES), { flag: "wx", mode: 0o600, flush: true });
  } catch (error) {
    throw new FaultError({ kind: "journal-unwritable", detail: errorMessage(error) }, error);
  } finally {
    await rm(file, { force: true });
  }
}

/** A table that is gone, or a trigger or view that is not ours: what is made again or changed behind our back hides something. */
function raiseStrange(db: DatabaseSync, alarms: Alarms): void {
  for (const { what, detail } of findStrangeSchema(db)) alarms.raise(what, detail);
}

type ProofParts = Readonly<{
  db: DatabaseSync;
  rows: JournalRows;
  reader: SqliteReader;
  alarms: Alarms;
  owner: WriterId;
  blobKey: string | Uint8Array;
}>;

/** Opens what binds streams and tables to the seals, and checks it. */
function openProofs({ db, rows, reader, alarms, owner, blobKey }: ProofParts): Readonly<{ bonds: Bonds; sums: Sums }> {
  return orDoubted(alarms.standing().length > 0 ? alarms : null, () => {
    const bonds = openBonds({ db, rows, owner, trust: reader.seals.trust(), alarms, seals: reader.seals, hash: sha256, newestSeals: null });
    const sums = openSums({
      ...{ db, version: dataVersion(db), sumsCounts: true, owner, key: blobKey, alarms },
      sealed: reader.sealedSums,
      sumOfQuestions: () => reader.questionProof?.sum() ?? 0n,
    });
    sums.check();
    reader.countProof?.check();
    return { bonds, sums };
  });
}

/** An error while an alarm stands is reported as the alarm, which says what to do about it. */
function orDoubted<T>(standing: Alarms | null, open: () => T): T {
  try {
    return open();
  } catch (error) {
    if (standing !== null) assertTrusted(standing);
    throw error;
  }
}

type RowChecks = Readonly<{ now: number; macOf: ((hash: Digest) => string) | null }>;

/** One moment of the database: writes meanwhile are not seen. */
function wrongRows(db: DatabaseSync, { records }: SqliteReader, { now, macOf }: RowChecks): readonly string[] {
  db.exec("BEGIN");
  try {
    return [
      ...findWrongTables(db, records),
      ...findWrongSessionCounts(db),
      ...findWrongPlaces(db),
      ...findMisattributed(db, records),
      ...findWrongWriters(db),
      ...(macOf === null ? [] : findForgedRows(db, macOf)),
      ...findWrongCounts(db, records, now).map((name) => `counter ${name}`),
      ...findWrongTrustedSets(db, records).map((set) => `set ${set}`),
    ];
  } finally {
    if (db.isTransaction) db.exec("COMMIT");
  }
}

function headOf(reader: SqliteReader): Head {
  return new Map([...reader.records.writers()].map((writer) => [writer, reader.writerHead(writer)]));
}

/** Each taking of a slot has a number, so that holds of a process that ended are not taken for those of the next one in its slot. */
function nextIncarnation(db: DatabaseSync, writer: WriterId): number {
  const next = db.prepare(
    "INSERT INTO writers (writer, incarnation) VALUES (?, 1) ON CONFLICT DO UPDATE SET incarnation = incarnation + 1 RETURNING incarnation",
  );
  return Number(next.get(writer)?.incarnation);
}

function closingOnError<T>(db: DatabaseSync, step: () => T): T {
  try {
    return step();
  } catch (error) {
    db.close();
    throw error;
  }
}
