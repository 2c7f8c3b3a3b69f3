export { duration, readGrant, tooWide, type WidestGrant } from "./approvals.ts";
export { actionOf, type Case, type CaseResult, caseSchema, casesSchema, factsOf, runCase } from "./cases.ts";
export { type CedarGate, cedarGate, type Explained, type LoadedPolicy, type PolicySet } from "./cedar.ts";
export type { Answer, CedarEntity, CedarRecord, CedarValue, Engine, Kept, PolicyJson, Question, Uid } from "./engine.ts";
export { type LoadedSet, loadPolicies, type PolicyFile, type PolicyProblem } from "./load.ts";
export type { Gate } from "./port.ts";
export { factsRead } from "./read-back.ts";
export { type Row, tableGate } from "./table.ts";
export { type Cast, type Vocabulary, vocabularyOf } from "./vocabulary.ts";
