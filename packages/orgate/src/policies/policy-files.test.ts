import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type ReadFolder, readPolicyFolder } from "./policy-files.ts";

let root = "";
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "orgate-policies-"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const PERMIT = 'permit(principal, action == Action::"model", resource);\n';
const CASE = { name: "thinks", agent: "clerk", action: "model", verdict: "allow" };

function write(files: Readonly<Record<string, string | Uint8Array>>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
}
const read = (): ReadFolder => readPolicyFolder({ folder: join(root, "policies"), label: "policies", within: root });
function folder() {
  const found = read();
  if (found.kind === "refused") throw new Error(found.problems[0].detail);
  return found.folder;
}
const troubles = (): readonly string[] => {
  const found = read();
  return found.kind === "refused" ? found.problems.map((p) => `${p.file}:${p.line}:${p.column} ${p.detail}`) : [];
};

test("G-9 policies for everybody, for a surface, and to be recorded only, each with its table", () => {
  write({
    "policies/base.cedar": PERMIT,
    "policies/base.cases.json": JSON.stringify([CASE, { ...CASE, surface: "api" }]),
    "policies/api/more.cedar": PERMIT,
    "policies/api/more.cases.json": JSON.stringify([CASE]),
    "policies/shadow/next.cedar": PERMIT,
    "policies/shadow/cli/next.cedar": PERMIT,
    "policies/README.md": "how they read",
    "policies/.base.cedar.swp": "not ours",
    "policies/base.ceder": PERMIT,
  });
  const { policies, tables, warnings } = folder();
  expect(policies.map(({ name, path, surface, shadow }) => [name, path, surface, shadow])).toEqual([
    ["api/more", "policies/api/more.cedar", "api", false],
    ["base", "policies/base.cedar", null, false],
    ["shadow/cli/next", "policies/shadow/cli/next.cedar", "cli", true],
    ["shadow/next", "policies/shadow/next.cedar", null, true],
  ]);
  expect(tables.map((t) => [t.path, t.cases.map((c) => [c.case.surface, c.named])])).toEqual([
    ["policies/api/more.cases.json", [["api", false]]],
    [
      "policies/base.cases.json",
      [
        ["cli", false],
        ["api", true],
      ],
    ],
  ]);
  expect(warnings.map((w) => w.file)).toEqual(["policies/base.ceder"]);
});

test("G-18 what looks like a policy and is not read is told, also where something else is wrong", () => {
  write({
    "policies/base.cedar": PERMIT,
    "policies/old.cedar~": PERMIT,
    "policies/note.cedar.txt": PERMIT,
    "policies/.base.cedar.bak": PERMIT,
    "policies/.cli/x.cedar": PERMIT,
    "policies/.old/shadow/cli/x.cases.json": "[]",
    "policies/.old/notes": "not meant",
    "policies/notes~": "not meant",
    "policies/.base.cedar.swp": "an editor's",
    "policies/.git/x.cedar": "git's",
  });
  const unread = [
    "policies/.base.cedar.bak",
    "policies/.cli/x.cedar",
    "policies/.old/shadow/cli/x.cases.json",
    "policies/note.cedar.txt",
    "policies/old.cedar~",
  ];
  expect(folder().warnings.map((w) => w.file)).toEqual(unread);
  expect(folder().policies.map((p) => p.below)).toEqual(["base.cedar"]);
  write({ "policies/bad.cedar": Uint8Array.of(0xff) });
  expect(read()).toMatchObject({ kind: "refused", warnings: unread.map((file) => ({ file })) });
});

test("G-9 no folder holds no policies; a file in its place is refused", () => {
  expect(folder()).toEqual({ policies: [], tables: [], warnings: [] });
  write({ policies: "a file" });
  expect(troubles()).toEqual(["policies:1:1 is not a folder"]);
});

