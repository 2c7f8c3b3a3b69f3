/**
 * `SKILL.md`: frontmatter between two lines `---`, then the instructions.
 *
 * K-1 Frontmatter is a documented part of YAML: `key: text`, quoted text, `|` and `>` blocks, one level of `metadata`. What is accepted means
 *    what YAML says it means, as text; everything else is refused with line and column, never guessed.
 */
import { escapeHidden } from "../../vocab/index.ts";

export type SkillText = Readonly<{
  name: string;
  /** Where the name stands. */
  nameAt: Readonly<{ line: number; column: number }>;
  description: string;
  instructions: string;
  about: SkillAbout;
}>;

/** Shown to people, used for nothing: `allowed-tools` widens nothing, policies permit. */
export type SkillAbout = Readonly<{
  license: string | null;
  compatibility: string | null;
  allowedTools: string | null;
  metadata: Readonly<Record<string, string>>;
}>;

export type SkillTrouble = Readonly<{ line: number; column: number; detail: string; hint: string }>;
export type ReadSkill = Readonly<{ kind: "skill"; skill: SkillText } | ({ kind: "bad" } & SkillTrouble)>;

const TEXTS: Readonly<Record<string, number>> = { name: 64, description: 1_024, license: 500, compatibility: 500, "allowed-tools": 2_000 };
const FIELDS = [...Object.keys(TEXTS), "metadata"];
const MAX_LINES = 400;
const MAX_META = 32;
const MAX_META_CHARS = 1_000;
const QUOTE_IT = "put the value in double quotes";
const HINT = "see docs/guide/skills.md for what a SKILL.md holds";

/** A value, and where it begins. */
type Found = Readonly<{ text: string; line: number; column: number }>;
type Lines = readonly string[];

class Trouble extends Error {
  readonly at: SkillTrouble;
  constructor(line: number, column: number, detail: string, hint: string = HINT) {
    super(detail);
    this.at = { line, column, detail, hint };
  }
}

export function readSkillText(text: string): ReadSkill {
  try {
    return { kind: "skill", skill: parse(text.replaceAll("\r\n", "\n").split("\n")) };
  } catch (error) {
    if (error instanceof Trouble) return { kind: "bad", ...error.at };
    throw error;
  }
}

function parse(lines: Lines): SkillText {
  if (lines[0]?.trimEnd() !== "---") throw new Trouble(1, 1, "it does not begin with a line `---`");
  const end = lines.findIndex((line, i) => i > 0 && line.trimEnd() === "---");
  if (end === -1) throw new Trouble(1, 1, "the frontmatter has no end: there is no second line `---`");
  if (end > MAX_LINES) throw new Trouble(MAX_LINES, 1, `the frontmatter is longer than ${MAX_LINES} lines`);
  const { fields, metadata } = fieldsOf(lines.slice(0, end));
  const needed = (key: string): string => fields.get(key)?.text ?? fail(new Trouble(1, 1, `\`${key}\` is missing`));
  const optional = (key: string): string | null => fields.get(key)?.text ?? null;
  const [name, description] = [needed("name"), needed("description")];
  const instructions = lines
    .slice(end + 1)
    .join("\n")
    .trim();
  if (instructions === "") throw new Trouble(end + 2, 1, "there are no instructions below the frontmatter");
  const about = {
    license: optional("license"),
    compatibility: optional("compatibility"),
    allowedTools: optional("allowed-tools"),
    metadata: Object.fromEntries(metadata),
  };
  const { line, column } = fields.get("name") ?? { line: 1, column: 1 };
  return { name, nameAt: { line, column }, description, instructions, about };
}

function fail(trouble: Trouble): never {
  throw trouble;
}

type Fields = Readonly<{ fields: ReadonlyMap<string, Found>; metadata: ReadonlyMap<string, string> }>;

