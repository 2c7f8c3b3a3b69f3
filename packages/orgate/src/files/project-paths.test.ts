import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { openProjectPaths } from "./project-paths.ts";

const root = realpathSync(mkdtempSync(join(tmpdir(), "orgate-places-")));
afterAll(() => rmSync(root, { recursive: true }));

mkdirSync(join(root, "keys", "old"), { recursive: true });
writeFileSync(join(root, "keys", "users.txt"), "ann\n");
writeFileSync(join(root, "keys", "closed.txt"), "ben\n");
chmodSync(join(root, "keys", "closed.txt"), 0o000);
symlinkSync("users.txt", join(root, "keys", "link.txt"));
symlinkSync("old", join(root, "keys", "folder.txt"));
symlinkSync("gone.txt", join(root, "keys", "dangling.txt"));
spawnSync("mkfifo", [join(root, "keys", "pipe")]);

const places = openProjectPaths(root, []);
const said = (path: string): string => {
  const found = places.resolve(path, "be-a-file");
  return found.kind === "place" ? found.real : found.why;
};

test.each([
  ["keys/users.txt", "keys/users.txt"],
  ["keys/link.txt", "keys/users.txt"],
  ["keys", "is no file"],
  ["keys/old/", "is no file"],
  [".", "is no file"],
  ["keys/folder.txt", "is no file"],
  ["keys/pipe", "is no file"],
  ["keys/gone.txt", "is not there"],
  ["keys/dangling.txt", "is not there"],
  ["..", "lies outside the project"],
])("T-15 as a file, %s %s", (path, answer) => expect(said(path)).toBe(answer));

test("T-15 a file that this process cannot read is refused, and one that it can is not", () => {
  let isRead = true;
  try {
    readFileSync(join(root, "keys", "closed.txt")); // whoever runs as root reads it
  } catch {
    isRead = false;
  }
  expect(said("keys/closed.txt")).toBe(isRead ? "keys/closed.txt" : "cannot be read");
});
