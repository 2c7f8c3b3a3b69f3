/** Those who work for a session, as it shows them: a card for each, and what they came to together. */
import { type CallItem, count, type SessionView, tokenCountText, type ViewItem } from "@orgate/core/journal/view";
import { DELEGATE } from "@orgate/core/vocab";
import { formatMoney, type ScreenLook } from "./look.ts";

/** After the turn: what its members used together; nothing where it had none. */
export function subAgentTotals(
  { items }: Pick<SessionView, "items">,
  item: ViewItem,
  { paint }: Pick<ScreenLook, "paint">,
): readonly string[] {
  if (item.kind !== "ended") return [];
  const members = items.flatMap((one) => (one.kind === "call" && one.turn === item.turn && one.child !== null ? [one.child] : []));
  if (members.length === 0) return [];
  const tokens = members.reduce((n, { used }) => n + (used?.tokens ?? 0), 0);
  const lost = members.reduce((n, { used }) => n + (used?.lost ?? 0), 0);
  const costs = members.map(({ used }) => used?.micros ?? null);
  const cost = costs.includes(null) ? "" : ` · ${formatMoney(costs.reduce<number>((n, one) => n + (one ?? 0), 0))}`;
  const short = items.filter((one) => one.kind === "call" && one.turn === item.turn && isShort(one)).length;
  const failed = short === 0 ? "" : paint("warn", `${short} did not complete`) + paint("dim", " · ");
  return [
    `${paint("dim", `${count(members.length, "member")} together · `)}${failed}${paint("dim", `${tokenCountText({ tokens, lost })}${cost}`)}`,
  ];
}

/** It did not complete, and that was nobody's wish; or was not let begin. */
const isShort = ({ tool, child, status }: CallItem): boolean =>
  child === null
    ? tool === DELEGATE && status === "denied"
    : child.ending !== null && child.ending !== "completed" && child.ending !== "cancelled";

/** By who does it, and how its task begins. */
export const callTitle = ({ tool, summary, args, child }: CallItem): string =>
  child === null ? `${tool}(${summary})` : `${child.agent}(${taskIn(args) ?? summary})`;

/** Of arguments as they are shown: a line for each. */
function taskIn(args: string): string | null {
  const [, text] = /^ {2}"task": (".*"),?$/m.exec(args) ?? [];
  if (text === undefined) return null;
  const [first = "", ...more] = (JSON.parse(text) as string).split("\n");
  return more.length === 0 ? first : `${first} …`;
}

/** That is no failure. */
export const isCancelled = ({ child }: CallItem): boolean => child?.ending === "cancelled";
