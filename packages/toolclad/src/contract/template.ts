/**
 * Templates. A command's is split into argv items here, before any value is known, so that a value can never become two items or close a
 * quote: quotes and backslashes mean something in the manifest's own text only.
 */

/** `value`: a placeholder. `secret`: one that only the host can fill. */
export type TemplatePiece =
  | Readonly<{ kind: "text"; text: string }>
  | Readonly<{ kind: "value"; name: string }>
  | Readonly<{ kind: "secret"; name: string }>;
/** One argv item. `bare`: it is a single placeholder without quotes, so it may stand for several items, or for none. */
export type TemplateItem = Readonly<{ pieces: readonly TemplatePiece[]; bare: boolean }>;

export type Split = Readonly<{ kind: "items"; items: readonly TemplateItem[] }> | Readonly<{ kind: "bad"; why: string }>;

const PLACEHOLDER = /\{(?:_secret:([A-Za-z0-9_.-]{1,64})|([A-Za-z_][A-Za-z0-9_]{0,63}))\}/y;

/** The placeholder at this place of the text; null where there is plain text. */
function placeholderAt(text: string, at: number): { readonly piece: TemplatePiece; readonly end: number } | null {
  PLACEHOLDER.lastIndex = at;
  const found = PLACEHOLDER.exec(text);
  if (found === null) return null;
  const [, secret, name = ""] = found;
  return { piece: secret === undefined ? { kind: "value", name } : { kind: "secret", name: secret }, end: PLACEHOLDER.lastIndex };
}

/** A text whose only structure is its placeholders: addresses, headers, bodies. Braces around anything else are themselves. */
export function templatePieces(text: string): readonly TemplatePiece[] {
  const pieces: TemplatePiece[] = [];
  let plain = "";
  const flush = (): void => {
    if (plain !== "") pieces.push({ kind: "text", text: plain });
    plain = "";
  };
  for (let at = 0; at < text.length; ) {
    const found = text[at] === "{" ? placeholderAt(text, at) : null;
    if (found === null) {
      plain += text[at];
      at += 1;
      continue;
    }
    flush();
    pieces.push(found.piece);
    at = found.end;
  }
  flush();
  return pieces;
}

/** Blanks part items; '…' is literal, "…" and outside know the backslash; `{{` and `}}` are braces. */
export function splitCommand(text: string): Split {
  const items: TemplateItem[] = [];
  let pieces: TemplatePiece[] = [];
  let plain = "";
  let begun = false;
  let quoted = false;
  let quote: string | null = null;
  const flush = (): void => {
    if (plain !== "") pieces.push({ kind: "text", text: plain });
    plain = "";
  };
  const end = (): void => {
    flush();
    if (begun) items.push({ pieces, bare: !quoted && pieces.length === 1 && pieces[0]?.kind === "value" });
    [pieces, begun, quoted] = [[], false, false];
  };
  for (let at = 0; at < text.length; ) {
    const c = text[at] ?? "";
    const pair = text.slice(at, at + 2);
    const found = c === "{" && pair !== "{{" ? placeholderAt(text, at) : null;
    if (found !== null) {
      flush();
      pieces.push(found.piece);
      [begun, at] = [true, found.end];
    } else if (pair === "{{" || pair === "}}") {
      plain += c;
      [begun, at] = [true, at + 2];
    } else if (quote === null && /\s/.test(c)) {
      end();
      at += 1;
    } else if (quote === null && (c === "'" || c === '"')) {
      [quote, begun, quoted, at] = [c, true, true, at + 1];
    } else if (c === quote) {
      [quote, at] = [null, at + 1];
    } else if (c === "\\" && quote !== "'") {
      const next = text[at + 1];
      if (next === undefined) return { kind: "bad", why: "ends with a backslash that escapes nothing" };
      plain += quote === '"' && next !== '"' && next !== "\\" ? `\\${next}` : next;
      [begun, at] = [true, at + 2];
    } else {
      plain += c;
      [begun, at] = [true, at + 1];
    }
  }
  if (quote !== null) return { kind: "bad", why: `has a ${quote} without its end` };
  end();
  return { kind: "items", items };
}

/** The array form: each text is one item, whatever blanks and quotes it holds. */
export const listTemplateItems = (texts: readonly string[]): readonly TemplateItem[] =>
  texts.map((text) => {
    const pieces = templatePieces(text.replaceAll("{{", OPEN).replaceAll("}}", CLOSE)).map(
      (piece): TemplatePiece =>
        piece.kind === "text" ? { kind: "text", text: piece.text.replaceAll(OPEN, "{").replaceAll(CLOSE, "}") } : piece,
    );
    return { pieces, bare: pieces.length === 1 && pieces[0]?.kind === "value" };
  });
const [OPEN, CLOSE] = ["\ufdd0", "\ufdd1"]; // never characters of a text

export const listPlaceholders = (pieces: readonly TemplatePiece[]): readonly string[] =>
  pieces.flatMap((p) => (p.kind === "value" ? [p.name] : []));
export const listTemplateSecrets = (pieces: readonly TemplatePiece[]): readonly string[] =>
  pieces.flatMap((p) => (p.kind === "secret" ? [p.name] : []));
