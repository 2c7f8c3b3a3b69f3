import fc from "fast-check";
import { expect, test } from "vitest";
import { makeFact } from "../testing/knowledge-contract.ts";
import { label, millis } from "../vocab/index.ts";
import { documentKind, LONGEST_PIECE, splitDocument } from "./chunk.ts";
import { readLine, toLine } from "./lines.ts";

test("N-14 markdown is cut at its headings, each piece under the way to it; a fence is no heading and stays whole", () => {
  const pieces = splitDocument(
    "intro\n\n# Guide\n\nfirst\n\n## Deploy\n\n```sh\n# not a heading\n\nrun it\n```\n\nafter\n\n# Other\nlast\n",
    "markdown",
  );
  expect(pieces).toEqual([
    { title: "", text: "intro" },
    { title: "Guide", text: "first" },
    { title: "Guide > Deploy", text: "```sh\n# not a heading\n\nrun it\n```\n\nafter" },
    { title: "Other", text: "last" },
  ]);
});

test("N-14 of HTML a reader's text is taken, under its headings; scripts, styles, comments and markup are not", () => {
  const html =
    "<html><head><title>t</title></head><body><script>evil()</script><h1>Guide</h1><p>One &amp; two &lt;b&gt;</p><!-- hidden --><h2>Next <em>step</em></h2><ul><li>a</li><li>b</li></ul></body></html>";
  expect(splitDocument(html, "html")).toEqual([
    { title: "Guide", text: "One & two <b>" },
    { title: "Guide > Next step", text: "a\n\nb" },
  ]);
});

test("N-14 code is cut between its top-level parts, each named by its first line that says something", () => {
  const part = (name: string) => `// about ${name}\nexport function ${name}() {\n  return 1;\n\n}\n`;
  const pieces = splitDocument(Array.from({ length: 60 }, (_, i) => part(`part${i}`)).join("\n"), "code");
  expect(pieces.length).toBeGreaterThan(1);
  for (const { title, text } of pieces) {
    expect(title).toMatch(/^export function part\d+\(\) \{$/);
    expect(text.startsWith("// about")).toBe(true);
    expect(text.trimEnd().endsWith("}")).toBe(true);
  }
});

test("N-14 whatever the text, pieces are short, well-formed and hold every word of it, and are the same each time", () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.oneof(fc.string({ unit: "grapheme" }), fc.constantFrom("\n", "\n\n", "# h\n", "```\n", "word ".repeat(700), "🧨".repeat(1_000))),
        { maxLength: 12 },
      ),
      fc.constantFrom("markdown" as const, "text" as const, "code" as const),
      (parts, kind) => {
        const text = parts.join("");
        const pieces = splitDocument(text, kind);
        for (const one of pieces) {
          expect(one.text.length).toBeLessThanOrEqual(LONGEST_PIECE);
          expect(one.text.isWellFormed()).toBe(true);
        }
        const bare = (s: string) => s.replace(/[\s#\ufeff]/gu, "");
        const all = kind === "markdown" ? null : pieces.map((one) => one.text).join("");
        if (all !== null) expect(bare(all)).toBe(bare(text.toWellFormed()));
        expect(splitDocument(text, kind)).toEqual(pieces);
      },
    ),
    { numRuns: 60 },
  );
});

test("N-14 a file is read by how its name ends", () => {
  expect(["a.md", "x/B.HTML", "c.txt", "d.ts", "Dockerfile", ".env", "e.png", "noend", "a.md/x"].map(documentKind)).toEqual([
    "markdown",
    "html",
    "text",
    "code",
    "code",
    null,
    null,
    null,
    null,
  ]);
});

test("N-2 a line is read as it was written; one that is wrong is told what is wrong with it", () => {
  const item = {
    ...makeFact("a", "is", "b\n\u2028", { labels: [label("pii")], directory: "src", validTo: millis(9) }),
    usedAt: millis(3),
    uses: 2,
    supersededBy: null,
  };
  expect(readLine(toLine(item))).toEqual({ kind: "item", item });
  const wrong = (change: object) => readLine(JSON.stringify({ ...JSON.parse(toLine(item)), ...change }));
  for (const change of [
    { id: "k_1" },
    { labels: ["BAD LABEL"] },
    { scope: "all" },
    { agent: null },
    { confidence: 2 },
    { directory: "../x" },
    { extra: 1 },
    { format: "x" },
    { body: { kind: "fact" } },
    { verified: "yes" },
    { body: { ...item.body, object: "x".repeat(70_000) } },
  ])
    expect(wrong(change).kind).toBe("wrong");
  expect(readLine("{").kind).toBe("wrong");
  expect(readLine("null").kind).toBe("wrong");
});
