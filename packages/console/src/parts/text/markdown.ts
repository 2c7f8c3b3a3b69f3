/** Markdown as tokens that are safe to show: deeply nested, huge or unreadable input stays plain text. */
import { lexer, type Token } from "marked";

/** Longer texts are shown as they are written. */
export const MOST_MARKDOWN = 40_000;
export const DEEPEST = 12;

export function lexMarkdown(text: string): readonly Token[] | null {
  if (text.length > MOST_MARKDOWN) return null;
  try {
    return lexer(text, { gfm: true, breaks: true });
  } catch {
    return null; // nested beyond what the lexer can hold
  }
}

/** An address that a link may lead to, or null: no script, no file, nothing relative. */
export function parseLink(href: string): URL | null {
  if (!/^(?:https?:\/\/|mailto:)/i.test(href)) return null;
  const url = URL.parse(href);
  return url !== null && ["http:", "https:", "mailto:"].includes(url.protocol) ? url : null;
}
