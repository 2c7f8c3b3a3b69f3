/**
 * An agent is a definition: data and tools, frozen, with a digest that a session records.
 *
 * A-1 The digest covers everything a session depends on: name, instructions, model and its options, limits, groups, the facts of every tool.
 */
import {
  checkLimits,
  chooseTokenizer,
  copyFrozen,
  DEFAULT_BREAKER,
  digestJson,
  FaultError,
  type Hash,
  isName,
  isTokenizer,
  type JsonObject,
  type Limits,
  type Middleware,
  NAME_RULE,
  readBreaker,
  readModelRetry,
  TOKENIZERS,
} from "../vocab/index.ts";
import type { Agent, AgentDefinition } from "./agent.ts";
import { readContextPlan } from "./agent-context.ts";
import { readKnowledgeSettings } from "./agent-knowledge.ts";
import { findPrices, readFallbacks, refuseUnpricedLimit } from "./agent-prices.ts";
import { resolveServers } from "./agent-servers.ts";
import { addServerTools, listTools, toRecoveryFacts, withAgentRecovery } from "./agent-tools.ts";
import { checkMiddleware } from "./define-middleware.ts";
import { type AnswerOf, readOutput } from "./define-output.ts";
import { readRecovery, sortTools } from "./define-tool.ts";
import { checkModelName, DEFAULT_MODEL, NO_MODEL_NAMED } from "./model-name.ts";
import { projectBlocks } from "./project-text.ts";
import type { Schema } from "./schemas/schemas.ts";
import { joinTools, NO_RESOURCES, type ProjectResources, resolveSkills } from "./skills/agent-skills.ts";
import { skillIndex, skillLoader } from "./skills/skill-loader.ts";
import { findUnknownKey } from "./unknown-key.ts";

/** Known by a symbol every copy of this module shares: an agent may come from the compiled package or from source. */
const AGENT = Symbol.for("orgate.agent");

const FIELDS =
  "name instructions model fallbacks modelOptions tools limits output outputRepairs prices tokenizer context groups delegates maxDepth recover retry breaker skills skillPrompter mcp projectInstructions knowledge middleware schedules webhooks".split(
    " ",
  );
const MAX_DEPTH = 3;

export const defineAgent = <const Out extends Schema | undefined = undefined>(given: AgentDefinition<Out>): Agent<AnswerOf<Out>> =>
  assemble(given, NO_RESOURCES);

/** The same agent with the resources that it names. A missing resource stays missing, with the reason. */
export const equipAgent = ({ definition }: Agent, equipment: ProjectResources): Agent => assemble(definition, equipment);

/** The definition that is read, the resources that it can name, and the words that name the agent in a fault. */
type Reading = Readonly<{ given: AgentDefinition; equipment: ProjectResources; where: string }>;

function assemble<Value>(given: AgentDefinition, equipment: ProjectResources): Agent<Value> {
  const name = readName(given);
  const reading: Reading = { given, equipment, where: `agent \`${name}\`` };
  const { where } = reading;
  const { instructions, model, limits } = readBasics(reading);
  const { skills, missing, servers, breaker, retry, tools } = readTools(reading);
  const isInstructed = given.projectInstructions ?? false;
  if (typeof isInstructed !== "boolean")
    throw invalid(where, "`projectInstructions` is neither true nor false", "true to use the project's AGENTS.md");
  const modelOptions = readModelOptions(given.modelOptions ?? {}, where);
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
  const groups = readNames(given.groups ?? [], "groups", where);
  const middleware = checkMiddleware(given.middleware ?? [], where);
  const { priceOf, prices, fallbacks, tokenizer, context } = readModels(reading, model, limits);
  const { delegates, maxDepth } = readDelegates(reading, name);

  const index = skillIndex(skills, where, given.skillPrompter ?? equipment.skillPrompter);
  const brought = projectBlocks(isInstructed ? equipment.instructions : []);
  const system = [instructions, index, ...brought].filter((text) => text !== "").join("\n\n");
  const plain = {
    name,
    instructions: system,
    model,
    modelOptions,
    limits,
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
    tools: tools.map(toRecoveryFacts),
    ...middlewareNames(middleware),
    ...(fallbacks.length === 0 ? {} : { fallbacks }), // without any, the digest is that of the time before there were fallbacks
    ...(given.retry === undefined ? {} : { retry }),
    ...(knowledge === null ? {} : { knowledge }),
    ...(output === null ? {} : { output: output.schema, outputRepairs: output.repairs }),
  };
  const hasOwnModel = given.model !== undefined;
  const warnings = [
    ...(!hasOwnModel && Object.keys(modelOptions).length === 0 ? [NO_MODEL_NAMED] : []),
    ...(isInstructed ? equipment.warnings : []),
    ...servers.warnings,
  ];
  const agent = {
    ...plain,
    modelSource: hasOwnModel ? ("agent" as const) : ("built-in" as const),
    ...{ priceOf, policies: Object.freeze([]), fallbacks, retry, knowledge, output, tools, middleware, skills, missing },
    missingServers: Object.freeze(servers.missing),
    missingTools: equipment.missingTools,
    warnings,
    definition: Object.freeze({ ...given }),
  };
  return Object.freeze({ ...agent, digest: (hash: Hash) => digestJson(facts, hash), [AGENT]: true });
}

