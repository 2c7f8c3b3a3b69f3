/** The front door of `orgate`: define agents and tools, create a runtime, run. */
export * from "@orgate/core";
export { cedarEngine } from "./adapters/cedar-engine.ts";
export { checkSignature, ed25519, nameKey, sha256 } from "./adapters/crypto-node.ts";
export { openReadStore, type ReadStore } from "./adapters/journal-sqlite.ts";
export { createPerson, openPerson, type Person, signIntent } from "./adapters/keyring.ts";
export { type PathGuard, type PathGuardOptions, pathGuard } from "./adapters/path-guard.ts";
export { type CedarPoliciesOptions, cedarPolicies, type Policies, type Reloaded } from "./policies.ts";
export { watchPolicies } from "./policy-record.ts";
export { type Completed, createRuntime, type Inspect, type Run, type RunOptions, type Runtime, type RuntimeOptions } from "./runtime.ts";
