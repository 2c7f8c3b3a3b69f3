import { escapeHidden, type Json, type JsonObject } from "@orgate/core/vocab";
import css from "./Exact.module.css";
import { piecesOf } from "./exact.ts";

/** So much is shown at once; the rest on demand. */
const MOST = 4_000;

/** Text as it is, hidden characters marked as escapes. */
export function Exact({ text }: Readonly<{ text: string }>) {
  const shown = text.length > MOST ? text.slice(0, MOST) : text;
  return (
    <span className={css.exact} dir="auto">
      {piecesOf(shown).map(({ text: piece, hidden }, i) =>
        hidden ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: a piece is what it is by its place
          <mark key={i} title="A character that would not be seen">
            {piece}
          </mark>
        ) : (
          piece
        ),
      )}
      {text.length > MOST ? <span className={css.more}>… and {text.length - MOST} characters more</span> : null}
    </span>
  );
}

/** Arguments, name by name. Nothing is left out and nothing is made pretty. */
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
          <dd>
            <Exact text={textOf(value)} />
          </dd>
        </div>
      ))}
    </dl>
  );
}
const textOf = (value: Json): string => (typeof value === "string" ? value : JSON.stringify(value, null, 2));
