/** Rows of the journal's database as they are stored: nothing here is proved. Synchronous, in short transactions that hold up no writer. */
import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import type { Records, SessionSummary, StoredCommit, StoredEntry, StreamHead, UnsealPorts } from "@orgate/core/journal";
import {
  type Digest,
  digest,
  type Epoch,
  epoch,
  millis,
  type Seq,
  type SessionId,
  type StreamId,
  seq,
  streamId,
  type WriterId,
  writerId,
} from "@orgate/core/vocab";
import { sha256 } from "../../node/crypto.ts";
import { readBlobFile } from "./blobs.ts";
import { type DatabasePaths, withReadFaults } from "./schema.ts";
import { toStoredEntry } from "./tail.ts";

export type HoldRow = Readonly<{ epoch: Epoch; holder: WriterId | null; incarnation: number | null; pid: number | null }>;
export type StreamRow = Readonly<{ head: StreamHead; hold: HoldRow }>;
/** One entry as it is stored, and the commit that it was written in. */
export type StoredPlace = Readonly<{ entry: StoredEntry; commit: StoredCommit }>;

/** Rows per statement: few enough to let others run in between, many enough not to matter. */
export const CHUNK = 1_000;

/** By the table's own order: no scan. */
export const HELD_SQL =
  "SELECT s.stream, s.epoch, s.holder, s.incarnation, s.pid FROM json_each(?) AS asked JOIN streams AS s ON s.stream = asked.value WHERE s.holder IS NOT NULL";
export const STREAMS_SQL = "SELECT stream, seq FROM streams WHERE stream >= ? AND stream < ? || char(1114111) AND seq > 0 ORDER BY stream";

const ENTRY = "seq, at, kind, previous, payload_hash, entry_hash, salt, payload";
type Row = Record<string, SQLOutputValue>;

function prepare(db: DatabaseSync) {
  const entriesAfter = db.prepare(`SELECT ${ENTRY} FROM entries WHERE stream = ? AND seq > ? ORDER BY seq LIMIT ?`);
  const entriesBefore = db.prepare(`SELECT ${ENTRY} FROM entries WHERE stream = ? AND seq < ? ORDER BY seq DESC LIMIT ?`);
  entriesAfter.setReturnArrays(true);
  entriesBefore.setReturnArrays(true);
  return {
    entriesAfter,
    entriesBefore,
    begin: db.prepare("BEGIN"),
    end: db.prepare("COMMIT"),
    held: db.prepare(HELD_SQL),
    stream: db.prepare("SELECT seq, hash, at, epoch, holder, incarnation, pid FROM streams WHERE stream = ?"),
    streamsLike: db.prepare(STREAMS_SQL),
    hashAt: db.prepare("SELECT entry_hash FROM entries WHERE stream = ? AND seq = ?"),
    commitOf: db.prepare(
      "SELECT c.* FROM entries AS e JOIN commits AS c ON c.writer = e.writer AND c.number = e.number WHERE e.stream = ? AND e.seq = ?",
    ),
    nextStream: db.prepare("SELECT stream FROM entries WHERE stream > ? ORDER BY stream LIMIT 1"),
    nextWriter: db.prepare("SELECT writer FROM commits WHERE writer > ? ORDER BY writer LIMIT 1"),
    commitsAfter: db.prepare("SELECT * FROM commits WHERE writer = ? AND number > ? ORDER BY number LIMIT ?"),
    blob: db.prepare("SELECT text FROM blobs WHERE address = ?"),
    summary: db.prepare("SELECT summary FROM sessions WHERE session = ?"),
  };
}

export class JournalRows {
  readonly #db: DatabaseSync;
  readonly #places: DatabasePaths;
  readonly #sql: ReturnType<typeof prepare>;
  readonly records: Records;
  readonly unsealing: UnsealPorts;

