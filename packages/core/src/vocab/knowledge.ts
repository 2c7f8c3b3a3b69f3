/** Knowledge of agents: items, scopes, recall settings. */
import type { Digest, KnowledgeId, Label, Millis, Seq, StreamId } from "./ids.ts";

/**
 * How wide something is known, and how wide somebody looks: each holds the one before it. `agent`: one agent's own. `project`: everybody's in the project,
 * put there by people. `shared`: what agents have shared with one another on purpose.
 */
export type Scope = "agent" | "project" | "shared";
export const SCOPES: readonly Scope[] = Object.freeze(["agent", "project", "shared"]);
/** Scopes that a search includes when `widest` is the widest allowed. */
export const scopesWithin = (widest: Scope): readonly Scope[] => SCOPES.slice(0, SCOPES.indexOf(widest) + 1);

export type KnowledgeBody =
  | Readonly<{ kind: "fact"; subject: string; predicate: string; object: string }>
  | Readonly<{ kind: "procedure" | "pattern" | "episode"; title: string; text: string }>
  /** One per key: another takes its place. */
  | Readonly<{ kind: "working"; key: string; text: string }>
  /** A piece of a document: which one, and where in it (its headings). */
  | Readonly<{ kind: "chunk"; document: string; title: string; text: string }>;
export type KnowledgeKind = KnowledgeBody["kind"];
export const KNOWLEDGE_KINDS: readonly KnowledgeKind[] = Object.freeze(["fact", "procedure", "pattern", "episode", "working", "chunk"]);

/** Items from memory are shown with their relevance, all others with their confidence (K-3). */
export const isMemory = (kind: KnowledgeKind): boolean => kind === "working" || kind === "episode";

export type KnowledgeSource = "experience" | "learning" | "document" | "person";
export const KNOWLEDGE_SOURCES: readonly KnowledgeSource[] = Object.freeze(["experience", "learning", "document", "person"]);

/** The entry of the journal that something came from. */
export type JournalPlace = Readonly<{ stream: StreamId; seq: Seq }>;

export type KnowledgeItem = Readonly<{
  id: KnowledgeId;
  body: KnowledgeBody;
  scope: Scope;
  /** Who put it there; of the `agent` scope, the only one who gets it back. Null: a person. */
  agent: string | null;
  /** The folder it is about, from the project's on, `/` between names; empty: the project's own. Null: no folder. */
  directory: string | null;
  /** 0 to 1. */
  confidence: number;
  source: KnowledgeSource;
  /** Labels of the session that stored it: a recall brings them back. */
  labels: readonly Label[];
  /** A person stands for it. */
  verified: boolean;
  from: JournalPlace | null;
  created: Millis;
  /** It holds from and until then; null: without end. */
  validFrom: Millis | null;
  validTo: Millis | null;
}>;

/** As it lies in the store. */
export type StoredItem = KnowledgeItem & Readonly<{ usedAt: Millis | null; uses: number; supersededBy: KnowledgeId | null }>;

/** An item in a request. The text is there the first time that a session sees it, and null from then on: the same id, the same text. */
export type RecalledItem = Readonly<{
  id: KnowledgeId;
  kind: KnowledgeKind;
  relevance: number;
  confidence: number;
  labels: readonly Label[];
  text: string | null;
}>;

/** How an agent uses knowledge. */
export type KnowledgeSettings = Readonly<{
  /** Most items from memory in a request, and as many others. */
  maxItems: number;
  /** Below this relevance nothing goes into a request. */
  threshold: number;
  /** Whether the assistant's text of a completed turn is remembered. */
  keepLearnings: boolean;
  /** As wide as it looks. */
  scope: Scope;
  /** Where `store_knowledge` puts its items. */
  store: Scope;
  /** The block in a request has no more tokens than this. */
  maxTokens: number;
}>;
export const DEFAULT_KNOWLEDGE: KnowledgeSettings = Object.freeze({
  maxItems: 5,
  threshold: 0.3,
  keepLearnings: false,
  scope: "project",
  store: "agent",
  maxTokens: 1_500,
});

/** Reserved: no other tool has one of these names. The gate decides them as `recall` and `remember`. */
export const RECALL_KNOWLEDGE = "recall_knowledge";
export const STORE_KNOWLEDGE = "store_knowledge";
export const isKnowledgeTool = (name: string): boolean => name === RECALL_KNOWLEDGE || name === STORE_KNOWLEDGE;
/** How a policy names it; null for all other tools. */
export const knowledgeAction = (tool: string): "recall" | "remember" | null =>
  tool === RECALL_KNOWLEDGE ? "recall" : tool === STORE_KNOWLEDGE ? "remember" : null;

/** The working memory that a completed turn leaves behind. */
export const LAST_SUMMARY = "last_conversation_summary";

/** A file that was read into the store, by its path from the project's folder on. */
export type AddedDocument = Readonly<{ path: string; digest: Digest; chunks: number }>;
