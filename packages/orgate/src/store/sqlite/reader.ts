/** Reads the journal's database: rows (`rows.ts`), proved entries (`proved-entries.ts`) and the tables beside them. */
import type { DatabaseSync, SQLOutputValue, StatementSync } from "node:sqlite";
import {
  type CountQuery,
  decodePayload,
  EMPTY_STREAM,
  NO_SEAL,
  type Position,
  type Records,
  type SessionPage,
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
  type SessionId,
  type StreamId,
  seq,
  TRUSTED_VALUES,
  type WriterId,
} from "@orgate/core/vocab";
import { type ApprovalRequestReader, questionReader, rebuildQuestions } from "./approval-requests.ts";
import { externalReader, rebuildClaims } from "./claims.ts";
import { assertProved, countReader, listSessionsToCount, rebuildCounts } from "./counts.ts";
import { type DeadLetterReader, deadLetterReader, rebuildDeadLetters } from "./dead-letters.ts";
import { rebuildPlaces } from "./places.ts";
import { alteredEntries } from "./proof/altered.ts";
import { type ApprovalProof, openQuestionProof, questionMacs } from "./proof/approval-proof.ts";
import { type CountProof, countKeys, openCountProof } from "./proof/count-proof.ts";
import { type Seals, UNPROVED } from "./proof/seals.ts";
import { openSealedSums, type SealedSums } from "./proof/sums.ts";
import { type Chunk, ProvedEntries } from "./proved-entries.ts";
import { type AppendRow, CHUNK, type HoldRow, JournalRows, type StoredPlace, type StreamRow } from "./rows.ts";
import type { DatabasePaths } from "./schema.ts";
import { tailReader } from "./tail.ts";
import { rebuildTrustedValues, type TrustedValueReader, trustedValueProof, trustedValueReader } from "./trusted-values.ts";
import { rebuildUnknowns, type UnknownReader, unknownReader } from "./unknowns.ts";

export type Tally = Readonly<{ agent: string; state: SessionSummary["state"]; count: number }>;

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
  session(session: SessionId): SessionSummary | null;
  find(external: string): SessionSummary | null;
  sessions(page: SessionPage): readonly SessionSummary[];
  tally(): readonly Tally[];
  /** In the order in which it became durable, fewer than asked for when there is much. */
  tail(after: Position, most: number): readonly WrittenEntry[];
  position(): Position;
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
}>;
/** How what is read is proved: entries by their seals, rows of approval requests with the project's blob key. */
export type Proving = Readonly<{ seals: (rows: JournalRows) => Seals; key: string | Uint8Array | null }>;
const NOT_PROVING: Proving = { seals: () => UNPROVED, key: null };

