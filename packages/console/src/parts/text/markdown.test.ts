import { expect, test } from "vitest";
import { splitHidden } from "./exact-pieces.ts";
import { lexMarkdown, MOST_MARKDOWN, parseLink } from "./markdown.ts";

test("O-3 only complete web and mail addresses become links", () => {
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

test("O-3 a huge or deeply nested text is neither markdown nor an error", () => {
  expect(lexMarkdown("x".repeat(MOST_MARKDOWN + 1))).toBeNull();
  for (const text of [">".repeat(20_000), "- ".repeat(15_000), "[".repeat(20_000), "*".repeat(20_000), "`".repeat(20_000)]) {
    expect(() => lexMarkdown(text)).not.toThrow();
  }
});

test("O-4 a hidden character differs from an escape that was written by hand", () => {
  expect(splitHidden("plain\ntext \\u{202e}")).toEqual([{ text: "plain\ntext \\u{202e}", hidden: false }]);
  expect(splitHidden("a\u202eb")).toEqual([
    { text: "a", hidden: false },
    { text: "\\u{202e}", hidden: true },
    { text: "b", hidden: false },
  ]);
});
