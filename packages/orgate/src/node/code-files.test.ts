import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { codeFiles } from "./code-files.ts";

test("code in a subfolder of a room is part of the stamp, its tests are not", () => {
  const folder = mkdtempSync(join(tmpdir(), "orgate-code-"));
  try {
    mkdirSync(join(folder, "policies"));
    const before = codeFiles(["gate"], [folder]);
    writeFileSync(join(folder, "policies", "engine.test.ts"), "");
    mkdirSync(join(folder, "fixtures"));
    writeFileSync(join(folder, "fixtures", "sample.ts"), "");
    expect(codeFiles(["gate"], [folder])).toBe(before);
    writeFileSync(join(folder, "policies", "engine.ts"), "");
    expect(codeFiles(["gate"], [folder])).toContain("policies/engine.ts 0 ");
    expect(codeFiles(["gate"])).toContain("policies/engine.ts ");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
