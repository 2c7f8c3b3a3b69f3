/** Draws a timeline's layout. A canvas, because a long session has more spans than a page may have elements; the list of entries says the same in words. */
import type { Span } from "@orgate/protocol/view";
import { durationText } from "@orgate/protocol/view";
import { FOOT, LABEL, type Layout, TOP } from "./layout.ts";

const NAMES = [
  "observe",
  "reason",
  "gate",
  "act",
  "bad",
  "wait",
  "ok",
  "ink",
  "ink-2",
  "ink-3",
  "line",
  "line-strong",
  "surface",
  "sunken",
  "focus",
] as const;
export type Colours = Readonly<Record<(typeof NAMES)[number], string>>;

/** The current colours, light or dark, read from an element: a canvas understands neither variables nor `light-dark()`. */
export function readColours(probe: HTMLElement): Colours {
  const found: Record<string, string> = {};
  for (const name of NAMES) {
    probe.style.color = `var(--${name})`;
    found[name] = getComputedStyle(probe).color;
  }
  return found as Colours; // one for each of the names
}

const FONT = '11px "Instrument Sans", sans-serif';

export function draw(
  ctx: CanvasRenderingContext2D,
  layout: Layout,
  colours: Colours,
  { width, at }: Readonly<{ width: number; at: number | null }>,
): void {
  ctx.clearRect(0, 0, width, layout.height);
  ctx.font = FONT;
  ctx.textBaseline = "middle";
  ctx.fillStyle = colours.sunken;
  for (const [i, row] of layout.rows.entries()) if (i % 2 === 0) ctx.fillRect(0, row.y, width, row.height);
  drawFolds(ctx, layout, colours);
  drawLabels(ctx, layout, colours, width);
  for (const one of layout.spans) {
    ctx.globalAlpha = one.span.status === "lost" ? 0.35 : 1;
    ctx.fillStyle = spanColour(one.span, colours);
    ctx.beginPath();
    ctx.roundRect(one.x, one.y, one.width, one.height, Math.min(3, one.width / 2));
    ctx.fill();
    if (one.width > 48) {
      ctx.save();
      ctx.clip();
      ctx.fillStyle = colours.surface;
      ctx.fillText(one.span.text, Math.max(one.x, 0) + 5, one.y + one.height / 2 + 0.5);
      ctx.restore();
    }
  }
  ctx.globalAlpha = 1;
  drawMarks(ctx, layout, colours);
  if (at !== null) {
    ctx.strokeStyle = colours.focus;
    ctx.lineWidth = 2;
    line(ctx, at, 0, layout.height - FOOT);
  }
}

function spanColour(span: Span, colours: Colours): string {
  if (span.status === "denied" || span.status === "failed") return colours.bad;
  if (span.status === "unknown" || span.status === "asks") return colours.wait;
  return colours[span.phase];
}

const WHY = { waiting: "waited", idle: "idle", crash: "crashed" } as const;

function drawFolds(ctx: CanvasRenderingContext2D, { folds, height }: Layout, colours: Colours): void {
  const end = height - FOOT;
  let last = 0;
  for (const { x, width, fold } of folds) {
    ctx.save();
    ctx.beginPath();
    ctx.rect(x, TOP, width, end - TOP);
    ctx.clip();
    ctx.strokeStyle = fold.why === "crash" ? colours.bad : colours["line-strong"];
    ctx.lineWidth = 1;
    for (let i = x - height; i < x + width; i += 6) {
      ctx.beginPath();
      ctx.moveTo(i, height);
      ctx.lineTo(i + height, 0);
      ctx.stroke();
    }
    ctx.restore();
    const text = `${WHY[fold.why]} ${span(fold.to - fold.from)}`;
    const room = ctx.measureText(text).width;
    const from = Math.max(2, x + width / 2 - room / 2);
    if (from < last) continue; // it would overlap the previous one
    ctx.fillStyle = fold.why === "crash" ? colours.bad : colours["ink-2"];
    ctx.fillText(text, from, end + FOOT / 2);
    last = from + room + 8;
  }
}
const span = (ms: number): string =>
  ms < 60_000 ? durationText(ms) : ms < 3_600_000 ? `${Math.round(ms / 60_000)} min` : `${(ms / 3_600_000).toFixed(1)} h`;

/** A label is a band from where it was added to the end. */
function drawLabels(ctx: CanvasRenderingContext2D, { labels }: Layout, colours: Colours, width: number): void {
  for (const { x, name, row } of labels) {
    const y = TOP + row * LABEL;
    const from = Math.max(0, x);
    if (from >= width) continue;
    ctx.globalAlpha = 0.22;
    ctx.fillStyle = colours.bad;
    ctx.fillRect(from, y + 1, width - from, LABEL - 2);
    ctx.globalAlpha = 1;
    ctx.fillStyle = colours.bad;
    ctx.fillRect(from, y + 1, 2, LABEL - 2);
    ctx.font = '10px "Instrument Sans", sans-serif';
    ctx.fillStyle = colours.ink;
    const room = ctx.measureText(name).width + 8;
    ctx.fillText(name, Math.max(2, Math.min(from + 6, width - room)), y + LABEL / 2 + 0.5);
    ctx.font = FONT;
  }
}

const SIGNS = { turn: "▸", ended: "■", crash: "✕", resume: "↻", steered: "›", cancel: "⊘", halt: "‖", question: "?", answer: "!" } as const;

function drawMarks(ctx: CanvasRenderingContext2D, { marks, height }: Layout, colours: Colours): void {
  let last = Number.NEGATIVE_INFINITY;
  for (const { x, mark } of marks) {
    const colour =
      mark.kind === "crash" || mark.kind === "halt"
        ? colours.bad
        : mark.kind === "question" || mark.kind === "answer"
          ? colours.gate
          : colours["ink-2"];
    ctx.strokeStyle = colour;
    ctx.globalAlpha = mark.kind === "crash" ? 1 : 0.35;
    ctx.lineWidth = mark.kind === "crash" ? 2 : 1;
    line(ctx, x, TOP - 4, height - FOOT);
    ctx.globalAlpha = 1;
    ctx.fillStyle = colour;
    if (x - last < 11 && mark.kind !== "crash") continue; // they would overlap
    ctx.fillText(SIGNS[mark.kind], x - 4, TOP / 2);
    last = x;
  }
}

function line(ctx: CanvasRenderingContext2D, x: number, from: number, to: number): void {
  ctx.beginPath();
  ctx.moveTo(x, from);
  ctx.lineTo(x, to);
  ctx.stroke();
}
