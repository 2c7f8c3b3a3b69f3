/** Counters over hours and days as rows, in the transaction of what they count. Only what somebody reads is kept; it is made from the entries when that begins. */
import type { DatabaseSync } from "node:sqlite";
import {
  type Append,
  BUCKET_MS,
  bucketOf,
  type Count,
  type CountRead,
  type CountSought,
  countsIn,
  type Records,
  spanOf,
} from "@orgate/core/journal";
import { type Fault, isSessionStream, type Lately, type Stamped, streamId } from "@orgate/core/vocab";
import { eventsIn } from "./sqlite-unknowns.ts";

export const COUNTS_SCHEMA = `
CREATE TABLE kept_counts (name TEXT PRIMARY KEY, since INTEGER NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID;
CREATE TABLE counts (
  name TEXT NOT NULL, agent TEXT NOT NULL, value TEXT NOT NULL, bucket INTEGER NOT NULL, owner TEXT NOT NULL, n INTEGER NOT NULL,
  PRIMARY KEY (name, agent, value, bucket, owner)
) STRICT, WITHOUT ROWID;
`;

export type AppendCounts = NonNullable<Append["counts"]>;

/** One short range of the table's own order. */
export const COUNTED_SQL =
  "SELECT total(n) AS day, total(CASE WHEN bucket >= ? THEN n END) AS hour FROM counts WHERE name = ? AND agent = ? AND value = ? AND bucket >= ? AND owner <> ?";
const SINCE_SQL = "SELECT since FROM kept_counts WHERE name = ?";

export function countReader(db: DatabaseSync, safely: <T>(read: () => T) => T): (sought: CountSought) => Lately {
  const sum = db.prepare(COUNTED_SQL);
  const since = db.prepare(SINCE_SQL);
  return ({ name, agent, value, hour, day, not }) => {
    if (Number(safely(() => since.get(name))?.since ?? 0) > day) return { hour: Number.NaN, day: Number.NaN }; // swept by whoever had another time
    const row = safely(() => sum.get(hour, name, agent, value, day, not));
    return { hour: Number(row?.hour ?? 0), day: Number(row?.day ?? 0) };
  };
}

export type CountWriter = Readonly<{
  /** Inside the writer's transaction; the fault, when what was read is not so any more. */
  add(counts: AppendCounts): Fault | null;
  /** A transaction of its own. */
  keep(names: readonly string[], records: () => Records, now: number): void;
}>;

export function countWriter(db: DatabaseSync): CountWriter {
  const isKept = db.prepare(SINCE_SQL);
  const anyKept = db.prepare("SELECT 1 FROM kept_counts WHERE name > '' LIMIT 1");
  const keepName = db.prepare("INSERT OR REPLACE INTO kept_counts (name, since) VALUES (?, ?)");
  const raiseSince = db.prepare("UPDATE kept_counts SET since = ? WHERE since < ?");
  const drop = db.prepare("DELETE FROM counts WHERE name = ? AND bucket < ?");
  const put = db.prepare("INSERT INTO counts VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET n = n + excluded.n");
  const forget = db.prepare("DELETE FROM counts WHERE bucket < ?");
  const counted = countReader(db, (read) => read());
  let swept = 0;

  const write = ({ name, agent, value, by, at }: Count, owner: string): void => {
    put.run(name, agent, value, bucketOf(at), owner, by);
  };
  const hasMoved = (read: CountRead): boolean => counted({ ...read, hour: read.day }).day !== read.seen;

  return {
    add({ owner, add, unless, before }) {
      const moved = unless.find(hasMoved);
      if (moved !== undefined) return { kind: "counters-moved", counter: moved.name };
      if (add.length === 0 || anyKept.get() === undefined) return null;
      const wanted = add.filter(({ name }) => isKept.get(name) !== undefined);
      for (const one of wanted) write(one, owner);
      if (before > swept && forget.run(before).changes > 0) raiseSince.run(before, before); // once in five minutes, and only by who writes
      swept = Math.max(swept, before);
      return null;
    },
    keep(names, records, now) {
      db.exec("BEGIN IMMEDIATE");
      try {
        const { day } = spanOf(now);
        const missing = new Map(names.map((name) => [name, Number(isKept.get(name)?.since ?? Number.MAX_SAFE_INTEGER)]));
        for (const [name, upTo] of missing) if (upTo <= day) missing.delete(name);
        for (const [name, upTo] of missing) drop.run(name, upTo); // what was counted in that time meanwhile is among the entries
        for (const one of missing.size === 0 ? [] : ofLastDay(db, records(), now))
          if (bucketOf(one.at) < (missing.get(one.name) ?? 0)) write(one, "");
        for (const name of missing.keys()) keepName.run(name, day);
        db.exec("COMMIT");
      } finally {
        if (db.isTransaction) db.exec("ROLLBACK");
      }
    },
  };
}

