export { blockOf, fittingItems as fitting, lineOf, type Shown, shortenedItem as shortened } from "./block.ts";
export { type DocumentKind, documentKind, LONGEST_PIECE, type Piece, piecesOf } from "./chunk.ts";
export { conventions, folderIn, upwards } from "./conventions.ts";
export * from "./item.ts";
export { learningsOf, MOST_LEARNT, withSaid } from "./learnings.ts";
export { LINES_FORMAT, LONGEST_BODY, type ReadLine, readLine, toLine } from "./lines.ts";
export { type Found, type Hit, type Knowledge, noKnowledge, type Put, type Search } from "./port.ts";
export { CANDIDATES, type Candidates, ranked } from "./rank.ts";
export {
  type DocumentKey,
  type Embedder,
  type Forgotten,
  type KnowledgeStats,
  type KnowledgeStore,
  type KnownDocument,
  knowledgeOn,
  LONGEST_EMBEDDED,
  type Replaced,
  type Vector,
} from "./store.ts";
export { LAST_MESSAGES, MOST_TERMS, searchTerms as termsOf, termsIn } from "./terms.ts";
export { isUnspaced, plainName, stem, wordsIn } from "./words.ts";
