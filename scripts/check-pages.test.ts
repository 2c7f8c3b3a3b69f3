import { expect, test } from "vitest";
import { checkPageLengths, checkReadme, checkSpec } from "./check-pages.ts";
import { temporaryTree } from "./fixtures/temporary-tree.ts";

const lines = (count: number) => "x\n".repeat(count);

test("R-7 a page at its maximum passes, one line more or none at all is found", () => {
  const short = { "README.md": lines(150), "ARCHITECTURE.md": lines(200), "AGENTS.md": lines(120) };
  expect(checkPageLengths(temporaryTree(short))).toEqual([]);
  for (const [file, text] of Object.entries(short)) {
    expect(checkPageLengths(temporaryTree({ ...short, [file]: `${text}x\n` }))).toMatchObject([{ file }]);
    const { [file]: _gone, ...others }: Record<string, string> = short;
    expect(checkPageLengths(temporaryTree(others))).toMatchObject([{ file, message: "is missing" }]);
  }
});

test("R-7 README tells both commands, each on a line of its own", () => {
  expect(checkReadme(temporaryTree({ "README.md": "```\nnpm ci && npm start\nnpm ci && npm test\n```\n" }))).toEqual([]);
  expect(checkReadme(temporaryTree({ "README.md": "npm ci && npm start\n" }))).toMatchObject([
    { message: expect.stringContaining("npm ci && npm test") },
  ]);
  expect(checkReadme(temporaryTree({}))).toHaveLength(2);
});

const spec = (
  source: string,
  file = "packages/core/src/journal/a.test.ts",
  rules = "## J · The journal\n\n- **J-1** a bad entry is named\n",
) => checkSpec(temporaryTree({ "SPEC.md": rules, [file]: source }));

test.each([
  ["packages/core/src/journal/a.test.ts", 'test("J-1 a bad entry is named", () => {});'],
  ["packages/core/src/journal/a.test.ts", "test(`J-1 entry ${i} is named`, () => {});"],
  ["packages/core/src/journal/a.test.ts", 'test.each([1, 2])("J-1 entry %s is named", () => {});'],
  ["packages/core/src/journal/a.test.ts", 'test("J-1, J-1: a bad entry is named", () => {});'],
  ["packages/core/src/testing/journal-contract.ts", '{ name: "J-1 a bad entry is named" }'],
  ["e2e/src/tamper.ts", 'scenario("J-1 a bad entry is named");'],
  ["scripts/a.test.ts", 'test("J-1 a bad entry is named", () => {});'],
])("R-3 a rule is cited by a name in %s: %s", (file, source) => {
  expect(spec(source, file)).toEqual([]);
});

test.each([
  ["packages/core/src/journal/a.test.ts", '// test("J-1 a bad entry is named")'],
  ["packages/core/src/journal/a.test.ts", 'test.skip("J-1 a bad entry is named", () => {});'],
  ["packages/core/src/journal/a.test.ts", 'test.todo("J-1 a bad entry is named");'],
  ["packages/core/src/journal/a.test.ts", 'test("a bad entry is named (J-1)", () => {});'],
  ["packages/core/src/journal/a.ts", 'throw new Error("J-1 a bad entry");'],
])("R-3 a rule is not cited by %s: %s", (file, source) => {
  expect(spec(source, file)).toEqual([{ file: "SPEC.md", line: 3, message: "J-1 is cited by no test name" }]);
});

test("R-3 a test name that cites a rule nobody defined is found, beside one that exists too", () => {
  const file = "packages/core/src/journal/a.test.ts";
  expect(spec(`\ntest("J-1 J-${99} a bad entry is named", () => {});`)).toEqual([
    { file, line: 2, message: `J-${99} is cited and SPEC.md does not define it` },
  ]);
});

test.each(["J1", "j-1", "J-1,a"])("R-3 %s is no way to cite J-1", (id) => {
  expect(spec(`test("${id} a bad entry is named", () => {});`)).toMatchObject([{ message: "J-1 is cited by no test name" }]);
});

const SECTION = "## J · The journal\n";
const cites = (...ids: readonly string[]) => ids.map((id) => `test("${id} x", f);`).join("\n");
const found = (rules: string, ...ids: readonly string[]) => spec(cites(...ids), "a.test.ts", rules);

test.each([
  ["a gap", `${SECTION}- **J-1** a\n- **J-3** b\n`, ["J-1", "J-3"], 3, "J-3 stands where J-2 belongs"],
  ["a section that begins with 2", `${SECTION}- **J-2** a\n`, ["J-2"], 2, "J-2 stands where J-1 belongs"],
  ["a rule of another section", `${SECTION}- **J-1** a\n- **L-2** b\n`, ["J-1", "L-2"], 3, "L-2 stands where J-2 belongs"],
  ["a rule before every section", `- **J-1** a\n`, ["J-1"], 1, "J-1 stands where ?-1 belongs"],
])("R-3 %s is found", (_, rules, ids, line, message) => {
  expect(found(rules, ...ids)).toEqual([{ file: "SPEC.md", line, message }]);
});

test("R-3 a rule whose id has no dash is found", () => {
  expect(found(`${SECTION}- **J1** a\n`)).toMatchObject([
    { message: "J1 stands where J-1 belongs" },
    { message: "J1 is cited by no test name" },
  ]);
});

test("R-3 each section counts from 1, and rules in order pass", () => {
  expect(found(`${SECTION}- **J-1** a\n- **J-2** b\n\n## L · The loop\n- **L-1** c\n`, "J-1", "J-2", "L-1")).toEqual([]);
});

test("R-3 four hundred rules pass, one more is found", () => {
  const ids = Array.from({ length: 401 }, (_, i) => `J-${i + 1}`);
  const page = (of: readonly string[]) => SECTION + of.map((id) => `- **${id}** a\n`).join("");
  expect(found(page(ids.slice(0, 400)), ...ids.slice(0, 400))).toEqual([]);
  expect(found(page(ids), ...ids)).toEqual([{ file: "SPEC.md", line: 402, message: "there are 401 rules, at most 400 are read" }]);
});

test("R-3 a rule defined twice and a missing SPEC.md are found", () => {
  expect(found(`${SECTION}- **J-1** a\n${SECTION}- **J-1** b\n`, "J-1")).toEqual([
    { file: "SPEC.md", line: 4, message: "J-1 is defined twice" },
  ]);
  expect(checkSpec(temporaryTree({}))).toEqual([{ file: "SPEC.md", line: 1, message: "is missing" }]);
});
