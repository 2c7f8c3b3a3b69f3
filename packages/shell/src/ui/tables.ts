/**
 * Tables that fit the screen.
 * A table is no wider than the screen: its last column gives way first, then the widest, and never the first, which is what a row is called by.
 */
import { shorten } from "@orgate/protocol/view";
import { type Cell, table as whole } from "../terminal/table.ts";
import { textWidth, visible } from "../terminal/visible.ts";
import type { ScreenLook } from "./look.ts";

const GAP = 2;
const LEAST = 6;

const textOf = (cell: Cell): string => visible(typeof cell === "string" ? cell : cell.text);

export function fitTable(
  head: readonly string[],
  rows: readonly (readonly Cell[])[],
  { paint, columns }: Pick<ScreenLook, "paint" | "columns">,
): readonly string[] {
  const widths = head.map((name, i) => Math.max(textWidth(name), ...rows.map((row) => textWidth(textOf(row[i] ?? "")))));
  let over = widths.reduce((sum, wide) => sum + wide + GAP, -GAP) - (columns - 1);
  const order = [...widths.keys()]
    .slice(1)
    .sort((a, b) => (a === widths.length - 1 ? -1 : b === widths.length - 1 ? 1 : (widths[b] ?? 0) - (widths[a] ?? 0)));
  for (const i of order) {
    if (over <= 0) break;
    const wide = widths[i] ?? 0;
    const to = Math.max(Math.min(LEAST, wide), wide - over);
    widths[i] = to;
    over -= wide - to;
  }
  const cut = (cell: Cell, i: number): Cell => {
    const text = shorten(textOf(cell), Math.max(widths[i] ?? 0, 1));
    return typeof cell === "string" ? text : { ...cell, text };
  };
  return whole(
    head.map((name, i) => shorten(name, Math.max(widths[i] ?? 0, 1))),
    rows.map((row) => row.map(cut)),
    paint,
  );
}
