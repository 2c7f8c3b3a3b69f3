// The modules are loaded by Node itself, in a process of its own: the test runner's loader would read them in another way.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";

const LOADER = new URL("./modules.ts", import.meta.url).href;
const NODE_MODULES = fileURLToPath(new URL("../../../../../node_modules", import.meta.url));
const PROBE = `
  const { loadAgents } = await import(process.argv[1]);
  const [, , root, ...patterns] = process.argv;
  const said = await loadAgents(root, patterns).then(
    (loaded) => ({ agents: loaded.map(({ agent, file }) => [agent.name, file]) }),
    ({ fault, message }) => ({ fault, message }),
  );
  console.log(JSON.stringify(said));
`;

let root = "";
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "orgate agents-"))); // a space: addresses are not paths
  mkdirSync(join(root, "p"));
  symlinkSync(NODE_MODULES, join(root, "p", "node_modules"));
});
afterEach(() => rmSync(root, { recursive: true }));

const at = (path: string) => join(root, "p", path);
function write(path: string, text: string): void {
  mkdirSync(dirname(at(path)), { recursive: true });
  writeFileSync(at(path), text);
}
function load(...patterns: string[]): unknown {
  const ran = spawnSync(process.execPath, ["--input-type=module", "-e", PROBE, LOADER, at(""), ...patterns], { encoding: "utf8" });
  expect(ran.stderr).toBe("");
  return JSON.parse(ran.stdout);
}

const agent = (name: string) => `defineAgent({ name: "${name}", instructions: "Be brief.", model: "offline/echo" })`;
const HEAD = 'import { defineAgent } from "@orgate/core";\n';

test("A-3 default and named exports are found, in the order of names, tests and declarations passed over", () => {
  write(
    "agents/b.ts",
    `${HEAD}const shared: unknown = ${agent("b")};\nexport default shared;\nexport { shared };\nexport const helper = 5;\n`,
  );
  write(
    "agents/a.ts",
    `${HEAD}export { default as again } from "./b.ts";\nexport const z = ${agent("z")};\nexport const a = ${agent("a")};\n`,
  );
  write("agents/a.test.ts", "throw new Error('a test is no agent')");
  write("agents/a.d.ts", "export {};");
  const agents = [
    ["a", at("agents/a.ts")],
    ["b", at("agents/a.ts")],
    ["z", at("agents/a.ts")],
  ];
  expect(load("agents/*.ts")).toEqual({ agents });
  expect(load("agents/a.ts", "agents/*.ts", "**/b.ts")).toEqual({ agents });
  expect(load("none/*.ts")).toEqual({ agents: [] });
});

test.each<[string, string, number | null, number | null, string]>([
  ["throws", 'const n: number = 1;\n  throw new Error("boom\\nand more");\n', 2, 9, "cannot be loaded: boom"],
  ["throws no error", 'throw "text";\n', null, null, "cannot be loaded: threw text"],
  ["is not TypeScript", `${HEAD}export const a = ${agent("a").replace(",", "")};\n`, 2, 42, "cannot be loaded: "],
  ["cannot be stripped", "const n = 1;\nenum A { B }\n", 2, 1, "enum"],
  ["imports what is not there", 'import "./none.ts";\n', null, null, "Cannot find module"],
  ["imports a name that is not there", 'import { nothing } from "@orgate/core";\n', 1, 10, "nothing"],
  ["defines an invalid agent", `${HEAD}\nexport default ${agent("two words")};\n`, 3, 16, 'an agent: `name` is "two words"'],
  ["exports no agent", 'export const a = { name: "a", kind: "agent" };\n', null, null, "exports no agent"],
])("A-3 a module that %s is named with its place, and nothing is loaded", (_, text, line, column, detail) => {
  write("agents/a.ts", `${HEAD}export const fine = ${agent("fine")};\n`);
  write("agents/b.ts", text);
  expect(load("agents/*.ts")).toEqual({
    fault: {
      kind: "file-bad",
      file: at("agents/b.ts"),
      line,
      column,
      detail: expect.stringContaining(detail),
      hint: expect.stringMatching(/./),
    },
    message: expect.not.stringContaining("\n"),
  });
});

test("A-3 a place is found whether or not the project is a package", () => {
  write("a.ts", "const n = 1;\n enum A { B }\n");
  const place = { fault: { file: at("a.ts"), line: 2, column: 2 } };
  expect(load("a.ts")).toMatchObject(place);
  write("package.json", '{ "type": "module" }');
  expect(load("a.ts")).toMatchObject(place);
});

test("A-3 an error in a module that was imported is placed there", () => {
  write("agents/lib/deep.ts", "\nundefined.x;\n");
  write("agents/a.ts", 'import "./lib/deep.ts";\n');
  expect(load("agents/a.ts")).toMatchObject({ fault: { file: at("agents/lib/deep.ts"), line: 2, column: 11 } });
});

test("A-3 two agents of one name are refused, both files named", () => {
  write("agents/a.ts", `${HEAD}export default ${agent("same")};\n`);
  write("agents/b.ts", `${HEAD}export default ${agent("same")};\n`);
  expect(load("agents/*.ts")).toMatchObject({
    fault: { file: at("agents/b.ts"), detail: `agent \`same\` is already defined in ${at("agents/a.ts")}` },
  });
});

test("A-2 a file outside the project is refused, however it is reached, and does not run", () => {
  writeFileSync(join(root, "outside.ts"), 'console.log("it ran");\n');
  mkdirSync(at("agents"));
  symlinkSync(join(root, "outside.ts"), at("agents/link.ts"));
  symlinkSync(root, at("up"));
  for (const pattern of ["agents/link.ts", "agents/*.ts", "../outside.ts", join(root, "outside.ts"), "up/outside.ts"])
    expect(load(pattern)).toMatchObject({ fault: { kind: "file-bad", detail: expect.stringContaining("lies outside the project") } });
});

test("A-2 a link to a file inside the project is that file", () => {
  write("lib/a.ts", `${HEAD}export default ${agent("a")};\n`);
  mkdirSync(at("agents"));
  symlinkSync(at("lib/a.ts"), at("agents/a.ts"));
  expect(load("agents/*.ts", "lib/a.ts")).toEqual({ agents: [["a", at("lib/a.ts")]] });
});

test("A-3 what is named like an agent's file and is none is told; other folders are passed over", () => {
  write("agents/a.ts", `${HEAD}export default ${agent("a")};\n`);
  mkdirSync(at("agents/more"));
  expect(load("agents/**")).toMatchObject({ agents: [["a", at("agents/a.ts")]] });
  mkdirSync(at("agents/b.ts"));
  expect(load("agents/*.ts")).toMatchObject({ fault: { kind: "file-bad", file: at("agents/b.ts"), detail: "is not a file" } });
});

test("A-3 a path that is spelled out must be there, and be a file", () => {
  mkdirSync(at("agents"));
  expect(load("agents/none.ts")).toMatchObject({ fault: { file: at("agents/none.ts"), detail: "there is no such file" } });
  expect(load("agents")).toMatchObject({ fault: { detail: "is not a file" } });
});
