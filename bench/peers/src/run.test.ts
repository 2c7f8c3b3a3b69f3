import { expect, test } from "vitest";
import type { Results, Sample } from "./results.ts";
import { leftOf, takenUp, tasksOf } from "./run.ts";

const options = { samples: 3, only: ["W1"], peers: ["orgate", "pi", "ai-sdk"], quick: false } as const;
const tasks = tasksOf(options);
const done = (failures: readonly string[] = []): readonly Sample[] =>
  tasks.slice(0, 6).map((task) => ({ ...task, told: [], failure: failures.includes(task.variant) ? "over 120 s" : null, seconds: 1 }));

test("in a round everybody has a turn before anybody has a second, and another begins each round", () => {
  const rounds = [0, 1, 2].map((round) => tasks.filter((task) => task.round === round).map(({ variant }) => variant));
  expect(rounds[0]).toEqual(["orgate", "orgate-whole", "pi", "ai-sdk"]);
  for (const round of rounds) expect(round.toSorted()).toEqual(rounds[0]?.toSorted());
  expect(new Set(rounds.map(([first]) => first)).size).toBe(3);
  expect(tasks.map(({ round }) => round)).toEqual(tasks.map(({ round }) => round).toSorted());
});

test("the mid-run check is made once for each store", () => {
  const checks = tasksOf({ ...options, only: ["W2"] }).filter(({ mid }) => mid);
  expect(checks.map(({ variant }) => variant)).toEqual(["orgate-sqlite", "pi-session"]);
});

test("what a run has left is what it has no sample of, and what failed", () => {
  expect(leftOf(tasks, { samples: [] })).toEqual(tasks);
  expect(leftOf(tasks, { samples: done() })).toEqual(tasks.slice(6));
  expect(leftOf(tasks, { samples: done(["pi"]) }).map(({ variant }) => variant)).toContain("pi");
});

test("a run is taken up only where it would measure the same", () => {
  const results: Results = {
    format: 1,
    complete: false,
    quick: false,
    date: "2026-01-01",
    rounds: 5,
    machine: { cpu: "a processor", cores: 2, memoryGb: 8, system: "Linux", node: "v24" },
    load: { first: 0, most: 1 },
    versions: {},
    digest: "one",
    sizes: [],
    samples: done(["pi"]),
  };
  expect(takenUp(results, results).samples.every(({ variant }) => variant !== "pi")).toBe(true);
  expect(() => takenUp(results, { ...results, digest: "other" })).toThrow("run without --resume");
  expect(() => takenUp(results, { ...results, quick: true })).toThrow("run without --resume");
});
