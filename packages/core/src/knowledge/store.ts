/**
 * A store of knowledge: what lies behind the port, and what people do with it. Every store runs the same contract (`testing/knowledge-contract.ts`).
 * N-11 isolation is part of the query. N-12 what is forgotten is gone, and its id does not come back. N-3 vectors of two models, or of two lengths, are never mixed.
 */
import type { Digest, KnowledgeId, KnowledgeItem, KnowledgeKind, Millis, Scope, StoredItem } from "../vocab/index.ts";
import { itemText } from "./item.ts";
import type { Knowledge, PutResult, Search, SearchResult } from "./port.ts";

/** As the named model sees a text. */
export type Vector = Readonly<{ model: string; values: Float32Array }>;

/** Whose a document is: one path may be known in several scopes. */
export type DocumentKey = Readonly<{ path: string; scope: Scope; agent: string | null }>;
export type KnownDocument = DocumentKey & Readonly<{ digest: Digest; chunks: number }>;

export type KnowledgeStats = Readonly<{
  items: number;
  superseded: number;
  forgotten: number;
  documents: number;
  kinds: Readonly<Partial<Record<KnowledgeKind, number>>>;
  scopes: Readonly<Partial<Record<Scope, number>>>;
  vectors: Readonly<{ model: string; dimension: number; count: number }> | null;
  bytes: number;
}>;

/** A store in this process: everything here is done when it returns, and durable. */
export type LocalKnowledgeStore = Readonly<{
  reach: "local";
  /** `vector`: of the question; null: by words alone. */
  search(search: Search, vector: Vector | null): SearchResult;
  put(item: KnowledgeItem): PutResult;
  used(ids: readonly KnowledgeId[], at: Millis): void;
  get(id: KnowledgeId): StoredItem | null;
  /** By id, from after that one on. */
  list(page: Readonly<{ after: KnowledgeId | null; most: number }>): readonly StoredItem[];
  /**
   * As it was, with its past: for what was exported. What was forgotten here stays forgotten. N-9 it takes its place by its time: what is older is
   * superseded, by it or it by what is there; a working memory is `known` where a newer one stands in its place.
   */
  restore(item: StoredItem): "stored" | "known" | "forgotten";
  documents(path?: string): readonly KnownDocument[];
  /** The pieces of a document are these from now on, all at once: others of it are superseded, what comes back is back. */
  replace(document: DocumentKey & Readonly<{ digest: Digest }>, pieces: readonly KnowledgeItem[], at: Millis): Replaced;
  /** Which items a document has, superseded ones included. */
  piecesOf(document: DocumentKey): readonly KnowledgeId[];
  /** From tables, index and vectors; what is left of it on disk is overwritten. */
  forget(ids: readonly KnowledgeId[]): Forgotten;
  isForgotten(id: KnowledgeId): boolean;
  /** Of the items that have no vector of this model: some. */
  unembedded(model: string, most: number): readonly StoredItem[];
  /** Refused with a reason where it is of another model or length than those that are there. */
  embed(vectors: ReadonlyMap<KnowledgeId, Float32Array>, model: string): string | null;
  /** All vectors go; those of another model may come. */
  dropVectors(): void;
  stats(): KnowledgeStats;
  close(): void;
}>;

/** Any store: done, and durable, when what it returns has resolved. `remote`: it is another system, so a lookup is decided and durable first. */
export type KnowledgeStore = Readonly<{ reach: Knowledge["reach"] }> & {
  readonly [K in Exclude<keyof LocalKnowledgeStore, "reach">]: (
    ...given: Parameters<LocalKnowledgeStore[K]>
  ) => ReturnType<LocalKnowledgeStore[K]> | Promise<ReturnType<LocalKnowledgeStore[K]>>;
};
/** `clean`: nothing of it is left in a file; otherwise a reader was in the way, and it goes when that one ends. */
export type Forgotten = Readonly<{ gone: number; clean: boolean }>;
export type Replaced = Readonly<{ added: number; kept: number; gone: number }>;

/** Makes vectors of texts. */
export type Embedder = Readonly<{ model: string; embed(texts: readonly string[], signal: AbortSignal): Promise<readonly Float32Array[]> }>;

/** The port on a store. Without an embedder nobody but the store is asked for anything. */
export function createKnowledge(
  store: Pick<KnowledgeStore, "reach" | "search" | "put" | "used" | "embed">,
  embedder: Embedder | null,
): Knowledge {
  const used: Knowledge["used"] = (ids, at) => void store.used(ids, at);
  if (embedder === null)
    return {
      reach: store.reach,
      search: (search) => (search.most.all === 0 ? NOTHING : store.search(search, null)),
      put: async (item) => store.put(item),
      used,
    };
  return {
    reach: "remote",
    async search(search, signal) {
      if (search.most.all === 0 || search.text.trim() === "") return NOTHING;
      const asked = await vectorOf(embedder, search.text, signal);
      const found = await store.search(search, "error" in asked ? null : asked);
      return "error" in asked ? { ...found, trouble: `by words alone: ${embedder.model} could not be asked`, cause: asked.error } : found;
    },
    /** Stored first: without a vector it is found by its words, and gets one with the next `orgate knowledge embed`. */
    async put(item, signal) {
      const put = await store.put(item);
      if (put.kind !== "stored") return put;
      const made = await vectorOf(embedder, itemText(item.body), signal);
      if (!("error" in made)) await store.embed(new Map([[item.id, made.values]]), made.model);
      return put;
    },
    used,
  };
}
const NOTHING: SearchResult = Object.freeze({ hits: Object.freeze([]), trouble: null });

async function vectorOf({ model, embed }: Embedder, text: string, signal: AbortSignal): Promise<Vector | Readonly<{ error: string }>> {
  try {
    const [values] = await embed([text.slice(0, LONGEST_EMBEDDED)], signal);
    return values === undefined || values.length === 0 ? { error: "it gave no vector" } : { model, values };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}
export const LONGEST_EMBEDDED = 8_000;
