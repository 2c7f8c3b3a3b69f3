import { expect, test } from "vitest";
import { checkPageLengths, checkReadme, checkSpec } from "./check-pages.ts";
import { temporaryTree } from "./fixtures/temporary-tree.ts";

const lines = (count: number) => "x\n".repeat(count);

test("R7 a page at its maximum passes, one line more or none at all is found", () => {
  const short = { "README.md": lines(150), "ARCHITECTURE.md": lines(200), "AGENTS.md": lines(120) };
  expect(checkPageLengths(temporaryTree(short))).toEqual([]);
  for (const [file, text] of Object.entries(short)) {
    expect(checkPageLengths(temporaryTree({ ...short, [file]: `${text}x\n` }))).toMatchObject([{ file }]);
    const { [file]: _gone, ...others }: Record<string, string> = short;
    expect(checkPageLengths(temporaryTree(others))).toMatchObject([{ file, message: "is missing" }]);
  }
});

test("R7 README tells both commands, each on a line of its own", () => {
  expect(checkReadme(temporaryTree({ "README.md": "```\nnpm ci && npm start\nnpm ci && npm test\n```\n" }))).toEqual([]);
  expect(checkReadme(temporaryTree({ "README.md": "npm ci && npm start\n" }))).toMatchObject([
    { message: expect.stringContaining("npm ci && npm test") },
  ]);
  expect(checkReadme(temporaryTree({}))).toHaveLength(2);
});

const spec = (source: string, file = "packages/core/src/journal/a.test.ts", rules = "# Journal\n\n- **J3** a bad entry is named\n") =>
  checkSpec(temporaryTree({ "SPEC.md": rules, [file]: source }));

test.each([
  ["packages/core/src/journal/a.test.ts", 'test("J3 a bad entry is named", () => {});'],
  ["packages/core/src/journal/a.test.ts", "test(`J3 entry ${i} is named`, () => {});"],
  ["packages/core/src/journal/a.test.ts", 'test.each([1, 2])("J3 entry %s is named", () => {});'],
  ["packages/core/src/journal/a.test.ts", 'test("J3, J3: a bad entry is named", () => {});'],
  ["packages/core/src/testing/journal-contract.ts", '{ name: "J3 a bad entry is named" }'],
  ["e2e/src/tamper.ts", 'scenario("J3 a bad entry is named");'],
  ["scripts/a.test.ts", 'test("J3 a bad entry is named", () => {});'],
])("R6 a rule is cited by a name in %s: %s", (file, source) => {
  expect(spec(source, file)).toEqual([]);
});

test.each([
  ["packages/core/src/journal/a.test.ts", '// test("J3 a bad entry is named")'],
  ["packages/core/src/journal/a.test.ts", 'test.skip("J3 a bad entry is named", () => {});'],
  ["packages/core/src/journal/a.test.ts", 'test.todo("J3 a bad entry is named");'],
  ["packages/core/src/journal/a.test.ts", 'test("a bad entry is named (J3)", () => {});'],
  ["packages/core/src/journal/a.ts", 'throw new Error("J3 a bad entry");'],
])("R6 a rule is not cited by %s: %s", (file, source) => {
  expect(spec(source, file)).toEqual([{ file: "SPEC.md", line: 3, message: "J3 is cited by no test name" }]);
});

test("R6 a test name that cites a rule nobody defined is found, beside one that exists too", () => {
  const file = "packages/core/src/journal/a.test.ts";
  expect(spec(`\ntest("J3 J${99} a bad entry is named", () => {});`)).toEqual([
    { file, line: 2, message: `J${99} is cited and SPEC.md does not define it` },
  ]);
});

test("R6 a rule defined twice and a missing SPEC.md are found", () => {
  expect(spec('test("J3 x", f);', "a.test.ts", "- **J3** a\n- **J3** b\n")).toEqual([
    { file: "SPEC.md", line: 2, message: "J3 is defined twice" },
  ]);
  expect(checkSpec(temporaryTree({}))).toEqual([{ file: "SPEC.md", line: 1, message: "is missing" }]);
});
