/**
 * Text of a model, a tool or a person, made safe to show.
 *
 * V-1 control, hidden and bidirectional characters are shown escaped (`\u{202e}`), so that a terminal obeys nobody's text and what is read
 *    is what is there. Line feeds and tabs of a text in several lines stay.
 */
import { escapeHidden, escapeHiddenLines } from "@orgate/core/text";

export { shorten, textWidth } from "@orgate/protocol/text";

/** On one line. */
export const visible = escapeHidden;

/** With its lines and tabs; Windows line ends become ours. */
export const visibleLines = escapeHiddenLines;

/** For text that comes in pieces: half a character waits until its other half has come. */
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
