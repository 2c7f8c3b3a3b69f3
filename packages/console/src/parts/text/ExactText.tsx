import { escapeHidden, type Json, type JsonObject } from "@orgate/core/vocab";
import { useState } from "react";
import css from "./ExactText.module.css";
import { cutText, splitHidden } from "./exact-pieces.ts";

/** Characters shown at first; the rest on demand. */
const MOST = 4_000;
/** Longer than this, the text scrolls. */
const isLong = (text: string): boolean => text.length > 300 || text.includes("\n");

/** Text as it is, hidden characters marked as escapes. O-4 all of it can be read: the rest of a long text is a click away. */
export function ExactText({ text }: Readonly<{ text: string }>) {
  const [isWhole, setWhole] = useState(false);
  const isCut = text.length > MOST && !isWhole;
  return (
    <span className={css.exact} dir="auto">
      {splitHidden(isCut ? cutText(text, MOST) : text).map(({ text: piece, hidden }, i) =>
        hidden ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: a piece is what it is by its place
          <mark key={i} title="A hidden character">
            {piece}
          </mark>
        ) : (
          piece
        ),
      )}
      {isCut ? (
        <button type="button" className={css.more} onClick={() => setWhole(true)}>
          Show the other {text.length - MOST} characters
        </button>
      ) : null}
    </span>
  );
}

/** Arguments, name by name, complete and unformatted. */
export function Arguments({ args }: Readonly<{ args: JsonObject }>) {
  const rows = Object.entries(args);
  if (rows.length === 0) return <p className={css.none}>No arguments.</p>;
  return (
    <dl className={css.arguments}>
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>
            <code>{escapeHidden(name)}</code>
          </dt>
          <dd tabIndex={isLong(textOf(value)) ? 0 : undefined}>
            <ExactText text={textOf(value)} />
          </dd>
        </div>
      ))}
    </dl>
  );
}
const textOf = (value: Json): string => (typeof value === "string" ? value : JSON.stringify(value, null, 2));
