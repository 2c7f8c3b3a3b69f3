export * from "./codec.ts";
export { type ExportRead, exportJournal, exportSession, type LineProblem, problemName, readExport } from "./export.ts";
export * from "./keys.ts";
export * from "./port.ts";
export * from "./seal.ts";
export * from "./summary.ts";
export * from "./unseal.ts";
export { MOST_PROBLEMS, type Problem, type ProofPorts, readKeys, type Verification, type Verify, verify } from "./verify.ts";
