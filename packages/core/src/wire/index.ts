/** `@orgate/core/wire`: what goes over a wire, and who understands it. No sockets. */
export * from "./api.ts";
export * from "./chat.ts";
export * from "./client.ts";
export * from "./link.ts";
export * from "./openapi.ts";
export * from "./problem.ts";
export {
  ACT_NAMES,
  type ActName,
  type ActOn,
  type Answers,
  API,
  IDEMPOTENCY_KEY,
  idempotencyKey,
  type Method,
  MOST_PAGE,
  type Route,
  type RouteAct,
} from "./route.ts";
export * as shapes from "./shapes.ts";
export { followTurn, type LiveSign, type TurnDecision as Decision, type TurnSign } from "./turn.ts";
export * from "./ui-stream.ts";
export * from "./v1.ts";
export { type VerifyLine, verifyLine } from "./views.ts";
