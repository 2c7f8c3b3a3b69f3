/** Which part each sign of a file plays in its layout, by the tree. */
import type { Token } from "./tokens.ts";
import type { AnyNode, File, NamedType } from "./tree.ts";

export type Roles = Readonly<{
  /** Offsets of braces that hold statements, rules, keys or members. */
  blocks: ReadonlySet<number>;
  /** What begins an item of the file, and what begins a line in a block. */
  tops: ReadonlySet<number>;
  lines: ReadonlySet<number>;
  /** What begins a field or a parameter: a line, where what holds it is spread over several. */
  items: ReadonlySet<number>;
  /** Where a line that is broken stays broken. */
  soft: ReadonlySet<number>;
  /** Nothing stands before it; nothing stands after it. */
  tight: ReadonlySet<number>;
  tightAfter: ReadonlySet<number>;
  /** Last signs of the file's items. */
  ends: ReadonlySet<number>;
}>;

type Sets = { readonly [K in keyof Roles]: Set<number> };

export function assignRoles(tree: File, tokens: readonly Token[]): Roles {
  const sets: Sets = {
    blocks: new Set(),
    tops: new Set(tree.items.map((item) => item.at)),
    lines: new Set(),
    items: new Set(),
    soft: new Set(),
    tight: new Set(),
    tightAfter: new Set(),
    ends: new Set(),
  };
  const signs = tokens.filter((t) => t.kind !== "comment");
  for (const [i, sign] of signs.entries()) {
    const next = signs[i + 1];
    if (next === undefined || sets.tops.has(next.at)) sets.ends.add(sign.at);
  }
  const placeOf = new Map(signs.map((sign, i) => [sign.at, i]));
  const after = (at: number): Token | undefined => signs[(placeOf.get(at) ?? signs.length) + 1];
  const left: unknown[] = [...tree.items];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if (typeof next !== "object" || next === null) continue;
    if (isNode(next)) mark(next, sets, after, signs, placeOf);
    for (const value of Object.values(next)) if (typeof value === "object" && value !== null) left.push(value);
  }
  return sets;
}

const isNode = (value: object): value is AnyNode => "kind" in value && "at" in value;

function mark(
  node: AnyNode,
  sets: Sets,
  after: (at: number) => Token | undefined,
  signs: readonly Token[],
  placeOf: ReadonlyMap<number, number>,
): void {
  if ("open" in node) sets.blocks.add(node.open);
  switch (node.kind) {
    case "agent":
    case "function": {
      const bracket = after(node.name.at);
      if (bracket?.text === "(") sets.tight.add(bracket.at);
      for (const one of node.kind === "agent" ? node.members : []) sets.lines.add(one.at);
      for (const one of node.params) sets.items.add(one.at);
      break;
    }
    case "metadata":
    case "schedule":
    case "webhook":
    case "memory":
    case "channel":
    case "section":
      for (const one of node.entries) sets.lines.add(one.at);
      break;
    case "policy":
      for (const one of node.rules) sets.lines.add(one.at);
      break;
    case "rule":
      if (node.condition !== null) softBefore(node.condition.at, "if");
      break;
    case "block":
      for (const one of node.statements) sets.lines.add(one.at);
      break;
    case "match":
      for (const one of node.arms) sets.lines.add(one.at);
      break;
    case "with":
      for (const one of node.settings) sets.soft.add(one.at);
      break;
    case "record":
    case "instance":
    case "struct":
      for (const one of node.fields) sets.items.add(one.at);
      break;
    case "variant": {
      const bracket = after(node.name.at);
      if (bracket !== undefined) sets.tight.add(bracket.at);
      break;
    }
    case "member":
      sets.soft.add(node.stepAt);
      break;
    case "named-type":
      angles(node);
      break;
    case "unary":
      if (node.op !== "not") sets.tightAfter.add(node.at);
      break;
    case "binary":
      sets.soft.add(node.opAt);
      break;
    case "call":
    case "index":
      sets.tight.add(node.stepAt);
      break;
    default:
      break;
  }

  function softBefore(at: number, word: string): void {
    for (let i = (placeOf.get(at) ?? 0) - 1; i >= 0; i -= 1) {
      const sign = signs[i];
      if (sign?.text === word) sets.soft.add(sign.at);
      if (sign?.text !== "(") return;
    }
  }

  /** `List<String>`. */
  function angles({ name, args }: NamedType): void {
    if (args.length === 0) return;
    let depth = 0;
    for (let i = (placeOf.get(name.at) ?? 0) + 1; i < signs.length; i += 1) {
      const sign = signs[i];
      if (sign?.text === "<") {
        sets.tight.add(sign.at);
        sets.tightAfter.add(sign.at);
        depth += 1;
      } else if (sign?.text === ">") {
        depth -= 1;
        sets.tight.add(sign.at);
        if (depth === 0) return;
      }
    }
  }
}
