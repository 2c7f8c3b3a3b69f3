/** Long strings beside the entries: small ones as rows, big ones as files. All writing happens under the database's write lock. */
import { closeSync, fsyncSync, mkdirSync, openSync, readdirSync, readFileSync, renameSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync, SQLInputValue } from "node:sqlite";

export const FILE_MIN_BYTES = 256 * 1024;

export type NewBlob = Readonly<{ address: string; text: string }>;

export type Blobs = Readonly<{
  /** Inside a transaction. A file is durable, its name included, before this returns. */
  add(blob: NewBlob): void;
  /** Inside a transaction: takes references away; the addresses that nothing refers to any more are gone from the table. */
  drop(addresses: readonly string[]): number;
  /** Removes every file without a row: what was dropped, and what a crash left between a file and its entry. */
  sweep(): number;
}>;

export function openBlobs(db: DatabaseSync, directory: string): Blobs {
  const insert = db.prepare("INSERT INTO blobs (address, refs, text) VALUES (?, 1, ?) ON CONFLICT DO UPDATE SET refs = refs + 1");
  const again = db.prepare("UPDATE blobs SET refs = refs + 1 WHERE address = ?");
  const less = db.prepare("UPDATE blobs SET refs = refs - 1 WHERE address = ?");
  const unused = db.prepare("DELETE FROM blobs WHERE address = ? AND refs <= 0");
  const known = db.prepare("SELECT 1 FROM blobs WHERE address = ?");
  const changes = (statement: { run(...values: SQLInputValue[]): { changes: number | bigint } }, ...values: SQLInputValue[]): number =>
    Number(statement.run(...values).changes);

  return {
    add({ address, text }) {
      if (changes(again, address) === 1) return;
      const asFile = text.length * 3 > FILE_MIN_BYTES && Buffer.byteLength(text) > FILE_MIN_BYTES;
      if (asFile) writeDurably(directory, address, text);
      insert.run(address, asFile ? null : text);
    },
    drop(addresses) {
      let gone = 0;
      for (const address of addresses) {
        less.run(address);
        gone += changes(unused, address);
      }
      return gone;
    },
    sweep() {
      let gone = 0;
      for (const name of namesIn(directory)) {
        if (known.get(name) !== undefined) continue;
        rmSync(join(directory, name), { force: true });
        gone += 1;
      }
      if (gone > 0) syncDirectory(directory);
      return gone;
    },
  };
}

/** Null when it is missing. `row` is the table's answer: its text, or null for a file. */
export function readBlobFile(directory: string, address: string): string | null {
  try {
    return readFileSync(join(directory, address), "utf8");
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

function writeDurably(directory: string, address: string, text: string): void {
  mkdirSync(directory, { recursive: true });
  const temporary = join(directory, `${address}.tmp`);
  const file = openSync(temporary, "w");
  try {
    const bytes = Buffer.from(text);
    for (let done = 0; done < bytes.length; ) done += writeSync(file, bytes, done);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(temporary, join(directory, address));
  syncDirectory(directory);
}

function syncDirectory(directory: string): void {
  if (process.platform === "win32") return; // a directory cannot be opened there; its file system journals names itself
  const handle = openSync(directory, "r");
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

const isMissing = (error: unknown): boolean => error instanceof Error && "code" in error && error.code === "ENOENT";
