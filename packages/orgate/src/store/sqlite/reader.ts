/** Reads the journal's database: rows (`rows.ts`), proved entries (`proved-entries.ts`) and the tables beside them. */
import type { DatabaseSync } from "node:sqlite";
import {
  type CountQuery,
  decodePayload,
  EMPTY_STREAM,
  NO_SEAL,
  type Position,
  type Records,
  type SessionSummary,
  type StoredEntry,
  type StreamHead,
  summariseSession,
  type WriterHead,
  type WrittenEntry,
} from "@orgate/core/journal";
import {
  type Digest,
  digest,
  type JournalEvent,
  type RecentCounts,
  type Seq,
  type StreamId,
  seq,
  streamId,
  TRUSTED_VALUES,
  type WriterId,
} from "@orgate/core/vocab";
import type { StoredPlace } from "../store.ts";
import { externalReader, rebuildClaims } from "./claims.ts";
import { assertProved, countReader, listSessionsToCount, rebuildCounts } from "./counts.ts";
import { type DeadLetterReader, deadLetterReader, rebuildDeadLetters } from "./dead-letters.ts";
import { type ApprovalRequestReader, questionReader, rebuildQuestions } from "./lists/approval-requests.ts";
import { rebuildSessionCounts, type SessionReader, sessionReader } from "./lists/sessions.ts";
import { rebuildPlaces } from "./places.ts";
import { alteredEntries } from "./proof/altered.ts";
import { type ApprovalProof, openQuestionProof, questionMacs } from "./proof/approval-proof.ts";
import { type CountProof, countKeys, openCountProof } from "./proof/count-proof.ts";
import { type Seals, UNPROVED } from "./proof/seals.ts";
import { openSealedSums, type SealedSums } from "./proof/sums.ts";
import { type Chunk, ProvedEntries } from "./proved-entries.ts";
import { type AppendRow, CHUNK, type HoldRow, JournalRows, type StreamRow } from "./rows.ts";
import type { DatabasePaths } from "./schema.ts";
import { dataVersion } from "./side-table.ts";
import { tailReader } from "./tail.ts";
import { rebuildTrustedValues, type TrustedValueReader, trustedValueProof, trustedValueReader } from "./trusted-values.ts";
import { rebuildUnknowns, type UnknownReader, unknownReader } from "./unknowns.ts";

export type SqliteReader = Readonly<{
  stream(stream: StreamId): StreamRow | null;
  /** Where the stream ends, indexed or not. */
  head(stream: StreamId): StreamHead;
  /** Whether a process under this name has left appends unsealed; and these, in order. */
  hasUnsealed(writer: WriterId): boolean;
  unsealedBy(writer: WriterId): readonly AppendRow[];
  entriesOf(append: AppendRow): readonly StoredEntry[];
  /** Of these, those that somebody has taken and not given back, living or not. */
  held(streams: readonly StreamId[]): ReadonlyMap<StreamId, HoldRow>;
  /** At most `most` entries, fewer than asked for when there are many; `end` when there are no more. */
  chunk(stream: StreamId, after: Seq, most: number): Chunk;
  hashAt(stream: StreamId, at: Seq): Digest | null;
  writerHead(writer: WriterId): WriterHead;
  incarnation(writer: WriterId): number;
  find(external: string): SessionSummary | null;
  /** In the order in which it became durable, fewer than asked for when there is much. */
  tail(after: Position, most: number): readonly WrittenEntry[];
  position(): Position;
  positionOf(stream: StreamId, at: Seq): Position | null;
  /** Streams that have grown after a position, and where the journal ends now. */
  streamsAfter(position: Position): Readonly<{ last: Position; streams: readonly StreamId[] }>;
  questions: ApprovalRequestReader;
  unknowns: UnknownReader;
  counted(sought: CountQuery): RecentCounts;
  /** Throws `entry-bad` unless all entries that will be counted, when these names are kept, are proved. */
  proveToBeCounted(names: readonly string[], now: number): void;
  known: TrustedValueReader;
  deadLetters: DeadLetterReader;
  streams(prefix: string): readonly Readonly<{ stream: StreamId; seq: Seq }>[];
  /** A stream from its end, for what is not far from it, proved; what is erased is passed over. Throws `entry-bad`. */
  newestFirst(stream: StreamId): Iterable<JournalEvent>;
  /** Null where there is none. */
  stored(stream: StreamId, place: Seq): StoredPlace | null;
  records: Records;
  seals: Seals;
  sealedSums: SealedSums;
  /** Null without the project's key. */
  questionProof: ApprovalProof | null;
  countProof: Pick<CountProof, "check" | "partOf"> | null;
}> &
  SessionReader;
