import { expect, test } from "vitest";
import { importsOf, tokensOf } from "./scan.ts";

const brief = (source: string) => importsOf(source).map(({ specifier, types }) => `${types ? "type " : ""}${specifier}`);

test.each([
  ['import "./a.ts";', ["./a.ts"]],
  ['import a from "./a.ts";', ["./a.ts"]],
  ["import a, { b } from './a.ts'", ["./a.ts"]],
  ['import * as a from "./a.ts";', ["./a.ts"]],
  ['import {\n  a,\n  b as c,\n} from "./a.ts";', ["./a.ts"]],
  ['import json from "./a.json" with { type: "json" };', ["./a.json"]],
  ['import type { A } from "./a.ts";', ["type ./a.ts"]],
  ['import type A from "./a.ts";', ["type ./a.ts"]],
  ['import type * as A from "./a.ts";', ["type ./a.ts"]],
  ['import { type A, type B as C } from "./a.ts";', ["type ./a.ts"]],
  ['import { type A, b } from "./a.ts";', ["./a.ts"]],
  ['import { type as A } from "./a.ts";', ["./a.ts"]],
  ['import type from "./a.ts";', ["./a.ts"]],
  ['import type, { b } from "./a.ts";', ["./a.ts"]],
  ['import { from } from "./a.ts";', ["./a.ts"]],
  ['import { "odd name" as odd } from "./a.ts";', ["./a.ts"]],
  ['export * from "./a.ts";', ["./a.ts"]],
  ['export * as a from "./a.ts";', ["./a.ts"]],
  ['export { a } from "./a.ts";', ["./a.ts"]],
  ['export type { A } from "./a.ts";', ["type ./a.ts"]],
  ['export type * from "./a.ts";', ["type ./a.ts"]],
  ['const a = await import("./a.ts");', ["./a.ts"]],
  ["const a = await import(`./a.ts`);", ["./a.ts"]],
  ['const a = await import("./a.json", { with: { type: "json" } });', ["./a.json"]],
  ["const a = await import(name);", ["null"]],

  ["const a = await import(`./${name}.ts`);", ["null"]],
  ['const a = await import("./" + name);', ["null"]],
  ['const a = require("./a.cjs");', ["./a.cjs"]],

  ['const t = `x ${await import("./a.ts")} import "./b.ts"`; import "./c.ts";', ["./a.ts", "./c.ts"]],
  ['const re = /import "x"/; const half = 1 / 2; import "./a.ts"; // 1 / 2', ["./a.ts"]],
  ['const re = /[/"]/; import "./a.ts";', ["./a.ts"]],
  ['#!/usr/bin/env node\nimport "./a.ts";', ["./a.ts"]],
  ['const el = <b>don\'t</b>;\nimport("./a.ts");', ["./a.ts"]],
] as const)("R-1 %s is read as an import", (source, expected) => {
  expect(brief(source)).toEqual(expected);
});

test.each([
  '// import "./a.ts";',
  '/* import "./a.ts"; */',
  "const text = 'import \"./a.ts\"';",
  'const text = `import "./a.ts"`;',
  "const here = import.meta.url;",
  'export const from = "./a.ts";',
  'export type A = "./a.ts";',
  'export { a };\nconst b = "./a.ts";',
  'export type Mode = A | "b" | "c";',
  'thing.import("./a.ts");',
  'const plan = { import: "./a.ts" };',
  'export default "./a.ts";',
])("R-1 %s is not read as an import", (source) => {
  expect(brief(source)).toEqual([]);
});

test("R-1 an import carries the place of its specifier", () => {
  const source = 'const a = 1;\nimport { b } from "./b.ts";';
  const [found] = importsOf(source);
  expect(source.slice(found?.start, found?.end)).toBe("./b.ts");
});

test("R-3 the first piece of a template with substitutions is a text of its own", () => {
  const texts = tokensOf("test(`J-3 entry ${`a${1}b`} is named`)").filter((token) => token.kind === "text");
  expect(texts[0]).toMatchObject({ value: "J-3 entry ", whole: false });
});

test("R-3 a pattern that begins a substitution is a pattern, and its quotes open no text", () => {
  const tokens = tokensOf('say(`a ${/"/.exec(b)} c`); test("J-3 entry", f); const half = `${a / b}` / 2;');
  expect(tokens.filter(({ kind }) => kind === "pattern").map(({ value }) => value)).toEqual(['/"/']);
  expect(tokens.filter(({ kind }) => kind === "text").map(({ value }) => value)).toEqual(["a ", " c", "J-3 entry", "", ""]);
});
