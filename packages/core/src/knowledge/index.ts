export {
  type ShownItem,
  selectFittingItems,
  shortenItem,
  toKnowledgeBlock,
  toKnowledgeLine,
} from "./block.ts";
export { type DocumentKind, documentKind, LONGEST_PIECE, type Piece, splitDocument } from "./chunk.ts";
export { findConventions, listFoldersUpwards, toProjectFolder } from "./conventions.ts";
export * from "./item.ts";
export { appendLearning, MAX_LEARNINGS, toLearnings } from "./learnings.ts";
export { LINES_FORMAT, LONGEST_BODY, type ReadLine, readLine, toLine } from "./lines.ts";
export { type Hit, type Knowledge, noKnowledge, type PutResult, type Search, type SearchResult } from "./port.ts";
export { CANDIDATES, type Candidates, rankCandidates } from "./rank.ts";
export {
  createKnowledge,
  type DocumentKey,
  type Embedder,
  type Forgotten,
  type KnowledgeStats,
  type KnowledgeStore,
  type KnownDocument,
  LONGEST_EMBEDDED,
  type LocalKnowledgeStore,
  type Replaced,
  type Vector,
} from "./store.ts";
export { extractTerms, LAST_MESSAGES, MAX_TERMS, searchTerms } from "./terms.ts";
export { isUnspaced, splitWords, stem, toPlainName } from "./words.ts";