function readName(given: AgentDefinition): string {
  const name: unknown = given?.name; // plain JavaScript may call it with nothing
  if (!isName(name)) throw invalid("an agent", `\`name\` is ${JSON.stringify(name) ?? "missing"}`, `a name is ${NAME_RULE}`);
  const stray = findUnknownKey(given, FIELDS);
  if (stray !== null) throw invalid(`agent \`${name}\``, `there is no field \`${stray}\``, `the fields are ${FIELDS.join(", ")}`);
  return name;
}

function readBasics({ given, where }: Reading) {
  const { instructions, model = DEFAULT_MODEL } = given;
  if (typeof instructions !== "string" || instructions.trim() === "")
    throw invalid(where, "`instructions` is empty", "say what the agent is for");
  checkModelName(model, where);
  const limits = checkLimits(given.limits ?? {}, where);
  if ("kind" in limits) throw new FaultError(limits);
  return { instructions, model, limits: Object.freeze(limits) };
}

function readTools({ given, equipment, where }: Reading) {
  const { skills, missing } = resolveSkills(given.skills ?? [], equipment, where);
  const breaker = given.breaker === undefined ? DEFAULT_BREAKER : readBreaker(given.breaker);
  if (typeof breaker === "string") throw invalid(where, breaker, "each is a whole number of at least 1");
  const retry = readModelRetry(given.retry ?? {});
  if (typeof retry === "string") throw invalid(where, retry, "the guide's page on models has them all");
  const recover = readRecovery(given.recover, (detail) => invalid(where, detail, "the guide's page on recovery has them all"));
  const servers = resolveServers(given.mcp ?? [], equipment, where);
  const listed = addServerTools(listTools(given.tools ?? [], where), servers.tools, where);
  const own = withAgentRecovery(joinTools(listed, skills, where), recover, breaker, where);
  const loader = skills.length + missing.length === 0 ? [] : [skillLoader(skills)];
  return { skills, missing, servers, breaker, retry, tools: Object.freeze(sortTools([...own, ...loader])) };
}

function readModels({ given, equipment, where }: Reading, model: string, limits: Limits) {
  const others = readFallbacks(given.fallbacks ?? [], model, where);
  const priceOf = findPrices(given.prices ?? null, equipment.prices, [model, ...others], where);
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
  return { priceOf, prices, fallbacks, tokenizer, context };
}

function readDelegates({ given, where }: Reading, name: string) {
  const delegates = readNames(given.delegates ?? [], "delegates", where);
  if (delegates.includes(name)) throw invalid(where, "it names itself among its `delegates`", "an agent delegates to others");
  const { maxDepth = MAX_DEPTH } = given;
  if (!Number.isSafeInteger(maxDepth) || maxDepth < 1)
    throw invalid(where, `\`maxDepth\` is ${String(maxDepth)}`, "use a whole number of at least 1; without `delegates` there are none");
  return { delegates, maxDepth };
}

/** The digest covers names and order of middleware: code has no digest. Without any, the field is absent, as it was before there was middleware. */
const middlewareNames = (middleware: readonly Middleware[]) =>
  middleware.length === 0 ? {} : { middleware: middleware.map((m) => m.name) };

export const isAgent = (value: unknown): value is Agent => typeof value === "object" && value !== null && AGENT in value;

/** Sorted, each once: the same names have the same digest. */
function readNames(given: readonly string[], field: string, where: string): readonly string[] {
  const wrong = Array.isArray(given) ? given.find((one) => !isName(one)) : given;
  if (wrong !== undefined) throw invalid(where, `\`${field}\` holds ${JSON.stringify(wrong)}`, `list names of ${NAME_RULE}`);
  return Object.freeze([...new Set(given)].sort());
}

function readModelOptions(given: JsonObject, where: string): JsonObject {
  try {
    return copyFrozen(given);
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    throw invalid(where, `\`modelOptions\` is not plain JSON: ${detail}`, "use text, numbers, true, false, null, lists and objects");
  }
}

const invalid = (where: string, detail: string, hint: string): FaultError => new FaultError({ kind: "agent-invalid", where, detail, hint });
