/**
 * Where the appends of a stream stand. The journal's rows are in the order in which they became durable; this index is filled behind them, in the
 * transaction of a later append, so that an append touches no page but the last. A reader looks here, and then at the rows after the last indexed one.
 * J-32 the index and the rows after it are together the whole stream, at every moment, whoever died.
 */
import type { DatabaseSync } from "node:sqlite";
import { hasTable, makeOnce } from "./side-table.ts";

export const PLACES_SCHEMA = `
CREATE TABLE places (stream INTEGER NOT NULL, first INTEGER NOT NULL, id INTEGER NOT NULL, PRIMARY KEY (stream, first)) STRICT, WITHOUT ROWID;
CREATE TABLE indexed (id INTEGER NOT NULL) STRICT;
INSERT INTO indexed VALUES (0);
`;

export type PlaceIndex = Readonly<{
  /** Inside a transaction: takes in every row after the last indexed one. Returns the last append of each stream that is new in it, by the stream's number. */
  catchUp(at: number): ReadonlyMap<number, IndexedEnd>;
}>;
export type IndexedEnd = Readonly<{ seq: number; hash: string }>;

export function openPlaceIndex(db: DatabaseSync): PlaceIndex {
  const last = db.prepare("SELECT id FROM indexed");
  const rows = db.prepare("SELECT id, stream, first, count, hash FROM appends WHERE id > ? ORDER BY id");
  rows.setReturnArrays(true);
  const put = db.prepare("INSERT OR IGNORE INTO places VALUES (?, ?, ?)");
  const setLast = db.prepare("UPDATE indexed SET id = ?");
  const setEnd = db.prepare("UPDATE streams SET seq = ?, hash = ?, at = max(at, ?) WHERE no = ? AND seq < ?");
  return {
    catchUp(at) {
      const ends = new Map<number, IndexedEnd>();
      let through = Number(last.get()?.id);
      for (const row of rows.all(through) as unknown as [number, number, number, number, string][]) {
        const [id, stream, first, count, hash] = row;
        put.run(stream, first, id);
        ends.set(stream, { seq: first + count - 1, hash });
        through = id;
      }
      if (ends.size === 0) return ends;
      for (const [stream, { seq, hash }] of ends) setEnd.run(seq, hash, at, stream, seq);
      setLast.run(through);
      return ends;
    },
  };
}

/** An index that was lost is made again from the rows. */
export function rebuildPlaces(db: DatabaseSync): void {
  makeOnce(
    db,
    () => hasTable(db, "places") && hasTable(db, "indexed"),
    () => {
      db.exec(`DROP TABLE IF EXISTS places; DROP TABLE IF EXISTS indexed; ${PLACES_SCHEMA}`);
      openPlaceIndex(db).catchUp(0);
    },
  );
}

/** Rows of the index that are not what the appends make of them, by the name of their stream. */
export function findWrongPlaces(db: DatabaseSync): readonly string[] {
  const wrong = db
    .prepare(
      `SELECT coalesce(s.stream, 'stream ' || a.stream) AS name FROM appends AS a LEFT JOIN places AS p ON p.stream = a.stream AND p.first = a.first
       LEFT JOIN streams AS s ON s.no = a.stream WHERE a.id <= (SELECT id FROM indexed) AND p.id IS NOT a.id
       UNION SELECT coalesce(s.stream, 'stream ' || p.stream) FROM places AS p LEFT JOIN appends AS a ON a.id = p.id
       LEFT JOIN streams AS s ON s.no = p.stream WHERE a.stream IS NOT p.stream OR a.first IS NOT p.first`,
    )
    .all();
  return wrong.map(({ name }) => `row ${String(name)} of table places`);
}
