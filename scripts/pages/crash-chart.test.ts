import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { crashChart, scores } from "./crash-chart.ts";

const root = join(import.meta.dirname, "../..");

test("README's chart is drawn from the crash results on record", () => {
  const rows = JSON.parse(readFileSync(join(root, "docs/benchmarks/crash.json"), "utf8"));
  expect(readFileSync(join(root, "docs/assets/crash.svg"), "utf8")).toBe(crashChart(rows));
  expect(readFileSync(join(root, "README.md"), "utf8")).toContain("(docs/assets/crash.svg)");
});

test("a lost run, a doubled effect and a repeated model call each spoil a case", () => {
  const row = { peer: "x", lost: false, effectsDoubled: 0, callsRepeated: 0 };
  const rows = [row, { ...row, lost: true }, { ...row, effectsDoubled: 1 }, { ...row, callsRepeated: 1 }];
  expect(scores(rows)).toEqual([{ peer: "x", cases: 4, clean: 1 }]);
});
