/** Reads of a journal in PostgreSQL: entries are copied, then read and proved by the code that reads a file; lists come from their tables. */

import type { ListedApproval, ListedDeadLetter, SessionSummary, TrustedValue } from "@orgate/core/journal";
import { digest, type Entry, FaultError, millis, type SessionId, seq, streamId, writerId } from "@orgate/core/vocab";
import type { Fetch, WantedStream } from "../sealer.ts";
import { questionIn, questionMacs } from "../sqlite/proof/approval-proof.ts";
import type { SqliteReader } from "../sqlite/reader.ts";
import { CHUNK } from "../sqlite/rows.ts";
import { toUnknown } from "../sqlite/unknowns.ts";
import type { Holder, JournalReads, ReadStore, Store, StoredPlace, Tally } from "../store.ts";
import type { LocalCopy, MirrorRows, Pulled } from "./copy.ts";
import type { Link } from "./link.ts";
import { EXPIRES_AT } from "./schema/claims.ts";
import { fromStoredText, toStoredText } from "./text.ts";

export type PostgresReads = JournalReads &
  Readonly<{
    fetch: Omit<Fetch, "unsealed">;
    /** Runs a look at a stream from an entry on; null: where an append would look. */
    withStream<T>(wanted: WantedStream & Readonly<{ most: number | null }>, look: () => T): Promise<T>;
    /** What a store offers beside its journal. */
    beside: Pick<Store, "unknowns" | "unknownsOf" | "tally" | "stored"> & Pick<ReadStore, "head" | "holder" | "holders">;
  }>;

type Needs = Readonly<{ link: Link; copy: LocalCopy; reader: SqliteReader; key: string | Uint8Array }>;
type QuestionRow = Readonly<{ arrival: string; session: string; approval: string; question: string; mac: string }>;

/** Answers that cross are some in a row at the most. */
const MOST_PULLS = 50;
type PulledRow = Readonly<{ pulled: Pulled | readonly Pulled[]; mirror: MirrorRows | null; tick: string }>;
/** Rows that are here until they are dropped. */
type Held = Readonly<{ drop: () => void; appends: Pulled["appends"] }>;

/**
 * Pulls rows, and what has changed in the tables that are always here, as of one moment. An answer that is older than what another look brought meanwhile is
 * asked for again: seals that are here by now would name entries that it does not have.
 */
function createPull(link: Link, copy: LocalCopy) {
  const table = (name: string): string => `"${link.schema}".${name}`;
  return async (call: string, values: readonly unknown[]): Promise<Held> => {
    const sql = `SELECT ${call} AS pulled, ${table("mirror_since")}($1, $2) AS mirror, (SELECT latest FROM ${table("moved")}) AS tick`;
    for (let tries = 0; tries < MOST_PULLS; tries += 1) {
      const [row] = await link.read<PulledRow>(sql, [...copy.mirrored, ...values]);
      if (row === undefined) throw new Error("a pull answers");
      copy.mirror(row.mirror);
      if (Number(row.tick) < copy.tick) continue;
      const all = [row.pulled].flat();
      const drops = all.map((pulled) => copy.hold(pulled));
      const drop = (): void => {
        for (const one of drops) one();
      };
      return { drop, appends: all.flatMap(({ appends }) => appends) };
    }
    const detail =
      "the database has gone back behind what this process has read: an older copy was restored or has taken over; start this process again";
    throw new FaultError({ kind: "journal-unreadable", file: link.place, detail });
  };
}

