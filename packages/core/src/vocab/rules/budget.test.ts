import fc from "fast-check";
import { expect, test } from "vitest";
import { computeCost, maxCost, type Prices } from "./budget.ts";

const usage = (input: number, output: number, cached = 0, cacheWrite = 0) => ({ input, output, cached, cacheWrite, reasoning: 0 });

test("M-18 what was read from the cache, and what was put there, costs what is asked for that", () => {
  const prices = { input: 3, output: 15, cachedInput: 0.3, cacheWrite: 3.75 };
  expect(computeCost(prices, usage(1_000, 10))).toBe(3_150);
  expect(computeCost(prices, usage(1_000, 10, 800))).toBe(200 * 3 + 240 + 150);
  expect(computeCost(prices, usage(1_000, 10, 0, 400))).toBe(600 * 3 + 1_500 + 150);
  expect(computeCost(prices, usage(1_000, 10, 800, 100))).toBe(300 + 240 + 375 + 150);
  expect(computeCost({ input: 3, output: 15 }, usage(1_000, 10, 800, 100))).toBe(3_150); // no price of their own
  expect(computeCost(prices, usage(100, 0, 300, 300))).toBe(30); // a part is no more than the whole
  expect(computeCost(null, usage(1, 1, 1))).toBeNull();
});

test("M-18 B-1 what is set aside is never less than what is paid, whatever the cache does", () => {
  const price = fc.double({ min: 0, max: 100, noNaN: true });
  const prices: fc.Arbitrary<Prices> = fc.record(
    { input: price, output: price, cachedInput: price, cacheWrite: price },
    { requiredKeys: ["input", "output"] },
  );
  const tokens = fc.nat(1_000_000);
  fc.assert(
    fc.property(prices, tokens, tokens, tokens, tokens, (p, input, output, cached, write) => {
      expect(computeCost(p, usage(input, output, cached, write)) ?? 0).toBeLessThanOrEqual((maxCost(p, usage(input, output)) ?? 0) + 1e-6);
    }),
  );
});
