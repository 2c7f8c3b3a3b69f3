import fc from "fast-check";
import { expect, test } from "vitest";
import { diffLines, withContext } from "./diff.ts";

const marks = { same: " ", added: "+", removed: "-" } as const;
const told = (before: string, after: string, around = 9) =>
  withContext(diffLines(before, after), around).map((l) => (l === null ? "…" : `${marks[l.kind]}${l.text}`));

test("G-16 a difference tells what was removed and added, with what stands around it", () => {
  expect(told("a\nb\nc\n", "a\nx\nc\n")).toEqual([" a", "-b", "+x", " c"]);
  expect(told("", "a\nb\n")).toEqual(["+a", "+b"]);
  expect(told("a\n", "")).toEqual(["-a"]);
  expect(told("a\nb\n", "a\nb\n", 0)).toEqual([]);
  expect(told("1\n2\n3\n4\n5\n6\n", "1\n2\n3\n4\n5\nsix\n", 1)).toEqual([" 5", "-6", "+six"]);
  expect(told("a\n1\n2\n3\nb\n", "A\n1\n2\n3\nB\n", 1)).toEqual(["-a", "+A", " 1", "…", " 3", "-b", "+B"]);
});

test("a diff gives back both texts, and of two that are alike in most it says so", () => {
  const text = fc.array(fc.constantFrom("a", "b", "c", "d"), { maxLength: 12 }).map((lines) => lines.map((line) => `${line}\n`).join(""));
  fc.assert(
    fc.property(text, text, (before, after) => {
      const lines = diffLines(before, after);
      const without = (kind: string): string => lines.flatMap((l) => (l.kind === kind ? [] : [`${l.text}\n`])).join("");
      expect(without("added")).toBe(before);
      expect(without("removed")).toBe(after);
    }),
    { numRuns: 300 },
  );
  const many = Array.from({ length: 5_000 }, (_, i) => `line ${i}\n`);
  const changed = many.map((line, i) => (i % 1_000 === 7 ? "other\n" : line));
  expect(diffLines(many.join(""), changed.join("")).filter((l) => l.kind !== "same")).toHaveLength(10);
  const apart = diffLines(many.join(""), many.map((line) => `x${line}`).join(""));
  expect(apart).toHaveLength(10_000);
});
