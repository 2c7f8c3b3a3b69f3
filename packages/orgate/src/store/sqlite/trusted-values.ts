/** Trusted sets, and records of the whole project, as rows: kept by the events that extend and shorten them, made again from the entries, in the order they became durable, where the table is missing. */
import type { DatabaseSync } from "node:sqlite";
import {
  findRecorded,
  listTrustedValueChanges,
  type Records,
  type TrustedValue,
  type TrustedValueChange,
  type TrustedValuePage,
} from "@orgate/core/journal";
import {
  type Entry,
  type JournalEvent,
  millis,
  recordSet,
  type Seq,
  type StoredThing,
  type StreamId,
  seq,
  streamId,
  TRUSTED_VALUES,
} from "@orgate/core/vocab";
import type { Alarms } from "./proof/alarms.ts";
import { decodeEvents, hasColumn, makeOnce } from "./side-table.ts";

export const TRUSTED_VALUES_SCHEMA = `
CREATE TABLE known_values (
  name TEXT NOT NULL, value TEXT NOT NULL, folded TEXT NOT NULL, stream TEXT NOT NULL, at INTEGER NOT NULL, place INTEGER NOT NULL,
  PRIMARY KEY (name, value)
) STRICT, WITHOUT ROWID;
CREATE INDEX known_folded ON known_values (name, folded);
CREATE INDEX known_of_stream ON known_values (stream);
`;

/** Each by an index of its own. */
export const TRUSTED_VALUES_SQL = Object.freeze({
  cased: "SELECT value, stream, place FROM known_values WHERE name = ? AND value = ?",
  folded: "SELECT value, stream, place FROM known_values WHERE name = ? AND folded = ?",
  all: "SELECT name, value, stream, at FROM known_values WHERE (name, value) > (?, ?) ORDER BY name, value LIMIT ?",
  ofSet: "SELECT name, value, stream, at FROM known_values WHERE name = ? AND value > ? ORDER BY value LIMIT ?",
});

export type TrustedValueReader = Readonly<{
  has(set: string, values: readonly string[], cased: boolean): boolean;
  /** The record of a thing, as its entry says it: a row only says where that is. */
  record(type: string, key: string): StoredThing | null;
  page(page: TrustedValuePage): readonly TrustedValue[];
}>;

/** `prove`: whether the sealed journal says what a row says. A row by itself vouches for nothing. */
export function trustedValueReader(db: DatabaseSync, safely: <T>(read: () => T) => T, prove: TrustedValueProof): TrustedValueReader {
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
          (isCased ? cased?.all(set, v) : folded?.all(set, v.toLowerCase()))?.some(
            (row) => prove({ set, value: String(row.value), stream: streamId(String(row.stream)), place: seq(Number(row.place)) }).isSaid,
          ),
        ),
      ),
    record: (type, key) =>
      safely(() => {
        const row = cased?.get(recordSet(type), key);
        if (row === undefined) return null;
        const { isSaid, entry } = prove({
          set: recordSet(type),
          value: key,
          stream: streamId(String(row.stream)),
          place: seq(Number(row.place)),
        });
        return isSaid && entry !== null ? findRecorded(entry.event, entry.at, type, key) : null;
      }),
    page: ({ set, after, most }) =>
      safely(
        () => (set === null ? all?.all(after?.set ?? "", after?.value ?? "", most) : ofSet?.all(set, after?.value ?? "", most)) ?? [],
      ).map((row) => ({ set: String(row.name), value: String(row.value), from: streamId(String(row.stream)), at: millis(Number(row.at)) })),
  };
}

type SaidRow = Readonly<{ set: string; value: string; stream: StreamId; place: Seq }>;
/** `entry`: the one of a session that says so; null where people did. */
export type TrustedValueProof = (row: SaidRow) => Readonly<{ isSaid: boolean; entry: Entry | null }>;
type ProofNeeds = Readonly<{
  /** People's edits after this one, proved; `end` when there are no more. */
  edits(after: Seq): Readonly<{ entries: readonly Entry[]; end: boolean }>;
  /** One entry, proved. */
  entry(stream: StreamId, place: Seq): Entry | null;
  alarms: Pick<Alarms, "raise">;
}>;

/** Entries that were looked up before: a few values are asked for again and again. */
const MOST_SAID = 10_000;

/**
 * J-18 a value is trusted when an entry says so that is sealed: one by which people added it, or one that its tool's session holds. What was taken out
 * since is not trusted, whatever the row says.
 */
export function trustedValueProof({ edits, entry, alarms }: ProofNeeds): TrustedValueProof {
  const added = new Map<string, number>();
  const removed = new Map<string, number>();
  const told = new Map<string, Entry>();
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
  /** The entry that a row names, if it says so. */
  function entryFor({ set, value, stream, place }: SaidRow): Entry | null {
    const key = keyOf(set, value, stream, String(place));
    const known = told.get(key);
    if (known !== undefined) return known;
    const found = entry(stream, place);
    if (found === null || !listTrustedValueChanges(found.event).some((one) => one.on && one.set === set && one.value === value))
      return null;
    if (told.size >= MOST_SAID) told.clear();
    told.set(key, found);
    return found;
  }
  return (row) => {
    readEdits();
    const { set, value, stream } = row;
    const found = stream === TRUSTED_VALUES ? null : entryFor(row);
    const saidAt = stream === TRUSTED_VALUES ? (added.get(keyOf(set, value)) ?? null) : (found?.at ?? null);
    if (saidAt === null) {
      alarms.raise(`trusted value \`${value}\` of set \`${set}\``, `no sealed entry of stream \`${stream}\` says so`);
      return { isSaid: false, entry: null };
    }
    return { isSaid: saidAt >= (removed.get(keyOf(set, value.toLowerCase())) ?? 0), entry: found };
  };
}

