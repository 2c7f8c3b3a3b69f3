/** Names that conditions can use, by the kind of decision: those of `gate/policies/vocabulary.ts`, which has the last word when the Cedar is checked. */
import type { Effect } from "@orgate/core/vocab";
import type { ConditionRecord, ConditionScope, ValueType } from "./condition-values.ts";

/** Of a tool, what policies can be written about. */
export type ToolShape = Readonly<{
  name: string;
  effects: readonly Effect[];
  args: ConditionRecord;
  /** Arguments about which there are facts, and whether each must be given. */
  targets: readonly Readonly<{ arg: string; required: boolean }>[];
  outgoing: readonly Readonly<{ arg: string; required: boolean }>[];
  /** Empty: any. */
  resourceTypes: readonly string[];
}>;

const type = (kind: "string" | "long" | "boolean" | "user"): ValueType => ({ kind });
const TEXTS: ValueType = { kind: "set", of: type("string") };

const record = (fields: Readonly<Record<string, ValueType>>, optional: readonly string[] = []): ConditionRecord => ({
  kind: "record",
  fields: new Map(Object.entries(fields).map(([name, one]) => [name, { type: one, required: !optional.includes(name) }])),
});

const LONG = type("long");
const FLAG = type("boolean");
const COUNTS = record({ turn: LONG, session: LONG, hour: LONG, day: LONG });
const ABOUT = { inRequest: FLAG, known: FLAG, vouched: FLAG, seenUnder: TEXTS };
const OUTGOING = { links: TEXTS, addresses: TEXTS, vouched: FLAG, seenUnder: TEXTS };
const TARGET = record({ ...ABOUT, calls: COUNTS, touched: COUNTS, name: type("string"), nameInRequest: FLAG }, ["name"]);

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
  const facts: ConditionRecord = {
    kind: "record",
    fields: new Map([
      ...tool.targets.map(({ arg, required }) => [arg, { type: TARGET, required }] as const),
      ...tool.outgoing.map(({ arg, required }) => [arg, { type: record(OUTGOING), required }] as const),
    ]),
  };
  return new Map([
    ...sharedScope(tools),
    ["args", { type: tool.args, cedar: "context.args" }],
    ["facts", { type: facts, cedar: "context.facts" }],
    ["targets", { type: record({ ...ABOUT, count: LONG }), cedar: "context.targets" }],
    ["outgoing", { type: record(OUTGOING), cedar: "context.outgoing" }],
    ["tool", { type: record({ riskTier: type("string"), humanApproval: FLAG, sandbox: type("string") }), cedar: "context.tool" }],
  ]);
}
