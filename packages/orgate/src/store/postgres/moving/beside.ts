/**
 * What moves with a journal from a file of its own beside it: answers to requests, knowledge. The file is held while it is copied, closed after the journal,
 * and opened again before it; on the way back it arrives closed, before the journal, and is opened after it. So it is in use where the journal is.
 */
import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { FaultError } from "@orgate/core/vocab";
import { bringBack, isAway, sendAway } from "../../sqlite/disk/moved.ts";
import type { Link } from "../link.ts";
import { unlessUnwritable } from "./rows.ts";

type Progress = (doing: string) => void;

export type Beside = Readonly<{
  /** As people call it. */
  name: string;
  file: string;
  /** What a process needs that writes there; the first has a row if anything is there. */
  tables: readonly string[];
  /** Creates the file where there is none; also where a move has closed it. */
  open(directory: string): DatabaseSync;
  /** Null: there is no file, and so nothing shall be in PostgreSQL. Afterwards both have the same, and nothing else. */
  toSchema(link: Link, db: DatabaseSync | null, progress: Progress): Promise<void>;
  /** Into a file that is new. */
  toFile(link: Link, db: DatabaseSync): Promise<void>;
  /** Throws where the two differ; says what was left behind, if anything. */
  compare(link: Link, db: DatabaseSync | null, progress: Progress): Promise<string | null>;
  /** How many there are in PostgreSQL. */
  count(link: Link): Promise<number>;
}>;

export type Held = Readonly<{ beside: Beside; db: DatabaseSync | null }>;

/** Nobody writes them from now on. */
export function holdFiles(directory: string, all: readonly Beside[]): readonly Held[] {
  const held: Held[] = [];
  try {
    for (const beside of all) {
      const db = existsSync(join(directory, beside.file)) ? beside.open(directory) : null;
      held.push({ beside, db });
      db?.exec("BEGIN IMMEDIATE");
    }
    return held;
  } catch (error) {
    letGo(held);
    throw error;
  }
}

export function letGo(held: readonly Held[]): void {
  for (const { db } of held) {
    if (db?.isTransaction) db.exec("ROLLBACK");
    db?.close();
  }
}

/** What was left behind. */
export async function copyHeld(link: Link, held: readonly Held[], progress: Progress): Promise<readonly string[]> {
  const left: (string | null)[] = [];
  for (const { beside, db } of held)
    await unlessUnwritable(link, async () => {
      progress(`copying ${beside.name}`);
      await beside.toSchema(link, db, progress);
      progress(`comparing ${beside.name}`);
      left.push(await beside.compare(link, db, progress));
    });
  return left.filter((one) => one !== null);
}

/** The journal's own file is closed already: a move that ends here copies everything again. */
export function closeHeld(held: readonly Held[], progress: Progress): void {
  for (const { beside, db } of held) {
    progress(`closing ${beside.name}`);
    if (db === null) continue;
    sendAway(db, beside.tables);
    db.exec("COMMIT");
  }
}

export function openFilesAgain(directory: string, all: readonly Beside[]): void {
  for (const { file, tables, open } of all) if (existsSync(join(directory, file))) using(open(directory), (db) => bringBack(db, tables));
}

/** Throws where there is something that did not come from a move: it would be lost. */
export function assertFree(directory: string, all: readonly Beside[]): void {
  for (const { name, file, tables, open } of all) {
    const [first = ""] = tables;
    const isUsed = (db: DatabaseSync): boolean => !isAway(db) && db.prepare(`SELECT 1 FROM ${first} LIMIT 1`).get() !== undefined;
    if (existsSync(join(directory, file)) && using(open(directory), isUsed))
      throw new FaultError({
        kind: "usage",
        detail: `there is a file of ${name} already: \`${join(directory, file)}\``,
        hint: "move it away: it did not come from this journal",
      });
  }
}

type Besides = Readonly<{ all: readonly Beside[]; progress: Progress }>;

/** Files for the folder, closed, in the draft's folder. What was left behind. */
export async function copyToDraft(link: Link, draft: string, { all, progress }: Besides): Promise<readonly string[]> {
  const left: (string | null)[] = [];
  for (const beside of all) {
    progress(`copying ${beside.name}`);
    const db = beside.open(draft);
    try {
      await unlessUnwritable(link, async () => {
        db.exec("BEGIN IMMEDIATE");
        await beside.toFile(link, db);
        db.exec("COMMIT");
        progress(`comparing ${beside.name}`);
        left.push(await beside.compare(link, db, progress));
      });
      db.exec("BEGIN IMMEDIATE");
      sendAway(db, beside.tables);
      db.exec("COMMIT");
    } finally {
      db.close();
    }
  }
  return left.filter((one) => one !== null);
}

export function placeFiles(draft: string, directory: string, { all, progress }: Besides): void {
  for (const { name, file } of all) {
    progress(`putting ${name} in its place`);
    for (const end of ["-wal", "-shm"]) rmSync(join(directory, `${file}${end}`), { force: true }); // its log must not be read into the new one
    flush(join(draft, file));
    renameSync(join(draft, file), join(directory, file));
  }
}

export function flush(path: string): void {
  const file = openSync(path, "r");
  fsyncSync(file);
  closeSync(file);
}

function using<T>(db: DatabaseSync, work: (db: DatabaseSync) => T): T {
  try {
    return work(db);
  } finally {
    db.close();
  }
}
