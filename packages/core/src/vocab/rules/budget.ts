/** Budgets of a turn, and reservations against them. Money is counted in micros: millionths of the currency that prices are given in, whole numbers. */
import type { Usage } from "../proposal.ts";

/**
 * Per million tokens, in whole currency: 3 means 3.00 for a million, which is 3 micros for one. `cachedInput` is for input that the provider read from
 * its cache, `cacheWrite` for input that it put there; left out, both cost what other input does.
 */
export type Prices = Readonly<{ input: number; output: number; cachedInput?: number; cacheWrite?: number }>;
/** Usage of a request; `cacheWrite` is the part of `input` that went into the provider's cache. */
export type BilledUsage = Usage & Readonly<{ cacheWrite?: number }>;

/** Reserved for a delegate or a tool before it starts; its real use is settled when it ends. `micros` is null where no price is known. */
export type Reservation = Readonly<{ iterations: number; tokens: number; micros: number | null; calls: number; ms: number }>;
export const NO_RESERVATION: Reservation = Object.freeze({ iterations: 0, tokens: 0, micros: 0, calls: 0, ms: 0 });

/** M-18 each part of the input at its own price. Rounded up, so that a reservation is never less than the bill. Unknown price, unknown cost: never zero. */
export function computeCost(prices: Prices | null, { input, output, cached, cacheWrite = 0 }: BilledUsage): number | null {
  if (prices === null) return null;
  const read = Math.min(cached, input);
  const written = Math.min(cacheWrite, input - read);
  const fresh = input - read - written;
  const { cachedInput = prices.input, cacheWrite: writing = prices.input } = prices;
  return Math.ceil(fresh * prices.input + read * cachedInput + written * writing + output * prices.output);
}

/** Highest possible price of input, whatever the provider's cache does with it: reservations use it. */
export const highestInputPrice = ({ input, cachedInput = 0, cacheWrite = 0 }: Prices): number => Math.max(input, cachedInput, cacheWrite);
export const maxCost = (prices: Prices | null, usage: Usage): number | null =>
  prices === null ? null : Math.ceil(usage.input * highestInputPrice(prices) + usage.output * prices.output);
export const MICROS_PER_CENT = 10_000;
