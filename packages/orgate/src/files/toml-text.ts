/** TOML with places: the parser keeps none, but it can be asked. */
import { parse, TomlError } from "smol-toml";

export type TextPosition = Readonly<{ line: number; column: number }>;
export type ReadToml = Readonly<{ kind: "toml"; value: unknown } | ({ kind: "not-toml"; detail: string } & TextPosition)>;

export function readToml(text: string): ReadToml {
  try {
    return { kind: "toml", value: parse(text, { unsafeKeyBehaviour: "throw" }) };
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const detail = (error.message.split("\n")[0] ?? "").replace(/^Invalid TOML document: /, "");
    return { kind: "not-toml", detail, line: error.line, column: error.column };
  }
}

/**
 * Where a setting stands: the first beginning of the file, in whole lines, that is TOML and holds the path ends with the statement that
 * set it. Slow on a long file, and only ever done once, for an error.
 */
export function findTomlPosition(text: string, path: readonly PropertyKey[]): TextPosition {
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
function inStatement(lines: readonly string[], start: number, end: number, key: PropertyKey | undefined): TextPosition {
  const word = typeof key === "string" ? key : null;
  for (let i = start; word !== null && i < end; i += 1) {
    const column = (lines[i] ?? "").indexOf(word);
    if (column >= 0 && !/^\s*#/.test(lines[i] ?? "")) return { line: i + 1, column: column + 1 };
  }
  return { line: end, column: ((lines[end - 1] ?? "").search(/\S/) || 0) + 1 };
}
