/**
 * From candidates to what is given back: how relevant each is, in which order, and how many. Every store ranks with this.
 * N-3 a relevance is a number from 0 to 1: of words, the root of the share of the question's weight that the item has, where a word weighs more the
 *    fewer candidates have it; of vectors, the cosine. The larger of the two counts.
 * N-3 two lists are merged by reciprocal rank: the sum of 1/(60 + place) over the lists that an item stands in.
 */
import { isMemory, type StoredItem } from "../vocab/index.ts";
import { itemText } from "./item.ts";
import type { Hit, Search } from "./port.ts";
import { splitWords, stem } from "./words.ts";

/** Candidates, the best first; `nearest` with the cosine of its vector and the question's. */
export type Candidates = Readonly<{ lexical: readonly StoredItem[]; nearest: readonly Readonly<{ item: StoredItem; cosine: number }>[] }>;

/** How many of each list are ranked. */
export const CANDIDATES = 50;
const K = 60;

export function rankCandidates({ lexical, nearest }: Candidates, { terms, threshold, most }: Search): readonly Hit[] {
  const covers = coverage(lexical, terms);
  const found = new Map<string, { item: StoredItem; relevance: number; score: number }>();
  const add = (item: StoredItem, relevance: number, place: number): void => {
    const before = found.get(item.id) ?? { item, relevance: 0, score: 0 };
    found.set(item.id, { item, relevance: Math.max(before.relevance, relevance), score: before.score + 1 / (K + place + 1) });
  };
  for (const [i, item] of lexical.entries()) add(item, covers(i), i);
  for (const [i, { item, cosine }] of nearest.entries()) add(item, Math.min(1, Math.max(0, cosine)), i);
  const left = { memory: most.memory, knowledge: most.knowledge, all: most.all };
  return [...found.values()]
    .filter(({ relevance }) => relevance >= threshold)
    .sort((a, b) => b.score - a.score || b.relevance - a.relevance || (a.item.id < b.item.id ? -1 : 1))
    .filter(({ item }) => {
      const group = isMemory(item.body.kind) ? "memory" : "knowledge";
      if (left.all <= 0 || left[group] <= 0) return false;
      left.all -= 1;
      left[group] -= 1;
      return true;
    })
    .map(({ item, relevance }) => ({ item, relevance }));
}

/** Per candidate. A word that none of them has weighs like one that all of them have: nothing is known of it. */
function coverage(items: readonly StoredItem[], terms: readonly string[]): (i: number) => number {
  const stems = terms.map(stem);
  const has = items.map((item) => {
    const words = new Set<string>();
    for (const word of splitWords(itemText(item.body))) words.add(stem(word));
    return stems.map((one) => words.has(one));
  });
  const weights = stems.map((_, t) => {
    const among = has.reduce((n, one) => n + (one[t] === true ? 1 : 0), 0);
    return among === 0 ? 1 : 1 + Math.log((1 + items.length) / (1 + among));
  });
  const whole = weights.reduce((n, w) => n + w, 0);
  return (i) => (whole === 0 ? 0 : Math.sqrt(weights.reduce((n, w, t) => n + (has[i]?.[t] === true ? w : 0), 0) / whole));
}
