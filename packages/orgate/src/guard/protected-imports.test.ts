// Modules are loaded by Node itself, by the command line in a process of its own: the test runner's loader would read them in another way.
import { spawnSync } from "node:child_process";
import {
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { JsonObject, Tool, ToolContext } from "@orgate/core";
import { sandbox } from "@orgate/toolclad/sandbox";
import { afterEach, beforeEach, expect, test } from "vitest";
import { fileTools } from "../tools/file-tools.ts";
import { quietly, shell } from "./fixtures/programs.ts";
import { pathGuard } from "./path-guard.ts";

const MAIN = fileURLToPath(new URL("../../bin/orgate.js", import.meta.url));
let base = "";
let root = "";
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "orgate-imports-")));
  root = join(base, "shop");
  for (const [path, text] of Object.entries(PROJECT)) put(path, text);
  symlinkSync("../libs/linked", join(root, "node_modules", "linked"));
  symlinkSync("../real/inner.ts", join(root, "src", "by-link.ts"));
});
afterEach(() => rmSync(base, { recursive: true }));

function put(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}
const HIT = 'import { appendFileSync } from "node:fs";\n';
const hit = (name: string) => `appendFileSync(process.env.HITS + "/hits", "${name}\\n");\n`;
const module = (name: string, body = "") => `${HIT}${body}${hit(name)}export const ${name.replaceAll("-", "_")} = 1;\n`;

const PROJECT: Readonly<Record<string, string>> = {
  "orgate.toml": '[project]\nname = "shop"\nagents = ["agents/*.ts", "top-*.ts"]\n',
  "package.json": JSON.stringify({
    name: "shop",
    type: "module",
    imports: { "#lib/*": { import: "./lib/*.ts", default: "./lib/*.js" } },
    exports: { "./self": "./own/self.ts" },
  }),
  "policies/all.cedar": "permit(principal, action, resource);\n",
  "agents/clerk.ts": `import { defineAgent } from "orgate";
import "../src/direct.ts";
export * from "../src/again.ts";
import data from "../src/data.json" with { type: "json" };
import "#lib/mapped";
import "shop/self";
import "installed";
import "linked";
import "../src/by-link.ts";
import { createRequire } from "node:module";
const require = createRequire(import.meta.url);
require("../old/thing");
await import("../src/lazy.ts");
try { await import("../src/absent.ts"); } catch {}
export const clerk = defineAgent({ name: "clerk", instructions: String(data.x), model: "offline/echo" });
`,
  "src/direct.ts": module("direct", 'import "./second.ts";\n'),
  "src/second.ts": module("second"),
  "src/again.ts": module("again"),
  "src/data.json": '{"x":1}',
  "src/lazy.ts": module("lazy"),
  "real/inner.ts": module("inner", 'import "./beside.ts";\n'),
  "real/beside.ts": module("beside"),
  "lib/mapped.ts": module("mapped"),
  "own/self.ts": module("self"),
  "old/package.json": '{"type":"commonjs"}',
  "old/thing/index.js": "module.exports = 1;\n",
  "node_modules/installed/package.json": '{"name":"installed","type":"module","main":"main.js"}',
  "node_modules/installed/main.js": "export {};\n",
  "libs/linked/package.json": '{"name":"linked","type":"module","exports":"./main.js"}',
  "libs/linked/main.js": 'import "./part.js";\n',
  "libs/linked/part.js": "export {};\n",
  "free/note.txt": "free",
  "bin/server.py": "print(1)\n",
  "servers/run.mjs": 'import "./inner.mjs";\n',
  "servers/inner.mjs": "export {};\n",
  ".mcp.json": JSON.stringify({
    mcpServers: { a: { command: "python3", args: ["bin/server.py"] }, b: { command: "node", args: ["servers/run.mjs", "free/note.txt"] } },
  }),
  "tools/scan.clad.toml":
    '[tool]\nname = "scan"\nversion = "1.0.0"\ndescription = "reads free/note.txt"\n[command]\nexec = ["./scripts/scan", "x"]\n',
  ".git/config": "[core]\n\thooksPath = githooks\n\thooksPath = ./hooks.d\n",
};

