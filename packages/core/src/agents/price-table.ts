/**
 * Model prices as their makers or resellers published them on a given day: US dollars per million tokens. An agent's `prices` come first.
 * M-18 Only prices that were found are here, and only of models with one price whatever the request's length; an unlisted model has no price, never the price zero; the offline model's is zero.
 * Prices change: check `on` and `source` before you trust one with money. A cached price that was not found is left out: such input counts in full.
 */
import type { Prices } from "../vocab/index.ts";

export type TablePrice = Readonly<{
  prices: Prices;
  /** The day it was looked up, or the one its source gives. */
  on: string;
  source: string;
}>;

const entry = (prices: Prices, on: string, source: string): TablePrice => Object.freeze({ prices: Object.freeze(prices), on, source });

// ── Anthropic: input, output, read from the cache, put into it for five minutes (the only kind that is asked for here) ──

const CLAUDE = "Anthropic's price page (platform.claude.com, about-claude/pricing) and the models' own pages";
const claude = (input: number, output: number, cachedInput: number, cacheWrite: number): TablePrice =>
  entry({ input, output, cachedInput, cacheWrite }, "2026-11-15", CLAUDE);
const opus5 = claude(5, 25, 0.5, 6.25);
const sonnet5 = claude(2, 10, 0.2, 2.5);
const sonnet4 = claude(3, 15, 0.3, 3.75);
const haiku45 = claude(1, 5, 0.1, 1.25);

const ANTHROPIC: Readonly<Record<string, TablePrice>> = {
  "claude-opus-5": opus5,
  "claude-opus-4-8": opus5,
  "claude-opus-4-7": opus5,
  "claude-opus-4-6": opus5,
  "claude-opus-4-5": opus5,
  "claude-sonnet-5-5": sonnet5,
  "claude-sonnet-5": sonnet5,
  "claude-sonnet-4-6": sonnet4,
  "claude-sonnet-4-5": sonnet4,
  "claude-sonnet-4-5-20250929": sonnet4,
  "claude-haiku-4-5": haiku45,
  "claude-haiku-4-5-20251001": haiku45,
};

// ── OpenAI: nothing is paid for what is put into the cache of these ──

const GITHUB = "GitHub's table of model prices (github/docs, copilot/models-and-pricing), which are the makers' own";
const HEX = "the package openai_responses 0.4.1, quoting platform.openai.com/docs/pricing of 2025-06-03";

const OPENAI: Readonly<Record<string, TablePrice>> = {
  "gpt-5.4-mini": entry({ input: 0.75, output: 4.5, cachedInput: 0.075 }, "2026-11-15", GITHUB),
  "gpt-5.4-nano": entry({ input: 0.2, output: 1.25, cachedInput: 0.02 }, "2026-11-15", GITHUB),
  "gpt-5.3-codex": entry({ input: 1.75, output: 14, cachedInput: 0.175 }, "2026-11-15", GITHUB),
  "gpt-5": entry(
    { input: 1.25, output: 10 },
    "2026-06-30",
    "the crate openai-cost, quoting openai.com/api/pricing of the second quarter of 2026",
  ),
  "gpt-5-mini": entry({ input: 0.25, output: 2, cachedInput: 0.025 }, "2026-11-15", GITHUB),
  "gpt-4.1": entry({ input: 2, output: 8, cachedInput: 0.5 }, "2025-06-03", HEX),
  "gpt-4.1-mini": entry({ input: 0.4, output: 1.6, cachedInput: 0.1 }, "2025-06-03", HEX),
  "gpt-4.1-nano": entry({ input: 0.1, output: 0.4, cachedInput: 0.025 }, "2025-06-03", HEX),
  "gpt-4o": entry({ input: 2.5, output: 10, cachedInput: 1.25 }, "2025-06-03", HEX),
  "gpt-4o-mini": entry(
    { input: 0.15, output: 0.6, cachedInput: 0.075 },
    "2026-11-15",
    "the crate openai-models 0.1.1, quoting openai.com/api/pricing",
  ),
};

// ── Google: the price of text and pictures; thinking counts as output ──

const GOOGLE_PAGE = "morphllm.com and geotoolbox.ai of July 2026, both quoting Google's price page (ai.google.dev/gemini-api/docs/pricing)";
const GOOGLE: Readonly<Record<string, TablePrice>> = {
  "gemini-3.5-flash": entry({ input: 1.5, output: 9, cachedInput: 0.15 }, "2026-11-15", GITHUB),
  "gemini-3.1-flash-lite": entry({ input: 0.25, output: 1.5 }, "2026-07-31", GOOGLE_PAGE),
  "gemini-2.5-flash": entry({ input: 0.3, output: 2.5 }, "2026-07-31", GOOGLE_PAGE),
  "gemini-2.5-flash-lite": entry({ input: 0.1, output: 0.4 }, "2026-07-31", GOOGLE_PAGE),
};

const under = (provider: string, models: Readonly<Record<string, TablePrice>>): Readonly<Record<string, TablePrice>> =>
  Object.fromEntries(Object.entries(models).map(([name, one]) => [`${provider}/${name}`, one]));

export const PRICE_TABLE: Readonly<Record<string, TablePrice>> = Object.freeze({
  ...under("anthropic", ANTHROPIC),
  ...under("openai", OPENAI),
  ...under("openai-chat", OPENAI),
  ...under("google", GOOGLE),
});

/**
 * M-18 OpenRouter passes on what the maker charges, and names the models a little otherwise: `anthropic/claude-sonnet-4.5` is `claude-sonnet-4-5`. A name with
 * a variant (`:free`, `:nitro`, …) has another price, which nobody here knows.
 */
/** M-2 it runs in this process: it is free, and that is known. */
const OFFLINE = entry({ input: 0, output: 0 }, "2026-11-16", "this package: the offline model runs in the same process");

export function tablePrice(model: string): TablePrice | null {
  const own = Object.hasOwn(PRICE_TABLE, model) ? PRICE_TABLE[model] : undefined;
  if (own !== undefined) return own;
  if (model.startsWith("offline/")) return OFFLINE;
  const routed = /^openrouter\/(anthropic|openai|google)\/([^:]+)$/.exec(model);
  if (routed === null) return null;
  const [, maker = "", name = ""] = routed;
  const known = `${maker}/${maker === "anthropic" ? name.replaceAll(".", "-") : name}`;
  return Object.hasOwn(PRICE_TABLE, known) ? (PRICE_TABLE[known] ?? null) : null;
}
