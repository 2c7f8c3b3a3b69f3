/**
 * One call in one line, wherever it is shown.
 * V-6 a call's summary is one line of at most 80 characters with an ellipsis where it was cut: its `command`, else its `path`, `file_path`, `filename` or
 *     `artifact_path`, else its first three fields as `name=value` with strings cut at 30, else what the model wrote.
 */
import { cutAt, type Json, oneLine, toCanonicalJson } from "@orgate/core/vocab";

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
