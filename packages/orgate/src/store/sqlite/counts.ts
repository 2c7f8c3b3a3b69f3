/** Counters over hours and days as rows, in the transaction of what they count. Only what somebody reads is kept; it is made from the entries when that begins. */
import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import {
  type Append,
  BUCKET_MS,
  type Count,
  type CountQuery,
  type CountRead,
  listCounts,
  type Records,
  toBucket,
  toBucketSpan,
} from "@orgate/core/journal";
import { type Fault, FaultError, isSessionStream, type RecentCounts, type SessionId, streamId } from "@orgate/core/vocab";
import type { Alarms } from "./proof/alarms.ts";
import { type CountKeys, type CountLedger, type CountProof, KEPT_SLOT, toCountSlot } from "./proof/count-proof.ts";
import { eventsOfStream, hasTable } from "./side-table.ts";

const TABLES = {
  kept_counts: "(name TEXT PRIMARY KEY, since INTEGER NOT NULL DEFAULT 0)",
  count_slots: "(slot TEXT PRIMARY KEY, sum TEXT NOT NULL)",
  counts: `(
  slot TEXT NOT NULL, name TEXT NOT NULL, agent TEXT NOT NULL, value TEXT NOT NULL, bucket INTEGER NOT NULL, owner TEXT NOT NULL, n INTEGER NOT NULL,
  PRIMARY KEY (slot, name, agent, value, bucket, owner)
)`,
} as const;
export const COUNTS_SCHEMA = Object.entries(TABLES)
  .map(([name, columns]) => `CREATE TABLE ${name} ${columns} STRICT, WITHOUT ROWID;\n`)
  .join("");

export type AppendCounts = NonNullable<Append["counts"]>;

/** One short range of the table's own order. */
export const COUNTED_SQL =
  "SELECT total(n) AS day, total(CASE WHEN bucket >= ? THEN n END) AS hour FROM counts WHERE slot = ? AND name = ? AND agent = ? AND value = ? AND bucket >= ? AND owner <> ?";
const SINCE_SQL = "SELECT since FROM kept_counts WHERE name = ?";

/** `snapshot` runs statements at one moment of the database. Without a proof (no project keys), rows are believed. */
export function countReader(
  db: DatabaseSync,
  snapshot: <T>(read: () => T) => T,
  proof: Pick<CountProof, "checkSlot"> | null,
): (sought: CountQuery) => RecentCounts {
  const sum = db.prepare(COUNTED_SQL);
  const since = db.prepare(SINCE_SQL);
  return (sought) =>
    snapshot(() => {
      const { name, agent, value, hour, day, not } = sought;
      const slot = toCountSlot(sought);
      proof?.checkSlot(slot);
      if (Number(since.get(name)?.since ?? 0) > day) return { hour: Number.NaN, day: Number.NaN }; // swept by whoever had another time
      const row = sum.get(hour, slot, name, agent, value, day, not);
      return { hour: Number(row?.hour ?? 0), day: Number(row?.day ?? 0) };
    });
}

export type CountWriter = Readonly<{
  /** Inside the writer's transaction; the fault, when what was read is not so any more. */
  add(counts: AppendCounts): Fault | null;
  /** A transaction of its own. */
  keep(names: readonly string[], records: () => Records, now: number): void;
  ledger: CountLedger;
}>;

/** The rows, and the sums over them that move with each. */
function countRows(db: DatabaseSync, keys: CountKeys, ledger: CountLedger) {
  const row = db.prepare("SELECT n FROM counts WHERE slot = ? AND name = ? AND agent = ? AND value = ? AND bucket = ? AND owner = ?");
  const put = db.prepare("INSERT OR REPLACE INTO counts VALUES (?, ?, ?, ?, ?, ?, ?)");
  const keptRow = db.prepare(SINCE_SQL);
  const putKept = db.prepare("INSERT OR REPLACE INTO kept_counts VALUES (?, ?)");
  const behind = db.prepare("SELECT name, since FROM kept_counts WHERE since < ?");
  const old = db.prepare("DELETE FROM counts WHERE bucket < ? RETURNING slot, name, agent, value, bucket, owner, n");
  const oldOf = db.prepare("DELETE FROM counts WHERE name = ? AND bucket < ? RETURNING slot, name, agent, value, bucket, owner, n");
  const gone = (rows: readonly Record<string, SQLOutputValue>[]): number => {
    for (const { slot, name, agent, value, bucket, owner, n } of rows)
      ledger.move(String(slot), -keys.ofRow([name, agent, value, bucket, owner, n]));
    return rows.length;
  };
  function keep(name: string, since: number): void {
    const before = keptRow.get(name)?.since;
    ledger.move(KEPT_SLOT, keys.ofRow([name, since]) - (before === undefined ? 0n : keys.ofRow([name, before])));
    putKept.run(name, since);
  }
  return {
    keep,
    add({ name, agent, value, by, at }: Count, owner: string): void {
      const slot = toCountSlot({ name, agent, value });
      const bucket = toBucket(at);
      const before = row.get(slot, name, agent, value, bucket, owner)?.n;
      const n = Number(before ?? 0) + by;
      const was = before === undefined ? 0n : keys.ofRow([name, agent, value, bucket, owner, before]);
      ledger.move(slot, keys.ofRow([name, agent, value, bucket, owner, n]) - was);
      put.run(slot, name, agent, value, bucket, owner, n);
    },
    sweep(before: number): void {
      if (gone(old.all(before)) === 0) return;
      for (const { name } of behind.all(before)) keep(String(name), before);
    },
    drop: (name: string, before: number): void => void gone(oldOf.all(name, before)),
  };
}

