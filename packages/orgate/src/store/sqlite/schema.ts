/** The journal's database: its tables, how a connection is opened, and what SQLite's errors mean to us. */

import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { FORMAT } from "@orgate/core/journal";
import { errorMessage, FaultError } from "@orgate/core/vocab";
import { CLAIMS_SCHEMA } from "./claims.ts";
import { COUNTS_SCHEMA } from "./counts.ts";
import { DEAD_LETTERS_SCHEMA } from "./dead-letters.ts";
import { QUESTIONS_SCHEMA } from "./lists/approval-requests.ts";
import { SESSIONS_SCHEMA } from "./lists/sessions.ts";
import { PLACES_SCHEMA } from "./places.ts";
import { TRUSTED_VALUES_SCHEMA } from "./trusted-values.ts";
import { UNKNOWNS_SCHEMA } from "./unknowns.ts";

export type Synchronous = "full" | "normal" | "off";

/** `format.version` of a journal that nobody opens: it is being moved, or was moved away (`postgres/moving`). */
export const MOVED = 0;
export const WAS_MOVED =
  "its journal is being moved, or was moved away: run the same `orgate migrate` again, or correct [cluster] in orgate.toml";

/** Where everything of one journal lies. */
export type DatabasePaths = Readonly<{ directory: string; database: string; writers: string; blobs: string }>;
export const databasePaths = (directory: string): DatabasePaths => ({
  directory,
  database: join(directory, "journal.db"),
  writers: join(directory, "writers"),
  blobs: join(directory, "blobs"),
});

/** SQLite waits this long for another writer. Commits take milliseconds; only a process stopped inside one can use it up. */
const BUSY_MS = 120_000;

const SCHEMA = `
CREATE TABLE format (version INTEGER NOT NULL) STRICT;
CREATE TABLE appends (
  id INTEGER PRIMARY KEY, count INTEGER NOT NULL, stream INTEGER NOT NULL, first INTEGER NOT NULL, writer TEXT NOT NULL, seal INTEGER NOT NULL,
  hash TEXT NOT NULL, mac TEXT NOT NULL, body TEXT NOT NULL
) STRICT;
CREATE TABLE seals (
  writer TEXT NOT NULL, number INTEGER NOT NULL, at INTEGER NOT NULL, previous TEXT NOT NULL, key TEXT NOT NULL, recovered INTEGER NOT NULL,
  wrote TEXT NOT NULL, seen TEXT NOT NULL, hash TEXT NOT NULL, signature TEXT NOT NULL, counts TEXT NOT NULL, PRIMARY KEY (writer, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE streams (
  no INTEGER PRIMARY KEY, stream TEXT NOT NULL UNIQUE, seq INTEGER NOT NULL, hash TEXT NOT NULL, at INTEGER NOT NULL,
  epoch INTEGER NOT NULL, holder TEXT, incarnation INTEGER, pid INTEGER
) STRICT;
CREATE TABLE writers (writer TEXT PRIMARY KEY, incarnation INTEGER NOT NULL, unsealed INTEGER) STRICT, WITHOUT ROWID;
${PLACES_SCHEMA}
${SESSIONS_SCHEMA}
${QUESTIONS_SCHEMA}
${UNKNOWNS_SCHEMA}
${DEAD_LETTERS_SCHEMA}
${CLAIMS_SCHEMA}
${COUNTS_SCHEMA}
${TRUSTED_VALUES_SCHEMA}
CREATE TABLE inbox (
  arrival INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, session TEXT NOT NULL, intent TEXT, taken INTEGER NOT NULL, arrived_at INTEGER NOT NULL
) STRICT;
CREATE INDEX inbox_pending ON inbox (session, arrival) WHERE taken = 0;
CREATE TABLE halts (scope TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
CREATE TABLE blobs (address TEXT PRIMARY KEY, refs INTEGER NOT NULL, text TEXT) STRICT;
INSERT INTO format VALUES (${FORMAT});
`;

/** The tables of a journal, in a database that has none. */
export const createTables = (db: DatabaseSync): void => db.exec(SCHEMA);

/** `isMoving`: a journal that was closed for a move is opened all the same. */
export type OpenOptions = Readonly<{ create: boolean; synchronous: Synchronous; maxPages: number | null; isMoving?: boolean }>;

