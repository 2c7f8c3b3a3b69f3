/** Rows of the journal's database as they are stored: nothing here is proved. Synchronous, in short transactions that hold up no writer. */
import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import { type Records, readBody, type StoredAppend, type StoredEntry, type StoredSeal, type UnsealPorts } from "@orgate/core/journal";
import {
  type Digest,
  digest,
  type Epoch,
  epoch,
  type Seq,
  type StreamId,
  seq,
  streamId,
  type WriterId,
  writerId,
  ZERO,
} from "@orgate/core/vocab";
import { sha256 } from "../../node/crypto.ts";
import type { StoredPlace } from "../store.ts";
import { readBlobFile } from "./blobs.ts";
import { toSeal } from "./proof/seal-row.ts";
import { type DatabasePaths, withReadFaults } from "./schema.ts";

export type HoldRow = Readonly<{ epoch: Epoch; holder: WriterId | null; incarnation: number | null; pid: number | null }>;
/** `seq` and `hash`: how far the stream was indexed; a session may go on after it. */
export type StreamRow = Readonly<{ seq: Seq; hash: Digest; hold: HoldRow }>;
export type AppendRow = StoredAppend & Readonly<{ id: number; mac: string }>;
/** One entry as it is stored, and the seal that covers it; null before there is one. */

/** Rows per statement: few enough to let others run in between, many enough not to matter. */
export const CHUNK = 1_000;

/** By the table's own order: no scan. */
export const HELD_SQL =
  "SELECT s.stream, s.epoch, s.holder, s.incarnation, s.pid FROM json_each(?) AS asked JOIN streams AS s ON s.stream = asked.value WHERE s.holder IS NOT NULL";
/** The next stream that holds an entry. Its row may say that it is empty: somebody only holds it, it was begun a moment ago, or the row was changed. */
export const NEXT_STREAM_SQL = `SELECT stream FROM streams AS s WHERE stream > ? AND (seq > 0 OR EXISTS (SELECT 1 FROM places WHERE stream = s.no)
  OR EXISTS (SELECT 1 FROM appends WHERE id > (SELECT id FROM indexed) AND stream = s.no)) ORDER BY stream LIMIT 1`;
export const STREAMS_SQL = "SELECT stream, seq FROM streams WHERE stream >= ? AND stream < ? || char(1114111) AND seq > 0 ORDER BY stream";

const APPEND = "a.id, a.count, a.first, a.writer, a.seal, a.hash, a.mac, a.body";
export const APPENDS_SQL = Object.freeze({
  /** From the append that holds an entry on. */
  from: `SELECT ${APPEND} FROM places AS p JOIN appends AS a ON a.id = p.id
    WHERE p.stream = ? AND p.first >= (SELECT coalesce(max(first), 1) FROM places WHERE stream = ? AND first <= ?) ORDER BY p.first LIMIT ?`,
  /** The newest that begins before an entry. */
  before: `SELECT ${APPEND} FROM places AS p JOIN appends AS a ON a.id = p.id WHERE p.stream = ? AND p.first < ? ORDER BY p.first DESC LIMIT ?`,
  byId: `SELECT ${APPEND} FROM appends AS a WHERE a.id = ?`,
  /** In the order of the journal, from the one that holds a position on. */
  written: `SELECT ${APPEND}, s.stream AS name FROM appends AS a LEFT JOIN streams AS s ON s.no = a.stream
    WHERE a.id >= (SELECT coalesce(max(id), 1) FROM appends WHERE id <= ?) ORDER BY a.id LIMIT ?`,
});
type Row = Record<string, SQLOutputValue>;

