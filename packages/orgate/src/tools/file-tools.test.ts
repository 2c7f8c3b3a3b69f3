import { spawnSync } from "node:child_process";
import {
  chmodSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { callId, callKey, epoch, type Json, type JsonObject, sessionId, type Tool, type ToolContext, toFileEdit } from "@orgate/core";
import { afterEach, expect, test } from "vitest";
import { projectFiles } from "../files/project-files.ts";
import { pathGuard } from "../guard/path-guard.ts";
import { PROTECTED } from "../guard/protected-paths.ts";
import { fileTools } from "./file-tools.ts";

const made: string[] = [];
afterEach(() => {
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function project(files: Readonly<Record<string, string>> = {}) {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "orgate-files-")));
  made.push(root);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(root, path, ".."), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  const tools = fileTools({ root });
  const tool = (name: string): Tool => {
    const found = tools.find((one) => one.name === name);
    if (found === undefined) throw new Error(`no tool ${name}`);
    return found;
  };
  const proofs: JsonObject[] = [];
  const session = sessionId("s_000000000001");
  const context: ToolContext = {
    session,
    key: callKey(session, callId("1.0")),
    epoch: epoch(1),
    start: 1,
    signal: new AbortController().signal,
    note: () => {},
    spent: () => {},
    evidence: (proof) => void proofs.push(proof),
    wouldPermit: () => "yes",
  };
  /** As the loop does: checked, then run. */
  const use = async (name: string, args: JsonObject): Promise<Json> => {
    const checked = tool(name).check(args);
    if (checked.kind !== "valid") throw new Error(checked.kind === "invalid" ? checked.issues.join("; ") : checked.reason);
    return tool(name).run(checked.args, context);
  };
  const text = (path: string): string => readFileSync(join(root, path), "utf8");
  return { root, tool, use, text, proofs, context };
}

test("T-13 a file is read by lines, with how many there are and a digest; what is no text is told, not shown", async () => {
  const { use, root } = project({ "src/a.txt": "one\ntwo\r\nthree\n", empty: "" });
  expect(await use("read_file", { path: "src/a.txt" })).toMatchObject({
    path: "src/a.txt",
    text: "one\ntwo\nthree",
    from: 1,
    to: 3,
    of: 3,
  });
  expect(await use("read_file", { path: "src/a.txt", from: 2, lines: 1 })).toMatchObject({ text: "two", from: 2, to: 2, of: 3 });
  expect(await use("read_file", { path: "empty" })).toMatchObject({ text: "", of: 0 });
  writeFileSync(join(root, "bin"), Buffer.from([1, 0, 2]));
  expect(await use("read_file", { path: "bin" })).toMatchObject({ binary: true, bytes: 3 });
  writeFileSync(join(root, "long"), "x".repeat(1_000_000));
  expect(JSON.stringify(await use("read_file", { path: "long" })).length).toBeLessThan(140_000);
  writeFileSync(join(root, "huge"), Buffer.alloc(9 * 1_048_576));
  await expect(use("read_file", { path: "huge" })).rejects.toThrow(/at most/);
  await expect(use("read_file", { path: "none" })).rejects.toThrow(/there is no file/);
  await expect(use("read_file", { path: "src" })).rejects.toThrow(/is no file/);
});

test("T-12 files of variables are neither read, found nor written, under any of their names", async () => {
  const { use } = project({
    ".env": "K=canary",
    ".env.local": "K=canary",
    "app/.env.production": "K=canary",
    "app/.environment": "K=canary",
  });
  for (const path of [".env", ".env.local", "app/.env.production", "./app/../.env.local", ".ENV.local"]) {
    await expect(use("read_file", { path })).rejects.toThrow("protected");
    await expect(use("write_file", { path, text: "x" })).rejects.toThrow("protected");
  }
  expect(await use("search_files", { text: "canary" })).toMatchObject({ matches: [{ path: "app/.environment" }] });
});