const ATTACKS: readonly string[] = [
  "src/direct.ts",
  "src/second.ts",
  "src/again.ts",
  "src/data.json",
  "src/lazy.ts",
  "src/absent.ts",
  "src/by-link.ts",
  "real/inner.ts",
  "real/beside.ts",
  "lib/mapped.ts",
  "lib/mapped.js",
  "own/self.ts",
  "SRC/Direct.TS",
  "src/direct.ts.",
  // where Node would look first
  "old/thing",
  "old/thing.js",
  "old/thing.json",
  "old/thing.node",
  "old/thing/index.js",
  "old/thing/package.json",
  "old/package.json",
  "src/package.json",
  "src/node_modules/x/index.js",
  "real/node_modules/x/index.js",
  "node_modules/installed/main.js",
  "node_modules/new/index.js",
  "Node_Modules/installed/main.js",
  "libs/linked/main.js",
  "libs/linked/part.js",
  "libs/linked/new.js",
  "package.json",
  "package-lock.json",
  ".npmrc",
  // what is run
  ".git/hooks/pre-commit",
  ".git/config",
  "deep/.git/config",
  "hooks.d/pre-commit",
  ".env",
  ".env.local",
  ".mcp.json",
  "bin/server.py",
  "bin/json.py",
  "servers/run.mjs",
  "servers/inner.mjs",
  "scripts/scan",
  // named by a pattern of orgate.toml
  "top-new.ts",
  "TOP-new.ts",
];
const FREE: readonly string[] = [
  "src/other.ts",
  "free/note.txt",
  "packages/web/package.json",
  "free/top-new.ts",
  "libs/new/main.js",
  "real/x.ts",
];

const context = { signal: new AbortController().signal, evidence: () => {} } as unknown as ToolContext;
function writer(): Tool {
  const tool = fileTools({ root }).find(({ name }) => name === "write_file");
  if (tool === undefined) throw new Error("no write_file");
  return tool;
}
async function writeFile(path: string, text: string): Promise<"written" | "refused"> {
  const tool = writer();
  const checked = tool.check({ path, text } as JsonObject);
  if (checked.kind !== "valid") return "refused";
  return Promise.resolve(tool.run(checked.args, context)).then(
    () => "written" as const,
    () => "refused" as const,
  );
}

type Ran = Readonly<{ code: number | null; said: string; hits: readonly string[] }>;
function orgate(...args: readonly string[]): Ran {
  rmSync(join(base, "hits"), { force: true });
  const env = { ...process.env, HITS: base, ORGATE_HOME: join(base, "home") };
  const ran = spawnSync(process.execPath, [MAIN, ...args, "--project", root], { encoding: "utf8", cwd: root, env });
  const hits = existsSync(join(base, "hits")) ? readFileSync(join(base, "hits"), "utf8").trim().split("\n") : [];
  return { code: ran.status, said: `${ran.stdout}\n${ran.stderr}`, hits };
}
const LOADED = ["again", "beside", "direct", "inner", "lazy", "mapped", "second", "self"];

test("T-11 nothing that a run loads, runs, or would prefer to load is written by a file tool, and the next run is what it was", async () => {
  const first = orgate("run", "clerk", "--input", "hello");
  expect(first.said).toContain("hello");
  expect(first.hits.toSorted()).toEqual(LOADED);
  const evil = `${HIT}${hit("EVIL")}`;
  const results = [];
  for (const path of ATTACKS) results.push([path, await writeFile(path, evil)]);
  expect(results).toEqual(ATTACKS.map((path) => [path, "refused"]));
  for (const path of FREE) expect([path, await writeFile(path, "free")]).toEqual([path, "written"]);
  const second = orgate("run", "clerk", "--input", "hello");
  expect([second.said.includes("hello"), second.hits.toSorted()]).toEqual([true, LOADED]);
});

test("T-11 other names of what is loaded lead nowhere either: hard links, links, and folders above it that are moved", async () => {
  linkSync(join(root, "src/direct.ts"), join(root, "free/same.ts"));
  symlinkSync("../src", join(root, "free/way"));
  for (const path of ["free/same.ts", "free/way/direct.ts", "free/way/absent.ts"])
    expect([path, await writeFile(path, "x")]).toEqual([path, "refused"]);
  const guard = pathGuard({ root, also: [] });
  for (const path of ["src", "real", "lib", "libs", "node_modules", "libs/linked", "src/by-link.ts", "old"])
    expect(() => guard.rename(path, "free/moved"), path).toThrow(/protected/);
  expect(() => guard.rename("free/note.txt", "src/absent.ts")).toThrow(/protected/);
});

