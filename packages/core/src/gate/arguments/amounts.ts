/**
 * Numbers that are added up: whole ten-thousandths, as exact as Cedar's decimals, so that counters carry them like everything else they count.
 * Nothing is rounded where a policy reads it; what a total cannot hold exactly counts as more, never as less.
 */
import type { CountedAmount, Hash, Json, JsonObject, Target, Tool } from "../../vocab/index.ts";
import { findAtPath } from "../../vocab/index.ts";
import { parseDecimal } from "./numbers.ts";
import { targetDigests } from "./targets.ts";

export const AMOUNT_PLACES = 4;
/** 3.5 thousand million: more than this in one call counts as this, and is denied where a policy reads the total. */
export const MOST_AMOUNT = 2 ** 45;

/** `digits` × 10^-places of a number, or of a text that is one. */
export type ExactNumber = NonNullable<ReturnType<typeof parseDecimal>>;

export function toExactNumber(value: Json): ExactNumber | null {
  if (typeof value === "number") return parseDecimal(String(value));
  return typeof value === "string" ? parseDecimal(value.trim()) : null;
}

/** Every number of a target, and whether each thing that lies there is one. */
export function numbersAt(args: JsonObject, arg: string, { path }: Pick<Target, "path">): readonly (ExactNumber | null)[] {
  const found = findAtPath(args, path ?? [{ kind: "field", name: arg }]);
  return found.flatMap(leavesOf).map(toExactNumber);
}
const leavesOf = (value: Json): readonly Json[] =>
  typeof value === "object" && value !== null ? Object.values(value as JsonObject).flatMap(leavesOf) : value === null ? [] : [value];

/** Null: no decimal of Cedar's, or more than totals hold. */
export function toAmount({ negative, digits, places }: ExactNumber): number | null {
  if (places > AMOUNT_PLACES || digits.length - places > 15) return null;
  const amount = Number(BigInt(digits) * 10n ** BigInt(AMOUNT_PLACES - places));
  return amount > MOST_AMOUNT ? null : negative ? -amount : amount;
}

/** As Cedar writes a decimal; null: beyond what was added up exactly. */
export function printAmount(amount: number): string | null {
  if (!Number.isSafeInteger(amount)) return null;
  const digits = String(Math.abs(amount)).padStart(AMOUNT_PLACES + 1, "0");
  return `${amount < 0 ? "-" : ""}${digits.slice(0, -AMOUNT_PLACES)}.${digits.slice(-AMOUNT_PLACES)}`;
}

/** What a call adds: a negative number takes nothing away, so that nobody makes room for a payment by one that is none. */
export function addedBy(numbers: readonly (ExactNumber | null)[]): number {
  const sum = numbers.reduce((all, one) => all + (one === null ? MOST_AMOUNT : atLeast(one)), 0);
  return Math.min(sum, MOST_AMOUNT);
}

function atLeast(one: ExactNumber): number {
  if (one.negative) return 0;
  const exact = toAmount(one);
  if (exact !== null) return exact;
  const { digits, places } = one;
  const whole = digits.slice(0, Math.max(0, digits.length - (places - AMOUNT_PLACES)));
  return places <= AMOUNT_PLACES || whole.length > 14 ? MOST_AMOUNT : Math.min(Number(whole || "0") + 1, MOST_AMOUNT);
}

/** Of every number that a tool marks and a call gives. */
export function countedAmounts(
  tool: Pick<Tool, "targets"> | null,
  args: JsonObject | null,
  hash: Hash,
): Readonly<Record<string, CountedAmount>> {
  const out: Record<string, CountedAmount> = {};
  if (tool === null || args === null) return out;
  for (const [arg, target] of Object.entries(tool.targets)) {
    if (target.kind !== "number") continue;
    const by = addedBy(numbersAt(args, arg, target));
    if (by > 0) out[arg] = { by, per: target.per === undefined ? [] : (targetDigests(tool, args, hash)[target.per] ?? []) };
  }
  return out;
}
