/** Text files of a project: UTF-8, of a bounded size, or refused with what is wrong. */
import { readFileSync, realpathSync } from "node:fs";
import { sep } from "node:path";

/** Throws a plain `Error` whose message is one phrase about the file: callers know its place and what to do. */
export function readTextFile(file: string, maxBytes: number): string {
  try {
    const bytes = readFileSync(file);
    if (bytes.length > maxBytes) throw new Error(`larger than ${maxBytes} bytes`);
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    throw new Error(troubleOf(error), { cause: error });
  }
}

function troubleOf(error: unknown): string {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  switch (code) {
    case "ENOENT":
      return "there is no such file";
    case "EISDIR":
      return "is a folder";
    case "EACCES":
    case "EPERM":
      return "cannot be read: no permission";
    case "ELOOP":
      return "cannot be read: its links lead in a circle";
    case "ERR_ENCODING_INVALID_ENCODED_DATA":
      return "is not UTF-8";
    default:
      return `cannot be read: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** Both with their links resolved. */
export const isBelow = (file: string, root: string): boolean => file.startsWith(root.endsWith(sep) ? root : root + sep);

/** Null where nothing is there, or its links lead nowhere. */
export function realPath(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    return null;
  }
}
