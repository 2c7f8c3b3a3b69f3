/** Facts about arguments as a decision table states them. What a case does not say of a target is not so. */
import * as z from "zod";
import {
  type ArgumentFacts,
  type Counts,
  isPlainKind,
  type JsonObject,
  lazily,
  type NumberFacts,
  type OutgoingFacts,
  type Said,
  type Target,
  type TargetFacts,
  type Tool,
  type ValuesSum,
} from "../../vocab/index.ts";
import { type CaseThings, targetSumSchema, targetThingSchema, thingsOfTarget, toTargetThing } from "../policies/world/case-world.ts";
import { addedBy, numbersAt, toAmount, toExactNumber } from "./amounts.ts";

const count = lazily(() => z.int().min(0).default(0));
export const countsSchema = lazily(() => z.strictObject({ turn: count(), session: count(), hour: count(), day: count() }));
export const NO_COUNTS = { turn: 0, session: 0, hour: 0, day: 0 };

const texts = lazily(() => z.array(z.string()).default([]));
const flag = lazily(() => z.boolean().default(false));
const saidSchema = lazily(() => z.strictObject({ turnsAgo: count(), secondsAgo: count() }).optional());
/** A number, or its text: `"1200.50"`. Ten-thousandths. */
const amountSchema = lazily(() =>
  z.union([z.number(), z.string()]).transform((given, context) => {
    const exact = toExactNumber(given);
    const amount = exact === null ? null : toAmount(exact);
    if (amount === null) context.addIssue({ code: "custom", message: 'expected a number of at most four places, such as "1200.50"' });
    return amount ?? 0;
  }),
);
const totalsSchema = lazily(() => {
  const one = () => amountSchema().optional();
  return z.strictObject({ turn: one(), session: one(), hour: one(), day: one() }).optional();
});

const about = lazily(() => ({ inRequest: flag(), known: flag(), vouched: z.boolean().optional(), seenUnder: texts(), said: saidSchema() }));
export const targetsSumSchema = lazily(() =>
  z.strictObject({ ...about(), ...targetSumSchema(), named: z.boolean().optional(), count: z.int().min(0).default(1) }),
);
export const valuesSumSchema = lazily(() => z.strictObject({ inRequest: flag(), said: saidSchema(), count: z.int().min(0).default(1) }));
/** What is paid to somebody. */
export const amountFactsSchema = lazily(() =>
  z.strictObject({
    inRequest: flag(),
    recorded: flag(),
    said: saidSchema(),
    value: amountSchema(),
    total: totalsSchema(),
    totalPerTarget: totalsSchema(),
  }),
);
export const leavingSchema = lazily(() =>
  z.strictObject({ links: texts(), addresses: texts(), vouched: z.boolean().optional(), inRequest: flag(), seenUnder: texts() }),
);
/** Of one argument, whatever it is: a target, a plain text, a number, a text that leaves, or a target that leaves too. */
export const aimSchema = lazily(() =>
  z.strictObject({
    inRequest: z.boolean().optional(),
    known: z.boolean().optional(),
    vouched: z.boolean().optional(),
    seenUnder: z.array(z.string()).optional(),
    said: saidSchema(),
    calls: countsSchema().optional(),
    touched: countsSchema().optional(),
    name: z.string().optional(),
    nameInRequest: z.boolean().optional(),
    total: totalsSchema(),
    totalPerTarget: totalsSchema(),
    value: amountSchema().optional(),
    links: z.array(z.string()).optional(),
    addresses: z.array(z.string()).optional(),
    ...targetThingSchema(),
  }),
);

type Aim = z.infer<ReturnType<typeof aimSchema>>;
export type CaseAims = CaseThings &
  Readonly<{
    args?: JsonObject | undefined;
    facts?: Readonly<Record<string, Aim>> | undefined;
    targets?: z.infer<ReturnType<typeof targetsSumSchema>> | undefined;
    values?: z.infer<ReturnType<typeof valuesSumSchema>> | undefined;
    outgoing?: z.infer<ReturnType<typeof leavingSchema>> | undefined;
    amount?: z.infer<ReturnType<typeof amountFactsSchema>> | undefined;
  }>;

