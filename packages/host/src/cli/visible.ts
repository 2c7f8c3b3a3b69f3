/**
 * Text of a model, a tool or a person, made safe to show.
 *
 * V1 control, hidden and bidirectional characters are shown escaped (`\u{202e}`), so that a terminal obeys nobody's text and what is read
 *    is what is there. Line feeds and tabs of a text in several lines stay.
 */
import { escapeHidden, escapeHiddenLines } from "@orgate/core/vocab";

/** On one line. */
export const visible = escapeHidden;

/** With its lines and tabs; Windows line ends become ours. */
export const visibleLines = escapeHiddenLines;

/** For text that comes in pieces: a character cut in two is held back until its other half has come. */
export function visibleStream(): (piece: string) => string {
  let half = "";
  return (piece) => {
    const text = half + piece;
    const last = text.charCodeAt(text.length - 1);
    const cut = last >= 0xd800 && last <= 0xdbff;
    half = cut ? text.slice(-1) : "";
    return visibleLines(cut ? text.slice(0, -1) : text);
  };
}

/** At most `most` columns, with a mark where something was left out. */
export function shortened(text: string, most: number): string {
  if (width(text) <= most) return text;
  let kept = "";
  let used = 0;
  for (const c of text) {
    used += width(c);
    if (used > most - 1) break;
    kept += c;
  }
  return `${kept}…`;
}

const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;
const NARROWEST = /\p{Mn}|\p{Me}|\u200d/u;

/** Columns on a terminal. */
export function width(text: string): number {
  let columns = 0;
  for (const c of text) columns += NARROWEST.test(c) ? 0 : WIDE.test(c) ? 2 : 1;
  return columns;
}
