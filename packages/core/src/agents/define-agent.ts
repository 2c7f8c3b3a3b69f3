/**
 * An agent is a definition: data and tools, frozen, with a digest that a session records.
 *
 * A-1 The digest covers everything a session depends on: name, instructions, model and its options, limits, groups, the facts of every tool.
 */
import {
  type BreakerSettings,
  type ChooseRecovery,
  type ContextPlan,
  checkLimits,
  chooseTokenizer,
  copyFrozen,
  DEFAULT_BREAKER,
  DELEGATE,
  type Digest,
  digestJson,
  type Fallback,
  type Fault,
  FaultError,
  type Hash,
  isKnowledgeTool,
  isName,
  isTokenizer,
  type JsonObject,
  type KnowledgeSettings,
  type Limits,
  type Middleware,
  type Missed,
  type ModelRetry,
  NAME_RULE,
  type Overlap,
  type Prices,
  type RecoveryDefinition,
  type RecoveryPlan,
  readBreaker,
  readModelRetry,
  TOKENIZERS,
  type Tool,
  toolFacts,
  type WebhookProvider,
} from "../vocab/index.ts";
import { type ContextDefinition, readContextPlan } from "./agent-context.ts";
import { type KnowledgeDefinition, readKnowledgeSettings } from "./agent-knowledge.ts";
import type { ModelSource } from "./agent-model.ts";
import type { AgentPolicies } from "./agent-policies.ts";
import { type MissingServer, resolveServers } from "./agent-servers.ts";
import { checkMiddleware } from "./define-middleware.ts";
import { type AgentOutput, type AnswerOf, readOutput } from "./define-output.ts";
import { readRecovery, sortTools } from "./define-tool.ts";
import { type AiTool, fromAiTool } from "./from-ai-tool.ts";
import { isModelName } from "./model-name.ts";
import { tablePrice } from "./price-table.ts";
import { projectBlocks } from "./project-text.ts";
import type { Schema } from "./schemas/schemas.ts";
import { joinTools, type MissingTool, NO_RESOURCES, type ProjectResources, resolveSkills, type Unusable } from "./skills/agent-skills.ts";
import type { Skill } from "./skills/define-skill.ts";
import { LOAD_SKILL, type SkillPrompter, skillIndex, skillLoader } from "./skills/skill-loader.ts";
import { findUnknownKey } from "./unknown-key.ts";

