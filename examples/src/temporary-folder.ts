import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A folder of its own for an example's journal, gone when the process ends. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "orgate-example-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
