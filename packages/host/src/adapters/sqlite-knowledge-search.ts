/**
 * How knowledge is found. N20 isolation is in the query: every word that is sought carries the number of a realm that whoever asks may look into, vectors
 * are sought in those partitions alone, and the rows are taken from those realms only.
 */
import type { DatabaseSync } from "node:sqlite";
import { CANDIDATES, type Found, ranked, type Search, stem, type Vector, wordsIn } from "@orgate/core/knowledge";
import { type StoredItem, scopesWithin } from "@orgate/core/vocab";
import { COLUMNS, itemOf } from "./sqlite-knowledge-schema.ts";
import type { Vectors } from "./sqlite-knowledge-vectors.ts";

/** As it stands in the index. */
export const wordIn = (realm: number, word: string): string => `${realm}q${stem(word)}`;
const MOST_WORDS = 4_000;
export function indexed(realm: number, text: string): string {
  const words: string[] = [];
  for (const word of wordsIn(text)) {
    if (word.length <= LONGEST_WORD) words.push(wordIn(realm, word));
    if (words.length >= MOST_WORDS) break;
  }
  return words.join(" ");
}
const LONGEST_WORD = 64;
const MOST_SOUGHT = 32;
/** The rarest words are sought first, and no more of them than so many rows have: a word that everything has says nothing. */
const MOST_ROWS = 600;

const NOW = "(i.valid_from IS NULL OR i.valid_from <= :now) AND (i.valid_to IS NULL OR i.valid_to > :now)";
const MINE = "i.superseded_by IS NULL AND i.realm IN (:r0, :r1, :r2)";
const AT = "i.directory = :path";
const BELOW = "(i.directory = :path OR (i.directory >= :path || '/' AND i.directory < :path || '0'))";

/** Published so that their plans can be looked at. */
export const KNOWLEDGE_SQL = Object.freeze({
  anywhere: `SELECT ${COLUMNS} FROM (SELECT rowid AS n, rank FROM item_words WHERE item_words MATCH :match ORDER BY rank LIMIT 200) w JOIN items i ON i.n = w.n WHERE ${MINE} AND ${NOW} ORDER BY w.rank LIMIT ${CANDIDATES}`,
  at: `SELECT ${COLUMNS} FROM item_words w CROSS JOIN items i ON i.n = w.rowid WHERE item_words MATCH :match AND ${MINE} AND ${NOW} AND ${AT} ORDER BY w.rank LIMIT ${CANDIDATES}`,
  below: `SELECT ${COLUMNS} FROM item_words w CROSS JOIN items i ON i.n = w.rowid WHERE item_words MATCH :match AND ${MINE} AND ${NOW} AND ${BELOW} ORDER BY w.rank LIMIT ${CANDIDATES}`,
  everywhere: `SELECT ${COLUMNS} FROM item_words w CROSS JOIN items i ON i.n = w.rowid WHERE item_words MATCH :match AND ${MINE} AND ${NOW} AND i.directory IS NOT NULL ORDER BY w.rank LIMIT ${CANDIDATES}`,
  one: `SELECT ${COLUMNS}, i.n FROM items i WHERE i.n = :n AND ${MINE} AND ${NOW}`,
  count: "SELECT items FROM word_counts WHERE word = ?",
  realm: "SELECT n FROM realms WHERE scope = ? AND agent = ?",
});

export function searching(db: DatabaseSync, vectors: Vectors): (search: Search, vector: Vector | null) => Found {
  const [anywhere, at, below, everywhere] = [KNOWLEDGE_SQL.anywhere, KNOWLEDGE_SQL.at, KNOWLEDGE_SQL.below, KNOWLEDGE_SQL.everywhere].map(
    (sql) => db.prepare(sql),
  );
  const [one, count, realm] = [KNOWLEDGE_SQL.one, KNOWLEDGE_SQL.count, KNOWLEDGE_SQL.realm].map((sql) => db.prepare(sql));

  /** Those that are there; a realm that nobody has put anything into has nothing to find. */
  function realmsOf({ agent, scope }: Search): readonly number[] {
    return scopesWithin(scope).flatMap((wide) => {
      const row = realm?.get(wide, wide === "agent" ? agent : "");
      return row === undefined ? [] : [Number(row.n)];
    });
  }

  function matchOf(terms: readonly string[], realms: readonly number[]): string | null {
    const words = new Set<string>();
    for (const term of terms.slice(0, MOST_SOUGHT * 4))
      for (const word of wordsIn(term.slice(0, LONGEST_WORD * 2)))
        if (words.size < MOST_SOUGHT && word.length <= LONGEST_WORD) words.add(word);
    const known = [...words]
      .flatMap((word) => realms.map((n) => wordIn(n, word)))
      .map((word) => ({ word, rows: Number(count?.get(word)?.items ?? 0) }))
      .filter(({ rows }) => rows > 0)
      .sort((a, b) => a.rows - b.rows);
    const sought: string[] = [];
    let rows = 0;
    for (const one of known) {
      rows += one.rows;
      if (sought.length > 0 && rows > MOST_ROWS) break;
      sought.push(`"${one.word}"`);
    }
    return sought.length === 0 ? null : sought.join(" OR ");
  }

  return (search, vector) => {
    const realms = realmsOf(search);
    if (realms.length === 0) return { hits: [], trouble: null };
    const [r0 = -1, r1 = -1, r2 = -1] = realms;
    const bound = { r0, r1, r2, now: search.now };
    const match = matchOf(search.terms, realms);
    const { directory } = search;
    const statement = directory === null ? anywhere : directory.how === "at" ? at : directory.path === "" ? everywhere : below;
    const where = directory === null || (directory.path === "" && directory.how === "below") ? {} : { path: directory.path };
    const lexical = match === null ? [] : (statement?.all({ ...bound, match, ...where }) ?? []).map(itemOf);
    const near = vector === null ? { rows: [], trouble: null } : vectors.nearest(vector, realms, CANDIDATES);
    const nearest = near.rows.flatMap(({ n, cosine }) => {
      const row = one?.get({ ...bound, n });
      const item = row === undefined ? null : itemOf(row);
      return item === null || !isIn(item, directory) ? [] : [{ item, cosine }];
    });
    return { hits: ranked({ lexical, nearest }, search), trouble: near.trouble };
  };
}

function isIn({ directory: own }: StoredItem, asked: Search["directory"]): boolean {
  if (asked === null) return true;
  if (own === null) return false;
  return own === asked.path || (asked.how === "below" && (asked.path === "" || own.startsWith(`${asked.path}/`)));
}
