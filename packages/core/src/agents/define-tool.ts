/**
 * Tools as people write them, made into tools as the loop knows them. What is not said is the strictest thing it could mean:
 * `once`, `execute`, `untrusted`, the tool itself as what it touches.
 *
 * T-3 An output that does not fit leaves the call `done`: the effect took place, and `failed` would invite another. The output is withheld,
 *    the model gets an error, and a note says why.
 * Rules: T-1, T-2, T-5.
 */
import {
  type BreakerSettings,
  type CheckedArgs,
  type ChooseRecovery,
  copyFrozen,
  digestJson,
  type Effect,
  FaultError,
  type Hash,
  isName,
  type Json,
  type JsonObject,
  type Label,
  type LearnRule,
  label,
  NAME_RULE,
  type NameRule,
  type Reconciled,
  type RecoveryDefinition,
  type RecoveryPlan,
  type Repeat,
  type Resource,
  type RiskTier,
  readBreaker,
  readRecoveryPlan,
  type TargetKind,
  type Tool,
  type ToolContext,
  type Tools,
  toolFacts,
  UNTRUSTED,
} from "../vocab/index.ts";
import type { RecordDefinition } from "./records/tool-records.ts";
import { jsonErrorText, toJson } from "./schemas/plain-json.ts";
import {
  invalidValue,
  type Refuse,
  type Schema,
  toJsonSchema,
  toStandardSchema,
  type Validated,
  validateValue,
} from "./schemas/schemas.ts";
import { isStandardSchema, type StandardSchema } from "./schemas/standard-schema.ts";
import { readTargets, type TargetDefinition } from "./tool-targets.ts";
import { findUnknownKey } from "./unknown-key.ts";

type Parsed<S extends Schema> = S extends StandardSchema<infer _I, infer O> ? O : JsonObject;
type Returned<S extends Schema | undefined> = S extends StandardSchema<infer I, infer _O> ? I : Json | undefined;

export type ToolDefinition<In extends Schema, Out extends Schema | undefined = undefined> = Readonly<{
  name: string;
  description: string;
  /** Zod, any other Standard Schema that can describe itself, or a JSON Schema. */
  input: In;
  output?: Out;
  repeat?: Repeat;
  effects?: readonly Effect[];
  labels?: readonly string[];
  /** How much harm it can do, for policies (`context.tool.riskTier`); `high` unless said. */
  riskTier?: RiskTier;
  /** A person is asked before each call, whatever the policies permit. */
  humanApproval?: boolean;
  version?: string;
  /** The resource that a call touches: policies are written about it. */
  resource?: (input: Parsed<In>) => Resource;
  /** The types that `resource` answers with. Said, they are enforced, and policies that name them are checked. */
  resourceTypes?: readonly string[];
  endsTurn?: boolean;
  timeoutMs?: number;
  /** Recovery after a failure: one strategy, several tried in order, or a function that chooses. Default: the agent's. */
  recover?: RecoveryDefinition;
  /** When it is left alone after it kept failing. */
  breaker?: Partial<BreakerSettings>;
  /** The MCP server it comes from. */
  server?: string;
  /** The most one call may cost, in cents of the currency of the agent's prices. Reserved before it starts; `context.spent` reports the real cost. */
  maxCents?: number;
  /** Arguments that say on what or towards whom it acts, and values, each with its kind: policies learn whether the user named them, and whether they are trusted values. */
  targets?: Readonly<Record<string, TargetKind | TargetDefinition>>;
  /** Arguments whose text leaves the system. */
  outgoing?: readonly string[];
  /** Once it is done, the values of these arguments are known: `{ set: "people", from: "to" }`. */
  learns?: readonly LearnRule[];
  /** Names of the things in its output, for tools that take their ids. */
  names?: NameRule;
  /** What its output says about things (an order's status, whose it is), for policies about later calls. Only a trusted output makes records. */
  records?: readonly RecordDefinition[];
  markup?: Tool["markup"];
  /** It changes a file: it shows what was there and what is with `context.evidence({ edit })`, and surfaces show a diff. */
  edits?: boolean;
  run: (input: Parsed<In>, context: ToolContext) => Promise<Returned<Out>> | Returned<Out>;
  reconcile?: (input: Parsed<In>, context: ToolContext) => Promise<Reconciled>;
}>;

