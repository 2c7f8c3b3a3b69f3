import { expect, test } from "vitest";
import { coloured } from "../terminal/paint.ts";
import { escapeRow } from "./escape.ts";
import { THEMES, themePaint } from "./themes.ts";

const TONES = ["strong", "dim", "good", "bad", "warn", "accent", "plain"] as const;

test("V-1 the shell's own colours are written as they are, in every theme", () => {
  for (const theme of THEMES)
    for (const tone of TONES) {
      const row = `${themePaint(theme, coloured)(tone, "● name")} und 漢字 👩‍👩‍👧 é`;
      expect(escapeRow(row)).toBe(row);
    }
});

test.each([
  ["a title", "\u001b]0;owned\u0007"],
  ["the clipboard", "\u001b]52;c;cm0gLXJm\u001b\\\\"],
  ["a link", "\u001b]8;;http://x\u0007"],
  ["the cursor", "\u001b[3A\u001b[2K"],
  ["the screen", "\u001bc\u001b[?1049h"],
  ["words that are not seen", "\u001b[8m"],
  ["words that are not seen, with a colour", "\u001b[1;8m"],
  ["black on black", "\u001b[30;40m"],
  ["a C1 control", "\u009b2J\u009d0;x\u009c"],
  ["a line over this one", "\ry"],
  ["another line", "\ny"],
  ["the other way round", "\u202egnp.exe"],
  ["nothing to see", "\u200b\u2060\ufeff\u00ad"],
  ["tags", "\u{e0061}"],
])("V-1 inert in a row: %s", (_, text) => {
  const row = escapeRow(coloured("warn", `before ${text} after`));
  // what is left beside the two of our own is for reading
  expect(row.replaceAll(/\u001b\[(?:33|39)m/g, "")).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
  expect(row).toMatch(/before .*\\.* after/);
});