/** A target that is given without facts counts as unknown. The facts of a tool that this project does not have are told by their fields. */
export function toCaseAims(c: CaseAims, tool: Pick<Tool, "targets" | "outgoing"> | null): ArgumentFacts {
  const given = Object.keys(c.args ?? {});
  const isThere = (arg: string, target?: Target): boolean =>
    c.facts?.[arg] !== undefined || given.includes(target?.path?.[0]?.kind === "field" ? target.path[0].name : arg);
  const declared = Object.entries(tool?.targets ?? {}).filter(([arg, target]) => isThere(arg, target));
  const leaving = (tool?.outgoing ?? []).filter((arg) => isThere(arg));
  const others = Object.entries(c.facts ?? {}).filter(([arg]) => tool?.targets[arg] === undefined && tool?.outgoing.includes(arg) !== true);
  const isLeaving = (one: Aim): boolean => one.inRequest === undefined && (one.links !== undefined || one.addresses !== undefined);
  const isNumber = (one: Aim): boolean => one.total !== undefined || one.totalPerTarget !== undefined || one.value !== undefined;
  const fact = (arg: string): Aim => ({ ...thingsOfTarget(c, tool?.targets[arg]?.of ?? null), ...c.facts?.[arg] });
  const of = (is: (kind: Target["kind"]) => boolean) => declared.filter(([, { kind }]) => is(kind));
  const aims: ArgumentFacts = {
    targets: Object.fromEntries([
      ...of((kind) => !isPlainKind(kind)).map(([arg]) => [arg, targetFacts(fact(arg))] as const),
      ...others.filter(([, one]) => !isLeaving(one) && !isNumber(one)).map(([arg, one]) => [arg, targetFacts(one)] as const),
    ]),
    texts: Object.fromEntries(of((kind) => kind === "text").map(([arg]) => [arg, targetFacts(fact(arg))])),
    numbers: Object.fromEntries([
      ...of((kind) => kind === "number").map(([arg, target]) => [arg, numberFacts(fact(arg), ownOf(c.args ?? {}, arg, target))] as const),
      ...others
        .filter(([, one]) => isNumber(one))
        .map(([arg, one]) => [arg, numberFacts(one, { by: 0, amount: null, hasPer: one.totalPerTarget !== undefined })] as const),
    ]),
    outgoing: Object.fromEntries([
      ...leaving.map((arg) => [arg, leavingFacts(fact(arg))] as const),
      ...others.filter(([, one]) => isLeaving(one)).map(([arg, one]) => [arg, leavingFacts(one)] as const),
    ]),
  };
  if (c.targets === undefined && c.outgoing === undefined && c.values === undefined && c.amount === undefined) return aims;
  const { inRequest, known, vouched, seenUnder, said, recorded, owned } = targetFacts(c.targets ?? {});
  const named = c.targets?.named ?? vouched;
  return {
    ...aims,
    sums: {
      targets: { inRequest, known, vouched, named, seenUnder, said, recorded, owned, count: c.targets?.count ?? 0 },
      values: valuesOf(c.values),
      outgoing: leavingFacts(c.outgoing ?? {}),
      ...(c.amount === undefined ? {} : { amount: numberFacts(c.amount, { by: c.amount.value, amount: c.amount.value, hasPer: true }) }),
    },
  };
}

const valuesOf = ({ inRequest, said, count }: NonNullable<CaseAims["values"]> = { inRequest: false, count: 0 }): ValuesSum => ({
  inRequest,
  count,
  said: saidOf(said ?? (inRequest ? { turnsAgo: 0, secondsAgo: 0 } : undefined)),
});

const saidOf = (given: Said | undefined) => (): Said | null => given ?? null;

function targetFacts(given: Aim): TargetFacts {
  const { inRequest = false, known = false, vouched = inRequest || known, seenUnder = [], calls = NO_COUNTS, touched = NO_COUNTS } = given;
  const now = ({ turn, session }: typeof calls): Counts => ({ turn, session });
  const late = ({ hour, day }: typeof calls) => ({ hour, day });
  return {
    inRequest,
    known,
    vouched,
    seenUnder,
    calls: now(calls),
    lately: () => late(calls),
    touched: now(touched),
    touchedLately: () => late(touched),
    name: given.name ?? null,
    nameInRequest: given.nameInRequest ?? false,
    said: saidOf(given.said ?? (inRequest ? { turnsAgo: 0, secondsAgo: 0 } : undefined)),
    ...toTargetThing(given),
  };
}

type Own = Readonly<{ by: number; amount: number | null; hasPer: boolean }>;
function ownOf(args: JsonObject, arg: string, target: Target): Own {
  const numbers = numbersAt(args, arg, target);
  const [only, ...more] = numbers;
  return { by: addedBy(numbers), amount: only == null || more.length > 0 ? null : toAmount(only), hasPer: target.per !== undefined };
}

/** A total that a case does not state is that of the call alone. */
function numberFacts(given: Aim, { by, amount, hasPer }: Own): NumberFacts {
  const totals = (of: Aim["total"]): Pick<NumberFacts, "total" | "totalLately"> => ({
    total: { turn: of?.turn ?? by, session: of?.session ?? by },
    totalLately: () => ({ hour: of?.hour ?? by, day: of?.day ?? by }),
  });
  const { inRequest = false, said } = given;
  return {
    inRequest,
    said: saidOf(said ?? (inRequest ? { turnsAgo: 0, secondsAgo: 0 } : undefined)),
    recorded: () => given.recorded ?? false,
    amount: given.value ?? amount,
    ...totals(given.total),
    perTarget: hasPer ? totals(given.totalPerTarget) : null,
  };
}

function leavingFacts({ links = [], addresses = [], seenUnder = [], inRequest = false, vouched }: Aim): OutgoingFacts {
  return { links, addresses, seenUnder, inRequest, vouched: vouched ?? links.length + addresses.length === 0 };
}
