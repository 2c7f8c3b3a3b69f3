/** Models of an agent, in the order in which they are asked, and what each costs. */
import { type Fault, FaultError, type Limits, type Prices } from "../vocab/index.ts";
import type { Agent, AgentDefinition } from "./agent.ts";
import { isModelName } from "./model-name.ts";
import { tablePrice } from "./price-table.ts";
import type { ProjectResources } from "./skills/agent-skills.ts";
import { findUnknownKey } from "./unknown-key.ts";

export function readFallbacks(given: readonly string[], model: string, where: string): readonly string[] {
  if (!Array.isArray(given)) throw invalid(where, "`fallbacks` is no list", "list models, each `provider/name`");
  const wrong = given.find((one) => !isModelName(one));
  if (wrong !== undefined) throw invalid(where, `\`fallbacks\` holds ${JSON.stringify(wrong)}`, "name each `provider/name`");
  const all = [model, ...given];
  const twice = all.find((one, i) => all.indexOf(one) !== i);
  if (twice !== undefined) throw invalid(where, `\`${twice}\` is asked twice`, "name each model once, the first as `model`");
  return given;
}

/** M-18 the agent's own price comes first, then the project's, then the table of this version; a price that none of them has is unknown (null), never zero. */
export function findPrices(
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

/** M-18 Orgate asks Anthropic to write its cache, which costs a quarter more: without this a run would cost more than is counted. */
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

/** Money can be limited only where prices are known. Also checked when a run brings its own limits. */
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

const invalid = (where: string, detail: string, hint: string): FaultError => new FaultError({ kind: "agent-invalid", where, detail, hint });
