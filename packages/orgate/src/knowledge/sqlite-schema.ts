/** The database of knowledge: its tables, and how a connection is opened. Beside the journal, in a file of its own. */

import { chmodSync, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { errorMessage, FaultError } from "@orgate/core/vocab";
import { assertNotAway } from "../store/sqlite/disk/moved.ts";

const FORMAT = 1;
/** SQLite waits this long for another process that writes. */
const BUSY_MS = 10_000;

/**
 * A realm is whose something is: one agent's own, the project's, what is shared. Its number stands in front of every word in the index, so that a word of
 * one realm is never a word of another, and how often others use it tells nobody anything.
 */
const SCHEMA = `
CREATE TABLE format (version INTEGER NOT NULL) STRICT;
CREATE TABLE realms (n INTEGER PRIMARY KEY, scope TEXT NOT NULL, agent TEXT NOT NULL, UNIQUE (scope, agent)) STRICT;
CREATE TABLE items (
  n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, realm INTEGER NOT NULL, kind TEXT NOT NULL, slot TEXT, document TEXT, directory TEXT,
  body TEXT NOT NULL, scope TEXT NOT NULL, agent TEXT, confidence REAL NOT NULL, source TEXT NOT NULL, labels TEXT NOT NULL, verified INTEGER NOT NULL,
  stream TEXT, seq INTEGER, created INTEGER NOT NULL, valid_from INTEGER, valid_to INTEGER, used_at INTEGER, uses INTEGER NOT NULL, superseded_by TEXT
) STRICT;
CREATE INDEX items_slot ON items (slot) WHERE slot IS NOT NULL AND superseded_by IS NULL;
CREATE INDEX items_document ON items (document, scope, agent) WHERE document IS NOT NULL;
CREATE TABLE word_counts (word TEXT PRIMARY KEY, items INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE VIRTUAL TABLE item_words USING fts5(words, tokenize = "unicode61 remove_diacritics 0 categories 'L* N* M* Co'");
INSERT INTO item_words (item_words, rank) VALUES ('secure-delete', 1);
CREATE TABLE documents (
  path TEXT NOT NULL, scope TEXT NOT NULL, agent TEXT NOT NULL, digest TEXT NOT NULL, chunks INTEGER NOT NULL, PRIMARY KEY (path, scope, agent)
) STRICT, WITHOUT ROWID;
CREATE TABLE forgotten (id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
CREATE TABLE embedding (model TEXT NOT NULL, dimension INTEGER NOT NULL) STRICT;
CREATE TABLE embedded (n INTEGER PRIMARY KEY) STRICT;
INSERT INTO format VALUES (${FORMAT});
`;

export const KNOWLEDGE_FILE = "knowledge.db";
export const knowledgeFile = (directory: string): string => join(directory, KNOWLEDGE_FILE);
export const hasKnowledge = (directory: string): boolean => existsSync(knowledgeFile(directory));

/** `isMoving`: also where a move has closed it (`postgres/moving.ts`). */
export function openKnowledgeDatabase(directory: string, { isMoving = false }: Readonly<{ isMoving?: boolean }> = {}): DatabaseSync {
  const file = knowledgeFile(directory);
  let db: DatabaseSync | null = null;
  try {
    mkdirSync(directory, { recursive: true });
    const isNew = !existsSync(file);
    db = new DatabaseSync(file, { timeout: BUSY_MS, allowExtension: true });
    const opened = db;
    if (isNew) chmodSync(file, 0o600);
    patiently(() => opened.exec("PRAGMA journal_mode = WAL"));
    if (!isMoving) assertNotAway(db, file);
    db.exec("PRAGMA synchronous = FULL; PRAGMA secure_delete = ON; PRAGMA temp_store = MEMORY");
    db.exec("BEGIN IMMEDIATE");
    if (db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'format'").get() === undefined) db.exec(SCHEMA);
    const version = Number(db.prepare("SELECT version FROM format").get()?.version);
    db.exec("COMMIT");
    if (version !== FORMAT) throw new Error(`it is of format ${version}, and this version reads ${FORMAT}`);
    return db;
  } catch (error) {
    db?.close();
    if (error instanceof FaultError) throw error;
    const detail = `cannot be read as a store of knowledge: ${errorMessage(error)}`;
    throw new FaultError(
      { kind: "file-bad", file, line: null, column: null, detail, hint: "put it aside, and `orgate knowledge import` what was exported" },
      error,
    );
  }
}

/** Turning a new file to WAL is the one step for which SQLite does not wait by itself. */
function patiently(work: () => void): void {
  for (let left = 200; ; left -= 1) {
    try {
      work();
      return;
    } catch (error) {
      if (left === 0 || !/locked|busy/i.test(String(error))) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    }
  }
}