function prepare(db: DatabaseSync) {
  const sql = {
    appendsFrom: db.prepare(APPENDS_SQL.from),
    appendsBefore: db.prepare(APPENDS_SQL.before),
    append: db.prepare(APPENDS_SQL.byId),
    written: db.prepare(APPENDS_SQL.written),
    unindexed: db.prepare("SELECT id, stream FROM appends WHERE id > ? ORDER BY id"),
    indexed: db.prepare("SELECT id FROM indexed"),
    begin: db.prepare("BEGIN"),
    end: db.prepare("COMMIT"),
    held: db.prepare(HELD_SQL),
    stream: db.prepare("SELECT seq, hash, epoch, holder, incarnation, pid FROM streams WHERE stream = ?"),
    numberOf: db.prepare("SELECT no FROM streams WHERE stream = ?"),
    streamsLike: db.prepare(STREAMS_SQL),
    nextStream: db.prepare(NEXT_STREAM_SQL),
    nextWriter: db.prepare("SELECT writer FROM seals WHERE writer > ? ORDER BY writer LIMIT 1"),
    seal: db.prepare("SELECT * FROM seals WHERE writer = ? AND number = ?"),
    sealsAfter: db.prepare("SELECT * FROM seals WHERE writer = ? AND number > ? ORDER BY number LIMIT ?"),
    blob: db.prepare("SELECT text FROM blobs WHERE address = ?"),
  };
  for (const statement of [sql.appendsFrom, sql.appendsBefore, sql.append, sql.written, sql.unindexed]) statement.setReturnArrays(true);
  return sql;
}

export class JournalRows {
  readonly #db: DatabaseSync;
  readonly #places: DatabasePaths;
  readonly #sql: ReturnType<typeof prepare>;
  readonly #numbers = new Map<StreamId, number>();
  readonly #tail: UnindexedTail;
  readonly records: Records;
  readonly unsealing: UnsealPorts;

