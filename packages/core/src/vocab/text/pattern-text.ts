/**
 * A regular expression of a contract or a schema, read into a tree. The language is the one that the format's own implementation has: no backward
 * references and no looking around, so that a text can be matched in one go. What is understood differently elsewhere is refused, not guessed at.
 */

/** One character of a kind; `source` and `flags` say which, for a pattern of the engine's own that reads nothing but that character. */
export type Node =
  | Readonly<{ kind: "one"; source: string; flags: string }>
  | Readonly<{ kind: "place"; what: "start" | "end" | "line-start" | "line-end" | "edge" | "no-edge"; flags: string }>
  | Readonly<{ kind: "all"; of: readonly Node[] }>
  | Readonly<{ kind: "any"; of: readonly Node[] }>
  | Readonly<{ kind: "repeat"; of: Node; min: number; max: number | null }>;

export type ReadTree = Readonly<{ kind: "tree"; tree: Node } | { kind: "refused"; why: string }>;

class Refused extends Error {}
const refuse = (why: string): never => {
  throw new Refused(why);
};

const MAX_CHARS = 4_096;
const MAX_DEPTH = 100;
const MAX_COUNT = 10_000;

export function readPatternText(text: string): ReadTree {
  if (text.length > MAX_CHARS) return { kind: "refused", why: `is longer than ${MAX_CHARS} characters` };
  try {
    return { kind: "tree", tree: new Reader(text).whole() };
  } catch (error) {
    if (error instanceof Refused) return { kind: "refused", why: error.message };
    throw error;
  }
}

type Flags = Readonly<{ i: boolean; m: boolean; s: boolean }>;
const flagsOf = ({ i, s }: Flags): string => `${i ? "i" : ""}${s ? "s" : ""}u`;

class Reader {
  readonly #chars: readonly string[];
  #at = 0;
  #flags: Flags = { i: false, m: false, s: false };

  constructor(text: string) {
    this.#chars = [...text];
  }

  whole(): Node {
    const tree = this.#choices(0);
    return this.#at === this.#chars.length ? tree : refuse("closes a group that was not opened");
  }

  #choices(depth: number): Node {
    if (depth > MAX_DEPTH) refuse("nests too deeply");
    const before = this.#flags;
    const of: Node[] = [this.#row(depth)];
    while (this.#takes("|")) of.push(this.#row(depth));
    this.#flags = before;
    return of.length === 1 && of[0] !== undefined ? of[0] : { kind: "any", of };
  }

  #row(depth: number): Node {
    const of: Node[] = [];
    for (let next = this.#peek(); next !== null && next !== "|" && next !== ")"; next = this.#peek()) {
      const one = this.#item(depth);
      if (one !== null) of.push(this.#repeated(one));
    }
    return { kind: "all", of };
  }

  /** Null: it only set flags. */
  #item(depth: number): Node | null {
    const c = this.#next();
    const flags = flagsOf(this.#flags);
    switch (c) {
      case "(":
        return this.#group(depth);
      case "[":
        return { kind: "one", source: this.#characters(), flags };
      case ".":
        return { kind: "one", source: ".", flags };
      case "^":
        return { kind: "place", what: this.#flags.m ? "line-start" : "start", flags };
      case "$":
        return { kind: "place", what: this.#flags.m ? "line-end" : "end", flags };
      case "*":
      case "+":
      case "?":
      case "{":
        return refuse(`has \`${c}\` where there is nothing to repeat`);
      case "\\":
        return this.#escaped(flags);
      default:
        return { kind: "one", source: exactly(c), flags };
    }
  }

  #group(depth: number): Node | null {
    if (this.#takes("?")) {
      const rest = this.#chars.slice(this.#at, this.#at + 80).join("");
      const name = /^P?<[A-Za-z_$][\w$]*>/.exec(rest)?.[0];
      const [, on = "", off = "", end = ""] = /^([ims]*)(?:-([ims]+))?([:)])/.exec(rest) ?? [];
      if (name !== undefined) this.#at += name.length;
      else if (end === "")
        refuse(
          /^<?[=!]/.test(rest)
            ? "looks around, which takes time out of all proportion"
            : `has a group \`(?${rest.slice(0, 3)}\` that is not understood`,
        );
      else {
        this.#at += on.length + (off === "" ? 0 : off.length + 1) + 1;
        const before = this.#flags;
        const is = (flag: keyof Flags): boolean => (on.includes(flag) || before[flag]) && !off.includes(flag);
        this.#flags = { i: is("i"), m: is("m"), s: is("s") };
        if (end === ")") return null;
        const inner = this.#closed(depth);
        this.#flags = before;
        return inner;
      }
    }
    return this.#closed(depth);
  }

  #closed(depth: number): Node {
    const inner = this.#choices(depth + 1);
    return this.#takes(")") ? inner : refuse("does not close a group");
  }

  #repeated(of: Node): Node {
    let node = of;
    for (let how = this.#count(); how !== null; how = this.#count()) {
      this.#takes("?"); // as few or as many as fit: whether it fits is the same
      node = { kind: "repeat", of: node, ...how };
    }
    return node;
  }

