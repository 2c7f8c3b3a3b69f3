/** The front door of `@orgate/core`: definitions, the loop and its words. Adapters for Node live in `orgate`. */
export * from "./agents/index.ts";
export { AwaitsGate } from "./gate/late.ts";
export type { Gate } from "./gate/port.ts";
export { type Row, tableGate } from "./gate/table.ts";
export { type ReadIntent, readIntent } from "./inbox/decode.ts";
export type { Arrived, Inbox } from "./inbox/port.ts";
export type { Journal } from "./journal/port.ts";
export { type Knowledge, noKnowledge } from "./knowledge/port.ts";
export { createKnowledge, type Embedder, type KnowledgeStore } from "./knowledge/store.ts";
export * from "./loop/index.ts";
export { ANSWER_TOOL, answersByCall } from "./reason/answer-call.ts";
export { conductorModel, USUAL_BUDGET } from "./reason/conductor.ts";
export type { ContextStep, ContextView, OwnContextPlan, PlannedMessage } from "./reason/own-plan.ts";
export { type Message, type Model, type ModelReply, type ModelRequest, type Preview, toModelIdentity } from "./reason/port.ts";
export { type PromptedOptions, promptedCalls } from "./reason/prompted.ts";
export { type Counters, estimates, estimateTokens, type TokenCount } from "./reason/tokens.ts";
export { estimatedInput, estimatedOutput } from "./reason/usage.ts";
export * from "./vocab/index.ts";
