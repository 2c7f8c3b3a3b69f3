/**
 * Conditions of rules: typed here, with places of the file, and then written as Cedar, which checks them once more.
 *
 * Y-10 Cedar evaluates exactly what the condition says: a whole number is compared with whole numbers, a decimal exactly, and a comparison across kinds is refused.
 * Y-10 a missing argument makes a rule stricter, never looser: an allow rule does not apply, a deny rule does. `has(…)` tests for it.
 */
import { suggestNearest } from "@orgate/core/vocab";
import type { Expression } from "../tree.ts";
import type { Report } from "../values.ts";
import { cedarPattern, cedarText, decimalText, escapeCedar, guardText, isCedarName } from "./cedar-text.ts";
import {
  asUser,
  attributePath,
  BOOLEAN,
  type ConditionScope,
  coerceLiteral,
  DECIMAL,
  describeKind,
  groupHint,
  LONG,
  METHODS,
  matchTypes,
  ORDER,
  readNumber,
  STRING,
  type Typed,
} from "./condition-values.ts";

export type ConditionOptions = Readonly<{
  scope: ConditionScope;
  /** The subject of the condition in messages: "a call of `pay`". */
  about: string;
  /** Parameters of the agent, which no policy reads. */
  params: readonly string[];
  userGroups: readonly string[] | null;
  report: Report;
}>;

/** `whenUnknown`: the Cedar text, where a comparison with a missing argument has this value. */
export type Condition = Readonly<{ whenUnknown(value: boolean): string }>;

export function compileCondition(e: Expression, options: ConditionOptions): Condition | null {
  const made = new ConditionCompiler(options);
  const sure = made.truth(e, false);
  if (sure === null) return null;
  return { whenUnknown: (value) => (value ? (made.truth(e, true) ?? "false") : sure) };
}

class ConditionCompiler {
  readonly #options: ConditionOptions;

  constructor(options: ConditionOptions) {
    this.#options = options;
  }

