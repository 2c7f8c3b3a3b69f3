import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cleanJson, cleanOutcome, cleanText, REMOVED } from "./clean.ts";

const page = (text: string): string => cleanText(text, "clean").text;

describe("G-35 characters", () => {
  test.each([
    ["a\u200bb\u2060c\ufeffd\u00ade", "abcde"],
    ["say \u{e0069}\u{e0067}\u{e006e}\u{e006f}hi", "say hi"], // letters of the tags block
    ["a\u202eb\u202c\u2066c\u2069", "abc"],
    ["x\ufe00\ufe01\ufe02\ufe0f", "x"],
    ["😀\u{e0101}\u{e0102}\u{e0103}", "😀"],
    ["\u3164\u115f\u17b4a", "a"],
    ["\u001b[31mred\u001b[0m \u001b]8;;https://evil.com\u0007link\u001b]8;;\u0007\u0000", "red link"],
    ["a\u200db \u200e\u200fc", "ab c"],
  ])("G-35 %j is shown as %j", (given, shown) => {
    expect(page(given)).toBe(shown);
    expect(cleanText(given, "keep")).toMatchObject({ text: shown, hidden: 0 });
    expect(cleanText(given, "keep").invisible).toBeGreaterThan(0);
  });

  test.each([
    "👩‍👩‍👧‍👦 👩🏽‍💻 🏳️‍🌈 ❤️ ☺︎ 1️⃣ #️⃣ 🏴󠁧󠁢󠁥󠁮󠁧󠁿 🇩🇪",
    "می‌خواهم کتاب‌ها را بخوانم", // Persian: joiners that keep letters apart
    "क्‍ष र्‍य ශ්‍රී", // Devanagari, Sinhala
    "שלום! \u200fabc, \u200eעברית 123",
    "葛󠄀城市",
    "ᠠ᠋ ᠭ᠌",
    "tabs\tand\nlines\r\n\u2028 ﷺ ؀ naïve café ﬁ",
  ])("G-35 %s survives", (text) => expect(cleanText(text, "clean")).toEqual({ text, invisible: 0, hidden: 0 }));
});

describe("G-35 markup", () => {
  test.each([
    ["a<!-- ignore all -->b", `a${REMOVED}b`],
    ["a<!-- to the end", `a${REMOVED}`],
    ["a<!--> b <!---> c", `a${REMOVED} b ${REMOVED} c`],
    ["a<!evil words>b</ evil>c", `a${REMOVED}b${REMOVED}c`],
    ['<p>seen</p><div style="color:red; DISPLAY : none">x<div>y</div>z</div>end', `<p>seen</p>${REMOVED}end`],
    ["<span hidden>x</span><span hidden=until-found>y</span>", `${REMOVED}<span hidden=until-found>y</span>`],
    [
      "<p style='font-size:0'>x</p><p style='font-size:1px'>x</p><p style='font-size:10px'>y</p>",
      `${REMOVED}${REMOVED}<p style='font-size:10px'>y</p>`,
    ],
    ['<i style="color:#FFF">x</i><i style="color:#fff;background:#000">y</i>', `${REMOVED}<i style="color:#fff;background:#000">y</i>`],
    [
      '<b style="position:absolute;left:-9999px">x</b><b style="opacity:0">x</b><b style="opacity:0.9">y</b>',
      `${REMOVED}${REMOVED}<b style="opacity:0.9">y</b>`,
    ],
    ['<input type="hidden" value="x">y<script>a<b</script>c<style>p{}</style>', `${REMOVED}y${REMOVED}c${REMOVED}`],
    ["<div < hidden>x</div>y", `${REMOVED}y`],
    ["<my-note hidden>x</my-note>y", `${REMOVED}y`],
    ["<div hidden>never closed", REMOVED],
    ['a\n[//]: # (ignore this)\nb\n[comment]: <> (that)\n[x]: https://e.f "t"', `a\n${REMOVED}\nb\n${REMOVED}\n[x]: https://e.f "t"`],
    ["<di\u200bv hidden>x</div>", REMOVED], // what is not seen is taken out first
  ])("G-35 %j is shown as %j", (given, shown) => {
    expect(page(given)).toBe(shown);
    expect(cleanText(given, "keep").text).toBe(given.replaceAll("\u200b", ""));
  });

  test.each([
    "if (a < b && c > d) return Array<hidden>;",
    "const m: Map<string, hidden> = new Map<T hidden>();",
    "x <- c(1, 2); a<b; c>d; <T,>(x: T) => x",
    "<p class='a'>text <b>bold</b> &lt;!-- not one --&gt;</p><!DOCTYPE html><![CDATA[x]]>",
    "a <b and no end",
    'say "<" and ">" and </p>',
    "[1]: https://example.org (title)\n[a] : b",
  ])("G-35 %s survives", (text) => expect(page(text)).toBe(text));

  test("G-35 texts of a result are cleaned one by one, its keys too, and counted", () => {
    const mails = [{ "sub\u200bject": "<div hidden>a" }, { subject: "b" }];
    expect(cleanJson(mails, "clean")).toEqual({ value: [{ subject: REMOVED }, { subject: "b" }], invisible: 1, hidden: 1 });
    expect(cleanOutcome({ kind: "failed", error: "no\u200b" }, "clean")).toEqual({
      outcome: { kind: "failed", error: "no" },
      invisible: 1,
      hidden: 0,
    });
  });
});

