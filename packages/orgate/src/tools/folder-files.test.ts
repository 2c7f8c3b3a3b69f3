import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { folderFiles } from "./folder-files.ts";

const root = mkdtempSync(join(tmpdir(), "orgate-folder-"));
const put = (path: string, text: string): void => {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
};
beforeAll(() => {
  put("notes/today", "call Ana");
  put("notes/.env.local", "KEY=1");
  put(".orgate/keys/root.key", "private");
  put(".env", "KEY=1");
  put("other", "outside");
  symlinkSync("../.orgate/keys", join(root, "notes", "keys"));
  symlinkSync("../other", join(root, "notes", "link"));
  symlinkSync("today", join(root, "notes", "same"));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

const REFUSED = [
  "../.orgate/keys/root.key",
  "keys/root.key",
  "../.env",
  ".env.local",
  "link",
  "../other",
  "../notes",
  "..",
  ".",
  "",
  "a\0b",
  "n".repeat(5000),
];

test.each(REFUSED)("T-14 a file that does not lie in the folder, or that holds keys, is not read or written: %j", (name) => {
  const notes = folderFiles({ root, folder: "notes" });
  expect([notes.mayRead(name), notes.mayWrite(name)]).toEqual([false, false]);
  expect(() => notes.read(name)).toThrow("must be a file in `notes`");
  expect(() => notes.write(name, "x")).toThrow("must be a file in `notes`");
  expect(() => notes.append(name, "x")).toThrow("must be a file in `notes`");
  expect(readFileSync(join(root, ".orgate/keys/root.key"), "utf8")).toBe("private");
});

test("T-14 what lies in the folder is read, written and appended to, by the path that policies decide on", () => {
  const notes = folderFiles({ root, folder: "notes" });
  expect([notes.read("today"), notes.read("same"), notes.path("same")]).toEqual(["call Ana", "call Ana", "notes/today"]);
  notes.write("deep/new", "a");
  notes.append("deep/new", "b");
  expect([readFileSync(join(root, "notes/deep/new"), "utf8"), notes.path("deep/new")]).toEqual(["ab", "notes/deep/new"]);
  expect(() => notes.read("none")).toThrow("there is no file `notes/none`");
});