/** `lines` from the first `---` on, so that an index is a line number less one. */
function fieldsOf(lines: Lines): Fields {
  const fields = new Map<string, Found>();
  const metadata = new Map<string, string>();
  let seenMetadata = false;
  for (let i = 1; i < lines.length; ) {
    if (isIdle(lines[i])) {
      i += 1;
      continue;
    }
    const { key, from, line } = keyAt(lines, i, 0);
    if (!FIELDS.includes(key)) throw new Trouble(line, 1, `there is no field \`${key}\``, `the fields are ${FIELDS.join(", ")}`);
    if (fields.has(key) || (key === "metadata" && seenMetadata)) throw new Trouble(line, 1, `\`${key}\` is there twice`);
    if (key === "metadata") {
      seenMetadata = true;
      i = metadataAt(lines, i, from, metadata);
      continue;
    }
    const { found, next } = valueAt(lines, i, from, 0);
    checkText(key, found, TEXTS[key] ?? 0);
    fields.set(key, found);
    i = next;
  }
  return { fields, metadata };
}

function metadataAt(lines: Lines, at: number, from: number, into: Map<string, string>): number {
  const rest = withoutComment((lines[at] ?? "").slice(from));
  if (rest.trim() !== "")
    throw new Trouble(at + 1, columnOf(lines[at], from), "`metadata` is a map: write one `key: text` on each line below");
  let i = at + 1;
  let indent: number | null = null;
  for (; i < lines.length; ) {
    if (isIdle(lines[i])) {
      i += 1;
      continue;
    }
    const own = indentOf(lines, i);
    if (own === 0) break;
    indent ??= own;
    if (own !== indent) throw new Trouble(i + 1, own + 1, "it is not indented like the line above", "`metadata` has one level");
    const { key, from: start, line } = keyAt(lines, i, own);
    if (into.has(key)) throw new Trouble(line, own + 1, `\`${key}\` is there twice`);
    const { found, next } = valueAt(lines, i, start, own);
    checkText(`metadata.${key}`, found, MAX_META_CHARS);
    into.set(key, found.text);
    if (into.size > MAX_META) throw new Trouble(line, own + 1, `\`metadata\` has more than ${MAX_META} entries`);
    i = next;
  }
  if (into.size === 0) throw new Trouble(at + 1, columnOf(lines[at], from), "`metadata` is empty");
  return i;
}

function checkText(key: string, { text, line, column }: Found, most: number): void {
  if (text === "") throw new Trouble(line, column, `\`${key}\` is empty`);
  if (text.length > most) throw new Trouble(line, column, `\`${key}\` has ${text.length} characters, more than ${most}`);
}

