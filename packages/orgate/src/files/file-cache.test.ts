import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { sha256 } from "../node/crypto.ts";
import { type FileCache, openFileCache } from "./file-cache.ts";

let home = "";
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "orgate-home-"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const open = (root = "/p", stamp = "1"): FileCache => openFileCache({ home, root, stamp, hash: sha256 });
function kept(digest = "d", json = '{"a":"ä\\n"}'): void {
  const memory = open();
  memory.keep(digest, json);
  memory.save();
}
const file = (): string => join(home, "cache", readdirSync(join(home, "cache"))[0] ?? "");

test("R-9 what was kept is found as it was, by the same code and for the same project alone", () => {
  kept();
  kept("e", "[]");
  expect([open().find("d"), open().find("e"), open().find("f")]).toEqual(['{"a":"ä\\n"}', "[]", null]);
  expect([open("/q").find("d"), open("/p", "2").find("d")]).toEqual([null, null]);
});

test("R-9 a file with one changed byte, one line less, or no end is not used, and is made anew", () => {
  for (const harm of [
    (text: string) => text.replace("ä", "å"),
    (text: string) => text.slice(0, text.indexOf("\n") + 1),
    (text: string) => text.slice(0, -3),
    (text: string) => text.replace(/"sum":"./, '"sum":"x'),
    () => "",
    () => "no memory",
  ]) {
    kept();
    const text = readFileSync(file(), "utf8");
    expect(harm(text)).not.toBe(text);
    writeFileSync(file(), harm(text));
    expect(open().find("d")).toBeNull();
    kept();
    expect(open().find("d")).not.toBeNull();
  }
});

test.skipIf(process.getuid === undefined)("R-9 where others may write, nothing is read and nothing is kept", () => {
  kept();
  for (const place of [home, join(home, "cache"), file()]) {
    chmodSync(place, 0o777);
    expect(open().find("d")).toBeNull();
    chmodSync(place, 0o700);
    expect(open().find("d")).not.toBeNull();
  }
  const before = file();
  rmSync(before);
  chmodSync(join(home, "cache"), 0o777);
  kept();
  expect(existsSync(before)).toBe(false);
});

test("R-9 no folder is made for a person who has none, and a disk that takes no file costs time alone", () => {
  rmSync(home, { recursive: true });
  kept();
  expect(existsSync(home)).toBe(false);
  mkdirSync(home);
  writeFileSync(join(home, "cache"), "");
  kept();
  expect(open().find("d")).toBeNull();
});
