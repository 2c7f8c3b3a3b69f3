import { expect, test } from "vitest";
import { type Check, checksOf, runChecks } from "./check.ts";

const run = (checks: readonly Check[]) => {
  const lines: string[] = [];
  return { clean: runChecks(checks, (line) => lines.push(line)), lines };
};

test("R-6 all checks run and print a line each, then the findings follow, and one finding fails the whole", () => {
  const { clean, lines } = run([
    ["first", () => [{ file: "a.ts", line: 7, message: "is wrong" }]],
    ["second", () => []],
    [
      "third",
      () => {
        throw new Error("broke");
      },
    ],
  ]);
  expect(clean).toBe(false);
  expect(lines.map((line) => line.replace(/\(.* s\)/, "(time)"))).toEqual([
    "FAIL first (time): 1",
    "ok   second (time)",
    "FAIL third (time): 1",
    "a.ts:7 is wrong",
    "scripts/check.ts:1 third: broke",
  ]);
});

test("R-6 nothing found is a success", () => {
  expect(run([["only", () => []]]).clean).toBe(true);
});

test("R-6 an empty folder passes no check by being empty of what it must have", () => {
  const names = checksOf("nowhere").map(([name]) => name);
  expect(new Set(names).size).toBe(names.length);
  expect(run(checksOf("nowhere")).lines.filter((line) => line.startsWith("FAIL"))).toHaveLength(names.length);
});