/** Blank, or a comment. */
const isIdle = (line: string | undefined): boolean => /^\s*(#.*)?$/.test(line ?? "");

function indentOf(lines: Lines, i: number): number {
  const [blanks = ""] = /^[ \t]*/.exec(lines[i] ?? "") ?? [];
  if (blanks.includes("\t")) throw new Trouble(i + 1, blanks.indexOf("\t") + 1, "a line is indented by a tab", "use blanks");
  return blanks.length;
}

function keyAt(lines: Lines, i: number, indent: number): { readonly key: string; readonly from: number; readonly line: number } {
  const line = lines[i] ?? "";
  const own = indentOf(lines, i);
  if (own !== indent)
    throw new Trouble(i + 1, own + 1, "it is indented, but belongs to nothing above", "a text in several lines begins with `|` or `>`");
  const [whole, key = ""] = /^ *([A-Za-z0-9][A-Za-z0-9_.-]*):(?= |$)/.exec(line) ?? [];
  if (whole === undefined) throw new Trouble(i + 1, own + 1, `\`${escapeHidden(line.trim().slice(0, 40))}\` is no \`key: value\``);
  return { key, from: whole.length, line: i + 1 };
}

const columnOf = (line: string | undefined, from: number): number => {
  const rest = (line ?? "").slice(from);
  return from + 1 + (rest.length - rest.trimStart().length);
};

type Value = Readonly<{ found: Found; next: number }>;

function valueAt(lines: Lines, i: number, from: number, indent: number): Value {
  const raw = (lines[i] ?? "").slice(from);
  const at = { line: i + 1, column: columnOf(lines[i], from) };
  const rest = raw.trim();
  switch (rest.charAt(0)) {
    case "|":
    case ">":
      return block(lines, rest, indent, at);
    case '"':
    case "'":
      return { found: { ...at, text: quoted(rest, at).trim() }, next: i + 1 };
    default:
      return plain(lines, raw, indent, at);
  }
}

/** Lines count from 1, so `lines[at.line]` is the line after the place. */
type Place = Readonly<{ line: number; column: number }>;

function block(lines: Lines, header: string, indent: number, at: Place): Value {
  if (!/^[|>][+-]?( +#.*)?$/.test(header))
    throw new Trouble(at.line, at.column, `\`${escapeHidden(header.slice(0, 20))}\` does not begin a block`, "write `|` or `>` alone");
  const own: string[] = [];
  let inner: number | null = null;
  let next = at.line;
  for (; next < lines.length; next += 1) {
    const line = lines[next] ?? "";
    if (line.trim() === "") {
      own.push("");
      continue;
    }
    const depth = indentOf(lines, next);
    if (depth <= indent) break;
    inner ??= depth;
    if (depth < inner) throw new Trouble(next + 1, depth + 1, "it is indented less than the block's first line");
    if (header.startsWith(">") && depth > inner)
      throw new Trouble(next + 1, depth + 1, "a line of a folded block is indented further", "use `|`, which keeps lines as they are");
    own.push(line.slice(inner).trimEnd());
  }
  return { found: { ...at, text: (header.startsWith(">") ? folded(own) : own.join("\n")).trim() }, next };
}

/** Lines become one; a blank line is the end of one. */
const folded = (lines: Lines): string =>
  lines
    .join("\n")
    .trim()
    .replaceAll(/\n+/g, (feeds) => (feeds.length === 1 ? " " : feeds.slice(1)));

const ESCAPES: Readonly<Record<string, string>> = { '"': '"', "\\": "\\", "/": "/", n: "\n", t: "\t" };

function quoted(rest: string, at: Place): string {
  const mark = rest.charAt(0);
  const [whole, inner = ""] = (mark === '"' ? /^"((?:[^"\\]|\\.)*)"/ : /^'((?:[^']|'')*)'/).exec(rest) ?? [];
  if (whole === undefined)
    throw new Trouble(at.line, at.column, "the quote is not closed on its line", "a text in several lines begins with `|` or `>`");
  const after = rest.slice(whole.length);
  if (!/^(\s+#.*|\s*)$/.test(after)) throw new Trouble(at.line, at.column + whole.length, "there is more after the closing quote");
  if (mark === "'") return inner.replaceAll("''", "'");
  return inner.replaceAll(/\\(u[0-9A-Fa-f]{4}|.)/g, (whole_, code: string, offset: number) => {
    const known = code.length === 5 ? String.fromCharCode(Number.parseInt(code.slice(1), 16)) : ESCAPES[code];
    if (known === undefined)
      throw new Trouble(at.line, at.column + 1 + offset, `\`${whole_}\` is no known escape`, 'use \\n, \\t, \\", \\\\ or \\u0000');
    return known;
  });
}

function plain(lines: Lines, raw: string, indent: number, at: Place): Value {
  const first = plainPart(raw, at);
  if (first === "")
    throw new Trouble(at.line, at.column, "there is no value", "write it on the same line, or begin a block with `|` or `>`");
  if (/^([[\]{},&*!%@`]|[-?:]( |$))/.test(first))
    throw new Trouble(
      at.line,
      at.column,
      `a value cannot begin with \`${first.charAt(0)}\` here`,
      `${QUOTE_IT}; lists and nested maps are not read`,
    );
  const parts = [first];
  let next = at.line;
  const commented = withoutComment(raw) !== raw;
  for (; next < lines.length && !isIdle(lines[next]) && indentOf(lines, next) > indent; next += 1) {
    const own = indentOf(lines, next);
    if (commented) throw new Trouble(next + 1, own + 1, "a comment ends the value above", QUOTE_IT);
    const line = lines[next] ?? "";
    if (withoutComment(line) !== line)
      throw new Trouble(next + 1, own + 1, "a comment in a value of several lines", "begin a block with `>`");
    parts.push(plainPart(line.slice(own), { line: next + 1, column: own + 1 }));
  }
  return { found: { ...at, text: parts.join(" ") }, next };
}

function plainPart(raw: string, at: Place): string {
  const text = withoutComment(raw).trim();
  const colon = text.search(/:( |$)/);
  if (colon >= 0) throw new Trouble(at.line, at.column + colon, "a colon and a blank begin another value", QUOTE_IT);
  return text;
}

const withoutComment = (text: string): string => text.replace(/(^|[ \t])#.*$/, "");