const FIELDS =
  "name version description input output repeat effects labels riskTier humanApproval resource resourceTypes endsTurn timeoutMs maxCents recover breaker server targets outgoing learns names records markup edits run reconcile".split(
    " ",
  );
const REPEATS: readonly Repeat[] = ["read", "idempotent", "reconcile", "once"];
const EFFECTS: readonly Effect[] = ["read", "write", "execute", "network", "spend", "unsandboxed", "govern"];
const TIERS: readonly RiskTier[] = ["low", "medium", "high"];
const LABEL = /^[a-z][a-z0-9:_-]{0,63}$/;
const RESOURCE_TYPE = /^[A-Za-z_][A-Za-z0-9_]*(::[A-Za-z_][A-Za-z0-9_]*)*$/;

export function defineTool<const In extends Schema, const Out extends Schema | undefined = undefined>(
  given: ToolDefinition<In, Out>,
): Tool {
  const name: unknown = given?.name; // plain JavaScript may call it with nothing
  if (!isName(name)) throw invalid(name, `a name is ${NAME_RULE}`);
  const refuse = (detail: string) => invalid(name, detail);
  const stray = findUnknownKey(given, FIELDS);
  if (stray !== null) throw refuse(`there is no field \`${stray}\`: the fields are ${FIELDS.join(", ")}`);
  if (typeof given.description !== "string" || given.description.trim() === "") throw refuse("`description` must say what it does");
  if (typeof given.run !== "function") throw refuse("`run` must be a function");
  const repeat = given.repeat ?? "once";
  if (!REPEATS.includes(repeat)) throw refuse(`\`repeat\` must be one of ${REPEATS.join(", ")}`);
  if (repeat === "reconcile" && typeof given.reconcile !== "function") throw refuse("`repeat: reconcile` needs a `reconcile` function");
  if (repeat !== "reconcile" && given.reconcile !== undefined) throw refuse("a `reconcile` function needs `repeat: reconcile`");
  const effects = given.effects ?? ["execute"];
  const badEffect = Array.isArray(effects) && effects.length > 0 ? effects.find((one) => !EFFECTS.includes(one)) : "";
  if (badEffect !== undefined) throw refuse(`\`effects\` must be one or more of ${EFFECTS.join(", ")}`);
  const timeoutMs = given.timeoutMs ?? null;
  if (timeoutMs !== null && !(Number.isSafeInteger(timeoutMs) && timeoutMs >= 1))
    throw refuse("`timeoutMs` must be a whole number of at least 1");
  const maxCents = given.maxCents ?? 0;
  if (typeof maxCents !== "number" || !Number.isFinite(maxCents) || maxCents < 0) throw refuse("`maxCents` must be a number of at least 0");
  if (given.endsTurn !== undefined && typeof given.endsTurn !== "boolean") throw refuse("`endsTurn` must be true or false");

  const { riskTier = "high", humanApproval = false, version = null } = given;
  if (!TIERS.includes(riskTier)) throw refuse(`\`riskTier\` must be one of ${TIERS.join(", ")}`);
  if (typeof humanApproval !== "boolean") throw refuse("`humanApproval` must be true or false");
  if (version !== null && (typeof version !== "string" || version === "")) throw refuse("`version` must be text");

  const recover = readRecovery(given.recover, refuse);
  const breaker = given.breaker === undefined ? null : readBreaker(given.breaker);
  if (typeof breaker === "string") throw refuse(breaker);
  const server: unknown = given.server ?? null;
  if (server !== null && !isName(server)) throw refuse(`\`server\` is ${NAME_RULE}`);

  const input = inputOf(given.input, refuse);
  const output = given.output === undefined ? null : toStandardSchema(given.output, "output", refuse);
  const touches = given.resource ?? (() => ({ type: "Tool", id: name }));
  if (typeof touches !== "function") throw refuse("`resource` must be a function");
  // what reaches these has been through `check`: the schema's own result, and JSON
  const typed = (args: JsonObject) => args as Parsed<In>;
  const resourceTypes = resourceTypesOf(given.resourceTypes ?? (given.resource === undefined ? ["Tool"] : []), refuse);
  const resource = (args: JsonObject): Resource => checkedResource(touches(typed(args)), resourceTypes);
  const { run, reconcile } = given;

  return Object.freeze({
    name,
    description: given.description,
    inputSchema: input.json,
    repeat,
    effects: Object.freeze([...new Set(effects)].sort()),
    labels: labelsOf(given.labels, refuse),
    version,
    riskTier,
    humanApproval,
    sandbox: null,
    endsTurn: given.endsTurn ?? false,
    timeoutMs,
    maxCents,
    resourceTypes,
    basis: null,
    recover,
    breaker,
    server,
    ...readTargets(given, input.json, refuse),
    ...(given.output === undefined ? {} : { describeOutput: () => describeSchema(given.output) }),
    check: (args: Json) => check(args, input.schema, resource),
    resource,
    run: async (args: JsonObject, context: ToolContext) => fitting(await run(typed(args), context), output, context),
    reconcile:
      reconcile === undefined
        ? null
        : async (args: JsonObject, context: ToolContext) => reconciled(await reconcile(typed(args), context), output, context),
  });
}

