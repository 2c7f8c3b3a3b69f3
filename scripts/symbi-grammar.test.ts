import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { GENERATED, generated } from "./symbi-grammar.ts";

test("Y-1 the parser that is committed is what the grammar makes", () => {
  expect(readFileSync(GENERATED, "utf8") === generated()).toBe(true);
});
