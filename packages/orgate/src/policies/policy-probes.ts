/**
 * Requests that tell two sets of policies apart: at the values where a condition turns. What a policy compares an argument, a label, a counter or a person with is tried, with what lies
 * right beside it: one at a time, all that one policy compares together, and any two together.
 */
import { isPlainKind, type Json, type JsonObject, SURFACES, type Tool } from "@orgate/core";
import { type Case, caseSchema, type LoadedPolicy, type PolicyWorld, toArgTypes, toListTypes } from "@orgate/core/gate";
import { record, sampleArguments, valueFor } from "./sample-arguments.ts";

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
    else if (head === "facts") put(made, ["facts", ...rest], value);
    else if (head === "lists") stretch(made, tool, rest, value);
    else if (head === "allRecords") gather(made, rest, value);
    else if (head === "records" || head === "now" || head === "approval") put(made, path.split("."), value);
    else if (head === "subject") serve(made, rest, value);
    else if (head === "calls" || (head === "args" && args !== null)) put(made, [head, ...rest], value);
    else if ((head === "targets" || head === "values") && rest[0] === "count") put(made, path.split("."), value);
    else if (head === "targets" || head === "values")
      for (const arg of namesOf(tool, head))
        put(made, ["facts", arg, ...rest.map((name) => (name === "named" ? "nameInRequest" : name))], value);
    else if (head === "amount") for (const arg of amountsOf(tool)) put(made, ["facts", arg, ...rest], value);
    else if (head === "outgoing") for (const arg of tool?.outgoing ?? []) put(made, ["facts", arg, ...rest], value);
    else if (head === "resource" && args !== null) touch(made, args, value);
    else if (head === "resource" && resource !== null && typeof value === "string") made["resource"] = { ...resource, id: value };
  }
  // facts about all targets together stand beside their number, once that is set
  for (const sum of ["targets", "values"])
    if (sum in made) for (const { path, value } of changes) if (path.startsWith(`${sum}.`)) put(made, path.split("."), value);
  const found = Object.fromEntries(Object.entries(there).flatMap(([name, all]) => (all.length === 0 ? [] : [[name, [...new Set(all)]]])));
  return { ...made, ...found };
}

const namesOf = (tool: Tool | null, sum: "targets" | "values"): readonly string[] =>
  Object.entries(tool?.targets ?? {}).flatMap(([arg, { kind }]) => (isPlainKind(kind) === (sum === "values") ? [arg] : []));

/** What is paid to somebody. */
const amountsOf = (tool: Tool | null): readonly string[] =>
  Object.entries(tool?.targets ?? {}).flatMap(([arg, { per }]) => (per === undefined ? [] : [arg]));

/** Arguments whose list, or whose elements' field, is as a policy compares it. Of lists inside lists nothing is tried. */
function stretch(
  made: Record<string, unknown>,
  tool: Tool | null,
  [name = "", field = ""]: readonly string[],
  value: Json | undefined,
): void {
  const list = tool === null ? undefined : toListTypes(toArgTypes(tool.inputSchema).type).get(name);
  if (tool === null || list === undefined || value === undefined) return;
  const at = list.path.findIndex((step) => step.kind === "each");
  const [outer, inner] = at === -1 ? [list.path, []] : [list.path.slice(0, at), list.path.slice(at + 1)];
  if (inner.some((step) => step.kind === "each")) return;
  const names = (path: typeof outer): readonly string[] => path.flatMap((step) => (step.kind === "field" ? [step.name] : []));
  const schema = record(itemsAt(tool.inputSchema, names(outer))) ?? {};
  const element = (one: Json | undefined): Json => {
    const sample = valueFor(schema);
    if (one === undefined) return sample;
    if (inner.length === 0) return one;
    const made: Record<string, unknown> = { ...(record(sample) ?? {}) };
    put(made, names(inner), one);
    return made as Json;
  };
  put(made, ["args", ...names(outer)], elementsFor(field, value).map(element) as Json);
}
const MOST_ELEMENTS = 100;
const elementsFor = (of: string, value: Json): readonly (Json | undefined)[] =>
  of === "size" ? Array.from({ length: Math.min(MOST_ELEMENTS, Number(value)) }, () => undefined) : [value].flat();

function itemsAt(schema: unknown, path: readonly string[]): unknown {
  const found = path.reduce<unknown>((at, name) => record(record(at)?.["properties"])?.[name], schema);
  return record(found)?.["items"];
}

/** Records of as many things as a policy compares values, or counts, with that field. */
function gather(made: Record<string, unknown>, [type = "", field = "", of = ""]: readonly string[], value: Json | undefined): void {
  if (field === "" || value === undefined) return;
  const before = [record(made["records"])?.[type] ?? []].flat();
  const all = elementsFor(of, value).map((one, i) => ({ ...record(before[i] ?? before[0]), [field]: one ?? `any${i}` }));
  if (all.length > 0) put(made, ["records", type], all as Json);
}

