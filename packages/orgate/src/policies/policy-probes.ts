/**
 * Requests that tell two sets of policies apart: at the values where a condition turns. What a policy compares an argument, a label, a counter or a person with is tried, with what lies
 * right beside it: one at a time, all that one policy compares together, and any two together.
 */
import { type Json, type JsonObject, SURFACES, type Tool } from "@orgate/core";
import { type Case, caseSchema, type LoadedPolicy, type PolicyWorld } from "@orgate/core/gate";

/** `[path] → values`; undefined: left out. A label or a media type is a path of its own: it is there, or it is not. */
type Turns = Map<string, Set<Json | undefined>>;

const MOST_PROBES = 2_000;
/** Of one policy: all that it compares, taken together. */
const MOST_OF_ONE = 256;

/** Probes of one agent and one of its tools or other acts. */
export type ProbeOptions = Readonly<{
  agent: string;
  tool: Tool | null;
  /** `tool:NAME`, `model`, `delegate`, … */
  act: string;
  /** Those that are not the same on both sides come first: they are tried first. */
  policies: readonly LoadedPolicy[];
  /** Arguments that were seen before. */
  bases: readonly JsonObject[];
  /** Resources of an act that is no tool call. */
  resources: readonly Readonly<{ type: string; id: string }>[];
  users: PolicyWorld["users"];
}>;
/** `isCut`: there was more to try. */
export type PolicyProbes = Readonly<{ cases: readonly Case[]; isCut: boolean }>;

export function policyProbes(probing: ProbeOptions): PolicyProbes {
  const { tool, policies, bases, resources } = probing;
  const all: readonly Base[] =
    tool === null
      ? (resources.length === 0 ? [null] : resources).map((resource) => ({ args: null, resource }))
      : [sampleArguments(tool.inputSchema), ...bases].slice(0, 4).map((args) => ({ args, resource: null }));
  const own = policies.map((policy) => fitting(turnsOf(policy, probing), probing, all));
  const turns: Turns = new Map();
  for (const one of own) for (const [path, values] of one) for (const value of values) add(turns, path, value);
  const seen = new Set<string>();
  const cases: Case[] = [];
  let isCut = false;
  for (const base of all)
    for (const set of setsOf(turns, own)) {
      const made = caseOf(probing, base, set);
      const key = JSON.stringify(made);
      if (seen.has(key)) continue;
      seen.add(key);
      const read = caseSchema.safeParse(made);
      if (!read.success || (tool !== null && tool.check(read.data.args ?? {}).kind !== "valid")) continue;
      if (cases.length < MOST_PROBES) cases.push(read.data);
      else isCut = true;
      if (isCut) return { cases, isCut };
    }
  return { cases, isCut };
}

/** Without values that the tool takes in no case: they would stand in the way of others. */
function fitting(turns: Turns, probing: ProbeOptions, bases: readonly Base[]): Turns {
  const { tool } = probing;
  if (tool === null) return turns;
  const fits = (path: string, value: Json | undefined): boolean =>
    !path.startsWith("args.") ||
    bases.some((base) => {
      const read = caseSchema.safeParse(caseOf(probing, base, [{ path, value }]));
      return read.success && tool.check(read.data.args ?? {}).kind === "valid";
    });
  return new Map([...turns].map(([path, values]) => [path, new Set([...values].filter((value) => fits(path, value)))]));
}

/** One change at a time; then all that one policy compares, taken together; then any two. */
function* setsOf(turns: Turns, own: readonly Turns[]): Generator<readonly Change[]> {
  const changes = changesOf(turns);
  yield [];
  for (const one of changes) yield [one];
  for (const each of own) yield* productOf(each);
  for (const [i, a] of changes.entries()) for (const b of changes.slice(i + 1)) if (a.path !== b.path) yield [a, b];
}

const changesOf = (turns: Turns): readonly Change[] =>
  [...turns].flatMap(([path, values]) => [...values].map((value) => ({ path, value })));

