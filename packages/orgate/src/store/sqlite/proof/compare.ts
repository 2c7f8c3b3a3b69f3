/**
 * Tables beside the entries, made again and compared: for commands that read everything anyway.
 * J-23 `verify` names the row of a list that is not what the entries make of it, is missing, or that no entry makes.
 */
import type { DatabaseSync } from "node:sqlite";
import {
  computeDeadLetterChanges,
  foldOrders,
  foldPendingApprovals,
  foldUnknowns,
  listOpeningClaims,
  NO_OPEN_UNKNOWNS,
  NO_ORDERS,
  NO_PENDING_APPROVALS,
  parseMarks,
  type Records,
  type SessionSummary,
  summariseSession,
  withPendingApprovals,
} from "@orgate/core/journal";
import { type Entry, HALT, isSessionStream, type Json, type SessionId, type StreamId, toCanonicalJson } from "@orgate/core/vocab";
import { sha256 } from "../../../node/crypto.ts";
import { decodeEvents } from "../side-table.ts";

/** By table, the key of a row and the hash of what it holds: a long journal has many rows, and their texts need not be kept. */
type Rows = Map<string, string>;
const toHashed = (value: unknown): string => sha256(toCanonicalJson(value as Json));

/** `row KEY of table NAME`, sorted. */
export function findWrongTables(db: DatabaseSync, records: Records): readonly string[] {
  const made: Rows = new Map();
  const found = rowsIn(db);
  const erased = new Set<string>();
  const put = (table: string, key: string, value: unknown): void => void made.set(nameOf(table, key), toHashed(value));
  for (const stream of records.streams()) {
    const { entries, isWhole, last } = readStream(records, stream, found.ends.get(stream) ?? 0);
    if (last !== null) put("streams", stream, last);
    for (const { event } of entries) if (event.kind === "grant.revoked") put("revoked", event.grant, true);
    if (!isSessionStream(stream)) continue;
    const listed = found.listedUpTo.get(stream);
    if (isWhole)
      listSession(
        stream,
        entries.filter((e) => isSettled(e.seq, listed)),
        put,
      );
    else erased.add(stream); // what it was opened under stays, and nothing else can be told of it
  }
  for (const scope of foldOrders(NO_ORDERS, readStream(records, HALT, 0).entries).halts.keys()) put("halts", scope, true);
  const isErased = (name: string): boolean => [...erased].some((session) => name.startsWith(`row ${session}`));
  const names = new Set([...made.keys(), ...found.rows.keys()]);
  const wrong = [...names].filter(
    (name) => made.get(name) !== found.rows.get(name) && !isErased(name) && !isExternalOf(name, found.externals, erased),
  );
  return wrong.sort();
}

const nameOf = (table: string, key: string): string => `row ${key} of table ${table}`;
const isExternalOf = (name: string, externals: ReadonlyMap<string, string>, erased: ReadonlySet<string>): boolean =>
  erased.has(externals.get(name) ?? "");

/** Entries after the point that a session's row has reached are not in it yet: they come with the next seal. */
const isSettled = (at: number, listed: number | undefined): boolean => listed === undefined || at <= listed;

/** `end`: how far the stream is indexed; a running session may have gone on since. */
function readStream(records: Records, stream: StreamId, end: number) {
  const entries: Entry[] = [];
  let isWhole = true;
  let last: Readonly<{ seq: number; hash: string }> | null = null;
  for (const e of records.entries(stream)) {
    const [event] = decodeEvents(e.kind, e.payload, records);
    if (event === undefined) isWhole = false;
    else entries.push({ stream, seq: e.seq, at: e.at, event });
    if (e.seq <= end) last = { seq: e.seq, hash: e.entryHash };
  }
  return { entries, isWhole, last };
}

function listSession(session: SessionId, entries: readonly Entry[], put: (table: string, key: string, value: unknown) => void): void {
  const line = entries.reduce<SessionSummary | null>(summariseSession, null);
  if (line === null) return;
  const waiting = foldPendingApprovals(NO_PENDING_APPROVALS, session, line.agent, entries);
  put("sessions", session, withPendingApprovals(line, waiting.size));
  for (const question of waiting.values()) put("questions", `${session}/${question.approval}`, question);
  for (const unknown of foldUnknowns(NO_OPEN_UNKNOWNS, session, entries, () => []).values())
    put("unknowns", `${session}/${unknown.call}`, unknown);
  for (const letter of computeDeadLetterChanges(session, line.agent, entries, () => []).put)
    put("dead_letters", `${session}/${letter.call}`, letter);
  for (const { event } of entries.slice(0, 1))
    for (const claim of listOpeningClaims(event)) put("externals", JSON.stringify(claim), session);
}

