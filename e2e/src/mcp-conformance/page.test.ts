import { expect, test } from "vitest";
import { NOT_DONE, pageOf, type Result, revisionsOf, surprises } from "./page.ts";

const result = (scenario: string, overall: Result["overall"]): Result => ({
  scenario,
  revision: "2025-11-25",
  required: overall === "passed",
  passed: 1,
  failed: overall === "passed" ? 0 : 2,
  overall,
});
const known = Object.keys(NOT_DONE).map((scenario) => result(scenario, "failed"));

test("T-38 what fails without a reason, and what passes with one, are surprises", () => {
  expect(surprises([result("a", "passed"), ...known])).toEqual([]);
  expect(surprises([result("a", "failed"), ...known])).toEqual(["a fails, and nothing says why"]);
  expect(surprises(known.map((r, i) => (i === 0 ? { ...r, overall: "passed" } : r)))).toHaveLength(1);
  expect(surprises([])).toHaveLength(known.length);
});

test("T-38 the page names every scenario, and every reason", () => {
  const page = pageOf([result("a", "passed"), ...known], "suite@1", "2026-01-01");
  expect(page).toContain(`1 of ${known.length + 1} runs pass`);
  expect(page).toContain("1 of 1 of those that 2025-11-25 requires");
  for (const [scenario, reason] of Object.entries(NOT_DONE)) expect(page).toContain(`- **${scenario}**: ${reason}`);
});

test("T-38 a scenario is run at each of the newest revisions that know it, else at the last that does", () => {
  expect(revisionsOf(["2025-06-18", "2025-11-25", "2026-07-28"])).toEqual(["2025-11-25", "2026-07-28"]);
  expect(revisionsOf(["2025-03-26"])).toEqual(["2025-03-26"]);
  expect(revisionsOf(["extension"])).toEqual(["extension"]);
});