  constructor(db: DatabaseSync, places: DatabasePaths) {
    this.#db = db;
    this.#places = places;
    this.#sql = prepare(db);
    this.#tail = new UnindexedTail(this.#sql);
    this.unsealing = { hash: sha256, getBlob: (address, expected) => this.#getBlob(address, expected) };
    this.records = {
      streams: () => this.#streams(),
      entries: (stream) => this.#entries(stream),
      writers: () => this.#writers(),
      seals: (writer) => this.#seals(writer),
      blob: (address) => this.#blob(address),
    };
  }

  /** Reports a database that cannot be read as `journal-unreadable`. */
  safely<T>(read: () => T): T {
    return withReadFaults(this.#places.database, read);
  }

  /** One moment of the database, however many statements look at it. */
  snapshot<T>(look: () => T): T {
    return this.safely(() => {
      if (this.#db.isTransaction) return look();
      this.#sql.begin.run();
      try {
        return look();
      } finally {
        if (this.#db.isTransaction) this.#sql.end.run();
      }
    });
  }

  /** From the append that holds entry `from` on, in order, as many as `most` entries need: of a long append there may be one. */
  appendsFrom(stream: StreamId, from: Seq, most: number): AppendRow[] {
    return this.snapshot(() => {
      const no = this.#numberOf(stream);
      if (no === null) return [];
      const tail = this.#tail.idsOf(no);
      // node:sqlite types rows as objects; `setReturnArrays` above makes them arrays
      const rows = this.#sql.appendsFrom.iterate(no, no, from, most) as unknown as Iterable<SQLOutputValue[]>;
      const found: AppendRow[] = [];
      const isEnough = (): boolean => endOf(found.at(-1), from) - from >= most;
      for (const row of rows) {
        const append = toAppend(stream, row);
        if (append.first + append.count > from) found.push(append);
        if (isEnough()) break;
      }
      for (const id of tail) {
        if (isEnough()) break;
        const row = this.#sql.append.get(id) as unknown as SQLOutputValue[] | undefined;
        const append = row === undefined ? null : toAppend(stream, row);
        if (append !== null && append.first + append.count > from && !found.some((a) => a.id === append.id)) found.push(append);
      }
      return found;
    });
  }

  /** Those that begin before entry `before`, newest first. */
  appendsBefore(stream: StreamId, before: number, most: number): AppendRow[] {
    return this.snapshot(() => {
      const no = this.#numberOf(stream);
      if (no === null) return [];
      const found: AppendRow[] = [];
      for (const id of this.#tail.idsOf(no).toReversed()) {
        const row = this.#sql.append.get(id) as unknown as SQLOutputValue[] | undefined;
        const append = row === undefined ? null : toAppend(stream, row);
        if (append !== null && append.first < before && found.length < most) found.push(append);
      }
      const left = most - found.length;
      const rows = left === 0 ? [] : (this.#sql.appendsBefore.all(no, before, left) as unknown as SQLOutputValue[][]);
      for (const row of rows) if (!found.some((a) => a.id === row[0])) found.push(toAppend(stream, row));
      return found;
    });
  }

  lastAppend(stream: StreamId): AppendRow | null {
    return this.appendsBefore(stream, Number.MAX_SAFE_INTEGER, 1)[0] ?? null;
  }

  /** In the order of the journal, from the one that holds this position on, as many as `most` entries need; `null` for a stream without a name. */
  written(from: number, most: number): readonly Readonly<{ append: AppendRow; name: StreamId | null }>[] {
    const found: { append: AppendRow; name: StreamId | null }[] = [];
    for (const row of this.#sql.written.iterate(from, most) as unknown as Iterable<SQLOutputValue[]>) {
      const name = row[8] === null ? null : streamId(String(row[8]));
      const append = toAppend(name ?? streamId("unnamed"), row);
      found.push({ append, name });
      if (append.id + append.count - from >= most) break;
    }
    return found;
  }

  /** What the first entry of an append must be chained to; null where that is missing. */
  previousOf(append: Pick<AppendRow, "stream" | "first">): Digest | null {
    if (append.first === 1) return ZERO;
    const before = this.appendsBefore(append.stream, append.first, 1)[0];
    return before === undefined || before.first + before.count !== append.first ? null : before.hash;
  }

  /** The entries of one append, hashed from what is stored. */
  entriesOf(append: AppendRow, previous: Digest | null = this.previousOf(append)): readonly StoredEntry[] {
    return readBody(append, previous ?? ("missing" as Digest), sha256);
  }

  entryAt(stream: StreamId, at: Seq): StoredEntry | null {
    return this.snapshot(() => {
      const append = this.appendsFrom(stream, at, 1)[0];
      return append === undefined || append.first > at ? null : (this.entriesOf(append)[at - append.first] ?? null);
    });
  }

  hashAt(stream: StreamId, at: Seq): Digest | null {
    return this.snapshot(() => {
      const append = this.appendsFrom(stream, at, 1)[0];
      if (append === undefined || append.first > at) return null;
      const isEnd = append.first + append.count - 1 === at;
      return isEnd ? append.hash : (this.entriesOf(append)[at - append.first]?.entryHash ?? null);
    });
  }

  /** Entries are numbered through all streams: an append's id is the position of its first. */
  positionOf(stream: StreamId, at: Seq): number | null {
    const append = this.appendsFrom(stream, at, 1)[0];
    return append === undefined || append.first > at ? null : append.id + at - append.first;
  }

  stored(stream: StreamId, at: Seq): StoredPlace | null {
    return this.snapshot(() => {
      const append = this.appendsFrom(stream, at, 1)[0];
      const entry = append === undefined || append.first > at ? null : this.entriesOf(append)[at - append.first];
      return append === undefined || entry === null || entry === undefined ? null : { entry, seal: this.seal(append.writer, append.seal) };
    });
  }

  seal(writer: WriterId, number: number): StoredSeal | null {
    const row = this.safely(() => this.#sql.seal.get(writer, number));
    return row === undefined ? null : toSeal(row);
  }

  stream(name: StreamId): StreamRow | null {
    const row = this.safely(() => this.#sql.stream.get(name));
    return row === undefined ? null : { seq: seq(Number(row.seq)), hash: digest(String(row.hash)), hold: toHoldRow(row) };
  }

  streams(prefix: string): readonly Readonly<{ stream: StreamId; seq: Seq }>[] {
    const rows = this.safely(() => this.#sql.streamsLike.all(prefix, prefix));
    return rows.map((row) => ({ stream: streamId(String(row.stream)), seq: seq(Number(row.seq)) }));
  }

  held(streams: readonly StreamId[]): ReadonlyMap<StreamId, HoldRow> {
    const rows = this.safely(() => this.#sql.held.all(JSON.stringify(streams)));
    return new Map(rows.map((row) => [streamId(String(row.stream)), toHoldRow(row)]));
  }

  #numberOf(stream: StreamId): number | null {
    const known = this.#numbers.get(stream);
    if (known !== undefined) return known;
    const row = this.#sql.numberOf.get(stream);
    if (row === undefined) return null;
    if (this.#numbers.size >= MOST_NUMBERS) this.#numbers.clear();
    this.#numbers.set(stream, Number(row.no));
    return Number(row.no);
  }

  #blob(address: string): string | null {
    const row = this.safely(() => this.#sql.blob.get(address));
    if (row === undefined) return null;
    return row.text === null ? readBlobFile(this.#places.blobs, address) : String(row.text);
  }

  #getBlob(address: string, expected: Digest): string | null {
    const text = this.#blob(address);
    if (text !== null && sha256(text) !== expected) throw new Error(`blob ${address} is not what was stored`);
    return text;
  }

  *#streams(): Iterable<StreamId> {
    for (let row = this.safely(() => this.#sql.nextStream.get("")); row !== undefined; ) {
      const name = streamId(String(row.stream));
      yield name;
      row = this.safely(() => this.#sql.nextStream.get(name));
    }
  }

  *#entries(name: StreamId): Iterable<StoredEntry> {
    let previous: Digest = ZERO;
    for (let from = seq(1); ; ) {
      const began = from;
      const chunk = this.appendsFrom(name, from, CHUNK);
      for (const append of chunk) {
        const entries = this.entriesOf(append, previous);
        yield* entries;
        previous = append.hash;
        from = seq(append.first + Math.max(1, append.count));
      }
      if (from - began < CHUNK) return;
    }
  }

  *#writers(): Iterable<WriterId> {
    for (let row = this.safely(() => this.#sql.nextWriter.get("")); row !== undefined; ) {
      const writer = writerId(String(row.writer));
      yield writer;
      row = this.safely(() => this.#sql.nextWriter.get(writer));
    }
  }

  *#seals(writer: WriterId): Iterable<StoredSeal> {
    for (let after = -1; ; ) {
      const chunk = this.safely(() => this.#sql.sealsAfter.all(writer, after, CHUNK)).map(toSeal);
      yield* chunk;
      const last = chunk.at(-1);
      if (last === undefined) return;
      after = last.number;
    }
  }
}

/** The place after an append; without one, `from`. */
const endOf = (append: AppendRow | undefined, from: number): number => (append === undefined ? from : append.first + append.count);

/** Numbers of streams never change; a few are asked for again and again. */
const MOST_NUMBERS = 50_000;

/** Appends after the last indexed one, by stream: read once each. */
class UnindexedTail {
  readonly #sql: ReturnType<typeof prepare>;
  #ids = new Map<number, number[]>();
  #indexed = -1;
  #through = 0;

  constructor(sql: ReturnType<typeof prepare>) {
    this.#sql = sql;
  }

  /** In order. Inside a snapshot. */
  idsOf(stream: number): readonly number[] {
    const indexed = Number(this.#sql.indexed.get()?.id);
    if (indexed !== this.#indexed) {
      this.#ids = new Map();
      this.#indexed = indexed;
      this.#through = indexed;
    }
    for (const [id, of] of this.#sql.unindexed.all(this.#through) as unknown as [number, number][]) {
      const ids = this.#ids.get(of);
      if (ids === undefined) this.#ids.set(of, [id]);
      else ids.push(id);
      this.#through = id;
    }
    return this.#ids.get(stream) ?? [];
  }
}

// The decoders of our own rows: STRICT tables hold what the types say.

const toAppend = (stream: StreamId, row: readonly SQLOutputValue[]): AppendRow => ({
  id: row[0] as number,
  count: row[1] as number,
  stream,
  first: row[2] as Seq,
  writer: row[3] as WriterId,
  seal: row[4] as number,
  hash: row[5] as Digest,
  mac: row[6] as string,
  body: row[7] as string,
});

export function toHoldRow(row: Row): HoldRow {
  return {
    epoch: epoch(Number(row.epoch)),
    holder: row.holder as WriterId | null,
    incarnation: row.incarnation as number | null,
    pid: row.pid as number | null,
  };
}
