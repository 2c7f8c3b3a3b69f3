import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { readSymbi } from "./declare.ts";
import { brokenText, symbiText } from "./fixtures/arbitrary.ts";
import { formatSymbi } from "./format.ts";
import { MAX_CHARACTERS, MAX_NESTING, parseSymbi } from "./parse.ts";
import type { SymbiProblem } from "./problems.ts";
import { symbiTokens } from "./tokens.ts";

const folder = join(import.meta.dirname, "fixtures");
const filesIn = (kind: string): readonly string[] => readdirSync(join(folder, kind)).filter((name) => /\.(symbi|dsl)$/.test(name));
const textOf = (kind: string, name: string): string => readFileSync(join(folder, kind, name), "utf8");

const PLACES = new Set(["at", "open", "opAt", "stepAt"]);
const meant = (value: unknown): string => JSON.stringify(value, (key, one: unknown) => (PLACES.has(key) ? undefined : one), 1);
const treeOf = (text: string): string => {
  const parsed = parseSymbi(text, "x.symbi");
  if (parsed.kind === "problems") throw new Error(`${lines(parsed.problems)}\n---\n${text}`);
  return meant(parsed.tree);
};
const lines = (problems: readonly SymbiProblem[]): string =>
  problems.map((p) => `${p.line}:${p.column} ${p.detail} | ${p.hint}`).join("\n");
const problemsOf = (text: string): readonly SymbiProblem[] => {
  const read = readSymbi(text, "x.symbi");
  return read.kind === "problems" ? read.problems : [];
};

test.each(filesIn("valid"))("Y-2 %s is read as the tree beside it", async (name) => {
  await expect(`${treeOf(textOf("valid", name))}\n`).toMatchFileSnapshot(join(folder, "valid", `${name}.tree.json`));
});

test.each(filesIn("invalid"))("Y-2 Y-3 Y-7 everything that is wrong with %s is told at once, with its place", async (name) => {
  const problems = problemsOf(textOf("invalid", name));
  expect(problems.length).toBeGreaterThan(0);
  await expect(`${lines(problems)}\n`).toMatchFileSnapshot(join(folder, "invalid", `${name}.problems.txt`));
});

test("Y-2 what the grammar makes is read", () => {
  fc.assert(
    fc.property(symbiText, (text) => void treeOf(text)),
    { numRuns: 200 },
  );
});

test("Y-5 a formatted file has the same tree and the same comments, and formatting it again changes nothing", () => {
  const comments = (text: string) =>
    symbiTokens(text)
      .filter((t) => t.kind === "comment")
      .map((t) => t.text);
  fc.assert(
    fc.property(symbiText, (text) => {
      const formatted = formatSymbi(text, "x.symbi");
      if (formatted.kind !== "text") throw new Error(`not formatted:\n${text}`);
      expect(treeOf(formatted.text)).toBe(treeOf(text));
      expect(comments(formatted.text)).toEqual(comments(text));
      expect(formatSymbi(formatted.text, "x.symbi")).toEqual(formatted);
    }),
    { numRuns: 200 },
  );
});

test("Y-5 a comment above a setting, or above a part of a condition, stands as far in as what it is about", () => {
  const text = `agent a {
  policy p {
    allow: pay if args.euros < 50
      // not for strangers
      && args.known
  }

  with
    model = "x/y",
    // a turn
    iterations = 20,
    tokens = 9 {}
}
`;
  expect(formatSymbi(text, "x.symbi")).toEqual({ kind: "text", text });
  expect(formatSymbi(text.replaceAll(/^ +/gm, ""), "x.symbi")).toEqual({ kind: "text", text });
});

test("Y-5 a file that cannot be read is not formatted", () => {
  expect(formatSymbi("agent a {", "x.symbi")).toMatchObject({ kind: "problems" });
});

