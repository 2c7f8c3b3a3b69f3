/**
 * The conditions of a manifest: comparisons of an argument with a literal, joined by `and` and `or`. A closed grammar; nothing is evaluated
 * but this. `or` binds less than `and`.
 */

type Comparison = Readonly<{ name: string; op: Op; literal: string }>;
type Op = "==" | "!=" | "<" | ">" | "<=" | ">=";
/** Any of these lists, all of it. */
export type When = readonly (readonly Comparison[])[];

export type ReadWhen = Readonly<{ kind: "when"; when: When; names: readonly string[] }> | Readonly<{ kind: "bad"; why: string }>;

const TOKEN = /\s*(?:(==|!=|<=|>=|<|>)|'([^']*)'|"([^"]*)"|(-?\d+(?:\.\d+)?)|([A-Za-z_][A-Za-z0-9_]*))\s*/y;
type Token = Readonly<{ kind: "op" | "literal" | "word"; text: string }>;

function tokensOf(text: string): readonly Token[] | null {
  const tokens: Token[] = [];
  for (TOKEN.lastIndex = 0; TOKEN.lastIndex < text.length; ) {
    const found = TOKEN.exec(text);
    if (found === null) return null;
    const [, op, single, double, number, word] = found;
    if (op !== undefined) tokens.push({ kind: "op", text: op });
    else if (word !== undefined) tokens.push({ kind: "word", text: word });
    else tokens.push({ kind: "literal", text: single ?? double ?? number ?? "" });
  }
  return tokens;
}

const OPS: readonly Op[] = ["==", "!=", "<", ">", "<=", ">="];

export function readWhen(text: string): ReadWhen {
  const tokens = tokensOf(text);
  const bad = (why: string): ReadWhen => ({ kind: "bad", why });
  if (tokens === null || tokens.length === 0) return bad("is no condition: write `name == 'value'`, joined by `and` or `or`");
  const any: Comparison[][] = [[]];
  for (let at = 0; at < tokens.length; at += 4) {
    const [name, op, literal, join] = tokens.slice(at, at + 4);
    const known = OPS.find((one) => one === op?.text);
    const isValue = literal?.kind === "literal" || (literal?.kind === "word" && (literal.text === "true" || literal.text === "false"));
    if (name?.kind !== "word" || op?.kind !== "op" || known === undefined || literal === undefined || !isValue)
      return bad("is no condition: a name, one of == != < > <= >=, and a literal");
    any.at(-1)?.push({ name: name.text, op: known, literal: literal.text });
    if (join === undefined) continue;
    if (join.kind !== "word" || (join.text !== "and" && join.text !== "or") || at + 4 >= tokens.length)
      return bad("joins its parts by something else than `and` or `or`");
    if (join.text === "or") any.push([]);
  }
  return { kind: "when", when: any, names: [...new Set(any.flat().map((one) => one.name))] };
}

/** An argument that is not given is the empty text. Only numbers are ordered: a comparison with another text is false. */
export const conditionHolds = (when: When, textOf: (name: string) => string | null): boolean =>
  when.some((all) => all.every(({ name, op, literal }) => compare(textOf(name) ?? "", op, literal)));

function compare(text: string, op: Op, literal: string): boolean {
  if (op === "==") return text === literal;
  if (op === "!=") return text !== literal;
  if (text === "" || literal === "") return false;
  const [a, b] = [Number(text), Number(literal)];
  if (Number.isNaN(a) || Number.isNaN(b)) return false;
  switch (op) {
    case "<":
      return a < b;
    case ">":
      return a > b;
    case "<=":
      return a <= b;
    case ">=":
      return a >= b;
  }
}
