import fc from "fast-check";
import { expect, test } from "vitest";
import { FOLD, foldText } from "./fold.ts";
import { textWidth, visible } from "./visible.ts";

test("a long line is folded, marked, and nothing of it is left out", () => {
  expect(foldText("abcdefghij", 8)).toEqual(["abcdefgh", "↪ ij"]);
  expect(foldText("one\n\ntwo", 20)).toEqual(["one", "", "two"]);
  expect(foldText("a\u202eb\u001b[31m", 40)).toEqual(["a\\u{202e}b\\e[31m"]);
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom("a", "é", "漢", "😀", " ", "\u202e", "\u001b", "\u0301", "\ud800"), maxLength: 200 }),
      fc.integer({ min: 1, max: 60 }),
      (text, columns) => {
        const line = text.replaceAll("\n", " ");
        const lines = foldText(line, columns);
        expect(lines.map((l, i) => (i === 0 ? l : l.slice(FOLD.length))).join("")).toBe(visible(line));
        expect(lines.every((l) => textWidth(l) <= Math.max(columns, 8))).toBe(true);
      },
    ),
  );
});
