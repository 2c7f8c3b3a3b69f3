/** Words of items as an index has them, and which of them a search looks for: the same in either database. */
import { type Search, splitWords, stem } from "@orgate/core/knowledge";
import type { StoredItem } from "@orgate/core/vocab";

/** N-11 the number of its realm stands in front of every word: a word of one realm is never a word of another. */
export const realmWord = (realm: number, word: string): string => `${realm}q${stem(word)}`;

const MOST_WORDS = 4_000;
const LONGEST_WORD = 64;
const MOST_SOUGHT = 32;
/**
 * N-3 the rarest words are searched first, and only a bounded number of rows is ranked: a word that every item has says nothing. Where none of those fits, the
 * rarest of the others is sought, and of the items that have it the newest are taken: as the index has them, unranked, until there are enough.
 */
export const MOST_ROWS = 600;

export function toIndexWords(realm: number, text: string): readonly string[] {
  const words: string[] = [];
  for (const word of splitWords(text)) {
    if (word.length <= LONGEST_WORD) words.push(realmWord(realm, word));
    if (words.length >= MOST_WORDS) break;
  }
  return words;
}

export function soughtWords(terms: readonly string[]): readonly string[] {
  const words = new Set<string>();
  for (const term of terms.slice(0, MOST_SOUGHT * 4))
    for (const word of splitWords(term.slice(0, LONGEST_WORD * 2)))
      if (words.size < MOST_SOUGHT && word.length <= LONGEST_WORD) words.add(word);
  return [...words];
}

/** A word of a realm, and how many items have it. */
export type CountedWord = Readonly<{ word: string; rows: number }>;

/** `rank`: words that few enough have, all of them together; `walk`: the rarest of the others. */
export function chooseWords(counted: readonly CountedWord[]): Readonly<{ rank: readonly CountedWord[]; walk: CountedWord | null }> {
  const known = counted.filter(({ rows }) => rows > 0).sort((a, b) => a.rows - b.rows);
  let rows = 0;
  const rank = known.filter((one) => {
    rows += one.rows;
    return rows <= MOST_ROWS;
  });
  return { rank, walk: known[rank.length] ?? null };
}

/** Whether an item is about the folder that a search names. */
export function isIn({ directory: own }: Pick<StoredItem, "directory">, asked: Search["directory"]): boolean {
  if (asked === null) return true;
  if (own === null) return false;
  return own === asked.path || (asked.how === "below" && (asked.path === "" || own.startsWith(`${asked.path}/`)));
}
