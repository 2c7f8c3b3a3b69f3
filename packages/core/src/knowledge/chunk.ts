/**
 * Documents cut into pieces by their own structure: sections of markdown and HTML under their headings, paragraphs of text, top-level parts of code.
 * N-14 a piece has at most 1,600 characters and says where it stands; nothing but space is lost, a fence or a paragraph is cut only where it is too long by
 *     itself, and the same text gives the same pieces.
 * N-15 the work grows with the length of a text and no faster, whatever it is made of: no expression here looks again at what it has passed.
 */
export type Piece = Readonly<{ title: string; text: string }>;
export type DocumentKind = "markdown" | "html" | "text" | "code";

export const LONGEST_PIECE = 1_600;

const KINDS: ReadonlyMap<string, DocumentKind> = new Map([
  ...["md", "markdown", "mdx"].map((ext) => [ext, "markdown"] as const),
  ...["html", "htm", "xhtml"].map((ext) => [ext, "html"] as const),
  ...["txt", "text", "rst", "adoc", "org", "csv", "tsv"].map((ext) => [ext, "text"] as const),
  ...(
    "ts tsx mts cts js jsx mjs cjs py go rs java kt kts scala rb php c h cc cpp hpp cs swift m sh bash zsh sql r lua pl ex exs erl hs ml clj dart vue svelte " +
    "css scss toml yaml yml json jsonc xml proto graphql cedar symbi tf ini cfg make cmake"
  )
    .split(" ")
    .map((ext) => [ext, "code"] as const),
]);

/** By how its name ends; null: nothing that is read here. */
export function documentKind(path: string): DocumentKind | null {
  const name = path.slice(path.lastIndexOf("/") + 1).toLowerCase();
  if (name === "makefile" || name === "dockerfile") return "code";
  const dot = name.lastIndexOf(".");
  return dot <= 0 ? null : (KINDS.get(name.slice(dot + 1)) ?? null);
}

export function splitDocument(text: string, kind: DocumentKind): readonly Piece[] {
  const plain = text
    .toWellFormed()
    .replace(/\r\n?/g, "\n")
    .replace(/^\ufeff/, "");
  switch (kind) {
    case "markdown":
      return sections(plain);
    case "html":
      return sections(htmlText(plain));
    case "text":
      return packed(paragraphs(plain), "");
    case "code":
      return packed(parts(plain), "\n").map(({ text: part }) => ({ title: signature(part), text: part }));
  }
}

