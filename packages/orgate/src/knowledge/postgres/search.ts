/** Search in PostgreSQL. N-11 isolation is in the query: words carry the number of a realm that the asker may read, and rows are taken from those realms only. */
import { CANDIDATES, rankCandidates, type Search, type SearchResult, stem, type Vector } from "@orgate/core/knowledge";
import { type StoredItem, scopesWithin } from "@orgate/core/vocab";
import type { RunStatement } from "../../store/postgres/link.ts";
import { toStoredText } from "../../store/postgres/text.ts";
import { type CountedWord, chooseWords, isIn, MOST_ROWS, soughtWords } from "../index-words.ts";
import { COLUMNS } from "../item-rows.ts";
import { readItem } from "./items.ts";
import type { KnowledgeTables } from "./tables.ts";
import type { PostgresVectors } from "./vectors.ts";

type Looking = Readonly<{ run: RunStatement; tables: KnowledgeTables; vectors: PostgresVectors }>;
type RealmWord = Readonly<{ n: string; word: string | null; items: string | null }>;

export async function searchItems({ run, tables, vectors }: Looking, search: Search, vector: Vector | null): Promise<SearchResult> {
  const scopes = scopesWithin(search.scope);
  const found = await run<RealmWord>(
    `SELECT r.n, c.word, c.items FROM ${tables.realms} AS r
     LEFT JOIN LATERAL (SELECT w.word, w.items FROM unnest($3::text[]) AS s(stem) JOIN ${tables.words} AS w ON w.word = r.n || 'q' || s.stem) AS c ON true
     WHERE (r.scope, r.agent) IN (SELECT * FROM unnest($1::text[], $2::text[]))`,
    [scopes, scopes.map((one) => (one === "agent" ? toStoredText(search.agent) : "")), soughtWords(search.terms).map(stem)],
  );
  const realms = [...new Set(found.map(({ n }) => n))];
  if (realms.length === 0) return { hits: [], trouble: null };
  const counted = found.flatMap(({ word, items }): CountedWord[] => (word === null ? [] : [{ word, rows: Number(items) }]));
  const match = chooseWords([...new Map(counted.map((one) => [one.word, one])).values()]);
  const among = { run, tables, realms, search };
  const rare = match.rank.length === 0 ? [] : await readMatching(among, match.rank, "rank");
  const lexical = rare.length > 0 || match.walk === null ? rare : await readMatching(among, [match.walk], "newest");
  const near = vector === null ? { rows: [], trouble: null } : await vectors.nearest(run, vector, realms, CANDIDATES);
  const nearest = near.rows.length === 0 ? [] : await readNearest(among, near.rows);
  return { hits: rankCandidates({ lexical, nearest }, search), trouble: near.trouble };
}

type Among = Readonly<{ run: RunStatement; tables: KnowledgeTables; realms: readonly string[]; search: Search }>;

/** N-9 validity is checked before the result is cut to its limit. */
const VISIBLE = `i.superseded_by IS NULL AND i.realm = ANY($1::bigint[])
  AND (i.valid_from IS NULL OR i.valid_from <= $2) AND (i.valid_to IS NULL OR i.valid_to > $2)`;

/** A word counts the more the fewer items have it; of items that fit alike the shorter one comes first, then the newer one. */
const BY_WEIGHT = `(SELECT sum(s.weight) FROM unnest($4::text[], $5::float8[]) AS s(word, weight) WHERE i.words @@ s.word::tsquery) DESC, length(i.words), i.n DESC`;

async function readMatching(
  { run, tables, realms, search }: Among,
  words: readonly CountedWord[],
  order: "rank" | "newest",
): Promise<readonly StoredItem[]> {
  const sought = words.map(({ word }) => `'${word}'`); // letters, digits and marks alone
  const weights = words.map(({ rows }) => Math.log(1 + MOST_ROWS / rows));
  const values: unknown[] = [realms, search.now, sought.join(" | "), ...(order === "rank" ? [sought, weights] : [])];
  const folder = folderCondition(search.directory, values.length + 1);
  const rows = await run(
    `SELECT ${COLUMNS} FROM ${tables.items} AS i WHERE i.words @@ $3::tsquery AND ${VISIBLE} ${folder.sql}
     ORDER BY ${order === "rank" ? BY_WEIGHT : "i.n DESC"} LIMIT ${CANDIDATES}`,
    [...values, ...folder.values],
  );
  return rows.map(readItem);
}

function folderCondition(directory: Search["directory"], at: number): Readonly<{ sql: string; values: readonly string[] }> {
  if (directory === null) return { sql: "", values: [] };
  const { path, how } = directory;
  if (how === "below" && path === "") return { sql: "AND i.directory IS NOT NULL", values: [] };
  const below = how === "below" ? ` OR (i.directory >= $${at} || '/' AND i.directory < $${at} || '0')` : "";
  return { sql: `AND (i.directory = $${at}${below})`, values: [toStoredText(path)] };
}

async function readNearest(
  { run, tables, realms, search }: Among,
  near: readonly Readonly<{ n: string; cosine: number }>[],
): Promise<readonly Readonly<{ item: StoredItem; cosine: number }>[]> {
  const rows = await run<{ n: string }>(`SELECT i.n, ${COLUMNS} FROM ${tables.items} AS i WHERE i.n = ANY($3::bigint[]) AND ${VISIBLE}`, [
    realms,
    search.now,
    near.map(({ n }) => n),
  ]);
  const items = new Map(rows.map((row) => [row.n, readItem(row)]));
  return near.flatMap(({ n, cosine }) => {
    const item = items.get(n);
    return item === undefined || !isIn(item, search.directory) ? [] : [{ item, cosine }];
  });
}