test("T-13 a search that passes by what it does not look into can be stopped all the same", async () => {
  const { tool, context } = project(Object.fromEntries(Array.from({ length: 150 }, (_, i) => [`src/${i}.txt`, "x"])));
  const stop = new AbortController();
  const going = tool("search_files").run({ text: "x", path: ".", ending: ".md" }, { ...context, signal: stop.signal });
  stop.abort();
  await expect(going).rejects.toThrow();
});

test("T-13 a search takes its text as it is, skips what is no text and what may not be read, and stops at its limits", async () => {
  const { use, root } = project({
    "src/a.ts": "const a = 1;\nconst b = a.*;\n",
    "src/b.md": "CONST A\n",
    ".env": "const secret",
    "policies/p.cedar": "const secret",
    ".orgate/keys/root.key": "const secret",
    "node_modules/m/i.ts": "const secret",
  });
  writeFileSync(join(root, "bin"), Buffer.from("const a\0"));
  symlinkSync("/etc", join(root, "src/etc"));
  expect(await use("search_files", { text: "const a" })).toEqual({
    matches: [{ path: "src/a.ts", line: 1, text: "const a = 1;" }],
    looked: 3,
    more: false,
  });
  expect(await use("search_files", { text: "a.*" })).toMatchObject({ matches: [{ line: 2 }] });
  expect(await use("search_files", { text: "const a", ignoreCase: true, ending: ".md", path: "src" })).toMatchObject({
    matches: [{ path: "src/b.md" }],
  });
  expect(await use("search_files", { text: "secret" })).toMatchObject({ matches: [] });
  writeFileSync(join(root, "many"), "hit\n".repeat(1000));
  expect((await use("search_files", { text: "hit", path: "." })) as JsonObject).toMatchObject({ matches: { length: 200 } });
});

test("T-13 a write makes or replaces a file whole, keeps its mode, and shows before and after", async () => {
  const { use, text, root, proofs, tool } = project({ "run.sh": "old" });
  chmodSync(join(root, "run.sh"), 0o750);
  expect(await use("write_file", { path: "deep/er/new.txt", text: "new" })).toMatchObject({
    path: "deep/er/new.txt",
    made: true,
    bytes: 3,
  });
  expect(await use("write_file", { path: "run.sh", text: "néw" })).toMatchObject({ made: false });
  expect([text("deep/er/new.txt"), text("run.sh"), statSync(join(root, "run.sh")).mode & 0o777]).toEqual(["new", "néw", 0o750]);
  expect(readdirSync(root).sort()).toEqual(["deep", "run.sh"]);
  expect(proofs.map((proof) => toFileEdit(tool("write_file"), null, proof))).toMatchObject([
    { path: "deep/er/new.txt", before: null, after: "new", whole: true, beforeDigest: null },
    { path: "run.sh", before: "old", after: "néw", whole: true },
  ]);
});

test("T-13 of a large file, evidence shows the part that changed, within its room", async () => {
  const lines = Array.from({ length: 20_000 }, (_, i) => `line ${i}`);
  const { use, proofs, tool } = project({ "big.txt": lines.join("\n") });
  await use("edit_file", { path: "big.txt", old_string: "line 777\n", new_string: "changed\n" });
  expect(toFileEdit(tool("edit_file"), null, proofs[0] ?? null)).toMatchObject({ before: "line 777", after: "changed", whole: false });
  await use("write_file", { path: "big.txt", text: lines.toReversed().join("\n") });
  expect(JSON.stringify(proofs[1]).length).toBeLessThan(65_000);
});

