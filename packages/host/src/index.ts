/** The front door of `orgate`: define agents and tools, create a runtime, run. */
export * from "@orgate/core";
export { sha256 } from "./adapters/crypto-node.ts";
export { type Completed, createRuntime, type Inspect, type Run, type RunOptions, type Runtime, type RuntimeOptions } from "./runtime.ts";
