/** All that reads the journal's database, synchronously, in short transactions that hold up no writer. */
import { hash as hashOf } from "node:crypto";
import type { DatabaseSync, SQLOutputValue, StatementSync } from "node:sqlite";
import {
  BOUND_STREAMS,
  type CountSought,
  checkEnd,
  EMPTY_STREAM,
  FIRST_COMMIT,
  foldQuestions,
  NOTHING_WAITS,
  type Position,
  type Records,
  type SessionPage,
  type SessionSummary,
  type StoredCommit,
  type StoredEntry,
  type StreamHead,
  summariseSession,
  unseal,
  unsealOne,
  type Waiting,
  type WriterHead,
  type Written,
} from "@orgate/core/journal";
import {
  type Digest,
  digest,
  type Entry,
  type Epoch,
  epoch,
  FaultError,
  type Hash,
  type JournalEvent,
  KNOWN,
  type Lately,
  millis,
  type Seq,
  type SessionId,
  type StreamId,
  seq,
  streamId,
  type WriterId,
  writerId,
} from "@orgate/core/vocab";
import { readBlobFile } from "./blobs.ts";
import { externalReader, rebuildClaims } from "./claims.ts";
import { assertProved, countReader, listSessionsToCount, rebuildCounts } from "./counts.ts";
import { type DeadLetterReader, deadLetterReader, rebuildDeadLetters } from "./dead-letters.ts";
import { alteredEntries } from "./proof/altered.ts";
import { type CountProof, countKeys, openCountProof } from "./proof/count-proof.ts";
import { openQuestionProof, type QuestionProof, questionMacs } from "./proof/question-proof.ts";
import { type Seals, UNPROVED } from "./proof/seals.ts";
import { openSealedSums, type SealedSums } from "./proof/sums.ts";
import { type QuestionReader, questionReader, rebuildQuestions } from "./questions.ts";
import { type Places, reading } from "./schema.ts";
import { tailReader, toStoredEntry } from "./tail.ts";
import { rebuildTrustedValues, type TrustedValueReader, trustedValueProof, trustedValueReader } from "./trusted-values.ts";
import { rebuildUnknowns, type UnknownReader, unknownReader } from "./unknowns.ts";

export const sha256: Hash = (text) => digest(hashOf("sha256", text, "hex"));

/** Rows per statement: few enough to let others run in between, many enough not to matter. */
const CHUNK = 1_000;
/** As many, from the end: what is looked for is usually among the first few. */
const NEAR = 50;

export type HoldRow = Readonly<{ epoch: Epoch; holder: WriterId | null; incarnation: number | null; pid: number | null }>;
export type StreamRow = Readonly<{ head: StreamHead; hold: HoldRow }>;
type Chunk = Readonly<{ entries: readonly Entry[]; end: boolean }>;

export type Tally = Readonly<{ agent: string; state: SessionSummary["state"]; count: number }>;

export type SqliteReader = Readonly<{
  stream(stream: StreamId): StreamRow | null;
  /** Of these, those that somebody has taken and not given back, living or not. */
  held(streams: readonly StreamId[]): ReadonlyMap<StreamId, HoldRow>;
  /** At most `most` entries, fewer than asked for when there are many; `end` when there are no more. */
  chunk(stream: StreamId, after: Seq, most: number): Chunk;
  hashAt(stream: StreamId, at: Seq): Digest | null;
  writerHead(writer: WriterId): WriterHead;
  incarnation(writer: WriterId): number;
  session(session: SessionId): SessionSummary | null;
  find(external: string): SessionSummary | null;
  sessions(page: SessionPage): readonly SessionSummary[];
  tally(): readonly Tally[];
  /** In the order in which it became durable, fewer than asked for when there is much. */
  tail(after: Position, most: number): readonly Written[];
  position(): Position;
  questions: QuestionReader;
  unknowns: UnknownReader;
  counted(sought: CountSought): Lately;
  /** Throws `entry-bad` unless all entries that will be counted, when these names are kept, are proved. */
  proveToBeCounted(names: readonly string[], now: number): void;
  known: TrustedValueReader;
  deadLetters: DeadLetterReader;
  streams(prefix: string): readonly Readonly<{ stream: StreamId; seq: Seq }>[];
  /** A stream from its end, for what is not far from it, proved; what is erased is passed over. Throws `entry-bad`. */
  newestFirst(stream: StreamId): Iterable<JournalEvent>;
  /** One entry as it is stored, and the commit that it was written in; null where there is none. */
  stored(stream: StreamId, place: Seq): StoredPlace | null;
  records: Records;
  seals: Seals;
  sealedSums: SealedSums;
  /** Null without the project's key. */
  questionProof: QuestionProof | null;
  countProof: Pick<CountProof, "check" | "partOf"> | null;
}>;
/** How what is read is proved: entries by their seals, rows of approval requests with the project's blob key. */
export type Proving = Readonly<{ seals: (records: Records) => Seals; key: string | Uint8Array | null }>;
const NOT_PROVING: Proving = { seals: () => UNPROVED, key: null };
export type StoredPlace = Readonly<{ entry: StoredEntry; commit: StoredCommit }>;

