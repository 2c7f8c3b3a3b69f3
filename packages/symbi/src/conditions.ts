/**
 * Conditions of rules: typed here, with places of the file, and then written as Cedar, which checks them once more.
 *
 * Y-10 what a condition says is what Cedar evaluates: a whole number is compared with whole numbers, a decimal exactly, and what cannot be compared is refused.
 * Y-10 an argument that is not there makes a rule stricter, never looser: what would be allowed on it is not, what would be denied on it is. Whoever wants it otherwise says so with `has`.
 */
import { suggestNearest } from "@orgate/core/vocab";
import type { Expression, NamedArgument } from "./tree.ts";
import { parseNumber, type Report } from "./values.ts";

/** Of a value: as policies see it. */
export type ValueType =
  | Readonly<{ kind: "string" | "long" | "decimal" | "boolean" | "user" | "opaque" }>
  | Readonly<{ kind: "set"; of: ValueType }>
  | ConditionRecord;
export type ConditionRecord = Readonly<{ kind: "record"; fields: ReadonlyMap<string, Readonly<{ type: ValueType; required: boolean }>> }>;

/** What a condition may speak of: a name, its type, and how Cedar calls it. */
export type ConditionScope = ReadonlyMap<string, Readonly<{ type: ValueType; cedar: string }>>;

export type ConditionOptions = Readonly<{
  scope: ConditionScope;
  /** Of what the condition is about, for messages: "a call of `pay`". */
  about: string;
  /** Parameters of the agent, which no policy reads. */
  params: readonly string[];
  userGroups: readonly string[] | null;
  report: Report;
}>;

/** Null where something is wrong, which was told. Unknown is what an argument that is not there makes of a comparison. */
export type Condition = Readonly<{ whenUnknown(value: boolean): string }>;

/** An attribute that need not be there: it is tested for before it is read. */
type Guard = string;
type Typed = Readonly<{ text: string; type: ValueType; guards: readonly Guard[]; literal: Literal | null }>;
type Literal = Readonly<{ kind: "number"; text: string } | { kind: "string"; value: string } | { kind: "set"; items: readonly Typed[] }>;

export function compileCondition(e: Expression, options: ConditionOptions): Condition | null {
  const made = compiler(options);
  const sure = made.truth(e, false);
  if (sure === null) return null;
  return { whenUnknown: (value) => (value ? (made.truth(e, true) ?? "false") : sure) };
}

const BOOLEAN: ValueType = { kind: "boolean" };
const STRING: ValueType = { kind: "string" };
const LONG: ValueType = { kind: "long" };
const DECIMAL: ValueType = { kind: "decimal" };