test.each<[string, () => void, string]>([
  ["that is not UTF-8", () => write({ "policies/bad.cedar": Uint8Array.of(0x70, 0xff, 0xfe) }), "policies/bad.cedar:1:1 is not UTF-8"],
  ["that is a folder", () => mkdirSync(join(root, "policies/bad.cedar")), "policies/bad.cedar:1:1 is a folder"],
  ["that is a pipe", () => void execFileSync("mkfifo", [join(root, "policies/bad.cedar")]), "policies/bad.cedar:1:1 is not a regular file"],
  [
    "whose link leads to a pipe",
    () => {
      execFileSync("mkfifo", [join(root, "pipe")]);
      symlinkSync("../pipe", join(root, "policies/bad.cedar"));
    },
    "policies/bad.cedar:1:1 is not a regular file",
  ],
  [
    "that is too large to be read",
    () => {
      write({ "policies/bad.cedar": "" });
      truncateSync(join(root, "policies/bad.cedar"), 1024 ** 4); // a hole: to read it would take more memory than there is
    },
    "policies/bad.cedar:1:1 is larger than 1048576 bytes",
  ],
  [
    "whose link leads nowhere",
    () => symlinkSync(join(root, "gone"), join(root, "policies/bad.cedar")),
    "policies/bad.cedar:1:1 there is no such file",
  ],
  [
    "whose link leads out of the project",
    () => symlinkSync("/etc/hostname", join(root, "policies/bad.cedar")),
    "policies/bad.cedar:1:1 leads out of the project",
  ],
  [
    "in a folder that leads out of the project",
    () => symlinkSync("/etc", join(root, "policies/cli")),
    "policies/cli:1:1 leads out of the project",
  ],
  ["in a folder that is no surface", () => write({ "policies/clo/x.cedar": PERMIT }), "policies/clo:1:1 there is no surface `clo`"],
  ["too deep", () => write({ "policies/cli/more/x.cedar": PERMIT }), "policies/cli/more:1:1 there is no surface `more`"],
  [
    "whose table is alone",
    () => write({ "policies/x.cases.json": JSON.stringify([CASE]) }),
    "policies/x.cases.json:1:1 there is no policy file beside it",
  ],
  ["whose table is no JSON", () => write({ "policies/base.cases.json": '[\n  { "name": }' }), "policies/base.cases.json:2:13 not JSON"],
  [
    "whose table has an unknown field",
    () => write({ "policies/base.cases.json": JSON.stringify([CASE, { ...CASE, verdikt: "allow" }], null, 2) }),
    "policies/base.cases.json:8:3 case 2: there is no field `verdikt`",
  ],
  [
    "whose table has an unknown verdict",
    () => write({ "policies/base.cases.json": JSON.stringify([{ ...CASE, verdict: "perhaps" }], null, 2) }),
    "policies/base.cases.json:6:16 case 1: `verdict`",
  ],
  [
    "whose table lacks an action",
    () => write({ "policies/base.cases.json": JSON.stringify([{ name: "a", verdict: "deny" }]) }),
    "policies/base.cases.json:1:2 case 1: `action` is missing",
  ],
  [
    "whose table is empty",
    () => write({ "policies/base.cases.json": "[]" }),
    "policies/base.cases.json:1:1 it has no case: an empty table proves nothing",
  ],
])("G-9 G-14 one file %s fails the whole set, with its place", (_, damage, line) => {
  write({ "policies/base.cedar": PERMIT });
  damage();
  expect(troubles()).toEqual([expect.stringContaining(line)]);
});

test("G-9 a file without permission to read fails the whole set", () => {
  write({ "policies/base.cedar": PERMIT, "policies/bad.cedar": PERMIT });
  chmodSync(join(root, "policies/bad.cedar"), 0);
  chmodSync(root, 0o755);
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) process.seteuid?.(65_534); // root reads everything: be nobody for a moment
  try {
    expect(troubles()).toEqual(["policies/bad.cedar:1:1 cannot be read: no permission"]);
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
});

test("G-9 a link inside the project is followed", () => {
  write({ "shared/base.cedar": PERMIT });
  mkdirSync(join(root, "policies"));
  symlinkSync("../shared/base.cedar", join(root, "policies/base.cedar"));
  expect(folder().policies.map((p) => p.text)).toEqual([PERMIT]);
});