test("Y-1 whatever stands in a file, reading it ends with a tree or with problems that have a place in it", () => {
  const fits = (text: string) => {
    const read = readSymbi(text, "x.symbi");
    if (read.kind !== "problems") return;
    const all = text.replace(/^\ufeff/, "").split("\n");
    for (const { line, column, detail } of read.problems) {
      expect(line).toBeLessThanOrEqual(all.length);
      expect(column).toBeLessThanOrEqual((all[line - 1]?.length ?? 0) + 2);
      expect(detail).not.toMatch(/\n/);
    }
  };
  fits('webhook\n"my {\r\nwhiley\n{ }" { labels = { } }');
  fc.assert(fc.property(brokenText, fits), { numRuns: 200 });
  fc.assert(fc.property(fc.string({ unit: "binary", maxLength: 200 }), fits), { numRuns: 200 });
});

test.each([
  ["brackets", "agent a { policy p { allow: ".concat("(".repeat(20_000))],
  ["lists", `metadata { x = ${"[".repeat(MAX_NESTING + 1)}`],
  ["blocks", `function f() ${"{ if a ".repeat(5_000)}`],
  ["signs before a value", `policy p { allow: ${"!".repeat(100_000)}a }`],
  ["minus", `policy p { allow: ${"- ".repeat(50_000)}a }`],
  ["types", `type A = ${"List<".repeat(40_000)}`],
  ["functions", `policy p { allow: ${"a => ".repeat(40_000)}a }`],
  ["sums", `policy p { allow: ${"a + ".repeat(40_000)}a }`],
  ["members", `policy p { allow: a${".b".repeat(60_000)} }`],
  ["else", `function f() { if a { } ${"else if a { } ".repeat(15_000)} }`],
])("Y-1 %s nested without end are refused, and nothing is lost on the stack", (_, text) => {
  const read = parseSymbi(text, "x.symbi");
  expect(read).toMatchObject({ kind: "problems", problems: [{ detail: "it is nested too deep to be read" }] });
});

test("Y-1 reading takes as long as a file is long: not blanks, nor functions in conditions, nor types in types make it longer", () => {
  const nested = (n: number): string => (n === 0 ? "1" : `() => { if f(${nested(n - 1)}) ; }`);
  expect(problemsOf(`function f() { if g(${nested(20)}) ; }`).length).toBeGreaterThan(20);
  const types = Array.from({ length: 40 }, (_, i) => `type T${i + 1} = { a: T${i}, b: T${i} }`).join("\n");
  expect(lines(problemsOf(`type T0 = int\n${types}\nagent a -> T40 { with instructions = "x" { } }`))).toBe(
    "2:16 type `T0` stands here too often to be written out | types within types are at most 500 in all",
  );
  expect(problemsOf(`policy p { ${" ".repeat(100_000)}x${" ".repeat(100_000)} }`)).toHaveLength(1);
  expect(problemsOf(`metadata { ${Array.from({ length: 5_000 }, (_, i) => `k${i} = 1`).join("\n")} }`)).toHaveLength(101);
});

const NESTED: Readonly<Record<string, (inner: string) => string>> = {
  "an if": (x) => `if c { ${x} } else { 1 }`,
  "the other side of an if": (x) => `if c { 1 } else { ${x} }`,
  "the condition of an if": (x) => `if ${x} { 1 } else { 2 }`,
  "an if that goes on": (x) => `if c { ${x} } else { 1 } || 2`,
  "an if that does not go on": (x) => `f(() => { if a { ${x} } else { 1 } + ! })`,
  "an instance": (x) => `A { x: ${x} }`,
  "an instance that is wrong": (x) => `A { x: ${x} !`,
  "an argument by name": (x) => `f(a = ${x})`,
  "an argument that is not ended": (x) => `f(a = ${x} `,
  "a record of a function": (x) => `f(a => { x: ${x} })`,
  "a while": (x) => `f(() => { while ${x} { } })`,
  "an if let": (x) => `f(() => { if let Some(y) = ${x} { } })`,
  "an arm": (x) => `f(() => { match a { b => ${x} } })`,
  "an arm that is wrong": (x) => `f(() => { match a { b => ${x} ! } })`,
  "a try": (x) => `f(() => { try { ${x}; } catch (e) { } })`,
  "a value of a block": (x) => `f(() => { ${x} })`,
};
test.each(Object.entries(NESTED))("Y-1 %s within itself is read once, and not twice at every level", (_, around) => {
  const text = Array.from({ length: 20 }).reduce<string>((inner) => around(inner), "1");
  expect(["tree", "problems"]).toContain(parseSymbi(`function f() { let x = ${text}; }`, "x").kind);
});

