import { expect, test } from "vitest";
import { checkHouse, compare, shrunk } from "./check-house.ts";
import { temporaryTree } from "./fixtures/temporary-tree.ts";
import { isMeasured, knotsOf, type Measure, measureHouse } from "./measure-house.ts";

const HOST = "packages/orgate/src";
const measured = (files: Readonly<Record<string, string>>) => measureHouse(Object.entries(files).map(([file, text]) => ({ file, text })));
/** What a measure found, as its key and size. */
const found = (measure: Measure, files: Readonly<Record<string, string>>) => measured(files)[measure].map(({ key, size }) => [key, size]);
const filled = (head: string, lines: number, tail: string): string => `${head}\n${"  x();\n".repeat(lines)}${tail}\n`;

test("R-6 a function over 80 lines is found by its name, however it is written; one of 80 is not", () => {
  const file = "scripts/a.ts";
  expect(found("functions", { [file]: filled("function a() {", 78, "}") })).toEqual([]);
  expect(found("functions", { [file]: filled("function a() {", 79, "}") })).toEqual([[`${file} a`, 81]]);
  expect(found("functions", { [file]: filled("const a = async () => {", 79, "};") })).toEqual([[`${file} a`, 81]]);
  expect(found("functions", { [file]: filled("class A { a() {", 79, "} }") })).toEqual([[`${file} a`, 81]]);
  expect(found("functions", { [file]: filled("const o = { a: function () {", 79, "} };") })).toEqual([[`${file} a`, 81]]);
});

test("R-6 a long switch passes in a function that is one and says so", () => {
  const cases = `switch (e) {\n${"  case 1:\n".repeat(90)}}\n`;
  expect(found("functions", { "scripts/a.ts": `function a(e) {\n// a plain switch\n${cases}}` })).toEqual([]);
  expect(found("functions", { "scripts/a.ts": `function a(e) {\n${cases}}` })).toHaveLength(1);
  expect(found("functions", { "scripts/a.ts": filled("function a() { // a plain switch", 90, "}") })).toHaveLength(1);
});

test("R-6 long files, full folders and long lists of parameters are found", () => {
  expect(found("files", { "scripts/a.ts": "x();\n".repeat(400), "scripts/b.ts": "x();\n".repeat(401) })).toEqual([["scripts/b.ts", 401]]);
  expect(found("files", { "scripts/b.ts": `/** One plain table. */\n${"x();\n".repeat(401)}` })).toEqual([]);
  const folder = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`${HOST}/a/${i}.ts`, ""]));
  expect(found("folders", folder(20))).toEqual([]);
  expect(found("folders", folder(21))).toEqual([[`${HOST}/a`, 21]]);
  expect(found("parameters", { "scripts/a.ts": "function a(b, c, d, e) {}\nconst f = (b, c, d, e, g) => b;" })).toEqual([
    ["scripts/a.ts f", 5],
  ]);
});

test("R-6 a name that two files of a package export is found once; passing it on, and another package, are no second meaning", () => {
  const files = {
    [`${HOST}/a.ts`]: "export type Place = 1;",
    [`${HOST}/b.ts`]: "export const Place = 2;",
    [`${HOST}/index.ts`]: 'export { Place } from "./a.ts"; import { Place as other } from "./b.ts"; export { other };',
    "packages/core/src/a.ts": "export type Place = 3;",
  };
  expect(found("names", files)).toEqual([["packages/orgate Place", 2]]);
});

test("R-6 files that import each other are found, types and passing on included", () => {
  const files = {
    [`${HOST}/a.ts`]: 'import type { b } from "./b.ts";',
    [`${HOST}/b.ts`]: 'export { c } from "./c.ts";',
    [`${HOST}/c.ts`]: 'import "./a.ts";',
    [`${HOST}/d.ts`]: 'import "./a.ts";',
  };
  expect(found("cycles", files)).toEqual(["a", "b", "c"].map((name) => [`${HOST}/${name}.ts`, 3]));
  const two = new Map(Object.entries({ a: ["b"], b: ["a", "c"], c: ["d"], d: ["c"], e: ["e"] }));
  expect(knotsOf(two)).toEqual([
    ["c", "d"],
    ["a", "b"],
  ]);
});

test("R-6 an import against the direction of a package is found; a neighbour's and the way down are told apart", () => {
  const files = {
    [`${HOST}/cli/a.ts`]: 'import "../server/a.ts";',
    [`${HOST}/mcp/a.ts`]: 'import "../store/a.ts"; import "../models/a.ts";',
    [`${HOST}/models/a.ts`]: "",
    [`${HOST}/server/a.ts`]: 'import "../cli/a.ts";',
    [`${HOST}/store/a.ts`]: "",
  };
  expect(found("directions", files)).toEqual([
    ["packages/orgate mcp → models", 1],
    ["packages/orgate server → cli", 1],
  ]);
});

test("R-6 an assignment to the loop's state is found outside the fold alone", () => {
  const source = "function a(s: State, other: Other) { s.turn.x = 1; s.n += 1; s.m++; delete s.k; other.x = 1; const y = s.x; }";
  expect(found("writers", { "packages/core/src/loop/a.ts": source })).toEqual([["packages/core/src/loop/a.ts", 4]]);
  expect(found("writers", { "packages/core/src/loop/evolve.ts": source, "packages/core/src/gate/a.ts": source })).toEqual([]);
});

test("R-6 tests, fixtures, generated files and the testing kit are not measured", () => {
  const is = (file: string, text = "") => isMeasured({ file, text });
  expect([is("scripts/a.ts"), is("packages/core/src/a.tsx"), is("e2e/src/a.ts")]).toEqual([true, true, true]);
  expect([is("scripts/a.test.ts"), is("packages/core/src/testing/a.ts"), is("packages/core/src/fixtures/a.ts"), is("docs/a.ts")]).toEqual([
    false,
    false,
    false,
    false,
  ]);
  expect(is("scripts/a.ts", "// biome-ignore-all lint: generated\n")).toBe(false);
});

test("R-6 what is listed passes at its size; growing, shrinking and being mended each need another line, and the list never grows by itself", () => {
  const of = (lines: number) => measured({ "scripts/a.ts": "x();\n".repeat(lines), "scripts/b.ts": "x();\n".repeat(410) });
  const house = { files: { "scripts/a.ts": 500, "scripts/b.ts": { most: 410, why: "one table" } } };
  expect(compare(of(500), house)).toEqual([]);
  expect(compare(of(501), house)).toMatchObject([{ file: "scripts/a.ts", message: expect.stringContaining("it grew from 500") }]);
  expect(compare(of(450), house)).toMatchObject([{ file: "scripts/a.ts", message: expect.stringContaining("it shrank from 500") }]);
  expect(compare(of(10), house)).toMatchObject([{ file: "scripts/house.json", message: expect.stringContaining("take its line out") }]);
  expect(shrunk(of(450), house).files).toEqual({ "scripts/a.ts": 450, "scripts/b.ts": { most: 410, why: "one table" } });
  expect(shrunk(of(501), house).files).toEqual(house.files);
  expect(shrunk(of(501), {}).files).toEqual({});
});

test("R-6 the tree itself is read from its files", () => {
  const root = temporaryTree({ ".gitignore": "", "scripts/house.json": "{}", "scripts/a.ts": "x();\n".repeat(401), "a.md": "" });
  expect(checkHouse(root)).toMatchObject([{ file: "scripts/a.ts" }]);
});
