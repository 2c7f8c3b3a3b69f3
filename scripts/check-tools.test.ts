import { readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { checkBiome, checkOutsideTypes, checkTypes } from "./check-tools.ts";
import { temporaryTree } from "./fixtures/temporary-tree.ts";

const ours = (file: string) => readFileSync(join(import.meta.dirname, "..", file), "utf8");
const configs = {
  "package.json": '{\n  "type": "module"\n}\n',
  ".gitignore": ours(".gitignore"),
  "biome.json": ours("biome.json"),
  "tsconfig.base.json": ours("tsconfig.base.json"),
  "packages/core/tsconfig.json": ours("packages/core/tsconfig.json"),
  "packages/core/src/ambient.d.ts": ours("packages/core/src/ambient.d.ts"),
};
const core = (source: string) => realpathSync(temporaryTree({ ...configs, "packages/core/src/a.ts": source }));

test("R-5 core may wait on a signal, and nothing else that surrounds it", () => {
  expect(checkTypes(core("export const stop = (signal: AbortSignal): boolean => signal.aborted;\n"), "packages/core")).toEqual([]);
});

test.each(["process.env", "globalThis.setTimeout", "console.log", "document.body", "performance.now()"])(
  "R-5 core cannot name %s",
  (name) => {
    expect(checkTypes(core(`\nexport const a: unknown = ${name};\n`), "packages/core")).toMatchObject([
      { file: "packages/core/src/a.ts", line: 2 },
    ]);
  },
);

test("R-5 core cannot import node: modules, nor use syntax that does not strip", () => {
  expect(checkTypes(core('import { sep } from "node:path";\nexport const a = sep;\n'), "packages/core")).toHaveLength(1);
  expect(checkTypes(core("export enum A {\n  B,\n}\n"), "packages/core")).toHaveLength(1);
});

test("R-6 a compiler that fails without naming a file is a finding", () => {
  expect(checkTypes(realpathSync(temporaryTree({})), "packages/core")).toMatchObject([{ file: "packages/core/tsconfig.json", line: 1 }]);
});

test("R-6 clean files pass; lint, format and warnings are findings with their place", () => {
  expect(checkBiome(core("export const a = 1;\n"))).toEqual([]);
  expect(checkBiome(core("\nexport const a: any = 1;\n"))).toMatchObject([
    { file: "packages/core/src/a.ts", line: 2 },
    { message: expect.stringContaining("npm run fix") },
  ]);
  expect(checkBiome(core("export const a  =  1;\n"))).toMatchObject([
    { file: "packages/core/src/a.ts", message: "is not formatted: run `npm run fix`" },
  ]);
  expect(checkBiome(core("export function a(): void {\n  const b = 1;\n}\n"))).toHaveLength(1);
});

test("R-6 a warning of the linter is a finding", () => {
  const unused = "// biome-ignore lint/suspicious/noExplicitAny: there is none\nexport const a = 1;\n";
  expect(checkBiome(core(unused))).toMatchObject([{ file: "packages/core/src/a.ts", line: 1 }]);
});

test("R-6 a linter that fails without naming a file is a finding", () => {
  expect(checkBiome(realpathSync(temporaryTree({ "biome.json": "{ nonsense" }))).length).toBeGreaterThan(0);
});

test("R-6 checking writes nothing", () => {
  const root = core("export const a  =  1;\n");
  checkBiome(root);
  checkTypes(root, "packages/core");
  expect(readFileSync(join(root, "packages/core/src/a.ts"), "utf8")).toBe("export const a  =  1;\n");
});

test("a folder outside the workspaces is type-checked; only a file whose import is not installed is left out", () => {
  const tree = (orgate: string) =>
    realpathSync(
      temporaryTree({
        ...configs,
        "bench/peers/tsconfig.json": '{ "extends": "../../tsconfig.base.json", "compilerOptions": { "noEmit": true }, "include": ["src"] }',
        "bench/peers/src/orgate.ts": orgate,
        "bench/peers/src/peer.ts": 'import { agent } from "a-peer";\n\nexport const run = (args) => agent(args);\n',
      }),
    );
  expect(checkOutsideTypes(tree("export const port: string = `knowledge`;\n"), "bench/peers")).toEqual([]);
  expect(checkOutsideTypes(tree("\nexport const port: string = 1;\n"), "bench/peers")).toMatchObject([
    { file: "bench/peers/src/orgate.ts", line: 2 },
  ]);
  expect(checkOutsideTypes(tree('export { a } from "./gone.ts";\n'), "bench/peers")).toMatchObject([
    { file: "bench/peers/src/orgate.ts", line: 1 },
  ]);
});