test("T-12 an edit replaces exactly what it names, once unless it says all, and only what it was read as", async () => {
  const { use, text } = project({ "a.txt": "a b a" });
  await expect(use("edit_file", { path: "a.txt", old_string: "a", new_string: "x" })).rejects.toThrow(/2 times/);
  await expect(use("edit_file", { path: "a.txt", old_string: "c", new_string: "x" })).rejects.toThrow(/does not hold/);
  await expect(use("edit_file", { path: "none", old_string: "c", new_string: "x" })).rejects.toThrow(/there is no file/);
  expect(await use("edit_file", { path: "a.txt", old_string: "b", new_string: "$& $1" })).toMatchObject({ replaced: 1 });
  expect(text("a.txt")).toBe("a $& $1 a");
  const { digest = null } = (await use("read_file", { path: "a.txt" })) as JsonObject;
  expect(await use("edit_file", { path: "a.txt", old_string: "a", new_string: "y", all: true, digest })).toMatchObject({ replaced: 2 });
  await expect(use("edit_file", { path: "a.txt", old_string: "y", new_string: "z", all: true, digest })).rejects.toThrow(/has changed/);
  expect(text("a.txt")).toBe("y $& $1 y");
});

test("T-12 what somebody else changes meanwhile is not overwritten, and no draft is left", () => {
  const { root } = project({ "a.txt": "before" });
  const guard = pathGuard({ root, also: [] });
  const files = projectFiles({ root, reading: guard, writing: guard });
  const meddling = () => {
    writeFileSync(join(root, "a.txt"), "by somebody else");
    return Buffer.from("mine");
  };
  expect(() => files.replace("a.txt", 1000, meddling)).toThrow(/changed by somebody else/);
  expect(readFileSync(join(root, "a.txt"), "utf8")).toBe("by somebody else");
  expect(readdirSync(root)).toEqual(["a.txt"]);
});

test("T-12 what a call touches is the one path that it leads to, and that is what runs", async () => {
  const { root, tool } = project({ "src/a.txt": "a" });
  symlinkSync("src", join(root, "link"));
  for (const given of ["src/a.txt", "./src//a.txt", "src/../src/a.txt", "link/a.txt", join(root, "link/a.txt")]) {
    const checked = tool("read_file").check({ path: given });
    expect(checked).toMatchObject({ kind: "valid", args: { path: "src/a.txt" } });
    if (checked.kind === "valid") expect(tool("read_file").resource(checked.args)).toEqual({ type: "File", id: "src/a.txt" });
  }
});

test("T-12 nothing leads out of the project or into what is protected, by whatever name", async () => {
  const { root, tool } = project({
    "policies/p.cedar": "permit",
    ".orgate/keys/root.key": "key",
    ".env": "KEY=1",
    "src/a.txt": "a",
    "AGENTS.md": "be kind",
  });
  const outside = realpathSync(mkdtempSync(join(tmpdir(), "orgate-files-")));
  made.push(outside);
  writeFileSync(join(outside, "secret"), "s");
  symlinkSync(outside, join(root, "out"));
  symlinkSync(join(outside, "secret"), join(root, "src/secret"));
  symlinkSync("../policies", join(root, "src/rules"));
  linkSync(join(root, ".orgate/keys/root.key"), join(root, "src/key"));
  const out = ["..", "../x", outside, `${outside}/secret`, "/etc/passwd", "out/secret", "out/new", "src/secret", "a\0b", ""];
  const inner = [
    "policies/p.cedar",
    "POLICIES/p.cedar",
    "src/rules/p.cedar",
    "src/rules/new",
    ".orgate/keys/root.key",
    ".env",
    "orgate.toml",
    "tools/x",
    "src/key",
  ];
  for (const path of [...out, ...inner])
    for (const [name, more] of [
      ["read_file", {}],
      ["search_files", { text: "a" }],
      ["write_file", { text: "x" }],
      ["edit_file", { old_string: "a", new_string: "b" }],
    ] as const)
      expect(`${name} ${path} ${tool(name).check({ path, ...more }).kind}`).toBe(`${name} ${path} invalid`);
  for (const path of PROTECTED) expect(tool("write_file").check({ path, text: "x" }).kind).toBe("invalid");
  expect(tool("read_file").check({ path: "AGENTS.md" }).kind).toBe("valid");
});