  constructor(db: DatabaseSync, places: DatabasePaths) {
    this.#db = db;
    this.#places = places;
    this.#sql = prepare(db);
    this.unsealing = { hash: sha256, getBlob: (address, expected) => this.#getBlob(address, expected) };
    this.records = {
      streams: () => this.#streams(),
      entries: (stream) => this.#entries(stream),
      writers: () => this.#writers(),
      commits: (writer) => this.#commits(writer),
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

  entriesAfter(stream: StreamId, after: Seq, most: number): StoredEntry[] {
    // node:sqlite types rows as objects; `setReturnArrays` above makes them arrays
    return (this.#sql.entriesAfter.all(stream, after, most) as unknown as SQLOutputValue[][]).map((row) => toStoredEntry(stream, row));
  }

  /** Newest first. */
  entriesBefore(stream: StreamId, before: number, most: number): StoredEntry[] {
    const rows = this.safely(() => this.#sql.entriesBefore.all(stream, before, most) as unknown as SQLOutputValue[][]);
    return rows.map((row) => toStoredEntry(stream, row));
  }

  entryAt(stream: StreamId, at: Seq): StoredEntry | null {
    return this.safely(() => this.entriesAfter(stream, seq(at - 1), 1)).find((e) => e.seq === at) ?? null;
  }

  hashAt(stream: StreamId, at: Seq): Digest | null {
    const row = this.safely(() => this.#sql.hashAt.get(stream, at));
    return row === undefined ? null : digest(String(row.entry_hash));
  }

  stored(stream: StreamId, at: Seq): StoredPlace | null {
    return this.snapshot(() => {
      const entry = this.entryAt(stream, at);
      const row = this.#sql.commitOf.get(stream, at);
      return entry === null || row === undefined ? null : { entry, commit: toCommit(row) };
    });
  }

  stream(name: StreamId): StreamRow | null {
    const row = this.safely(() => this.#sql.stream.get(name));
    return row === undefined ? null : toStreamRow(row);
  }

  streams(prefix: string): readonly Readonly<{ stream: StreamId; seq: Seq }>[] {
    const rows = this.safely(() => this.#sql.streamsLike.all(prefix, prefix));
    return rows.map((row) => ({ stream: streamId(String(row.stream)), seq: seq(Number(row.seq)) }));
  }

  held(streams: readonly StreamId[]): ReadonlyMap<StreamId, HoldRow> {
    const rows = this.safely(() => this.#sql.held.all(JSON.stringify(streams)));
    return new Map(rows.map((row) => [streamId(String(row.stream)), toHoldRow(row)]));
  }

  session(name: SessionId): SessionSummary | null {
    const row = this.safely(() => this.#sql.summary.get(name));
    return row === undefined ? null : toSummary(row);
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
    for (let after = seq(0); ; ) {
      const chunk = this.safely(() => this.entriesAfter(name, after, CHUNK));
      yield* chunk;
      const last = chunk.at(-1);
      if (last === undefined) return;
      after = last.seq;
    }
  }

  *#writers(): Iterable<WriterId> {
    for (let row = this.safely(() => this.#sql.nextWriter.get("")); row !== undefined; ) {
      const writer = writerId(String(row.writer));
      yield writer;
      row = this.safely(() => this.#sql.nextWriter.get(writer));
    }
  }

  *#commits(writer: WriterId): Iterable<StoredCommit> {
    for (let after = -1; ; ) {
      const chunk = this.safely(() => this.#sql.commitsAfter.all(writer, after, CHUNK)).map(toCommit);
      yield* chunk;
      const last = chunk.at(-1);
      if (last === undefined) return;
      after = last.number;
    }
  }
}

// The decoders of our own rows: STRICT tables hold what the types say.

const toCommit = ({ counts: _, ...row }: Row): StoredCommit => row as unknown as StoredCommit;
/** A summary from before external ids or sub-agents has neither. */
export const toSummary = (row: Row): SessionSummary =>
  ({ external: null, title: null, parent: null, children: [], ...JSON.parse(String(row.summary)) }) as SessionSummary;

function toStreamRow(row: Row): StreamRow {
  return {
    head: { seq: seq(Number(row.seq)), hash: digest(String(row.hash)), at: millis(Number(row.at)) },
    hold: toHoldRow(row),
  };
}

function toHoldRow(row: Row): HoldRow {
  return {
    epoch: epoch(Number(row.epoch)),
    holder: row.holder as WriterId | null,
    incarnation: row.incarnation as number | null,
    pid: row.pid as number | null,
  };
}
