/** Trusted sets as rows: kept by the events that extend and shorten them, made again from the entries, in the order they became durable, where the table is missing. */
import type { DatabaseSync } from "node:sqlite";
import {
  listTrustedValueChanges,
  type Records,
  type TrustedValue,
  type TrustedValueChange,
  type TrustedValuePage,
} from "@orgate/core/journal";
import { type Entry, type JournalEvent, millis, type Seq, type StreamId, seq, streamId, TRUSTED_VALUES } from "@orgate/core/vocab";
import type { Alarms } from "./proof/alarms.ts";
import { decodeEvents, hasTable, makeOnce } from "./side-table.ts";

export const TRUSTED_VALUES_SCHEMA = `
CREATE TABLE known_values (
  name TEXT NOT NULL, value TEXT NOT NULL, folded TEXT NOT NULL, stream TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (name, value)
) STRICT, WITHOUT ROWID;
CREATE INDEX known_folded ON known_values (name, folded);
CREATE INDEX known_of_stream ON known_values (stream);
`;

/** Each by an index of its own. */
export const TRUSTED_VALUES_SQL = Object.freeze({
  cased: "SELECT value, stream FROM known_values WHERE name = ? AND value = ?",
  folded: "SELECT value, stream FROM known_values WHERE name = ? AND folded = ?",
  all: "SELECT name, value, stream, at FROM known_values WHERE (name, value) > (?, ?) ORDER BY name, value LIMIT ?",
  ofSet: "SELECT name, value, stream, at FROM known_values WHERE name = ? AND value > ? ORDER BY value LIMIT ?",
});

export type TrustedValueReader = Readonly<{
  has(set: string, values: readonly string[], cased: boolean): boolean;
  page(page: TrustedValuePage): readonly TrustedValue[];
}>;

/** `isSaid`: whether the sealed journal says what a row says. A row by itself vouches for nothing. */
export function trustedValueReader(db: DatabaseSync, safely: <T>(read: () => T) => T, isSaid: TrustedValueProof): TrustedValueReader {
  const [cased, folded, all, ofSet] = [
    TRUSTED_VALUES_SQL.cased,
    TRUSTED_VALUES_SQL.folded,
    TRUSTED_VALUES_SQL.all,
    TRUSTED_VALUES_SQL.ofSet,
  ].map((sql) => db.prepare(sql));
  return {
    has: (set, values, isCased) =>
      safely(() =>
        values.some((v) =>
          (isCased ? cased?.all(set, v) : folded?.all(set, v.toLowerCase()))?.some((row) =>
            isSaid({ set, value: String(row.value), stream: streamId(String(row.stream)) }),
          ),
        ),
      ),
    page: ({ set, after, most }) =>
      safely(
        () => (set === null ? all?.all(after?.set ?? "", after?.value ?? "", most) : ofSet?.all(set, after?.value ?? "", most)) ?? [],
      ).map((row) => ({ set: String(row.name), value: String(row.value), from: streamId(String(row.stream)), at: millis(Number(row.at)) })),
  };
}

export type TrustedValueProof = (row: Readonly<{ set: string; value: string; stream: StreamId }>) => boolean;
type ProofNeeds = Readonly<{
  records: Records;
  /** People's edits after this one, proved; `end` when there are no more. */
  edits(after: Seq): Readonly<{ entries: readonly Entry[]; end: boolean }>;
  /** The event of one entry, proved. */
  event(stream: StreamId, place: Seq): JournalEvent | null;
  alarms: Pick<Alarms, "raise">;
}>;

/** Rows that were looked up before: a few values are asked for again and again. */
const MOST_SAID = 10_000;

/**
 * J-18 a value is trusted when an entry says so that is sealed: one by which people added it, or one that its tool's session holds. What was taken out
 * since is not trusted, whatever the row says.
 */
