/** Names in a folder, for completion; names of folders end in a slash. */
import { readdirSync } from "node:fs";

const MOST_FILES = 1_000;
export function listFiles(folder: string): readonly string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter(({ name }) => !name.startsWith("."))
      .slice(0, MOST_FILES)
      .map((one) => (one.isDirectory() ? `${one.name}/` : one.name));
  } catch {
    return []; // no such folder yet
  }
}
