export * from "./agents/index.ts";
export type * from "./reason/port.ts";
export { estimateTokens } from "./reason/tokens.ts";
export * from "./vocab/index.ts";
