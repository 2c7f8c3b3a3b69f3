/** Reads the journal's database: rows (`rows.ts`), proved entries (`proved-entries.ts`) and the tables beside them. */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import {
  type CountQuery,
  FIRST_COMMIT,
  type Position,
  type Records,
  type SessionPage,
  type SessionSummary,
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
  TRUSTED_VALUES,
  type WriterId,
} from "@orgate/core/vocab";
import { type ApprovalRequestReader, questionReader, rebuildQuestions } from "./approval-requests.ts";
import { externalReader, rebuildClaims } from "./claims.ts";
import { assertProved, countReader, listSessionsToCount, rebuildCounts } from "./counts.ts";
import { type DeadLetterReader, deadLetterReader, rebuildDeadLetters } from "./dead-letters.ts";
import { alteredEntries } from "./proof/altered.ts";
import { type ApprovalProof, openQuestionProof, questionMacs } from "./proof/approval-proof.ts";
import { type CountProof, countKeys, openCountProof } from "./proof/count-proof.ts";
import { type Seals, UNPROVED } from "./proof/seals.ts";
import { openSealedSums, type SealedSums } from "./proof/sums.ts";
import { type Chunk, ProvedEntries } from "./proved-entries.ts";
import { CHUNK, type HoldRow, JournalRows, type StoredPlace, type StreamRow, toSummary } from "./rows.ts";
import type { DatabasePaths } from "./schema.ts";
import { tailReader } from "./tail.ts";
import { rebuildTrustedValues, type TrustedValueReader, trustedValueProof, trustedValueReader } from "./trusted-values.ts";
import { rebuildUnknowns, type UnknownReader, unknownReader } from "./unknowns.ts";

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
export type Proving = Readonly<{ seals: (records: Records) => Seals; key: string | Uint8Array | null }>;
const NOT_PROVING: Proving = { seals: () => UNPROVED, key: null };

export function openReader(db: DatabaseSync, places: DatabasePaths, proving: Proving = NOT_PROVING): SqliteReader {
  const rows = new JournalRows(db, places);
  const { records } = rows;
  const safely = <T>(read: () => T): T => rows.safely(read);
  const snapshot = <T>(look: () => T): T => rows.snapshot(look);
  rebuildUnknowns(db, () => records);
  rebuildDeadLetters(db, () => records);
  rebuildClaims(db, () => records);
  rebuildCounts(db);
  rebuildTrustedValues(db, () => records);
  const seals = proving.seals(records);
  const raiseIfAltered = alteredEntries({
    entryAt: (stream, at) => rows.entryAt(stream, at),
    hashAt: (stream, at) => rows.hashAt(stream, at),
    ...{ snapshot, seals, ports: rows.unsealing },
  });
  const proved = new ProvedEntries(rows, seals, raiseIfAltered);
  const macs = proving.key === null ? null : questionMacs(proving.key);
  rebuildQuestions(db, macs, (session) => proved.waitingIn(session));
  const sealedSums = openSealedSums(db, seals.trust);
  const proofs = { db, sealed: sealedSums, alarms: seals.alarms };
  const questionProof = macs === null ? null : openQuestionProof({ ...proofs, macs });
  const countProof = proving.key === null ? null : openCountProof({ ...proofs, keys: countKeys(proving.key) });
  const isTrusted = trustedValueProof({
    ...{ db, alarms: seals.alarms },
    edits: (after) => proved.chunk(TRUSTED_VALUES, after, CHUNK),
    event: (stream, place) => proved.eventAt(stream, place),
  });
  const sessionWith = externalReader(db, safely);
  return {
    stream: (name) => rows.stream(name),
    held: (streams) => rows.held(streams),
    chunk: (stream, after, most) => proved.chunk(stream, after, most),
    hashAt: (stream, at) => rows.hashAt(stream, at),
    ...writerReader(db, safely),
    session: (name) => rows.session(name),
    find(external) {
      const name = sessionWith(external);
      return name === null ? null : rows.session(name);
    },
    tail: tailReader({ db, snapshot, seals, raiseIfAltered, ports: rows.unsealing }),
    ...sessionReader(db, safely),
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
  const lastCommit = db.prepare("SELECT number, hash FROM commits WHERE writer = ? ORDER BY number DESC LIMIT 1");
  const incarnationOf = db.prepare("SELECT incarnation FROM writers WHERE writer = ?");
  const lastPosition = db.prepare("SELECT max(rowid) AS last FROM entries");
  return {
    writerHead(writer) {
      const row = safely(() => lastCommit.get(writer));
      return row === undefined ? FIRST_COMMIT : { number: Number(row.number), hash: digest(String(row.hash)) };
    },
    incarnation: (writer) => Number(safely(() => incarnationOf.get(writer))?.incarnation ?? 0),
    position: () => Number(safely(() => lastPosition.get())?.last ?? 0),
  };
}

function sessionReader(db: DatabaseSync, safely: Safely): Pick<SqliteReader, "tally" | "sessions"> {
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
      return safely(() => statement.all(...filters, from.openedAt, from.session, most)).map(toSummary);
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
