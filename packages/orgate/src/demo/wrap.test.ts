import { coloured, textWidth } from "@orgate/shell/terminal";
import { expect, test } from "vitest";
import { wrapLine } from "./wrap.ts";

const colours = new RegExp(`${String.fromCodePoint(27)}\\[[\\d;]*m`, "g");
const bare = (text: string): string => text.replaceAll(colours, "");

test("what does not fit goes on below its text, behind the mark", () => {
  expect(wrapLine("  ✗ denied: send_file by a policy that says why", 24)).toEqual([
    "  ✗ denied: send_file by",
    "    a policy that says",
    "    why",
  ]);
  expect(wrapLine("1. An agent works in the shop", 20)).toEqual(["1. An agent works in", "   the shop"]);
  expect(wrapLine("short enough", 40)).toEqual(["short enough"]);
  expect(wrapLine("", 40)).toEqual([""]);
});

test("a word longer than the line is cut at the edge, and nothing of it is lost", () => {
  const word = "x".repeat(70);
  const lines = wrapLine(`  ${word}`, 30);
  expect(lines.map((line) => line.length)).toEqual([30, 30, 16]);
  expect(lines.join("").replaceAll(" ", "")).toBe(word);
});

test("colours take no room and are all kept", () => {
  const text = `  ${coloured("bad", "✗")} ${coloured("bad", "denied: one two three four five six seven eight nine ten")}`;
  const lines = wrapLine(text, 30);
  expect(lines.every((line) => textWidth(bare(line)) <= 30)).toBe(true);
  expect(lines.map(bare)).toEqual(wrapLine(bare(text), 30));
  expect(lines.join("").match(colours)).toEqual(text.match(colours));
  expect(lines[1]).toMatch(/^ {4}\S/);
});
