/** Positions of the parts of a timeline, in pixels of one window. Pure. */
import { createTimeScale, type Folded, type Mark, PHASES, type Phase, type Span, type TimelineView } from "@orgate/protocol/view";

export const ROW = 20;
export const TOP = 20; // marks
export const LABEL = 13;
/** Below the lanes: the duration of folded pauses. */
export const FOOT = 16;
const LEAST = 2;
const MOST_LANES = 8;

export type Window = Readonly<{ from: number; to: number }>;
export type Drawn = Readonly<{ x: number; width: number; y: number; height: number }>;
export type Layout = Readonly<{
  height: number;
  rows: readonly Readonly<{ name: string; phase: Phase; y: number; height: number }>[];
  spans: readonly (Drawn & Readonly<{ span: Span }>)[];
  folds: readonly Readonly<{ x: number; width: number; fold: Folded }>[];
  marks: readonly Readonly<{ x: number; mark: Mark }>[];
  labels: readonly Readonly<{ x: number; name: string; row: number }>[];
  whole: number;
}>;

/** A fold is a small part of the remaining width: visible, but narrow. */
export function foldWidth(timeline: TimelineView): number {
  const { whole } = createTimeScale(timeline, 0);
  return Math.min(5_000, Math.max(20, whole * 0.03));
}

export function makeScale(timeline: TimelineView): ReturnType<typeof createTimeScale> {
  return createTimeScale(timeline, timeline.folds.length === 0 ? 0 : foldWidth(timeline));
}

/** The whole timeline, or one turn. */
export function windowFor(timeline: TimelineView, turn: number | null): Window {
  const { whole, place } = makeScale(timeline);
  if (turn === null) return padded(0, whole);
  const starts = timeline.marks.filter(({ kind }) => kind === "turn");
  const first = starts[turn - 1];
  if (first === undefined) return padded(0, whole);
  const next = starts[turn];
  const end =
    next === undefined ? whole : place(timeline.marks.findLast(({ kind, seq }) => kind === "ended" && seq < next.seq)?.at ?? next.at);
  return padded(place(first.at), end);
}
function padded(from: number, to: number): Window {
  const room = Math.max((to - from) * 0.02, 5);
  return { from: from - room, to: to + room };
}

export function layOut(timeline: TimelineView, window: Window, width: number): Layout {
  const { place, whole } = makeScale(timeline);
  const perMs = width / Math.max(1, window.to - window.from);
  const x = (at: number): number => (place(at) - window.from) * perMs;
  const isSeen = (from: number, to: number): boolean => to >= -ROW && from <= width + ROW;
  const names = [...new Set(timeline.labels.flatMap(({ added }) => added))].slice(0, 4);
  const top = TOP + names.length * LABEL;
  const lanes = Math.min(timeline.lanes, MOST_LANES);
  const heights: Readonly<Record<Phase, number>> = { observe: ROW, reason: ROW, gate: ROW, act: ROW * Math.max(1, lanes) };
  const rows: { name: string; phase: Phase; y: number; height: number }[] = [];
  let y = top;
  for (const phase of PHASES) {
    rows.push({ name: NAMES[phase], phase, y, height: heights[phase] });
    y += heights[phase];
  }
  const yOf = new Map(rows.map((row) => [row.phase, row.y]));
  const spans: (Drawn & { span: Span })[] = [];
  const end = timeline.to ?? 0;
  for (const span of timeline.spans) {
    const [from, to] = [x(span.at), x(span.endAt ?? end)];
    if (!isSeen(from, to)) continue;
    const lane = Math.min(span.lane, MOST_LANES - 1);
    spans.push({
      span,
      x: from,
      width: Math.max(LEAST, to - from),
      y: (yOf.get(span.phase) ?? 0) + (span.phase === "act" ? lane * ROW : 0) + 2,
      height: ROW - 4,
    });
  }
  return {
    height: y + FOOT,
    rows,
    spans,
    folds: timeline.folds.flatMap((fold) =>
      isSeen(x(fold.from), x(fold.to)) ? [{ x: x(fold.from), width: x(fold.to) - x(fold.from), fold }] : [],
    ),
    marks: timeline.marks.flatMap((mark) => (isSeen(x(mark.at), x(mark.at)) ? [{ x: x(mark.at), mark }] : [])),
    labels: firsts(timeline.labels).flatMap(({ at, added }) =>
      added.flatMap((name) => (names.includes(name) ? [{ x: x(at), name, row: names.indexOf(name) }] : [])),
    ),
    whole,
  };
}
/** A label starts where it was first added; adding it again changes nothing. */
function firsts(steps: TimelineView["labels"]): TimelineView["labels"] {
  const seen = new Set<string>();
  return steps.map((step) => {
    for (const gone of step.removed) seen.delete(gone);
    const added = step.added.filter((name) => !seen.has(name));
    for (const name of added) seen.add(name);
    return { ...step, added };
  });
}
const NAMES: Readonly<Record<Phase, string>> = { observe: "Observe", reason: "Reason", gate: "Gate", act: "Act" };

/** The span under the pointer, with a margin around narrow ones; the last drawn is on top. */
export function spanAt({ spans }: Layout, x: number, y: number): Span | null {
  const near = 4;
  return (
    spans.findLast((one) => x >= one.x - near && x <= one.x + one.width + near && y >= one.y - 2 && y <= one.y + one.height + 2)?.span ??
    null
  );
}

/** Zooms around a position; never closer than a few milliseconds. */
export function zoom({ from, to }: Window, by: number, whole: number): Window {
  const middle = (from + to) / 2;
  const half = Math.max(5, Math.min(((to - from) / 2) * by, whole));
  return { from: middle - half, to: middle + half };
}
/** Moves the window so that it contains a position. */
export function panTo(window: Window, place: number): Window {
  if (place >= window.from && place <= window.to) return window;
  const half = (window.to - window.from) / 2;
  return { from: place - half, to: place + half };
}
