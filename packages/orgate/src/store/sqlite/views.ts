/**
 * Indexes for lists and charts, beside the journal: which entries have which facet, and usage by hour, agent and model. A cache in a
 * file of its own (`views.db`): made from the journal's own order, as far as somebody has asked for it, and made again when it is lost.
 *
 * V-4 it holds exactly what the entries up to its position say; a process that dies while it is made loses or doubles nothing; after an erasure it is
 *     made again from the start, without what was erased.
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Journal, WrittenEntry } from "@orgate/core/journal";
import { type Entry, isSessionStream, type JournalEvent, type StreamId, seq } from "@orgate/core/vocab";
import {
  addCounts,
  type FacetQuery,
  listFacets,
  listUsage,
  NO_USAGE_COUNTS,
  toFacetTerms,
  USAGE_FIELDS,
  type UsageRow,
} from "@orgate/protocol/view";

const VERSION = 2;
const columns = USAGE_FIELDS.map((name) => `${name} INTEGER NOT NULL`).join(", ");
const SCHEMA = `
CREATE TABLE made (position INTEGER NOT NULL) STRICT;
INSERT INTO made VALUES (0);
CREATE TABLE facets (term TEXT NOT NULL, position INTEGER NOT NULL, PRIMARY KEY (term, position)) STRICT, WITHOUT ROWID;
CREATE TABLE erasures (stream TEXT NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, PRIMARY KEY (stream, first, last)) STRICT, WITHOUT ROWID;
CREATE TABLE agents (stream TEXT PRIMARY KEY, agent TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE usage (hour INTEGER NOT NULL, agent TEXT NOT NULL, model TEXT NOT NULL, ${columns}, PRIMARY KEY (hour, agent, model)) STRICT, WITHOUT ROWID;
PRAGMA user_version = ${VERSION};
`;

export const USAGE_SQL = `SELECT * FROM usage WHERE hour >= ? AND hour < ? ORDER BY hour, agent, model LIMIT ?`;
/** The first term leads, the others are looked up for each of its entries. */
export const facetSql = (terms: number): string =>
  `SELECT position FROM facets AS f WHERE term = ? AND position < ?${" AND EXISTS (SELECT 1 FROM facets WHERE term = ? AND position = f.position)".repeat(Math.max(0, terms - 1))} ORDER BY position DESC LIMIT ?`;

/** Hours since 1970; `to` is not among them. `days`: at which hours days begin, in order; null: by hour. */
export type UsageAsked = Readonly<{ from: number; to: number; days: readonly number[] | null }>;

export type Views = Readonly<{
  /** As far as it was made. */
  position(): number;
  /** Goes on making it, at the most so long; true when it is up to date. */
  catchUp(journal: Pick<Journal, "tail" | "read">, ms: number): Promise<boolean>;
  /** Newest first, before this position. */
  find(sought: FacetQuery, before: number, most: number): readonly number[];
  /** V-5. By hour, or added up from each of `days` to the next. `cut`: there are more rows than may be read, and something is missing. */
  usage(asked: UsageAsked, most: number): Readonly<{ rows: readonly UsageRow[]; cut: boolean }>;
  close(): void;
}>;

const PAGE = 500;

/** `directory`: where the journal lies. A file that cannot be used is removed and made again. */
export function openViews(directory: string): Views {
  const db = openOrRemake(join(directory, "views.db"));
  const sql = prepare(db);
  const last = (): number => Number(sql.position.get()?.position ?? 0);

  /** True when it erases something that was not known to be erased. */
  function take(written: WrittenEntry, asked: ReadonlyMap<number, Asked | null>): boolean {
    if (written.kind !== "entry" || sql.isErased.get(written.stream, written.seq, written.seq) !== undefined) return false;
    const { entry, position: place } = written;
    const agent = agentIn(sql, entry.stream, entry.event);
    for (const term of listFacets(entry, agent)) sql.putFacet.run(term, place);
    const used = listUsage(entry, () => asked.get(place) ?? null);
    if (used !== null && agent !== null) {
      const counts = addCounts(NO_USAGE_COUNTS, used.counts);
      sql.putUsage.run(used.hour, agent, used.model, ...USAGE_FIELDS.map((name) => counts[name]));
    }
    const { event: e } = entry;
    return e.kind === "content.erased" && sql.putErasure.run(e.stream, e.first, e.last).changes === 1;
  }

  /** One page in one transaction, and nothing of it where another process was faster. */
  function takeAll(page: readonly WrittenEntry[], from: number, asked: ReadonlyMap<number, Asked | null>): void {
    db.exec("BEGIN IMMEDIATE");
    try {
      if (last() === from) {
        const erases = page.filter((written) => take(written, asked)).length > 0;
        if (erases) db.exec("DELETE FROM facets; DELETE FROM usage; DELETE FROM agents"); // what is gone from the journal is gone here
        sql.setPosition.run(erases ? 0 : (page.at(-1)?.position ?? from));
      }
      db.exec("COMMIT");
    } finally {
      if (db.isTransaction) db.exec("ROLLBACK");
    }
  }

  return {
    position: last,
    async catchUp(journal, ms) {
      for (const until = performance.now() + ms; ; ) {
        const from = last();
        const page = await journal.tail(from, PAGE);
        if (page.length === 0) return true;
        takeAll(page, from, await askedFor(journal, page));
        if (performance.now() > until) return false;
      }
    },
    find(sought, before, most) {
      const terms = toFacetTerms(sought);
      const [first, ...others] = terms;
      if (first === undefined) {
        const top = Math.min(before - 1, last());
        return Array.from({ length: Math.max(0, Math.min(most, top)) }, (_, i) => top - i);
      }
      return db
        .prepare(facetSql(terms.length))
        .all(first, before, ...others, most)
        .map((row) => Number(row.position));
    },
    usage({ from, to, days }, most) {
      const sums = sumsBy(days);
      let read = 0;
      for (const row of sql.usageRows.iterate(from, to, most + 1)) {
        read += 1;
        if (read <= most) sums.add({ ...row } as unknown as UsageRow); // STRICT rows are what the type says
      }
      return { rows: sums.rows(), cut: read > most };
    },
    close: () => db.close(),
  };
}

