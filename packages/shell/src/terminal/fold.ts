/** A text that is wider than the screen is folded over lines, each marked; nothing of it is left out. */
import { textWidth, visible } from "./visible.ts";

/** Of several lines; hidden characters escaped. `columns` is what there is for each. */
export function foldText(text: string, columns: number): readonly string[] {
  return text.split("\n").flatMap((line) => foldLine(visible(line), Math.max(columns, NARROWEST)));
}

const NARROWEST = 8;
export const FOLD = "↪ ";

function foldLine(line: string, columns: number): readonly string[] {
  const lines: string[] = [];
  let now = "";
  let used = 0;
  for (const c of line) {
    const wide = textWidth(c);
    if (used + wide > columns) {
      lines.push(now);
      [now, used] = [FOLD, textWidth(FOLD)];
    }
    now += c;
    used += wide;
  }
  return [...lines, now];
}
