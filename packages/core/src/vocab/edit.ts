/**
 * Changes of files that surfaces can show as a diff.
 * Rule: T-13.
 */
import type { Json, JsonObject } from "./text/canonical.ts";
import type { Tool } from "./tool.ts";

export type FileEdit = Readonly<{
  path: string;
  /** Null: there was no such file. */
  before: string | null;
  after: string;
  /** False: only the part that changed is here; the digests are those of the whole. */
  whole: boolean;
  /** SHA-256 of the whole file, in hex; null where there was none, or nobody said. */
  beforeDigest: string | null;
  afterDigest: string | null;
}>;

const EDIT_NAMES: readonly string[] = ["save_artifact", "write_file", "edit_file", "apply_edit"];

/** The name a server gave it, without the server's own before it. */
const bareName = (name: string): string => name.split("__").at(-1) ?? name;

export function isEdit(tool: Pick<Tool, "name" | "edits" | "server">, args: JsonObject | null): boolean {
  if (tool.edits) return true;
  return tool.server !== null && (EDIT_NAMES.includes(bareName(tool.name)) || (args !== null && typeof args["old_string"] === "string"));
}

/** The file change of a call: from its evidence once it ran, else from its arguments. Null when neither says. */
export function toFileEdit(
  tool: Pick<Tool, "name" | "edits" | "server">,
  args: JsonObject | null,
  proof: JsonObject | null,
): FileEdit | null {
  const shown = readEdit(proof?.["edit"]);
  if (shown !== null) return shown;
  if (args === null || !isEdit(tool, args)) return null;
  const path = textIn(args, ["path", "file_path", "file", "name"]);
  const after = textIn(args, ["new_string", "content", "text", "contents"]);
  if (path === null || after === null) return null;
  const old = textIn(args, ["old_string"]);
  const before = old ?? textIn(args, ["before"]);
  return { path, before, after, whole: old === null, beforeDigest: null, afterDigest: null };
}

function textIn(args: JsonObject, names: readonly string[]): string | null {
  const found = names.map((name) => args[name]).find((value) => typeof value === "string");
  return typeof found === "string" ? found : null;
}

/** Of a journal that may have been written by another version: what is not as it should be is nothing. */
function readEdit(given: Json | undefined): FileEdit | null {
  if (typeof given !== "object" || given === null || Array.isArray(given)) return null;
  const { path, before = null, after, whole, beforeDigest = null, afterDigest = null } = given as JsonObject;
  const isText = (value: Json | undefined): value is string => typeof value === "string";
  const isTextOrNone = (value: Json): value is string | null => value === null || isText(value);
  if (!isText(path) || !isText(after) || !isTextOrNone(before) || !isTextOrNone(beforeDigest) || !isTextOrNone(afterDigest)) return null;
  return { path, before, after, whole: whole === true, beforeDigest, afterDigest };
}
