export { findSurvivingLabels, readGrant, refuseGrant, type WidestGrant } from "./approvals.ts";
export { toArgTypes } from "./arguments/arg-types.ts";
export { type ListType, toListTypes } from "./arguments/lists.ts";
export { isRequired, plainValue } from "./arguments/targets.ts";
export type { ToolCare } from "./ask.ts";
export { type CedarGate, cedarGate, type Explanation, type PolicySet } from "./cedar.ts";
export { refusalFor } from "./fail-closed.ts";
export { findCoveredAgents } from "./policies/about.ts";
export {
  type Case,
  type CaseResult,
  caseSchema,
  casesSchema,
  decideCase,
  findDoubt,
  findStranger,
  refuseCase,
  runCase,
  toCaseAction,
  toCaseCare,
  toCaseFacts,
} from "./policies/cases.ts";
export type {
  CedarEntity,
  CedarError,
  CedarRecord,
  CedarValue,
  Engine,
  EngineAnswer,
  EngineQuestion,
  PolicyJson,
  PreparedPolicies,
  Uid,
} from "./policies/engine.ts";
export { type LoadedSet, loadPolicies, type PolicyFile, type PolicyProblem } from "./policies/load.ts";
export type { LoadedPolicy } from "./policies/loaded-policy.ts";
export { readRule } from "./policies/policy-text.ts";
export { isUnder } from "./policies/reach.ts";
export { restoreFacts } from "./policies/read-back.ts";
export { collectReads } from "./policies/slice.ts";
export { readUserAct, USER_ACTIONS } from "./policies/user-acts.ts";
export { buildVocabulary, type PolicyWorld, type Vocabulary } from "./policies/vocabulary.ts";
export { toWorldTypes, type WorldTypes } from "./policies/world/world-types.ts";
export type { Gate } from "./port.ts";
export { type Row, tableGate } from "./table.ts";