  #count(): Readonly<{ min: number; max: number | null }> | null {
    if (this.#takes("*")) return { min: 0, max: null };
    if (this.#takes("+")) return { min: 1, max: null };
    if (this.#takes("?")) return { min: 0, max: 1 };
    if (this.#peek() !== "{") return null;
    const [all = "", min = "", comma, max = ""] =
      /^\{(\d{1,6})(,)?(\d{0,6})\}/.exec(this.#chars.slice(this.#at, this.#at + 16).join("")) ?? [];
    const [least, most] = [Number(min), comma === undefined ? Number(min) : max === "" ? null : Number(max)];
    if (all === "" || (comma === undefined && max !== "")) refuse("has a `{` that counts nothing: write `\\{`");
    if (least > MAX_COUNT || (most ?? 0) > MAX_COUNT) refuse(`counts beyond ${MAX_COUNT}`);
    if (most !== null && most < least) refuse("counts down");
    this.#at += all.length;
    return { min: least, max: most };
  }

  #escaped(flags: string): Node {
    const c = this.#peek() ?? refuse("ends in a backslash");
    const places = { b: "edge", B: "no-edge", A: "start", z: "end" } as const;
    if (c in places) {
      this.#at += 1;
      return { kind: "place", what: places[c as keyof typeof places], flags };
    }
    if (/[1-9k]/.test(c)) refuse("refers back to what it matched, which takes time out of all proportion");
    return { kind: "one", source: this.#kindOfCharacter(), flags };
  }

  /** After a backslash: what it stands for, in or out of brackets. */
  #kindOfCharacter(): string {
    const c = this.#next();
    if (/[dDwWsS]/.test(c)) return `\\${c}`;
    if (c === "p" || c === "P") {
      const name =
        /^\{[A-Za-z_=]{1,60}\}/.exec(this.#chars.slice(this.#at, this.#at + 64).join(""))?.[0] ??
        refuse(`has \`\\${c}\` without a name in braces`);
      this.#at += name.length;
      return `\\${c}${name}`;
    }
    const controls: Readonly<Record<string, string>> = { t: "\t", n: "\n", r: "\r", f: "\f", v: "\v", a: "\u0007" };
    if (Object.hasOwn(controls, c)) return exactly(controls[c] ?? "");
    if (c === "x" || c === "u") return exactly(this.#byNumber(c === "x" ? 2 : 4));
    return /[A-Za-z0-9]/.test(c) ? refuse(`has \`\\${c}\`, which is not understood`) : exactly(c);
  }

  #byNumber(digits: number): string {
    const rest = this.#chars.slice(this.#at, this.#at + 10).join("");
    const [all = "", braced, plain = ""] = new RegExp(`^(?:\\{([0-9a-f]{1,6})\\}|([0-9a-f]{${digits}}))`, "i").exec(rest) ?? [];
    const code = Number.parseInt(braced ?? plain, 16);
    if (all === "" || code > 0x10ffff) refuse("has a character by a number that is none");
    this.#at += all.length;
    return String.fromCodePoint(code);
  }

  /** Between brackets, as a set that the engine reads in one way only. */
  #characters(): string {
    const not = this.#takes("^") ? "^" : "";
    const out: string[] = [];
    if (this.#peek() === "]") refuse("has brackets around nothing: write `\\]` for the bracket itself");
    for (;;) {
      const c = this.#peek() ?? refuse("does not close a bracket");
      if (c === "]") break;
      const from = this.#member();
      const isRange = this.#peek() === "-" && ![undefined, "]"].includes(this.#chars[this.#at + 1]);
      if (isRange) this.#at += 1;
      const to = isRange ? this.#member() : null;
      if (to !== null && !(isExact(from) && isExact(to))) refuse("has a range between what are no single characters");
      out.push(to === null ? from : `${from}-${to}`);
    }
    this.#at += 1;
    const source = `[${not}${out.join("")}]`;
    if (!compiles(source)) refuse(`has brackets that say nothing sensible`);
    return source;
  }

  #member(): string {
    const c = this.#next();
    if (c === "[" || (/[&~-]/.test(c) && this.#peek() === c))
      refuse(`has \`${c}\` in brackets, which is understood in two ways: write \`\\${c}\``);
    return c === "\\" ? this.#kindOfCharacter() : exactly(c);
  }

  #peek(): string | null {
    return this.#chars[this.#at] ?? null;
  }
  #next(): string {
    const c = this.#chars[this.#at] ?? refuse("ends too early");
    this.#at += 1;
    return c;
  }
  #takes(c: string): boolean {
    if (this.#peek() !== c) return false;
    this.#at += 1;
    return true;
  }
}

const exactly = (c: string): string => `\\u{${(c.codePointAt(0) ?? 0).toString(16)}}`;
const isExact = (source: string): boolean => source.startsWith("\\u{");
function compiles(source: string): boolean {
  try {
    return new RegExp(source, "u") instanceof RegExp;
  } catch {
    return false;
  }
}
