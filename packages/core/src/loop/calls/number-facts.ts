/** Facts about arguments that are numbers: whether the user named them, and what they come to together with earlier calls (G-24, G-27). */
import { addedBy, numbersAt, toAmount, toExactNumber } from "../../gate/arguments/amounts.ts";
import { isNumberInRequest } from "../../gate/arguments/match.ts";
import { escapePointer } from "../../gate/arguments/numbers.ts";
import type { SeenValues } from "../../gate/arguments/seen.ts";
import { isRequired, targetDigests, targetValues } from "../../gate/arguments/targets.ts";
import {
  type Action,
  type Counts,
  counterForTotal,
  type Facts,
  type JsonObject,
  type Millis,
  type NumberFacts,
  type RecentCounts,
  type Target,
  type Tool,
} from "../../vocab/index.ts";
import type { Ports } from "../ports.ts";
import { callsIn, type State, type Turn, totalKey } from "../state.ts";
import { recordRules, targetThing } from "./record-facts.ts";
import type { SaidWords } from "./said-words.ts";

/** One call, and what is known while it is decided. */
export type CallMoment = Readonly<{
  p: Pick<Ports, "tools" | "journal" | "hash" | "counts">;
  s: State;
  t: Turn | null;
  tool: Tool;
  action: Extract<Action, { kind: "call" }>;
  args: JsonObject;
  now: Millis;
  lately: Facts["lately"];
  said: SaidWords;
  seen(): SeenValues;
}>;

/** Null for an argument that need not be given, and was not. */
export function numberFacts(at: CallMoment, arg: string, target: Target): NumberFacts | null {
  const numbers = numbersAt(at.args, arg, target);
  if (numbers.length === 0 && !isRequired(at.tool.inputSchema, arg, target.path)) return null;
  const exact = numbers.filter((one) => one !== null);
  const isAll = exact.length === numbers.length && !isInexact(at, argumentOf(arg, target));
  const amounts = exact.map(toAmount);
  const amount = isAll && amounts.length === 1 ? (amounts[0] ?? null) : null;
  const own = isAll && !amounts.includes(null) ? addedBy(numbers) : null;
  return {
    inRequest: isAll && exact.length > 0 && exact.every((one) => isNumberInRequest(at.said.now(), one)),
    said: () => (isAll ? at.said.each(exact, isNumberInRequest) : null),
    recorded: () => amount !== null && isRecorded(at, amount, target),
    amount,
    ...totalsOf(at, arg, own, [""]),
    perTarget: target.per === undefined ? null : totalsOf(at, arg, own, targetDigests(at.tool, at.args, at.p.hash)[target.per] ?? []),
  };
}

/** A price or a total of the one thing that it is paid for. Other numbers of a record (how many there are, a time) are no amounts. */
function isRecorded(at: CallMoment, amount: number, { per }: Target): boolean {
  const thing = per === undefined ? undefined : at.tool.targets[per];
  if (per === undefined || thing === undefined) return false;
  const found = targetThing(at, thing, targetValues(at.args, per, thing) ?? []).record();
  const rules = recordRules(at.p, thing.of);
  const isAmount = (field: string): boolean => rules.every(({ fields }) => fields[field] === undefined || fields[field].type === "number");
  return Object.entries(found?.fields ?? {}).some(([field, value]) => {
    const exact = typeof value === "number" && isAmount(field) ? toExactNumber(value) : null;
    return exact !== null && toAmount(exact) === amount;
  });
}

/** The argument that a target lies in. */
const argumentOf = (arg: string, { path }: Target): string => (path?.[0]?.kind === "field" ? path[0].name : arg);

/** The text says more than the number holds. */
const isInexact = ({ action }: CallMoment, arg: string): boolean =>
  action.inexact.some((pointer) => `${pointer}/`.startsWith(`/${escapePointer(arg)}/`));

type Totals = Pick<NumberFacts, "total" | "totalLately">;

/** This call is counted once: it may have started already, when it is decided again. */
function totalsOf(at: CallMoment, arg: string, own: number | null, values: readonly string[]): Totals {
  const { p, s, t, tool, action } = at;
  if (own === null) return { total: null, totalLately: () => null };
  const hasStarted = callsIn(t).some((c) => c.proposed.id === action.call && c.starts > 0);
  const added = hasStarted ? 0 : own;
  const name = counterForTotal(tool.name, arg);
  const all = values.map((value): Counts => {
    const aside = p.counts.asideIn({ session: s.session, action: action.call }, { name, agent: s.agent.name, value });
    const key = totalKey(tool.name, arg, value);
    return { turn: (t?.values.get(key) ?? 0) + aside + added, session: (s.values.get(key) ?? 0) + aside + added };
  });
  return {
    total: {
      turn: most(
        all.map((one) => one.turn),
        own,
      ),
      session: most(
        all.map((one) => one.session),
        own,
      ),
    },
    totalLately: (): RecentCounts => {
      const late = values.map((value) => at.lately({ name, value }));
      return {
        hour: most(
          late.map((one) => one.hour + added),
          own,
        ),
        day: most(
          late.map((one) => one.day + added),
          own,
        ),
      };
    },
  };
}
const most = (all: readonly number[], least: number): number => Math.max(least, ...all);
