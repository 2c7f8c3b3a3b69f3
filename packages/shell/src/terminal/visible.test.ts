import fc from "fast-check";
import { expect, test } from "vitest";
import { shorten, textWidth, visible, visibleLines, visibleStream } from "./visible.ts";

test.each([
  ["\u001b[31mred", "\\e[31mred"],
  ["pay \u202Eecila", "pay \\u{202e}ecila"],
  ["a\u200bb\u2066c\u2069", "a\\u{200b}b\\u{2066}c\\u{2069}"],
  ["tag \u{e0041}", "tag \\u{e0041}"],
  ["x\ufe0f y\u200dz", "x\\u{fe0f} y\\u{200d}z"],
  ["\u0085\u2028\u00ad\u115f\u061c", "\\u{85}\\u{2028}\\u{ad}\\u{115f}\\u{61c}"],
  ["a\ufff9b\ufffac\ufffb", "a\\u{fff9}b\\u{fffa}c\\u{fffb}"],
  ["a\nb\tc\r", "a\\nb\\tc\\r"],
  ["\ud800 alone", "\\u{d800} alone"],
])("V-1 %j is shown as %s", (text, shown) => {
  expect(visible(text)).toBe(shown);
});

test("V-1 letters of any script, accents and joined emoji stay as they are", () => {
  for (const text of ["Grüße, żółw, 日本語, עברית, عربي, e\u0301", "⚠️ 👩‍💻 ❤️", "`code` {json: [1]}"]) expect(visible(text)).toBe(text);
});

test("V-1 a text in lines keeps its lines and tabs, and nothing else that moves the cursor", () => {
  expect(visibleLines("a\r\nb\n\tc\rd\u0007")).toBe("a\nb\n\tc\\rd\\u{7}");
});

test("V-1 whatever comes, no control and no bidirectional character goes out", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      expect(visible(text)).not.toMatch(/[\p{Cc}\u061c\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069]/u);
    }),
  );
});

test("V-1 a character cut in two by its stream is shown once, whole", () => {
  const piece = visibleStream();
  expect(["ok \ud83d", "\ude00!", "\u001b", "[2J"].map(piece).join("")).toBe("ok 😀!\\e[2J");
});

test("width is what a terminal shows, and a shortened text fits", () => {
  expect(textWidth("日本e\u0301")).toBe(5);
  expect(shorten("abcdef", 4)).toBe("abc…");
  expect(textWidth(shorten("日本日本", 5))).toBeLessThanOrEqual(5);
  expect(shorten("abc", 3)).toBe("abc");
});
