/** V3 a table's columns line up by what a terminal shows, and a cell never breaks its row. */
import type { Paint, Tone } from "./paint.ts";
import { visible, width } from "./visible.ts";

export type Cell = string | Readonly<{ text: string; tone: Tone }>;

const textOf = (cell: Cell): string => visible(typeof cell === "string" ? cell : cell.text);
const toneOf = (cell: Cell): Tone => (typeof cell === "string" ? "plain" : cell.tone);

export function table(head: readonly string[], rows: readonly (readonly Cell[])[], paint: Paint): readonly string[] {
  const widths = head.map((name, i) => Math.max(width(name), ...rows.map((row) => width(textOf(row[i] ?? "")))));
  const line = (cells: readonly Cell[], tone: Tone | null): string =>
    cells
      .map((cell, i) => {
        const text = textOf(cell);
        const gap = i === cells.length - 1 ? "" : " ".repeat((widths[i] ?? 0) - width(text) + 2);
        return paint(tone ?? toneOf(cell), text) + gap;
      })
      .join("")
      .trimEnd();
  return [line(head, "dim"), ...rows.map((row) => line(row, null))];
}

/** `3 s`, `5 min`, `2 h`, `4 d`: how long ago, or how long. */
export function age(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}

export const duration = (ms: number): string => (ms < 1_000 ? `${ms} ms` : `${(ms / 1_000).toFixed(1)} s`);
export const count = (n: number, one: string, many = `${one}s`): string => `${n} ${n === 1 ? one : many}`;