/** Opens a connection; makes the database when it is new and `create` says so. Throws `journal-unreadable`, naming the file. */
export function openDatabase(places: DatabasePaths, { create, synchronous, maxPages, isMoving = false }: OpenOptions): DatabaseSync {
  const file = places.database;
  if (!existsSync(file)) {
    if (!create) throw unreadable(file, "there is no such file");
    mkdirSync(dirname(file), { recursive: true });
  }
  const db = withReadFaults(file, () => new DatabaseSync(file, { timeout: BUSY_MS }));
  try {
    withReadFaults(file, () => {
      // Turning a new file to WAL is the one step for which SQLite does not wait by itself.
      patiently(() => db.exec("PRAGMA journal_mode = WAL"));
      db.exec(`PRAGMA synchronous = ${synchronous}`);
      prepareSchema(db, places, isMoving);
      if (maxPages !== null) db.exec(`PRAGMA max_page_count = ${maxPages}`);
    });
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function prepareSchema(db: DatabaseSync, places: DatabasePaths, isMoving: boolean): void {
  if (tablesOf(db) === 0) {
    db.exec("BEGIN IMMEDIATE");
    try {
      if (tablesOf(db) === 0) {
        // A file cut down to nothing looks like a new one; the writers' folder remembers that it is not.
        if (existsSync(places.writers) && readdirSync(places.writers).length > 0)
          throw unreadable(places.database, "it is empty, but the folder `writers` beside it shows that it has been written");
        db.exec(SCHEMA);
      }
      db.exec("COMMIT");
    } finally {
      if (db.isTransaction) db.exec("ROLLBACK");
    }
  }
  const isJournal = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'format'").get() !== undefined;
  if (!isJournal) throw unreadable(places.database, "it is a database, but not a journal");
  const version = db.prepare("SELECT version FROM format").get()?.version;
  if (version === MOVED && isMoving) return;
  if (version === MOVED) throw unreadable(places.database, WAS_MOVED);
  if (version !== FORMAT)
    throw unreadable(
      places.database,
      `its format is ${version ?? "not given"}, and this version reads format ${FORMAT} only: move the folder away, or use the version that wrote it`,
    );
}

/** Every table of a journal; one in which something was sealed has had them all. */
const TABLES: readonly string[] = [...SCHEMA.matchAll(/CREATE TABLE (\w+)/g)].flatMap(([, name]) => name ?? []);

/** Tables that are gone, and triggers and views, which a journal has none of. */
export function findStrangeSchema(db: DatabaseSync): readonly Readonly<{ what: string; detail: string }>[] {
  const all = db.prepare("SELECT type, name FROM sqlite_schema").all();
  const there = new Set(all.flatMap(({ type, name }) => (type === "table" ? [String(name)] : [])));
  const isOurs = there.has("seals") && db.prepare("SELECT 1 FROM seals LIMIT 1").get() !== undefined;
  const gone = isOurs ? TABLES.filter((name) => !there.has(name)) : [];
  const added = all.filter(({ type }) => type === "trigger" || type === "view");
  return [
    ...gone.map((name) => ({ what: `table \`${name}\``, detail: "it is gone: somebody dropped it" })),
    ...added.map(({ type, name }) => ({ what: `${type} \`${name}\``, detail: "it is no part of a journal: somebody added it" })),
  ];
}

const tablesOf = (db: DatabaseSync): unknown => db.prepare("SELECT count(*) AS n FROM sqlite_schema").get()?.n;

export const unreadable = (file: string, detail: string, cause?: unknown): FaultError =>
  new FaultError({ kind: "journal-unreadable", file, detail }, cause);

/** Runs what only reads: whatever SQLite says then, the file cannot be read as a journal. */
export function withReadFaults<T>(file: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof FaultError || sqliteCode(error) === null) throw error;
    throw unreadable(file, errorMessage(error), error);
  }
}

/** Runs what must write: whatever goes wrong then, the journal cannot be written. */
export function withWriteFaults<T>(write: () => T): T {
  try {
    return write();
  } catch (error) {
    if (error instanceof FaultError) throw error;
    throw new FaultError({ kind: "journal-unwritable", detail: errorMessage(error) }, error);
  }
}

/** SQLite's primary result code, or null for any other error. */
export function sqliteCode(error: unknown): number | null {
  if (!(error instanceof Error) || !("errcode" in error) || typeof error.errcode !== "number") return null;
  return error.errcode & 0xff;
}
export const isBusy = (error: unknown): boolean => sqliteCode(error) === 5;

/** Again while another process is in the way, for as long as SQLite itself would wait. */
function patiently(step: () => void): void {
  const until = performance.now() + BUSY_MS;
  for (;;) {
    try {
      step();
      return;
    } catch (error) {
      if (!isBusy(error) || performance.now() > until) throw error;
      pause(5);
    }
  }
}

/** Opening is synchronous, and so is its waiting. */
function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
