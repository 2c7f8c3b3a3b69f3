/** Tables beside the entries: written with the events they come from, and made again from the entries where a database has none. */
import type { DatabaseSync } from "node:sqlite";
import { decodePayload, type Records } from "@orgate/core/journal";
import type { JournalEvent, StreamId, TimedEvent } from "@orgate/core/vocab";

export const hasTable = (db: DatabaseSync, name: string): boolean =>
  db.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?").get(name) !== undefined;

export const hasColumn = (db: DatabaseSync, table: string, name: string): boolean =>
  db.prepare("SELECT 1 FROM pragma_table_info(?) WHERE name = ?").get(table, name) !== undefined;

/** A number that changes with whatever anybody else writes. */
export function dataVersion(db: DatabaseSync): () => number {
  const version = db.prepare("PRAGMA data_version");
  return () => Number(version.get()?.data_version);
}

/** Makes what is missing, once, however many processes open the file at the same time. */
export function makeOnce(db: DatabaseSync, isMade: () => boolean, make: () => void): void {
  if (isMade()) return;
  db.exec("BEGIN IMMEDIATE");
  try {
    if (!isMade()) make();
    db.exec("COMMIT");
  } finally {
    if (db.isTransaction) db.exec("ROLLBACK");
  }
}

/** One event, or none where the entry cannot be read: it is reported when its session is opened. */
export function decodeEvents(kind: string, payload: string | null, records: Pick<Records, "blob">): readonly JournalEvent[] {
  const read = payload === null ? null : decodePayload(kind, payload, records.blob);
  return read?.kind === "event" ? [read.event] : [];
}

/** The readable events of a stream, in order. */
export function* eventsOfStream(stream: StreamId, records: Records): Iterable<TimedEvent> {
  for (const { at, kind, payload } of records.entries(stream))
    for (const event of decodeEvents(kind, payload, records)) yield { at, event };
}
