/** The types of an agent: its definition as it is written, and the frozen agent that `defineAgent` makes of it. */
import type {
  BreakerSettings,
  ContextPlan,
  Digest,
  Fallback,
  Hash,
  JsonObject,
  KnowledgeSettings,
  Limits,
  Middleware,
  Missed,
  ModelRetry,
  Overlap,
  Prices,
  RecoveryDefinition,
  Tool,
  WebhookProvider,
} from "../vocab/index.ts";
import type { ContextDefinition } from "./agent-context.ts";
import type { KnowledgeDefinition } from "./agent-knowledge.ts";
import type { MissingServer } from "./agent-servers.ts";
import type { AgentOutput } from "./define-output.ts";
import type { AiTool } from "./from-ai-tool.ts";
import type { Schema } from "./schemas/schemas.ts";
import type { MissingTool, Unusable } from "./skills/agent-skills.ts";
import type { Skill } from "./skills/define-skill.ts";
import type { SkillPrompter } from "./skills/skill-loader.ts";

export type AgentDefinition<Out extends Schema | undefined = Schema | undefined> = Readonly<{
  name: string;
  instructions: string;
  /** `provider/name`. Without it the project's default answers; without that `offline/echo`, which understands no language, and a warning says so. */
  model?: string;
  /** Options that only the model's adapter reads: the rules of an offline model, for one. */
  modelOptions?: JsonObject;
  /** Results of `defineTool`; or by name, `tool()` objects of the AI SDK among them, which get the strictest defaults. */
  tools?: readonly Tool[] | Readonly<Record<string, Tool | AiTool>>;
  limits?: Partial<Limits>;
  /** Schema of each turn's answer: any Standard Schema that can describe itself, or a JSON Schema. A run may bring another. */
  output?: Out;
  /** How often an answer that does not fit is asked for again; 2 unless said. */
  outputRepairs?: number;
  /** Asked in the model's place when it cannot be had, in order: `provider/name`. */
  fallbacks?: readonly string[];
  /**
   * Of the model, or by model, in currency per million tokens; by the table of this version (`PRICE_TABLE`) unless said. A model without a price
   * costs nobody knows how much, and money cannot be limited.
   */
  prices?: Prices | Readonly<Record<string, Prices>>;
  /** Tokenizer: `estimate`, `o200k_base` or `cl100k_base`. Chosen by the model's name when absent. */
  tokenizer?: string;
  /** How a conversation is kept within `contextTokens`; the oldest go first unless said. */
  context?: ContextDefinition;
  /** `AgentGroup`s it is in, for policies to be written about; the project may put it into more. */
  groups?: readonly string[];
  /** Agents, by name, that it may have do something: its model gets the tool `delegate`, and policies decide each time. */
  delegates?: readonly string[];
  /** How many levels of delegates there may be below it; 3 unless said. */
  maxDepth?: number;
  /** After the runtime's own, in order. */
  middleware?: readonly Middleware[];
  /** Results of `defineSkill`, or names of skills that the project brings. */
  skills?: readonly (Skill | string)[];
  /** Writes the part of the system text that presents the skills, in place of a list of names and descriptions. */
  skillPrompter?: SkillPrompter;
  /** MCP servers by name, each with all the tools that were accepted of it; or one tool, as `SERVER__TOOL`. */
  mcp?: readonly string[];
  /** Whether `AGENTS.md`, from the working folder up to the project's, joins its instructions once it is trusted. */
  projectInstructions?: boolean;
  /** Whether it remembers and looks things up, and how: `true`, or settings. Off unless said. */
  knowledge?: KnowledgeDefinition;
  /** Recovery for tools that have none of their own: one strategy, several tried in order, or a function. Default: `ask-model`. */
  recover?: RecoveryDefinition;
  /** How a model that refuses for the moment is asked again: 4 times, after 1 s, 2 s, … unless said, and never sooner than its provider asks for. */
  retry?: Partial<ModelRetry>;
  /** When its model, or a tool that does not say itself, is left alone after it kept failing. */
  breaker?: Partial<BreakerSettings>;
  /** When it takes a turn by itself, by name: the guide's page on schedules has every setting. Read by the server of the project. */
  schedules?: Readonly<Record<string, AgentSchedule>>;
  /** Deliveries from other systems, by name: the guide's page on webhooks has every setting. */
  webhooks?: Readonly<Record<string, AgentWebhook>>;
}>;

