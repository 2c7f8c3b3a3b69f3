/**
 * Requests that tell two sets of policies apart: at the values where a condition turns. What a policy compares an argument, a label, a counter or a person with is tried, with what lies
 * right beside it, one at a time and two together.
 */
import type { Agent, Json, JsonObject, Tool } from "@orgate/core";
import { type Case, caseSchema, type LoadedPolicy } from "@orgate/core/gate";

/** `[path] → values`; undefined: left out. */
type Turns = Map<string, Set<Json | undefined>>;

export const MOST_PROBES = 400;

/** For one agent and one tool of its, or what else it does. `bases` are arguments that were seen before. */
export function probesOf(
  agent: Agent,
  tool: Tool | null,
  act: string,
  policies: readonly LoadedPolicy[],
  bases: readonly JsonObject[],
  /** What it is done to, where that is not told by arguments. */
  about: Case["resource"] = undefined,
): readonly Case[] {
  const turns: Turns = new Map();
  for (const { json } of policies) for (const { body } of json.conditions) collect(body, turns);
  for (const { json } of policies) resourceIds(json.resource, turns);
  const all: readonly (JsonObject | null)[] = tool === null ? [null] : [sample(tool.inputSchema), ...bases].slice(0, 4);
  const cases: Case[] = [];
  for (const base of all) {
    const changes = [...turns].flatMap(([path, values]) => [...values].map((value) => ({ path, value })));
    const singles = [[], ...changes.map((one) => [one])];
    const pairs = changes.flatMap((a, i) =>
      changes.slice(i + 1).flatMap((b) => (a.path === b.path && a.path !== "labels" ? [] : [[a, b]])),
    );
    for (const set of [...singles, ...pairs]) {
      if (cases.length >= MOST_PROBES) return cases;
      const made = caseOf(agent.name, act, base, set, about);
      const read = caseSchema.safeParse(made);
      if (read.success && (tool === null || tool.check(read.data.args ?? {}).kind === "valid")) cases.push(read.data);
    }
  }
  return cases;
}

type Change = Readonly<{ path: string; value: Json | undefined }>;

function caseOf(agent: string, action: string, base: JsonObject | null, changes: readonly Change[], about: Case["resource"]): unknown {
  const made: Record<string, Record<string, unknown> | unknown> = {
    name: "tried",
    agent,
    action,
    verdict: "allow",
    ...(base === null ? {} : { args: { ...base } }),
    ...(about === undefined ? {} : { resource: about }),
  };
  const labels: Json[] = [];
  for (const { path, value } of changes) {
    const [head = "", ...rest] = path.split(".");
    if (head === "labels" && typeof value === "string") labels.push(value);
    else if (head === "onBehalfOf" && typeof value === "string") made["onBehalfOf"] = value;
    else if (head === "origin" && rest[0] === "surface") made["surface"] = value;
    else if (head === "spent") put(made, [rest[0] === "cents" ? "cents" : "spent", rest[1] ?? "turn"], value);
    else if (head === "calls" || head === "facts" || (head === "args" && base !== null)) put(made, [head, ...rest], value);
    else if (head === "resource" && base !== null)
      for (const [name, one] of Object.entries(base)) if (typeof one === "string") put(made, ["args", name], value);
  }
  return labels.length === 0 ? made : { ...made, labels };
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

/** Conditions in Cedar's JSON form: one operator, with `left` and `right`, or a list of arguments. */
function collect(e: unknown, turns: Turns): void {
  if (Array.isArray(e)) for (const one of e) collect(one, turns);
  const node = record(e);
  if (node === null) return;
  for (const [op, inner] of Object.entries(node)) {
    const sides = Array.isArray(inner) ? inner : [record(inner)?.["left"], record(inner)?.["right"]];
    for (const [a, b] of [sides, sides.toReversed()]) {
      const path = pathOf(a);
      if (path !== null) for (const value of literalsOf(b)) for (const near of beside(value)) add(turns, path, near);
    }
    const path = pathOf(record(inner)?.["left"]);
    if (op === "like" && path !== null) for (const text of patternsOf(record(inner)?.["pattern"])) add(turns, path, text);
    if (op === "has" && path !== null) add(turns, `${path}.${String(record(inner)?.["attr"])}`, undefined);
    if (op === ".") flag(node, turns);
    collect(inner, turns);
  }
}

/** A fact that is read as it is: true or false. */
function flag(e: unknown, turns: Turns): void {
  const path = pathOf(e);
  if (path !== null && /^facts\.[^.]+\.(known|inRequest|vouched)$/.test(path)) for (const value of [true, false]) add(turns, path, value);
}

function add(turns: Turns, path: string, value: Json | undefined): void {
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
export function sample(schema: JsonObject): JsonObject {
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
      return sample(schema as JsonObject);
    default:
      return schema["format"] === "email"
        ? "a@example.org"
        : "a".repeat(typeof schema["minLength"] === "number" ? Math.max(1, schema["minLength"]) : 1);
  }
}
