/**
 * Search in the knowledge store. N-11 isolation is in the query: every search term carries the number of a realm that the caller may read, vectors
 * are sought in those partitions alone, and the rows are taken from those realms only.
 */
import type { DatabaseSync } from "node:sqlite";
import { CANDIDATES, rankCandidates, type Search, type SearchResult, type Vector } from "@orgate/core/knowledge";
import { scopesWithin } from "@orgate/core/vocab";
import { type CountedWord, chooseWords, isIn, realmWord, soughtWords } from "./index-words.ts";
import { COLUMNS, toStoredItem } from "./item-rows.ts";
import type { Vectors } from "./sqlite-vectors.ts";

const NOW = "(i.valid_from IS NULL OR i.valid_from <= :now) AND (i.valid_to IS NULL OR i.valid_to > :now)";
const MINE = "i.superseded_by IS NULL AND i.realm IN (:r0, :r1, :r2)";
const AT = "i.directory = :path";
const BELOW = "(i.directory = :path OR (i.directory >= :path || '/' AND i.directory < :path || '0'))";

/** N-9 validity is checked before the result is cut to its limit. */
const having = (where: string): string =>
  `SELECT ${COLUMNS} FROM item_words w CROSS JOIN items i ON i.n = w.rowid WHERE item_words MATCH :match AND ${MINE} AND ${NOW} ${where}`;
const ranking = (where: string): string => `${having(where)} ORDER BY w.rank LIMIT ${CANDIDATES}`;
const newest = (where: string): string => `${having(where)} ORDER BY w.rowid DESC LIMIT ${CANDIDATES}`;

/** Exported so that tests can check their query plans. */
export const KNOWLEDGE_SQL = Object.freeze({
  anywhere: ranking(""),
  at: ranking(`AND ${AT}`),
  below: ranking(`AND ${BELOW}`),
  everywhere: ranking("AND i.directory IS NOT NULL"),
  anywhereNewest: newest(""),
  atNewest: newest(`AND ${AT}`),
  belowNewest: newest(`AND ${BELOW}`),
  everywhereNewest: newest("AND i.directory IS NOT NULL"),
  one: `SELECT ${COLUMNS}, i.n FROM items i WHERE i.n = :n AND ${MINE} AND ${NOW}`,
  count: "SELECT items FROM word_counts WHERE word = ?",
  realm: "SELECT n FROM realms WHERE scope = ? AND agent = ?",
});

const quoted = ({ word }: CountedWord): string => `"${word}"`;

export function openSearch(db: DatabaseSync, vectors: Vectors): (search: Search, vector: Vector | null) => SearchResult {
  const prepared = (sql: string, walk: string) => ({ rank: db.prepare(sql), walk: db.prepare(walk) });
  const lookups = {
    anywhere: prepared(KNOWLEDGE_SQL.anywhere, KNOWLEDGE_SQL.anywhereNewest),
    at: prepared(KNOWLEDGE_SQL.at, KNOWLEDGE_SQL.atNewest),
    below: prepared(KNOWLEDGE_SQL.below, KNOWLEDGE_SQL.belowNewest),
    everywhere: prepared(KNOWLEDGE_SQL.everywhere, KNOWLEDGE_SQL.everywhereNewest),
  };
  const [one, count, realm] = [KNOWLEDGE_SQL.one, KNOWLEDGE_SQL.count, KNOWLEDGE_SQL.realm].map((sql) => db.prepare(sql));

  /** Those that are there; a realm that nobody has put anything into has nothing to find. */
  function realmsOf({ agent, scope }: Search): readonly number[] {
    return scopesWithin(scope).flatMap((wide) => {
      const row = realm?.get(wide, wide === "agent" ? agent : "");
      return row === undefined ? [] : [Number(row.n)];
    });
  }

  return (search, vector) => {
    const realms = realmsOf(search);
    if (realms.length === 0) return { hits: [], trouble: null };
    const [r0 = -1, r1 = -1, r2 = -1] = realms;
    const bound = { r0, r1, r2, now: search.now };
    const match = chooseWords(
      soughtWords(search.terms)
        .flatMap((word) => realms.map((n) => realmWord(n, word)))
        .map((word) => ({ word, rows: Number(count?.get(word)?.items ?? 0) })),
    );
    const { directory } = search;
    const { anywhere, at, below, everywhere } = lookups;
    const { rank, walk } = directory === null ? anywhere : directory.how === "at" ? at : directory.path === "" ? everywhere : below;
    const where = directory === null || (directory.path === "" && directory.how === "below") ? {} : { path: directory.path };
    const rare = match.rank.length === 0 ? [] : rank.all({ ...bound, match: match.rank.map(quoted).join(" OR "), ...where });
    const rows = rare.length > 0 || match.walk === null ? rare : walk.all({ ...bound, match: quoted(match.walk), ...where });
    const lexical = rows.map(toStoredItem);
    const near = vector === null ? { rows: [], trouble: null } : vectors.nearest(vector, realms, CANDIDATES);
    const nearest = near.rows.flatMap(({ n, cosine }) => {
      const row = one?.get({ ...bound, n });
      const item = row === undefined ? null : toStoredItem(row);
      return item === null || !isIn(item, directory) ? [] : [{ item, cosine }];
    });
    return { hits: rankCandidates({ lexical, nearest }, search), trouble: near.trouble };
  };
}
