import { expect, test } from "vitest";
import { temporaryTree } from "./fixtures/temporary-tree.ts";
import { filesOf, isTest, lineAt } from "./tree.ts";

test("R-6 the checks see what git would track, with or without git", () => {
  const root = temporaryTree({
    "a.ts": "",
    "b/c.md": "",
    "b/node_modules/x/index.js": "",
    "debug.log": "",
    ".ci/run": "",
    ".git/config": "",
  });
  expect(filesOf(root)).toEqual([".ci/run", ".gitignore", "a.ts", "b/c.md"]);
});

test("R-6 an ignore pattern that the checks would misread is an error", () => {
  expect(() => filesOf(temporaryTree({ ".gitignore": "!keep.log\n" }))).toThrow("!keep.log");
});

test("R-6 a finding's line is counted from one", () => {
  expect([0, 1, 2, 5].map((offset) => lineAt("a\nb\n\nc", offset))).toEqual([1, 1, 2, 4]);
});

test("R-6 tests are told by their name", () => {
  expect(["a.test.ts", "b/a.test-d.ts", "A.test.tsx"].every(isTest)).toBe(true);
  expect(["a.ts", "test.ts", "testing/a.ts"].some(isTest)).toBe(false);
});
