/** Exports as files: whole or not at all, because a cut export would be taken for a torn one. */
import { createHash } from "node:crypto";
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { FaultError } from "@orgate/core/vocab";

/** `digest`: SHA-256 of the file. */
export type WrittenExport = Readonly<{ lines: number; digest: string }>;

/** Durable when this returns, with its name. */
export function writeExportFile(path: string, lines: Iterable<string>): WrittenExport {
  const draft = `${path}.part`;
  const hash = createHash("sha256");
  let written = 0;
  try {
    const fd = openSync(draft, "w", 0o600); // it holds all that was said
    try {
      for (const line of lines) {
        writeSync(fd, line);
        hash.update(line);
        written += 1;
      }
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    renameSync(draft, path);
    syncFolder(dirname(path));
    return { lines: written, digest: hash.digest("hex") };
  } catch (error) {
    rmSync(draft, { force: true });
    if (error instanceof FaultError || !(error instanceof Error && "code" in error)) throw error;
    const detail = `cannot be written: ${error.message}`;
    throw new FaultError({ kind: "file-bad", file: path, line: null, column: null, detail, hint: "name another place with --out" }, error);
  }
}

function syncFolder(folder: string): void {
  const fd = openSync(folder, "r");
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