export function countWriter(db: DatabaseSync, keys: CountKeys, ledger: CountLedger): CountWriter {
  const isKept = db.prepare(SINCE_SQL);
  const anyKept = db.prepare("SELECT 1 FROM kept_counts WHERE name > '' LIMIT 1");
  const rows = countRows(db, keys, ledger);
  const counted = countReader(db, (read) => read(), null);
  let swept = 0;
  const hasMoved = (read: CountRead): boolean => counted({ ...read, hour: read.day }).day !== read.seen;

  return {
    ledger,
    add({ owner, add, unless, before }) {
      const moved = unless.find(hasMoved);
      if (moved !== undefined) return { kind: "counters-moved", counter: moved.name };
      if (add.length === 0 || anyKept.get() === undefined) return null;
      const wanted = add.filter(({ name }) => isKept.get(name) !== undefined);
      for (const one of wanted) rows.add(one, owner);
      if (before > swept) rows.sweep(before); // once in five minutes, and only by who writes
      swept = Math.max(swept, before);
      return null;
    },
    keep(names, records, now) {
      db.exec("BEGIN IMMEDIATE");
      try {
        ledger.begin();
        const { day } = toBucketSpan(now);
        const missing = new Map(names.map((name) => [name, Number(isKept.get(name)?.since ?? Number.MAX_SAFE_INTEGER)]));
        for (const [name, upTo] of missing) if (upTo <= day) missing.delete(name);
        for (const [name, upTo] of missing) rows.drop(name, upTo); // what was counted in that time meanwhile is among the entries
        for (const one of missing.size === 0 ? [] : ofLastDay(db, records(), now))
          if (toBucket(one.at) < (missing.get(one.name) ?? 0)) rows.add(one, "");
        for (const name of missing.keys()) rows.keep(name, day);
        ledger.settleLast();
        db.exec("COMMIT");
        ledger.done();
      } finally {
        if (db.isTransaction) db.exec("ROLLBACK");
      }
    },
  };
}

/** Sessions whose entries will be counted when these are kept: none where all is there. */
export function listSessionsToCount(db: DatabaseSync, names: readonly string[], now: number): readonly SessionId[] {
  const { day } = toBucketSpan(now);
  const since = db.prepare(SINCE_SQL);
  const isWhole = names.every((name) => Number(since.get(name)?.since ?? Number.MAX_SAFE_INTEGER) <= day);
  return isWhole ? [] : sessionsSince(db, day);
}

/** Throws `entry-bad`, and raises an alarm, unless these are proved as they are read; what was erased, or is acknowledged as it is, is passed over. */
export function assertProved(session: SessionId, entries: Iterable<unknown>, alarms: Pick<Alarms, "raise">): void {
  try {
    for (const _ of entries);
  } catch (error) {
    const fault = error instanceof FaultError ? error.fault : null;
    if (fault?.kind === "entry-erased") return;
    if (fault?.kind !== "entry-bad" || alarms.raise(`entry ${fault.seq} of stream \`${session}\``, fault.detail)) throw error;
  }
}

/** Those that are not in the index yet are new. */
const SINCE_STREAMS_SQL =
  "SELECT stream FROM streams WHERE at >= ? OR no IN (SELECT stream FROM appends WHERE id > (SELECT id FROM indexed))";

const sessionsSince = (db: DatabaseSync, bucket: number): readonly SessionId[] =>
  db
    .prepare(SINCE_STREAMS_SQL)
    .all(bucket * BUCKET_MS)
    .map((row) => streamId(String(row.stream)))
    .filter(isSessionStream);

/** Something of the session was erased: it can be counted no more. */
function hasErased(session: SessionId, records: Records): boolean {
  for (const { payload } of records.entries(session)) if (payload === null) return true;
  return false;
}

/** Sessions in which something was written since; what cannot be read is named when its session is taken up. */
function* ofLastDay(db: DatabaseSync, records: Records, now: number): Iterable<Count> {
  const { day } = toBucketSpan(now);
  for (const session of sessionsSince(db, day)) yield* listCounts(eventsOfStream(session, records), day);
}

/** A table that is missing is made, empty: it fills when something is kept, unless a commit says that it was not empty (`count-proof.ts`). */
export function rebuildCounts(db: DatabaseSync): void {
  for (const [name, columns] of Object.entries(TABLES))
    if (!hasTable(db, name)) db.exec(`CREATE TABLE IF NOT EXISTS ${name} ${columns} STRICT, WITHOUT ROWID`);
}

/** Rows that are not what the entries of the last day count, by name. What was erased can be counted no more: then a row may hold more. */
export function findWrongCounts(db: DatabaseSync, records: Records, now: number): readonly string[] {
  const { day } = toBucketSpan(now);
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
    if (isKept(name, toBucket(at))) add(keyOf(name, agent, value, toBucket(at)), -by);
  const erased = [...sessionsSince(db, day)].some((session) => hasErased(session, records));
  const wrong = [...sums].filter(([, n]) => n < 0 || (n > 0 && !erased)).map(([key]) => String((JSON.parse(key) as unknown[])[0]));
  return [...new Set(wrong)].sort();
}
