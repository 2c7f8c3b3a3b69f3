import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "..");
const page = readFileSync(join(root, "docs/parity.md"), "utf8");
const spec = readFileSync(join(root, "SPEC.md"), "utf8");

test.each([
  ["kernel", "A", 43],
  ["coordinator", "C", 30],
  ["shell", "S", 38],
  ["knowledge bridge", "K", 26],
] as const)("R15 every row of the reference %s has its answer, and every rule it names is a rule", (_, letter, count) => {
  const rows = [...page.matchAll(/^\| ([A-Z]\d+) \| (.+) \| (.+) \| (.+) \|$/gm)].filter(([, row = ""]) => row.startsWith(letter));
  expect(rows.map(([, row]) => row)).toEqual(Array.from({ length: count }, (_one, i) => `${letter}${i + 1}`));
  const rules = new Set([...spec.matchAll(/^- \*\*([A-Z]\d+)\*\*/gm)].map(([, id]) => id));
  const unknown = rows.flatMap(([, row, , , named = ""]) => {
    const ids = named.split(", ");
    expect(ids.length, row).toBeGreaterThan(0);
    return ids.filter((id) => !rules.has(id)).map((id) => `${row}: ${id}`);
  });
  expect(unknown).toEqual([]);
  for (const [, row, , ours = ""] of rows) expect(ours, row).toMatch(/^(match|decided|better)\b/);
});