/** Whoever is served has an id. */
function serve(made: Record<string, unknown>, path: readonly string[], value: Json | undefined): void {
  if (path.length === 0) delete made["subject"];
  else {
    if (record(made["subject"])?.["id"] === undefined) put(made, ["subject", "id"], "any");
    put(made, ["subject", ...path], value);
  }
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
      if (path === null) continue;
      const literals = literalsOf(b);
      for (const value of literals) for (const near of nearby(op, path, value)) add(turns, path, near);
      if (/^(?:containsAll|==)$/.test(op) && LISTS.test(path) && literals.length > 1) add(turns, path, literals); // one alone is not enough
    }
    const path = pathOf(record(inner)?.["left"]) ?? pathOf(record(inner)?.["arg"]);
    if (op === "in" && path !== null) for (const user of membersOf(record(inner)?.["right"], probing.users)) add(turns, path, user);
    if (op === "isEmpty" && path !== null && LISTS.test(path)) for (const list of [[], ["x"]]) add(turns, path, list);
    if (op === "like" && path !== null) for (const text of patternsOf(record(inner)?.["pattern"])) add(turns, path, text);
    if (op === "has") presentIn(path ?? (isContext(record(inner)?.["left"]) ? "" : null), record(inner)?.["attr"], turns, probing);
    for (const same of comparedPaths(sides)) for (const value of ["any", "other"]) add(turns, same, value);
    if (op === ".") flag(node, turns);
    collect(inner, turns, probing);
  }
}
/** Of a list only one value is told apart by its contents; of an argument, nothing is known. */
const LISTS =
  /^(?:(?:args|records|subject)\..+|(?:lists|allRecords\.[^.]+)\.[^.]+\.values|(?:facts\.[^.]+|targets|outgoing)\.(?:links|addresses|seenUnder))$/;

const isContext = (e: unknown): boolean => record(e)?.["Var"] === "context";

/** `context.records has order.status` asks for both. */
function presentIn(path: string | null, attr: unknown, turns: Turns, probing: ProbeOptions): void {
  if (path === null) return;
  const names = Array.isArray(attr) ? attr.map(String) : [String(attr)];
  const [name = "", ...deeper] = names;
  const at = path === "" ? name : `${path}.${name}`;
  if (/^(?:subject|approval|(?:records|allRecords)\.[^.]+)$/.test(at)) {
    add(turns, at, undefined);
    add(
      turns,
      at === "approval" ? "approval.ageSeconds" : at.startsWith("all") ? `${at}.id.values` : `${at}.id`,
      at === "approval" ? 0 : "any",
    );
  } else if (path !== "") present(path, name, turns, probing);
  if (deeper.length > 0) presentIn(at, deeper, turns, probing);
}

/** Two that are compared with each other are tried equal and different: an owner with whom the session serves, an argument with a record. */
function comparedPaths(sides: readonly unknown[]): readonly string[] {
  const paths = sides.map(pathOf);
  return sides.length === 2 && paths.every((path) => path !== null && /^(?:records|subject)\./.test(path))
    ? paths.flatMap((path) => path ?? [])
    : [];
}

/** There, and not there. */
function present(path: string, attr: string, turns: Turns, { tool }: ProbeOptions): void {
  add(turns, `${path}.${attr}`, undefined);
  if (path === "origin") add(turns, `origin.${attr}`, "any");
  if (path === "spent") add(turns, `spent.${attr}.turn`, 1);
  if (attr === "said") add(turns, `${path}.said.turnsAgo`, 0);
  if (path === "lists") add(turns, `lists.${attr}.size`, 1);
  const schema = record(record(tool?.inputSchema["properties"])?.[attr]);
  if ((path === "args" || path === "facts") && schema !== null) add(turns, `args.${attr}`, valueFor(schema));
}

/** An attribute used as a condition: both values are tried. A tool leaves out a value that it does not take. */
function flag(e: unknown, turns: Turns): void {
  const path = pathOf(e);
  if (path !== null && FLAGS.test(path)) for (const value of [true, false]) add(turns, path, value);
}
const FLAGS =
  /^(?:(?:facts\.[^.]+|targets|values|outgoing|amount)\.(?:known|inRequest|vouched|named|nameInRequest|recorded|owned)|(?:args|records|subject)\..+)$/;

/** A list is compared with what it holds. */
function nearby(op: string, path: string, value: Json): readonly Json[] {
  if (path === "origin.surface") return SURFACES; // a policy that names one is about all the others too
  if (!op.startsWith("contains") || !LISTS.test(path)) return beside(value);
  return /^(?:args|records|subject)\./.test(path) ? [...beside(value), [value], []] : [[value], [`${String(value)}x`], []];
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