/** How what is read is proved: entries by their seals, rows of approval requests with the project's blob key. */
export type Proving = Readonly<{
  seals: (rows: JournalRows) => Seals;
  key: string | Uint8Array | null;
  /** Of a copy of some rows (`postgres/`): changes when rows were copied. Counters have no sums there. */
  copied?: () => number;
}>;
const NOT_PROVING: Proving = { seals: () => UNPROVED, key: null };

export function openReader(db: DatabaseSync, places: DatabasePaths, proving: Proving = NOT_PROVING): SqliteReader {
  rebuildPlaces(db); // before anything is prepared that reads it
  const rows = new JournalRows(db, places);
  const { records } = rows;
  const safely = <T>(read: () => T): T => rows.safely(read);
  const snapshot = <T>(look: () => T): T => rows.snapshot(look);
  rebuildSessionCounts(db);
  rebuildUnknowns(db, () => records);
  rebuildDeadLetters(db, () => records);
  rebuildClaims(db, () => records);
  rebuildCounts(db);
  rebuildTrustedValues(db, () => records);
  const seals = proving.seals(rows);
  const raiseIfAltered = alteredEntries(rows, seals);
  const proved = new ProvedEntries(rows, seals, raiseIfAltered);
  const macs = proving.key === null ? null : questionMacs(proving.key);
  rebuildQuestions(db, macs, (session) => proved.waitingIn(session));
  const sealedSums = openSealedSums(db, seals.trust);
  const proofs = { db, version: proving.copied ?? dataVersion(db), sealed: sealedSums, alarms: seals.alarms };
  const questionProof = macs === null ? null : openQuestionProof({ ...proofs, macs });
  const countProof =
    proving.key === null || proving.copied !== undefined ? null : openCountProof({ ...proofs, keys: countKeys(proving.key) });
  const isTrusted = trustedValueProof({
    alarms: seals.alarms,
    edits: (after) => proved.chunk(TRUSTED_VALUES, after, CHUNK),
    entry: (stream, place) => proved.entryAt(stream, place),
  });
  const sessionWith = externalReader(db, safely);
  const listed = sessionReader(db, { safely, snapshot, follow: (line) => follow(rows, line) });
  return {
    stream: (name) => rows.stream(name),
    head: (name) => snapshot(() => headOf(rows, name)),
    ...unsealedReader(db, rows),
    entriesOf: (append) => rows.entriesOf(append),
    held: (streams) => rows.held(streams),
    chunk: (stream, after, most) => proved.chunk(stream, after, most),
    hashAt: (stream, at) => rows.hashAt(stream, at),
    positionOf: (stream, at) => rows.positionOf(stream, at),
    ...writerReader(db, safely),
    find(external) {
      const name = sessionWith(external);
      return name === null ? null : listed.session(name);
    },
    tail: tailReader({ rows, seals, raiseIfAltered }),
    ...listed,
    questions: questionReader(db, snapshot, questionProof),
    unknowns: unknownReader(db, safely),
    counted: countReader(db, snapshot, countProof),
    proveToBeCounted(names, now) {
      for (const name of safely(() => listSessionsToCount(db, names, now))) assertProved(name, proved.all(name), seals.alarms);
    },
    known: trustedValueReader(db, safely, isTrusted),
    deadLetters: deadLetterReader(db, safely),
    streams: (prefix) => rows.streams(prefix),
    newestFirst: (stream) => proved.newestFirst(stream),
    stored: (stream, place) => rows.stored(stream, place),
    records,
    seals,
    sealedSums,
    questionProof,
    countProof: countProof === null ? null : { ...countProof, check: () => snapshot(countProof.check) },
  };
}