/** Exactly one of `cron` and `at`; times such as `30s`, `5m`, `8h`. */
export type AgentSchedule = Readonly<{
  cron?: string;
  at?: string;
  timezone?: string;
  input?: string;
  owner?: string;
  oneShot?: boolean;
  jitter?: string;
  overlap?: Overlap;
  atOnce?: number;
  missed?: Missed;
  mostMissed?: number;
  grace?: string;
  session?: "fresh" | "shared";
  retries?: number;
  failures?: number;
  enabled?: boolean;
}>;
/** `secret` names a secret of the project, or a variable as `$NAME`; it is never the secret itself. */
export type AgentWebhook = Readonly<{
  path: string;
  provider: WebhookProvider;
  secret: string | readonly string[];
  input?: string;
  owner?: string;
  filter?: AgentWebhookFilter | readonly AgentWebhookFilter[];
  maxBytes?: number;
  contentTypes?: readonly string[];
  replayWindow?: string;
  signatureHeader?: string;
  idHeader?: string;
  timestampHeader?: string;
}>;
export type AgentWebhookFilter = Readonly<{ json_path: string; equals?: string | number | boolean; contains?: string }>;

/** `Value`: what its turns answer with. */
export type Agent<Value = unknown> = Readonly<{
  name: string;
  /** The system text: what was written, the skills by name, the project's own instructions. */
  instructions: string;
  model: string;
  /** Who named the model. */
  modelSource: ModelSource;
  modelOptions: JsonObject;
  /** By name; each knows what is done when it fails, where the agent or the tool itself says so. */
  tools: readonly Tool[];
  limits: Limits;
  /** Policies that its own file contains. */
  policies: readonly AgentPolicies[];
  output: AgentOutput | null;
  prices: Prices | null;
  fallbacks: readonly Fallback[];
  tokenizer: string;
  context: ContextPlan;
  groups: readonly string[];
  delegates: readonly string[];
  maxDepth: number;
  middleware: readonly Middleware[];
  breaker: BreakerSettings;
  retry: ModelRetry;
  /** Null: off. */
  knowledge: KnowledgeSettings | null;
  /** By name. */
  skills: readonly Skill[];
  /** Skills that it names and does not have: it is not run without them. */
  missing: readonly Readonly<{ skill: string } & Unusable>[];
  /** MCP servers that it names and does not have: it is not run without them either. */
  missingServers: readonly MissingServer[];
  /** Tools that it names and that are wrong as they are written: nor without these. */
  missingTools: readonly MissingTool[];
  /** Missing parts that it asks for and runs without. */
  warnings: readonly string[];
  /** As it was written: `equipAgent` starts from it. */
  definition: AgentDefinition;
  /** Price of any model for this agent, by its definition, the project, or the table of this version; null: unknown. */
  priceOf(model: string): Prices | null;
  digest(hash: Hash): Digest;
  /** Of its type only: nothing is there. */
  readonly [ANSWERS]?: Value;
}>;

declare const ANSWERS: unique symbol;

/** `agent`: its definition names it. `project`: the default of the project or runtime. `session`: chosen for a session. `built-in`: nobody named one. */
export type ModelSource = "agent" | "project" | "session" | "built-in";

/** Cedar about this one agent. `path` and `name` are the file's: its lines are the file's lines. */
export type AgentPolicies = Readonly<{
  path: string;
  name: string;
  agent: string;
  text: string;
  shadow: boolean;
  /** Each policy of `text` as it stands there, in order, with its whole id. */
  pieces: readonly Readonly<{ id: string; text: string }>[];
}>;
