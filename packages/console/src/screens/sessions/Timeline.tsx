/** The timeline of a session, to scale; pauses are folded. */

import { countNoun, type Seq } from "@orgate/core/vocab";
import type { Span, TimelineView } from "@orgate/protocol/view";
import { type PointerEvent, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { Button } from "../../parts/Button.tsx";
import { formatDuration } from "../../parts/time/time.ts";
import tones from "../../parts/tones.module.css";
import { useCell } from "../../state/cell.ts";
import { theme } from "../../state/preferences.ts";
import { draw, readColours } from "./draw.ts";
import { type Layout, layOut, makeScale, panTo, spanAt, type Window, windowFor, zoom } from "./layout.ts";
import css from "./Timeline.module.css";

type Props = Readonly<{
  timeline: TimelineView;
  version: number;
  at: Readonly<{ seq: Seq; at: number }> | null;
  turn: number | null;
  choose(seq: Seq): void;
}>;

/** A session with more spans than this opens at one turn. */
const FEW = 120;

export function Timeline({ timeline, version, at, turn, choose }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const probe = useRef<HTMLSpanElement>(null);
  const layout = useRef<Layout | null>(null);
  const width = useWidth(box);
  const scheme = useScheme();
  const [chosen, setChosen] = useState<Window | null>(null);
  const isLong = timeline.spans.length > FEW;
  // biome-ignore lint/correctness/useExhaustiveDependencies: `version` says that it has grown
  const scale = useMemo(() => makeScale(timeline), [timeline, version]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `version` says that it has grown
  const first = useMemo(() => windowFor(timeline, isLong ? turn : null), [timeline, version, isLong, turn]);
  const place = at === null ? null : scale.place(at.at);
  const window = place === null ? (chosen ?? first) : panTo(chosen ?? first, place);

  // biome-ignore lint/correctness/useExhaustiveDependencies: `version` says that it has grown, `scheme` that colours are others
  useLayoutEffect(() => {
    const [element, ctx] = [canvas.current, canvas.current?.getContext("2d")];
    if (element === null || ctx === null || ctx === undefined || probe.current === null || width === 0) return;
    const made = layOut(timeline, window, width);
    layout.current = made;
    const ratio = devicePixelRatio || 1;
    element.width = Math.round(width * ratio);
    element.height = Math.round(made.height * ratio);
    element.style.width = `${width}px`;
    element.style.height = `${made.height}px`;
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    const x = place === null ? null : ((place - window.from) / (window.to - window.from)) * width;
    draw(ctx, made, readColours(probe.current), { width, at: x });
  }, [timeline, version, window.from, window.to, width, place, scheme]);

  const under = ({ nativeEvent: { offsetX, offsetY } }: PointerEvent): Span | null =>
    layout.current === null ? null : spanAt(layout.current, offsetX, offsetY);
  const rows = layOut({ ...timeline, spans: [], folds: [], marks: [] }, window, 1).rows;
  return (
    <figure className={css.timeline}>
      <div className={css.body}>
        <div className={css.names} aria-hidden="true">
          {rows.map(({ name, phase, y, height }) => (
            <span key={phase} className={tones[phase]} style={{ top: `${y}px`, height: `${height}px` }}>
              {name}
            </span>
          ))}
        </div>
        <div ref={box} className={css.box}>
          <canvas
            ref={canvas}
            role="img"
            aria-label={describeTimeline(timeline)}
            onPointerMove={(event) => {
              const found = under(event);
              event.currentTarget.title = found === null ? "" : spanTitle(found);
              event.currentTarget.style.cursor = found === null ? "default" : "pointer";
            }}
            onPointerDown={(event) => {
              const found = under(event);
              if (found !== null) choose(found.seq);
            }}
          />
          <span ref={probe} hidden />
        </div>
      </div>
      <Zoom timeline={timeline} window={window} whole={scale.whole} turn={turn} choose={setChosen} />
    </figure>
  );
}

type ZoomProps = Readonly<{ timeline: TimelineView; window: Window; whole: number; turn: number | null; choose(window: Window): void }>;

function Zoom({ timeline, window, whole, turn, choose }: ZoomProps) {
  return (
    <figcaption className={css.foot}>
      <span>{formatDuration(window.to - window.from)} across</span>
      <Button size="small" icon="plus" onClick={() => choose(zoom(window, 0.5, whole))}>
        Zoom in
      </Button>
      <Button size="small" onClick={() => choose(zoom(window, 2, whole))}>
        Zoom out
      </Button>
      <Button size="small" onClick={() => choose(windowFor(timeline, null))}>
        All
      </Button>
      {turn === null ? null : (
        <Button size="small" onClick={() => choose(windowFor(timeline, turn))}>
          This turn
        </Button>
      )}
    </figcaption>
  );
}

const spanTitle = ({ text, phase, at, endAt, status }: Span): string =>
  `${phase}: ${text}${endAt === null ? ", in progress" : ` · ${formatDuration(endAt - at)}`}${status === "done" || status === "open" ? "" : ` · ${status}`}`;

function describeTimeline({ spans, folds, marks, labels }: TimelineView): string {
  const of = (phase: Span["phase"]): number => spans.filter((span) => span.phase === phase).length;
  const crashes = marks.filter(({ kind }) => kind === "crash").length;
  const parts = [
    `${of("reason")} model calls`,
    `${of("gate")} decisions`,
    countNoun(of("act"), "tool call"),
    ...(folds.length === 0 ? [] : [`${folds.length} pauses folded`]),
    ...(crashes === 0 ? [] : [`${crashes} crashes`]),
    ...(labels.length === 0 ? [] : [`labels: ${labels.at(-1)?.labels.join(", ")}`]),
  ];
  return `Timeline: ${parts.join(", ")}. The list below has every entry.`;
}

function useWidth(box: Readonly<{ current: HTMLElement | null }>): number {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const seen = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 0)));
    seen.observe(element);
    return () => seen.disconnect();
  }, [box]);
  return width;
}

/** Changes whenever the colours may have changed. */
function useScheme(): string {
  const chosen = useCell(theme);
  const [isDark, setDark] = useState(() => matchMedia("(prefers-color-scheme: dark)").matches);
  useEffect(() => {
    const query = matchMedia("(prefers-color-scheme: dark)");
    const changed = (): void => setDark(query.matches);
    query.addEventListener("change", changed);
    return () => query.removeEventListener("change", changed);
  }, []);
  return `${chosen} ${isDark}`;
}
