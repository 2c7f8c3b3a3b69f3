/**
 * The lines at the bottom that change. Finished lines are printed above them once and then belong to the terminal: its scrollback, its
 * search, its selection. So drawing costs only what changes, however long the session is.
 *
 * S-19 what is settled is written once, in order, and never touched again; the region below it is all that is ever redrawn.
 * Nothing is written where nothing changed; a row is written again only when it is another one.
 */
import { textWidth } from "../terminal/visible.ts";

/** `cursor`: where the terminal's cursor stands, counted in rows of the region and columns. */
export type Region = Readonly<{ rows: readonly string[]; cursor: Readonly<{ row: number; column: number }> | null }>;
export type LiveRegion = Readonly<{
  /** The text that prints `settled` above and turns the region into `next`. Empty if nothing changed. */
  draw(settled: readonly string[], next: Region): string;
  /** The region goes, the cursor stands where it began. */
  clear(): string;
  /** The terminal may have wrapped rows differently. */
  resized(columns: number): void;
}>;

const ESC = "\u001b[";
const ERASE_DOWN = `${ESC}J`;
const ERASE_LINE = `${ESC}2K`;
const HIDE = `${ESC}?25l`;
const SHOW = `${ESC}?25h`;
/** Terminals that know it show a frame at once; the others pass over it. */
const BEGIN = `${ESC}?2026h`;
const END = `${ESC}?2026l`;
const up = (n: number): string => (n > 0 ? `${ESC}${n}A` : "");
const down = (n: number): string => (n > 0 ? `${ESC}${n}B` : "");
const column = (n: number): string => `${ESC}${n + 1}G`;

export function liveRegion(columns: number): LiveRegion {
  let wide = columns;
  let shown: Region = { rows: [], cursor: null };
  /** Rows of the screen above the cursor that are the region's. */
  let above = 0;

  const place = ({ rows, cursor }: Region, from: number): string => {
    const row = cursor === null ? Math.max(rows.length - 1, 0) : cursor.row;
    above = row;
    const move = row < from ? up(from - row) : down(row - from);
    return `${move}${cursor === null ? column(0) : column(cursor.column)}${cursor === null ? HIDE : SHOW}`;
  };
  /**
   * Never everything from the first place of the screen on: a terminal that keeps what was cleared would keep every picture that stood there (tmux does),
   * one for each row that an answer grows by. So the first row is erased by itself, and what is below it from below.
   */
  const anew = (lines: readonly string[]): string => {
    const [first = "", ...rest] = lines;
    const top = `${up(above)}\r`;
    if (rest.length > 0) return `${top}${ERASE_LINE}${first}\r\n${ERASE_DOWN}${rest.join("\r\n")}`;
    return `${top}${shown.rows.length > 1 ? `\r\n${ERASE_DOWN}${up(1)}` : ""}${ERASE_LINE}${first}`;
  };
  const whole = (settled: readonly string[], next: Region): string =>
    anew([...settled, ...next.rows]) + place(next, Math.max(next.rows.length - 1, 0));

  const changed = (next: Region): string => {
    let at = above;
    let text = "";
    for (const [i, row] of next.rows.entries()) {
      if (shown.rows[i] === row) continue;
      text += `${i < at ? up(at - i) : down(i - at)}\r${ERASE_LINE}${row}`;
      at = i;
    }
    return text === "" && sameCursor(shown.cursor, next.cursor) ? "" : text + place(next, at);
  };
  return {
    draw(settled, next) {
      const text = settled.length > 0 || next.rows.length !== shown.rows.length ? whole(settled, next) : changed(next);
      shown = next;
      return text === "" ? "" : `${BEGIN}${HIDE}${text}${END}`;
    },
    clear() {
      const text = `${shown.rows.length === 0 ? `${up(above)}\r${ERASE_DOWN}` : anew([""])}${SHOW}`;
      shown = { rows: [], cursor: null };
      above = 0;
      return text;
    },
    resized(now) {
      // a narrower terminal breaks a row into several; a wider one joins nothing, since every row ends in a line feed
      const broken = (row: string): number => Math.max(1, Math.ceil(textWidth(withoutColour(row)) / now));
      const before = shown.rows.slice(0, above).reduce((sum, row) => sum + broken(row), 0);
      above = now < wide ? before + Math.floor((shown.cursor?.column ?? 0) / now) : above;
      wide = now;
      shown = { rows: [], cursor: null }; // nothing of it is taken for granted
    },
  };
}

const sameCursor = (a: Region["cursor"], b: Region["cursor"]): boolean => a?.row === b?.row && a?.column === b?.column;
const withoutColour = (text: string): string => text.replace(/\u001b\[[0-9;]*m/g, "");
