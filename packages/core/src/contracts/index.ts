/** Tool contracts: manifests, argument types, argv templates, scope. Pure. */
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
