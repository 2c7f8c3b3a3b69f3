import { expect, test } from "vitest";
import { splitHidden } from "./exact-pieces.ts";
import { lexMarkdown, MOST_MARKDOWN, parseLink } from "./markdown.ts";

test("O-3 only whole addresses of the web and of mail lead anywhere", () => {
  for (const href of ["https://example.org/a?b#c", "http://127.0.0.1:1/", "mailto:a@example.org"]) expect(parseLink(href)).not.toBeNull();
  const others = [
    "javascript:alert(1)",
    " javascript:alert(1)",
    "JAVASCRIPT:1",
    "data:text/html,x",
    "file:///etc/passwd",
    "//evil.example",
    "/chat",
  ];
  for (const href of [...others, "vbscript:1", "https:", "blob:https://a/b", ""]) expect(parseLink(href)).toBeNull();
});

test("O-3 a text that is huge, or nested beyond reason, is no markdown and no error", () => {
  expect(lexMarkdown("x".repeat(MOST_MARKDOWN + 1))).toBeNull();
  for (const text of [">".repeat(20_000), "- ".repeat(15_000), "[".repeat(20_000), "*".repeat(20_000), "`".repeat(20_000)]) {
    expect(() => lexMarkdown(text)).not.toThrow();
  }
});

test("O-4 what hides in a text is told apart from what is written there", () => {
  expect(splitHidden("plain\ntext \\u{202e}")).toEqual([{ text: "plain\ntext \\u{202e}", hidden: false }]);
  expect(splitHidden("a\u202eb")).toEqual([
    { text: "a", hidden: false },
    { text: "\\u{202e}", hidden: true },
    { text: "b", hidden: false },
  ]);
});