/** A change, with the place of the entry that says so. */
export type PlacedChange = TrustedValueChange & Readonly<{ place: Seq }>;
export const placedChanges = (event: JournalEvent, place: Seq): readonly PlacedChange[] =>
  listTrustedValueChanges(event).map((change) => ({ ...change, place }));

/** Inside the writer's transaction. */
export type TrustedValueWriter = Readonly<{
  keep(stream: StreamId, at: number, changes: readonly PlacedChange[]): void;
  forget(stream: StreamId): void;
}>;

export function trustedValueWriter(db: DatabaseSync): TrustedValueWriter {
  const put = db.prepare("INSERT OR REPLACE INTO known_values VALUES (?, ?, ?, ?, ?, ?)");
  const drop = db.prepare("DELETE FROM known_values WHERE name = ? AND folded = ?");
  const dropAll = db.prepare("DELETE FROM known_values WHERE stream = ?");
  return {
    keep(stream, at, changes) {
      for (const { set, value, on, place } of changes)
        on ? put.run(set, value, value.toLowerCase(), stream, at, place) : drop.run(set, value.toLowerCase()); // however it was spelt: rather one too many
    },
    forget: (stream) => void dropAll.run(stream),
  };
}

/** An erased entry may have ended any record that was made before it: nobody can tell any more, so none of them comes back. */
const FORGET_RECORDS = `DELETE FROM known_values WHERE substr(name, 1, ${recordSet("").length}) = '${recordSet("")}'`;

export function rebuildTrustedValues(db: DatabaseSync, records: () => Records): void {
  makeOnce(
    db,
    () => hasColumn(db, "known_values", "place"), // a table of before says nothing of places
    () => {
      db.exec("DROP TABLE IF EXISTS known_values");
      db.exec(TRUSTED_VALUES_SCHEMA);
      const writer = trustedValueWriter(db);
      for (const { stream, at, place, kind, event } of knownEvents(db, records())) {
        if (event !== null) writer.keep(stream, at, placedChanges(event, place));
        else if (kind === "known.recorded") db.exec(FORGET_RECORDS);
      }
    },
  );
}

/** Sets whose rows are not what the entries make of them: a value too many or too few, or a place other than the last that says so. */
export function findWrongTrustedSets(db: DatabaseSync, records: Records): readonly string[] {
  const made = new Map<string, { readonly set: string; readonly stream: StreamId; readonly place: number; readonly nth: number }>();
  let [nth, erasedLast] = [0, 0];
  const keyOf = (set: string, value: string): string => JSON.stringify([set, value]);
  for (const { stream, place, event } of knownEvents(db, records)) {
    nth += 1;
    if (event === null) erasedLast = nth;
    for (const { set, value, on } of event === null ? [] : listTrustedValueChanges(event)) {
      if (on) made.set(keyOf(set, value), { set, stream, place, nth });
      else for (const key of [...made.keys()]) if (key.toLowerCase() === keyOf(set, value).toLowerCase()) made.delete(key);
    }
  }
  const rows = db
    .prepare("SELECT name, value, stream, place FROM known_values")
    .all()
    .map((row) => ({
      set: String(row.name),
      key: keyOf(String(row.name), String(row.value)),
      stream: String(row.stream),
      place: Number(row.place),
    }));
  const there = new Set(rows.map(({ key }) => key));
  const isErased = (stream: StreamId): boolean => [...records.entries(stream)].some(({ payload }) => payload === null); // what it had learnt is forgotten with it
  const mayBeGone = (one: { readonly stream: StreamId; readonly nth: number }): boolean => one.nth < erasedLast || isErased(one.stream); // what was erased later may have ended or replaced it
  const missing = [...made].filter(([key, one]) => !there.has(key) && !mayBeGone(one)).map(([, { set }]) => set);
  const isAsMade = ({ key, stream, place }: (typeof rows)[number]): boolean =>
    made.get(key)?.stream === stream && made.get(key)?.place === place;
  return [...new Set([...rows.filter((row) => !isAsMade(row)).map(({ set }) => set), ...missing])].sort();
}

/** `event` null: it was erased. */
type KnownEvent = Readonly<{ stream: StreamId; at: number; place: Seq; kind: string; event: JournalEvent | null }>;

/** In the order of the journal: a scan, for those who look at everything anyway. */
function* knownEvents(db: DatabaseSync, records: Records): Iterable<KnownEvent> {
  const rows = db.prepare(
    "SELECT s.stream, a.first, a.count FROM appends AS a JOIN streams AS s ON s.no = a.stream WHERE a.body LIKE '%known.%' ORDER BY a.id",
  );
  for (const row of rows.all()) {
    const stream = streamId(String(row.stream));
    const [first, end] = [Number(row.first), Number(row.first) + Number(row.count)];
    for (const e of records.entries(stream))
      if (e.seq >= first && e.seq < end && e.kind.startsWith("known."))
        for (const event of e.payload === null ? [null] : decodeEvents(e.kind, e.payload, records))
          yield { stream, at: e.at, place: e.seq, kind: e.kind, event };
  }
}
