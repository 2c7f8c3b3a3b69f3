/** A table's columns line up by what a terminal shows, and a cell never breaks its row. */
import type { Paint, Tone } from "./paint.ts";
import { textWidth, visible } from "./visible.ts";

export { ageText, countNoun as count, durationText as duration } from "@orgate/protocol/text";

export type Cell = string | Readonly<{ text: string; tone: Tone }>;

const textOf = (cell: Cell): string => visible(typeof cell === "string" ? cell : cell.text);
const toneOf = (cell: Cell): Tone => (typeof cell === "string" ? "plain" : cell.tone);

export function table(head: readonly string[], rows: readonly (readonly Cell[])[], paint: Paint): readonly string[] {
  const widths = head.map((name, i) => Math.max(textWidth(name), ...rows.map((row) => textWidth(textOf(row[i] ?? "")))));
  const line = (cells: readonly Cell[], tone: Tone | null): string =>
    cells
      .map((cell, i) => {
        const text = textOf(cell);
        const gap = i === cells.length - 1 ? "" : " ".repeat((widths[i] ?? 0) - textWidth(text) + 2);
        return paint(tone ?? toneOf(cell), text) + gap;
      })
      .join("")
      .trimEnd();
  return [line(head, "dim"), ...rows.map((row) => line(row, null))];
}
