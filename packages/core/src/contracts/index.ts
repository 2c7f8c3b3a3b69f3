/** Tool contracts: manifests, argument types, argv templates, scope. Pure. */

export { type Pattern, type ReadPattern, readPattern } from "../vocab/text/pattern.ts";
export { ARG_TYPES, type ArgType, type ProjectPaths } from "./arg-type.ts";
export type { Ambient } from "./command.ts";
export {
  type BuiltInvocation,
  type Contract,
  type ContractScope,
  createContract,
  type InvocationContext,
} from "./contract.ts";
export { type Host, isInternal, readHost, readTarget } from "./hosts.ts";
export type { ManifestIssue } from "./issue.ts";
export { type Arg, type Backend, decodeCustomTypes, decodeManifest, type Manifest, type ReadManifest } from "./manifest.ts";
export type { CustomTypes } from "./manifest-schema.ts";
export { parseOutput } from "./output.ts";
export { createMask, type Mask, maskJson, type Result, toManifestResult } from "./result.ts";
export type {
  HttpInvocation,
  Invocation,
  InvocationResult,
  InvocationRunner,
  McpInvocation,
  PathAccess,
  ProcessInvocation,
  ProcessLimits,
  RunOptions,
  Tier,
} from "./running.ts";
export { decodeScope, NO_SCOPE, refuseOutOfScope, type TargetScope } from "./scope.ts";
