/** Tool manifests: contracts of arguments, scope, and the tools that are made of them. Programs and requests run in `@orgate/toolclad/running`. */

export { type Pattern, type ReadPattern, readPattern } from "@orgate/core/pattern";
export { ARG_TYPES, type ArgType, type ProjectPaths } from "./contract/arg-type.ts";
export type { Ambient } from "./contract/command.ts";
export {
  type BuiltInvocation,
  type Contract,
  type ContractScope,
  createContract,
  type InvocationContext,
} from "./contract/contract.ts";
export { type Host, isInternal, readHost, readTarget } from "./contract/hosts.ts";
export type { ManifestIssue } from "./contract/issue.ts";
export { type Arg, type Backend, decodeCustomTypes, decodeManifest, type Manifest, type ReadManifest } from "./contract/manifest.ts";
export type { CustomTypes } from "./contract/manifest-schema.ts";
export { parseOutput } from "./contract/output.ts";
export { createMask, type Mask, maskJson, type Result, toManifestResult } from "./contract/result.ts";
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
} from "./contract/running.ts";
export { decodeScope, NO_SCOPE, refuseOutOfScope, type TargetScope } from "./contract/scope.ts";
export { openCallFolders } from "./tool/call-folders.ts";
export {
  type FileProblem,
  isManifest,
  type ManifestFile,
  type ManifestFiles,
  type ManifestSource,
  type ReadManifests,
  readManifest,
  readManifests,
} from "./tool/manifest-files.ts";
export type { CallFolders, ManifestContext, ManifestTools, SecretsPort } from "./tool/manifest-run.ts";
export { manifestTool } from "./tool/manifest-tool.ts";
