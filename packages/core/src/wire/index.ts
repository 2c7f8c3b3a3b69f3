/** `@orgate/core/wire`: what goes over a wire, and who understands it. No sockets. */

export * from "./chat.ts";
export * from "./client.ts";
export * from "./link.ts";
export * from "./openapi.ts";
export {
  ACT_NAMES,
  type ActName,
  type ActOn,
  API,
  IDEMPOTENCY_KEY,
  idempotencyKey,
  type Method,
  MOST_PAGE,
  type Operation,
  type OperationAct,
  type OperationAnswer,
} from "./operation.ts";
export * from "./operations.ts";
export * from "./problem.ts";
export * from "./send-message.ts";
export * as shapes from "./shapes.ts";
export { followTurn, type LiveSign, type TurnDecision, type TurnSign } from "./turn.ts";
export * from "./ui-stream.ts";
export * from "./v1.ts";
export { type VerifyLine, verifyLine } from "./views.ts";
