/** Facts about arguments as values for the engine: only those that a slice can read. */
import type { Action, ArgumentFacts, Counts, Facts, OutgoingFacts, RecentCounts, TargetFacts } from "../../vocab/index.ts";
import type { Need } from "../arguments/arg-types.ts";
import type { CedarRecord, CedarValue } from "./engine.ts";

/** Where they stand in the context: by argument, and of all targets and all outgoing texts together. */
export const TARGET_FIELDS = ["facts", "targets", "outgoing"] as const;
type Call = Extract<Action, { kind: "call" }>;

const ALL: Need = { whole: true, fields: new Map() };
const inside = (need: Need, name: string): Need | null => (need.whole ? ALL : (need.fields.get(name) ?? null));

export function projectTargets(facts: Facts, need: Need, _: Call | null): CedarRecord {
  const [byArgument, targets, outgoing] = TARGET_FIELDS.map((name) => inside(need, name));
  if (byArgument == null && targets == null && outgoing == null) return NOTHING;
  const aims = facts.aims();
  return {
    ...(byArgument == null ? {} : { facts: ofArguments(aims, byArgument) }),
    ...(targets == null ? {} : { targets: picked(mergeTargets(aims), targets) }),
    ...(outgoing == null ? {} : { outgoing: picked(mergeOutgoing(aims), outgoing) }),
  };
}
const NOTHING: CedarRecord = Object.freeze({});

function ofArguments(aims: ArgumentFacts, need: Need): CedarRecord {
  const out: Record<string, CedarValue> = {};
  for (const [arg, one] of Object.entries(aims.targets)) {
    const wanted = inside(need, arg);
    if (wanted !== null) out[arg] = target(one, wanted);
  }
  for (const [arg, one] of Object.entries(aims.outgoing)) {
    const wanted = inside(need, arg);
    if (wanted !== null) out[arg] = picked(one, wanted);
  }
  return out;
}

/** Hours and days are looked up only where they are read. */
function target(one: TargetFacts, need: Need): CedarRecord {
  const { calls, lately, touched, touchedLately, name, ...plain } = one;
  const counted = (of: "calls" | "touched", counts: Counts, late: () => RecentCounts): CedarRecord => {
    const wanted = inside(need, of);
    const isLate = wanted !== null && (wanted.whole || wanted.fields.has("hour") || wanted.fields.has("day"));
    return wanted === null ? {} : { [of]: isLate ? { ...counts, ...late() } : { ...counts } };
  };
  return {
    ...picked(plain, need),
    ...counted("calls", calls, lately),
    ...counted("touched", touched, touchedLately),
    ...(inside(need, "name") === null || name === null ? {} : { name }),
  };
}

function picked(from: Readonly<Record<string, CedarValue>>, need: Need): CedarRecord {
  if (need.whole) return { ...from };
  return Object.fromEntries([...need.fields.keys()].flatMap((name) => (Object.hasOwn(from, name) ? [[name, from[name] ?? false]] : [])));
}

type TargetsSum = Readonly<Pick<TargetFacts, "inRequest" | "known" | "vouched" | "seenUnder"> & { count: number }>;

/** A fact that holds for every value holds; without values none does. */
export function mergeTargets(aims: ArgumentFacts): TargetsSum {
  if (aims.sums !== undefined) return aims.sums.targets;
  const all = Object.values(aims.targets);
  const each = (of: (one: TargetFacts) => boolean): boolean => all.length > 0 && all.every(of);
  return {
    count: all.length,
    inRequest: each((one) => one.inRequest),
    known: each((one) => one.known),
    vouched: each((one) => one.vouched),
    seenUnder: union(all.map((one) => one.seenUnder)),
  };
}

export function mergeOutgoing(aims: ArgumentFacts): OutgoingFacts {
  if (aims.sums !== undefined) return aims.sums.outgoing;
  const all = Object.values(aims.outgoing);
  return {
    links: union(all.map((one) => one.links)),
    addresses: union(all.map((one) => one.addresses)),
    vouched: all.every((one) => one.vouched),
    seenUnder: union(all.map((one) => one.seenUnder)),
  };
}

const union = (lists: readonly (readonly string[])[]): readonly string[] => [...new Set(lists.flat())].sort();
