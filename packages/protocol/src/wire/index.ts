/** `@orgate/protocol`: what goes over a wire, and who understands it. No sockets. */

export * from "./chat.ts";
export * from "./client.ts";
export * from "./link.ts";
export * from "./openapi.ts";
export { API, IDEMPOTENCY_KEY, idempotencyKey, MOST_PAGE, type Operation, type OperationAnswer } from "./operation.ts";
export * from "./operation-fields.ts";
export * from "./operations.ts";
export * from "./problem.ts";
export * from "./send-message.ts";
export * as shapes from "./shapes.ts";
export { followTurn, type LiveSign, type TurnDecision, type TurnSign } from "./turn.ts";
export * from "./ui-stream.ts";
export * from "./v1.ts";
export { type VerifyLine, verifyLine } from "./views.ts";
export { ACT_NAMES, type ActName, type ActOn, type Method, type OperationAct } from "./words/index.ts";
