import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { MUTANTS } from "./list.ts";

const read = (file: string): string => readFileSync(join(import.meta.dirname, "../../..", file), "utf8");

test("every mutant changes one place of the sources as they are, and names tests that are there", () => {
  expect(new Set(MUTANTS.map(({ lie }) => lie)).size).toBe(MUTANTS.length);
  for (const { lie, file, from, to, tests } of MUTANTS) {
    expect([lie, read(file).split(from).length - 1, from === to]).toEqual([lie, 1, false]);
    for (const one of tests) expect(read(one)).toContain("test(");
  }
});
