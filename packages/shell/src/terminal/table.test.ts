import { expect, test } from "vitest";
import { coloured, paintFor, plain } from "./paint.ts";
import { ageText, count, duration, table } from "./table.ts";

test("columns line up, whatever the cells hold", () => {
  const rows = [
    ["日本", { text: "a\nb", tone: "good" }],
    ["x", "c"],
  ] as const;
  expect(table(["name", "it"], rows, plain)).toEqual(["name  it", "日本  a\\nb", "x     c"]);
});

test("V-2 colour is for terminals, and NO_COLOR is obeyed", () => {
  const shows = (isTerminal: boolean, env: Record<string, string>) => paintFor(isTerminal, env)("bad", "x") !== "x";
  expect(shows(true, {})).toBe(true);
  expect(shows(false, {})).toBe(false);
  expect(shows(true, { NO_COLOR: "1" })).toBe(false);
  expect(shows(true, { TERM: "dumb" })).toBe(false);
  expect(shows(false, { FORCE_COLOR: "1" })).toBe(true);
  expect(shows(false, { FORCE_COLOR: "1", NO_COLOR: "1" })).toBe(false);
  expect(coloured("good", "")).toBe("");
});

test("times and counts read like words", () => {
  expect([500, 59_999, 61_000, 7_300_000, 200_000_000].map(ageText)).toEqual(["0 s", "59 s", "1 min", "2 h", "2 d"]);
  expect([duration(12), duration(1_250)]).toEqual(["12 ms", "1.3 s"]);
  expect([count(1, "entry", "entries"), count(2, "entry", "entries")]).toEqual(["1 entry", "2 entries"]);
});
