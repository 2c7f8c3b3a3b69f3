/**
 * One vocabulary, everywhere: what principals, actions, resources and context are called in a policy.
 * Rule: G-6.
 */
import { type Effect, isKnowledgeTool, type Json, type RecordFieldType, type Target, type Tool } from "../../vocab/index.ts";
import { isPlainType, OPAQUE_TYPE, RESERVED, type RecordType, toArgTypes, toSchemaType, type Untyped } from "../arguments/arg-types.ts";
import { toListSchema, toListTypes } from "../arguments/lists.ts";
import { isRequired } from "../arguments/targets.ts";
import { USER_ACTIONS } from "./user-acts.ts";
import { APPROVAL_TYPE, recordTypes, TIME_TYPE, toWorldTypes, type WorldTypes } from "./world/world-types.ts";

export const EFFECTS: readonly Effect[] = ["read", "write", "execute", "network", "spend", "unsandboxed", "govern"];

/** Who and what there is to write policies about. */
export type PolicyWorld = Readonly<{
  agents: readonly Readonly<{ name: string; groups: readonly string[] }>[];
  users: readonly Readonly<{ name: string; groups: readonly string[] }>[];
  tools: readonly Tool[];
  /** The zone whose clocks `context.now` shows; UTC unless said. */
  zone?: string;
  /** Attributes that callers give the subject of a session, beside those that tools declare. */
  subject?: Readonly<Record<string, RecordFieldType>>;
  /** Tools that could not be read: there may be `more`, and of the `named` ones only the name is known. A policy that may be about these is not checked against tools. */
  unknown?: Readonly<{ more: boolean; named: readonly string[] }>;
}>;

export type Vocabulary = Readonly<{
  /** A Cedar schema in its JSON form. */
  schema: { readonly [key: string]: Json };
  args: ReadonlyMap<string, RecordType>;
  untyped: readonly Readonly<Untyped & { tool: string }>[];
  world: WorldTypes;
}>;

type Shape = { readonly [key: string]: Json };
const RESOURCES = ["File", "Host", "Table", "Tool"];
const OWN_TYPES = new Set([
  "Action",
  "Agent",
  "AgentGroup",
  "User",
  "UserGroup",
  "Model",
  "Scope",
  "Approval",
  "Call",
  "Session",
  "PolicySet",
  "Work",
  "Breaker",
  "KnownSet",
  "Label",
  "Schedule",
  "Project",
  OPAQUE_TYPE,
]);

/** What an agent does beside calling tools, and on what. */
const AGENT_ACTIONS: readonly (readonly [string, readonly string[]])[] = [
  ["model", ["Model"]],
  ["respond", ["User", "Agent"]],
  ["delegate", ["Agent"]],
  ["recall", ["Scope"]],
  ["remember", ["Scope"]],
  ["unsandboxed", ["Tool"]], // the group of such tools, and what is asked about each of them
];

/** Of a tool, what the vocabulary is made from. */
export type VocabularyTool = Pick<Tool, "name" | "inputSchema" | "effects" | "resourceTypes" | "targets" | "outgoing" | "records">;

export type VocabularySource = Readonly<{ tools: readonly VocabularyTool[]; subject?: PolicyWorld["subject"] }>;

