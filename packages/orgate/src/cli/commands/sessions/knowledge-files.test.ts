import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { toProjectFolder } from "@orgate/core/knowledge";
import { afterEach, expect, test } from "vitest";
import { documentsAt } from "./knowledge-files.ts";

const made: string[] = [];
afterEach(() => {
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true });
});

test("N-7 a document's folder is one that can be asked for and exported, or none; links lead nowhere", () => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "orgate-files-")));
  made.push(root);
  for (const folder of ["cafe\u0301", "back\\slash", "plain"]) {
    mkdirSync(join(root, folder));
    writeFileSync(join(root, folder, "a.md"), "text");
  }
  symlinkSync(tmpdir(), join(root, "out"));
  const { documents } = documentsAt(["."], root, root);
  expect(documents.map(({ directory }) => directory)).toEqual([null, "caf\u00e9", "plain"]);
  for (const { directory } of documents) expect(directory === null ? null : toProjectFolder(directory)).toBe(directory);
});
