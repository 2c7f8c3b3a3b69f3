/** Running manifests: programs in the sandbox, requests behind the HTTP guard, both loaded with the first that runs. */
export { findProgram, PROGRAM_PATH } from "./program-path.ts";
export { explainProgramFailure, programWarnings } from "./program-warnings.ts";
export { type HostRunning, type HostRunningOptions, hostRunning, httpReach, loadRunners } from "./running.ts";
export type { Sandbox, SandboxOptions } from "./sandbox.ts";
export type { Protection } from "./sandbox-bubblewrap.ts";
export { describeEnforcer as nameOf } from "./sandbox-proof.ts";
