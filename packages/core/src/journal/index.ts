export * from "./access.ts";
export * from "./breakers.ts";
export * from "./claims.ts";
export * from "./codec.ts";
export * from "./counts.ts";
export * from "./dead-letters.ts";
export * from "./orders.ts";
export * from "./port.ts";
export { type ProofPorts, readKeys } from "./proof/checks.ts";
export { exportJournal, exportSession } from "./proof/export.ts";
export * from "./proof/keys.ts";
export { listPolicyFiles, type PolicySetWithoutTexts, policyFileList } from "./proof/policy-texts.ts";
export { type ExportRead, type LineProblem, problemName, readExport } from "./proof/read-export.ts";
export * from "./proof/seal.ts";
export * from "./proof/seen.ts";
export * from "./proof/trust.ts";
export * from "./proof/unseal.ts";
export {
  MAX_VERIFY_PROBLEMS,
  type Verification,
  type Verify,
  type VerifyProblem,
  verify,
} from "./proof/verify.ts";
export * from "./questions.ts";
export * from "./read-pages.ts";
export * from "./schedules.ts";
export * from "./summary.ts";
export * from "./trusted-values.ts";
export * from "./unknowns.ts";
export type { Upcast, Upcasts } from "./upcasts.ts";
