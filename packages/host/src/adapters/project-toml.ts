/**
 * `orgate.toml`: where a project is, and what it says.
 *
 * A3 The nearest one upward is the project; `--project` names a folder and looks nowhere else.
 * A4 A file that cannot be read, is not TOML, or holds an unknown or wrong setting is refused with file, line and column.
 */
import { readFileSync, realpathSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { FaultError } from "@orgate/core";
import { parse, TomlError } from "smol-toml";
import { type Config, toConfig } from "../config.ts";

const FILE = "orgate.toml";
const HINT = "see docs/guide/project.md for every setting";

/** The folder of the nearest `orgate.toml`, from `from` upward. */
export function findProject(from: string): string {
  for (let folder = resolve(from); ; folder = dirname(folder)) {
    if (isThere(join(folder, FILE))) return folder;
    if (dirname(folder) === folder) throw new FaultError({ kind: "project-missing", from: resolve(from) });
  }
}

/** `project` is what `--project` says, null when it was not given. */
export function openProject(project: string | null, from: string): Config {
  if (project === null) return readProject(findProject(from));
  const folder = resolve(from, project);
  if (!isThere(join(folder, FILE)))
    throw bad(join(folder, FILE), null, "there is no such file", "`orgate init` makes a project; --project names its folder");
  return readProject(folder);
}

export function readProject(folder: string): Config {
  const root = realpathSync(folder); // one project, one name: the journal's lock and the agents' paths hang on it
  const file = join(root, FILE);
  const text = readText(file);
  let value: unknown;
  try {
    value = parse(text, { unsafeKeyBehaviour: "throw" });
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const detail = (error.message.split("\n")[0] ?? "").replace(/^Invalid TOML document: /, "");
    throw bad(file, { line: error.line, column: error.column }, `not TOML: ${detail}`, HINT, error);
  }
  const read = toConfig(value, root, file);
  if (read.kind === "invalid") throw bad(file, placeOf(text, read.issue.path), read.issue.detail, HINT);
  return read.config;
}

type Place = Readonly<{ line: number; column: number }>;

/**
 * Where a setting stands. The parser keeps no positions, but it can be asked: the first beginning of the file, in whole lines, that is
 * TOML and holds the path ends with the statement that set it. Slow on a long file, and only ever done once, for an error.
 */
export function placeOf(text: string, path: readonly PropertyKey[]): Place {
  const lines = text.split("\n");
  for (let depth = path.length; depth > 0; depth -= 1) {
    let start = 0; // the line after the last beginning that was whole
    for (let end = 1; end <= lines.length; end += 1) {
      const held = holds(`${lines.slice(0, end).join("\n")}\n`, path.slice(0, depth));
      if (held === null) continue;
      if (held) return inStatement(lines, start, end, path[depth - 1]);
      start = end;
    }
  }
  return { line: 1, column: 1 };
}

/** Null: not TOML as far as it goes. */
function holds(text: string, path: readonly PropertyKey[]): boolean | null {
  let value: unknown;
  try {
    value = parse(text);
  } catch {
    return null;
  }
  for (const step of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) return false;
    value = Reflect.get(value, step);
  }
  return true;
}

/** The key's own word where it can be seen; the statement's first character otherwise. */
function inStatement(lines: readonly string[], start: number, end: number, key: PropertyKey | undefined): Place {
  const word = typeof key === "string" ? key : null;
  for (let i = start; word !== null && i < end; i += 1) {
    const column = (lines[i] ?? "").indexOf(word);
    if (column >= 0 && !/^\s*#/.test(lines[i] ?? "")) return { line: i + 1, column: column + 1 };
  }
  return { line: end, column: ((lines[end - 1] ?? "").search(/\S/) || 0) + 1 };
}

function isThere(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false }) !== undefined;
}

const MAX_BYTES = 256 * 1024;

function readText(file: string): string {
  try {
    const bytes = readFileSync(file);
    if (bytes.length > MAX_BYTES) throw new Error(`larger than ${MAX_BYTES} bytes`);
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    const detail =
      code === "EISDIR"
        ? "is a folder"
        : code === "ERR_ENCODING_INVALID_ENCODED_DATA"
          ? "is not UTF-8"
          : `cannot be read: ${String(error instanceof Error ? error.message : error)}`;
    throw bad(file, null, detail, "it must be a readable text file", error);
  }
}

function bad(file: string, place: Place | null, detail: string, hint: string, cause?: unknown): FaultError {
  return new FaultError({ kind: "file-bad", file, line: place?.line ?? null, column: place?.column ?? null, detail, hint }, cause);
}
