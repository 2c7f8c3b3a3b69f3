/** A file beside the journal that has moved with it, or is about to: nobody opens it, and who has it open finds its tables no more. */
import type { DatabaseSync } from "node:sqlite";
import { FaultError } from "@orgate/core/vocab";
import { WAS_MOVED } from "../schema.ts";

/** `user_version` of such a file. */
const AWAY = 1;

export const isAway = (db: DatabaseSync): boolean => db.prepare("PRAGMA user_version").get()?.user_version === AWAY;

/** Throws where a move has closed the file. */
export function assertNotAway(db: DatabaseSync, file: string): void {
  if (isAway(db)) throw new FaultError({ kind: "journal-unreadable", file, detail: WAS_MOVED });
}

/** In the transaction of the caller. */
export function sendAway(db: DatabaseSync, tables: readonly string[]): void {
  for (const name of tables) db.exec(`ALTER TABLE ${name} RENAME TO ${name}_moved`);
  db.exec(`PRAGMA user_version = ${AWAY}`);
}

/** Harmless when it is done again. */
export function bringBack(db: DatabaseSync, tables: readonly string[]): void {
  if (!isAway(db)) return;
  db.exec("BEGIN IMMEDIATE");
  for (const name of tables) db.exec(`ALTER TABLE ${name}_moved RENAME TO ${name}`);
  db.exec("PRAGMA user_version = 0; COMMIT");
}
