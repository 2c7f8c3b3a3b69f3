import { join } from "node:path";
import { expect, test } from "vitest";
import { PAGE, pageWithTable } from "./operations-table.ts";
import { readText } from "./tree.ts";

test("the guide's table of operations is the one that their words give (`node scripts/operations-table.ts --write` writes it)", () => {
  const page = readText(join(import.meta.dirname, ".."), PAGE);
  expect(page).toContain("<!-- operations -->");
  expect(page).toBe(pageWithTable(page));
});
