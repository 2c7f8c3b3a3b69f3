export { type BreakerChange, type BreakersPort, type OpenBreakers, openBreakers } from "./calls/breakers.ts";
export { followChild, readOpenDelegates, takeUpParents } from "./calls/delegate.ts";
export { nextRetry } from "./calls/recovery.ts";
export { driveLater as drive } from "./drive-later.ts";
export { evolve, fold } from "./evolve.ts";
export {
  allot,
  centsSpent,
  type Dimension,
  isWorthwhile,
  limitsWithin,
  listOverdrawn,
  ownShare,
  remaining,
  sumUsed,
} from "./limits/budgets.ts";
export { type CountsPort, openCounts } from "./limits/rate-counters.ts";
export { toHistory } from "./model/history.ts";
export { toOutputs } from "./model/structured-output.ts";
export type { Move } from "./moves.ts";
export { next } from "./next.ts";
export { type FirstTurn, firstTurnEvents, type Held, holdTakenEvent, type Opening, openedEvent, openSession } from "./open.ts";
export { findAwaitedHalt, findHaltAhead } from "./people/halts.ts";
export { type OpenOrders, openOrders } from "./people/orders.ts";
export * from "./ports.ts";
export { readLastTurn, readState, readTurn, takeSession } from "./resume.ts";
export { agentFacts } from "./session/agent-facts.ts";
export {
  type BoundedFolds,
  DEFAULT_FOLD_LIMITS,
  type Fold,
  type FoldCache,
  type FoldLimits,
  foldCache,
  NO_FOLDS,
} from "./session/fold-cache.ts";
export { type OpenApproval, type RunResult, toResult } from "./session/result.ts";
export { checkExternal, closeSession, createSession, type Fork, forkSession } from "./session/sessions.ts";
export { checkSubject, type SubjectInput } from "./session/subject.ts";
export { pastFacts } from "./session-facts.ts";
export { answerIn, type Call, callsIn, type Question, type State, type Turn, type Unknown } from "./state.ts";
