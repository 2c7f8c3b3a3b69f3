import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { closingLines } from "./closing-line.ts";
import { temporaryTree } from "./fixtures/temporary-tree.ts";
import { installPrograms, lacksOf, missingPrograms, NEED_NAMES, postgresTag, requiredNeeds } from "./machine.ts";

/** A folder that has just apt-get: everything else is missing on a machine with this path. */
function pathWithApt(): string {
  const folder = join(temporaryTree({}), "bin");
  mkdirSync(folder);
  writeFileSync(join(folder, "apt-get"), "#!/bin/sh\n");
  chmodSync(join(folder, "apt-get"), 0o755);
  return folder;
}

test("R-10 a machine that has nothing lacks every need, each with a reason that names the program", () => {
  const lacks = lacksOf("/nowhere");
  expect(lacks.map(({ need }) => need)).toEqual(NEED_NAMES);
  expect(lacks).toContainEqual({ need: "sandbox", reason: "bwrap and prlimit are not installed" });
  expect(lacks).toContainEqual({ need: "tmux", reason: "tmux is not installed" });
});

test("R-10 a program in somebody's home does not count: a sandbox does not show it", () => {
  expect(missingPrograms("git", join(temporaryTree({ git: "" }), "bin"))).toEqual(["git"]);
});

test("R-10 as root it installs what is missing and says so; ORGATE_INSTALL=no, or nobody with the right to, leaves the machine alone", () => {
  const env = { PATH: pathWithApt() };
  const installing = (uid: number, more: NodeJS.ProcessEnv, ok: (program: string, args: readonly string[]) => boolean) => {
    const [said, ran]: [string[], string[]] = [[], []];
    const run = (program: string, args: readonly string[]) => {
      ran.push([program, ...args].join(" "));
      return { ok: ok(program, args), said: "E: no such package" };
    };
    installPrograms((line) => said.push(line), { env: { ...env, ...more }, uid, run });
    return { said, ran };
  };
  const always = () => true;
  const asRoot = installing(0, {}, always);
  expect(asRoot.said).toEqual([expect.stringMatching(/^some tests need bubblewrap, .*tmux: installing with apt-get \(ORGATE_INSTALL=no /)]);
  expect(asRoot.ran).toEqual([expect.stringMatching(/^apt-get install -y --no-install-recommends bubblewrap util-linux .*tmux$/)]);
  expect(installing(1000, {}, always).ran).toEqual(["sudo -n true", expect.stringMatching(/^sudo -n apt-get install /)]);
  expect(installing(1000, {}, (program) => program !== "sudo")).toEqual({ said: [], ran: ["sudo -n true"] });
  expect(installing(0, { ORGATE_INSTALL: "no" }, always)).toEqual({ said: [], ran: [] });
  expect(installing(0, { PATH: "/nowhere" }, always)).toEqual({ said: [], ran: [] });
});

test("R-10 an old list of packages is brought up to date once, and a package that is not to be had is told", () => {
  const ran: string[] = [];
  const said: string[] = [];
  const run = (program: string, args: readonly string[]) => {
    ran.push([program, args[0]].join(" "));
    return { ok: args[0] === "update", said: "E: no such package" };
  };
  installPrograms((line) => said.push(line), { env: { PATH: pathWithApt() }, uid: 0, run });
  expect(ran).toEqual(["apt-get install", "apt-get update", "apt-get install"]);
  expect(said.at(-1)).toBe("not installed: E: no such package; the tests that need it are not run");
});

test("R-10 what was not run is said with its reason before the count; a required need that is missing is said too", () => {
  const tags = [
    { name: "sandbox", skip: true, description: "bwrap is not installed" },
    { name: "tmux", description: "tmux is not installed" },
    { name: "git", description: "" },
  ];
  const tests = [
    { state: "passed", file: "a", tags: [] },
    { state: "skipped", file: "a", tags: ["sandbox", "git"] },
    { state: "skipped", file: "b", tags: ["sandbox"] },
    { state: "failed", file: "c", tags: ["tmux"] },
  ] as const;
  expect(closingLines(tests, 1, tags, new Set(["tmux"]))).toEqual([
    "not run: 2 tests in 2 files, because bwrap is not installed",
    "required by ORGATE_REQUIRE, and missing: tmux (tmux is not installed)",
    "1 passed, 2 failed, 2 skipped",
  ]);
  expect(closingLines([{ state: "passed", file: "a", tags: ["git"] }], 0, tags, new Set())).toEqual(["1 passed, 0 failed, 0 skipped"]);
});

test("R-10 ORGATE_REQUIRE names needs, or all; a misspelt one is an error and requires nothing in silence", () => {
  expect([...requiredNeeds("sandbox, tmux")]).toEqual(["sandbox", "tmux"]);
  expect([...requiredNeeds("all")]).toEqual(NEED_NAMES);
  expect([...requiredNeeds("")]).toEqual([]);
  expect(() => requiredNeeds("sandbx")).toThrow("ORGATE_REQUIRE names `sandbx`, which is none of sandbox, curl");
});

test("R-10 tests of PostgreSQL are skipped, with the command that runs them, unless a server is named", () => {
  expect(postgresTag(undefined)).toMatchObject({ skip: true, description: expect.stringContaining("npm run cluster:contracts") });
  expect(postgresTag("postgres://127.0.0.1/orgate")).toEqual({ name: "postgres", description: "" });
});