export function buildVocabulary({ tools, subject = {} }: VocabularySource): Vocabulary {
  const { untyped: conflicts, ...world } = toWorldTypes(tools, subject);
  const typed = new Map(tools.map((tool) => [tool.name, toArgTypes(tool.inputSchema)]));
  const declared = tools.flatMap((t) => t.resourceTypes).filter((t) => !OWN_TYPES.has(t));
  const resourceTypes = [...new Set([...RESOURCES, ...declared])].sort();
  const shared = sharedContext();
  const actions: Record<string, Json> = {};
  for (const effect of EFFECTS) actions[effect] = {};
  for (const tool of tools) {
    if (isKnowledgeTool(tool.name)) continue; // decided as `recall` and `remember`: a policy that names the tool would decide nothing
    const types = tool.resourceTypes.length > 0 ? tool.resourceTypes : resourceTypes;
    actions[`tool:${tool.name}`] = {
      memberOf: tool.effects.map((id) => ({ id })),
      appliesTo: {
        principalTypes: ["Agent"],
        resourceTypes: types,
        context: record({
          ...shared,
          tool: named("OrgateTool"),
          args: toSchemaType(typed.get(tool.name)?.type ?? NOTHING),
          facts: factsType(tool, world),
          ...recordTypes(tool, world),
          targets: named("OrgateTargets"),
          values: named("OrgateValues"),
          amount: named("OrgateNumberPerTarget", false),
          lists: listsType(typed.get(tool.name)?.type ?? NOTHING),
          outgoing: named("OrgateOutgoing"),
        }),
      },
    };
  }
  for (const [id, types] of AGENT_ACTIONS)
    actions[id] = { appliesTo: { principalTypes: ["Agent"], resourceTypes: types, context: record(shared) } };
  for (const [id, types] of Object.entries(USER_ACTIONS))
    actions[id] = { appliesTo: { principalTypes: ["User"], resourceTypes: types, context: record({}) } };

  const entity = (attributes: Shape = {}, memberOfTypes: readonly string[] = []): Json => ({ memberOfTypes, shape: record(attributes) });
  const text = { type: "String", required: true };
  const id = { id: text };
  const about = { ...id, agent: text, tool: text };
  const ofAgent = ["Agent", "AgentGroup"];
  const entityTypes: Record<string, Json> = {
    Agent: entity(id, ["AgentGroup"]),
    AgentGroup: entity(),
    User: entity(id, ["UserGroup"]),
    UserGroup: entity(),
    Model: entity(id),
    Scope: entity(id, ["Scope"]),
    Approval: entity({ ...about, requester: text, forRequester: FLAG }, ofAgent),
    Call: entity(about, ofAgent),
    Session: entity({ ...id, agent: text, requester: text }, ofAgent),
    Project: entity(id),
    PolicySet: entity(id),
    Work: entity(id),
    Breaker: entity(id),
    KnownSet: entity(id),
    Label: entity({ ...id, session: text, agent: text }, ofAgent),
    Schedule: entity({ ...id, agent: text, requester: text }, ofAgent),
    [OPAQUE_TYPE]: entity(),
  };
  const spaces: Record<string, Record<string, Json>> = {};
  for (const type of resourceTypes) {
    const at = type.lastIndexOf("::");
    if (at === -1) entityTypes[type] = entity(id);
    else spaces[type.slice(0, at)] = { ...spaces[type.slice(0, at)], [type.slice(at + 2)]: entity(id) };
  }
  const untyped = [...typed].flatMap(([tool, { untyped: list }]) => list.map((u) => ({ ...u, tool })));
  untyped.push(...conflicts);
  for (const { name } of tools.filter((t) => !isPlainType(t.name))) untyped.push({ tool: name, path: `calls.${name}`, why: RESERVED });
  const schema: Record<string, Json> = { "": { commonTypes: commonTypes(tools, world), entityTypes, actions } };
  for (const [space, types] of Object.entries(spaces)) schema[space] = { entityTypes: types, actions: {} };
  return { schema, args: new Map([...typed].map(([name, { type }]) => [name, type])), untyped, world };
}

const NOTHING: RecordType = { kind: "record", fields: new Map() };
const record = (attributes: Shape): Shape => ({ type: "Record", attributes });
const LONG = { type: "Long", required: true };
const COUNTS = record({ turn: LONG, session: LONG, hour: LONG, day: LONG });
/** Named once: written out in every action, the counters of every tool would grow with the square of the tools. */
const named = (name: string, required = true) => ({ type: "EntityOrCommon", name, required });

