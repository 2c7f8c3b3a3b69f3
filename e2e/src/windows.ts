/** Where a process was when it died, by its last line: lines are written synchronously, so none is missing. */
import type { Line } from "./stand/wire.ts";

export const WINDOWS = ["before append", "after append, before effect", "inside effect", "after effect, before append"] as const;
export type Window = (typeof WINDOWS)[number] | "model call in flight" | "elsewhere";

const STARTS = ["act.started", "model.asked"];

export function windowOf(last: Line | undefined): Window {
  if (last?.kind === "effect") return "inside effect";
  if (last?.kind === "model") return "model call in flight";
  if (last?.kind !== "mark") return "elsewhere";
  switch (last.step) {
    case "begin":
    case "commit":
      return "before append";
    case "committed":
      return last.written.some((e) => STARTS.includes(e.kind)) ? "after append, before effect" : "elsewhere";
    case "enter":
      return "after append, before effect";
    case "got":
      return last.point.startsWith("call ") ? "after effect, before append" : "before append";
  }
}

/** The last line of a victim before it froze, was killed, or ended. */
export const lastOf = (lines: readonly Line[]): Line | undefined => lines.findLast((l) => l.kind !== "gone" && l.kind !== "reached");

export type Histogram = Map<Window, number>;
export function count(histogram: Histogram, window: Window): void {
  histogram.set(window, (histogram.get(window) ?? 0) + 1);
}
export const shown = (histogram: Histogram): string =>
  [...WINDOWS, "model call in flight" as const, "elsewhere" as const].map((w) => `${w}: ${histogram.get(w) ?? 0}`).join(" · ");
