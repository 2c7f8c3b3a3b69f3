import { expect, test } from "vitest";
import { OURS } from "./catalogue.ts";
import { aimsOf, winsOf } from "./compare.ts";
import type { CrashRow } from "./crash-row.ts";
import { pageOf } from "./page.ts";
import type { WorkloadId } from "./plan.ts";
import { spaced } from "./plot.ts";
import { type Figures, growthOf, type Results, ratioAt, type Sample, spreadOf } from "./results.ts";

const FIGURES: Figures = { units: 100, cpuUs: 100, wallUs: 100, written: 100, disk: 100, rssBefore: 1_000, rssPeak: 2_000 };

function sample(workload: WorkloadId, variant: string, figures: Partial<Figures>, { n = 100, round = 0 } = {}): Sample {
  const what = workload === "W4" ? "start" : "loop";
  const told = [{ kind: "figures", what, n, policies: 1, ...FIGURES, ...figures }] as const;
  return { workload, variant, round, mid: false, told, failure: null, seconds: 1 };
}

const resultsOf = (samples: readonly Sample[]): Results => ({
  format: 1,
  complete: true,
  quick: false,
  date: "2026-01-01",
  rounds: 5,
  machine: { cpu: "a processor", cores: 2, memoryGb: 8, system: "Linux", node: "v24" },
  load: { first: 0, most: 1 },
  versions: {},
  digest: "none",
  sizes: [],
  samples,
});

const row = (peer: string, more: Partial<CrashRow> = {}): CrashRow => ({
  peer,
  version: "1",
  case: "tool",
  workload: "W5",
  lost: false,
  effectsDoubled: 0,
  callsRepeated: 0,
  note: "",
  runs: 3,
  ...more,
});

test("X-1 each figure in which a peer is below Orgate is listed, whatever it is; equal ones, floors and Orgate's own variants are not", () => {
  const wins = winsOf(
    resultsOf([
      sample("W2", OURS.W2, {}),
      sample("W2", "langgraph-sqlite", { cpuUs: 500, disk: 50 }),
      sample("W2", "pi-session", { written: 99 }),
      sample("W2", "floor-inserts", { cpuUs: 1, wallUs: 1, written: 1, disk: 1 }),
      sample("W1", OURS.W1, {}),
      sample("W1", "orgate-whole", { cpuUs: 1 }),
      sample("W1", "pi", { cpuUs: 25 }),
    ]),
    [],
  );
  expect(wins.map(({ where, metric, peer, times }) => [where, metric, peer, Math.round(times * 10) / 10])).toEqual([
    ["W1, N=100", "CPU per iteration", "pi-agent-core", 4],
    ["W2, N=100", "bytes written per iteration", "pi AgentHarness, JSONL session", 1],
    ["W2, N=100", "bytes on disk per iteration", "LangGraph, SqliteSaver (default)", 2],
  ]);
});

test("X-1 a win within the spread says so, and one in a crash counts too", () => {
  const rounds = [90, 100, 110].map((cpuUs, round) => sample("W1", OURS.W1, { cpuUs }, { round }));
  const near = [95, 99, 120].map((cpuUs, round) => sample("W1", "pi", { cpuUs }, { round }));
  expect(winsOf(resultsOf([...rounds, ...near]), []).find(({ metric }) => metric.startsWith("CPU"))?.clear).toBe(false);
  const crashes = [row("Orgate", { effectsDoubled: 1 }), row("eve", { effectsDoubled: 0, callsRepeated: 1 })];
  expect(winsOf(resultsOf([]), crashes)).toMatchObject([{ where: "W5, tool", metric: "effects doubled", peer: "eve" }]);
});

test("X-1 the page lists them, says what failed and never calls an aim met that was not measured", () => {
  const broken: Sample = { ...sample("W1", "mastra", {}), told: [], failure: "not the same work: 3 effects, not 10" };
  const results = resultsOf([sample("W1", OURS.W1, {}), sample("W1", "pi", { cpuUs: 25 }), sample("W1", "ai-sdk", { cpuUs: 25 }), broken]);
  const page = pageOf(results, [row("Orgate"), row("eve", { lost: true, note: "a | b" })]);
  const text = page["README.md"] ?? "";
  expect(text).toContain("| W1, N=100 | CPU per iteration | pi-agent-core | 25 µs | 100 µs | 4× | decides and records nothing |");
  expect(text).toContain("not the same work: 3 effects, not 10");
  expect(text).toContain("a \\| b");
  expect(page["w1-cpu.svg"]).toMatch(/^<svg .*<\/svg>\n$/s);
  expect(aimsOf(results, []).filter(({ met }) => met === null).length).toBeGreaterThan(5);
  const [few, some] = aimsOf(results, []);
  expect(few).toMatchObject({ got: "not measured", met: null });
  expect(some).toMatchObject({ what: "W1, gated, CPU at 100 against the AI SDK's ungated loop", got: "4×", met: false });
});

test("ratios are taken round by round, growth between sizes, and medians of even counts lie between", () => {
  const slow = resultsOf(
    [1, 10, 100].flatMap((by, round) => [
      sample("W1", OURS.W1, { cpuUs: by }, { round }),
      sample("W1", "pi", { cpuUs: by * 3 }, { round }),
      sample("W1", "pi", { cpuUs: by * 300 }, { round, n: 1_000 }),
    ]),
  );
  expect(ratioAt(slow, { workload: "W1", variant: "pi", n: 100 }, { workload: "W1", variant: OURS.W1, n: 100 }, "cpuUs")).toBe(3);
  expect(growthOf(slow, { workload: "W1", variant: "pi", n: 100 }, 1_000, "cpuUs")).toBeCloseTo(2);
  expect(spreadOf([4, 1, 3, 2])).toEqual({ median: 2.5, min: 1, max: 4 });
  expect(spreadOf([])).toBeNull();
});

test("X-1 names in a plot do not cover each other", () => {
  const places = spaced([100, 101, 102, 300], 18, 50, 310);
  const sorted = places.toSorted((a, b) => a - b);
  for (const [i, y] of sorted.entries()) if (i > 0) expect(y - (sorted[i - 1] ?? 0)).toBeGreaterThanOrEqual(18);
  expect(sorted.at(-1)).toBeLessThanOrEqual(310);
});
