/** For auditors: verify a journal, export it, read an export back. What a store needs to write one is in `@orgate/core/journal`. */
export { exportJournal, exportSession, sessionExports } from "./export.ts";
export { type ExportRead, type LineProblem, problemName, readExport } from "./read-export.ts";
export type { VerifyProblem } from "./seal-book.ts";
export { MAX_VERIFY_PROBLEMS, type Verification, type Verify, verify } from "./verify.ts";
