import { describe, expect, test } from "vitest";
import { type JournalEvent, label, millis, NO_RESERVATION, type SessionEvent, toUsage, ZERO } from "../vocab/index.ts";
import { type Count, foldTally, listCounts, newTally, sumBuckets, toBucketSpan } from "./counts.ts";
import { SAMPLES } from "./fixtures/samples.ts";

type Of<K extends SessionEvent["kind"]> = Extract<SessionEvent, { kind: K }>;
const sample = <K extends SessionEvent["kind"]>(kind: K): Of<K> => SAMPLES[kind][0] as unknown as Of<K>;
const started = (more: Partial<Of<"act.started">> = {}): Of<"act.started"> => ({
  ...sample("act.started"),
  tool: "send",
  values: {},
  ...more,
});
const asked: Of<"model.asked"> = { ...sample("model.asked"), reserved: toUsage(100, 50), reservedMicros: 900 };
const replied: Of<"model.replied"> = { ...sample("model.replied"), usage: toUsage(80, 10), micros: 300 };
const failed = (broke: boolean): Of<"model.failed"> => ({ ...sample("model.failed"), broke });

function countsOf(...events: readonly (readonly [number, JournalEvent])[]): readonly Count[] {
  const tally = newTally();
  return events.flatMap(([at, event]) => {
    foldTally(tally, "clerk", millis(at), event);
    return tally.last;
  });
}
const sums = (counts: readonly Count[]): Record<string, number> => {
  const out: Record<string, number> = {};
  for (const { name, value, by } of counts) out[name + value] = (out[name + value] ?? 0) + by;
  return out;
};

describe("G-24 what is counted", () => {
  test("G-24 a start is counted once, with each value of its targets, and what starts again is not", () => {
    expect(sums(countsOf([1, started({ values: { to: [ZERO] } })], [2, started({ start: 2 })]))).toEqual({
      "calls:send": 1,
      [`calls:send/to${ZERO}`]: 1,
    });
    expect(countsOf([2, { kind: "labels.added", labels: [label("x")], from: null }])).toEqual([]);
  });

  test("G-24 a model call counts at what is set aside, then at what it used, in the time it was asked", () => {
    expect(countsOf([7, asked])).toMatchObject([
      { name: "tokens", by: 150, at: 7 },
      { name: "micros", by: 900, at: 7 },
    ]);
    const both = countsOf([7, asked], [9_000_000, replied]);
    expect(sums(both)).toEqual({ tokens: 90, micros: 300 });
    expect(both.every(({ at }) => at === 7)).toBe(true);
  });

  test("G-24 a reply that was lost or broke off stays counted at what was set aside; one that was never made does not", () => {
    expect(sums(countsOf([1, asked], [2, failed(true)]))).toEqual({ tokens: 150, micros: 900 });
    expect(sums(countsOf([1, asked], [2, failed(false)]))).toEqual({ tokens: 0, micros: 0 });
    expect(sums(countsOf([1, asked], [2, sample("hold.taken")], [3, asked], [4, replied]))).toEqual({ tokens: 240, micros: 1200 });
  });

  test("G-24 a tool that costs counts at its maximum until it is settled; a delegate's share is its own to count", () => {
    const reserved: JournalEvent = { ...sample("budget.reserved"), amount: { ...NO_RESERVATION, micros: 500 } };
    const settled: JournalEvent = { ...sample("budget.settled"), amount: { ...NO_RESERVATION, micros: 200 } };
    expect(sums(countsOf([1, reserved]))).toEqual({ micros: 500 });
    expect(sums(countsOf([1, reserved], [2, settled]))).toEqual({ micros: 200 });
    expect(countsOf([1, sample("budget.reserved")])).toEqual([]);
  });

  test("G-24 what is older than a day is not made again, and an hour is never counted short", () => {
    const now = 1_800_000_000_000;
    const opened = sample("session.opened");
    const at = (ago: number, event: JournalEvent) => ({ at: millis(now - ago), event });
    const { day } = toBucketSpan(now);
    expect(listCounts([at(9e8, opened), at(9e8, started()), at(100, started())], day)).toMatchObject([{ agent: opened.agent.name, by: 1 }]);
    const bucket = (ago: number) => ({ bucket: Math.floor((now - ago) / 300_000), n: 1 });
    expect(sumBuckets([bucket(0), bucket(3_599_999), bucket(3_600_000 + 300_000), bucket(86_399_999)], toBucketSpan(now))).toEqual({
      hour: 2,
      day: 4,
    });
  });
});
