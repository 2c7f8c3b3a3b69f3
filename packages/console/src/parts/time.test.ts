import { expect, test } from "vitest";
import { costText, shortTime } from "./time.ts";

test.each([
  [0, 0, "$0"],
  [2_500_000, 0, "$2.50"],
  [0, 3, "unknown"],
  [2_500_000, 3, "over $2.50"],
])("O63 %i micros and %i replies without a price are told as %s", (micros, unpriced, text) => {
  expect(costText({ micros, unpriced })).toBe(text);
});

test.each([
  [-10_000, "just now"],
  [-90_000, "2 min ago"],
  [5_000, "just now"],
  [30_000, "in 1 min"],
  [20 * 60_000, "in 20 min"],
])("O86 what lies %i ms from now is told as %s", (ms, text) => {
  const now = new Date(2026, 5, 1, 12).getTime();
  expect(shortTime(now + ms, now)).toBe(text);
});

test("O86 what lies hours ahead is told by its clock, with its day when it is another", () => {
  const now = new Date(2026, 5, 1, 12).getTime();
  const told = [2, 30].map((hours) => shortTime(now + hours * 3_600_000, now));
  expect(told.some((text) => /ago|now/.test(text))).toBe(false);
  expect(told[1]?.length).toBeGreaterThan(told[0]?.length ?? 0);
});