export type AgentDefinition<Out extends Schema | undefined = Schema | undefined> = Readonly<{
  name: string;
  instructions: string;
  /** `provider/name`. Without it the project's default answers; without that `offline/echo`, which understands no language, and whoever runs it is told so. */
  model?: string;
  /** What the model's adapter is told beside the request: the rules of an offline model, for one. */
  modelOptions?: JsonObject;
  /** What `defineTool` returned; or by name, `tool()` objects of the AI SDK among them, which get the strictest defaults. */
  tools?: readonly Tool[] | Readonly<Record<string, Tool | AiTool>>;
  limits?: Partial<Limits>;
  /** What each turn answers with: any Standard Schema that can describe itself, or a JSON Schema. A run may bring another. */
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
  /** What counts tokens: `estimate`, `o200k_base` or `cl100k_base`; by the model's name unless said. */
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
  /** What `defineSkill` returned, or the name of a skill that the project brings. */
  skills?: readonly (Skill | string)[];
  /** Writes the part of the system text that presents the skills, in place of a list of names and descriptions. */
  skillPrompter?: SkillPrompter;
  /** MCP servers by name, each with all the tools that were accepted of it; or one tool, as `SERVER__TOOL`. */
  mcp?: readonly string[];
  /** Whether `AGENTS.md`, from the working folder up to the project's, joins its instructions once it is trusted. */
  projectInstructions?: boolean;
  /** Whether it remembers and looks things up, and how: `true`, or settings. Off unless said. */
  knowledge?: KnowledgeDefinition;
  /** What is done when a tool fails that does not say itself: one strategy, several tried in order, or a function. Unsaid: `ask-model`. */
  recover?: RecoveryDefinition;
  /** How a model that refuses for the moment is asked again: 4 times, after 1 s, 2 s, … unless said, and never sooner than its provider asks for. */
  retry?: Partial<ModelRetry>;
  /** When its model, or a tool that does not say itself, is left alone after it kept failing. */
  breaker?: Partial<BreakerSettings>;
  /** When it takes a turn by itself, by name: the guide's page on schedules has every setting. Read by whoever serves the project. */
  schedules?: Readonly<Record<string, AgentSchedule>>;
  /** What it is told by other systems, by name: the guide's page on webhooks has every setting. */
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

/** Known by a symbol every copy of this module shares: an agent may come from the compiled package or from source. */
const AGENT = Symbol.for("orgate.agent");

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
  /** What its own file says of what it may do. */
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
  /** What it asks for and runs without. */
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

const FIELDS =
  "name instructions model fallbacks modelOptions tools limits output outputRepairs prices tokenizer context groups delegates maxDepth recover retry breaker skills skillPrompter mcp projectInstructions knowledge middleware schedules webhooks".split(
    " ",
  );
const MAX_DEPTH = 3;
/** The model of an agent that names none. */
export const DEFAULT_MODEL = "offline/echo";

export const defineAgent = <const Out extends Schema | undefined = undefined>(given: AgentDefinition<Out>): Agent<AnswerOf<Out>> =>
  assembled(given, NO_RESOURCES);

/** The same agent with what it asked for by name. What is not there stays missing, and is told with the reason. */
export const equipAgent = ({ definition }: Agent, equipment: ProjectResources): Agent => assembled(definition, equipment);

function assembled<Value>(given: AgentDefinition, equipment: ProjectResources): Agent<Value> {
  const named: unknown = given?.name; // plain JavaScript may call it with nothing
  if (!isName(named)) throw invalid("an agent", `\`name\` is ${JSON.stringify(named) ?? "missing"}`, `a name is ${NAME_RULE}`);
  const where = `agent \`${named}\``;
  const stray = findUnknownKey(given, FIELDS);
  if (stray !== null) throw invalid(where, `there is no field \`${stray}\``, `the fields are ${FIELDS.join(", ")}`);
  const { instructions, model = DEFAULT_MODEL } = given;
  if (typeof instructions !== "string" || instructions.trim() === "")
    throw invalid(where, "`instructions` is empty", "say what the agent is for");
  checkModelName(model, where);
  const limits = checkLimits(given.limits ?? {}, where);
  if ("kind" in limits) throw new FaultError(limits);
  const { skills, missing } = resolveSkills(given.skills ?? [], equipment, where);
  const breaker = given.breaker === undefined ? DEFAULT_BREAKER : readBreaker(given.breaker);
  if (typeof breaker === "string") throw invalid(where, breaker, "each is a whole number of at least 1");
  const retry = readModelRetry(given.retry ?? {});
  if (typeof retry === "string") throw invalid(where, retry, "the guide's page on models has them all");
  const recover = readRecovery(given.recover, (detail) => invalid(where, detail, "the guide's page on recovery has them all"));
  const linked = resolveServers(given.mcp ?? [], equipment, where);
  const listed = withServers(toolsOf(given.tools ?? [], where), linked.tools, where);
  const own = recovering(joinTools(listed, skills, where), recover, breaker, where);
  const loader = skills.length + missing.length === 0 ? [] : [skillLoader(skills)];
  const tools = Object.freeze(sortTools([...own, ...loader]));
  const asks = given.projectInstructions ?? false;
  if (typeof asks !== "boolean")
    throw invalid(where, "`projectInstructions` is neither true nor false", "true to use the project's AGENTS.md");
  const modelOptions = optionsOf(given.modelOptions ?? {}, where);
  const knowledge = readKnowledgeSettings(given.knowledge, where);
  if (modelOptions.tools === "none" && tools.length + (given.delegates?.length ?? 0) + (knowledge === null ? 0 : 1) > 0)
    throw invalid(
      where,
      'its model has no tool calls (`modelOptions` says `tools: "none"`), and it has tools',
      'with `tools: "prompted"` in `modelOptions` its calls are made in words; or choose another model',
    );

  const answers = (detail: string) => invalid(where, detail, "the guide's page on structured output has examples");
  if (given.output === undefined && given.outputRepairs !== undefined) throw answers("`outputRepairs` is given without `output`");
  const output = given.output === undefined ? null : readOutput(given.output, given.outputRepairs, answers);
  const groups = namesOf(given.groups ?? [], "groups", where);
  const middleware = checkMiddleware(given.middleware ?? [], where);
  const others = fallbacksOf(given.fallbacks ?? [], model, where);
  const priceOf = pricesOf(given.prices ?? null, equipment.prices, [model, ...others], where);
  const prices = priceOf(model);
  const fallbacks = Object.freeze(others.map((one) => Object.freeze({ model: one, prices: priceOf(one) })));
  const tokenizer = given.tokenizer ?? chooseTokenizer(model);
  if (!isTokenizer(tokenizer))
    throw invalid(
      where,
      `\`tokenizer\` is ${JSON.stringify(tokenizer)}`,
      `known are ${TOKENIZERS.join(", ")}, and own/NAME for one that the runtime's \`counters\` bring`,
    );
  const context = readContextPlan(given.context ?? { kind: "window" }, where);
  const unpriced = refuseUnpricedLimit(limits, { model, prices, fallbacks, context }, where);
  if (unpriced !== null) throw new FaultError(unpriced);

  const delegates = namesOf(given.delegates ?? [], "delegates", where);
  if (delegates.includes(named)) throw invalid(where, "it names itself among its `delegates`", "an agent delegates to others");
  const { maxDepth = MAX_DEPTH } = given;
  if (!Number.isSafeInteger(maxDepth) || maxDepth < 1)
    throw invalid(where, `\`maxDepth\` is ${String(maxDepth)}`, "use a whole number of at least 1; without `delegates` there are none");

  const index = skillIndex(skills, where, given.skillPrompter ?? equipment.skillPrompter);
  const system = [instructions, index, ...projectBlocks(asks ? equipment.instructions : [])].filter((text) => text !== "").join("\n\n");
  const plain = {
    name: named,
    instructions: system,
    model,
    modelOptions,
    limits: Object.freeze(limits),
    prices,
    tokenizer,
    context,
    groups,
    delegates,
    maxDepth,
    breaker,
  };
  const facts = {
    ...plain,
    tools: tools.map(withRecovery),
    ...middlewareNames(middleware),
    ...(fallbacks.length === 0 ? {} : { fallbacks }), // one without any is what it was before there were any
    ...(given.retry === undefined ? {} : { retry }),
    ...(knowledge === null ? {} : { knowledge }),
    ...(output === null ? {} : { output: output.schema, outputRepairs: output.repairs }),
  };
  const agent = {
    ...plain,
    modelSource: given.model === undefined ? ("built-in" as const) : ("agent" as const),
    priceOf,
    policies: Object.freeze([]),
    fallbacks,
    retry,
    knowledge,
    output,
    tools,
    middleware,
    skills,
    missing,
    missingServers: Object.freeze(linked.missing),
    missingTools: equipment.missingTools,
    warnings: [
      ...(given.model === undefined && Object.keys(modelOptions).length === 0 ? [NO_MODEL_NAMED] : []),
      ...(asks ? equipment.warnings : []),
      ...linked.warnings,
    ],
    definition: Object.freeze({ ...given }),
  };
  return Object.freeze({ ...agent, digest: (hash: Hash) => digestJson(facts, hash), [AGENT]: true });
}

/** Code has no digest; which ones there are, and in which order, has. An agent without any is what it was before there were any. */
const middlewareNames = (middleware: readonly Middleware[]) =>
  middleware.length === 0 ? {} : { middleware: middleware.map((m) => m.name) };

export const isAgent = (value: unknown): value is Agent => typeof value === "object" && value !== null && AGENT in value;

/** Of an agent that nobody has given a model, nor rules for the offline one. */
export const NO_MODEL_NAMED = `it names no model, so ${DEFAULT_MODEL} answers, which follows fixed rules; name one (\`anthropic/NAME\`, \`ollama/NAME\`) as \`model\`, or for all agents as \`[models] default\` in orgate.toml`;

/** Throws unless it reads `provider/name`. */
export function checkModelName(model: unknown, where: string): void {
  if (isModelName(model)) return;
  throw invalid(where, `\`model\` is ${JSON.stringify(model) ?? "missing"}`, "name it `provider/name`; `offline/echo` needs no key");
}

function toolsOf(all: readonly Tool[] | Readonly<Record<string, Tool | AiTool>>, where: string): readonly Tool[] {
  const given = isList(all) ? all : namedTools(all, where);
  const seen = new Set<string>();
  for (const [i, tool] of given.entries()) {
    const made: unknown = tool;
    if (typeof made !== "object" || made === null || !("check" in made) || !("resource" in made))
      throw invalid(where, `\`tools[${i}]\` is no tool`, "make it with `defineTool`");
    if (tool.name === DELEGATE) throw invalid(where, `\`${DELEGATE}\` is no name for a tool`, "it is what the model calls to delegate");
    if (isKnowledgeTool(tool.name))
      throw invalid(where, `\`tools[${i}]\` is named \`${tool.name}\``, "that name is reserved for `knowledge`: rename it");
    if (tool.name === LOAD_SKILL) throw invalid(where, `\`tools[${i}]\` is named \`${LOAD_SKILL}\``, "that name is reserved: rename it");
    if (seen.has(tool.name)) throw invalid(where, `two tools are named \`${tool.name}\``, "rename one of them");
    seen.add(tool.name);
  }
  return given;
}

/** A tool of a server that the agent lists itself is the same tool. */
function withServers(own: readonly Tool[], brought: readonly Tool[], where: string): readonly Tool[] {
  const twice = brought.find((tool) => own.some((other) => other.name === tool.name && other !== tool));
  if (twice !== undefined)
    throw invalid(
      where,
      `tool \`${twice.name}\` is brought by the agent itself and by MCP server \`${twice.server ?? ""}\``,
      "rename one of them",
    );
  return [...own, ...brought.filter((tool) => !own.includes(tool))];
}

const isList = (given: readonly Tool[] | Readonly<Record<string, unknown>>): given is readonly Tool[] => Array.isArray(given);

/** M-15 by name: a tool of ours under its own name, or one of the AI SDK's, which gets the key as its name. */
function namedTools(given: Readonly<Record<string, Tool | AiTool>>, where: string): readonly Tool[] {
  if (typeof given !== "object" || given === null || "inputSchema" in given)
    throw invalid(where, "`tools` is not a list", "list what `defineTool` returned");
  return Object.entries(given).map(([name, tool]) => {
    if (typeof tool !== "object" || tool === null || !("check" in tool)) return fromAiTool(name, tool);
    if (tool.name === name) return tool;
    throw invalid(where, `\`tools.${name}\` is the tool \`${tool.name}\``, "name it as it names itself");
  });
}

/** What the agent says holds for each tool that does not say itself; a stand-in is a tool of the same agent's. */
function recovering(
  tools: readonly Tool[],
  recover: RecoveryPlan | ChooseRecovery | null,
  breaker: BreakerSettings,
  where: string,
): readonly Tool[] {
  const names = tools.map((t) => t.name);
  const filled = tools.map((t) => Object.freeze({ ...t, recover: t.recover ?? recover, breaker: t.breaker ?? breaker }));
  for (const { name, recover: plan } of filled) {
    if (plan === null || typeof plan === "function") continue;
    const gone = plan.find((one) => one.kind === "fallback" && !names.includes(one.tool));
    if (gone?.kind !== "fallback") continue;
    throw invalid(where, `\`${name}\` falls back to \`${gone.tool}\`, which is no tool of this agent's`, `it has: ${names.join(", ")}`);
  }
  return Object.freeze(filled);
}

/** A function is code, and code is not part of a digest. */
const withRecovery = (tool: Tool): JsonObject => ({
  ...toolFacts(tool),
  recover: typeof tool.recover === "function" ? "function" : tool.recover,
  breaker: tool.breaker,
});

/** In order, each once: the same names are the same digest. */
function namesOf(given: readonly string[], field: string, where: string): readonly string[] {
  const wrong = Array.isArray(given) ? given.find((one) => !isName(one)) : given;
  if (wrong !== undefined) throw invalid(where, `\`${field}\` holds ${JSON.stringify(wrong)}`, `list names of ${NAME_RULE}`);
  return Object.freeze([...new Set(given)].sort());
}

function fallbacksOf(given: readonly string[], model: string, where: string): readonly string[] {
  if (!Array.isArray(given)) throw invalid(where, "`fallbacks` is no list", "list models, each `provider/name`");
  const wrong = given.find((one) => typeof one !== "string" || !isModelName(one));
  if (wrong !== undefined) throw invalid(where, `\`fallbacks\` holds ${JSON.stringify(wrong)}`, "name each `provider/name`");
  const all = [model, ...given];
  const twice = all.find((one, i) => all.indexOf(one) !== i);
  if (twice !== undefined) throw invalid(where, `\`${twice}\` is asked twice`, "name each model once, the first as `model`");
  return given;
}

/** M-18 what the agent says comes first, then the project, then the table of this version; what none of them knows is unknown, never zero. */
function pricesOf(
  given: AgentDefinition["prices"] | null,
  project: ProjectResources["prices"],
  models: readonly string[],
  where: string,
): (model: string) => Prices | null {
  const said = given === null || given === undefined ? {} : byModel(given, models, where);
  return (model) => {
    const own = ownOf(said, model) ?? ownOf(project, model);
    return own === undefined ? (tablePrice(model)?.prices ?? null) : withWrites(model, own);
  };
}

/** M-18 Anthropic's cache is written to because we ask for it, and that costs a quarter more: whoever did not say so would pay more than is counted. */
const withWrites = (model: string, prices: Prices): Prices =>
  model.startsWith("anthropic/") && prices.cacheWrite === undefined
    ? Object.freeze({ ...prices, cacheWrite: prices.input * WRITING })
    : prices;
const WRITING = 1.25;
const ownOf = <T>(record: Readonly<Record<string, T>>, key: string): T | undefined =>
  Object.hasOwn(record, key) ? record[key] : undefined;

function byModel(
  given: Prices | Readonly<Record<string, Prices>>,
  models: readonly string[],
  where: string,
): Readonly<Record<string, Prices>> {
  const [own = ""] = models;
  const entries = isPrices(given) ? [[own, given] as const] : Object.entries(given);
  const stray = entries.find(([model]) => !models.includes(model));
  if (stray !== undefined && entries.every(([model]) => model.includes("/")))
    throw invalid(where, `\`prices\` names \`${stray[0]}\`, which is no model of this agent's`, `it has: ${models.join(", ")}`);
  if (!entries.every(([, price]) => isPrices(price)) || stray !== undefined)
    throw invalid(
      where,
      "`prices` is not a price of input and of output",
      'give both, in currency per million tokens: { input: 3, output: 15 }, or by model: { "provider/name": { input: 3, output: 15 } }',
    );
  return Object.fromEntries(entries.map(([model, price]) => [model, Object.freeze({ ...price })]));
}

const PRICES = ["input", "output", "cachedInput", "cacheWrite"];
function isPrices(given: unknown): given is Prices {
  const isPrice = (value: unknown) => typeof value === "number" && Number.isFinite(value) && value >= 0;
  if (typeof given !== "object" || given === null || findUnknownKey(given, PRICES) !== null) return false;
  return "input" in given && "output" in given && Object.values(given).every(isPrice);
}

/** What cannot be counted cannot be limited. Also asked when a run brings limits of its own. */
export function refuseUnpricedLimit(
  { cents }: Limits,
  agent: Pick<Agent, "model" | "prices" | "fallbacks" | "context">,
  where: string,
): Fault | null {
  if (cents !== null && agent.context.kind === "summarise" && agent.context.model !== null)
    return {
      kind: "agent-invalid",
      where,
      detail: "`context` names another model, whose price is not known, and limit `cents` is given",
      hint: "leave out `model`, or `cents`",
    };
  const unknown = [agent, ...agent.fallbacks].find(({ prices }) => prices === null);
  if (cents === null || unknown === undefined) return null;
  return {
    kind: "agent-invalid",
    where,
    detail: `limit \`cents\` is given, and the price of the model is not known: \`${unknown.model}\``,
    hint: "give `prices`, in currency per million tokens: { input: 3, output: 15 }",
  };
}

function optionsOf(given: JsonObject, where: string): JsonObject {
  try {
    return copyFrozen(given);
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    throw invalid(where, `\`modelOptions\` is not plain JSON: ${detail}`, "use text, numbers, true, false, null, lists and objects");
  }
}

const invalid = (where: string, detail: string, hint: string): FaultError => new FaultError({ kind: "agent-invalid", where, detail, hint });
