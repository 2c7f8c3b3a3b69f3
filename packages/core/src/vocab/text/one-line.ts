import type { Attachment } from "../attachment.ts";
import { escapeHidden } from "./hidden.ts";

/** Line breaks become blanks, hidden characters are shown; cut by characters, never inside one. Only the beginning of a long text is read. */
export function oneLine(text: string, most: number): string {
  const start = cutAt(text.slice(0, most * 8), most * 4)
    .replace(/\s+/gu, " ")
    .trim();
  return cutAt(escapeHidden(start), most);
}

/** The text, or its beginning with an ellipsis: at most `most` characters. */
export function cutAt(text: string, most: number): string {
  if (text.length <= most) return text;
  const letters = [...text];
  return letters.length <= most ? text : `${letters.slice(0, most - 1).join("")}…`;
}

const MOST_TITLE = 60;
/** Only the beginning of a long input is read. */
const TITLE_START = 4_000;

/** J-8 the name of a session in lists: the first line of its first input, or the names of its files. Null if neither has text. */
export function sessionTitle(input: string, files: readonly Pick<Attachment, "name">[]): string | null {
  const [line = ""] = input
    .slice(0, TITLE_START)
    .trimStart()
    .split(/[\r\n\u2028\u2029]/, 1);
  const text = line.trim() === "" ? files.flatMap(({ name }) => name ?? []).join(", ") : line;
  const title = oneLine(text, MOST_TITLE);
  return title === "" ? null : title;
}