export function openReads({ link, copy, reader, key }: Needs): PostgresReads {
  const { schema } = link;
  const table = (name: string): string => `"${schema}".${name}`;

  const pull = createPull(link, copy);
  const withStream: PostgresReads["withStream"] = async ({ stream, from, most }, look) => {
    const { drop } = await pull(`${table("pull_stream")}($3, $4, $5)`, [stream, from, most]);
    try {
      return look();
    } finally {
      drop();
    }
  };
  async function streams(wanted: readonly WantedStream[]): Promise<() => void> {
    const each = `(SELECT coalesce(json_agg(${table("pull_stream")}(w.name, w.start, NULL)), '[]') FROM unnest($3::text[], $4::bigint[]) AS w(name, start))`;
    return (await pull(each, [wanted.map(({ stream }) => stream), wanted.map(({ from }) => from)])).drop;
  }
  return {
    fetch: { streams, known: () => copy.tick },
    withStream,
    unknownsLike: (sought) => reader.unknowns.like(sought),
    counted: (sought) => reader.counted(sought),
    isKnown: (set, values, cased) => reader.known.has(set, values, cased),
    recorded: (type, key) => reader.known.record(type, key),
    async read(stream, after, most) {
      const entries: Entry[] = [];
      for (let from = after; entries.length < most; ) {
        const limit = Math.min(most - entries.length, CHUNK);
        const chunk = await withStream({ stream, from: seq(from + 1), most: limit }, () => reader.chunk(stream, from, limit));
        for (const entry of chunk.entries) entries.push(entry);
        if (chunk.end) break;
        from = entries.at(-1)?.seq ?? from;
      }
      return entries;
    },
    hashAt: (stream, at) => withStream({ stream, from: at, most: 1 }, () => reader.hashAt(stream, at)),
    session: (session) => withStream({ stream: session, from: null, most: null }, () => reader.session(session)),
    async find(external) {
      const rows = await link.read<{ session: string }>(`SELECT session FROM ${table("externals")} WHERE external = $1`, [
        toStoredText(external),
      ]);
      const session = rows[0]?.session as SessionId | undefined;
      return session === undefined ? null : withStream({ stream: session, from: null, most: null }, () => reader.session(session));
    },
    async tail(after, most) {
      const limit = Math.min(most, CHUNK);
      const { drop, appends } = await pull(`${table("pull_tail")}($3, $4)`, [after + 1, limit]);
      try {
        // other looks may have copied later appends, and not those in between
        const ends = appends.flatMap(({ id, count }) => (Number(id) <= after + limit ? [Number(id) + Number(count) - 1] : []));
        const last = Math.max(after, ...ends);
        return last === after ? [] : reader.tail(after, Math.min(limit, last - after));
      } finally {
        drop();
      }
    },
    ...placeReads(link),
    ...listReads(link, reader, key),
    beside: {
      ...besideReads(link),
      unknownsOf: async (session) => reader.unknowns.ofSession(session),
      stored: (stream, place): Promise<StoredPlace | null> =>
        withStream({ stream, from: place, most: 1 }, () => reader.stored(stream, place)),
    },
  };
}

/** Where streams and the journal end, and where an entry stands in it: no entry is read. */
function placeReads(link: Link): Pick<JournalReads, "position" | "streams" | "positionOf"> {
  const table = (name: string): string => `"${link.schema}".${name}`;
  return {
    async position() {
      const sql = `SELECT id + count - 1 AS last FROM ${table("appends")} ORDER BY id DESC LIMIT 1`;
      return Number((await link.read<{ last: string }>(sql))[0]?.last ?? 0);
    },
    async streams(prefix) {
      const sql = `SELECT stream, seq FROM ${table("streams")} WHERE stream >= $1 AND stream < $1 || chr(1114111) AND seq > 0 ORDER BY stream`;
      const rows = await link.read<{ stream: string; seq: string }>(sql, [prefix]);
      return rows.map((row) => ({ stream: streamId(row.stream), seq: seq(Number(row.seq)) }));
    },
    async positionOf(stream, at) {
      const sql = `SELECT a.id + $2 - a.first AS position FROM ${table("appends")} AS a JOIN ${table("streams")} AS s ON s.no = a.stream
        WHERE s.stream = $1 AND a.first <= $2 AND a.first + a.count > $2`;
      const [row] = await link.read<{ position: string }>(sql, [stream, at]);
      return row === undefined ? null : Number(row.position);
    },
  };
}

type HolderRow = Readonly<{ stream: string; writer: string; pid: number; host: string; until: string }>;

function besideReads(link: Link): Omit<PostgresReads["beside"], "unknownsOf" | "stored"> {
  const table = (name: string): string => `"${link.schema}".${name}`;
  async function holders(sessions: readonly SessionId[]): Promise<ReadonlyMap<SessionId, Holder>> {
    const sql = `SELECT s.stream, w.writer, w.pid, w.host, (extract(epoch FROM w.lease_until) * 1000)::bigint AS until FROM ${table("streams")} AS s
      JOIN ${table("writers")} AS w ON w.writer = s.holder AND w.incarnation = s.incarnation AND w.lease_until > clock_timestamp() WHERE s.stream = ANY($1)`;
    const rows = await link.read<HolderRow>(sql, [sessions]);
    return new Map(
      rows.map(({ stream, writer, pid, host, until }) => [
        stream as SessionId,
        { writer: writerId(writer), pid, host, until: millis(Number(until)) },
      ]),
    );
  }
  return {
    holders,
    holder: async (session) => (await holders([session])).get(session) ?? null,
    async head() {
      const rows = await link.read<{ writer: string; number: string; hash: string }>(
        `SELECT DISTINCT ON (writer) writer, number, hash FROM ${table("seals")} ORDER BY writer, number DESC`,
      );
      return new Map(rows.map(({ writer, number, hash }) => [writerId(writer), { number: Number(number), hash: digest(hash) }]));
    },
    async unknowns({ after, most }) {
      const sql = `SELECT u.*, s.agent FROM ${table("unknowns")} AS u JOIN ${table("sessions")} AS s ON s.session = u.session
        WHERE (u.session, u.call) > ($1, $2) ORDER BY u.session, u.call LIMIT $3`;
      const rows = await link.read<Record<string, string>>(sql, [after?.session ?? "", after?.call ?? "", most]);
      return rows.map((row) => ({
        ...toUnknown(Object.fromEntries(Object.entries(row).map(([k, v]) => [k, fromStoredText(v)]))),
        agent: row.agent ?? "",
      }));
    },
    async tally() {
      const rows = await link.read<{ agent: string; state: Tally["state"]; sessions: string; questions: string; unknowns: string }>(
        `SELECT * FROM ${table("session_counts")} WHERE sessions > 0`,
      );
      return rows.map(({ agent, state, sessions, questions, unknowns }) => ({
        ...{ agent, state, count: Number(sessions) },
        openQuestions: Number(questions),
        openUnknowns: Number(unknowns),
      }));
    },
  };
}

