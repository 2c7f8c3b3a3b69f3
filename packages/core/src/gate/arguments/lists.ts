/**
 * Lists among the arguments, which Cedar cannot look into: how long each is, and the values in it, also one field of every element as a list of its own
 * (`context.lists.flights_cabin`). Any and all are then Cedar's own words: `contains`, `containsAll`, `min`, `max`.
 * Made from the arguments alone, so no tool declares them; only what a slice reads is made.
 */

import { type Action, findAtPath, type Json, type JsonObject, type PathStep, toTargetName } from "../../vocab/index.ts";
import type { CedarRecord, CedarValue } from "../policies/engine.ts";
import { type CedarType, isPlainType, type Need, type RecordType, toCedar, toSchemaType, Unrepresentable } from "./arg-types.ts";
import { escapePointer, toDecimal } from "./numbers.ts";

type Call = Extract<Action, { kind: "call" }>;
export type ListType = Readonly<{
  /** To the list itself, or to the field of its elements. */
  path: readonly PathStep[];
  isColumn: boolean;
  /** To the outermost list: it is there when that is. */
  outer: readonly PathStep[];
  of: CedarType;
  required: boolean;
}>;

/** Of one tool. A schema comes from outside: whatever it holds, its lists end. */
const MOST_LISTS = 100;
const WHOLE: Need = { whole: true, fields: new Map() };
const TYPES = new WeakMap<RecordType, ReadonlyMap<string, ListType>>();

/** By the name that policies use. Two lists of one name are both left out: nobody could tell which is meant. */
export function toListTypes(args: RecordType): ReadonlyMap<string, ListType> {
  const known = TYPES.get(args);
  if (known !== undefined) return known;
  const all: ListType[] = [];
  const walk = (type: CedarType, path: readonly PathStep[], outer: readonly PathStep[] | null, required: boolean): void => {
    if (type.kind === "set") {
      all.push({ path, isColumn: false, outer: outer ?? path, of: type.of, required });
      if (type.of.kind === "record" || type.of.kind === "set") walk(type.of, [...path, { kind: "each" }], outer ?? path, required);
    } else if (type.kind === "record") {
      for (const [name, field] of type.fields)
        if (isPlainType(name))
          walk(field.type, [...path, { kind: "field", name }], outer, outer === null ? required && field.required : required);
    } else if (outer !== null) all.push({ path, isColumn: true, outer, of: type, required });
  };
  walk(args, [], null, true);
  const byName = Map.groupBy(all.slice(0, MOST_LISTS), ({ path }) => toTargetName(path));
  const found = new Map([...byName].flatMap(([name, [only, ...more]]) => (only === undefined || more.length > 0 ? [] : [[name, only]])));
  TYPES.set(args, found);
  return found;
}

const NUMERIC = new Set(["long", "decimal"]);
const isComparable = ({ kind }: CedarType): boolean => NUMERIC.has(kind) || kind === "string" || kind === "boolean";

/** As the Cedar schema writes it. A list that is never empty has a least and a most. */
export function toListSchema(of: CedarType, isFilled = false): { readonly [key: string]: Json } {
  const one = toSchemaType(of);
  return {
    type: "Record",
    attributes: {
      size: { type: "Long", required: true },
      ...(isComparable(of) ? { values: { type: "Set", element: one, required: true } } : {}),
      ...(NUMERIC.has(of.kind)
        ? { min: { ...one, required: isFilled }, max: { ...one, required: isFilled }, sum: { ...one, required: true } }
        : {}),
    },
  };
}

export function projectLists(call: Call, args: RecordType, need: Need): CedarRecord {
  const out: Record<string, CedarValue> = {};
  for (const [name, list] of toListTypes(args)) {
    const wanted = need.whole ? WHOLE : need.fields.get(name);
    if (wanted === undefined || call.args === null || findAtPath(call.args, list.outer).length === 0) continue;
    out[name] = projectElements(shown(list.path), list.of, elementsAt(call, list), wanted);
  }
  return out;
}

/** A list that holds nulls is as long as it is, and its values cannot be told; a field that an element lacks is not in the list of that field. */
function elementsAt({ args, inexact }: Call, { path, of, isColumn }: ListType): readonly Json[] {
  const found = findAtPath(args as JsonObject, path);
  const first = path[0]?.kind === "field" ? path[0].name : "";
  if (NUMERIC.has(of.kind) && inexact.some((pointer) => `${pointer}/`.startsWith(`/${escapePointer(first)}/`)))
    throw new Unrepresentable(`args/${escapePointer(first)} says more than a number can hold`);
  if (isColumn) return found;
  if (!found.every((one) => Array.isArray(one))) throw new Unrepresentable(`${shown(path)} is no list`);
  return found.flat() as readonly Json[];
}

/** `at` is where they stand, for whoever is refused. */
export function projectElements(at: string, of: CedarType, elements: readonly Json[], need: Need): CedarRecord {
  const out: Record<string, CedarValue> = {};
  const reads = (name: string): boolean => need.whole || need.fields.has(name);
  if (reads("size")) out["size"] = elements.length;
  if (!isComparable(of)) return out;
  const made = (): readonly CedarValue[] =>
    elements.map((one) => {
      const value = toCedar(one, of, WHOLE, []);
      if (value === null) throw new Unrepresentable(`${at} holds a null, which no set of Cedar's can hold`);
      return value;
    });
  if (reads("values")) out["values"] = made();
  if (!NUMERIC.has(of.kind) || !["min", "max", "sum"].some(reads)) return out;
  made(); // what is no exact number is refused here too
  const isLong = of.kind === "long";
  const scaled = (elements as readonly number[]).map((one) => (isLong ? BigInt(one) : toTenThousandths(one)));
  const write = (value: bigint): CedarValue => (isLong ? toLong(value, at) : toDecimalValue(value, at));
  const [least, most] = [scaled.toSorted(compare)[0], scaled.toSorted(compare).at(-1)];
  if (reads("min") && least !== undefined) out["min"] = write(least);
  if (reads("max") && most !== undefined) out["max"] = write(most);
  if (reads("sum")) out["sum"] = write(scaled.reduce((all, one) => all + one, 0n));
  return out;
}

const shown = (path: readonly PathStep[]): string =>
  `args/${path.map((step) => (step.kind === "field" ? escapePointer(step.name) : "*")).join("/")}`;
const compare = (a: bigint, b: bigint): number => (a < b ? -1 : a > b ? 1 : 0);
const toTenThousandths = (value: number): bigint => {
  const [whole = "0", fraction = ""] = (toDecimal(value) ?? "0.0").split(".");
  const scaled = BigInt(whole.replace("-", "") + fraction.padEnd(4, "0"));
  return whole.startsWith("-") ? -scaled : scaled;
};

const outOfRange = (at: string): Unrepresentable => new Unrepresentable(`the sum of ${at} is out of range`);

function toLong(value: bigint, at: string): CedarValue {
  if (!Number.isSafeInteger(Number(value))) throw outOfRange(at);
  return Number(value);
}

const MOST = 9_223_372_036_854_775_807n;
function toDecimalValue(value: bigint, at: string): CedarValue {
  if (value > MOST || -value > MOST) throw outOfRange(at);
  const digits = (value < 0n ? -value : value).toString().padStart(5, "0");
  return { __extn: { fn: "decimal", arg: `${value < 0n ? "-" : ""}${digits.slice(0, -4)}.${digits.slice(-4)}` } };
}