function compiler({ scope, about, params, userGroups, report }: ConditionOptions) {
  const wrong = (...problem: Parameters<Report>): null => {
    report(...problem);
    return null;
  };

  const unnamed = ({ at, name }: NamedArgument): null =>
    wrong(at, "a condition names no arguments", `take \`${name.text}\` out, and leave its value`);

  /** A yes or no, with what unknown means. */
  function truth(e: Expression, unknown: boolean): string | null {
    switch (e.kind) {
      case "group":
        return truth(e.inner, unknown);
      case "constant":
        return e.value === null ? wrong(e.at, "null is no condition", "test with `has(…)` whether something is there") : String(e.value);
      case "unary": {
        if (e.op === "-") return wrong(e.at, "a number is no condition", "compare it with another");
        const inner = truth(e.of, !unknown);
        return inner === null ? null : `!(${inner})`;
      }
      case "binary":
        if (e.op === "&&" || e.op === "||") {
          const [left, right] = [truth(e.left, unknown), truth(e.right, unknown)];
          return left === null || right === null ? null : `(${left} ${e.op} ${right})`;
        }
        return atom(e, unknown);
      case "call":
        if (e.of.kind === "ident" && e.of.name === "has") return there(e);
        return atom(e, unknown);
      case "choice": {
        const test = value(e.condition);
        const sides = sidesOf(e);
        if (sides === null) return null;
        const [then, otherwise] = [truth(sides[0], unknown), truth(sides[1], unknown)];
        if (test === null || then === null || otherwise === null) return null;
        if (test.type.kind !== "boolean") return wrong(e.condition.at, "this is neither true nor false", "compare it with something");
        // in brackets: what is joined to it by `&&` or `||` is no part of its last branch
        return guarded(test.guards, `(if ${test.text} then ${then} else ${otherwise})`, unknown);
      }
      default:
        return atom(e, unknown);
    }
  }

  function atom(e: Expression, unknown: boolean): string | null {
    const made = value(e);
    if (made === null) return null;
    if (made.type.kind !== "boolean") return wrong(e.at, `${named(made.type)} is no condition`, "compare it with something");
    return guarded(made.guards, made.text, unknown);
  }

  /** `has(args.note)`: whether it is there, and all above it. */
  function there(e: Extract<Expression, { kind: "call" }>): string | null {
    const [arg, second] = e.args;
    if (arg === undefined || second !== undefined || (arg.kind !== "member" && arg.kind !== "index"))
      return wrong(e.at, "`has` takes one argument or fact", "write has(args.note)");
    const made = value(arg);
    if (made === null) return null;
    return made.guards.length === 0 ? wrong(arg.at, "it is always there", "take the test out") : `(${made.guards.join(" && ")})`;
  }

  function value(e: Expression): Typed | null {
    switch (e.kind) {
      case "group": {
        const inner = value(e.inner);
        return inner === null ? null : { ...inner, text: `(${inner.text})` };
      }
      case "string":
        return { text: cedarText(e.value), type: STRING, guards: [], literal: { kind: "string", value: e.value } };
      case "number":
        return number(e.text, e.at);
      case "constant":
        return e.value === null
          ? wrong(e.at, "null is no value that a policy knows", "test with `has(…)` whether something is there")
          : { text: String(e.value), type: BOOLEAN, guards: [], literal: null };
      case "ident":
        return variable(e);
      case "member":
        return attribute(e, e.of, e.name.text, e.name.at);
      case "index":
        return e.index.kind === "string"
          ? attribute(e, e.of, e.index.value, e.index.at)
          : wrong(e.stepAt, "not supported: a place in a list", "lists are sets to a policy: use contains(…)");
      case "unary":
        return unary(e);
      case "binary":
        return binary(e);
      case "array":
        return list(e);
      case "call":
        return call(e);
      case "choice":
        return choice(e);
      case "duration":
        return wrong(e.at, "a time is nothing that a condition can be about", "write a whole number");
      case "vault":
        return wrong(e.at, "a policy reads no secrets", "take it out");
      case "record":
        return wrong(e.at, "a record cannot be compared", "compare its fields");
      case "lambda":
        return wrong(e.at, "not supported: functions in a condition", "conditions compare arguments, labels and counters");
      case "instance":
        return wrong(e.at, `a \`${e.type.text}\` cannot be compared`, "compare its fields");
      case "propagate":
        return wrong(e.stepAt, "not supported: `?` in a condition", "test with `has(…)` whether something is there");
    }
  }

  function number(text: string, at: number): Typed | null {
    const plain = text.replaceAll("_", "");
    const literal = { kind: "number", text: plain } as const;
    if (!plain.includes("."))
      return parseNumber(plain) === null
        ? wrong(at, `${plain} is more than a number can hold exactly`, "use at most 9007199254740991")
        : { text: plain.replace(/^0+(?=\d)/, ""), type: LONG, guards: [], literal };
    const decimal = decimalText(plain);
    if (decimal === null)
      return wrong(at, `${plain} is more than a decimal can hold`, "use at most four places, and less than 922337203685477");
    return { text: `decimal("${decimal}")`, type: DECIMAL, guards: [], literal };
  }

  function variable(e: Extract<Expression, { kind: "ident" }>): Typed | null {
    const found = scope.get(e.name);
    if (found !== undefined) return { text: found.cedar, type: found.type, guards: [], literal: null };
    if (params.includes(e.name))
      return wrong(
        e.at,
        `\`${e.name}\` is what the agent is told, and no policy reads that`,
        `for ${about} there are: ${[...scope.keys()].join(", ")}`,
      );
    return wrong(e.at, `for ${about} there is no \`${e.name}\``, suggestNearest(e.name, [...scope.keys()]));
  }

  function attribute(e: Expression, of: Expression, name: string, at: number): Typed | null {
    const inner = value(of);
    if (inner === null) return null;
    if (inner.type.kind !== "record")
      return wrong(at, `${named(inner.type)} has no \`${name}\``, "`args.NAME`, `calls.NAME.turn`, `spent.tokens.session`, …");
    const field = inner.type.fields.get(name);
    if (field === undefined) {
      const known = [...inner.type.fields.keys()];
      const path = pathOf(e);
      const hint = known.length === 0 ? "it has none" : suggestNearest(name, known);
      return wrong(at, `for ${about} there is no \`${path}\``, hint, path.startsWith("calls.") ? "on absence" : undefined);
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

  function unary(e: Extract<Expression, { kind: "unary" }>): Typed | null {
    if (e.op !== "-") {
      const inner = value(e.of);
      if (inner === null) return null;
      if (inner.type.kind !== "boolean")
        return wrong(e.of.at, `${named(inner.type)} is neither true nor false`, "compare it with something");
      return { text: `!(${inner.text})`, type: BOOLEAN, guards: inner.guards, literal: null };
    }
    const inner = value(e.of);
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
      : wrong(e.at, `${named(inner.type)} has no opposite`, "only whole numbers have");
  }

  function binary(e: Extract<Expression, { kind: "binary" }>): Typed | null {
    const [left, right] = [value(e.left), value(e.right)];
    if (left === null || right === null) return null;
    const guards = [...left.guards, ...right.guards.filter((g) => !left.guards.includes(g))];
    const yes = (text: string): Typed => ({ text, type: BOOLEAN, guards, literal: null });
    switch (e.op) {
      case "&&":
      case "||":
        if (left.type.kind !== "boolean" || right.type.kind !== "boolean")
          return wrong(e.opAt, `\`${e.op}\` joins conditions, and one of these is none`, "compare it with something");
        return yes(`(${left.text} ${e.op} ${right.text})`);
      case "==":
      case "!=":
        return equality(e, left, right, yes);
      case "in":
        return membership(e, left, right, yes);
      case "<":
      case "<=":
      case ">":
      case ">=":
        return order(e, left, right, yes);
      case "+":
      case "-":
      case "*":
        if (left.type.kind !== "long" || right.type.kind !== "long")
          return wrong(e.opAt, `\`${e.op}\` is for whole numbers`, "decimals are compared, not reckoned with");
        return { text: `(${left.text} ${e.op} ${right.text})`, type: LONG, guards, literal: null };
      default:
        return wrong(e.opAt, `not supported: \`${e.op}\` in a condition`, "a policy knows +, - and * of whole numbers");
    }
  }

  function equality(e: Extract<Expression, { kind: "binary" }>, left: Typed, right: Typed, yes: (text: string) => Typed): Typed | null {
    const user = asUser(left, right) ?? asUser(right, left);
    if (user !== null) return yes(`${e.op === "!=" ? "!" : ""}(context.onBehalfOf == User::${cedarText(user)})`);
    const pair = matched(left, right);
    if (pair !== null && pair[0].type.kind === "opaque")
      return wrong(e.opAt, `${named(left.type)} cannot be compared`, "test with `has(…)` whether it is given");
    if (pair === null || pair[0].type.kind === "record" || pair[0].type.kind === "user")
      return wrong(e.opAt, `${named(left.type)} is never equal to ${named(right.type)}`, "compare things of one kind");
    return yes(`(${pair[0].text} ${e.op} ${pair[1].text})`);
  }

  const asUser = (a: Typed, b: Typed): string | null => (a.type.kind === "user" && b.literal?.kind === "string" ? b.literal.value : null);

  function membership(e: Extract<Expression, { kind: "binary" }>, left: Typed, right: Typed, yes: (text: string) => Typed): Typed | null {
    if (left.type.kind === "user") {
      if (right.literal?.kind !== "string") return wrong(e.right.at, "a user is in a group of users", 'write user in "operators"');
      if (userGroups !== null && !userGroups.includes(right.literal.value))
        return wrong(e.right.at, `there is no group of users \`${right.literal.value}\``, groupHint(right.literal.value, userGroups));
      return yes(`(context.onBehalfOf in UserGroup::${cedarText(right.literal.value)})`);
    }
    const made = contained(right, left, e.opAt);
    return made === null ? null : yes(made);
  }

  /** `set.contains(item)`, with literals of the set's own kind. */
  function contained(set: Typed, item: Typed, at: number): string | null {
    if (set.type.kind !== "set") return wrong(at, `${named(set.type)} holds nothing`, "on the right of `in` stands a list");
    const of = set.literal?.kind === "set" && item.type.kind === "decimal" ? DECIMAL : set.type.of;
    const [wide, one] = [coerced(set, { kind: "set", of }), coerced(item, of)];
    if (wide === null || one === null) return wrong(at, `${named(item.type)} is never in ${named(set.type)}`, "compare things of one kind");
    return `${wide.text}.contains(${one.text})`;
  }

  const ORDER: Readonly<Record<string, string>> = {
    "<": "lessThan",
    "<=": "lessThanOrEqual",
    ">": "greaterThan",
    ">=": "greaterThanOrEqual",
  };
  function order(e: Extract<Expression, { kind: "binary" }>, left: Typed, right: Typed, yes: (text: string) => Typed): Typed | null {
    const pair = matched(left, right);
    const kind = pair?.[0].type.kind;
    if (pair === null || (kind !== "long" && kind !== "decimal"))
      return wrong(
        e.opAt,
        `\`${e.op}\` compares numbers of one kind, and these are ${named(left.type)} and ${named(right.type)}`,
        "a whole number with whole numbers, a decimal with decimals",
      );
    return yes(kind === "long" ? `(${pair[0].text} ${e.op} ${pair[1].text})` : `${pair[0].text}.${ORDER[e.op] ?? ""}(${pair[1].text})`);
  }

  function list(e: Extract<Expression, { kind: "array" }>): Typed | null {
    const items: Typed[] = [];
    for (const one of e.items) {
      const made = value(one);
      if (made === null) return null;
      items.push(made);
    }
    const [first] = items;
    if (first === undefined) return wrong(e.at, "an empty list holds nothing", "take it out, or use is_empty()");
    const of = items.some((i) => i.type.kind === "decimal") ? DECIMAL : first.type;
    const made = coerced(
      { text: "", type: { kind: "set", of: first.type }, guards: [], literal: { kind: "set", items } },
      { kind: "set", of },
    );
    return made ?? wrong(e.at, "a list holds things of one kind", "make two lists of it");
  }

  /** Of an `if`; null where one of them does more than have a value. */
  function sidesOf({ then, otherwise }: Extract<Expression, { kind: "choice" }>): readonly [Expression, Expression] | null {
    if (then.kind !== "block" && otherwise.kind !== "block") return [then, otherwise];
    const { at } = then.kind === "block" ? then : otherwise;
    return wrong(at, "in a condition each side of an `if` is one value", "write `if c { a } else { b }`");
  }

  function choice(e: Extract<Expression, { kind: "choice" }>): Typed | null {
    const sides = sidesOf(e);
    if (sides === null) return null;
    const [test, then, otherwise] = [value(e.condition), value(sides[0]), value(sides[1])];
    if (test === null || then === null || otherwise === null) return null;
    const pair = matched(then, otherwise);
    if (test.type.kind !== "boolean" || pair === null)
      return wrong(e.at, "both sides of an `if` are of one kind, and its condition is true or false", "mend it");
    const guards = [...new Set([...test.guards, ...then.guards, ...otherwise.guards])];
    return { text: `(if ${test.text} then ${pair[0].text} else ${pair[1].text})`, type: pair[0].type, guards, literal: null };
  }

  // ── what is asked of a value ──

  const METHODS = ["contains", "contains_all", "contains_any", "is_empty", "like", "starts_with", "ends_with"];

  function call(e: Extract<Expression, { kind: "call" }>): Typed | null {
    if (e.of.kind === "ident" && e.of.name === "has") {
      const text = there(e);
      return text === null ? null : { text, type: BOOLEAN, guards: [], literal: null };
    }
    if (e.of.kind !== "member")
      return wrong(e.at, "a condition calls no functions", `of a value it may ask ${METHODS.join(", ")}; and has(…)`);
    const of = value(e.of.of);
    const { text: method, at } = e.of.name;
    if (of === null) return null;
    if (!METHODS.includes(method)) return wrong(at, `there is no \`${method}\``, suggestNearest(method, METHODS));
    const args = e.args.map((one) => (one.kind === "named-argument" ? unnamed(one) : value(one)));
    const [arg, second] = args;
    const wanted = method === "is_empty" ? 0 : 1;
    if (arg === null || second !== undefined || args.length !== wanted)
      return arg === null
        ? null
        : wrong(e.stepAt, `\`${method}\` takes ${wanted === 0 ? "nothing" : "one value"}`, `write ${method}(${wanted === 0 ? "" : "…"})`);
    const guards = [...new Set([...of.guards, ...(arg?.guards ?? [])])];
    const text = method.startsWith("contains") || method === "is_empty" ? ofSet(of, method, arg, at) : ofText(of, method, arg, at);
    return text === null ? null : { text, type: BOOLEAN, guards, literal: null };
  }

  function ofSet(of: Typed, method: string, arg: Typed | undefined, at: number): string | null {
    if (of.type.kind !== "set") return wrong(at, `${named(of.type)} is no list`, "`like`, `starts_with` and `ends_with` are for texts");
    if (arg === undefined) return `${of.text}.isEmpty()`;
    if (method === "contains") return contained(of, arg, at);
    const pair = matched(of, arg);
    if (pair === null) return wrong(at, `\`${method}\` compares lists of one kind`, 'write labels.contains_any(["a", "b"])');
    return `${pair[0].text}.${method === "contains_all" ? "containsAll" : "containsAny"}(${pair[1].text})`;
  }

  function ofText(of: Typed, method: string, arg: Typed | undefined, at: number): string | null {
    if (of.type.kind !== "string") return wrong(at, `${named(of.type)} is no text`, "`contains` is for lists");
    if (arg?.literal?.kind !== "string") return wrong(at, `\`${method}\` takes a text that stands here`, 'write like("notes/*")');
    const { value: pattern } = arg.literal;
    const plain = escapeCedar(pattern).replaceAll("*", "\\*"); // a star stands for itself
    return `(${of.text} like "${method === "like" ? cedarPattern(pattern) : method === "starts_with" ? `${plain}*` : `*${plain}`}")`;
  }

  return { truth };
}

export const groupHint = (name: string, groups: readonly string[]): string =>
  groups.length === 0 ? "orgate.toml has none: add [groups.users]" : suggestNearest(name, groups);

// ── kinds ──

/** A literal is of the kind it is compared with. */
function matched(left: Typed, right: Typed): readonly [Typed, Typed] | null {
  if (isSame(left.type, right.type)) return [left, right];
  const [a, b] = [coerced(left, right.type), coerced(right, left.type)];
  return a !== null ? [a, right] : b !== null ? [left, b] : null;
}

/** A whole number that is written in the file may stand for a decimal; nothing else is ever turned into another kind. */
function coerced(given: Typed, to: ValueType): Typed | null {
  if (given.literal?.kind === "set" && to.kind === "set") {
    const items = given.literal.items.map((item) => coerced(item, to.of));
    if (items.some((item) => item === null)) return null;
    const made = items.flatMap((item) => (item === null ? [] : [item]));
    return {
      text: `[${made.map((m) => m.text).join(", ")}]`,
      type: to,
      guards: [...new Set(made.flatMap((m) => m.guards))],
      literal: { kind: "set", items: made },
    };
  }
  if (isSame(given.type, to)) return given;
  if (given.literal?.kind !== "number" || to.kind !== "decimal") return null;
  const decimal = decimalText(given.literal.text);
  return decimal === null ? null : { ...given, text: `decimal("${decimal}")`, type: to };
}

function isSame(a: ValueType, b: ValueType): boolean {
  if (a.kind === "set" && b.kind === "set") return isSame(a.of, b.of);
  return a.kind === b.kind && a.kind !== "record";
}

function named(type: ValueType): string {
  switch (type.kind) {
    case "string":
      return "a text";
    case "long":
      return "a whole number";
    case "decimal":
      return "a decimal number";
    case "boolean":
      return "a yes or no";
    case "user":
      return "a user";
    case "opaque":
      return "what Cedar has no type for";
    case "record":
      return "a record";
    case "set":
      return type.of.kind === "string" ? "a list of texts" : "a list";
  }
}

function pathOf(e: Expression): string {
  if (e.kind === "member") return `${pathOf(e.of)}.${e.name.text}`;
  if (e.kind === "index" && e.index.kind === "string") return `${pathOf(e.of)}[${JSON.stringify(e.index.value)}]`;
  return e.kind === "ident" ? e.name : "…";
}

// ── as Cedar writes it ──

const guarded = (guards: readonly Guard[], text: string, unknown: boolean): string =>
  guards.length === 0 ? text : `(if ${guards.join(" && ")} then ${text} else ${unknown})`;

const RESERVED = ["true", "false", "if", "then", "else", "in", "is", "like", "has", "__cedar"];
const isCedarName = (name: string): boolean => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !RESERVED.includes(name);

const escapeCedar = (text: string): string =>
  text.replace(/["\\]|[^\x20-\x7e]/gu, (c) => (c === '"' || c === "\\" ? `\\${c}` : `\\u{${(c.codePointAt(0) ?? 0).toString(16)}}`));
export const cedarText = (text: string): string => `"${escapeCedar(text)}"`;

/** `*` stands for anything. */
export const cedarPattern = (text: string): string => escapeCedar(text);

const MOST_DECIMAL = 9_223_372_036_854_775_807n;
/** At most four places, as Cedar writes one; null where it would have to be rounded. */
export function decimalText(text: string): string | null {
  const [, sign = "", whole = "", places = ""] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text) ?? [];
  const short = places.replace(/0+$/, "");
  if (whole === "" || short.length > 4) return null;
  if (BigInt(whole + short.padEnd(4, "0")) > MOST_DECIMAL) return null;
  return `${sign}${BigInt(whole)}.${short === "" ? "0" : short}`;
}