type Found = Readonly<{
  rows: Rows;
  externals: ReadonlyMap<string, string>;
  /** How far the index goes, and so the rows of streams. */
  ends: ReadonlyMap<string, number>;
  /** How far the row of a session goes: at the least to its last sealed entry. */
  listedUpTo: ReadonlyMap<string, number>;
}>;

const END = "SELECT s.stream, max(a.first + a.count - 1) AS seq FROM appends AS a JOIN streams AS s ON s.no = a.stream";
const INDEXED_ENDS = `${END} WHERE a.id <= (SELECT id FROM indexed) GROUP BY a.stream`;
const SEALED_ENDS = `${END} JOIN seals AS x ON x.writer = a.writer AND x.number = a.seal GROUP BY a.stream`;

function rowsIn(db: DatabaseSync): Found {
  const rows: Rows = new Map();
  const externals = new Map<string, string>();
  const ends = new Map<string, number>();
  const listedUpTo = new Map<string, number>();
  const put = (table: string, key: string, value: unknown): void => void rows.set(nameOf(table, key), toHashed(value));
  const all = (sql: string) => db.prepare(sql).all();
  for (const r of all("SELECT stream, seq, hash FROM streams WHERE seq > 0")) {
    put("streams", String(r.stream), { seq: Number(r.seq), hash: String(r.hash) });
  }
  for (const r of all(INDEXED_ENDS)) ends.set(String(r.stream), Number(r.seq));
  const sealed = new Map(all(SEALED_ENDS).map((r) => [String(r.stream), Number(r.seq)]));
  for (const r of all("SELECT session, state, agent, opened_at, summary FROM sessions")) {
    const summary = JSON.parse(String(r.summary)) as SessionSummary;
    listedUpTo.set(String(r.session), Math.max(summary.seq, sealed.get(String(r.session)) ?? 0));
    const isSame = summary.state === r.state && summary.agent === r.agent && summary.openedAt === r.opened_at;
    put("sessions", String(r.session), isSame ? summary : { ...summary, state: "differs from its own row" });
  }
  for (const r of all("SELECT session, approval, question FROM questions"))
    put("questions", `${r.session}/${r.approval}`, JSON.parse(String(r.question)));
  for (const r of all("SELECT * FROM unknowns"))
    put("unknowns", `${r.session}/${r.call}`, {
      ...{ session: r.session, call: r.call, tool: r.tool, digest: r.digest, cause: r.cause, at: r.at },
      resource: { type: r.resource_type, id: r.resource_id },
    });
  for (const r of all("SELECT session, call, letter FROM dead_letters"))
    put("dead_letters", `${r.session}/${r.call}`, JSON.parse(String(r.letter)));
  for (const r of all("SELECT scope FROM halts")) put("halts", String(r.scope), true);
  for (const r of all("SELECT grant_id FROM revoked")) put("revoked", String(r.grant_id), true);
  for (const r of all("SELECT external, session FROM externals")) {
    put("externals", JSON.stringify(String(r.external)), r.session);
    externals.set(nameOf("externals", JSON.stringify(String(r.external))), String(r.session));
  }
  return { rows, externals, ends, listedUpTo };
}

/** Where a writer's seals name one stream: places in order, and the seal of each. Plain numbers, since there are many. */
type StreamMarks = Readonly<{ seqs: number[]; numbers: number[] }>;

/** Appends whose row names another seal than the first of its writer that covers it. */
export function findMisattributed(db: DatabaseSync, records: Records): readonly string[] {
  const marks = new Map<string, StreamMarks>();
  const next = new Map<string, number>();
  for (const writer of records.writers())
    for (const { number, wrote } of records.seals(writer)) {
      next.set(writer, number + 1);
      for (const { stream, seq } of parseMarks(wrote) ?? []) {
        const key = `${writer} ${stream}`;
        const own = marks.get(key) ?? { seqs: [], numbers: [] };
        if (own.seqs.length === 0) marks.set(key, own);
        own.seqs.push(seq);
        own.numbers.push(number);
      }
    }
  const rows = db.prepare(
    "SELECT a.id, a.first + a.count - 1 AS last, a.writer, a.seal, s.stream FROM appends AS a LEFT JOIN streams AS s ON s.no = a.stream",
  );
  const wrong: string[] = [];
  for (const { id, last, writer, seal, stream } of rows.iterate()) {
    const own = marks.get(`${String(writer)} ${String(stream)}`);
    const covering = own?.numbers[firstAtLeast(own.seqs, Number(last))] ?? next.get(String(writer)) ?? 1;
    if (covering !== Number(seal)) wrong.push(`row ${String(id)} of table appends`);
  }
  return wrong;
}

/** The index of the first that is not below; the length where all are. A writer's seals name a stream in order. */
function firstAtLeast(sorted: readonly number[], least: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? 0) < least) low = middle + 1;
    else high = middle;
  }
  return low;
}
