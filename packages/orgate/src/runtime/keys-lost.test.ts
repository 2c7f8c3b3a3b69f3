import { existsSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openProjectStore } from "./ports/project-store.ts";

let directory = "";
beforeEach(() => {
  directory = join(mkdtempSync(join(tmpdir(), "orgate-keys-")), ".orgate");
});
afterEach(() => rmSync(join(directory, ".."), { recursive: true }));
const open = () => openProjectStore({ directory, thread: "main", powerCut: "lose-last-moments" });

test("J-17 keys of a journal that is there are not made again: it stops with what to do, and nothing is left behind", async () => {
  await (await open()).close();
  for (const lost of ["keys", "keys/root.key", "keys/blobs.key"]) {
    renameSync(join(directory, lost), join(directory, "away"));
    await expect(open()).rejects.toThrow(/it is gone, and the journal was made with it/);
    expect([lost, existsSync(join(directory, lost))]).toEqual([lost, false]);
    renameSync(join(directory, "away"), join(directory, lost));
  }
  await (await open()).close();
});
