import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, parse } from "node:path";
import { FaultError } from "@orgate/core";
import { afterEach, beforeEach, expect, test } from "vitest";
import { findTomlPosition } from "../files/toml-text.ts";
import { findProject, openProject, readProject } from "./project-toml.ts";

let root = "";
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "orgate-project-")));
});
afterEach(() => rmSync(root, { recursive: true }));

const write = (text: string | Uint8Array, folder = root) => writeFileSync(join(folder, "orgate.toml"), text);
const GOOD = '[project]\nname = "shop"\n';

function fault(act: () => unknown): FaultError["fault"] {
  try {
    act();
  } catch (error) {
    if (error instanceof FaultError) return error.fault;
    throw error;
  }
  throw new Error("nothing was refused");
}

test("A-2 the nearest project upward is found", () => {
  const inner = join(root, "a", "b");
  mkdirSync(inner, { recursive: true });
  write(GOOD);
  expect(findProject(inner)).toBe(root);
  write(GOOD, join(root, "a"));
  expect(findProject(inner)).toBe(join(root, "a"));
  expect(openProject(null, inner)).toMatchObject({ root: join(root, "a"), name: "shop" });
});

test("A-2 without a project the folder that was looked from is named", () => {
  expect(fault(() => findProject(parse(root).root))).toEqual({ kind: "project-missing", from: parse(root).root });
});

test("A-2 --project names a folder and looks nowhere else", () => {
  const inner = join(root, "inner");
  mkdirSync(inner);
  write(GOOD);
  expect(openProject(root, "/")).toMatchObject({ root });
  expect(openProject("..", inner)).toMatchObject({ root });
  expect(fault(() => openProject("inner", root))).toMatchObject({
    kind: "file-bad",
    file: join(inner, "orgate.toml"),
    detail: "there is no such file",
  });
  expect(fault(() => openProject(join(root, "none"), root))).toMatchObject({ kind: "file-bad" });
});

test("A-2 a project reached through a link is the same project", () => {
  const real = join(root, "real");
  mkdirSync(real);
  write(GOOD, real);
  symlinkSync(real, join(root, "link"));
  expect(readProject(join(root, "link"))).toEqual(readProject(real));
});

test.each<[string, string, number, number, string]>([
  ["a missing quote", '[project]\nname = "shop\n', 2, 13, "not TOML"],
  ["a key twice", '[project]\nname = "a"\nname = "b"\n', 3, 1, "not TOML"],
  ["a value that is none", "[project]\nname = shop\n", 2, 8, "not TOML"],
  ["an unknown table", `${GOOD}\n# the jurnal\n[jurnal]\npath = "x"\n`, 5, 2, "there is no setting `jurnal`"],
  ["an unknown key", '[project]\n  nmae = "x"\n  name = "shop"\n', 2, 3, "there is no setting `project.nmae`"],
  ["an unknown dotted key", `project.name = "shop"\njournal.sync = "full"\n`, 2, 9, "there is no setting `journal.sync`"],
  ["a wrong value", `${GOOD}\n[journal]\ndirectory = "j"\npower_cut = "maybe"\n`, 6, 1, "`journal.power_cut`"],
  ["a wrong element over lines", '[project]\nname = "shop"\nagents = [\n  "a.ts",\n  "../b.ts",\n]\n', 6, 1, "`project.agents.1`"],
  ["a missing key in its table", "[journal]\n[project]\nagents = []\n", 2, 2, "`project.name` is missing"],
  ["nothing at all", "", 1, 1, "`project` is missing"],
  [
    "a look-alike in a text before it",
    '[project]\nname = "shop"\nagents = ["""\nspeed = 1\n"""]\nspeed = 1\n',
    6,
    1,
    "there is no setting `project.speed`",
  ],
])("A-4 %s is refused with file, line and column", (_, text, line, column, detail) => {
  write(text);
  const found = fault(() => readProject(root));
  expect(found).toMatchObject({ kind: "file-bad", file: join(root, "orgate.toml"), line, column });
  expect("detail" in found && found.detail).toContain(detail);
  expect("detail" in found && found.detail).not.toContain("\n");
});

test("A-4 a key that would reach a prototype is refused", () => {
  write(`${GOOD}[__proto__]\nx = 1\n`);
  expect(fault(() => readProject(root))).toMatchObject({ kind: "file-bad", line: 3 });
});

test("A-4 a folder, bytes that are no text and a file too large are refused by name", () => {
  write(new Uint8Array([0x5b, 0xff, 0xfe]));
  expect(fault(() => readProject(root))).toMatchObject({ kind: "file-bad", detail: "is not UTF-8" });
  write(`# ${"x".repeat(300_000)}\n${GOOD}`);
  expect(fault(() => readProject(root))).toMatchObject({ kind: "file-bad", detail: expect.stringContaining("larger than") });
  rmSync(join(root, "orgate.toml"));
  mkdirSync(join(root, "orgate.toml"));
  expect(fault(() => readProject(root))).toMatchObject({ kind: "file-bad", detail: "is a folder" });
});

test("A-4 a file with a byte order mark and Windows line ends is read", () => {
  write(`\ufeff${GOOD.replaceAll("\n", "\r\n")}`);
  expect(readProject(root).name).toBe("shop");
});

test("A-4 a place inside an inline table is its statement", () => {
  expect(findTomlPosition('a = 1\njournal = { path = "x", bad = 2 }\n', ["journal", "bad"])).toEqual({ line: 2, column: 25 });
});
