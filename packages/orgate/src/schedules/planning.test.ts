import { millis, type ScheduleSpec, seq, sessionId } from "@orgate/core";
import { newScheduleStanding, type StandingSchedule } from "@orgate/core/journal";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { sha256 } from "../node/crypto.ts";
import { openCalendar } from "./calendar.ts";
import { computeJitter, MOST_QUEUED, nextStep, retryAfter } from "./planning.ts";

const calendar = openCalendar();
const MINUTE = 60_000;
const START = Date.UTC(2026, 0, 1);
const at = (minutes: number) => millis(START + minutes * MINUTE);
const spec: ScheduleSpec = {
  agent: "clerk",
  input: "look",
  when: { kind: "cron", cron: "* * * * *", timezone: "UTC" },
  owner: "ana",
  oneShot: false,
  jitterMs: 0,
  overlap: "skip",
  atOnce: 2,
  missed: "once",
  mostMissed: 3,
  graceMs: 5_000,
  session: "fresh",
  retries: 1,
  failures: 3,
  enabled: true,
};
const standing = (more: Partial<StandingSchedule> = {}, changed: Partial<ScheduleSpec> = {}): StandingSchedule => ({
  schedule: "nightly",
  spec: { ...spec, ...changed },
  from: null,
  by: { kind: "user", id: "ana" },
  seq: seq(1),
  since: 0,
  ...newScheduleStanding(at(0)),
  ...more,
});
const step = (now: number, more: Partial<StandingSchedule> = {}, changed: Partial<ScheduleSpec> = {}) =>
  nextStep(standing(more, changed), millis(START + now * MINUTE), calendar, sha256);
const open = [{ dueAt: at(0), attempt: 1, session: sessionId("s_1"), intent: null }];

test("Z-3 what is not due waits until it is; what is due is fired, in order, also when it is a little late", () => {
  expect(step(0.5)).toEqual({ kind: "wait", until: at(1) });
  expect(step(1)).toEqual({ kind: "fire", dueAt: at(1), attempt: 1, why: "due" });
  expect(step(1.05)).toMatchObject({ kind: "fire", why: "due" });
  expect(step(3.5, {}, { graceMs: 300_000 })).toMatchObject({ kind: "fire", dueAt: at(1), why: "due" });
});

test("Z-8 what is paused, stopped, removed or off waits for a person; what is done has only its retries", () => {
  for (const state of ["paused", "stopped", "removed"] as const) expect(step(9, { state })).toEqual({ kind: "wait", until: null });
  expect(step(9, {}, { enabled: false })).toEqual({ kind: "wait", until: null });
  expect(step(9, { state: "done", queue: [] })).toEqual({ kind: "wait", until: null });
  const retry = [{ dueAt: at(1), attempt: 2, at: at(5) }];
  expect(step(2, { state: "done", retry })).toEqual({ kind: "wait", until: at(5) });
  expect(step(5, { state: "done", retry })).toEqual({ kind: "fire", dueAt: at(1), attempt: 2, why: "retry" });
});

test("Z-5 while one is not over: skipped, queued up to a bound, or beside it up to a bound", () => {
  expect(step(1, { open })).toMatchObject({ kind: "skip", first: at(1), last: at(1), count: 1, why: "overlap" });
  expect(step(1, { open }, { overlap: "queue" })).toEqual({ kind: "queue", dueAt: at(1) });
  const full = Array.from({ length: MOST_QUEUED }, (_, i) => millis(i));
  expect(step(1, { open, queue: full }, { overlap: "queue" })).toMatchObject({ kind: "skip", why: "queue-full" });
  expect(step(1, { open }, { overlap: "parallel" })).toMatchObject({ kind: "fire" });
  expect(step(1, { open: [...open, ...open] }, { overlap: "parallel" })).toMatchObject({ kind: "skip", why: "overlap" });
  // the queue's first comes when the one before is over, before what is due then
  expect(step(2, { queue: [at(0.5), at(0.7)], through: at(1) }, { overlap: "queue" })).toEqual({
    kind: "fire",
    dueAt: at(0.5),
    attempt: 1,
    why: "queued",
  });
  expect(step(0.5, { open, queue: [at(0.2)] }, { overlap: "queue" })).toEqual({ kind: "wait", until: at(1) });
});