function agentIn(sql: ReturnType<typeof prepare>, stream: StreamId, event: JournalEvent): string | null {
  if (!isSessionStream(stream)) return null;
  if (event.kind === "session.opened" || event.kind === "agent.changed") {
    sql.putAgent.run(stream, event.agent.name);
    return event.agent.name;
  }
  const found = sql.agentOf.get(stream)?.agent;
  return typeof found === "string" ? found : null;
}

function prepare(db: DatabaseSync) {
  const names = USAGE_FIELDS.join(", ");
  return {
    position: db.prepare("SELECT position FROM made"),
    setPosition: db.prepare("UPDATE made SET position = ?"),
    putFacet: db.prepare("INSERT OR IGNORE INTO facets VALUES (?, ?)"),
    putAgent: db.prepare("INSERT INTO agents VALUES (?, ?) ON CONFLICT (stream) DO UPDATE SET agent = excluded.agent"),
    isErased: db.prepare("SELECT 1 FROM erasures WHERE stream = ? AND first <= ? AND last >= ?"),
    putErasure: db.prepare("INSERT OR IGNORE INTO erasures VALUES (?, ?, ?)"),
    agentOf: db.prepare("SELECT agent FROM agents WHERE stream = ?"),
    putUsage: db.prepare(
      `INSERT INTO usage (hour, agent, model, ${names}) VALUES (?, ?, ?, ${USAGE_FIELDS.map(() => "?").join(", ")})
     ON CONFLICT (hour, agent, model) DO UPDATE SET ${USAGE_FIELDS.map((name) => `${name} = ${name} + excluded.${name}`).join(", ")}`,
    ),
    usageRows: db.prepare(USAGE_SQL),
  };
}

/** Rows come by hour: a day is whole once one of the next has come. */
function sumsBy(days: readonly number[] | null): Readonly<{ add(row: UsageRow): void; rows(): readonly UsageRow[] }> {
  const done: UsageRow[] = [];
  const today = new Map<string, UsageRow>();
  let at = 0;
  return {
    add(row) {
      if (days === null) {
        done.push(row);
        return;
      }
      for (; (days[at + 1] ?? Number.POSITIVE_INFINITY) <= row.hour; at += 1) {
        done.push(...today.values());
        today.clear();
      }
      const { agent, model } = row;
      const key = `${agent}\n${model}`;
      today.set(key, { hour: days[at] ?? row.hour, agent, model, ...addCounts(today.get(key) ?? NO_USAGE_COUNTS, row) });
    },
    rows: () => [...done, ...today.values()],
  };
}

type Asked = Extract<JournalEvent, { kind: "model.asked" }>;
const NEAR = 50;

/** For replies that were lost: the request of each, which lies a little before it in the same session. */
async function askedFor(journal: Pick<Journal, "read">, page: readonly WrittenEntry[]): Promise<ReadonlyMap<number, Asked | null>> {
  const found = new Map<number, Asked | null>();
  for (const written of page) {
    if (written.kind !== "entry" || written.entry.event.kind !== "model.failed" || !written.entry.event.broke) continue;
    const { event, seq: place, stream } = written.entry;
    const start = seq(Math.max(0, place - 1 - NEAR));
    const before: readonly Entry[] = await journal.read(stream, start, place - 1 - start).catch(() => []); // erased before it: nobody can tell
    const asked = before.findLast(
      ({ event: e }) => e.kind === "model.asked" && e.iteration === event.iteration && e.attempt === event.attempt,
    );
    found.set(written.position, asked?.event.kind === "model.asked" ? asked.event : null);
  }
  return found;
}

function openOrRemake(file: string): DatabaseSync {
  try {
    return opened(file);
  } catch {
    for (const end of ["", "-wal", "-shm"]) rmSync(`${file}${end}`, { force: true }); // of no use to anybody, and nothing is lost with it
    return opened(file);
  }
}

function opened(file: string): DatabaseSync {
  const db = new DatabaseSync(file, { timeout: 10_000 });
  try {
    db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON");
    db.exec("BEGIN IMMEDIATE");
    const version = db.prepare("PRAGMA user_version").get()?.user_version;
    if (version === 0) db.exec(SCHEMA);
    else if (version !== VERSION) throw new Error(`another version (${version})`);
    db.exec("COMMIT");
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}
