/**
 * Lines that fit a terminal.
 *
 * A line that is too long for the terminal goes on below its own text; colours take no room, and nothing is lost but blanks at the fold.
 */
import { textWidth } from "@orgate/shell/terminal";

const PIECES = /\u001b\[[\d;]*m|[^\s\u001b]+| +/gu;
/** Marks that stand before a text: what goes on goes on below the text. */
const LEAD = /^((?:\u001b\[[\d;]*m)*)( *)((?:\u001b\[[\d;]*m)*(?:[✓✗?←↻!·$]|\d\.)(?:\u001b\[[\d;]*m)* )?/u;
const COLOURS = /\u001b\[[\d;]*m/gu;
const NARROWEST = 20;

export function wrapLine(line: string, columns: number): readonly string[] {
  const room = Math.max(columns, NARROWEST);
  const [, , blanks = "", mark = ""] = LEAD.exec(line) ?? [];
  const indent = " ".repeat(Math.min(blanks.length + textWidth(mark.replaceAll(COLOURS, "")), room / 2));
  const lines: string[] = [];
  let [now, used] = ["", 0];
  const fold = (): void => {
    lines.push(now.trimEnd());
    [now, used] = [indent, indent.length];
  };
  for (const [piece] of line.matchAll(PIECES)) {
    if (piece.startsWith("\u001b")) {
      now += piece;
      continue;
    }
    const wide = textWidth(piece);
    if (piece.startsWith(" ")) {
      // blanks at a fold are the fold
      if (used + wide <= room && !(lines.length > 0 && used === indent.length)) [now, used] = [now + piece, used + wide];
      else if (used > indent.length) fold();
      continue;
    }
    if (used + wide > room && used > indent.length && wide <= room - indent.length) fold();
    for (const c of piece) {
      if (used + textWidth(c) > room) fold();
      [now, used] = [now + c, used + textWidth(c)];
    }
  }
  return [...lines, now.trimEnd()];
}
