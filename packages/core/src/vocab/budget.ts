/** What a turn may use, and what of it is set aside. Money is counted in micros: millionths of the currency that prices are given in, whole numbers. */
import type { Usage } from "./proposal.ts";

/** Per million tokens, in whole currency: 3 means 3.00 for a million, which is 3 micros for one. */
export type Prices = Readonly<{ input: number; output: number }>;

/** Set aside for a delegate or a tool before it starts; what it really used is settled when it ends. `micros` is null where no price is known. */
export type Allotment = Readonly<{ iterations: number; tokens: number; micros: number | null; calls: number; ms: number }>;
export const NOTHING_ALLOTTED: Allotment = Object.freeze({ iterations: 0, tokens: 0, micros: 0, calls: 0, ms: 0 });

/** Rounded up, so that what is set aside is never less than what is paid. Unknown price, unknown cost: never zero. */
export const costOf = (prices: Prices | null, usage: Usage): number | null =>
  prices === null ? null : Math.ceil(usage.input * prices.input + usage.output * prices.output);
export const MICROS_PER_CENT = 10_000;
