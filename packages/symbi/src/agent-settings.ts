/** Settings of a `.symbi` file under the names that `defineAgent` knows. */
import type { AgentDefinition } from "@orgate/core";
import type { Limits } from "@orgate/core/vocab";
import type { AgentBlock } from "./tree.ts";
import type { Values } from "./values.ts";

export type Memory = Readonly<{ at: number; settings: Readonly<Record<string, unknown>> }>;

/** The block's settings, those that are usual, or none at all. */
export function readKnowledge(values: Values, memory: Memory | null): Pick<AgentDefinition, "knowledge"> {
  const said = values.get("memory")?.value ?? null;
  if (said === "none" || said === "ephemeral" || (memory === null && said === null)) return {};
  // checked by `defineAgent`, like any agent's
  return {
    knowledge:
      memory === null || Object.keys(memory.settings).length === 0 ? true : (memory.settings as AgentDefinition["knowledge"] & object),
  };
}

const LIMITS: Readonly<Record<string, keyof Limits>> = {
  timeout: "turnMs",
  tool_timeout: "toolMs",
  budget: "cents",
  iterations: "iterations",
  tokens: "tokens",
  calls: "calls",
  context_tokens: "contextTokens",
  output_tokens: "outputTokens",
  tools_at_once: "toolsAtOnce",
  refused_in_a_row: "refusedInARow",
  observation_chars: "observationChars",
  temperature: "temperature",
};
/** Handed on as they are: `defineAgent` checks them as it checks everybody's. */
const SETTINGS: Readonly<Record<string, keyof AgentDefinition>> = {
  model: "model",
  fallbacks: "fallbacks",
  model_options: "modelOptions",
  project_instructions: "projectInstructions",
  output_repairs: "outputRepairs",
  groups: "groups",
  max_depth: "maxDepth",
  recover: "recover",
  retry: "retry",
  breaker: "breaker",
  prices: "prices",
  tokenizer: "tokenizer",
  context: "context",
};

export const KNOWLEDGE: Readonly<Record<string, string>> = {
  scope: "scope",
  store: "store",
  max_items: "maxItems",
  max_tokens: "maxTokens",
  threshold: "threshold",
  keep_learnings: "keepLearnings",
};

export const renameKeys = (values: Values, names: Readonly<Record<string, string>>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(names).flatMap(([key, name]) => (values.has(key) ? [[name, values.get(key)?.value]] : [])));

// `defineAgent` checks these values; nothing is taken on trust
export const readSettings = (values: Values): Partial<AgentDefinition> => renameKeys(values, SETTINGS) as Partial<AgentDefinition>;
export const readLimits = (values: Values): Partial<Limits> => renameKeys(values, LIMITS) as Partial<Limits>;

export function placeSettings(block: AgentBlock, values: Values): ReadonlyMap<string, number> {
  const places = new Map<string, number>([["name", block.name.at]]);
  for (const [key, { at }] of values) places.set(LIMITS[key] ?? SETTINGS[key] ?? key, at);
  places.set("knowledge", values.get("memory")?.at ?? block.name.at);
  if (block.returns !== null) places.set("output", block.returns.at);
  const listed = block.members.find((member) => member.kind === "capabilities");
  for (const name of ["skills", "mcp", "delegates", "tools"]) places.set(name, listed?.at ?? block.name.at);
  return places;
}
