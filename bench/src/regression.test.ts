import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { inFolder } from "./places.ts";
import { type Counts, countIteration, decodeCounts, excessesOf, NAMES } from "./regression.ts";

const recorded = decodeCounts(readFileSync(join(import.meta.dirname, "..", "counts.json"), "utf8"));
const scaled = (by: number, counts: Counts): Counts => decodeCounts(JSON.stringify(counts, (_, v) => (typeof v === "number" ? v * by : v)));

test("what an iteration adds is within ten times of what is recorded", async () => {
  const found = await countIteration(100);
  expect(excessesOf(found, recorded)).toEqual([]);
  expect(found.modelCalls).toBe(1);
  expect(found.appends).toBe(recorded.appends);
});

test("each count fails by itself when it is more than ten times as high, and not before", () => {
  expect(excessesOf(scaled(10, recorded), recorded)).toEqual([]);
  for (const name of NAMES) {
    const inflated = { ...recorded, [name]: recorded[name] * 10.5 };
    expect(excessesOf(inflated, recorded)).toEqual([expect.stringContaining(name)]);
  }
  expect(excessesOf({ ...recorded, bytes: Number.NaN }, recorded)).toHaveLength(1);
});

test("the command fails when counts are inflated against the record, and says which", () =>
  inFolder(async (folder) => {
    const file = join(folder, "counts.json");
    writeFileSync(file, JSON.stringify({ ...recorded, events: recorded.events / 11 }));
    const { status, stderr } = spawnSync(process.execPath, [join(import.meta.dirname, "regression.ts"), "--counts", file], {
      encoding: "utf8",
    });
    expect(stderr).toContain("ten times as much: events per iteration");
    expect(status).toBe(1);
  }));
