/** For frameworks that leave storing to the application: one file, replaced in one go, so that a kill leaves the old text or the new. */
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export type FileStore<T> = Readonly<{ read(): T | null; write(value: T): void }>;

export function fileStore<T>(folder: string, name: string): FileStore<T> {
  const path = join(folder, name);
  return {
    read: () => (existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as T) : null),
    write(value) {
      writeFileSync(`${path}.new`, JSON.stringify(value));
      renameSync(`${path}.new`, path);
    },
  };
}