test("T-12 a path that is exchanged after the decision leads nowhere", async () => {
  const { root, tool, context } = project({ "src/a.txt": "a", "policies/p.cedar": "permit" });
  const outside = realpathSync(mkdtempSync(join(tmpdir(), "orgate-files-")));
  made.push(outside);
  writeFileSync(join(outside, "a.txt"), "outside");
  const checked = tool("write_file").check({ path: "src/a.txt", text: "x" });
  const reading = tool("read_file").check({ path: "src/a.txt" });
  if (checked.kind !== "valid" || reading.kind !== "valid") throw new Error("not valid");
  for (const target of [outside, join(root, "policies")]) {
    rmSync(join(root, "src"), { recursive: true });
    symlinkSync(target, join(root, "src"));
    await expect(tool("write_file").run(checked.args, context)).rejects.toThrow();
    await expect(tool("read_file").run(reading.args, context)).rejects.toThrow();
  }
  expect(readFileSync(join(outside, "a.txt"), "utf8")).toBe("outside");
  expect(readdirSync(join(root, "policies"))).toEqual(["p.cedar"]);
});

test("T-12 a pipe is no file, and nobody waits for it", async () => {
  const { root, use } = project();
  spawnSync("mkfifo", [join(root, "pipe")]);
  await expect(use("read_file", { path: "pipe" })).rejects.toThrow(/is no file/);
  await expect(use("write_file", { path: "pipe", text: "x" })).rejects.toThrow(/is no file/);
});

test.each([
  ["a OLD b", "OLD", "NEW", "did-not-happen"],
  ["a NEW b", "OLD", "NEW", "happened"],
  ["a OLD b NEW", "OLD", "NEW", "cannot-tell"],
  ["a b", "OLD", "NEW", "cannot-tell"],
  ["a OLD and more b", "OLD", "OLD and more", "happened"],
  ["a OLD b", "OLD", "OLD and more", "did-not-happen"],
  ["a b", "OLD", "", "happened"],
  ["a OLD b", "OLD", "", "did-not-happen"],
])("T-13 a file that holds `%s` after an edit of `%s` to `%s` was lost: %s", async (held, old_string, new_string, kind) => {
  const { tool, context } = project({ "a.txt": held });
  expect(await tool("edit_file").reconcile?.({ path: "a.txt", old_string, new_string }, context)).toMatchObject({ kind });
});

test("T-13 with the digest of what was read, a file that is still that was not edited", async () => {
  const { tool, context, use } = project({ "a.txt": "OLD NEW" });
  const { digest = null } = (await use("read_file", { path: "a.txt" })) as JsonObject;
  const args = { path: "a.txt", old_string: "OLD", new_string: "NEW", digest };
  expect(await tool("edit_file").reconcile?.(args, context)).toEqual({ kind: "did-not-happen" });
});

test("T-13 the tools say what they are: effects, how they repeat, what they edit", () => {
  const { tool } = project();
  const facts = ["read_file", "search_files", "write_file", "edit_file"].map((name) => {
    const { effects, repeat, edits, resourceTypes, labels } = tool(name);
    return [effects, repeat, edits, resourceTypes, labels];
  });
  expect(facts).toEqual([
    [["read"], "read", false, ["File"], ["untrusted"]],
    [["read"], "read", false, ["File"], ["untrusted"]],
    [["write"], "idempotent", true, ["File"], ["untrusted"]],
    [["write"], "reconcile", true, ["File"], ["untrusted"]],
  ]);
});

test("T-2 a path that the system refuses to look at is refused by `check`, which never throws", () => {
  const { root, tool } = project({ "a.txt": "a" });
  for (const name of ["read_file", "write_file", "edit_file", "search_files"]) {
    const rest = name === "write_file" ? { text: "x" } : name === "edit_file" ? { old_string: "a", new_string: "b" } : {};
    const given = { path: "n".repeat(300), ...rest, ...(name === "search_files" ? { text: "x" } : {}) };
    expect(tool(name).check(given)).toMatchObject({ kind: "invalid", issues: [expect.stringContaining("ENAMETOOLONG")] });
  }
  rmSync(root, { recursive: true });
  expect(tool("read_file").check({ path: "a.txt" })).toMatchObject({ kind: "valid" }); // what is not there is found out when it runs
});
