/** The front door of `orgate`: define agents and tools, create a runtime, run. */
export * from "@orgate/core";
export type {
  ListedApproval,
  Position,
  SessionPage,
  SessionSummary,
  StandingGrant,
  WrittenEntry,
} from "@orgate/core/journal";
export type { Protection, Sandbox, SandboxOptions } from "@orgate/toolclad/running";
export { type HostRunning, type HostRunningOptions, hostRunning } from "@orgate/toolclad/running";
export { type FileInput, fileAt, type HistoryInput, toAttachments } from "./files/file-input.ts";
export {
  addDocumentsLater as addDocuments,
  createRuntimeLater as createRuntime,
  embedMissingLater as embedMissing,
  forgetItemsLater as forgetItems,
  importItemsLater as importItems,
  symbiAgentsLater as symbiAgents,
} from "./front-door.ts";
export { type PathGuard, type PathGuardOptions, pathGuard } from "./guard/path-guard.ts";
export { openKnowledge } from "./knowledge/sqlite.ts";
export {
  compareMcpCatalogues,
  listOfferedTools,
  type Mcp,
  type McpCatalogue,
  type McpDifference,
  type McpOptions,
  type McpSettings,
  openMcp,
  signInMcp,
} from "./mcp/library.ts";
export {
  type AnyLanguageModel,
  DEFAULT_PATIENCE,
  type LanguageModelOptions,
  languageModel,
} from "./models/language-model.ts";
export { type NamedModelOptions, namedModel } from "./models/named-model.ts";
export type { ProviderOptions } from "./models/providers.ts";
export { checkSignature, ed25519, nameKey, sha256 } from "./node/crypto.ts";
export { cedarEngine } from "./policies/cedar-engine.ts";
export { type LateAnswer, type LateFacts, type LateGateOptions, lateGate } from "./policies/late-gate.ts";
export { type CedarPoliciesOptions, cedarPolicies, type Policies, type ReloadOutcome } from "./policies/policies.ts";
export { watchPolicies } from "./policies/policy-record.ts";
export type {
  AgentAbout,
  AgentFormat,
  AgentRule,
  AgentSource,
  BrokenTool,
  FinishedAgent,
  FormatAgent,
  FormatContext,
  FormatFiles,
  FormatInputs,
  NamedTools,
  ProjectProblem,
  ProjectTool,
  ToolFiles,
  ToolFormat,
} from "./project/formats/format.ts";
export type { FindSecret } from "./project/own-manifest-ports.ts";
export { type ManifestToolsOptions, manifestTools } from "./project/project-manifests.ts";
export { readSkill } from "./project/skill-folder.ts";
export type { SymbiAgentsOptions } from "./project/symbi/symbi-agents.ts";
export type {
  AgentRef,
  Approvals,
  CompletedRun,
  Inspect,
  IntentOutcome,
  MessageInput,
  ResolveOutcome,
  Run,
  RunOptions,
  Runtime,
  RuntimeOptions,
} from "./runtime/api.ts";
export { checkNotice, type Notify, SIGNATURE_HEADER, type WebhookOptions, webhook } from "./runtime/notice-webhook.ts";
export type { Notice } from "./runtime/notices.ts";
export type { ApprovalRequestView } from "./runtime/people/approvals.ts";
export type { AddedDocuments, DocumentText, KnowledgeEditor, KnowledgePlacement } from "./runtime/people/knowledge.ts";
export type { BreakerTable, OwnCounters, Tracer } from "./runtime/ports/own-ports.ts";
export type { OpenOwnStore, OwnStore } from "./runtime/ports/own-store.ts";
export { definePorts, type ProjectPorts } from "./runtime/ports/project-ports.ts";
export type { ForkOptions, NewSession, Sessions } from "./runtime/sessions.ts";
export type { FollowOptions, Subscribe, TextPreview } from "./runtime/subscribe.ts";
export { openReadStore, type SqliteReadStore } from "./store/journal.ts";
export { createPerson, openPerson, type Person, signIntent } from "./store/keyring.ts";
export type { ReadStore, StoreOpening } from "./store/store.ts";
export { type FileToolsOptions, fileTools } from "./tools/file-tools.ts";
export { type FolderFiles, type FolderFilesOptions, folderFiles } from "./tools/folder-files.ts";