test("Z-5 missed: skipped at once, made up for by the latest, or each of the latest few", () => {
  expect(step(60.5, {}, { missed: "skip" })).toMatchObject({ kind: "skip", first: at(1), last: at(60), count: 60, why: "missed" });
  expect(step(60.5)).toMatchObject({ kind: "skip", first: at(1), last: at(59), count: 59 });
  expect(step(60.5, { through: at(59) })).toEqual({ kind: "fire", dueAt: at(60), attempt: 1, why: "missed" });
  // one is due just now: it is the one that makes up for the others
  expect(step(60)).toMatchObject({ kind: "skip", last: at(59) });
  expect(step(60, { through: at(59) })).toMatchObject({ kind: "fire", dueAt: at(60), why: "due" });
  expect(step(60.5, {}, { missed: "all" })).toMatchObject({ kind: "skip", first: at(1), last: at(57), count: 57 });
  expect(step(60.5, { through: at(57) }, { missed: "all" })).toEqual({ kind: "fire", dueAt: at(58), attempt: 1, why: "missed" });
  // which wait for each other, whatever overlap says
  expect(step(60.5, { through: at(58), open }, { missed: "all" })).toEqual({ kind: "queue", dueAt: at(59) });
  const years = nextStep(
    standing({}, { missed: "skip", when: { kind: "cron", cron: "* * * * * *", timezone: "UTC" } }),
    millis(Date.UTC(2030, 0, 1, 0, 0, 0, 500)),
    calendar,
    sha256,
  );
  expect(years).toMatchObject({ kind: "skip", count: 1_000, last: Date.UTC(2030, 0, 1) - 5_000 + 0 });
});

test("Z-5 what a long grace lets pile up while one is not over is skipped in one entry, jitter included", () => {
  const long = { graceMs: 86_400_000 };
  expect(step(60, { open }, long)).toMatchObject({ kind: "skip", first: at(1), last: at(60), count: 60, why: "overlap" });
  const jittered = step(60, { open }, { ...long, jitterMs: 30_000 });
  const due = (n: number): boolean => computeJitter("nightly", at(n), 30_000, sha256) === 0;
  expect(jittered).toMatchObject({ kind: "skip", last: at(due(60) ? 60 : 59) });
});

test("Z-5 one that waits behind another with a longer jitter is late, and was not missed", () => {
  const spread = { jitterMs: 600_000, missed: "skip" } as const;
  for (const now of [3, 6, 9.9]) {
    const found = step(now, {}, spread);
    expect(found.kind === "skip").toBe(false);
  }
  expect(step(11.2, {}, spread)).toMatchObject({ kind: "skip", first: at(1), last: at(1) });
});

test("Z-7 a clock that was set back fires nothing again, and waits for what was not fired", () => {
  expect(step(3, { through: at(10) })).toEqual({ kind: "wait", until: at(11) });
  expect(nextStep(standing(), millis(0), calendar, sha256)).toEqual({ kind: "wait", until: at(1) });
});

test("Z-7 jitter is within its bound, not the same for every due time, and the same wherever it is worked out", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 10 ** 9 }), fc.integer({ min: 0, max: 3_600_000 }), (due, most) => {
      const jitter = computeJitter("nightly", millis(due), most, sha256);
      expect(jitter >= 0 && jitter <= most && Number.isInteger(jitter)).toBe(true);
      expect(computeJitter("nightly", millis(due), most, sha256)).toBe(jitter);
    }),
    { numRuns: 50 },
  );
  const seen = new Set(Array.from({ length: 50 }, (_, i) => computeJitter("nightly", at(i), 30_000, sha256)));
  expect(seen.size).toBeGreaterThan(40);
  expect(computeJitter("nightly", at(1), 30_000, sha256)).toBe(computeJitter("nightly", at(1), 30_000, sha256));
  const firesAt = START + MINUTE + computeJitter("nightly", at(1), 30_000, sha256);
  expect(step(1, {}, { jitterMs: 30_000 })).toEqual({ kind: "wait", until: firesAt });
});

test("Z-6 retries wait longer each time, an hour at the most", () => {
  expect([1, 2, 3, 20, 500].map(retryAfter)).toEqual([30_000, 60_000, 120_000, 3_600_000, 3_600_000]);
});
