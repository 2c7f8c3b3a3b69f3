/** Tool contracts: manifests, argument types, argv templates, scope. Pure. */

export { type Pattern, type ReadPattern, readPattern } from "../vocab/text/pattern.ts";
export { ARG_TYPES, type ArgType, type Places } from "./arg-type.ts";
export type { Ambient } from "./command.ts";
export { type Around, type Built, type Contract, contractOf, type World } from "./contract.ts";
export { type Host, isInternal, readHost, readTarget } from "./hosts.ts";
export type { ManifestIssue as Issue } from "./issue.ts";
export { type Arg, type Backend, decodeCustomTypes, decodeManifest, type Manifest, type ReadManifest } from "./manifest.ts";
export type { CustomTypes } from "./manifest-schema.ts";
export { parseOutput } from "./output.ts";
export { type Mask, masker, maskJson, type Result, resultOf } from "./result.ts";
export type {
  HttpInvocation,
  Invocation,
  McpInvocation,
  PathAccess,
  ProcessInvocation,
  ProcessLimits,
  Ran,
  Running,
  RunOptions,
  Tier,
} from "./running.ts";
export { decodeScope, NO_SCOPE, type TargetScope as Scope, whyOutOfScope } from "./scope.ts";
