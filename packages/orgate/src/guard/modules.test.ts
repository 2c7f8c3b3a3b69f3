import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { importModule } from "./modules.ts";

test("A-2 a module that awaits forever is named, with what is wrong with it", async () => {
  const root = mkdtempSync(join(tmpdir(), "orgate-modules-"));
  try {
    mkdirSync(join(root, "agents"));
    const file = join(root, "agents", "slow.ts");
    writeFileSync(file, "await new Promise(() => {});\nexport default 1;\n");
    await expect(importModule(file, root, 20)).rejects.toMatchObject({
      fault: { kind: "file-bad", file, detail: expect.stringContaining("it has not loaded within 0.02 s: an `await` in it does not end") },
    });
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});
