import { expect, test } from "vitest";
import { openClock } from "./clock.ts";

const HOUR = 3_600_000;
const said = (at: number): string => new Date(at).toUTCString(); // whole seconds, as in a header

test("O-7 clocks that agree are left alone; one that is hours off is corrected to the second", () => {
  const [right, ahead, behind] = [openClock(), openClock(), openClock()];
  for (const at of [1_000_000_400, 1_000_002_950, 1_000_007_010]) {
    right.heard(said(at), at - 80, at + 20);
    ahead.heard(said(at), at - 80 + HOUR, at + 20 + HOUR);
    behind.heard(said(at), at - 80 - HOUR, at + 20 - HOUR);
  }
  expect(right.aheadMs()).toBe(0);
  expect(Math.abs(ahead.aheadMs() + HOUR)).toBeLessThan(1_000);
  expect(Math.abs(behind.aheadMs() - HOUR)).toBeLessThan(1_000);
});

test("O-7 a clock that is set is followed, and an invalid time is ignored", () => {
  const clock = openClock();
  const at = 1_000_000_500;
  clock.heard(said(at), at, at + 10);
  clock.heard(null, at, at);
  clock.heard("yesterday", at, at);
  expect(clock.aheadMs()).toBe(0);
  clock.heard(said(at), at + HOUR, at + HOUR + 10);
  expect(Math.abs(clock.aheadMs() + HOUR)).toBeLessThan(1_100);
});

test("O-7 watchers of the clock hear of a correction at once, and not of less than a second", () => {
  const clock = openClock();
  const at = 1_000_000_500;
  const told: number[] = [];
  clock.corrected.watch(() => told.push(Math.round(clock.aheadMs() / HOUR)));
  clock.heard(said(at), at + 3 * HOUR, at + 3 * HOUR + 10);
  expect(told).toEqual([-3]); // before `heard` returns
  clock.heard(said(at + 900), at + 900 + 3 * HOUR, at + 910 + 3 * HOUR);
  expect(told).toEqual([-3]);
});
