/** Names that conditions can use, by the kind of decision: those of `gate/policies/vocabulary.ts`, which has the last word when the Cedar is checked. */
import type { Effect } from "@orgate/core/vocab";
import type { ConditionRecord, ConditionScope, ValueType } from "./condition-values.ts";

/** Of a tool, what policies can be written about. */
export type ToolShape = Readonly<{
  name: string;
  effects: readonly Effect[];
  args: ConditionRecord;
  /** Arguments about which there are facts, and whether each must be given. */
  targets: readonly Readonly<{ arg: string; kind: "target" | "number" | "number-per-target"; required: boolean }>[];
  outgoing: readonly Readonly<{ arg: string; required: boolean }>[];
  /** Lists among its arguments, by the names that policies use. */
  lists: readonly Readonly<{ list: string; of: ValueType; required: boolean }>[];
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
const ABOUT = { inRequest: FLAG, known: FLAG, vouched: FLAG, seenUnder: TEXTS, said: SAID };
const OUTGOING = { links: TEXTS, addresses: TEXTS, vouched: FLAG, seenUnder: TEXTS };
const TARGET = { ...ABOUT, calls: COUNTS, touched: COUNTS, name: type("string"), nameInRequest: FLAG };
const AMOUNT = type("decimal");
const TOTALS = record({ turn: AMOUNT, session: AMOUNT, hour: AMOUNT, day: AMOUNT });
const NUMBER = { inRequest: FLAG, said: SAID, value: AMOUNT, total: TOTALS };
const OPTIONAL = ["said", "name", "value", "min", "max"];

function factsOf({ targets, outgoing }: ToolShape): ConditionRecord {
  const isOutgoing = (arg: string): boolean => outgoing.some((one) => one.arg === arg);
  const of = (arg: string, kind: ToolShape["targets"][number]["kind"]): ConditionRecord => {
    if (kind !== "target") return record(kind === "number" ? NUMBER : { ...NUMBER, totalPerTarget: TOTALS }, OPTIONAL);
    return record(isOutgoing(arg) ? { ...OUTGOING, ...TARGET } : TARGET, OPTIONAL);
  };
  return {
    kind: "record",
    fields: new Map([
      ...outgoing.map(({ arg, required }) => [arg, { type: record(OUTGOING), required }] as const),
      ...targets.map(({ arg, kind, required }) => [arg, { type: of(arg, kind), required }] as const),
    ]),
  };
}

function listOf(of: ValueType): ConditionRecord {
  const isNumber = of.kind === "long" || of.kind === "decimal";
  if (!isNumber && of.kind !== "string" && of.kind !== "boolean") return record({ size: LONG });
  return record({ size: LONG, values: { kind: "set", of }, ...(isNumber ? { min: of, max: of, sum: of } : {}) }, OPTIONAL);
}

export function sharedScope(tools: readonly ToolShape[]): ConditionScope {
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
      user: { type: type("user"), cedar: "context.onBehalfOf" },
      resource: { type: record({ id: type("string") }), cedar: "resource" },
    } satisfies Record<string, { type: ValueType; cedar: string }>),
  );
}

export function toolScope(tool: ToolShape, tools: readonly ToolShape[]): ConditionScope {
  const lists: ConditionRecord = {
    kind: "record",
    fields: new Map(tool.lists.map(({ list, of, required }) => [list, { type: listOf(of), required }])),
  };
  return new Map([
    ...sharedScope(tools),
    ["args", { type: tool.args, cedar: "context.args" }],
    ["facts", { type: factsOf(tool), cedar: "context.facts" }],
    ["targets", { type: record({ ...ABOUT, count: LONG }, OPTIONAL), cedar: "context.targets" }],
    ["values", { type: record({ count: LONG, inRequest: FLAG, said: SAID }, OPTIONAL), cedar: "context.values" }],
    ["lists", { type: lists, cedar: "context.lists" }],
    ["outgoing", { type: record(OUTGOING), cedar: "context.outgoing" }],
    ["tool", { type: record({ riskTier: type("string"), humanApproval: FLAG, sandbox: type("string") }), cedar: "context.tool" }],
  ]);
}
