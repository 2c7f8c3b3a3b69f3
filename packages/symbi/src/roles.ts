/** Which part each sign of a file plays in its layout, by the tree. */
import type { Token } from "./tokens.ts";
import type { AnyNode, File, NamedType } from "./tree.ts";

export type Roles = Readonly<{
  /** Offsets of braces that hold statements, rules, keys or members. */
  blocks: ReadonlySet<number>;
  /** Offsets where an item of the file begins (`tops`), or a line in a block (`lines`). */
  tops: ReadonlySet<number>;
  lines: ReadonlySet<number>;
  /** Offsets where a field or a parameter begins: a line of its own, where the list around it is spread over several. */
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
  const marker = new RoleMarker(tree, tokens);
  const left: unknown[] = [...tree.items];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if (typeof next !== "object" || next === null) continue;
    if (isNode(next)) marker.mark(next);
    for (const value of Object.values(next)) if (typeof value === "object" && value !== null) left.push(value);
  }
  return marker.sets;
}

const isNode = (value: object): value is AnyNode => "kind" in value && "at" in value;

class RoleMarker {
  readonly sets: Sets;
  readonly #signs: readonly Token[];
  readonly #placeOf: ReadonlyMap<number, number>;

  constructor(tree: File, tokens: readonly Token[]) {
    const tops = new Set(tree.items.map((item) => item.at));
    const signs = tokens.filter((t) => t.kind !== "comment");
    const ends = new Set<number>();
    for (const [i, sign] of signs.entries()) {
      const next = signs[i + 1];
      if (next === undefined || tops.has(next.at)) ends.add(sign.at);
    }
    this.#signs = signs;
    this.#placeOf = new Map(signs.map((sign, i) => [sign.at, i]));
    this.sets = {
      blocks: new Set(),
      tops,
      lines: new Set(),
      items: new Set(),
      soft: new Set(),
      tight: new Set(),
      tightAfter: new Set(),
      ends,
    };
  }

  mark(node: AnyNode): void {
    if ("open" in node) this.sets.blocks.add(node.open);
    switch (node.kind) {
      case "agent":
      case "function": {
        const bracket = this.#after(node.name.at);
        if (bracket?.text === "(") this.sets.tight.add(bracket.at);
        for (const one of node.kind === "agent" ? node.members : []) this.sets.lines.add(one.at);
        for (const one of node.params) this.sets.items.add(one.at);
        break;
      }
      case "metadata":
      case "schedule":
      case "webhook":
      case "memory":
      case "channel":
      case "section":
        for (const one of node.entries) this.sets.lines.add(one.at);
        break;
      case "policy":
        for (const one of node.rules) this.sets.lines.add(one.at);
        break;
      case "rule":
        if (node.condition !== null) this.#softBefore(node.condition.at, "if");
        break;
      case "block":
        for (const one of node.statements) this.sets.lines.add(one.at);
        break;
      case "match":
        for (const one of node.arms) this.sets.lines.add(one.at);
        break;
      case "with":
        for (const one of node.settings) this.sets.soft.add(one.at);
        break;
      case "record":
      case "instance":
      case "struct":
        for (const one of node.fields) this.sets.items.add(one.at);
        break;
      case "variant": {
        const bracket = this.#after(node.name.at);
        if (bracket !== undefined) this.sets.tight.add(bracket.at);
        break;
      }
      case "member":
        this.sets.soft.add(node.stepAt);
        break;
      case "named-type":
        this.#angles(node);
        break;
      case "unary":
        if (node.op !== "not") this.sets.tightAfter.add(node.at);
        break;
      case "binary":
        this.sets.soft.add(node.opAt);
        break;
      case "call":
      case "index":
        this.sets.tight.add(node.stepAt);
        break;
      default:
        break;
    }
  }

  #after(at: number): Token | undefined {
    return this.#signs[(this.#placeOf.get(at) ?? this.#signs.length) + 1];
  }

  #softBefore(at: number, word: string): void {
    for (let i = (this.#placeOf.get(at) ?? 0) - 1; i >= 0; i -= 1) {
      const sign = this.#signs[i];
      if (sign?.text === word) this.sets.soft.add(sign.at);
      if (sign?.text !== "(") return;
    }
  }

  /** `List<String>`. */
  #angles({ name, args }: NamedType): void {
    if (args.length === 0) return;
    let depth = 0;
    for (let i = (this.#placeOf.get(name.at) ?? 0) + 1; i < this.#signs.length; i += 1) {
      const sign = this.#signs[i];
      if (sign?.text === "<") {
        this.sets.tight.add(sign.at);
        this.sets.tightAfter.add(sign.at);
        depth += 1;
      } else if (sign?.text === ">") {
        depth -= 1;
        this.sets.tight.add(sign.at);
        if (depth === 0) return;
      }
    }
  }
}