/** The tools port. The order of definition leaves no trace: the same tools are the same digest, and the same prompt. */
export function toolbox(tools: readonly Tool[], hash: Hash): Tools {
  const byName = new Map<string, Tool>();
  for (const tool of tools) {
    if (!isName(tool.name)) throw invalid(tool.name, `a name is ${NAME_RULE}`);
    if (byName.has(tool.name)) throw new FaultError({ kind: "tool-twice", tool: tool.name });
    byName.set(tool.name, tool);
  }
  const sorted = sortTools(tools);
  const offered = sorted.map(({ name, description, inputSchema }) => Object.freeze({ name, description, inputSchema }));
  return Object.freeze({
    digest: digestJson(sorted.map(toolFacts), hash),
    offered: Object.freeze(offered),
    find: (name: string) => byName.get(name) ?? null,
  });
}

/** By name, by code unit: the same on every machine. */
export const sortTools = (tools: readonly Tool[]): readonly Tool[] =>
  tools.toSorted((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));

/** Data is checked here and now; what a function answers is checked when it does. */
export function readRecovery(given: RecoveryDefinition | undefined, refuse: Refuse): RecoveryPlan | ChooseRecovery | null {
  if (given === undefined || typeof given === "function") return given ?? null;
  const read = readRecoveryPlan(given);
  if (read.kind === "refused") throw refuse(`\`recover\`: ${read.detail}`);
  return read.plan;
}

function inputOf(given: Schema, refuse: Refuse): { readonly schema: StandardSchema; readonly json: JsonObject } {
  const schema = toStandardSchema(given, "input", refuse);
  const json = isStandardSchema(given) ? toJsonSchema(given, "input", refuse) : copyFrozen(given);
  if (json.type !== "object") throw refuse('`input` must describe an object (`"type": "object"`): models send arguments by name');
  return { schema, json };
}

/** Not before somebody asks: a schema takes milliseconds to describe itself. */
function describeSchema(given: Schema | undefined): JsonObject | null {
  if (given === undefined) return null;
  try {
    return isStandardSchema(given) ? toJsonSchema(given, "output", (detail) => invalid("output", detail)) : copyFrozen(given);
  } catch {
    return null; // it checks values, and cannot say which
  }
}