/** Sessions in which something was written since; what cannot be read is named when its session is taken up. */
function* ofLastDay(db: DatabaseSync, records: Records, now: number): Iterable<Count> {
  const { day } = spanOf(now);
  for (const row of db.prepare("SELECT stream FROM streams WHERE at >= ?").all(day * BUCKET_MS)) {
    const stream = streamId(String(row.stream));
    if (isSessionStream(stream)) yield* countsIn(stamped(records, stream), day);
  }
}

function* stamped(records: Records, stream: Parameters<Records["entries"]>[0]): Iterable<Stamped> {
  for (const { at, kind, payload } of records.entries(stream)) for (const event of eventsIn(kind, payload, records)) yield { at, event };
}

/** Journals that are older than counters get the tables; they fill when something is kept. Older ones do not say since when, and are taken for whole. */
export function mendCounts(db: DatabaseSync): void {
  const columns = (): number => Number(db.prepare("SELECT count(*) AS n FROM pragma_table_info('kept_counts')").get()?.n);
  if (columns() === 2) return;
  db.exec("BEGIN IMMEDIATE");
  try {
    if (columns() === 0) db.exec(COUNTS_SCHEMA);
    else if (columns() === 1) db.exec("ALTER TABLE kept_counts ADD COLUMN since INTEGER NOT NULL DEFAULT 0");
    db.exec("COMMIT");
  } finally {
    if (db.isTransaction) db.exec("ROLLBACK");
  }
}

/** Rows that are not what the entries of the last day count, by name. What was erased can be counted no more: then a row may hold more. */
export function wrongCounts(db: DatabaseSync, records: Records, now: number): readonly string[] {
  const { day } = spanOf(now);
  const kept = new Map(
    db
      .prepare("SELECT name, since FROM kept_counts")
      .all()
      .map((row) => [String(row.name), Math.max(day, Number(row.since))]), // what was swept away is counted anew before it is read
  );
  if (kept.size === 0) return [];
  const isKept = (name: unknown, bucket: number): boolean => bucket >= (kept.get(String(name)) ?? Number.POSITIVE_INFINITY);
  const keyOf = (name: unknown, agent: unknown, value: unknown, bucket: unknown): string => JSON.stringify([name, agent, value, bucket]);
  const sums = new Map<string, number>();
  const add = (key: string, n: number): void => void sums.set(key, (sums.get(key) ?? 0) + n);
  for (const row of db.prepare("SELECT name, agent, value, bucket, n FROM counts WHERE bucket >= ?").all(day))
    if (isKept(row.name, Number(row.bucket))) add(keyOf(row.name, row.agent, row.value, Number(row.bucket)), Number(row.n));
  for (const { name, agent, value, by, at } of ofLastDay(db, records, now))
    if (isKept(name, bucketOf(at))) add(keyOf(name, agent, value, bucketOf(at)), -by);
  const erased = db.prepare("SELECT 1 FROM entries WHERE payload IS NULL AND at >= ? LIMIT 1").get(day * BUCKET_MS) !== undefined;
  const wrong = [...sums].filter(([, n]) => n < 0 || (n > 0 && !erased)).map(([key]) => String((JSON.parse(key) as unknown[])[0]));
  return [...new Set(wrong)].sort();
}
