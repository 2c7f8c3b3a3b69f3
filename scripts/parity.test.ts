import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "..");
const page = readFileSync(join(root, "docs/parity.md"), "utf8");
const spec = readFileSync(join(root, "SPEC.md"), "utf8");

/** Every part of the reference, with its letter and how many rows its list has. */
const PARTS = [
  ["The kernel", "A", 43],
  ["The coordinator", "C", 30],
  ["The reasoning loop", "L", 35],
  ["The shell", "S", 38],
  ["The knowledge bridge", "K", 26],
] as const;
const sections = page
  .split(/^## /m)
  .slice(1)
  .map((text) => ({ title: text.split("\n", 1)[0] ?? "", text }));
const rowsOf = (text: string) =>
  text
    .split("\n")
    .filter((line) => /^\| [A-Z]\d+ \|/.test(line))
    .map((line) => line.slice(2, -2).split(" | "));
const rules = new Set([...spec.matchAll(/^- \*\*([A-Z]-\d+)\*\*/gm)].map(([, id]) => id));

test("R-7 the page has a section for every part of the reference, and no row elsewhere", () => {
  expect(sections.map(({ title }) => title)).toEqual(PARTS.map(([title]) => title));
  expect(rowsOf(page)).toHaveLength(PARTS.reduce((sum, [, , count]) => sum + count, 0));
});

test.each(PARTS)("R-7 %s: every row has its answer, with its reason, and every rule it names is a rule", (title, letter, count) => {
  const rows = rowsOf(sections.find((one) => one.title === title)?.text ?? "");
  expect(rows.map(([row]) => row)).toEqual(Array.from({ length: count }, (_, i) => `${letter}${i + 1}`));
  for (const [row = "", reference = "", ours = "", named = "", ...more] of rows) {
    expect([row, reference.trim() === "", more]).toEqual([row, false, []]);
    expect(ours, row).toMatch(/^(match(: .+)?|(decided|better|partial): .+)$/); // what is not the same says how it is
    expect([row, named.split(", ").filter((id) => !rules.has(id))]).toEqual([row, []]);
  }
});

/** What the code does not do is not claimed: each of these is bound to the type or the file that would change with it. */
const source = (path: string): string => readFileSync(join(root, path), "utf8");
test.each([
  ["A15", "packages/core/src/vocab/rules/middleware.ts", /Tools can be left out, never added/, /\baddTools\b/],
  [
    "A16",
    "packages/core/src/vocab/rules/middleware.ts",
    /Calls can be left out, or their arguments rewritten, by id; never added/,
    /\baddCalls\b/,
  ],
  [
    "K17",
    "packages/core/src/knowledge/block.ts",
    /isMemory\(item\.kind\) \? item\.relevance : item\.confidence/,
    /item\.confidence\.toFixed/,
  ],
] as const)("R-7 %s is no match as long as the code says so", (row, file, says, not) => {
  const text = source(file);
  expect([says.test(text), not.test(text)]).toEqual([true, false]);
  expect(rowsOf(page).find(([id]) => id === row)?.[2]).toMatch(/^partial: /);
});
