/**
 * One layout for every file. It goes by the file's own signs, in their order, so that nothing is lost or moved, comments least of all; the tree only says which sign plays which part.
 *
 * Y-5 formatting again changes nothing; Y-5 the tree is the same, and so are the comments. A file that cannot be read is not touched.
 */
import { type ParsedFile, parseSymbi } from "./parse.ts";
import { assignRoles, type Roles } from "./roles.ts";
import { symbiTokens, type Token } from "./tokens.ts";

export type Formatted = Readonly<{ kind: "text"; text: string } | Extract<ParsedFile, { kind: "problems" }>>;

const INDENT = "  ";

export function formatSymbi(given: string, file: string): Formatted {
  const parsed = parseSymbi(given, file);
  if (parsed.kind === "problems") return parsed;
  const tokens = symbiTokens(parsed.text);
  const text = layOutTokens(tokens, assignRoles(parsed.tree, tokens));
  return { kind: "text", text: text === "" ? "" : `${text}\n` };
}

/** The signs, each where its part and its neighbours put it; they may be a part of a file's. */
export function layOutTokens(tokens: readonly Token[], roles: Roles): string {
  const brackets = bracketsOf(tokens, roles.blocks);
  let text = "";
  let indent = 0;
  /** The brackets that are open, the innermost last. */
  const open: Bracket[] = [];
  for (const [i, token] of tokens.entries()) {
    const before = tokens[i - 1];
    const own = brackets.get(token.at);
    if (own?.role === "close") {
      open.pop();
      if (own.bracket.isSpread) indent -= 1;
    }
    const inner = open.at(-1);
    const gap = before === undefined ? "" : gapOf({ token, before, next: signAfter(tokens, i), inner, own, brackets, roles });
    if (gap === "line" || gap === "blank") text += `${gap === "blank" ? "\n\n" : "\n"}${INDENT.repeat(indent)}`;
    else if (gap === "soft") text += `\n${INDENT.repeat(indent + 1)}`;
    else text += gap;
    text += token.text;
    if (own?.role === "open") {
      open.push(own.bracket);
      if (own.bracket.isSpread) indent += 1;
    }
  }
  return text;
}

/** `isBlock`: it holds statements, rules, keys. `isSpread`: what it holds stands on lines of its own. */
type Bracket = Readonly<{ isBlock: boolean; isSpread: boolean; isEmpty: boolean }>;
type Brackets = ReadonlyMap<number, Readonly<{ role: "open" | "close"; bracket: Bracket }>>;

function bracketsOf(tokens: readonly Token[], blocks: ReadonlySet<number>): Brackets {
  const found = new Map<number, { role: "open" | "close"; bracket: Bracket }>();
  const open: { token: Token; index: number }[] = [];
  for (const [index, token] of tokens.entries()) {
    if (token.kind !== "sign") continue;
    if ("{[(".includes(token.text)) open.push({ token, index });
    if (!"}])".includes(token.text)) continue;
    const begin = open.pop();
    if (begin === undefined) continue; // it parsed, so there is one
    const held = tokens.slice(begin.index + 1, index);
    const isBlock = blocks.has(begin.token.at);
    const isSpread = held.length > 0 && (isBlock || (held[0]?.breaks ?? 0) > 0 || held.some((t) => t.kind === "comment"));
    const bracket = { isBlock, isSpread, isEmpty: held.length === 0 };
    found.set(begin.token.at, { role: "open", bracket });
    found.set(token.at, { role: "close", bracket });
  }
  return found;
}

type Gap = "line" | "blank" | "soft" | "" | " ";
type Between = Readonly<{
  token: Token;
  before: Token;
  /** The sign that a comment is about, or comes before. */
  next: Token | undefined;
  /** The bracket around both. */
  inner: Bracket | undefined;
  own: ReturnType<Brackets["get"]>;
  brackets: Brackets;
  roles: ReturnType<typeof assignRoles>;
}>;

function gapOf(between: Between): Gap {
  const { token, before, next, inner, own, brackets, roles } = between;
  const opened = brackets.get(before.at);
  const isFirst = opened?.role === "open";
  if (own?.role === "close") return own.bracket.isSpread ? "line" : own.bracket.isEmpty || token.text !== "}" ? "" : " ";
  if (token.kind === "comment") {
    if (token.breaks === 0) return " ";
    if (next !== undefined && roles.soft.has(next.at)) return "soft"; // it stands above what it is about
    return isFirst ? "line" : inner === undefined && endsItem(before, roles) ? "blank" : apart(token);
  }
  if (roles.tops.has(token.at)) return before.kind === "comment" ? apart(token) : "blank";
  if (roles.lines.has(token.at)) return isFirst ? "line" : apart(token);
  if (before.text.startsWith("/*") && token.breaks === 0) return " "; // what is behind such a comment in its line stays there
  if (before.kind === "comment") return roles.soft.has(token.at) ? "soft" : "line";
  if (isFirst) return opened.bracket.isSpread ? "line" : before.text === "{" ? " " : "";
  if (inner?.isSpread === true && !inner.isBlock && (before.text === "," || before.text === ";" || roles.items.has(token.at)))
    return "line";
  if (token.breaks > 0 && roles.soft.has(token.at)) return "soft";
  return spaceOf(token, before, roles);
}

/** The first after it that is no comment. */
function signAfter(tokens: readonly Token[], index: number): Token | undefined {
  let i = index + 1;
  while (tokens[i]?.kind === "comment") i += 1;
  return tokens[i];
}

/** One blank line at most. */
const apart = (token: Token): Gap => (token.breaks > 1 ? "blank" : "line");

/** Outside of all brackets, what a comment follows is whole unless the comment stands within its head. */
const endsItem = (before: Token, roles: Between["roles"]): boolean => before.kind !== "comment" && roles.ends.has(before.at);

function spaceOf(token: Token, before: Token, roles: Between["roles"]): Gap {
  if ([",", ";", ":", "?"].includes(token.text)) return "";
  if (token.text === ".") return before.kind === "number" || before.kind === "secret" ? " " : "";
  if (before.text === "." || roles.tight.has(token.at) || roles.tightAfter.has(before.at)) return "";
  return " ";
}
