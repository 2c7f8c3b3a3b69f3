/**
 * The search terms before a model is asked: words of the last messages, newest first (K-3).
 * N-1 only what people and tools said; words of more than 3 characters, or any of a script without spaces; 10 a message, 15 in all, each once.
 */
import { isUnspaced, splitWords } from "./words.ts";

export const LAST_MESSAGES = 5;
const PER_MESSAGE = 10;
export const MAX_TERMS = 15;
const LONGER_THAN = 3;
/** A long output has said what it is about by then; so the work for a request is bounded, however long it is. */
const READ_CHARS = 4_000;
const LONGEST_TERM = 64;

/** A message as far as it matters here. */
export type SpokenText = Readonly<{ role: string; text?: string }>;

export function searchTerms(messages: readonly SpokenText[]): readonly string[] {
  const terms = new Set<string>();
  for (const message of messages.slice(-LAST_MESSAGES).toReversed()) {
    if (message.role !== "user" && message.role !== "tool") continue;
    let taken = 0;
    for (const word of splitWords((message.text ?? "").slice(0, READ_CHARS))) {
      if (!isTerm(word)) continue;
      terms.add(word);
      taken += 1;
      if (terms.size >= MAX_TERMS) return [...terms];
      if (taken >= PER_MESSAGE) break;
    }
  }
  return [...terms];
}

const isTerm = (word: string): boolean => ([...word].length > LONGER_THAN || isUnspaced(word)) && word.length <= LONGEST_TERM;

/** Of a question that was asked on purpose: every word of it counts. */
export function extractTerms(query: string): readonly string[] {
  const terms = new Set<string>();
  for (const word of splitWords(query.slice(0, READ_CHARS))) {
    if (word.length <= LONGEST_TERM) terms.add(word);
    if (terms.size >= MOST_ASKED) break;
  }
  return [...terms];
}
const MOST_ASKED = 32;