test.each([
  ["quotes in a text that does not end", `agent a { with instructions = "${'\\"'.repeat(100_000)} { } }`],
  ["comments that begin and do not end", `agent a { ! ${"/* ".repeat(80_000)} }`],
  ["texts that a word follows", `agent a { ! ${'"\na"b'.repeat(40_000)} }`],
  ["braces that are not closed", `agent a { ! ${"{ } x { ".repeat(30)} ${"( ".repeat(20)} ${"x ".repeat(20_000)}`],
])("Y-1 %s are passed over once", (_, text) => {
  expect(parseSymbi(text, "x").kind).toBe("problems");
});

test("Y-2 what is misspelt a second time is told with the first, at every level", () => {
  const text = `agnet a { }
agent b {
  capabilites = [x]
  polcy p { alow: x }
  policy q {
    alow: x
    dney: x if args.y == {
      1: 2 }
    deny: x
  }
  wiht model = "x",
    timeout = 3s { }
  fobar baz { }
}
metdata { description = "x" }
agnet c { }
schedle s { }`;
  expect(problemsOf(text).map(({ line, hint }) => `${line} ${hint.startsWith("did you mean") ? hint : "?"}`)).toEqual([
    "1 did you mean `agent`?",
    "3 did you mean `capabilities`?",
    "4 did you mean `policy`?",
    "6 did you mean `allow`?",
    "7 did you mean `deny`?",
    "11 did you mean `with`?",
    "13 ?",
    "15 did you mean `metadata`?",
    "16 did you mean `agent`?",
    "17 did you mean `schedule`?",
  ]);
});

test("Y-6 a line has one kind of end: Windows' are read as ours, texts included, and one that hides what follows is refused", () => {
  const text = 'agent a {\n  # why\n  with instructions = """\none\ntwo\n""" { }\n}\n';
  expect(treeOf(text.replaceAll("\n", "\r\n"))).toBe(treeOf(text));
  expect(formatSymbi(text.replaceAll("\n", "\r\n"), "x")).toEqual(formatSymbi(text, "x"));
  expect(problemsOf("policy p {\n  allow: x # fine\rdeny: y\n}")[0]).toMatchObject({
    line: 2,
    column: 18,
    detail: expect.stringContaining("carriage return"),
  });
});

test("Y-1 a file has a size; a huge text or number is no trouble within it", () => {
  expect(parseSymbi(" ".repeat(MAX_CHARACTERS + 1), "x")).toMatchObject({ kind: "problems", problems: [{ line: 1, column: 1 }] });
  expect(parseSymbi(`metadata { x = "${"a".repeat(200_000)}" }`, "x").kind).toBe("tree");
  expect(problemsOf(`agent a { with instructions = "x", tokens = ${"9".repeat(100_000)} { } }`)[0]?.detail).toMatch(
    /`tokens` takes a whole number/,
  );
});

test("Y-6 a letter that only looks like one of ours, or cannot be seen, is refused where it stands", () => {
  expect(problemsOf("agent p\u0430yer { }")[0]).toMatchObject({ line: 1, column: 8, detail: expect.stringContaining("U+0430") });
  expect(problemsOf('agent a { with instructions = "x\u202e" { } }')[0]).toMatchObject({
    column: 33,
    detail: expect.stringContaining("U+202E"),
  });
  expect(problemsOf("# nothing\u200b here\n")[0]).toMatchObject({ line: 1, column: 10, detail: expect.stringContaining("invisible") });
  expect(problemsOf('agent "p\u0430yer" { with instructions = "x" { } }')[0]).toMatchObject({
    detail: expect.stringContaining("is no name for an agent"),
  });
});