function productOf(turns: Turns): readonly (readonly Change[])[] {
  let all: readonly (readonly Change[])[] = [[]];
  for (const [path, values] of turns) {
    const wider = [...values].flatMap((value) => all.map((set) => [...set, { path, value }]));
    all = [...wider, ...all].slice(0, MOST_OF_ONE);
  }
  return all;
}

type Base = Readonly<{ args: JsonObject | null; resource: Readonly<{ type: string; id: string }> | null }>;
type Change = Readonly<{ path: string; value: Json | undefined }>;

function caseOf({ agent, act, tool }: ProbeOptions, { args, resource }: Base, changes: readonly Change[]): unknown {
  const made: Record<string, Record<string, unknown> | unknown> = {
    name: "tried",
    agent,
    action: act,
    verdict: "allow",
    ...(args === null ? {} : { args: { ...args } }),
    ...(resource === null ? {} : { resource: { ...resource } }),
  };
  const there: Record<string, string[]> = { labels: [], media: [] };
  for (const { path, value } of changes) {
    const [head = "", ...rest] = path.split(".");
    const list = there[head];
    if (list !== undefined) list.push(rest.join("."));
    else if (head === "onBehalfOf" && typeof value === "string") made["onBehalfOf"] = value;
    else if (head === "origin" && rest[0] === "surface") made["surface"] = value;
    else if (head === "origin" && rest[0] === "user" && typeof value === "string") made["onBehalfOf"] = value;
    else if (head === "origin" && typeof value === "string") come(made, rest[0] ?? "", value);
    else if (head === "spent") put(made, [rest[0] === "cents" ? "cents" : "spent", rest[1] ?? "turn"], value);
    else if (head === "facts") tell(made, tool, rest, value);
    else if (head === "calls" || (head === "args" && args !== null)) put(made, [head, ...rest], value);
    else if (head === "targets" && rest[0] === "count") put(made, path.split("."), value);
    else if (head === "targets") for (const arg of Object.keys(tool?.targets ?? {})) tell(made, tool, [arg, ...rest], value);
    else if (head === "outgoing") for (const arg of tool?.outgoing ?? []) tell(made, tool, [arg, ...rest], value);
    else if (head === "resource" && args !== null) touch(made, args, value);
    else if (head === "resource" && resource !== null && typeof value === "string") made["resource"] = { ...resource, id: value };
  }
  // facts about all targets together stand beside their number, once that is set
  if ("targets" in made) for (const { path, value } of changes) if (path.startsWith("targets.")) put(made, path.split("."), value);
  const found = Object.fromEntries(Object.entries(there).flatMap(([name, all]) => (all.length === 0 ? [] : [[name, [...new Set(all)]]])));
  return { ...made, ...found };
}

/** A fact of outgoing text gets links too, if only none: without them it would be mistaken for a target's. */
function tell(made: Record<string, unknown>, tool: Tool | null, [arg = "", ...rest]: readonly string[], value: Json | undefined): void {
  if (tool?.outgoing.includes(arg) === true && record(record(made["facts"])?.[arg])?.["links"] === undefined)
    put(made, ["facts", arg, "links"], []);
  put(made, ["facts", arg, ...rest], value);
}

/** By a schedule, or by a delivery: at their own surface unless another is tried. */
function come(made: Record<string, unknown>, by: string, value: string): void {
  made["origin"] = { [by]: value };
  made["surface"] ??= by === "schedule" ? "schedule" : "webhook";
}

/** Which argument says what a call touches is the tool's own matter: each text is tried as it. */
function touch(made: Record<string, unknown>, args: JsonObject, value: Json | undefined): void {
  for (const [name, one] of Object.entries(args)) if (typeof one === "string") put(made, ["args", name], value);
}

