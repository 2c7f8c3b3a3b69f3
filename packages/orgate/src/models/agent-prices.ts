import type { Prices } from "@orgate/core";

export type PriceList = Readonly<Record<string, Prices>>;

/** The agent's prices, then the project's for models that the agent does not price; null if neither has any. */
export function findAgentPrices(
  models: readonly string[],
  own: PriceList | Prices | undefined,
  project: PriceList,
): PriceList | Prices | null {
  const known = models.flatMap((model) => (Object.hasOwn(project, model) ? [[model, project[model] as Prices] as const] : []));
  if (known.length === 0) return own ?? null;
  const [first = ""] = models;
  const said: PriceList = own === undefined ? {} : isOne(own) ? { [first]: own } : own;
  return { ...Object.fromEntries(known), ...said };
}
const isOne = (prices: Prices | PriceList): prices is Prices => typeof prices["input"] === "number";
