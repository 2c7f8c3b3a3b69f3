/**
 * Lines that commands print, on a screen that may be narrower than they are.
 * Printed text breaks at blanks, and goes on below the column that its words began in: no word is cut that has room in a line.
 */
import { textWidth } from "../terminal/visible.ts";

const COLOUR = /\u001b\[[0-9;]*m/g;
const PIECES = /\u001b\[[0-9;]*m|\s+|[^\s\u001b]+|\u001b/g;
/** Continuation lines hang below a table's last column that begins within this share of the screen, or below a list item's text. */
const HANGING = 0.6;

function hangOf(line: string, columns: number): number {
  let hang = textWidth(/^\s*(?:(?:[-*•●✓✗!?›]|\d+\.)\s+)?/.exec(line)?.[0] ?? "");
  for (const { index, 0: blanks } of line.matchAll(/(?<=\S)\s{2,}(?=\S)/g)) {
    const at = textWidth(line.slice(0, index + blanks.length));
    if (at <= columns * HANGING) hang = at;
  }
  return hang <= columns * HANGING ? hang : 0;
}

/** With its colours, which take no room: they go on over a break. */
export function foldLines(line: string, columns: number): readonly string[] {
  const bare = line.replace(COLOUR, "");
  if (textWidth(bare) <= columns) return [line];
  const hang = hangOf(bare, columns);
  const rows: string[] = [];
  let [now, used] = ["", 0];
  const broken = (): void => {
    rows.push(now.trimEnd());
    [now, used] = [" ".repeat(hang), hang];
  };
  for (const piece of line.match(PIECES) ?? []) {
    const wide = piece.startsWith("\u001b") ? 0 : textWidth(piece);
    if (used + wide <= columns) {
      if (piece.trim() !== "" || used > hang || rows.length === 0) [now, used] = [now + piece, used + wide]; // blanks at a break are not shown
    } else if (piece.trim() === "") broken();
    else {
      if (used > hang) broken();
      for (const c of piece) {
        if (used + textWidth(c) > columns) broken();
        [now, used] = [now + c, used + textWidth(c)];
      }
    }
  }
  return [...rows, now.trimEnd()];
}
