/** Facts about arguments as values for the engine: only those that a slice can read. */
import {
  type ArgumentFacts,
  type Counts,
  type Facts,
  type NumberFacts,
  type OutgoingFacts,
  oldestSaid,
  type RecentCounts,
  type Said,
  type TargetFacts,
  type TargetsSum,
  type ValuesSum,
} from "../../vocab/index.ts";
import { printAmount } from "../arguments/amounts.ts";
import { type Need, type RecordType, Unrepresentable } from "../arguments/arg-types.ts";
import type { CedarRecord, CedarValue } from "./engine.ts";
import { projectThing } from "./world/project-world.ts";
import type { Things } from "./world/world-types.ts";

/** Where they stand in the context: by argument; of all targets, of all plain values, and of all outgoing texts together. */
export const TARGET_FIELDS = ["facts", "targets", "values", "outgoing", "amount"] as const;

const ALL: Need = { whole: true, fields: new Map() };
const inside = (need: Need, name: string): Need | null => (need.whole ? ALL : (need.fields.get(name) ?? null));

/** `things`: records of what arguments of the tool stand for. */
export function projectTargets(facts: Facts, need: Need, things: Things): CedarRecord {
  const [byArgument, targets, values, outgoing, amount] = TARGET_FIELDS.map((name) => inside(need, name));
  if (byArgument == null && targets == null && values == null && outgoing == null && amount == null) return NOTHING;
  const aims = facts.aims();
  const paid = amount == null ? null : findAmount(aims);
  return {
    ...(byArgument == null ? {} : { facts: ofArguments(aims, byArgument, things) }),
    ...(targets == null ? {} : { targets: asked(mergeTargets(aims, things), targets) }),
    ...(values == null ? {} : { values: withSaid(mergeValues(aims), values) }),
    ...(outgoing == null ? {} : { outgoing: picked(mergeOutgoing(aims), outgoing) }),
    ...(amount == null || paid === null ? {} : { amount: number(paid, amount, "amount") }),
  };
}
const NOTHING: CedarRecord = Object.freeze({});

function ofArguments(aims: ArgumentFacts, need: Need, things: Things): CedarRecord {
  const out: Record<string, CedarValue> = {};
  const put = <T>(all: Readonly<Record<string, T>>, project: (one: T, wanted: Need, arg: string) => CedarRecord): void => {
    for (const [arg, one] of Object.entries(all)) {
      const wanted = inside(need, arg);
      if (wanted !== null) out[arg] = project(one, wanted, arg);
    }
  };
  put(aims.outgoing, picked);
  const both = (one: TargetFacts, wanted: Need, arg: string): CedarRecord => {
    const leaving = aims.outgoing[arg];
    const thing = recordOf(one.record, inside(wanted, "record"), things[arg]);
    if (leaving === undefined) return { ...target(one, wanted), ...thing };
    return { ...picked(leaving, wanted), ...target(withOutgoing(one, leaving), wanted), ...thing };
  };
  put(aims.targets, both);
  put(aims.texts, both);
  put(aims.numbers, number);
  return out;
}

/** Of an argument that is both, a fact holds if it holds of both. */
const withOutgoing = (one: TargetFacts, leaving: OutgoingFacts): TargetFacts => ({
  ...one,
  vouched: one.vouched && leaving.vouched,
  seenUnder: union([one.seenUnder, leaving.seenUnder]),
});

/** Hours and days are looked up only where they are read, and so is what was said earlier. */
function target(one: TargetFacts, need: Need): CedarRecord {
  const { calls, lately, touched, touchedLately, name, record: _, ...plain } = one;
  const counted = (of: "calls" | "touched", counts: Counts, late: () => RecentCounts): CedarRecord => {
    const wanted = inside(need, of);
    return wanted === null ? {} : { [of]: isLate(wanted) ? { ...counts, ...late() } : { ...counts } };
  };
  return {
    ...asked(plain, need),
    ...counted("calls", calls, lately),
    ...counted("touched", touched, touchedLately),
    ...(inside(need, "name") === null || name === null ? {} : { name }),
  };
}
const isLate = (wanted: Need): boolean => wanted.whole || wanted.fields.has("hour") || wanted.fields.has("day");

function number({ inRequest, said, recorded, amount, perTarget, ...own }: NumberFacts, need: Need, arg: string): CedarRecord {
  const totals = (of: "total" | "totalPerTarget", { total, totalLately }: Pick<NumberFacts, "total" | "totalLately">): CedarRecord => {
    const wanted = inside(need, of);
    if (wanted === null) return {};
    const late = isLate(wanted) ? totalLately() : {};
    if (total === null || late === null) throw new Unrepresentable(`args/${arg} is no number that totals can hold`);
    return { [of]: Object.fromEntries(Object.entries({ ...total, ...late }).map(([name, sum]) => [name, toCedarAmount(sum, arg)])) };
  };
  return {
    ...withSaid({ inRequest, said }, need),
    ...(inside(need, "recorded") === null ? {} : { recorded: recorded() }),
    ...(inside(need, "value") === null || amount === null ? {} : { value: toCedarAmount(amount, arg) }),
    ...totals("total", own),
    ...(perTarget === null ? {} : totals("totalPerTarget", perTarget)),
  };
}