/** An argument that need not be given has facts only when it is: a policy tests for them with `has`. */
function factsType({ name: tool, targets, outgoing, inputSchema }: VocabularyTool, { ofTargets }: WorldTypes): Shape {
  const isBoth = (arg: string): boolean => Object.hasOwn(targets, arg);
  const of = (arg: string, { kind, per, path }: Target): Shape => {
    const required = isRequired(inputSchema, arg, path);
    if (kind === "number") return named(per === undefined ? "OrgateNumber" : "OrgateNumberPerTarget", required);
    const thing = ofTargets.get(tool)?.[arg];
    if (thing === undefined) return named(outgoing.includes(arg) ? "OrgateOutgoingTarget" : "OrgateTarget", required);
    const both = outgoing.includes(arg) ? LEAVING : {};
    return { ...record({ ...TARGET, ...both, record: { ...toSchemaType(thing), required: false } }), required };
  };
  return {
    ...record({
      ...Object.fromEntries(Object.entries(targets).map(([arg, t]) => [arg, of(arg, t)])),
      ...Object.fromEntries(
        outgoing.filter((arg) => !isBoth(arg)).map((arg) => [arg, named("OrgateOutgoing", isRequired(inputSchema, arg))]),
      ),
    }),
    required: true,
  };
}

/** Lists that need not be given are there only when they are. */
const listsType = (args: RecordType): Shape => ({
  ...record(
    Object.fromEntries([...toListTypes(args)].map(([name, list]) => [name, { ...toListSchema(list.of), required: list.required }])),
  ),
  required: true,
});

const TEXTS = { type: "Set", element: { type: "String" }, required: true };
const FLAG = { type: "Boolean", required: true };
const ABOUT = {
  inRequest: FLAG,
  known: FLAG,
  vouched: FLAG,
  recorded: FLAG,
  owned: FLAG,
  seenUnder: TEXTS,
  said: named("OrgateSaid", false),
};
const DECIMAL = { type: "Extension", name: "decimal", required: true };
const TARGET = {
  ...ABOUT,
  calls: named("OrgateCounts"),
  touched: named("OrgateCounts"),
  name: { type: "String", required: false },
  nameInRequest: FLAG,
};
const LEAVING = { links: TEXTS, addresses: TEXTS };
const NUMBER = {
  inRequest: FLAG,
  recorded: FLAG,
  said: named("OrgateSaid", false),
  value: { ...DECIMAL, required: false },
  total: named("OrgateTotals"),
};

const commonTypes = (tools: readonly VocabularyTool[], { subject }: WorldTypes): Shape => ({
  OrgateSubject: toSchemaType(subject),
  OrgateTime: TIME_TYPE,
  OrgateApproval: APPROVAL_TYPE,
  OrgateCounts: COUNTS,
  OrgateSaid: record({ turnsAgo: LONG, secondsAgo: LONG }),
  OrgateTotals: record({ turn: DECIMAL, session: DECIMAL, hour: DECIMAL, day: DECIMAL }),
  OrgateTarget: record(TARGET),
  OrgateOutgoingTarget: record({ ...TARGET, ...LEAVING }),
  OrgateNumber: record(NUMBER),
  OrgateNumberPerTarget: record({ ...NUMBER, totalPerTarget: named("OrgateTotals") }),
  OrgateTargets: record({ ...ABOUT, named: FLAG, count: LONG }),
  OrgateValues: record({ count: LONG, inRequest: FLAG, said: named("OrgateSaid", false) }),
  OrgateOutgoing: record({ ...LEAVING, inRequest: FLAG, vouched: FLAG, seenUnder: TEXTS }),
  OrgateTool: record({
    riskTier: { type: "String", required: true },
    humanApproval: { type: "Boolean", required: true },
    sandbox: { type: "String", required: true },
  }),
  OrgateCalls: record(Object.fromEntries(tools.filter((t) => isPlainType(t.name)).map((t) => [t.name, named("OrgateCounts")]))),
});

function sharedContext(): Shape {
  const text = (required: boolean) => ({ type: "String", required });
  return {
    labels: { type: "Set", element: { type: "String" }, required: true },
    media: { type: "Set", element: { type: "String" }, required: true },
    calls: named("OrgateCalls"),
    spent: { ...record({ tokens: named("OrgateCounts"), cents: named("OrgateCounts", false) }), required: true },
    origin: { ...record({ surface: text(true), user: text(true), schedule: text(false), delivery: text(false) }), required: true },
    onBehalfOf: { type: "Entity", name: "User", required: true },
    subject: named("OrgateSubject", false),
    now: named("OrgateTime"),
    approval: named("OrgateApproval", false),
  };
}