const HEADING = /^ {0,3}(#{1,6})(?=\s)/;
/** A longer one is text like any other, and is lost nowhere. */
const LONGEST_HEADING = 200;
const titleIn = (line: string): string =>
  line
    .replace(/^\s*#+/, "")
    .trim()
    .replace(/(?<!#)#+$/, "")
    .trim();
const FENCE = /^ {0,3}(```+|~~~+)/;

function sections(text: string): readonly Piece[] {
  const pieces: Piece[] = [];
  const path: string[] = [];
  let lines: string[] = [];
  let fence: string | null = null;
  const titleOf = (names: readonly string[]): string => names.filter((name) => name !== "").join(" > ");
  /** `level`: of the heading that comes next. One with nothing under it is said by nobody else. */
  const flush = (level: number): void => {
    const found = packed(paragraphs(lines.join("\n")), "");
    for (const { text: part } of found) pieces.push({ title: titleOf(path), text: part });
    const last = path.at(-1) ?? "";
    if (found.length === 0 && level <= path.length && last !== "") pieces.push({ title: titleOf(path.slice(0, -1)), text: last });
    lines = [];
  };
  for (const line of text.split("\n")) {
    const mark = FENCE.exec(line)?.[1] ?? null;
    if (fence === null && mark !== null) fence = mark;
    else if (fence !== null && mark?.startsWith(fence) === true) fence = null;
    const heading = fence === null && mark === null && line.length <= LONGEST_HEADING ? HEADING.exec(line) : null;
    if (heading === null) {
      lines.push(line);
      continue;
    }
    const level = heading[1]?.length ?? 1;
    flush(level);
    path.length = level - 1;
    for (let i = 0; i < level - 1; i += 1) path[i] ??= "";
    path.push(titleIn(line));
  }
  flush(0);
  return pieces;
}

/** Parted by empty lines; what a fence holds stays together. */
function paragraphs(text: string): readonly string[] {
  const found: string[] = [];
  let lines: string[] = [];
  let fence: string | null = null;
  for (const line of text.split("\n")) {
    const mark = FENCE.exec(line)?.[1] ?? null;
    if (fence === null && mark !== null) fence = mark;
    else if (fence !== null && mark?.startsWith(fence) === true) fence = null;
    if (line.trim() === "" && fence === null) {
      if (lines.length > 0) found.push(lines.join("\n"));
      lines = [];
    } else lines.push(line);
  }
  if (lines.length > 0) found.push(lines.join("\n"));
  return found.filter((one) => one.trim() !== "");
}

/** Parts of a program begin where a line without indent follows an empty one. */
function parts(text: string): readonly string[] {
  const found: string[] = [];
  let lines: string[] = [];
  const all = text.split("\n");
  for (const [i, line] of all.entries()) {
    if (i > 0 && all[i - 1]?.trim() === "" && /^[^\s})\]]/.test(line) && lines.length > 0) {
      found.push(lines.join("\n"));
      lines = [];
    }
    lines.push(line);
  }
  if (lines.length > 0) found.push(lines.join("\n"));
  return found.map((one) => one.replace(/^\n+/, "").trimEnd()).filter((one) => one !== "");
}

/** The first line that says what it is. */
function signature(part: string): string {
  const line = part.split("\n").find((one) => /[\p{L}\p{N}]/u.test(one) && !/^\s*(?:\/\/|#|\*|\/\*|--|;|<!--)/.test(one)) ?? "";
  return line.trim().slice(0, 120);
}

/** As many together as fit. */
function packed(all: readonly string[], between: string): readonly Piece[] {
  const join = between === "" ? "\n\n" : `\n${between}`;
  const pieces: string[] = [];
  for (const one of all.flatMap(cutLong)) {
    const last = pieces.at(-1);
    if (last !== undefined && last.length + join.length + one.length <= LONGEST_PIECE) pieces[pieces.length - 1] = `${last}${join}${one}`;
    else pieces.push(one);
  }
  return pieces.map((text) => ({ title: "", text }));
}

/** A part that is too long by itself is cut between lines, then between words, then anywhere but inside a character. */
function cutLong(text: string): readonly string[] {
  if (text.length <= LONGEST_PIECE) return [text];
  const window = text.slice(0, LONGEST_PIECE);
  const line = window.lastIndexOf("\n");
  const word = window.lastIndexOf(" ");
  let at = line > LONGEST_PIECE / 2 ? line : word > LONGEST_PIECE / 2 ? word : LONGEST_PIECE;
  if (/[\ud800-\udbff]/.test(text.charAt(at - 1))) at -= 1;
  const rest = text.slice(at).replace(/^[\n ]/, "");
  return [text.slice(0, at), ...(rest === "" ? [] : cutLong(rest))];
}

const UNSEEN = /<!--[\s\S]*?(?:-->|$)|<(script|style|template|noscript|svg|head)\b[\s\S]*?(?:<\/\1\s*>|$)/gi;
const BLOCKS =
  /<\/?(?:p|div|section|article|main|header|footer|nav|aside|ul|ol|li|table|tr|pre|blockquote|form|br|hr|dl|dt|dd|figure|body|html)\b[^<>]*>/gi;

/** As a reader sees it, with headings as markdown has them. What is not shown is not read. */
function htmlText(html: string): string {
  return html
    .replace(UNSEEN, " ")
    .replace(
      /<h([1-6])\b[^<>]*>([\s\S]{0,400}?)<\/h\1\s*>/gi,
      (_, level: string, inner: string) => `\n\n${"#".repeat(Number(level))} ${inner.replace(/\s+/g, " ")}\n\n`,
    )
    .replace(BLOCKS, "\n\n")
    .replace(/<\/?[A-Za-z][^<>]*>/g, "")
    .replace(/&(#x[0-9a-f]{1,6}|#\d{1,7}|[a-z]{2,6});/gi, (whole, name: string) => entity(name) ?? whole);
}

const NAMED: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " " };
function entity(name: string): string | null {
  if (!name.startsWith("#")) return Object.hasOwn(NAMED, name.toLowerCase()) ? (NAMED[name.toLowerCase()] ?? null) : null;
  const code = /^#x/i.test(name) ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
  return code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff) ? String.fromCodePoint(code) : null;
}