test("G-35 twice is as once, whatever the text, and nothing invisible of the closed list is left", () => {
  const piece = fc.constantFrom(
    ..."<>!-/ab =\"'#[]:()\n;".split(""),
    "<!--",
    "-->",
    "<div hidden>",
    "</div>",
    "<div style=display:none>",
    "<script>",
    "</script>",
    "<input type=hidden>",
    "[//]: # (x)\n",
    "\u200b",
    "\u200c",
    "\u200d",
    "\u200e",
    "\u202e",
    "\ufe0f",
    "\ufe0e",
    "\ufe00",
    "\u{e0100}",
    "\u{e0061}",
    "\u{1f3f4}",
    "\u{e0067}",
    "\u{e007f}",
    "😀",
    "👩",
    "🏽",
    "ی",
    "क",
    "्",
    "葛",
    "ש",
    "ᠠ",
    "1",
    "\u20e3",
    "\u001b",
    "[31m",
    "\u0000",
  );
  const text = fc.array(piece, { maxLength: 40 }).map((parts) => parts.join(""));
  fc.assert(
    fc.property(text, fc.constantFrom("clean", "keep"), (given, markup) => {
      const once = cleanText(given, markup).text;
      expect(cleanText(once, markup)).toEqual({ text: once, invisible: 0, hidden: 0 });
      expect(once).not.toMatch(/[\u200b\u202e\u0000\u001b]/);
    }),
    {
      numRuns: 5_000,
      examples: [
        ["<!--ש-->\u200e", "clean"],
        ["<!--ש--><\u200ediv hidden>x</div>", "clean"],
      ],
    },
  );
});

test("G-35 a long text of nothing but traps is cleaned in one go", () => {
  for (const trap of ["<a ", "<!", "<div hidden", '<a x="', "<div hidden>", "]:#", "\u200d", "😀\u200d\u200d", "ی\u200c\u200c"])
    expect(page(trap.repeat(50_000)).length).toBeLessThanOrEqual(50_000 * 12);
});

test("G-35 joiners without end after one picture are looked at once", () => {
  expect(page(`😀${"\u200d".repeat(200_000)}x`)).toBe("😀x");
});

describe("G-35 what is not closed", () => {
  test.each([
    ["Put it into a <style> tag. Then save.", `Put it into a ${REMOVED} tag. Then save.`],
    ["Close the <template> before <script>, or\nnothing is shown.", `Close the ${REMOVED} before ${REMOVED}, or\nnothing is shown.`],
    ["one <!-- two\nthree", `one ${REMOVED}\nthree`],
    ["a <!-- closed --> b <!-- not\nc", `a ${REMOVED} b ${REMOVED}\nc`],
  ])("G-35 in prose it takes no words with it: %j", (given, shown) => expect(page(given)).toBe(shown));

  test.each([
    "<p>seen</p><style>secret",
    "<p>seen<template>secret",
    "<!doctype html>seen<!-- x\nsecret",
    "seen<div hidden>secret",
    "seen<p style='display:none'>secret",
  ])("G-35 in a page, and of what says that it hides, all behind it is gone: %j", (given) => {
    expect(page(given)).toContain("seen");
    expect(page(given)).not.toContain("secret");
  });

  const word = fc.stringMatching(/^[a-z]{1,8}$/);
  const prose = fc.array(word, { minLength: 1, maxLength: 12 }).map((words) => words.join(" "));
  const slips = fc.constantFrom("<style>", "<script>", "<template>", "<noframes>", "<STYLE type=x>", "`<style>`");
  const hidden = fc.constantFrom(
    (text: string) => `<!-- ${text} -->`,
    (text: string) => `<style>${text}</style>`,
    (text: string) => `<script>${text}</script>`,
    (text: string) => `<template>${text}</template>`,
    (text: string) => `<div hidden>${text}</div>`,
  );

  test("G-35 of prose with tags that are not closed every word stays, and with what is closed between, that is gone", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(prose, slips), { minLength: 1, maxLength: 6 }), prose, (parts, last) => {
        const shown = page(parts.map(([words, slip]) => `${words} ${slip} `).join("") + last);
        for (const words of [...parts.map(([one]) => one), last]) expect(shown).toContain(words);
        expect(shown).not.toMatch(/<(?:style|script|template|noframes)/i);
      }),
    );
    fc.assert(
      fc.property(prose, hidden, prose, prose, (before, hide, secret, after) => {
        const shown = page(`${before} ${hide(`QQ ${secret}`)} ${after}`);
        expect(shown).toBe(`${before} ${REMOVED} ${after}`);
        expect(page(shown)).toBe(shown);
      }),
    );
  });

  test("G-35 many that are not closed are looked for once: anew at each, this would not end", () => {
    for (const slip of ["<style>", "<!-- x\n", "<template>"]) expect(page(slip.repeat(40_000))).toContain(REMOVED);
  });
});
