import fc from "fast-check";
import { expect, test } from "vitest";
import { readSkillText } from "./skill-text.ts";

const file = (...frontmatter: readonly string[]): string => ["---", ...frontmatter, "---", "", "Do it well.", ""].join("\n");
const described = (value: string): string | null => {
  const read = readSkillText(file("name: mail", `description: ${value}`));
  return read.kind === "skill" ? read.skill.description : null;
};

test("K-1 a file of the convention is read, its data fields as data", () => {
  const read = readSkillText(
    [
      "---",
      "# how to pay back",
      "name: refunds",
      "description: >-",
      "  How refunds are made,",
      "  and when.",
      "",
      "  Ask: first.",
      "license: Apache-2.0 # of the text",
      "compatibility: Requires git and access to the network",
      "allowed-tools: Bash(git:*) Read",
      "metadata:",
      '  author: "example: org"',
      "  version: 1.0",
      "---",
      "# Refunds",
      "",
      "---",
      "Look first.",
    ].join("\r\n"),
  );
  expect(read).toEqual({
    kind: "skill",
    skill: {
      name: "refunds",
      nameAt: { line: 3, column: 7 },
      description: "How refunds are made, and when.\nAsk: first.",
      instructions: "# Refunds\n\n---\nLook first.",
      about: {
        license: "Apache-2.0",
        compatibility: "Requires git and access to the network",
        allowedTools: "Bash(git:*) Read",
        metadata: { author: "example: org", version: "1.0" },
      },
    },
  });
});

test.each([
  ["plain text", "plain text"],
  ["a#b is no comment # this is", "a#b is no comment"],
  ["see https://example.org/a:b", "see https://example.org/a:b"],
  ["-x is text", "-x is text"],
  ['"with: a colon, \\"quotes\\" and \\u00e4"', 'with: a colon, "quotes" and ä'],
  ["'it''s # here' # not here", "it's # here"],
  ["on two\n  lines", "on two lines"],
  ["|\n  kept\n    as\n\n  it is", "kept\n  as\n\nit is"],
  [">\n  one\n  two\n\n\n  three", "one two\n\nthree"],
  ["# nothing\n", null],
])("K-1 `description: %s` is %j", (written, meant) => {
  expect(described(written)).toBe(meant);
});

test.each<[what: string, text: string, line: number, column: number, detail: string]>([
  ["no frontmatter", "# Mail", 1, 1, "does not begin with a line `---`"],
  ["no end", "---\nname: mail\n", 1, 1, "has no end"],
  ["a field of somebody else's", file("name: mail", "description: d", "model: big"), 4, 1, "there is no field `model`"],
  ["a field twice", file("name: mail", "description: d", "name: other"), 4, 1, "`name` is there twice"],
  ["no description", file("name: mail"), 1, 1, "`description` is missing"],
  ["an empty one", file("name: mail", 'description: ""'), 3, 14, "`description` is empty"],
  ["a long one", file("name: mail", `description: ${"x".repeat(1_025)}`), 3, 14, "more than 1024"],
  ["a colon in plain text", file("name: mail", "description: Use when: asked"), 3, 22, "a colon and a blank"],
  ["a list", file("name: mail", "description: d", "allowed-tools: [Read, Write]"), 4, 16, "cannot begin with `[`"],
  ["a list below", file("name: mail", "description: d", "allowed-tools:", "  - Read"), 4, 15, "there is no value"],
  ["an anchor", file("name: &a mail", "description: d"), 2, 7, "cannot begin with `&`"],
  ["an alias", file("name: mail", "description: *a"), 3, 14, "cannot begin with `*`"],
  ["a tag", file("name: !!js/function mail", "description: d"), 2, 7, "cannot begin with `!`"],
  ["an open quote", file('name: "mail', "description: d"), 2, 7, "not closed"],
  ["more after a quote", file('name: "mail" x', "description: d"), 2, 13, "more after the closing quote"],
  ["an odd escape", file('name: "ma\\il"', "description: d"), 2, 10, "no known escape"],
  ["a tab", file("name: mail", "description: |", "\tx"), 4, 1, "a tab"],
  ["a block with a number", file("name: mail", "description: |2", "  x"), 3, 14, "does not begin a block"],
  ["a line that belongs to nothing", file("name: mail", "", "  more", "description: d"), 4, 3, "belongs to nothing"],
  ["a nested map", file("name: mail", "description: d", "metadata:", "  a:", "    b: c"), 5, 5, "there is no value"],
  ["metadata as text", file("name: mail", "description: d", "metadata: none"), 4, 11, "`metadata` is a map"],
  ["another document", file("name: mail", "...", "description: d"), 3, 1, "is no `key: value`"],
  ["hidden characters in a key", file("na\u202eme: mail"), 2, 1, "`na\\u{202e}me: mail` is no"],
  ["no instructions", "---\nname: mail\ndescription: d\n---\n\n", 5, 1, "no instructions"],
])("K-1 %s is refused with its place", (_what, text, line, column, detail) => {
  const read = readSkillText(text);
  expect(read).toMatchObject({ kind: "bad", line, column, detail: expect.stringContaining(detail) });
  expect(read.kind === "bad" && read.hint !== "").toBe(true);
});

test("K-1 whatever the text, it is read or refused with a place in it", () => {
  const line = fc.oneof(
    fc.string(),
    fc.constantFrom("---", "name: x", "description: >", "  a: b", "metadata:", "\t", "#", "'", '"', "- x"),
  );
  fc.assert(
    fc.property(fc.array(line), (lines) => {
      const text = ["---", ...lines].join("\n");
      const read = readSkillText(text);
      if (read.kind === "bad") expect(read.line >= 1 && read.line <= text.split("\n").length + 1 && read.column >= 1).toBe(true);
    }),
  );
});