function toCedarAmount(amount: number, arg: string): CedarValue {
  const text = printAmount(amount);
  if (text === null) throw new Unrepresentable(`the total of args/${arg} is out of range`);
  return { __extn: { fn: "decimal", arg: text } };
}

/** Records are looked up only where they are read. */
function asked<T extends Pick<TargetFacts, "said" | "recorded" | "owned">>({ recorded, owned, ...plain }: T, need: Need): CedarRecord {
  return {
    ...withSaid(plain, need),
    ...(inside(need, "recorded") === null ? {} : { recorded: recorded() }),
    ...(inside(need, "owned") === null ? {} : { owned: owned() }),
  };
}

function recordOf(record: TargetFacts["record"], need: Need | null, type: RecordType | undefined): CedarRecord {
  const thing = need === null ? null : record();
  const shown = need === null || thing === null ? null : projectThing(thing, need, type);
  return shown === null ? {} : { record: shown };
}

type CedarFields = Readonly<Record<string, CedarValue>>;

function withSaid<T extends Readonly<{ said(): Said | null }>>({ said, ...plain }: T, need: Need): CedarRecord {
  const found = inside(need, "said") === null ? null : said();
  const rest = picked(plain as CedarFields, need);
  return found === null ? rest : { ...rest, said: { ...found } };
}

function picked(from: CedarFields, need: Need): CedarRecord {
  if (need.whole) return { ...from };
  return Object.fromEntries([...need.fields.keys()].flatMap((name) => (Object.hasOwn(from, name) ? [[name, from[name] ?? false]] : [])));
}

/** A fact that holds for every value holds; without values none does. */
export function mergeTargets(aims: ArgumentFacts, things: Things = {}): TargetsSum {
  if (aims.sums !== undefined) return aims.sums.targets;
  const all = Object.values(aims.targets);
  const each = (of: (one: TargetFacts) => boolean): boolean => all.length > 0 && all.every(of);
  return {
    count: all.length,
    inRequest: each((one) => one.inRequest),
    known: each((one) => one.known),
    vouched: each((one) => one.vouched),
    named: each((one) => one.vouched || one.nameInRequest),
    seenUnder: union(all.map((one) => one.seenUnder)),
    said: () => oldestSaid(all.map((one) => one.said())),
    recorded: () => each((one) => one.recorded()),
    owned: () => isOwned(aims, things),
  };
}

/** One of them is the subject's, and each other one is too, or stands for a thing that belongs to nobody: no tool says whose things of its kind are. */
function isOwned({ targets }: ArgumentFacts, things: Things): boolean {
  const all = Object.entries(targets);
  const isNobodys = (arg: string, one: TargetFacts): boolean => things[arg]?.isSomebodys === false && one.recorded();
  return all.some(([, one]) => one.owned()) && all.every(([arg, one]) => one.owned() || isNobodys(arg, one));
}

export function mergeValues(aims: ArgumentFacts): ValuesSum {
  if (aims.sums !== undefined) return aims.sums.values;
  const all = [...Object.values(aims.texts), ...Object.values(aims.numbers).filter((one) => !one.recorded())];
  return {
    count: all.length,
    inRequest: all.length > 0 && all.every((one) => one.inRequest),
    said: () => oldestSaid(all.map((one) => one.said())),
  };
}

/** The one number whose totals are counted for a target: what is paid to somebody. Of several nobody can say which it is. */
export function findAmount({ sums, numbers }: ArgumentFacts): NumberFacts | null {
  if (sums?.amount !== undefined) return sums.amount;
  const [only, ...more] = Object.values(numbers).filter(({ perTarget }) => perTarget !== null);
  return only === undefined || more.length > 0 ? null : only;
}

export function mergeOutgoing(aims: ArgumentFacts): OutgoingFacts {
  if (aims.sums !== undefined) return aims.sums.outgoing;
  const all = Object.values(aims.outgoing);
  return {
    links: union(all.map((one) => one.links)),
    addresses: union(all.map((one) => one.addresses)),
    vouched: all.every((one) => one.vouched),
    inRequest: all.every((one) => one.inRequest),
    seenUnder: union(all.map((one) => one.seenUnder)),
  };
}

const union = (lists: readonly (readonly string[])[]): readonly string[] => [...new Set(lists.flat())].sort();