export function openReader(db: DatabaseSync, places: DatabasePaths, proving: Proving = NOT_PROVING): SqliteReader {
  rebuildPlaces(db); // before anything is prepared that reads it
  const rows = new JournalRows(db, places);
  const { records } = rows;
  const safely = <T>(read: () => T): T => rows.safely(read);
  const snapshot = <T>(look: () => T): T => rows.snapshot(look);
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
  const proofs = { db, sealed: sealedSums, alarms: seals.alarms };
  const questionProof = macs === null ? null : openQuestionProof({ ...proofs, macs });
  const countProof = proving.key === null ? null : openCountProof({ ...proofs, keys: countKeys(proving.key) });
  const isTrusted = trustedValueProof({
    ...{ records, alarms: seals.alarms },
    edits: (after) => proved.chunk(TRUSTED_VALUES, after, CHUNK),
    event: (stream, place) => proved.eventAt(stream, place),
  });
  const sessionWith = externalReader(db, safely);
  const session = summaryReader(db, rows);
  return {
    stream: (name) => rows.stream(name),
    head: (name) => snapshot(() => headOf(rows, name)),
    ...unsealedReader(db, rows),
    entriesOf: (append) => rows.entriesOf(append),
    held: (streams) => rows.held(streams),
    chunk: (stream, after, most) => proved.chunk(stream, after, most),
    hashAt: (stream, at) => rows.hashAt(stream, at),
    ...writerReader(db, safely),
    session: session.one,
    find(external) {
      const name = sessionWith(external);
      return name === null ? null : session.one(name);
    },
    tail: tailReader({ rows, seals, raiseIfAltered }),
    ...sessionReader(db, safely, session.catchUp),
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

function writerReader(db: DatabaseSync, safely: Safely): Pick<SqliteReader, "writerHead" | "incarnation" | "position"> {
  const lastSeal = db.prepare("SELECT number, hash FROM seals WHERE writer = ? ORDER BY number DESC LIMIT 1");
  const incarnationOf = db.prepare("SELECT incarnation FROM writers WHERE writer = ?");
  const lastPosition = db.prepare("SELECT id + count - 1 AS last FROM appends ORDER BY id DESC LIMIT 1");
  return {
    writerHead(writer) {
      const row = safely(() => lastSeal.get(writer));
      return row === undefined ? NO_SEAL : { number: Number(row.number), hash: digest(String(row.hash)) };
    },
    incarnation: (writer) => Number(safely(() => incarnationOf.get(writer))?.incarnation ?? 0),
    position: () => Number(safely(() => lastPosition.get())?.last ?? 0),
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

/** The row of a session in lists. It may be behind by what was appended since the last seal: that is added when it is read. */
function summaryReader(db: DatabaseSync, rows: JournalRows) {
  const summary = db.prepare("SELECT summary FROM sessions WHERE session = ?");
  function follow(line: SessionSummary): SessionSummary {
    let now = line;
    for (const append of rows.appendsFrom(line.session, seq(line.seq + 1), CHUNK))
      for (const e of rows.entriesOf(append)) {
        const read = e.seq <= now.seq || e.payload === null ? null : decodePayload(e.kind, e.payload, rows.records.blob);
        if (read?.kind === "event") now = summariseSession(now, { stream: line.session, seq: e.seq, at: e.at, event: read.event }) ?? now;
      }
    return now;
  }
  return {
    /** In a list, where a session that rests is not looked up: what it may be behind by changes nothing but its `seq`. */
    catchUp: (line: SessionSummary): SessionSummary => (line.state === "running" || line.state === "waiting" ? follow(line) : line),
    one(name: SessionId): SessionSummary | null {
      return rows.snapshot(() => {
        const row = summary.get(name);
        return row === undefined ? null : follow(toSummary(row));
      });
    },
  };
}

const toSummary = (row: Record<string, SQLOutputValue>): SessionSummary => JSON.parse(String(row.summary)) as SessionSummary;

function sessionReader(
  db: DatabaseSync,
  safely: Safely,
  catchUp: (line: SessionSummary) => SessionSummary,
): Pick<SqliteReader, "tally" | "sessions"> {
  const tallied = db.prepare("SELECT agent, state, count(*) AS n FROM sessions GROUP BY agent, state");
  const lists = new Map<string, StatementSync>();
  return {
    tally: () => safely(() => tallied.all()).map((row) => ({ agent: String(row.agent), state: stateOf(row.state), count: Number(row.n) })),
    sessions({ state, agent, before, most }) {
      const sql = sessionsSql(state !== null, agent !== null);
      const statement = lists.get(sql) ?? db.prepare(sql);
      lists.set(sql, statement);
      const filters = [agent, state].filter((f) => f !== null);
      const from = before ?? { openedAt: Number.MAX_SAFE_INTEGER, session: "" };
      return safely(() => statement.all(...filters, from.openedAt, from.session, most)).map((row) => catchUp(toSummary(row)));
    },
  };
}

/** Each filter has an index of its own that ends in the order of the list: no scan, no sort. */
const STATES: readonly SessionSummary["state"][] = ["idle", "running", "waiting", "closed"];
const stateOf = (text: unknown): SessionSummary["state"] => STATES.find((state) => state === text) ?? "idle";

export function sessionsSql(byState: boolean, byAgent: boolean): string {
  const filter = `${byAgent ? "agent = ? AND " : ""}${byState ? "state = ? AND " : ""}`;
  return `SELECT summary FROM sessions WHERE ${filter}(opened_at, session) < (?, ?) ORDER BY opened_at DESC, session DESC LIMIT ?`;
}