type Safely = <T>(read: () => T) => T;

function writerReader(db: DatabaseSync, safely: Safely): Pick<SqliteReader, "writerHead" | "incarnation" | "position" | "streamsAfter"> {
  const lastSeal = db.prepare("SELECT number, hash FROM seals WHERE writer = ? ORDER BY number DESC LIMIT 1");
  const incarnationOf = db.prepare("SELECT incarnation FROM writers WHERE writer = ?");
  const lastPosition = db.prepare("SELECT id + count - 1 AS last FROM appends ORDER BY id DESC LIMIT 1");
  const grown = db.prepare(
    `SELECT s.stream, g.last FROM (SELECT stream, max(id + count - 1) AS last FROM appends WHERE id > ? GROUP BY stream) AS g
     JOIN streams AS s ON s.no = g.stream`,
  );
  return {
    writerHead(writer) {
      const row = safely(() => lastSeal.get(writer));
      return row === undefined ? NO_SEAL : { number: Number(row.number), hash: digest(String(row.hash)) };
    },
    incarnation: (writer) => Number(safely(() => incarnationOf.get(writer))?.incarnation ?? 0),
    position: () => Number(safely(() => lastPosition.get())?.last ?? 0),
    streamsAfter(position) {
      const found = safely(() => grown.all(position));
      const last = found.reduce((most, row) => Math.max(most, Number(row.last)), position);
      return { last, streams: found.map((row) => streamId(String(row.stream))) };
    },
  };
}

function headOf(rows: JournalRows, name: StreamId): StreamHead {
  const last = rows.lastAppend(name);
  const end = last === null ? undefined : rows.entriesOf(last).at(-1);
  return last === null ? EMPTY_STREAM : { seq: seq(last.first + last.count - 1), hash: last.hash, at: end?.at ?? EMPTY_STREAM.at };
}

function unsealedReader(db: DatabaseSync, rows: JournalRows): Pick<SqliteReader, "hasUnsealed" | "unsealedBy"> {
  const since = db.prepare("SELECT unsealed FROM writers WHERE writer = ? AND unsealed IS NOT NULL");
  return {
    hasUnsealed: (writer) => rows.safely(() => since.get(writer)) !== undefined,
    unsealedBy: (writer) =>
      rows.snapshot(() => {
        const from = since.get(writer)?.unsealed;
        const found: AppendRow[] = [];
        for (let at = Number(from ?? 0) + 1; from !== undefined; ) {
          const more = rows.written(at, CHUNK);
          found.push(
            ...more.flatMap(({ append, name }) => (append.writer === writer && append.id > Number(from) && name !== null ? [append] : [])),
          );
          const end = more.at(-1)?.append;
          if (end === undefined || end.id + end.count - at < CHUNK) break;
          at = end.id + end.count;
        }
        return found;
      }),
  };
}

/** A row may be behind by what was appended since the last seal: that is added when it is read. */
function follow(rows: JournalRows, line: SessionSummary): SessionSummary {
  let now = line;
  for (const append of rows.appendsFrom(line.session, seq(line.seq + 1), CHUNK))
    for (const e of rows.entriesOf(append)) {
      const read = e.seq <= now.seq || e.payload === null ? null : decodePayload(e.kind, e.payload, rows.records.blob);
      if (read?.kind === "event") now = summariseSession(now, { stream: line.session, seq: e.seq, at: e.at, event: read.event }) ?? now;
    }
  return now;
}
