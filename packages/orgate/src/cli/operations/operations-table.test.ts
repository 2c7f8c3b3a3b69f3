import { expect, test } from "vitest";
import { pageWithTable, readPage } from "./fixtures/operations-table.ts";

test("the guide's table of operations is the one that their words give (`fixtures/operations-table.ts --write` writes it)", () => {
  const page = readPage();
  expect(page).toContain("<!-- operations -->");
  expect(page).toBe(pageWithTable(page));
});
