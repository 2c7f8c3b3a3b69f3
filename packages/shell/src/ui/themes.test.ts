import { expect, test } from "vitest";
import { coloured, plain } from "../terminal/paint.ts";
import { parseTheme, THEMES, themePaint } from "./themes.ts";

test("V-2 a theme changes colours and no words; where the terminal has none, none has", () => {
  for (const theme of THEMES) {
    const painted = themePaint(theme, coloured)("bad", "no");
    expect(painted.replace(/\u001b\[[0-9;]*m/g, "")).toBe("no");
    expect(painted === "no").toBe(theme === "plain");
    expect(themePaint(theme, plain)("bad", "no")).toBe("no");
  }
  expect([parseTheme("contrast"), parseTheme("mauve")]).toEqual(["contrast", null]);
});
