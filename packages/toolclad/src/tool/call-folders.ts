/** Folders of calls: one to work in, which is gone afterwards, and one in which evidence is kept. */
import { closeSync, constants, fstatSync, mkdirSync, mkdtempSync, openSync, readSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** `directory` is where the journal lies. */
export function openCallFolders(directory: string) {
  return {
    open() {
      const folder = mkdtempSync(join(tmpdir(), "orgate-call-"));
      return {
        folder,
        read: (name: string, maxBytes: number): string | null => readRegular(join(folder, name), maxBytes),
        write(name: string, text: string): string {
          writeFileSync(join(folder, name), text, { mode: 0o600 });
          return join(folder, name);
        },
        close: (): void => rmSync(folder, { recursive: true, force: true }),
      };
    },
    keep(path: string, text: string): string {
      const file = join(directory, "evidence", path);
      mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
      writeFileSync(file, text, { mode: 0o600 });
      return `evidence/${path}`;
    },
  };
}

/** Reads a regular file alone: never through a link, never waiting for a pipe. */
function readRegular(file: string, maxBytes: number): string | null {
  let fd: number;
  try {
    fd = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    return null;
  }
  try {
    if (!fstatSync(fd).isFile()) return null;
    const bytes = Buffer.alloc(Math.min(maxBytes, fstatSync(fd).size));
    const length = readSync(fd, bytes, 0, bytes.length, 0);
    return bytes.subarray(0, length).toString("utf8");
  } finally {
    closeSync(fd);
  }
}
