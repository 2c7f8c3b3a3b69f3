/**
 * Tables of knowledge, beside those of the journal: one schema is one project. A realm is whose something is; its number stands in front of every word
 * (`knowledge/index-words.ts`). Vectors get their table with the first of them (`knowledge/postgres/vectors.ts`): its type belongs to an extension.
 * Slots and paths have hash indexes: they may be longer than an entry of a tree.
 */
export const KNOWLEDGE_TABLES = `
CREATE TABLE knowledge_realms (
  n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, scope text COLLATE "C" NOT NULL, agent text COLLATE "C" NOT NULL, UNIQUE (scope, agent)
);
CREATE TABLE knowledge_items (
  n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id text COLLATE "C" NOT NULL UNIQUE, realm bigint NOT NULL, kind text NOT NULL, slot text, document text,
  directory text COLLATE "C", body text NOT NULL, scope text NOT NULL, agent text, confidence double precision NOT NULL, source text NOT NULL, labels text NOT NULL,
  verified boolean NOT NULL, stream text, seq bigint, created bigint NOT NULL, valid_from bigint, valid_to bigint, used_at bigint, uses bigint NOT NULL,
  superseded_by text, words tsvector NOT NULL, embedded boolean NOT NULL DEFAULT false
);
CREATE INDEX knowledge_items_slot ON knowledge_items USING hash (slot) WHERE slot IS NOT NULL AND superseded_by IS NULL;
CREATE INDEX knowledge_items_document ON knowledge_items USING hash (document) WHERE document IS NOT NULL;
CREATE INDEX knowledge_items_words ON knowledge_items USING gin (words);
CREATE INDEX knowledge_items_unembedded ON knowledge_items (n) WHERE superseded_by IS NULL AND NOT embedded;
CREATE TABLE knowledge_words (word text COLLATE "C" PRIMARY KEY, items bigint NOT NULL);
CREATE TABLE knowledge_documents (path text COLLATE "C" NOT NULL, scope text NOT NULL, agent text COLLATE "C" NOT NULL, digest text NOT NULL, chunks bigint NOT NULL);
CREATE INDEX knowledge_documents_path ON knowledge_documents USING hash (path);
CREATE TABLE knowledge_forgotten (id text COLLATE "C" PRIMARY KEY);
CREATE TABLE knowledge_embedding (model text NOT NULL, dimension int NOT NULL);
`;
