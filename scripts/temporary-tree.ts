// A folder with the given files, for tests of the checks; removed when the test that asked for it has finished.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";

export function temporaryTree(files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(tmpdir(), "orgate-scripts-"));
  onTestFinished(() => rmSync(root, { recursive: true }));
  for (const [file, text] of Object.entries({ ".gitignore": "node_modules/\n*.log\n", ...files })) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), text);
  }
  return root;
}