type ListReads = Pick<PostgresReads, "sessions" | "questions" | "expired" | "question" | "known" | "deadLetters">;

function listReads(link: Link, reader: SqliteReader, key: string | Uint8Array): ListReads {
  const table = (name: string): string => `"${link.schema}".${name}`;
  const macs = questionMacs(key);
  const isGenuine = (row: QuestionRow): boolean => reader.questionProof?.isGenuine(row) ?? macs.isGenuine(row);
  const toListed = (row: QuestionRow): ListedApproval => ({ ...questionIn(row), arrival: Number(row.arrival) });
  /** A short page is the last: rows that are not shown take no place on it. */
  async function readPage(most: number, next: (last: QuestionRow | null, room: number) => Promise<readonly QuestionRow[]>) {
    const shown: ListedApproval[] = [];
    for (let last: QuestionRow | null = null; shown.length < most; ) {
      const room = most - shown.length;
      const rows: readonly QuestionRow[] = await next(last, room);
      shown.push(...rows.filter(isGenuine).map(toListed));
      last = rows.at(-1) ?? null;
      if (rows.length < room) break;
    }
    return shown;
  }
  return {
    async sessions({ state, agent, before, most }) {
      const from = before ?? { openedAt: Number.MAX_SAFE_INTEGER, session: "" };
      const sql = `SELECT summary FROM ${table("sessions")} WHERE ($1::text IS NULL OR state = $1) AND ($2::text IS NULL OR agent = $2)
        AND (opened_at, session) < ($3, $4) ORDER BY opened_at DESC, session DESC LIMIT $5`;
      const rows = await link.read<{ summary: string }>(sql, [state, agent, from.openedAt, from.session, most]);
      return rows.map(({ summary }) => JSON.parse(summary) as SessionSummary);
    },
    questions: ({ after, most }) =>
      readPage(most, (last, room) =>
        link.read(`SELECT * FROM ${table("questions")} WHERE arrival > $1 ORDER BY arrival LIMIT $2`, [last?.arrival ?? after, room]),
      ),
    expired: ({ by, after, most }) =>
      readPage(most, (last, room) => {
        const from = last === null ? after : toListed(last);
        const sql = `SELECT * FROM ${table("questions")} WHERE (${EXPIRES_AT}) <= $1 AND ((${EXPIRES_AT}), arrival) > ($2, $3) ORDER BY (${EXPIRES_AT}), arrival LIMIT $4`;
        return link.read(sql, [by, from?.expiresAt ?? -1, from?.arrival ?? 0, room]);
      }),
    async question(approval) {
      const rows = await link.read<QuestionRow>(`SELECT * FROM ${table("questions")} WHERE approval = $1 ORDER BY arrival`, [approval]);
      return rows.filter(isGenuine).map(toListed);
    },
    async known({ set, after, most }) {
      const sql = `SELECT name, value, stream, at FROM ${table("known_values")} WHERE ($1::text IS NULL OR name = $1) AND (name, value) > ($2, $3) ORDER BY name, value LIMIT $4`;
      const values = [set === null ? null : toStoredText(set), toStoredText(after?.set ?? ""), toStoredText(after?.value ?? ""), most];
      const rows = await link.read<{ name: string; value: string; stream: string; at: string }>(sql, values);
      return rows.map(
        (row): TrustedValue => ({
          set: fromStoredText(row.name),
          value: fromStoredText(row.value),
          from: streamId(row.stream),
          at: millis(Number(row.at)),
        }),
      );
    },
    async deadLetters({ after, most }) {
      const sql = `SELECT arrival, letter FROM ${table("dead_letters")} WHERE arrival > $1 ORDER BY arrival LIMIT $2`;
      const rows = await link.read<{ arrival: string; letter: string }>(sql, [after, most]);
      return rows.map(({ arrival, letter }) => ({ ...(JSON.parse(letter) as ListedDeadLetter), arrival: Number(arrival) }));
    },
  };
}
