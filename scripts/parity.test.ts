import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "..");
const page = readFileSync(join(root, "docs/parity.md"), "utf8");
const spec = readFileSync(join(root, "SPEC.md"), "utf8");

test("R15 every row of the reference kernel has its answer, and every rule it names is a rule", () => {
  const rows = [...page.matchAll(/^\| (A\d+) \| (.+) \| (.+) \| (.+) \|$/gm)];
  expect(rows.map(([, row]) => row)).toEqual(Array.from({ length: 43 }, (_, i) => `A${i + 1}`));
  const rules = new Set([...spec.matchAll(/^- \*\*([A-Z]\d+)\*\*/gm)].map(([, id]) => id));
  const unknown = rows.flatMap(([, row, , , named = ""]) => {
    const ids = named.split(", ");
    expect(ids.length, row).toBeGreaterThan(0);
    return ids.filter((id) => !rules.has(id)).map((id) => `${row}: ${id}`);
  });
  expect(unknown).toEqual([]);
  for (const [, row, , ours = ""] of rows) expect(ours, row).toMatch(/^(match|decided|better)\b/);
});