function labelsOf(given: readonly string[] | undefined, refuse: Refuse): readonly Label[] {
  if (given === undefined) return Object.freeze([UNTRUSTED]);
  if (!Array.isArray(given)) throw refuse("`labels` must be a list");
  const bad = given.find((one: unknown) => typeof one !== "string" || !LABEL.test(one));
  if (bad !== undefined) throw refuse(`\`${String(bad)}\` is no label: use a-z, 0-9, :, _ and -, a letter first`);
  return Object.freeze([...new Set(given)].sort().map(label));
}

function check(args: Json, schema: StandardSchema, resource: (args: JsonObject) => Resource): CheckedArgs {
  const checked = validateValue(args, schema);
  if (checked.kind === "invalid") return { kind: "invalid", issues: checked.issues };
  const value = checked.value;
  if (typeof value !== "object" || value === null || Array.isArray(value)) return invalidValue("arguments must be an object");
  const valid = value as JsonObject;
  try {
    resource(valid); // a call whose target cannot be named cannot be decided on
  } catch (error) {
    return invalidValue(`the resource of the call is unknown: ${jsonErrorText(error)}`);
  }
  return { kind: "valid", args: valid };
}

function resourceTypesOf(given: readonly string[], refuse: Refuse): readonly string[] {
  const bad = given.find((type) => typeof type !== "string" || !RESOURCE_TYPE.test(type));
  if (bad !== undefined) throw refuse(`\`resourceTypes\`: \`${String(bad)}\` is no type of resource`);
  return Object.freeze([...new Set(given)].sort());
}

function checkedResource(given: Resource, types: readonly string[]): Resource {
  const { type, id } = given;
  if (typeof type !== "string" || !RESOURCE_TYPE.test(type)) throw new TypeError(`\`${String(type)}\` is no type of resource`);
  if (typeof id !== "string" || id === "") throw new TypeError("a resource's id is text that is not empty");
  if (types.length > 0 && !types.includes(type)) throw new TypeError(`\`${type}\` is not among its resourceTypes (${types.join(", ")})`);
  return Object.freeze({ id, type });
}

/** T-3. */
function fitting(returned: unknown, schema: StandardSchema | null, context: ToolContext): Json {
  const value = returned === undefined ? null : returned;
  const plain = toJson(value);
  const fit: Validated =
    plain.kind === "not-json"
      ? invalidValue(`not plain JSON: ${plain.detail}`)
      : schema === null
        ? { kind: "fits", value: plain.value }
        : validateValue(value, schema);
  if (fit.kind === "fits") return fit.value;
  context.note("output-withheld", { issues: fit.issues });
  return { done: true, output: "withheld: it does not fit what the tool declares", issues: fit.issues };
}

function reconciled(answer: Reconciled, schema: StandardSchema | null, context: ToolContext): Reconciled {
  const kind: unknown = typeof answer === "object" && answer !== null ? answer.kind : undefined;
  if (kind === "happened" && answer.kind === "happened") return { kind, output: fitting(answer.output, schema, context) };
  if (kind === "did-not-happen") return { kind };
  if (kind === "cannot-tell" && answer.kind === "cannot-tell") return { kind, detail: String(answer.detail) };
  return {
    kind: "cannot-tell",
    detail: "the tool's `reconcile` answered with something else than happened, did-not-happen or cannot-tell",
  };
}

const invalid = (name: unknown, detail: string): FaultError =>
  new FaultError({ kind: "tool-invalid", tool: typeof name === "string" ? printable(name) : String(name), detail });

/** A hostile name must not reach a terminal as it is. */
const printable = (name: string): string =>
  JSON.stringify(name.slice(0, 80))
    .slice(1, -1)
    .replace(/[^\x20-\x7e]/g, (c) => `\\u{${c.codePointAt(0)?.toString(16)}}`);
