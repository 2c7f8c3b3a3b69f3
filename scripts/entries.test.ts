import { spawnSync } from "node:child_process";
import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryTree } from "./fixtures/temporary-tree.ts";

const ours = (file: string) => join(import.meta.dirname, "..", file);
/** Makes this Node say that it is an older one. */
const older =
  'data:text/javascript,Object.defineProperty(process, "versions", { value: { ...process.versions, node: "20.20.2" } }); Object.defineProperty(process, "version", { value: "v20.20.2" });';

function run(args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  return { status, stdout, stderr };
}

test.each(["scripts/node-floor.mjs", "packages/orgate/bin/orgate.js"])(
  "R-4 %s refuses an older Node with one line that says what to do",
  (file) => {
    const { status, stdout, stderr } = run(["--import", older, ours(file)]);
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
    expect(stderr).toMatch(/^orgate needs Node 24 or newer, this is v20\.20\.2: .*(npm ci|install Node 24).*\n$/);
  },
);

test("R-4 the floor is silent on a Node that is new enough", () => {
  expect(run([ours("scripts/node-floor.mjs")])).toEqual({ status: 0, stdout: "", stderr: "" });
});

test.each(["src/main.ts", "main.js"])("R-4 the entry runs %s with its arguments and passes its exit code on", (main) => {
  const root = temporaryTree({
    "package.json": '{ "type": "module" }',
    [main]: "export async function main(argv) { console.log(argv.join()); return 3; }\n",
  });
  cpSync(ours("packages/orgate/bin"), join(root, "bin"), { recursive: true });
  expect(run([join(root, "bin/orgate.js"), "a", "--json"])).toEqual({ status: 3, stdout: "a,--json\n", stderr: "" });
});

test("R-4 every root script that runs our code asks for the floor first, or starts the entry that does", () => {
  const { scripts } = JSON.parse(readFileSync(ours("package.json"), "utf8"));
  for (const [name, command] of Object.entries(scripts))
    expect(`${name}: ${command}`).toMatch(/: node (scripts\/node-floor\.mjs && |packages\/orgate\/bin\/orgate\.js)/);
});
