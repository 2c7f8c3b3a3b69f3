import { expect, test } from "vitest";
import { blockOf, recordedIn, structureOf, svgOf, withBlock, withoutColour } from "./record-demo.ts";

const ESCAPE = String.fromCodePoint(27);
const page = (inside: string) => `# A\n<!-- demo: recorded by scripts/pages/record-demo.ts -->${inside}<!-- /demo -->\nB\n`;
const shown = `${ESCAPE}[1m1. Works${ESCAPE}[0m\n  ${ESCAPE}[31m✗${ESCAPE}[39m denied: a<b  · by desk/x`;

test("R-7 what a terminal showed stands between the marks, and nothing else of the page changes", () => {
  const written = withBlock(page("\nold $& text\n"), shown);
  expect(recordedIn(blockOf(written))).toBe(`${withoutColour(shown)}\n`);
  expect(written.startsWith("# A\n<!-- demo")).toBe(true);
  expect(written.endsWith("<!-- /demo -->\nB\n")).toBe(true);
  expect(withBlock(written, shown)).toBe(written);
  expect(() => blockOf("# A")).toThrow("README.md has no");
});

test("R-7 ids, hashes, processes, times and folds make no other demo; a word does", () => {
  const of = (id: string, hash: string, rest: string) =>
    structureOf(`session s_${id}\n journal head w1@8:${hash} --project /tmp/orgate-demo-${id.slice(-6)}/ops-desk process ${rest}`);
  const one = of("0mwhihb6tsnjakf", "ab".repeat(32), "12 done · 3 ms");
  expect(of("0mwhzzzzzzzzzzz", "0c".repeat(32), "4711\ndone · 1.2 s")).toBe(one);
  expect(of("0mwhihb6tsnjakf", "ab".repeat(32), "12 failed · 3 ms")).not.toBe(one);
});

test("R-7 how many seals there are, and whether one was made after a crash, makes no other demo; an entry more does", () => {
  const of = (entries: number, seals: number, recovered: string) =>
    structureOf(`${entries} entries, ${seals} seals, 1 writer\nhead w1@${seals}:${"ab".repeat(32)}\n${recovered}verified\n`);
  const one = of(53, 15, "1 seal was made after a crash, over what the process had left unsealed\n");
  expect(of(53, 21, "")).toBe(one);
  expect(of(54, 15, "")).not.toBe(one);
});

test("R-7 in the picture each run stands at its column, in its colour, as text", () => {
  const svg = svgOf(shown);
  expect(svg).toContain('font-weight="bold">1. Works</text>');
  expect(svg).toContain('fill="#ff7b72">✗</text>');
  expect(svg).toContain("denied: a&lt;b  · by desk/x</text>");
  const [mark = 0, text = 0] = [...svg.matchAll(/<text x="([\d.]+)"/g)].slice(1).map(([, x]) => Number(x));
  expect(text - mark).toBeCloseTo(2 * 7.8, 5);
});
