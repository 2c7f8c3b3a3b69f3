/** Sub-agents of a session: a card for each, and their totals. */

import { DELEGATE } from "@orgate/core/vocab";
import { type CallItem, countNoun, type SessionView, tokenCountText, type ViewItem } from "@orgate/protocol/view";
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
    `${paint("dim", `${countNoun(members.length, "member")} together · `)}${failed}${paint("dim", `${tokenCountText({ tokens, lost })}${cost}`)}`,
  ];
}

/** It ended without completing or being cancelled, or was not allowed to start. */
const isShort = ({ tool, child, status }: CallItem): boolean =>
  child === null
    ? tool === DELEGATE && status === "denied"
    : child.ending !== null && child.ending !== "completed" && child.ending !== "cancelled";

/** A call's title: the sub-agent and the beginning of its task, or the tool and its summary. */
export const callTitle = ({ tool, summary, args, child }: CallItem): string =>
  child === null ? `${tool}(${summary})` : `${child.agent}(${taskIn(args) ?? summary})`;

/** The task in arguments that are shown one per line. */
function taskIn(args: string): string | null {
  const [, text] = /^ {2}"task": (".*"),?$/m.exec(args) ?? [];
  if (text === undefined) return null;
  const [first = "", ...more] = (JSON.parse(text) as string).split("\n");
  return more.length === 0 ? first : `${first} …`;
}

/** A cancelled sub-agent is no failure. */
export const isCancelled = ({ child }: CallItem): boolean => child?.ending === "cancelled";
