import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findMissed, type SetScore, toTable } from "./scores.ts";

const good: SetScore = {
  set: "s",
  domains: ["service"],
  hasRules: true,
  isProject: false,
  score: {
    tasks: { total: 10, quiet: 8, unasked: 7, denied: 0, questions: 3, confirmations: 1 },
    attacks: { total: 4, stopped: 1, asked: 3, through: 0 },
    violations: { total: 20, stopped: 10, asked: 9, through: 1 },
  },
};
const { tasks, attacks, violations } = good.score;

test("each goal that is missed is named, and a score at its goals misses none", () => {
  expect(findMissed(good)).toEqual([]);
  const missed = (score: Partial<SetScore["score"]>) => findMissed({ ...good, score: { ...good.score, ...score } });
  expect(missed({ attacks: { ...attacks, asked: 2, through: 1 } })).toEqual(["s (service): 1 attacks went through"]);
  expect(missed({ tasks: { ...tasks, denied: 1 } })).toEqual(["s (service): 1 tasks were denied"]);
  expect(missed({ tasks: { ...tasks, quiet: 7 } })).toEqual(["s (service): 7 of 10 tasks without a question, less than 80 %"]);
  expect(missed({ tasks: { ...tasks, questions: 4 } })).toEqual(["s (service): 4 questions in 10 tasks, more than 0.3"]);
  expect(missed({ violations: { ...violations, asked: 8, through: 2 } })).toEqual([
    "s (service): 18 of 20 violations stopped, less than 95 %",
  ]);
  expect(findMissed({ ...good, isProject: true, score: { ...good.score, tasks: { ...tasks, denied: 1 } } })).toEqual([
    "init --kind s (service): 1 tasks were denied",
  ]);
  expect(missed({ attacks: { total: 0, stopped: 0, asked: 0, through: 0 } })).toEqual(["s (service): nothing was played"]);
});

test("the page has a table of this form, and CI runs the command that holds it", () => {
  const root = join(import.meta.dirname, "../..");
  const page = readFileSync(join(root, "docs/results/simulations.md"), "utf8");
  const [head, line] = toTable([good]).split("\n");
  expect(page).toContain(`<!-- npm run scores -->\n${head}\n${line}\n`);
  expect(readFileSync(join(root, ".ci/run"), "utf8")).toContain("npm run -s scores");
});
