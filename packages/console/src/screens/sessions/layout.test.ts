import { VIEW_CASES } from "@orgate/protocol/testing";
import { buildTimeline } from "@orgate/protocol/view";
import { expect, test } from "vitest";
import { openEntryRows, openStepper } from "./entry-rows.ts";
import { layOut, panTo, spanAt, windowFor, zoom } from "./layout.ts";

const laid = VIEW_CASES.map(({ name, entries }) => {
  const timeline = buildTimeline(entries);
  return { name, timeline, layout: layOut(timeline, windowFor(timeline, null), 1_000) };
});

test("every part lies in the window and in the lane of its phase; parallel calls do not overlap", () => {
  for (const { name, timeline, layout } of laid) {
    expect([name, layout.spans.length]).toEqual([name, timeline.spans.length]);
    for (const { x, width, y, height, span } of layout.spans) {
      const row = layout.rows.find(({ phase }) => phase === span.phase);
      expect(x).toBeGreaterThanOrEqual(0);
      expect(x + width).toBeLessThanOrEqual(1_002);
      expect(y).toBeGreaterThanOrEqual(row?.y ?? 0);
      expect(y + height).toBeLessThanOrEqual((row?.y ?? 0) + (row?.height ?? 0));
    }
    const acts = layout.spans.filter(({ span }) => span.phase === "act");
    for (const a of acts)
      for (const b of acts) if (a !== b && a.y === b.y) expect(a.x + a.width <= b.x + 2 || b.x + b.width <= a.x + 2).toBe(true);
  }
});

test("parked time takes little room, and the rest is to scale", () => {
  const [, asked] = laid;
  const [fold] = asked?.layout.folds ?? [];
  expect(fold?.width).toBeLessThan(100);
  const spans = asked?.layout.spans ?? [];
  const reason = spans.filter(({ span }) => span.phase === "reason");
  const ratio = (i: number): number => (reason[i]?.width ?? 0) / ((reason[i]?.span.endAt ?? 0) - (reason[i]?.span.at ?? 0));
  expect(ratio(0)).toBeCloseTo(ratio(1), 3);
});

test("a span is found where it is drawn; a window contains its position at any zoom", () => {
  const [, , , crashed] = laid;
  for (const one of crashed?.layout.spans.filter(({ width }) => width > 10) ?? [])
    expect(crashed === undefined ? null : spanAt(crashed.layout, one.x + one.width / 2, one.y + 4)).toBe(one.span);
  const near = zoom({ from: 0, to: 100 }, 0.5, 1_000);
  expect(near).toEqual({ from: 25, to: 75 });
  expect(panTo(near, 50)).toBe(near);
  expect(panTo(near, 500)).toEqual({ from: 475, to: 525 });
  const whole = windowFor(crashed?.timeline ?? buildTimeline([]), null);
  const turn = windowFor(crashed?.timeline ?? buildTimeline([]), 1);
  expect([turn.from > whole.from, Math.abs(turn.to - whole.to) < 5]).toEqual([true, true]);
});

test("every entry has its row, in order, folded once; the state at an entry is that of its fold, forward and back", () => {
  for (const { entries } of VIEW_CASES) {
    const items = entries.map((entry) => ({ kind: "entry", position: null, entry }) as const);
    const account = openEntryRows();
    for (let n = 1; n <= items.length; n += 1) account.grow(items, n);
    account.grow(items, items.length);
    expect(account.rows.map(({ seq }) => seq)).toEqual(entries.map(({ seq }) => seq));
    expect(account.rows.every(({ line }) => line.text !== "")).toBe(true);
    expect(account.timeline).toEqual(buildTimeline(entries));
    const [session] = entries;
    if (session === undefined) continue;
    const step = openStepper("s_viewed00001" as Parameters<typeof openStepper>[0]);
    const there = JSON.stringify(step(items, 5));
    step(items, items.length);
    expect(JSON.stringify(step(items, 5))).toBe(there);
  }
});
