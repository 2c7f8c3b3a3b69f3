/**
 * The last look at a row before it is written: whatever was forgotten above, a terminal obeys nobody's text but the shell's own.
 * V-1 of a row that is written only the shell's own colours are obeyed; every other control, hidden or bidirectional character in it is shown escaped.
 */
import { visible } from "../terminal/visible.ts";

/** Those of `paint.ts` and `themes.ts`: bold, faint, colours and their ends. Nothing that hides, moves or asks. */
const COLOUR = /(\u001b\[(?:(?:1|2|22|39|49|41|3[1-6]|9[2-7])(?:;(?=\d)|(?=m))){1,4}m)/;

export function escapeRow(row: string): string {
  return row
    .replaceAll("\t", "  ")
    .split(COLOUR)
    .map((part, i) => (i % 2 === 1 ? part : visible(part)))
    .join("");
}
