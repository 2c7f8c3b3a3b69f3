export * from "./define-agent.ts";
export * from "./define-tool.ts";
export { delegateTool, toolsOf } from "./delegate-tool.ts";
export type { StandardSchema } from "./standard-schema.ts";
