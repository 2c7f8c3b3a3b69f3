export { agentsFor } from "./about.ts";
export { readGrant, survivesAll, tooWide, type WidestGrant } from "./approvals.ts";
export { argTypes } from "./arg-types.ts";
export {
  actionOf,
  type Case,
  type CaseResult,
  caseSchema,
  casesSchema,
  decideCase,
  doubtIn,
  factsOf,
  runCase,
  strangerIn,
  unaskable,
} from "./cases.ts";
export { type CedarGate, cedarGate, type Explained, type LoadedPolicy, type PolicySet } from "./cedar.ts";
export type {
  Answer,
  CedarEntity,
  CedarError as Remark,
  CedarRecord,
  CedarValue,
  Engine,
  Kept,
  PolicyJson,
  Question,
  Uid,
} from "./engine.ts";
export { refusalFor } from "./fail-closed.ts";
export { type LoadedSet, loadPolicies, type PolicyFile, type PolicyProblem } from "./load.ts";
export { ruleIn } from "./policy-text.ts";
export type { Gate } from "./port.ts";
export { factsRead } from "./read-back.ts";
export { type Row, tableGate } from "./table.ts";
export { mustBeGiven, plainValue } from "./targets.ts";
export { USER_ACTIONS, userActOf } from "./user-acts.ts";
export { type Cast, type Vocabulary, vocabularyOf } from "./vocabulary.ts";