/** By the table's own order: no scan. */
export const HELD_SQL =
  "SELECT s.stream, s.epoch, s.holder, s.incarnation, s.pid FROM json_each(?) AS asked JOIN streams AS s ON s.stream = asked.value WHERE s.holder IS NOT NULL";
export const STREAMS_SQL = "SELECT stream, seq FROM streams WHERE stream >= ? AND stream < ? || char(1114111) AND seq > 0 ORDER BY stream";

type Row = Record<string, SQLOutputValue>;

export function openReader(db: DatabaseSync, places: Places, proving: Proving = NOT_PROVING): SqliteReader {
  const begin = db.prepare("BEGIN");
  const end = db.prepare("COMMIT");
  const heldRows = db.prepare(HELD_SQL);
  const streamRow = db.prepare("SELECT seq, hash, at, epoch, holder, incarnation, pid FROM streams WHERE stream = ?");
  const streamsLike = db.prepare(STREAMS_SQL);
  const hashAt = db.prepare("SELECT entry_hash FROM entries WHERE stream = ? AND seq = ?");
  const entriesAfter = db.prepare(
    "SELECT seq, at, kind, previous, payload_hash, entry_hash, salt, payload FROM entries WHERE stream = ? AND seq > ? ORDER BY seq LIMIT ?",
  );
  entriesAfter.setReturnArrays(true);
  const lastPosition = db.prepare("SELECT max(rowid) AS last FROM entries");
  const entriesBefore = db.prepare(
    "SELECT seq, at, kind, previous, payload_hash, entry_hash, salt, payload FROM entries WHERE stream = ? AND seq < ? ORDER BY seq DESC LIMIT ?",
  );
  entriesBefore.setReturnArrays(true);
  const commitOf = db.prepare(
    "SELECT c.* FROM entries AS e JOIN commits AS c ON c.writer = e.writer AND c.number = e.number WHERE e.stream = ? AND e.seq = ?",
  );
  const nextStream = db.prepare("SELECT stream FROM entries WHERE stream > ? ORDER BY stream LIMIT 1");
  const nextWriter = db.prepare("SELECT writer FROM commits WHERE writer > ? ORDER BY writer LIMIT 1");
  const commitsAfter = db.prepare("SELECT * FROM commits WHERE writer = ? AND number > ? ORDER BY number LIMIT ?");
  const lastCommit = db.prepare("SELECT number, hash FROM commits WHERE writer = ? ORDER BY number DESC LIMIT 1");
  const incarnationOf = db.prepare("SELECT incarnation FROM writers WHERE writer = ?");
  const blobRow = db.prepare("SELECT text FROM blobs WHERE address = ?");
  const tallied = db.prepare("SELECT agent, state, count(*) AS n FROM sessions GROUP BY agent, state");
  const summaryOf = db.prepare("SELECT summary FROM sessions WHERE session = ?");
  const lists = new Map<string, StatementSync>();

  const safely = <T>(read: () => T): T => reading(places.database, read);

  /** One moment of the database, however many statements look at it. */
  function snapshot<T>(look: () => T): T {
    return safely(() => {
      if (db.isTransaction) return look();
      begin.run();
      try {
        return look();
      } finally {
        if (db.isTransaction) end.run();
      }
    });
  }

  const storedAfter = (stream: StreamId, after: Seq, most: number): StoredEntry[] =>
    // node:sqlite types rows as objects; `setReturnArrays` above makes them arrays
    (entriesAfter.all(stream, after, most) as unknown as SQLOutputValue[][]).map((row) => toStoredEntry(stream, row));

  function stream(name: StreamId): StreamRow | null {
    const row = safely(() => streamRow.get(name));
    return row === undefined ? null : toStreamRow(row);
  }

  const held = (streams: readonly StreamId[]): ReadonlyMap<StreamId, HoldRow> =>
    new Map(safely(() => heldRows.all(JSON.stringify(streams))).map((row) => [streamId(String(row.stream)), toHoldRow(row)]));

  function blob(address: string): string | null {
    const row = safely(() => blobRow.get(address));
    if (row === undefined) return null;
    return row.text === null ? readBlobFile(places.blobs, address) : String(row.text);
  }
  const getBlob = (address: string, expected: Digest): string | null => {
    const text = blob(address);
    if (text !== null && sha256(text) !== expected) throw new Error(`blob ${address} is not what was stored`);
    return text;
  };

  const records: Records = {
    *streams() {
      for (let row = safely(() => nextStream.get("")); row !== undefined; ) {
        const name = streamId(String(row.stream));
        yield name;
        row = safely(() => nextStream.get(name));
      }
    },
    *entries(name) {
      for (let after = seq(0); ; ) {
        const chunk = safely(() => storedAfter(name, after, CHUNK));
        yield* chunk;
        const last = chunk.at(-1);
        if (last === undefined) return;
        after = last.seq;
      }
    },
    *writers() {
      for (let row = safely(() => nextWriter.get("")); row !== undefined; ) {
        const writer = writerId(String(row.writer));
        yield writer;
        row = safely(() => nextWriter.get(writer));
      }
    },
    *commits(writer) {
      for (let after = -1; ; ) {
        const chunk = safely(() => commitsAfter.all(writer, after, CHUNK)).map(toCommit);
        yield* chunk;
        const last = chunk.at(-1);
        if (last === undefined) return;
        after = last.number;
      }
    },
    blob,
  };
  rebuildUnknowns(db, () => records);
  rebuildDeadLetters(db, () => records);
  rebuildClaims(db, () => records);
  rebuildCounts(db);
  rebuildTrustedValues(db, () => records);
  const sessionWith = externalReader(db, safely);
  const seals = proving.seals(records);
  const hashOrNull = (name: StreamId, at: Seq): Digest | null => {
    const row = safely(() => hashAt.get(name, at));
    return row === undefined ? null : digest(String(row.entry_hash));
  };
  const entryAt = (name: StreamId, at: Seq): StoredEntry | null =>
    safely(() => storedAfter(name, seq(at - 1), 1)).find((e) => e.seq === at) ?? null;
  const raiseIfAltered = alteredEntries({ entryAt, hashAt: hashOrNull, snapshot, seals, ports: { hash: sha256, getBlob } });
  const macs = proving.key === null ? null : questionMacs(proving.key);
  rebuildQuestions(db, macs, waitingIn);
  const sealedSums = openSealedSums(db, seals.trust);
  const questionProof = macs === null ? null : openQuestionProof({ db, macs, sealed: sealedSums, alarms: seals.alarms });
  const countProof =
    proving.key === null ? null : openCountProof({ db, keys: countKeys(proving.key), sealed: sealedSums, alarms: seals.alarms });

  function session(name: SessionId): SessionSummary | null {
    const row = safely(() => summaryOf.get(name));
    return row === undefined ? null : toSummary(row);
  }
  function chunk(name: StreamId, after: Seq, most: number): Chunk {
    const limit = Math.min(most, CHUNK);
    const { head, before, stored } = snapshot(() => ({
      head: stream(name)?.head ?? EMPTY_STREAM,
      before: after === 0 ? EMPTY_STREAM.hash : (hashAt.get(name, after)?.entry_hash ?? null),
      stored: storedAfter(name, after, limit),
    }));
    if (before === null) {
      const isBound = BOUND_STREAMS.includes(name); // whoever asks has read as far before
      if (after > head.seq && stored.length === 0 && !isBound) return { entries: [], end: true };
      if (isBound) seals.alarms.raise(`entry ${after} of stream \`${name}\``, "it is missing");
      throw new FaultError({ kind: "entry-bad", stream: name, seq: after, detail: "it is missing" });
    }
    const start = { seq: after, hash: digest(String(before)) };
    const ended = stored.length < limit;
    const last = stored.at(-1);
    let entries: readonly Entry[] = [];
    try {
      entries = unseal(name, start, stored, { hash: sha256, getBlob });
      if (ended) checkEnd(name, last === undefined ? start : { seq: last.seq, hash: last.entryHash }, head);
    } catch (error) {
      if (error instanceof FaultError && error.fault.kind === "entry-bad") raiseIfAltered(error.fault);
      throw error;
    }
    if (last !== undefined) safely(() => seals.prove(last)); // and so all that it is chained to
    return { entries, end: ended };
  }

  /** All entries of a session, proved. Throws `entry-bad` or `entry-erased`. */
  function* allOf(name: SessionId): Iterable<Entry> {
    for (let [after, isEnd] = [seq(0), false]; !isEnd; ) {
      const part = chunk(name, after, CHUNK);
      yield* part.entries;
      after = part.entries.at(-1)?.seq ?? after;
      isEnd = part.end;
    }
  }
  /** Nothing where they cannot be read. */
  function waitingIn(name: SessionId): Waiting {
    try {
      const entries = [...allOf(name)];
      const line = entries.reduce<SessionSummary | null>(summariseSession, null);
      return line === null ? NOTHING_WAITS : foldQuestions(NOTHING_WAITS, name, line.agent, entries);
    } catch (error) {
      if (error instanceof FaultError) return NOTHING_WAITS;
      throw error;
    }
  }

  /** One entry by itself, proved; null where there is none, or it cannot be read. */
  function eventAt(name: StreamId, place: Seq): JournalEvent | null {
    const stored = entryAt(name, place);
    if (stored === null) return null;
    const read = unsealOne(stored, stored.previous, { hash: sha256, getBlob });
    if (read.kind !== "entry") return null;
    seals.prove(stored);
    return read.entry.event;
  }
  /** J-19 what is open is told by what was decided, as it was sealed. */
  function provedEvents(stored: StoredEntry): readonly JournalEvent[] {
    const read = unsealOne(stored, stored.previous, { hash: sha256, getBlob });
    if (read.kind === "bad") {
      seals.alarms.raise(`entry ${stored.seq} of stream \`${stored.stream}\``, read.detail);
      throw new FaultError({ kind: "entry-bad", stream: stored.stream, seq: stored.seq, detail: read.detail });
    }
    safely(() => seals.prove(stored));
    return read.kind === "entry" ? [read.entry.event] : [];
  }
  const known = trustedValueReader(
    db,
    safely,
    trustedValueProof({ db, edits: (after) => chunk(KNOWN, after, CHUNK), event: eventAt, alarms: seals.alarms }),
  );

  return {
    stream,
    held,
    chunk,
    hashAt: hashOrNull,
    writerHead(writer) {
      const row = safely(() => lastCommit.get(writer));
      return row === undefined ? FIRST_COMMIT : { number: Number(row.number), hash: digest(String(row.hash)) };
    },
    incarnation: (writer) => Number(safely(() => incarnationOf.get(writer))?.incarnation ?? 0),
    session,
    find(external) {
      const name = sessionWith(external);
      return name === null ? null : session(name);
    },
    tail: tailReader({ db, snapshot, seals, raiseIfAltered, ports: { hash: sha256, getBlob } }),
    position: () => Number(safely(() => lastPosition.get())?.last ?? 0),
    tally: () => safely(() => tallied.all()).map((row) => ({ agent: String(row.agent), state: stateOf(row.state), count: Number(row.n) })),
    sessions({ state, agent, before, most }) {
      const sql = sessionsSql(state !== null, agent !== null);
      const statement = lists.get(sql) ?? db.prepare(sql);
      lists.set(sql, statement);
      const filters = [agent, state].filter((f) => f !== null);
      const from = before ?? { openedAt: Number.MAX_SAFE_INTEGER, session: "" };
      return safely(() => statement.all(...filters, from.openedAt, from.session, most)).map(toSummary);
    },
    questions: questionReader(db, snapshot, questionProof),
    unknowns: unknownReader(db, safely),
    counted: countReader(db, snapshot, countProof),
    proveToBeCounted(names, now) {
      for (const name of safely(() => listSessionsToCount(db, names, now))) assertProved(name, allOf(name), seals.alarms);
    },
    known,
    deadLetters: deadLetterReader(db, safely),
    streams: (prefix) =>
      safely(() => streamsLike.all(prefix, prefix)).map((row) => ({ stream: streamId(String(row.stream)), seq: seq(Number(row.seq)) })),
    *newestFirst(name) {
      for (let before = Number.MAX_SAFE_INTEGER; ; ) {
        const rows = safely(() => entriesBefore.all(name, before, NEAR) as unknown as SQLOutputValue[][]);
        for (const row of rows) yield* provedEvents(toStoredEntry(name, row));
        if (rows.length < NEAR) return;
        before = Number(rows.at(-1)?.[0]);
      }
    },
    stored: (name, place) =>
      snapshot(() => {
        const entry = entryAt(name, place);
        const row = commitOf.get(name, place);
        return entry === null || row === undefined ? null : { entry, commit: toCommit(row) };
      }),
    records,
    seals,
    sealedSums,
    questionProof,
    countProof: countProof === null ? null : { ...countProof, check: () => snapshot(countProof.check) },
  };
}

/** Each filter has an index of its own that ends in the order of the list: no scan, no sort. */
const STATES: readonly SessionSummary["state"][] = ["idle", "running", "waiting", "closed"];
const stateOf = (text: unknown): SessionSummary["state"] => STATES.find((state) => state === text) ?? "idle";

export function sessionsSql(byState: boolean, byAgent: boolean): string {
  const filter = `${byAgent ? "agent = ? AND " : ""}${byState ? "state = ? AND " : ""}`;
  return `SELECT summary FROM sessions WHERE ${filter}(opened_at, session) < (?, ?) ORDER BY opened_at DESC, session DESC LIMIT ?`;
}

// The decoders of our own rows: STRICT tables hold what the types say.

const toCommit = ({ counts: _, ...row }: Row): StoredCommit => row as unknown as StoredCommit;
/** One that was written before there were ids of one's own, or delegates, has neither. */
const toSummary = (row: Row): SessionSummary =>
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
