/** Values in conditions, typed as policies see them. */

import { suggestNearest } from "@orgate/core/vocab";
import type { Expression } from "../tree.ts";
import { parseNumber } from "../values.ts";
import { decimalText } from "./cedar-text.ts";

export type ValueType =
  | Readonly<{ kind: "string" | "long" | "decimal" | "boolean" | "user" | "opaque" }>
  | Readonly<{ kind: "set"; of: ValueType }>
  | ConditionRecord;
export type ConditionRecord = Readonly<{ kind: "record"; fields: ReadonlyMap<string, Readonly<{ type: ValueType; required: boolean }>> }>;

/** Names that a condition can use, each with its type and its Cedar text; `guards`: the tests for one that may be absent. */
export type ConditionScope = ReadonlyMap<string, Readonly<{ type: ValueType; cedar: string; guards?: readonly string[] }>>;

/** `guards`: tests for optional attributes, made before one is read. */
export type Typed = Readonly<{ text: string; type: ValueType; guards: readonly string[]; literal: Literal | null }>;
type Literal = Readonly<{ kind: "number"; text: string } | { kind: "string"; value: string } | { kind: "set"; items: readonly Typed[] }>;

export const BOOLEAN: ValueType = { kind: "boolean" };
export const STRING: ValueType = { kind: "string" };
export const LONG: ValueType = { kind: "long" };
export const DECIMAL: ValueType = { kind: "decimal" };

/** The name of a user that is compared with the caller; null for any other comparison. */
export const asUser = (a: Typed, b: Typed): string | null =>
  a.type.kind === "user" && b.literal?.kind === "string" ? b.literal.value : null;

/** A literal is of the kind it is compared with. */
export function matchTypes(left: Typed, right: Typed): readonly [Typed, Typed] | null {
  if (isSame(left.type, right.type)) return [left, right];
  const [a, b] = [coerceLiteral(left, right.type), coerceLiteral(right, left.type)];
  return a !== null ? [a, right] : b !== null ? [left, b] : null;
}

/** A whole number that is written in the file may stand for a decimal; nothing else is ever turned into another kind. */
export function coerceLiteral(given: Typed, to: ValueType): Typed | null {
  if (given.literal?.kind === "set" && to.kind === "set") {
    const items = given.literal.items.map((item) => coerceLiteral(item, to.of));
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

export function describeKind(type: ValueType): string {
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

/** Comparisons of decimals, as Cedar names them. */
export const ORDER: Readonly<Record<string, string>> = {
  "<": "lessThan",
  "<=": "lessThanOrEqual",
  ">": "greaterThan",
  ">=": "greaterThanOrEqual",
};
/** Questions about a value. */
export const METHODS = ["contains", "contains_all", "contains_any", "is_empty", "like", "starts_with", "ends_with"];

/** As the file writes it: `args.note`. */
export function attributePath(e: Expression): string {
  if (e.kind === "member") return `${attributePath(e.of)}.${e.name.text}`;
  if (e.kind === "index" && e.index.kind === "string") return `${attributePath(e.of)}[${JSON.stringify(e.index.value)}]`;
  return e.kind === "ident" ? e.name : "…";
}

/** A number as the file writes it; a refusal if Cedar cannot hold it exactly. */
export function readNumber(text: string): Typed | Readonly<{ detail: string; hint: string }> {
  const plain = text.replaceAll("_", "");
  const literal = { kind: "number", text: plain } as const;
  if (!plain.includes("."))
    return parseNumber(plain) === null
      ? { detail: `${plain} is more than a number can hold exactly`, hint: "use at most 9007199254740991" }
      : { text: plain.replace(/^0+(?=\d)/, ""), type: LONG, guards: [], literal };
  const decimal = decimalText(plain);
  if (decimal === null)
    return { detail: `${plain} is more than a decimal can hold`, hint: "use at most four places, and less than 922337203685477" };
  return { text: `decimal("${decimal}")`, type: DECIMAL, guards: [], literal };
}

export const groupHint = (name: string, groups: readonly string[]): string =>
  groups.length === 0 ? "orgate.toml has none: add [groups.users]" : suggestNearest(name, groups);
