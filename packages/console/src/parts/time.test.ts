import { expect, test } from "vitest";
import { costText } from "./time.ts";

test.each([
  [0, 0, "$0"],
  [2_500_000, 0, "$2.50"],
  [0, 3, "unknown"],
  [2_500_000, 3, "over $2.50"],
])("O63 %i micros and %i replies without a price are told as %s", (micros, unpriced, text) => {
  expect(costText({ micros, unpriced })).toBe(text);
});