function put(into: Record<string, unknown>, path: readonly string[], value: Json | undefined): void {
  const [last = "", ...above] = path.toReversed();
  let at: Record<string, unknown> = into;
  for (const name of above.toReversed()) {
    const next = at[name];
    const copy: Record<string, unknown> = typeof next === "object" && next !== null ? { ...next } : {};
    at[name] = copy;
    at = copy;
  }
  if (value === undefined) delete at[last];
  else at[last] = value;
}

// ── where conditions turn ──

const record = (value: unknown): Readonly<Record<string, unknown>> | null =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : null;

function turnsOf({ json, file }: LoadedPolicy, probing: ProbeOptions): Turns {
  const turns: Turns = new Map();
  for (const { body } of json.conditions) collect(body, turns, probing);
  resourceIds(json.resource, turns);
  const own = SURFACES.find((surface) => file.split("/").at(-2) === surface);
  if (own !== undefined) add(turns, "origin.surface", own); // it counts nowhere else
  return turns;
}

/** Conditions in Cedar's JSON form: one operator, with `left` and `right`, or a list of arguments. */
function collect(e: unknown, turns: Turns, probing: ProbeOptions): void {
  if (Array.isArray(e)) for (const one of e) collect(one, turns, probing);
  const node = record(e);
  if (node === null) return;
  for (const [op, inner] of Object.entries(node)) {
    const sides = Array.isArray(inner) ? inner : [record(inner)?.["left"], record(inner)?.["right"]];
    for (const [a, b] of [sides, sides.toReversed()]) {
      const path = pathOf(a);
      if (path !== null) for (const value of literalsOf(b)) for (const near of nearby(op, path, value)) add(turns, path, near);
    }
    const path = pathOf(record(inner)?.["left"]) ?? pathOf(record(inner)?.["arg"]);
    if (op === "in" && path !== null) for (const user of membersOf(record(inner)?.["right"], probing.users)) add(turns, path, user);
    if (op === "isEmpty" && path !== null && LISTS.test(path)) for (const list of [[], ["x"]]) add(turns, path, list);
    if (op === "like" && path !== null) for (const text of patternsOf(record(inner)?.["pattern"])) add(turns, path, text);
    if (op === "has" && path !== null) present(path, String(record(inner)?.["attr"]), turns, probing);
    if (op === ".") flag(node, turns);
    collect(inner, turns, probing);
  }
}
/** Of a list only one value is told apart by its contents; of an argument, nothing is known. */
const LISTS = /^(?:args\..+|(?:facts\.[^.]+|targets|outgoing)\.(?:links|addresses|seenUnder))$/;

/** There, and not there. */
function present(path: string, attr: string, turns: Turns, { tool }: ProbeOptions): void {
  add(turns, `${path}.${attr}`, undefined);
  if (path === "origin") add(turns, `origin.${attr}`, "any");
  if (path === "spent") add(turns, `spent.${attr}.turn`, 1);
  const schema = record(record(tool?.inputSchema["properties"])?.[attr]);
  if ((path === "args" || path === "facts") && schema !== null) add(turns, `args.${attr}`, valueFor(schema));
}

/** An attribute used as a condition: both values are tried. A tool leaves out a value that it does not take. */
function flag(e: unknown, turns: Turns): void {
  const path = pathOf(e);
  if (path !== null && FLAGS.test(path)) for (const value of [true, false]) add(turns, path, value);
}
const FLAGS = /^(?:(?:facts\.[^.]+|targets|outgoing)\.(?:known|inRequest|vouched|nameInRequest)|args\..+)$/;

/** A list is compared with what it holds. */
function nearby(op: string, path: string, value: Json): readonly Json[] {
  if (path === "origin.surface") return SURFACES; // a policy that names one is about all the others too
  if (!op.startsWith("contains") || !LISTS.test(path)) return beside(value);
  return path.startsWith("args.") ? [...beside(value), [value], []] : [[value], [`${String(value)}x`], []];
}

