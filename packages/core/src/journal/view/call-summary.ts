/**
 * One call in one line, wherever it is shown.
 * V-6 a call's summary is one line of at most 80 characters with an ellipsis where it was cut: its `command`, else its `path`, `file_path`, `filename` or
 *     `artifact_path`, else its first three fields as `name=value` with strings cut at 30, else what the model wrote.
 */
import { type Attachment, escapeHidden, type Json, toCanonicalJson } from "../../vocab/index.ts";

const MOST = 80;
const MOST_STRING = 30;
const TELLING = ["command", "path", "file_path", "filename", "artifact_path"] as const;

/** `text`: the arguments as the model wrote them, for when they are no object. */
export function callSummary(args: Json | null, text: string): string {
  if (typeof args !== "object" || args === null || Array.isArray(args)) return oneLine(text, MOST);
  const own = (name: string): Json | undefined => (Object.hasOwn(args, name) ? (args as Readonly<Record<string, Json>>)[name] : undefined);
  for (const name of TELLING) {
    const value = own(name);
    if (typeof value === "string" && value !== "") return oneLine(value, MOST);
  }
  const fields = Object.entries(args)
    .slice(0, 3)
    .map(([name, value]) => `${name}=${typeof value === "string" ? cutAt(value, MOST_STRING) : toCanonicalJson(value)}`);
  return oneLine(fields.join(" "), MOST);
}

/** Line breaks become blanks, what is hidden is shown; by characters, never inside one. Only the beginning of a long text is looked at. */
export function oneLine(text: string, most: number): string {
  const start = cutAt(text.slice(0, most * 8), most * 4)
    .replace(/\s+/gu, " ")
    .trim();
  return cutAt(escapeHidden(start), most);
}

const MOST_TITLE = 60;
/** Only the beginning of a long input is looked at. */
const TITLE_START = 4_000;

/** J-8 what a session is called in lists: the first line of its first input. Null where nothing can be read: no text, and no file with a name. */
export function sessionTitle(input: string, files: readonly Pick<Attachment, "name">[]): string | null {
  const [line = ""] = input
    .slice(0, TITLE_START)
    .trimStart()
    .split(/[\r\n\u2028\u2029]/, 1);
  const text = line.trim() === "" ? files.flatMap(({ name }) => name ?? []).join(", ") : line;
  const title = oneLine(text, MOST_TITLE);
  return title === "" ? null : title;
}

function cutAt(text: string, most: number): string {
  if (text.length <= most) return text;
  const letters = [...text];
  return letters.length <= most ? text : `${letters.slice(0, most - 1).join("")}…`;
}
