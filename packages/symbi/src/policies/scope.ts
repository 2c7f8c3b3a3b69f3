/** Names that conditions can use, by the kind of decision: those of `gate/policies/vocabulary.ts`, which has the last word when the Cedar is checked. */
import type { Effect } from "@orgate/core/vocab";
import type { ConditionRecord, ConditionScope, ValueType } from "./condition-values.ts";

/** Of a tool, what policies can be written about. */
export type ToolShape = Readonly<{
  name: string;
  effects: readonly Effect[];
  args: ConditionRecord;
  /** Arguments about which there are facts, and whether each must be given. */
  targets: readonly Readonly<{
    arg: string;
    kind: "target" | "number" | "number-per-target";
    required: boolean;
    /** Of the thing that it stands for; null if it stands for none. */
    record: ConditionRecord | null;
  }>[];
  outgoing: readonly Readonly<{ arg: string; required: boolean }>[];
  /** Lists among its arguments, by the names that policies use. */
  lists: readonly Readonly<{ list: string; of: ValueType; required: boolean }>[];
  /** Records of the things that its arguments refer to, by type: each is there once it was read. */
  records: ConditionRecord;
  /** Empty: any. */
  resourceTypes: readonly string[];
}>;

const type = (kind: "string" | "long" | "decimal" | "boolean" | "user"): ValueType => ({ kind });
const TEXTS: ValueType = { kind: "set", of: type("string") };

const record = (fields: Readonly<Record<string, ValueType>>, optional: readonly string[] = []): ConditionRecord => ({
  kind: "record",
  fields: new Map(Object.entries(fields).map(([name, one]) => [name, { type: one, required: !optional.includes(name) }])),
});

const LONG = type("long");
const FLAG = type("boolean");
const COUNTS = record({ turn: LONG, session: LONG, hour: LONG, day: LONG });
const SAID = record({ turnsAgo: LONG, secondsAgo: LONG });
const ABOUT = { inRequest: FLAG, known: FLAG, vouched: FLAG, recorded: FLAG, owned: FLAG, seenUnder: TEXTS, said: SAID };
const OUTGOING = { links: TEXTS, addresses: TEXTS, inRequest: FLAG, vouched: FLAG, seenUnder: TEXTS };
const TARGET = { ...ABOUT, calls: COUNTS, touched: COUNTS, name: type("string"), nameInRequest: FLAG };
const AMOUNT = type("decimal");
const TOTALS = record({ turn: AMOUNT, session: AMOUNT, hour: AMOUNT, day: AMOUNT });
const NUMBER = { inRequest: FLAG, recorded: FLAG, said: SAID, value: AMOUNT, total: TOTALS };
const OPTIONAL = ["said", "name", "value", "min", "max", "record"];

function factsOf({ targets, outgoing }: ToolShape): ConditionRecord {
  const isOutgoing = (arg: string): boolean => outgoing.some((one) => one.arg === arg);
  const of = ({ arg, kind, record: thing }: ToolShape["targets"][number]): ConditionRecord => {
    if (kind !== "target") return record(kind === "number" ? NUMBER : { ...NUMBER, totalPerTarget: TOTALS }, OPTIONAL);
    return record({ ...TARGET, ...(isOutgoing(arg) ? OUTGOING : {}), ...(thing === null ? {} : { record: thing }) }, OPTIONAL);
  };
  return {
    kind: "record",
    fields: new Map([
      ...outgoing.map(({ arg, required }) => [arg, { type: record(OUTGOING), required }] as const),
      ...targets.map((one) => [one.arg, { type: of(one), required: one.required }] as const),
    ]),
  };
}

/** Of all records of a type, each field as a list that is never empty. */
function columnsOf(records: ConditionRecord): ConditionRecord {
  const over = (fields: ConditionRecord["fields"], toType: (one: ValueType) => ValueType): ConditionRecord => ({
    kind: "record",
    fields: new Map([...fields].map(([name, { type: one, required }]) => [name, { type: toType(one), required }])),
  });
  const filled = (one: ValueType): ConditionRecord => {
    const { fields } = listOf(one.kind === "set" ? one.of : one);
    return { kind: "record", fields: new Map([...fields].map(([name, { type: of }]) => [name, { type: of, required: true }])) };
  };
  return over(records.fields, (thing) => (thing.kind === "record" ? over(thing.fields, filled) : thing));
}

function listOf(of: ValueType): ConditionRecord {
  const isNumber = of.kind === "long" || of.kind === "decimal";
  if (!isNumber && of.kind !== "string" && of.kind !== "boolean") return record({ size: LONG });
  return record({ size: LONG, values: { kind: "set", of }, ...(isNumber ? { min: of, max: of, sum: of } : {}) }, OPTIONAL);
}

/** Names that every decision has, whatever it is about. */
export type ScopeWorld = Readonly<{
  tools: readonly ToolShape[];
  /** Whom the session serves, once somebody said so. */
  subject: ConditionRecord;
}>;

export function sharedScope({ tools, subject }: ScopeWorld): ConditionScope {
  return new Map(
    Object.entries({
      labels: { type: TEXTS, cedar: "context.labels" },
      media: { type: TEXTS, cedar: "context.media" },
      calls: { type: record(Object.fromEntries(tools.map(({ name }) => [name, COUNTS]))), cedar: "context.calls" },
      spent: { type: record({ tokens: COUNTS, cents: COUNTS }, ["cents"]), cedar: "context.spent" },
      origin: {
        type: record({ surface: type("string"), user: type("string"), schedule: type("string"), delivery: type("string") }, [
          "schedule",
          "delivery",
        ]),
        cedar: "context.origin",
      },
      now: { type: record({ epoch: LONG, date: type("string"), weekday: LONG, hour: LONG, minute: LONG }), cedar: "context.now" },
      subject: { type: subject, cedar: "context.subject", guards: ["context has subject"] },
      approval: { type: record({ ageSeconds: LONG }), cedar: "context.approval", guards: ["context has approval"] },
      user: { type: type("user"), cedar: "context.onBehalfOf" },
      resource: { type: record({ id: type("string") }), cedar: "resource" },
    } satisfies Record<string, { type: ValueType; cedar: string; guards?: readonly string[] }>),
  );
}

export function toolScope(tool: ToolShape, world: ScopeWorld): ConditionScope {
  const lists: ConditionRecord = {
    kind: "record",
    fields: new Map(tool.lists.map(({ list, of, required }) => [list, { type: listOf(of), required }])),
  };
  return new Map([
    ...sharedScope(world),
    ["args", { type: tool.args, cedar: "context.args" }],
    ["facts", { type: factsOf(tool), cedar: "context.facts" }],
    ["targets", { type: record({ ...ABOUT, named: FLAG, count: LONG }, OPTIONAL), cedar: "context.targets" }],
    ["values", { type: record({ count: LONG, inRequest: FLAG, said: SAID }, OPTIONAL), cedar: "context.values" }],
    ["lists", { type: lists, cedar: "context.lists" }],
    ["records", { type: tool.records, cedar: "context.records" }],
    ["allRecords", { type: columnsOf(tool.records), cedar: "context.allRecords" }],
    ["amount", { type: record({ ...NUMBER, totalPerTarget: TOTALS }, OPTIONAL), cedar: "context.amount", guards: ["context has amount"] }],
    ["outgoing", { type: record(OUTGOING), cedar: "context.outgoing" }],
    ["tool", { type: record({ riskTier: type("string"), humanApproval: FLAG, sandbox: type("string") }), cedar: "context.tool" }],
  ]);
}
