/**
 * The knowledge store. No agent gets items that another agent keeps for itself: the asking agent is part of every query, and the store
 * filters in the query itself, not afterwards (N-11).
 */
import type { KnowledgeId, KnowledgeItem, Millis, Scope, StoredItem } from "../vocab/index.ts";

export type Search = Readonly<{
  /** Who asks. */
  agent: string;
  /** As wide as this is looked. */
  scope: Scope;
  /** Words, as `words.ts` makes them. */
  terms: readonly string[];
  /** The question as a text, where it is looked for by meaning too. */
  text: string;
  /** `at` this folder, or there and `below` it; null: wherever. */
  directory: Readonly<{ path: string; how: "at" | "below" }> | null;
  most: Readonly<{ memory: number; knowledge: number; all: number }>;
  threshold: number;
  now: Millis;
}>;

export type Hit = Readonly<{ item: StoredItem; relevance: number }>;
/**
 * `trouble`: in which way it could not be looked for; the hits are those of the other. `cause`: what another system said about that. N-6 it is a stranger's
 * text: for the record, and never for a model.
 */
export type SearchResult = Readonly<{ hits: readonly Hit[]; trouble: string | null; cause?: string }>;

export type PutResult = Readonly<
  /** `superseded`: what said something else about the same before. */
  | { kind: "stored"; superseded: KnowledgeId | null }
  /** It is there already. */
  | { kind: "known" }
  /** It was forgotten, and does not come back. */
  | { kind: "forgotten" }
  /** Something newer stands in its place. */
  | { kind: "stale" }
>;

export type Knowledge = Readonly<{
  /** `remote`: to look something up, another system is asked (an embedding model). It is then decided and durable first, like any effect. */
  reach: "local" | "remote";
  /** At once where it is `local`. */
  search(search: Search, signal: AbortSignal): SearchResult | Promise<SearchResult>;
  /** Idempotent by the item's id. Durable when it resolves. */
  put(item: KnowledgeItem, signal: AbortSignal): Promise<PutResult>;
  /** Told after these went into a request. A hint, not a record: the journal has that. */
  used(ids: readonly KnowledgeId[], at: Millis): void;
}>;

const NOTHING: SearchResult = Object.freeze({ hits: Object.freeze([]), trouble: null });

/** None is an adapter too. */
export const noKnowledge: Knowledge = Object.freeze({
  reach: "local",
  search: () => NOTHING,
  put: () => Promise.reject(new Error("this runtime keeps no knowledge")),
  used: () => {},
});
