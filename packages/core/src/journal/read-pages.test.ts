import { expect, test } from "vitest";
import { eachPage, eachRow } from "./read-pages.ts";

const rows = (length: number) => Array.from({ length }, (_, i) => i + 1);

function listOf(length: number) {
  const asked: (number | null)[] = [];
  const read = async (last: number | null, most: number): Promise<readonly number[]> => {
    asked.push(last);
    return rows(length).slice(last ?? 0, (last ?? 0) + most);
  };
  return { asked, read };
}

test.each([0, 1, 2, 3, 4, 5, 6])(
  "a list of %i rows read in pages of two comes whole, in order, and no page of it is empty",
  async (length) => {
    const { asked, read } = listOf(length);
    const pages: (readonly number[])[] = [];
    for await (const page of eachPage(read, 2)) pages.push(page);
    expect(pages.flat()).toEqual(rows(length));
    expect(pages.every((page) => page.length > 0)).toBe(true);
    expect(asked).toEqual([null, ...pages.filter((page) => page.length === 2).map((page) => page[1])]);
  },
);

test("who stops reading rows asks for no further page", async () => {
  const { asked, read } = listOf(10);
  for await (const row of eachRow(read, 2)) if (row === 3) break;
  expect(asked).toEqual([null, 2]);
});
