/** Tables of knowledge by their whole names: statements do not depend on the settings of a connection. */
export type KnowledgeTables = Readonly<Record<"realms" | "items" | "words" | "documents" | "forgotten" | "embedding" | "vectors", string>>;

export const tablesOf = (schema: string): KnowledgeTables => ({
  realms: `"${schema}".knowledge_realms`,
  items: `"${schema}".knowledge_items`,
  words: `"${schema}".knowledge_words`,
  documents: `"${schema}".knowledge_documents`,
  forgotten: `"${schema}".knowledge_forgotten`,
  embedding: `"${schema}".knowledge_embedding`,
  vectors: `"${schema}".knowledge_vectors`,
});
