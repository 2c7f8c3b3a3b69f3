export { agentFacts } from "./agent-facts.ts";
export { drive, type Held } from "./drive.ts";
export { evolve, fold } from "./evolve.ts";
export { type Move, next } from "./next.ts";
export { type OpenOrders, ordersOf } from "./orders.ts";
export * from "./ports.ts";
export { type RunResult, toResult } from "./result.ts";
export { type Opening, openSession, readState, takeSession } from "./resume.ts";
export type { Call, Question, State, Turn, Unknown } from "./state.ts";