/** `user in "operators"`. */
function membersOf(e: unknown, users: ProbeOptions["users"]): readonly string[] {
  const entity = record(record(record(e)?.["Value"])?.["__entity"]);
  const group = entity?.["type"] === "UserGroup" ? entity["id"] : null;
  return users.flatMap(({ name, groups }) => (groups.some((one) => one === group) ? [name] : []));
}

function add(turns: Turns, path: string, value: Json | undefined): void {
  if (path === "labels" || path === "media") {
    if (typeof value === "string") turns.set(`${path}.${value}`, new Set([true]));
    return;
  }
  const found = turns.get(path) ?? new Set();
  found.add(value);
  turns.set(path, found);
}

/** `context.args.euros` is `args.euros`. */
function pathOf(e: unknown): string | null {
  const node = record(e);
  if (node === null) return null;
  if (node["Var"] === "resource") return "resource";
  const step = record(node["."]);
  if (step === null) return null;
  const left = record(step["left"]);
  const attr = String(step["attr"]);
  if (left?.["Var"] === "context") return attr;
  const above = pathOf(left);
  return above === null ? null : above === "resource" ? "resource" : `${above}.${attr}`;
}

function literalsOf(e: unknown): readonly Json[] {
  const node = record(e);
  if (node === null) return [];
  if ("Value" in node) {
    const entity = record(record(node["Value"])?.["__entity"]);
    const value = entity === null ? node["Value"] : entity["id"];
    return typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? [value] : [];
  }
  const decimal = Array.isArray(node["decimal"]) ? literalsOf(node["decimal"][0]) : [];
  if (decimal.length > 0) return decimal.map(Number);
  return Array.isArray(node["Set"]) ? node["Set"].flatMap(literalsOf) : [];
}

function beside(value: Json): readonly Json[] {
  if (typeof value === "number")
    return Number.isInteger(value)
      ? [value - 1, value, value + 1]
      : [value - 0.0001, value, value + 0.0001].map((n) => Math.round(n * 10_000) / 10_000);
  if (typeof value === "boolean") return [true, false];
  return typeof value === "string" ? [value, `${value}x`] : [];
}

/** One that fits, and one that does not. */
function patternsOf(pattern: unknown): readonly string[] {
  if (!Array.isArray(pattern)) return [];
  const fits = pattern.map((part: unknown) => (part === "Wildcard" ? "x" : String(record(part)?.["Literal"] ?? ""))).join("");
  return [fits, `_${fits}_`];
}

function resourceIds(scope: LoadedPolicy["json"]["resource"], turns: Turns): void {
  const uid = record(scope.entity);
  const id = record(uid?.["__entity"])?.["id"] ?? uid?.["id"];
  if (typeof id === "string") for (const near of beside(id)) add(turns, "resource", near);
}

// ── arguments that fit ──

/** The least that a schema takes; where it wants more, nothing is tried with it. */
export function sampleArguments(schema: JsonObject): JsonObject {
  const properties = record(schema["properties"]) ?? {};
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  return Object.fromEntries(
    required.flatMap((name) => (typeof name === "string" ? [[name, valueFor(record(properties[name]) ?? {})]] : [])),
  );
}

function valueFor(schema: Readonly<Record<string, unknown>>): Json {
  if ("const" in schema) return schema["const"] as Json;
  if (Array.isArray(schema["enum"])) return schema["enum"][0] as Json;
  const [variant] = [schema["anyOf"], schema["oneOf"]].flatMap((list) => (Array.isArray(list) ? list : []));
  if (variant !== undefined) return valueFor(record(variant) ?? {});
  switch (schema["type"]) {
    case "integer":
    case "number":
      return typeof schema["minimum"] === "number" ? Math.max(1, schema["minimum"]) : 1;
    case "boolean":
      return false;
    case "array":
      return [];
    case "object":
      return sampleArguments(schema as JsonObject);
    default:
      return schema["format"] === "email"
        ? "a@example.org"
        : "a".repeat(typeof schema["minLength"] === "number" ? Math.max(1, schema["minLength"]) : 1);
  }
}