export function trustedValueProof({ records, edits, event, alarms }: ProofNeeds): TrustedValueProof {
  const added = new Map<string, number>();
  const removed = new Map<string, number>();
  const learnt = new Map<string, number>();
  const keyOf = (...parts: readonly string[]): string => JSON.stringify(parts);
  let through = seq(0);

  function readEdits(): void {
    for (;;) {
      const page = edits(through);
      for (const { seq: place, at, event: e } of page.entries) {
        through = place;
        if (e.kind === "known.added") added.set(keyOf(e.set, e.value), at);
        else if (e.kind === "known.removed") removed.set(keyOf(e.set, e.value.toLowerCase()), at);
      }
      if (page.end) return;
    }
  }
  function learntAt(set: string, value: string, stream: StreamId): number | null {
    const key = keyOf(set, value, stream);
    const known = learnt.get(key);
    if (known !== undefined) return known;
    let found: number | null = null; // the newest that says so
    for (const stored of records.entries(stream)) {
      const e = stored.kind.startsWith("known.learned") ? event(stream, stored.seq) : null;
      if (e?.kind === "known.learned" && e.set === set && e.values.includes(value)) found = stored.at;
    }
    if (found === null) return null;
    if (learnt.size >= MOST_SAID) learnt.clear();
    learnt.set(key, found);
    return found;
  }
  return ({ set, value, stream }) => {
    readEdits();
    const saidAt = stream === TRUSTED_VALUES ? (added.get(keyOf(set, value)) ?? null) : learntAt(set, value, stream);
    if (saidAt === null) {
      alarms.raise(`trusted value \`${value}\` of set \`${set}\``, `no sealed entry of stream \`${stream}\` says so`);
      return false;
    }
    return saidAt >= (removed.get(keyOf(set, value.toLowerCase())) ?? 0);
  };
}

/** Inside the writer's transaction. */
export type TrustedValueWriter = Readonly<{
  keep(stream: StreamId, at: number, changes: readonly TrustedValueChange[]): void;
  forget(stream: StreamId): void;
}>;

export function trustedValueWriter(db: DatabaseSync): TrustedValueWriter {
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

export function rebuildTrustedValues(db: DatabaseSync, records: () => Records): void {
  makeOnce(
    db,
    () => hasTable(db, "known_values"),
    () => {
      db.exec(TRUSTED_VALUES_SCHEMA);
      const writer = trustedValueWriter(db);
      for (const { stream, at, event } of knownEvents(db, records())) writer.keep(stream, at, listTrustedValueChanges(event));
    },
  );
}

/** Sets whose rows are not what the entries make of them. */
export function findWrongTrustedSets(db: DatabaseSync, records: Records): readonly string[] {
  const made = new Map<string, { readonly set: string; readonly stream: StreamId }>();
  const keyOf = (set: string, value: string): string => JSON.stringify([set, value]);
  for (const { stream, event } of knownEvents(db, records))
    for (const { set, value, on } of listTrustedValueChanges(event)) {
      if (on) made.set(keyOf(set, value), { set, stream });
      else for (const key of [...made.keys()]) if (key.toLowerCase() === keyOf(set, value).toLowerCase()) made.delete(key);
    }
  const rows = db
    .prepare("SELECT name, value FROM known_values")
    .all()
    .map((row) => ({ set: String(row.name), key: keyOf(String(row.name), String(row.value)) }));
  const there = new Set(rows.map(({ key }) => key));
  const isErased = (stream: StreamId): boolean => [...records.entries(stream)].some(({ payload }) => payload === null); // what it had learnt is forgotten with it
  const missing = [...made].filter(([key, { stream }]) => !there.has(key) && !isErased(stream)).map(([, { set }]) => set);
  return [...new Set([...rows.filter(({ key }) => !made.has(key)).map(({ set }) => set), ...missing])].sort();
}

/** In the order of the journal: a scan, for those who look at everything anyway. */
function* knownEvents(db: DatabaseSync, records: Records): Iterable<Readonly<{ stream: StreamId; at: number; event: JournalEvent }>> {
  const rows = db.prepare(
    "SELECT s.stream, a.first, a.count FROM appends AS a JOIN streams AS s ON s.no = a.stream WHERE a.body LIKE '%known.%' ORDER BY a.id",
  );
  for (const row of rows.all()) {
    const stream = streamId(String(row.stream));
    const [first, end] = [Number(row.first), Number(row.first) + Number(row.count)];
    for (const e of records.entries(stream))
      if (e.seq >= first && e.seq < end && e.kind.startsWith("known."))
        for (const event of decodeEvents(e.kind, e.payload, records)) yield { stream, at: e.at, event };
  }
}
