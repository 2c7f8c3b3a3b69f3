// Reads TypeScript far enough to find its imports and its string literals. TypeScript 7 has no JavaScript API to ask, and a search by
// pattern would find imports in comments and strings, and miss those that span lines.

/** `text` is a string or template literal; `whole` is false for a template with substitutions, whose `value` is then its first piece. */
export type Token = Readonly<{ kind: "word" | "text" | "pattern" | "mark"; value: string; whole: boolean; start: number; end: number }>;

/** `specifier` is null where the argument of a dynamic import is computed; `types` means nothing is left of it at run time. */
export type Import = Readonly<{ specifier: string | null; types: boolean; start: number; end: number }>;

const WORD = /[\p{ID_Start}$_#][\p{ID_Continue}$\u200c\u200d]*|[0-9][\w.]*/uy;
/** After these words a slash opens a regular expression; after any other word it divides. */
const BEFORE_PATTERN = new Set([
  "return",
  "typeof",
  "case",
  "in",
  "of",
  "do",
  "else",
  "void",
  "delete",
  "instanceof",
  "new",
  "throw",
  "yield",
  "await",
]);

export function tokensOf(source: string): readonly Token[] {
  const tokens: Token[] = [];
  const templates: number[] = []; // brace depth inside each open `${`
  let at = source.startsWith("#!") ? endOfLine(source, 0) : 0;
  const push = (kind: Token["kind"], value: string, end: number, whole = true): void => {
    tokens.push({ kind, value, whole, start: at, end });
    at = end;
  };
  const template = (from: number): void => {
    const piece = templatePiece(source, from);
    push("text", source.slice(from, piece.end), piece.end + (piece.open ? 2 : 1), !piece.open && source[from - 1] === "`");
    if (piece.open) templates.push(0);
  };
  while (at < source.length) {
    const char = source.charAt(at);
    if (/\s/.test(char)) at += 1;
    else if (source.startsWith("//", at)) at = endOfLine(source, at);
    else if (source.startsWith("/*", at)) at = after(source, "*/", at + 2);
    else if (char === '"' || char === "'") {
      const end = endOfQuoted(source, at, char);
      push("text", source.slice(at + 1, source[end - 1] === char && end - 1 > at ? end - 1 : end), end);
    } else if (char === "`") template(at + 1);
    else if (char === "}" && templates.at(-1) === 0) {
      templates.pop();
      template(at + 1);
    } else if (char === "/" && opensPattern(tokens.at(-1), source)) {
      const end = endOfPattern(source, at);
      push("pattern", source.slice(at, end), end);
    } else {
      WORD.lastIndex = at;
      const word = WORD.exec(source)?.[0];
      if (word !== undefined) push("word", word, at + word.length);
      else {
        const depth = templates.length - 1;
        if (depth >= 0 && (char === "{" || char === "}")) templates[depth] = (templates[depth] ?? 0) + (char === "{" ? 1 : -1);
        push("mark", char, at + 1);
      }
    }
  }
  return tokens;
}

function endOfLine(source: string, from: number): number {
  const end = source.indexOf("\n", from);
  return end === -1 ? source.length : end;
}

function after(source: string, closing: string, from: number): number {
  const end = source.indexOf(closing, from);
  return end === -1 ? source.length : end + closing.length;
}

/** An unclosed quote ends with its line: the apostrophes of markup text must not swallow the rest of the file. */
function endOfQuoted(source: string, from: number, quote: string): number {
  for (let i = from + 1; i < source.length; i += 1) {
    if (source[i] === "\\") i += 1;
    else if (source[i] === quote) return i + 1;
    else if (source[i] === "\n") return i;
  }
  return source.length;
}

function templatePiece(source: string, from: number): { end: number; open: boolean } {
  for (let i = from; i < source.length; i += 1) {
    if (source[i] === "\\") i += 1;
    else if (source[i] === "`") return { end: i, open: false };
    else if (source.startsWith("${", i)) return { end: i, open: true };
  }
  return { end: source.length, open: false };
}

function opensPattern(before: Token | undefined, source: string): boolean {
  if (before === undefined) return true;
  if (before.kind === "text") return source.startsWith("${", before.end - 2); // the first of a substitution
  if (before.kind === "word") return BEFORE_PATTERN.has(before.value);
  return before.kind === "mark" && ![")", "]", "}"].includes(before.value);
}

function endOfPattern(source: string, from: number): number {
  let inClass = false;
  for (let i = from + 1; i < source.length; i += 1) {
    const char = source.charAt(i);
    if (char === "\\") i += 1;
    else if (char === "\n") return i;
    else if (char === "[") inClass = true;
    else if (char === "]") inClass = false;
    else if (char === "/" && !inClass) return i + 1;
  }
  return source.length;
}

/** Static and dynamic imports, re-exports, `import type`, and `require`, in the order of the file. */
export function importsOf(source: string): readonly Import[] {
  const tokens = tokensOf(source);
  const found: Import[] = [];
  const value = (i: number): string | undefined => (tokens[i]?.kind === "text" ? undefined : tokens[i]?.value);
  tokens.forEach((token, i) => {
    if (token.kind !== "word" || value(i - 1) === "." || value(i + 1) === ":") return;
    const called = value(i + 1) === "(";
    if (called && (token.value === "import" || token.value === "require")) found.push(ofCall(tokens, i));
    else if (token.value === "import" && value(i + 1) !== ".") found.push(...ofClause(tokens, i + 1));
    else if (token.value === "export" && ["*", "{", "type"].includes(value(i + 1) ?? "")) found.push(...ofClause(tokens, i + 1));
  });
  return found;
}

function ofCall(tokens: readonly Token[], i: number): Import {
  const argument = tokens[i + 2];
  const literal = argument?.kind === "text" && argument.whole && [")", ","].includes(tokens[i + 3]?.value ?? "");
  if (argument === undefined || !literal)
    return { specifier: null, types: false, start: tokens[i]?.start ?? 0, end: tokens[i + 1]?.end ?? 0 };
  return { specifier: argument.value, types: false, start: argument.start + 1, end: argument.end - 1 };
}

/** What stands between `import` or `export` and its specifier holds names, braces, commas and `*` only; anything else is another statement. */
function ofClause(tokens: readonly Token[], from: number): readonly Import[] {
  for (let i = from; i < tokens.length; i += 1) {
    const token = tokens[i];
    if (token === undefined || token.kind === "pattern") return [];
    if (token.kind === "text") {
      const named = tokens[i - 1]?.value === "from" && i - 1 > from;
      if (i === from || named) {
        return [{ specifier: token.value, types: isTypesOnly(tokens.slice(from, i - 1)), start: token.start + 1, end: token.end - 1 }];
      }
      if (tokens[i - 1]?.value !== "as" && tokens[i + 1]?.value !== "as" && tokens[i - 1]?.value !== "{" && tokens[i - 1]?.value !== ",")
        return [];
    } else if (token.kind === "mark" && !["{", "}", ",", "*"].includes(token.value)) return [];
  }
  return [];
}

function isTypesOnly(clause: readonly Token[]): boolean {
  const words = clause.map((token) => token.value);
  if (words[0] === "type" && words.length > 1 && words[1] !== ",") return true; // `import type from "x"` names a default import `type`
  if (words[0] !== "{" || words.at(-1) !== "}") return false;
  const names = words
    .slice(1, -1)
    .join(" ")
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
  return names.length > 0 && names.every((name) => /^type (?!as \S+$)\S/.test(name));
}