  #wrong(...problem: Parameters<Report>): null {
    this.#options.report(...problem);
    return null;
  }

  /** Cedar text of a condition; null after a reported problem. */
  truth(e: Expression, unknown: boolean): string | null {
    switch (e.kind) {
      case "group":
        return this.truth(e.inner, unknown);
      case "constant":
        return e.value === null
          ? this.#wrong(e.at, "null is no condition", "test with `has(…)` whether something is there")
          : String(e.value);
      case "unary": {
        if (e.op === "-") return this.#wrong(e.at, "a number is no condition", "compare it with another");
        const inner = this.truth(e.of, !unknown);
        return inner === null ? null : `!(${inner})`;
      }
      case "binary":
        if (e.op === "&&" || e.op === "||") {
          const [left, right] = [this.truth(e.left, unknown), this.truth(e.right, unknown)];
          return left === null || right === null ? null : `(${left} ${e.op} ${right})`;
        }
        return this.#atom(e, unknown);
      case "call":
        if (e.of.kind === "ident" && e.of.name === "has") return this.#there(e);
        return this.#atom(e, unknown);
      case "choice": {
        const test = this.#value(e.condition);
        const sides = this.#sidesOf(e);
        if (sides === null) return null;
        const [then, otherwise] = [this.truth(sides[0], unknown), this.truth(sides[1], unknown)];
        if (test === null || then === null || otherwise === null) return null;
        if (test.type.kind !== "boolean") return this.#wrong(e.condition.at, "this is neither true nor false", "compare it with something");
        // in brackets: what is joined to it by `&&` or `||` is no part of its last branch
        return guardText(test.guards, `(if ${test.text} then ${then} else ${otherwise})`, unknown);
      }
      default:
        return this.#atom(e, unknown);
    }
  }

  #atom(e: Expression, unknown: boolean): string | null {
    const made = this.#value(e);
    if (made === null) return null;
    if (made.type.kind !== "boolean") return this.#wrong(e.at, `${describeKind(made.type)} is no condition`, "compare it with something");
    return guardText(made.guards, made.text, unknown);
  }

  /** `has(args.note)`: whether it is there, and all above it. */
  #there(e: Extract<Expression, { kind: "call" }>): string | null {
    const [arg, second] = e.args;
    if (arg === undefined || second !== undefined || (arg.kind !== "member" && arg.kind !== "index" && arg.kind !== "ident"))
      return this.#wrong(e.at, "`has` takes one argument or fact", "write has(args.note)");
    const made = this.#value(arg);
    if (made === null) return null;
    return made.guards.length === 0 ? this.#wrong(arg.at, "it is always there", "take the test out") : `(${made.guards.join(" && ")})`;
  }

  #value(e: Expression): Typed | null {
    switch (e.kind) {
      case "group": {
        const inner = this.#value(e.inner);
        return inner === null ? null : { ...inner, text: `(${inner.text})` };
      }
      case "string":
        return { text: cedarText(e.value), type: STRING, guards: [], literal: { kind: "string", value: e.value } };
      case "number": {
        const made = readNumber(e.text);
        return "detail" in made ? this.#wrong(e.at, made.detail, made.hint) : made;
      }
      case "constant":
        return e.value === null
          ? this.#wrong(e.at, "null is no value that a policy knows", "test with `has(…)` whether something is there")
          : { text: String(e.value), type: BOOLEAN, guards: [], literal: null };
      case "ident":
        return this.#variable(e);
      case "member":
        return this.#attribute(e, e.of, e.name.text, e.name.at);
      case "index":
        return e.index.kind === "string"
          ? this.#attribute(e, e.of, e.index.value, e.index.at)
          : this.#wrong(e.stepAt, "not supported: a place in a list", "lists are sets to a policy: use contains(…)");
      case "unary":
        return this.#unary(e);
      case "binary":
        return this.#binary(e);
      case "array":
        return this.#list(e);
      case "call":
        return this.#call(e);
      case "choice":
        return this.#choice(e);
      case "duration":
        return this.#wrong(e.at, "a time is nothing that a condition can be about", "write a whole number");
      case "vault":
        return this.#wrong(e.at, "a policy reads no secrets", "take it out");
      case "record":
        return this.#wrong(e.at, "a record cannot be compared", "compare its fields");
      case "lambda":
        return this.#wrong(e.at, "not supported: functions in a condition", "conditions compare arguments, labels and counters");
      case "instance":
        return this.#wrong(e.at, `a \`${e.type.text}\` cannot be compared`, "compare its fields");
      case "propagate":
        return this.#wrong(e.stepAt, "not supported: `?` in a condition", "test with `has(…)` whether something is there");
    }
  }

  #variable(e: Extract<Expression, { kind: "ident" }>): Typed | null {
    const found = this.#options.scope.get(e.name);
    if (found !== undefined) return { text: found.cedar, type: found.type, guards: found.guards ?? [], literal: null };
    if (this.#options.params.includes(e.name))
      return this.#wrong(
        e.at,
        `\`${e.name}\` is what the agent is told, and no policy reads that`,
        `for ${this.#options.about} there are: ${[...this.#options.scope.keys()].join(", ")}`,
      );
    return this.#wrong(
      e.at,
      `for ${this.#options.about} there is no \`${e.name}\``,
      suggestNearest(e.name, [...this.#options.scope.keys()]),
    );
  }

  #attribute(e: Expression, of: Expression, name: string, at: number): Typed | null {
    const inner = this.#value(of);
    if (inner === null) return null;
    if (inner.type.kind !== "record")
      return this.#wrong(at, `${describeKind(inner.type)} has no \`${name}\``, "`args.NAME`, `calls.NAME.turn`, `spent.tokens.session`, …");
    const field = inner.type.fields.get(name);
    if (field === undefined) {
      const known = [...inner.type.fields.keys()];
      const path = attributePath(e);
      const hint = known.length === 0 ? "it has none" : suggestNearest(name, known);
      return this.#wrong(
        at,
        `for ${this.#options.about} there is no \`${path}\``,
        hint,
        path.startsWith("calls.") ? "on absence" : undefined,
      );
    }
    const step = isCedarName(name) ? `.${name}` : `[${cedarText(name)}]`;
    const test = `${inner.text} has ${isCedarName(name) ? name : cedarText(name)}`;
    return {
      text: `${inner.text}${step}`,
      type: field.type,
      guards: field.required ? inner.guards : [...inner.guards, test],
      literal: null,
    };
  }

  #unary(e: Extract<Expression, { kind: "unary" }>): Typed | null {
    if (e.op !== "-") {
      const inner = this.#value(e.of);
      if (inner === null) return null;
      if (inner.type.kind !== "boolean")
        return this.#wrong(e.of.at, `${describeKind(inner.type)} is neither true nor false`, "compare it with something");
      return { text: `!(${inner.text})`, type: BOOLEAN, guards: inner.guards, literal: null };
    }
    const inner = this.#value(e.of);
    if (inner === null) return null;
    if (inner.literal?.kind === "number") {
      const text = `-${inner.literal.text}`;
      const decimal = inner.type.kind === "decimal" ? decimalText(text) : null;
      return {
        text: decimal === null ? `-${inner.text}` : `decimal("${decimal}")`,
        type: inner.type,
        guards: [],
        literal: { kind: "number", text },
      };
    }
    return inner.type.kind === "long"
      ? { ...inner, text: `-(${inner.text})`, literal: null }
      : this.#wrong(e.at, `${describeKind(inner.type)} has no opposite`, "only whole numbers have");
  }

  #binary(e: Extract<Expression, { kind: "binary" }>): Typed | null {
    const [left, right] = [this.#value(e.left), this.#value(e.right)];
    if (left === null || right === null) return null;
    const guards = [...left.guards, ...right.guards.filter((g) => !left.guards.includes(g))];
    const yes = (text: string): Typed => ({ text, type: BOOLEAN, guards, literal: null });
    switch (e.op) {
      case "&&":
      case "||":
        if (left.type.kind !== "boolean" || right.type.kind !== "boolean")
          return this.#wrong(e.opAt, `\`${e.op}\` joins conditions, and one of these is none`, "compare it with something");
        return yes(`(${left.text} ${e.op} ${right.text})`);
      case "==":
      case "!=":
        return this.#equality(e, left, right, yes);
      case "in":
        return this.#membership(e, left, right, yes);
      case "<":
      case "<=":
      case ">":
      case ">=":
        return this.#order(e, left, right, yes);
      case "+":
      case "-":
      case "*":
        if (left.type.kind !== "long" || right.type.kind !== "long")
          return this.#wrong(e.opAt, `\`${e.op}\` is for whole numbers`, "decimals are compared, not reckoned with");
        return { text: `(${left.text} ${e.op} ${right.text})`, type: LONG, guards, literal: null };
      default:
        return this.#wrong(e.opAt, `not supported: \`${e.op}\` in a condition`, "a policy knows +, - and * of whole numbers");
    }
  }

  #equality(e: Extract<Expression, { kind: "binary" }>, left: Typed, right: Typed, yes: (text: string) => Typed): Typed | null {
    const user = asUser(left, right) ?? asUser(right, left);
    if (user !== null) return yes(`${e.op === "!=" ? "!" : ""}(context.onBehalfOf == User::${cedarText(user)})`);
    const pair = matchTypes(left, right);
    if (pair !== null && pair[0].type.kind === "opaque")
      return this.#wrong(e.opAt, `${describeKind(left.type)} cannot be compared`, "test with `has(…)` whether it is given");
    if (pair === null || pair[0].type.kind === "record" || pair[0].type.kind === "user")
      return this.#wrong(e.opAt, `${describeKind(left.type)} is never equal to ${describeKind(right.type)}`, "compare things of one kind");
    return yes(`(${pair[0].text} ${e.op} ${pair[1].text})`);
  }

  #membership(e: Extract<Expression, { kind: "binary" }>, left: Typed, right: Typed, yes: (text: string) => Typed): Typed | null {
    if (left.type.kind === "user") {
      if (right.literal?.kind !== "string") return this.#wrong(e.right.at, "a user is in a group of users", 'write user in "operators"');
      if (this.#options.userGroups !== null && !this.#options.userGroups.includes(right.literal.value))
        return this.#wrong(
          e.right.at,
          `there is no group of users \`${right.literal.value}\``,
          groupHint(right.literal.value, this.#options.userGroups),
        );
      return yes(`(context.onBehalfOf in UserGroup::${cedarText(right.literal.value)})`);
    }
    const made = this.#contained(right, left, e.opAt);
    return made === null ? null : yes(made);
  }

  /** `set.contains(item)`, with literals of the set's own kind. */
  #contained(set: Typed, item: Typed, at: number): string | null {
    if (set.type.kind !== "set") return this.#wrong(at, `${describeKind(set.type)} holds nothing`, "on the right of `in` stands a list");
    const of = set.literal?.kind === "set" && item.type.kind === "decimal" ? DECIMAL : set.type.of;
    const [wide, one] = [coerceLiteral(set, { kind: "set", of }), coerceLiteral(item, of)];
    if (wide === null || one === null)
      return this.#wrong(at, `${describeKind(item.type)} is never in ${describeKind(set.type)}`, "compare things of one kind");
    return `${wide.text}.contains(${one.text})`;
  }

  #order(e: Extract<Expression, { kind: "binary" }>, left: Typed, right: Typed, yes: (text: string) => Typed): Typed | null {
    const pair = matchTypes(left, right);
    const kind = pair?.[0].type.kind;
    if (pair === null || (kind !== "long" && kind !== "decimal"))
      return this.#wrong(
        e.opAt,
        `\`${e.op}\` compares numbers of one kind, and these are ${describeKind(left.type)} and ${describeKind(right.type)}`,
        "a whole number with whole numbers, a decimal with decimals",
      );
    return yes(kind === "long" ? `(${pair[0].text} ${e.op} ${pair[1].text})` : `${pair[0].text}.${ORDER[e.op] ?? ""}(${pair[1].text})`);
  }

  #list(e: Extract<Expression, { kind: "array" }>): Typed | null {
    const items: Typed[] = [];
    for (const one of e.items) {
      const made = this.#value(one);
      if (made === null) return null;
      items.push(made);
    }
    const [first] = items;
    if (first === undefined) return this.#wrong(e.at, "an empty list holds nothing", "take it out, or use is_empty()");
    const of = items.some((i) => i.type.kind === "decimal") ? DECIMAL : first.type;
    const made = coerceLiteral(
      { text: "", type: { kind: "set", of: first.type }, guards: [], literal: { kind: "set", items } },
      { kind: "set", of },
    );
    return made ?? this.#wrong(e.at, "a list holds things of one kind", "make two lists of it");
  }

  /** Of an `if`; null where one of them does more than have a value. */
  #sidesOf({ then, otherwise }: Extract<Expression, { kind: "choice" }>): readonly [Expression, Expression] | null {
    if (then.kind !== "block" && otherwise.kind !== "block") return [then, otherwise];
    const { at } = then.kind === "block" ? then : otherwise;
    return this.#wrong(at, "in a condition each side of an `if` is one value", "write `if c { a } else { b }`");
  }

  #choice(e: Extract<Expression, { kind: "choice" }>): Typed | null {
    const sides = this.#sidesOf(e);
    if (sides === null) return null;
    const [test, then, otherwise] = [this.#value(e.condition), this.#value(sides[0]), this.#value(sides[1])];
    if (test === null || then === null || otherwise === null) return null;
    const pair = matchTypes(then, otherwise);
    if (test.type.kind !== "boolean" || pair === null)
      return this.#wrong(e.at, "both sides of an `if` are of one kind, and its condition is true or false", "mend it");
    const guards = [...new Set([...test.guards, ...then.guards, ...otherwise.guards])];
    return { text: `(if ${test.text} then ${pair[0].text} else ${pair[1].text})`, type: pair[0].type, guards, literal: null };
  }

  // ── what is asked of a value ──

  #call(e: Extract<Expression, { kind: "call" }>): Typed | null {
    if (e.of.kind === "ident" && e.of.name === "has") {
      const text = this.#there(e);
      return text === null ? null : { text, type: BOOLEAN, guards: [], literal: null };
    }
    if (e.of.kind !== "member")
      return this.#wrong(e.at, "a condition calls no functions", `of a value it may ask ${METHODS.join(", ")}; and has(…)`);
    const of = this.#value(e.of.of);
    const { text: method, at } = e.of.name;
    if (of === null) return null;
    if (!METHODS.includes(method)) return this.#wrong(at, `there is no \`${method}\``, suggestNearest(method, METHODS));
    const args = e.args.map((one) =>
      one.kind === "named-argument"
        ? this.#wrong(one.at, "a condition names no arguments", `take \`${one.name.text}\` out, and leave its value`)
        : this.#value(one),
    );
    const [arg, second] = args;
    const wanted = method === "is_empty" ? 0 : 1;
    if (arg === null || second !== undefined || args.length !== wanted)
      return arg === null
        ? null
        : this.#wrong(
            e.stepAt,
            `\`${method}\` takes ${wanted === 0 ? "nothing" : "one value"}`,
            `write ${method}(${wanted === 0 ? "" : "…"})`,
          );
    const guards = [...new Set([...of.guards, ...(arg?.guards ?? [])])];
    const text =
      method.startsWith("contains") || method === "is_empty" ? this.#ofSet(of, method, arg, at) : this.#ofText(of, method, arg, at);
    return text === null ? null : { text, type: BOOLEAN, guards, literal: null };
  }

  #ofSet(of: Typed, method: string, arg: Typed | undefined, at: number): string | null {
    if (of.type.kind !== "set")
      return this.#wrong(at, `${describeKind(of.type)} is no list`, "`like`, `starts_with` and `ends_with` are for texts");
    if (arg === undefined) return `${of.text}.isEmpty()`;
    if (method === "contains") return this.#contained(of, arg, at);
    const pair = matchTypes(of, arg);
    if (pair === null) return this.#wrong(at, `\`${method}\` compares lists of one kind`, 'write labels.contains_any(["a", "b"])');
    return `${pair[0].text}.${method === "contains_all" ? "containsAll" : "containsAny"}(${pair[1].text})`;
  }

  #ofText(of: Typed, method: string, arg: Typed | undefined, at: number): string | null {
    if (of.type.kind !== "string") return this.#wrong(at, `${describeKind(of.type)} is no text`, "`contains` is for lists");
    if (arg?.literal?.kind !== "string") return this.#wrong(at, `\`${method}\` takes a text that stands here`, 'write like("notes/*")');
    const { value: pattern } = arg.literal;
    const plain = escapeCedar(pattern).replaceAll("*", "\\*"); // a star stands for itself
    return `(${of.text} like "${method === "like" ? cedarPattern(pattern) : method === "starts_with" ? `${plain}*` : `*${plain}`}")`;
  }
}
