/**
 * Writer slots: one lock file per process that appends, locked for as long as the process lives. kill -9 frees it, SIGSTOP does not.
 *
 * The lock is an exclusive SQLite lock on a file of its own. POSIX drops a process's locks on a file as soon as ANY descriptor of that
 * file is closed in the process, so lock files are never opened other than through SQLite, which knows of that and keeps them open.
 */
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type WriterId, writerId } from "@orgate/core/vocab";
import { isBusy, sqliteCode } from "./sqlite/schema.ts";
import type { WriterProcess } from "./store.ts";

/** Locks belong to the process. A connection that nothing refers to is closed when memory is tidied up, and its lock would go with it. */
const kept = new Set<DatabaseSync>();

export type Slot = Readonly<{ writer: WriterId /** What is locked. */; file: string; free(): void }>;

/** Long enough to outwait somebody who only looks whether the slot is free; who owns it never lets go while we wait. */
const LOOK_MS = 20;
const CANNOT_OPEN = 14;

const lockFile = (directory: string, writer: WriterId): string => join(directory, `${writer}.lock`);

/** The first free slot, so that the chain of a process that ended is continued by the next one. */
export function takeSlot(directory: string): Slot {
  mkdirSync(directory, { recursive: true });
  for (let n = 1; ; n += 1) {
    const writer = writerId(`w${n}`);
    const file = lockFile(directory, writer);
    const lock = tryLock(file);
    if (lock === null) continue;
    kept.add(lock);
    const free = (): void => {
      if (kept.delete(lock)) lock.close();
    };
    return { writer, file, free };
  }
}

function tryLock(file: string): DatabaseSync | null {
  const db = new DatabaseSync(file, { timeout: LOOK_MS });
  try {
    db.exec("PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
    return db;
  } catch (error) {
    db.close();
    if (isBusy(error)) return null;
    throw error;
  }
}

/** Processes that live, by their writers. */
export function listProcesses(directory: string, own: WriterId | null): readonly WriterProcess[] {
  const all = readdirSync(directory).flatMap((file) => (file.endsWith(".lock") ? [writerId(file.slice(0, -".lock".length))] : []));
  const living = all.filter((writer) => writer === own || isSlotHeld(directory, writer)).sort();
  return living.map((writer) => ({
    writer,
    place: "this machine",
    role: null,
    version: null,
    holds: null,
    heardMs: null,
    commits: null,
    appends: null,
    figures: null,
    quietest: [],
  }));
}

/** True while a living process owns the slot. Looks with a shared lock, so that two who look at once do not take each other for the owner. */
export function isSlotHeld(directory: string, writer: WriterId): boolean {
  let db: DatabaseSync | null = null;
  try {
    db = new DatabaseSync(lockFile(directory, writer), { readOnly: true, timeout: LOOK_MS });
    db.prepare("SELECT count(*) FROM sqlite_schema").get();
    return false;
  } catch (error) {
    if (isBusy(error)) return true;
    if (sqliteCode(error) === CANNOT_OPEN) return false; // the file is gone: nobody can hold it
    throw error;
  } finally {
    db?.close();
  }
}