test("T-11 a file of the project that is not protected is not loaded: imports with computed names are refused, with what to do", () => {
  put("src/hidden.ts", module("hidden"));
  put("agents/sly.ts", 'import "orgate";\nconst name = ["..", "src", "hidden.ts"].join("/");\nawait import(name);\n');
  const { code, said, hits } = orgate("run", "clerk", "--input", "hello");
  expect(code).not.toBe(0);
  expect(said).toMatch(/hidden\.ts.*is not loaded: tools may write there/);
  expect(said).toContain("import it by its path as plain text");
  expect(hits).not.toContain("hidden");
});

test("T-11 nor is one that a module imports late, after a tool could have written it", () => {
  put("src/hidden.ts", module("hidden"));
  put(
    "agents/clerk.ts",
    `import { defineAgent } from "orgate";
export const clerk = defineAgent({ name: "clerk", instructions: "x", model: "offline/echo" });
setImmediate(() => import(["..", "src", "hidden.ts"].join("/")).catch((error) => console.error("LATE " + error.message)));
`,
  );
  const { said, hits } = orgate("run", "clerk", "--input", "hello");
  expect(said).toMatch(/LATE .*is not loaded/);
  expect(hits).toEqual([]);
});

test("T-11 a worker that a module starts by an address in a variable is protected with what it imports", async () => {
  put("src/work.mjs", module("work", 'import "./part.mjs";\n'));
  put("src/part.mjs", module("part"));
  put(
    "agents/late.ts",
    `import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { defineAgent } from "orgate";
const address = new URL("../src/work.mjs", import.meta.url);
const page = new URL("../src/page.html", import.meta.url);
await once(new Worker(address), "exit");
export const late = defineAgent({ name: "late", instructions: page.href, model: "offline/echo" });
`,
  );
  expect(orgate("run", "clerk", "--input", "hello").hits).toEqual(expect.arrayContaining(["work", "part"]));
  for (const path of ["src/work.mjs", "src/part.mjs"]) expect([path, await writeFile(path, "x")]).toEqual([path, "refused"]);
  expect(await writeFile("src/page.html", "x")).toBe("written"); // no code
});

test("T-11 the beginning of a computed name protects no folder that holds the project, and lets nothing be loaded", async () => {
  put("src/hidden.ts", module("hidden"));
  put("agents/sly.ts", 'import "orgate";\nawait import("file://" + import.meta.dirname.replace("agents", "src") + "/hidden.ts");\n');
  const { said, hits } = orgate("run", "clerk", "--input", "hello");
  expect(said).toMatch(/hidden\.ts.*is not loaded: tools may write there/);
  expect(hits).not.toContain("hidden");
  expect([await writeFile("free/x.txt", "x"), await writeFile("src/direct.ts", "x")]).toEqual(["written", "refused"]);
});

test("T-11 a pattern that looks into every folder leaves nothing for tools to write", async () => {
  put("orgate.toml", '[project]\nname = "shop"\nagents = ["**/*.agent.ts"]\n');
  expect(await writeFile("free/x.agent.ts", "x")).toBe("refused");
  put("orgate.toml", '[project]\nname = "shop"\nagents = ["bots/*/main.ts"]\n');
  expect([await writeFile("bots/a/main.ts", "x"), await writeFile("free/x.agent.ts", "x")]).toEqual(["refused", "written"]);
});

test("T-27 a program in a sandbox with the project granted for writing changes nothing of what is loaded", {
  tags: ["sandbox"],
}, async () => {
  renameSync(join(root, "free"), join(root, "open"));
  const guard = pathGuard({ root, also: [] });
  const box = sandbox({ protection: { ...guard, hidden: [] } });
  const before = ATTACKS.map((path) => (existsSync(join(root, path)) ? path : null));
  const run = (script: string) => box.run(shell(script, { cwd: root, paths: [{ path: root, access: "write" }] }), quietly());
  const ran = await run(
    `${ATTACKS.map((path) => `mkdir -p "$(dirname '${path}')"; echo EVIL > '${path}'`).join("; ")}; mv src gone; mv real away; echo ok > open/x`,
  );
  expect(ran).toMatchObject({ kind: "exited", code: 0 });
  expect(ATTACKS.map((path) => (existsSync(join(root, path)) ? path : null))).toEqual(before);
  const held = before.filter((path) => path !== null && statSync(join(root, path)).isFile());
  for (const path of held) expect([path, readFileSync(join(root, path ?? ""), "utf8").includes("EVIL")]).toEqual([path, false]);
  expect(readFileSync(join(root, "open/x"), "utf8")).toBe("ok\n");
});
