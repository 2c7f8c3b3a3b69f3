import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { manualClock } from "../../testing/index.ts";
import { millis } from "../../vocab/index.ts";
import type { State } from "../state.ts";
import { createDeadlines, steadyTime } from "./time.ts";

test("L-25 an entry's time is whole milliseconds, and passes at least as time does, also by a wall that stands still", () => {
  let ticks = 0.25;
  const clock = { now: () => millis(1_000), elapsed: () => ticks, sleep: async () => {} };
  const time = steadyTime(clock, { at: millis(0) } as State);
  const seen: number[] = [];
  for (const step of [0.4, 0.4, 0.4, 10.9]) {
    ticks += step;
    seen.push(time());
  }
  expect(seen).toEqual([1_000, 1_000, 1_001, 1_012]);
});

test("T-5 deadlines ring at their own times on one sleep, in any order; what was taken away is silent, and nothing sleeps after the end", async () => {
  const clock = manualClock();
  const deadlines = createDeadlines(clock);
  const rung: string[] = [];
  const ring = (name: string) => () => void rung.push(name);
  deadlines.set(300, ring("late"));
  deadlines.set(100, ring("soon"))();
  deadlines.set(200, ring("then"));
  deadlines.set(200, ring("too"));
  expect(clock.sleepers()).toBe(1);
  for (const [ms, expected] of [
    [199, []],
    [1, ["then", "too"]],
    [99, ["then", "too"]],
    [1, ["then", "too", "late"]],
  ] as const) {
    clock.advance(ms);
    await setImmediate();
    expect(rung).toEqual(expected);
  }
  expect(clock.sleepers()).toBe(0);
  deadlines.set(50, ring("never"));
  deadlines.clear();
  clock.advance(50);
  await setImmediate();
  expect([rung.length, clock.sleepers()]).toEqual([3, 0]);
});

test("T-5 a deadline that is no number rings at once, and hides no other", async () => {
  const clock = manualClock();
  const deadlines = createDeadlines(clock);
  const rung: string[] = [];
  deadlines.set(Number.NaN, () => void rung.push("no number"));
  deadlines.set(5_000, () => void rung.push("first"));
  deadlines.set(10_000, () => void rung.push("second"));
  await setImmediate();
  expect(rung).toEqual(["no number"]);
  for (const expected of [2, 3]) {
    clock.advance(5_000);
    await setImmediate();
    expect(rung).toHaveLength(expected);
  }
});
