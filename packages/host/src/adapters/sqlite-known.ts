/** Trusted sets as rows: kept by the events that extend and shorten them, made again from the entries, in the order they became durable, where the table is missing. */
import type { DatabaseSync } from "node:sqlite";
import { type KnownChange, type KnownPage, type KnownValue, knownChanges, type Records } from "@orgate/core/journal";
import { millis, type StreamId, streamId } from "@orgate/core/vocab";
import { eventsIn } from "./sqlite-unknowns.ts";

export const KNOWN_SCHEMA = `
CREATE TABLE known_values (
  name TEXT NOT NULL, value TEXT NOT NULL, folded TEXT NOT NULL, stream TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (name, value)
) STRICT, WITHOUT ROWID;
CREATE INDEX known_folded ON known_values (name, folded);
CREATE INDEX known_of_stream ON known_values (stream);
`;

/** Each by an index of its own. */
export const KNOWN_SQL = Object.freeze({
  cased: "SELECT 1 FROM known_values WHERE name = ? AND value = ?",
  folded: "SELECT 1 FROM known_values WHERE name = ? AND folded = ?",
  all: "SELECT name, value, stream, at FROM known_values WHERE (name, value) > (?, ?) ORDER BY name, value LIMIT ?",
  ofSet: "SELECT name, value, stream, at FROM known_values WHERE name = ? AND value > ? ORDER BY value LIMIT ?",
});

export type KnownReader = Readonly<{
  has(set: string, values: readonly string[], cased: boolean): boolean;
  page(page: KnownPage): readonly KnownValue[];
}>;

export function knownReader(db: DatabaseSync, safely: <T>(read: () => T) => T): KnownReader {
  const [cased, folded, all, ofSet] = [KNOWN_SQL.cased, KNOWN_SQL.folded, KNOWN_SQL.all, KNOWN_SQL.ofSet].map((sql) => db.prepare(sql));
  return {
    has: (set, values, isCased) =>
      safely(() => values.some((v) => (isCased ? cased?.get(set, v) : folded?.get(set, v.toLowerCase())) !== undefined)),
    page: ({ set, after, most }) =>
      safely(
        () => (set === null ? all?.all(after?.set ?? "", after?.value ?? "", most) : ofSet?.all(set, after?.value ?? "", most)) ?? [],
      ).map((row) => ({ set: String(row.name), value: String(row.value), from: streamId(String(row.stream)), at: millis(Number(row.at)) })),
  };
}

/** Inside the writer's transaction. */
export type KnownWriter = Readonly<{
  keep(stream: StreamId, at: number, changes: readonly KnownChange[]): void;
  forget(stream: StreamId): void;
}>;

export function knownWriter(db: DatabaseSync): KnownWriter {
  const put = db.prepare("INSERT OR REPLACE INTO known_values VALUES (?, ?, ?, ?, ?)");
  const drop = db.prepare("DELETE FROM known_values WHERE name = ? AND folded = ?");
  const dropAll = db.prepare("DELETE FROM known_values WHERE stream = ?");
  return {
    keep(stream, at, changes) {
      for (const { set, value, on } of changes)
        on ? put.run(set, value, value.toLowerCase(), stream, at) : drop.run(set, value.toLowerCase()); // however it was spelt: rather one too many
    },
    forget: (stream) => void dropAll.run(stream),
  };
}

export function mendKnown(db: DatabaseSync, records: () => Records): void {
  const isThere = (): boolean => db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'known_values'").get() !== undefined;
  if (isThere()) return;
  db.exec("BEGIN IMMEDIATE");
  try {
    if (!isThere()) {
      db.exec(KNOWN_SCHEMA);
      const writer = knownWriter(db);
      for (const row of db.prepare(KNOWN_ENTRIES).all())
        for (const event of eventsIn(String(row.kind), row.payload === null ? null : String(row.payload), records()))
          writer.keep(streamId(String(row.stream)), Number(row.at), knownChanges(event));
    }
    db.exec("COMMIT");
  } finally {
    if (db.isTransaction) db.exec("ROLLBACK");
  }
}

/** Sets whose rows are not what the entries make of them. */
export function wrongKnown(db: DatabaseSync, records: Records): readonly string[] {
  const made = new Map<string, { readonly set: string; readonly stream: string }>();
  const keyOf = (set: string, value: string): string => JSON.stringify([set, value]);
  for (const row of db.prepare(KNOWN_ENTRIES).all())
    for (const event of eventsIn(String(row.kind), row.payload === null ? null : String(row.payload), records))
      for (const { set, value, on } of knownChanges(event)) {
        if (on) made.set(keyOf(set, value), { set, stream: String(row.stream) });
        else for (const key of [...made.keys()]) if (key.toLowerCase() === keyOf(set, value).toLowerCase()) made.delete(key);
      }
  const rows = db
    .prepare("SELECT name, value FROM known_values")
    .all()
    .map((row) => ({ set: String(row.name), key: keyOf(String(row.name), String(row.value)) }));
  const there = new Set(rows.map(({ key }) => key));
  const isErased = db.prepare("SELECT 1 FROM entries WHERE stream = ? AND payload IS NULL LIMIT 1"); // what it had learnt is forgotten with it
  const missing = [...made].filter(([key, { stream }]) => !there.has(key) && isErased.get(stream) === undefined).map(([, { set }]) => set);
  return [...new Set([...rows.filter(({ key }) => !made.has(key)).map(({ set }) => set), ...missing])].sort();
}

/** A scan, for those who look at everything anyway. */
const KNOWN_ENTRIES = "SELECT stream, at, kind, payload FROM entries WHERE kind LIKE 'known.%' ORDER BY rowid";
