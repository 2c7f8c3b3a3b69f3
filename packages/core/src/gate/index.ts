export { readGrant, survivesAll, tooWide, type WidestGrant } from "./approvals.ts";
export { argTypes } from "./arguments/arg-types.ts";
export { mustBeGiven, plainValue } from "./arguments/targets.ts";
export { type CedarGate, cedarGate, type Explained, type PolicySet } from "./cedar.ts";
export { refusalFor } from "./fail-closed.ts";
export { agentsFor } from "./policies/about.ts";
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
} from "./policies/cases.ts";
export type {
  CedarEntity,
  CedarError as Remark,
  CedarRecord,
  CedarValue,
  Engine,
  EngineAnswer as Answer,
  EngineQuestion as Question,
  Kept,
  PolicyJson,
  Uid,
} from "./policies/engine.ts";
export { type LoadedSet, loadPolicies, type PolicyFile, type PolicyProblem } from "./policies/load.ts";
export type { LoadedPolicy } from "./policies/loaded-policy.ts";
export { ruleIn } from "./policies/policy-text.ts";
export { factsRead } from "./policies/read-back.ts";
export { USER_ACTIONS, userActOf } from "./policies/user-acts.ts";
export { type Cast, type Vocabulary, vocabularyOf } from "./policies/vocabulary.ts";
export type { Gate } from "./port.ts";
export { type Row, tableGate } from "./table.ts";
