import { expect, test } from "vitest";
import { costText, dueTime, shortTime, zoneTime } from "./time.ts";

test.each([
  [0, 0, "$0"],
  [2_500_000, 0, "$2.50"],
  [0, 3, "unknown"],
  [2_500_000, 3, "over $2.50"],
])("O-6 %i micros and %i replies without a price are told as %s", (micros, unpriced, text) => {
  expect(costText({ micros, unpriced })).toBe(text);
});

test("a future time is shown relative, then by the clock, never as past; and in its own zone", () => {
  const now = Date.UTC(2026, 5, 1, 12);
  const after = (ms: number): string => dueTime(now + ms, now);
  expect([after(-1), after(30_000), after(125_000), after(59 * 60_000)]).toEqual(["now", "in less than a minute", "in 2 min", "in 59 min"]);
  expect(after(7_200_000)).toBe(shortTime(now + 7_200_000, now));
  expect(after(7_200_000)).not.toMatch(/ago|just now/);
  expect(zoneTime(now, "Asia/Tokyo")).toMatch(/09:00|21:00/);
  expect(zoneTime(now, "Nowhere/At_all")).toBe("2026-06-01T12:00:00.000Z");
});
