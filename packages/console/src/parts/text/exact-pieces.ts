/** Splits a text so that hidden characters are visible, and differ from escapes written by hand. */
import { escapeHidden } from "@orgate/core/vocab";

export type Piece = Readonly<{ text: string; hidden: boolean }>;

/** Cuts a text without splitting a character. */
export const cutText = (text: string, most: number): string => text.slice(0, most).replace(/[\ud800-\udbff]$/, "");

export function splitHidden(text: string): readonly Piece[] {
  const isPlain = (c: string): boolean => c === "\n" || c === "\t" || escapeHidden(c) === c;
  if (escapeHidden(text.replaceAll(/[\n\t]/g, " ")) === text.replaceAll(/[\n\t]/g, " ")) return [{ text, hidden: false }];
  const pieces: { text: string; hidden: boolean }[] = [];
  for (const c of text) {
    const hidden = !isPlain(c);
    const last = pieces.at(-1);
    const shown = hidden ? escapeHidden(c) : c;
    if (last?.hidden === hidden) last.text += shown;
    else pieces.push({ text: shown, hidden });
  }
  return pieces;
}
