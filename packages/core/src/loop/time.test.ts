import { expect, test } from "vitest";
import { millis } from "../vocab/index.ts";
import type { State } from "./state.ts";
import { steadyTime } from "./time.ts";

test("L73 an entry's time is whole milliseconds, and passes at least as time does, also by a wall that stands still", () => {
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
