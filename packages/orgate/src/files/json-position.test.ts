import { expect, test } from "vitest";
import { findJsonPosition } from "./json-position.ts";

test("G-9 a value in a text is found by its path, as deep as the path leads", () => {
  const text = '[ { "a\\"": [1, {"b": "x,}]"}], "c" : null } , 2]';
  const at = (...path: readonly PropertyKey[]) => text.slice(findJsonPosition(text, path)).slice(0, 5);
  expect(at()).toBe(text.slice(0, 5));
  expect(at(0, "c")).toBe("null ");
  expect(at(0, 'a"', 1, "b")).toBe('"x,}]');
  expect(at(1)).toBe("2]");
  expect(at(0, "none")).toBe('{ "a\\');
});
