import { describe, expect, it } from "vitest";
import { knowledgeId } from "../vocab/index.ts";
import { toKnowledgeLine } from "./block.ts";
import { type DocumentKind, splitDocument } from "./chunk.ts";

const textIn = (text: string, kind: DocumentKind): string =>
  splitDocument(text, kind)
    .map((one) => `${one.title}${one.text}`)
    .join("");

describe("texts made to be slow", () => {
  // each takes minutes where an expression goes back over what it has passed
  it.each<[string, string, DocumentKind]>([
    ["a heading full of spaces", `# a${" ".repeat(200_000)}x`, "markdown"],
    ["many headings full of spaces", `# a${" ".repeat(150)}x\n`.repeat(10_000), "markdown"],
    ["a heading of number signs", `# ${"#".repeat(190)}x\n`.repeat(10_000), "markdown"],
    ["a program full of spaces", `a${" ".repeat(400_000)}x`, "code"],
    ["tags that never end", "<p".repeat(400_000), "html"],
    ["inline tags that never end", "<b ".repeat(400_000), "html"],
    ["headings that never end", "<h1>x".repeat(300_000), "html"],
    ["a comment that never ends", `x<!--${"<!--".repeat(300_000)}`, "html"],
  ])("N-15 %s is read in one go", (_, text, kind) => {
    expect(textIn(text, kind)).toMatch(/[apxb]/);
  });

  it("N-15 what looks like the end of a block is looked at once", () => {
    const text = `<${"/".repeat(200_000)} <${" \\/".repeat(60_000)}knowledge>`;
    const line = toKnowledgeLine({ id: knowledgeId("k_1"), kind: "fact", relevance: 1, confidence: 1, labels: [], text });
    expect(line).toContain("</");
    expect(line.match(/\\u003c/g)).toHaveLength(1);
  });

  it("N-15 a line that is too long for a heading is text, and is not lost", () => {
    const long = `# ${"word ".repeat(100)}end`;
    expect(splitDocument(`# Short #\n\n${long}`, "markdown")).toEqual([{ title: "Short", text: long }]);
  });
});
