import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { blockOf, CLOSE, OPEN, PAGE, PICTURE, STORY, settled, textIn, withBlock } from "./record-shell.ts";

const read = (path: string): string => readFileSync(join(import.meta.dirname, "../..", path), "utf8");

test("what a terminal showed stands between the marks, and recording the same again changes nothing", () => {
  const page = `# A\n${OPEN}old $& text${CLOSE}\nB\n`;
  const written = withBlock(page, "› hello\n● look()  12 ms   \n\n");
  expect(textIn(blockOf(written))).toBe("› hello\n● look()  … ms");
  expect(withBlock(written, textIn(blockOf(written)))).toBe(written);
  expect(written.endsWith(`${CLOSE}\nB\n`)).toBe(true);
  expect(() => blockOf("# A")).toThrow("has no");
});

test("the recorded session is as the script leaves it: no machine, no id, no time, and every step of the story", () => {
  const text = textIn(blockOf(read(PAGE)));
  expect(settled(text)).toBe(text);
  expect(text).not.toMatch(/\/tmp|\/home|\/root|\/work/);
  for (const step of STORY) if ("say" in step) expect(text).toContain(step.say.replace(/^@\w+ /, ""));
  for (const words of [
    "May it write this?",
    "You approved it",
    "denied: user:ana: no secrets in notes",
    "2 members together",
    "the journal is what was written",
  ])
    expect(text).toContain(words);
});

test("README and the page show the picture that the script draws", () => {
  expect(read("README.md")).toContain(`](${PICTURE})`);
  expect(blockOf(read(PAGE))).toContain("](../assets/shell.svg)");
  expect(read(PICTURE)).toContain('aria-label="a session of the shell"');
});
