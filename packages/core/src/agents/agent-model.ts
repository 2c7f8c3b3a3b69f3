/**
 * The model that an agent runs on, and its source: the definition, a default of the project, a choice for one session, or the built-in default.
 *
 * M-19 The model of a session can be chosen by name for that session: it wins over the definition.
 */
import { chooseTokenizer, copyFrozen, digestJson, type Fallback, FaultError, type Hash, type JsonObject } from "../vocab/index.ts";
import type { Agent, ModelSource } from "./agent.ts";
import { refuseUnpricedLimit } from "./agent-prices.ts";
import { checkModelName, NO_MODEL_NAMED } from "./model-name.ts";

/** Who named the model, in lists. */
export const MODEL_SOURCES: Readonly<Record<ModelSource, string>> = {
  agent: "its own",
  project: "project default",
  session: "chosen for the session",
  "built-in": "built in",
};
/** Where to change it. */
export const MODEL_SETTINGS: Readonly<Record<ModelSource, string>> = {
  agent: "the agent itself names it",
  project: "it is the project's default: `[models] default` in orgate.toml, or `defaultModel` of `createRuntime`",
  session: "it was chosen for this session by name: `--model` of `orgate run` chooses another",
  "built-in": "neither the agent nor the project names one: `[models] default` in orgate.toml does for all agents",
};

/** Puts an agent that names no model on this one. */
export const withDefaultModel = (agent: Agent, model: string | null): Agent =>
  model === null || agent.modelSource !== "built-in" ? agent : onAnotherModel(agent, model, "project");

/** The agent as a session runs it for which this model was chosen; null: nothing was chosen. One that it names already is asked as it is named. */
export const withChosenModel = (agent: Agent, model: string | null): Agent =>
  model === null || model === agent.model || agent.fallbacks.some((one) => one.model === model)
    ? agent
    : onAnotherModel(agent, model, "session");

/** The fallbacks stay. Prices, tokenizer and options are those of the other model: a reservation at another model's price would be wrong. */
function onAnotherModel(agent: Agent, model: string, modelSource: ModelSource): Agent {
  const where = `agent \`${agent.name}\``;
  checkModelName(model, where);
  const prices = agent.priceOf(model);
  const fallbacks: readonly Fallback[] = Object.freeze(agent.fallbacks.filter((one) => one.model !== model));
  const tokenizer = agent.definition.tokenizer ?? chooseTokenizer(model);
  const modelOptions = optionsOn(agent, model);
  const unpriced = refuseUnpricedLimit(agent.limits, { model, prices, fallbacks, context: agent.context }, where);
  if (unpriced !== null) throw new FaultError(unpriced);
  const facts = { model, prices, fallbacks, tokenizer, modelOptions };
  const digest = (hash: Hash) => digestJson({ agent: agent.digest(hash), ...facts }, hash);
  return Object.freeze({ ...agent, ...facts, modelSource, warnings: agent.warnings.filter((text) => text !== NO_MODEL_NAMED), digest });
}

/**
 * Options are for one provider. Those of an agent that names no model are for whichever answers: the offline model's own are read by it alone. They are taken
 * from the definition: the agent may already be on a default that has left some out (M-19).
 */
function optionsOn({ definition, model: own, modelOptions }: Agent, model: string): JsonObject {
  if (definition.model !== undefined) return providerOf(own) === providerOf(model) ? modelOptions : {};
  const isOffline = providerOf(model) === "offline";
  const fitting = Object.entries(copyFrozen(definition.modelOptions ?? {})).filter(
    ([name]) => OFFLINE_OPTIONS.includes(name) === isOffline,
  );
  return Object.freeze(Object.fromEntries(fitting));
}
const providerOf = (model: string): string => model.split("/")[0] ?? "";

/** Fields of `modelOptions` that only the offline model reads. */
export const OFFLINE_OPTIONS: readonly string[] = ["rules", "author", "delayMs", "log"];
