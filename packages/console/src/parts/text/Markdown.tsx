/**
 * Markdown written by models, as React elements.
 * O-3 nothing in a text becomes markup: HTML is shown as it is written, images are not loaded, and a link opens only after a person has seen its whole address and confirmed.
 */
import type { Token, Tokens } from "marked";
import { memo, type ReactNode, useState } from "react";
import { Button } from "../Button.tsx";
import { Dialog } from "../forms/Dialog.tsx";
import css from "./Markdown.module.css";
import { DEEPEST, lexMarkdown, parseLink } from "./markdown.ts";

export const Markdown = memo(function Markdown({ text }: Readonly<{ text: string }>) {
  const tokens = lexMarkdown(text);
  if (tokens === null) return <PlainText text={text} />;
  return (
    <div className={css.markdown} dir="auto">
      {tokens.map((token, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a block is what it is by its place; it grows at the end
        <Block key={i} token={token} raw={token.raw} depth={0} />
      ))}
    </div>
  );
});

/** It may scroll, at least on a phone, so keys must reach it. */
const isLong = (text: string): boolean => text.length > 1_000 || text.split("\n", 21).length > 20;

export function PlainText({ text }: Readonly<{ text: string }>) {
  return (
    <div className={css.plain} dir="auto" tabIndex={isLong(text) ? 0 : undefined}>
      {text}
    </div>
  );
}

type Given = Readonly<{ token: Token; depth: number }>;

/** Drawn again only when its source has changed: in a growing text, only the last block. */
const Block = memo(
  ({ token, depth }: Given & Readonly<{ raw: string }>): ReactNode => block(token, depth),
  (a, b) => a.raw === b.raw,
);

function block(token: Token, depth: number): ReactNode {
  if (depth > DEEPEST) return <p>{token.raw}</p>;
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "hr":
      return <hr />;
    case "heading":
      return <p className={css.heading}>{inline(token.tokens, depth)}</p>; // the page's own headings are its outline
    case "paragraph":
      return <p>{inline(token.tokens, depth)}</p>;
    case "text":
      return "tokens" in token && token.tokens !== undefined ? <p>{inline(token.tokens, depth)}</p> : <p>{String(token.text)}</p>;
    case "blockquote":
      return <blockquote>{blocks(token.tokens, depth + 1)}</blockquote>;
    case "code":
      return (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls sideways must be reached by keys
        <pre tabIndex={0}>
          <code>{String(token.text)}</code>
        </pre>
      );
    case "list": {
      const { ordered, items, start } = token as Tokens.List;
      const rows = items.map((item, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: an item is what it is by its place
        <li key={i}>
          {item.task ? <span className={css.task}>{item.checked === true ? "[x] " : "[ ] "}</span> : null}
          {blocks(item.tokens, depth + 1)}
        </li>
      ));
      return ordered ? <ol start={typeof start === "number" ? start : 1}>{rows}</ol> : <ul>{rows}</ul>;
    }
    case "table":
      return table(token as Tokens.Table, depth);
    default: // HTML and unknown tokens: as written
      return <p className={css.raw}>{token.raw}</p>;
  }
}

const blocks = (tokens: readonly Token[] | undefined, depth: number): ReactNode =>
  // biome-ignore lint/suspicious/noArrayIndexKey: a block is what it is by its place
  (tokens ?? []).map((token, i) => <Block key={i} token={token} raw={token.raw} depth={depth} />);

function table({ header, rows }: Tokens.Table, depth: number): ReactNode {
  const cells = (row: readonly Tokens.TableCell[], of: "th" | "td"): ReactNode =>
    row.map((one, i) => {
      const Cell = of;
      // biome-ignore lint/suspicious/noArrayIndexKey: a cell is what it is by its place
      return <Cell key={i}>{inline(one.tokens, depth + 1)}</Cell>;
    });
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls sideways must be reached by keys
    <div className={css.table} tabIndex={0}>
      <table>
        <thead>
          <tr>{cells(header, "th")}</tr>
        </thead>
        <tbody>
          {rows.map((row, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a row is what it is by its place
            <tr key={i}>{cells(row, "td")}</tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function inline(tokens: readonly Token[] | undefined, depth: number): ReactNode {
  if (depth > DEEPEST) return (tokens ?? []).map(({ raw }) => raw).join("");
  // biome-ignore lint/suspicious/noArrayIndexKey: a piece is what it is by its place
  return (tokens ?? []).map((token, i) => <Inline key={i} token={token} depth={depth + 1} />);
}

function Inline({ token, depth }: Given): ReactNode {
  switch (token.type) {
    case "strong":
      return <strong>{inline(token.tokens, depth)}</strong>;
    case "em":
      return <em>{inline(token.tokens, depth)}</em>;
    case "del":
      return <del>{inline(token.tokens, depth)}</del>;
    case "codespan":
      return <code>{String(token.text)}</code>;
    case "br":
      return <br />;
    case "escape":
      return String(token.text);
    case "text":
      return "tokens" in token && token.tokens !== undefined ? inline(token.tokens, depth) : unescaped(token.raw);
    case "link":
      return (
        <Away
          href={String(token.href)}
          text={token.tokens === undefined ? String(token.text) : inline(token.tokens, depth)}
          said={String(token.text)}
        />
      );
    case "image":
      return (
        <span className={css.raw}>
          [image: {String(token.text)}, {String(token.href)}]
        </span>
      );
    default:
      return <span className={css.raw}>{token.raw}</span>;
  }
}

/** Entities that are decoded; everything else is shown as written. */
const ENTITIES: Readonly<Record<string, string>> = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'" };
const unescaped = (text: string): string => text.replace(/&(?:amp|lt|gt|quot|#39);/g, (entity) => ENTITIES[entity] ?? entity);

/** A link written by a model, or by the author of something the model has read. */
function Away({ href, text, said }: Readonly<{ href: string; text: ReactNode; said: string }>) {
  const [isAsked, ask] = useState(false);
  const url = parseLink(href);
  if (url === null) {
    return (
      <span className={css.raw}>
        {text} ({href})
      </span>
    );
  }
  const where = url.protocol === "mailto:" ? url.pathname : url.host;
  return (
    <>
      <button type="button" className={css.away} onClick={() => ask(true)}>
        {text}
      </button>
      {said.includes(where) ? null : <span className={css.where}> ({where})</span>}
      <Dialog open={isAsked} onClose={() => ask(false)} title="Leave the console?">
        <p>This link was written by an agent, or comes from text that it read. It leads to</p>
        <code className={css.address}>{url.href}</code>
        <div className={css.choices}>
          <Button onClick={() => ask(false)}>Stay here</Button>
          <Button
            tone="first"
            onClick={() => {
              ask(false);
              window.open(url.href, "_blank", "noopener,noreferrer");
            }}
          >
            Open it in a new tab
          </Button>
        </div>
      </Dialog>
    </>
  );
}
