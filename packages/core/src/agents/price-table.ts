/**
 * What models cost, as their makers or whoever quotes them said on a day: currency is the US dollar, per million tokens. An agent's `prices` come first.
 * M80 Only what was found is here, and only models with one price whatever the request's length; what is not here has no price, and never the price zero.
 * Prices change: look at `on` and `source` before you trust one with money.
 */
import type { Prices } from "../vocab/index.ts";

export type TablePrice = Readonly<{
  prices: Prices;
  /** The day it was looked up, or the one its source gives. */
  on: string;
  source: string;
}>;

const entry = (input: number, output: number, on: string, source: string): TablePrice =>
  Object.freeze({ prices: Object.freeze({ input, output }), on, source });

const ANTHROPIC = "the model's page of the Claude platform documentation (models/…/overview)";
const CRATE = "the crate openai-models, quoting openai.com/api/pricing";

const gpt5 = entry(1.25, 10, "2026-06-30", "the crate openai-cost, quoting openai.com/api/pricing of the second quarter of 2026");
const gpt4o = entry(2.5, 10, "2026-11-15", CRATE);
const gpt4oMini = entry(0.15, 0.6, "2026-11-15", CRATE);

export const PRICE_TABLE: Readonly<Record<string, TablePrice>> = Object.freeze({
  "anthropic/claude-opus-5": entry(5, 25, "2026-11-15", ANTHROPIC),
  "anthropic/claude-sonnet-5": entry(2, 10, "2026-11-15", ANTHROPIC),
  "anthropic/claude-haiku-4-5-20251001": entry(1, 5, "2026-11-15", ANTHROPIC),
  "anthropic/claude-sonnet-4-5-20250929": entry(3, 15, "2026-11-15", ANTHROPIC),
  "openai/gpt-5": gpt5,
  "openai-chat/gpt-5": gpt5,
  "openai/gpt-4o": gpt4o,
  "openai-chat/gpt-4o": gpt4o,
  "openai/gpt-4o-mini": gpt4oMini,
  "openai-chat/gpt-4o-mini": gpt4oMini,
});
