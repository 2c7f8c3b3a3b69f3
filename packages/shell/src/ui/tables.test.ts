import { expect, test } from "vitest";
import { plain } from "../terminal/paint.ts";
import { textWidth } from "../terminal/visible.ts";
import { fitTable } from "./tables.ts";

test("a table fits the screen: the last column gives way first, what a row is called by never does", () => {
  const rows = [
    ["s_0123456789abcdef", "a long word of an agent's name", "漢字".repeat(40)],
    ["s_1", "x", ""],
  ];
  for (const columns of [40, 60, 80, 200]) {
    const lines = fitTable(["session", "agent", "text"], rows, { paint: plain, columns });
    for (const line of lines) expect(textWidth(line)).toBeLessThan(columns);
    expect(lines[1]).toContain("s_0123456789abcdef");
  }
  expect(fitTable(["a", "b"], [["1", "2"]], { paint: plain, columns: 80 })).toEqual(["a  b", "1  2"]);
});
