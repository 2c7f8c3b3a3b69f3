import { expect, test } from "vitest";
import { coloured } from "../terminal/paint.ts";
import { textWidth } from "../terminal/visible.ts";
import { foldLines } from "./wrap-lines.ts";

test("a line breaks at blanks and goes on below the column that its words began in", () => {
  expect(foldLines("no  provider ollama   nobody listens at http://127.0.0.1:11434: is it running", 60)).toEqual([
    "no  provider ollama   nobody listens at",
    "                      http://127.0.0.1:11434: is it running",
  ]);
  expect(foldLines("- author an agent NAME that reads notes", 24)).toEqual(["- author an agent NAME", "  that reads notes"]);
  expect(foldLines("No provider can be used yet: set one", 20)).toEqual(["No provider can be", "used yet: set one"]);
  expect(foldLines("as wide as it is", 16)).toEqual(["as wide as it is"]);
});

test("nothing is wider than the screen, no word is lost, and colours take no room", () => {
  const text = `${coloured("accent", "/halt all | agent NAME | tool NAME [REASON]")}  ${coloured("dim", "the kill switch: nothing new begins")} 漢字漢字漢字 ${"x".repeat(50)}`;
  for (const columns of [20, 37, 60]) {
    const rows = foldLines(text, columns).map((row) => row.replace(/\u001b\[[0-9;]*m/g, ""));
    expect(Math.max(...rows.map(textWidth))).toBeLessThanOrEqual(columns);
    expect(rows.join("").replace(/\s/g, "")).toBe(text.replace(/\u001b\[[0-9;]*m|\s/g, ""));
  }
});
