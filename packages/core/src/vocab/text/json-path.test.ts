import { expect, test } from "vitest";
import { followJsonPath, parseJsonPath } from "./json-path.ts";

const follow = (value: unknown, path: string) => followJsonPath(value as never, parseJsonPath(path) ?? []);

test("a path leads into fields and through lists, and says where it breaks off", () => {
  const value = { id: 7, orders: [{ id: "a", tags: ["x", "y"] }, { tags: [] }, 3] };
  expect(follow(value, "id")).toEqual([7]);
  expect(follow(value, "$.orders[*].id")).toEqual(["a", undefined, undefined]);
  expect(follow(value, "orders[].tags[]")).toEqual(["x", "y", undefined]);
  expect(follow([1, 2], "[]")).toEqual([1, 2]);
  expect(follow(value, "$")).toEqual([value]);
  expect(follow(value, "constructor")).toEqual([undefined]);
  expect(follow({ a: null }, "a.b")).toEqual([undefined]);
});

test("what is no path is refused", () => {
  for (const text of ["a..b", "a[0]", "a[", ".a", "a.", "a b", "a.[]", "$$", "a.*", "x.".repeat(12) + "x"])
    expect(parseJsonPath(text)).toBe(null);
});
