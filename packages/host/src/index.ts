/** The front door of `orgate`: define agents and tools, create a runtime, run. */
export * from "@orgate/core";
export type { ListedQuestion, Position, SessionPage, SessionSummary, StandingGrant, StandingHalt, Written } from "@orgate/core/journal";
export { cedarEngine } from "./adapters/cedar-engine.ts";
export { checkSignature, ed25519, nameKey, sha256 } from "./adapters/crypto-node.ts";
export { openReadStore, type ReadStore } from "./adapters/journal-sqlite.ts";
export { createPerson, openPerson, type Person, signIntent } from "./adapters/keyring.ts";
export {
  type AnyLanguageModel,
  DEFAULT_PATIENCE,
  type LanguageModelOptions,
  languageModel,
} from "./adapters/models/language-model.ts";
export type { ProviderOptions } from "./adapters/models/providers.ts";
export { type PathGuard, type PathGuardOptions, pathGuard } from "./adapters/path-guard.ts";
export { openRequestKeys } from "./adapters/request-keys-sqlite.ts";
export { type HostRunning, type HostRunningOptions, hostRunning } from "./adapters/running/running.ts";
export type { Sandbox, SandboxOptions } from "./adapters/running/sandbox.ts";
export type { Protection } from "./adapters/running/sandbox-bubblewrap.ts";
export { openKnowledge } from "./adapters/sqlite-knowledge.ts";
export { checkNotice, type Notify, SIGNATURE_HEADER, type WebhookOptions, webhook } from "./adapters/webhook.ts";
export type { QuestionView } from "./approvals.ts";
export { type NamedModelOptions, namedModel } from "./compose.ts";
export { type FileInput, fileAt, type SaidInput, toAttachments } from "./file-input.ts";
export { type FileToolsOptions, fileTools } from "./file-tools.ts";
export { type FolderFiles, type FolderFilesOptions, folderFiles } from "./folder-files.ts";
export {
  type Added,
  addDocuments,
  type DocumentText,
  type Editor,
  embedMissing,
  forgetItems,
  importItems,
  type Placing,
} from "./knowledge.ts";
export {
  type Mcp,
  type McpCatalogue,
  type McpDifference,
  type McpOptions,
  type McpSettings,
  mcpDifferences,
  offeredByMcp,
  openMcp,
  signInMcp,
} from "./mcp.ts";
export type { Notice } from "./notices.ts";
export { type CedarPoliciesOptions, cedarPolicies, type Policies, type Reloaded } from "./policies.ts";
export { watchPolicies } from "./policy-record.ts";
export { type ManifestToolsOptions, manifestTools } from "./project-manifests.ts";
export {
  type AgentRef,
  type Answered,
  type Approvals,
  type Completed,
  createRuntime,
  type Inspect,
  type Resolve,
  type Run,
  type RunOptions,
  type Runtime,
  type RuntimeOptions,
  type Told,
} from "./runtime.ts";
export type { Forking, NewSession, Sessions } from "./sessions.ts";
export { readSkill } from "./skill-folder.ts";
export type { Following, Subscribe, Words } from "./subscribing.ts";
export { type SymbiAgentsOptions, symbiAgents } from "./symbi-agents.ts";
