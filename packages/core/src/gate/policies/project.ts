/**
 * The values that a slice can read, and nothing else: as values for the engine, and as a text that stands for exactly these values.
 * Two askings with the same text are the same question to the engine, so that its answer can be remembered.
 */
import {
  type Counts,
  type Facts,
  type Json,
  type JsonObject,
  MICROS_PER_CENT,
  type Principal,
  type RecentCounts,
} from "../../vocab/index.ts";
import { isPlainType, type Need, type RecordType, toCedar, Unrepresentable } from "../arguments/arg-types.ts";
import { projectLists } from "../arguments/lists.ts";
import { type Directory, type GateRequest, type RequestFacts, toEntity } from "../ask.ts";
import type { CedarEntity, CedarRecord, CedarValue, Uid } from "./engine.ts";
import { projectTargets, TARGET_FIELDS } from "./project-targets.ts";
import { isSameUid, type Reads } from "./slice.ts";
import { projectWorld, WORLD_FIELDS, type World } from "./world/project-world.ts";

/** Types of what a context has beside what is the same in every project. */
export type ContextTypes = Readonly<{ args: ReadonlyMap<string, RecordType>; world: World }>;

export type Projection = Readonly<
  { kind: "projected"; context: CedarRecord; entities: readonly CedarEntity[] } | { kind: "unrepresentable"; detail: string }
>;

/** A tool's arguments are typed by its schema; a field outside the vocabulary is absent (the schema has refused a policy that reads it). */
export function projectRequest(asked: GateRequest, reads: Reads, known: Directory, types: ContextTypes): Projection {
  try {
    const context = asked.told === null ? {} : contextOf(asked.told, reads.context, known, types);
    return { kind: "projected", context, entities: entitiesOf(asked, reads, known) };
  } catch (error) {
    if (error instanceof Unrepresentable) return { kind: "unrepresentable", detail: error.message };
    throw error;
  }
}

function contextOf({ facts, call, care }: RequestFacts, need: Need, known: Directory, { args: tools, world }: ContextTypes): CedarRecord {
  const out: Record<string, CedarValue> = {};
  const wanted = (name: string): Need | null => (need.whole ? ALL : (need.fields.get(name) ?? null));
  const about = wanted("args");
  const type = call === null ? undefined : tools.get(call.tool);
  if (about !== null && call !== null && call.args !== null && type !== undefined)
    out["args"] = toCedar(call.args, type, about, call.inexact) ?? {};
  if (call !== null && wanted("tool") !== null) out["tool"] = { ...known.care(call.tool), ...care }; // the definition's is the same for every call of a slice, so it needs no part in its key
  Object.assign(
    out,
    projectTargets(facts, call === null ? NONE : need, thingsOf(world, call)),
    projectWorld(facts, need, world, call !== null),
  );
  const lists = wanted("lists");
  if (lists !== null && call !== null && type !== undefined) out["lists"] = projectLists(call, type, lists);
  if (wanted("labels") !== null) out["labels"] = [...facts.labels].sort();
  if (wanted("media") !== null) out["media"] = [...facts.media].sort();
  const calls = wanted("calls");
  if (calls !== null)
    out["calls"] = Object.fromEntries(
      namesIn(calls, tools).map((name) => [name, counts(facts.calls(name), within(calls, name), facts, `calls:${name}`)]),
    );
  const spent = wanted("spent");
  if (spent !== null)
    out["spent"] = {
      tokens: counts(facts.spent, within(spent, "tokens"), facts, "tokens"),
      ...(facts.cents === null ? {} : { cents: counts(facts.cents, within(spent, "cents"), facts, "micros") }),
    };
  if (wanted("origin") !== null)
    out["origin"] = { surface: facts.surface, user: actingFor(facts.onBehalfOf, known).id, ...originOf(facts) };
  if (wanted("onBehalfOf") !== null) out["onBehalfOf"] = { __entity: actingFor(facts.onBehalfOf, known) };
  return out;
}
/** A schedule by its name, a webhook's delivery by its own. */
function originOf({ origin }: Facts): { readonly schedule?: string; readonly delivery?: string } {
  if (origin === undefined) return {};
  return origin.kind === "schedule" ? { schedule: origin.schedule } : { delivery: origin.delivery };
}
const thingsOf = ({ ofTargets }: World, call: RequestFacts["call"]) => (call === null ? undefined : ofTargets.get(call.tool)) ?? {};
const ALL: Need = { whole: true, fields: new Map() };

const within = (need: Need, name: string): Need => (need.whole ? ALL : (need.fields.get(name) ?? NONE));
const NONE: Need = { whole: false, fields: new Map() };

/** Hours and days are read from the journal, so only where a policy reads them. */
export const readsLately = (need: Need): boolean => need.whole || need.fields.has("hour") || need.fields.has("day");

function counts({ turn, session }: Counts, need: Need, facts: Facts, name: string): CedarRecord {
  return readsLately(need) ? { turn, session, ...lately(facts, name) } : { turn, session };
}
function lately(facts: Facts, name: string): RecentCounts {
  const { hour, day } = facts.lately({ name, value: "" });
  return name === "micros" ? { hour: inCents(hour), day: inCents(day) } : { hour, day };
}
const inCents = (micros: number): number => Math.ceil(micros / MICROS_PER_CENT);

/** A bare `context.calls` means the counters of every tool. */
const namesIn = (need: Need, tools: ReadonlyMap<string, RecordType>): readonly string[] =>
  (need.whole ? [...tools.keys()] : [...need.fields.keys()].filter((name) => tools.has(name))).filter(isPlainType);

/** A person whose id reads like an agent's or the runtime's would pass for it. */
function actingFor(principal: Principal, known: Directory): Uid {
  if (principal.kind === "user" && /^(agent|system):/.test(principal.id))
    throw new Unrepresentable(`the id of the user ${JSON.stringify(principal.id)} reads like no user's`);
  return known.acting(principal).uid;
}

function entitiesOf(asked: GateRequest, reads: Reads, known: Directory): readonly CedarEntity[] {
  const entities: CedarEntity[] = [];
  const add = (entity: CedarEntity | null): void => {
    if (entity !== null && !entities.some((e) => isSameUid(e.uid, entity.uid))) entities.push(entity);
  };
  if (reads.principal) add(toEntity(asked.principal));
  if (reads.action) add(toEntity(asked.action));
  if (asked.told !== null && (reads.context.whole || reads.context.fields.has("onBehalfOf")))
    add(toEntity(known.acting(asked.told.facts.onBehalfOf)));
  for (const uid of reads.literals) add(known.named(uid));
  if (reads.resource) add(asked.resource);
  return entities;
}

// ── the text that stands for it ──

/** Null: not to be remembered. */
export type SliceKey = (asked: GateRequest) => string | null;

type Part = (told: RequestFacts) => string | null;

/** Worked out once per slice. It may say more than the slice reads, never less. */
export function createSliceKey(prefix: string, reads: Reads, types: ContextTypes): SliceKey {
  const parts = partsOf(reads.context, types);
  return ({ principal, resource, told }) => {
    let key = prefix;
    if (reads.principal) key += uidKey(principal.uid);
    if (reads.resource) {
      key += uidKey(resource.uid);
      if (told === null) key += JSON.stringify(resource.attrs); // what a person acts on says whose it is
    }
    if (told === null) return key;
    for (const part of parts) {
      const text = orForgotten(part, told);
      if (text === null) return null;
      key += text;
    }
    return key;
  };
}

/** A value that Cedar cannot hold has no text: the projection refuses it, and nothing is remembered. */
function orForgotten(part: Part, told: RequestFacts): string | null {
  try {
    return part(told);
  } catch (error) {
    if (error instanceof Unrepresentable) return null;
    throw error;
  }
}

const sized = (text: string): string => `${text.length}:${text}`;
const uidKey = ({ type, id }: Uid): string => sized(type) + sized(id);
const countsKey = ({ turn, session }: Counts): string => `${turn},${session};`;
function latelyKey(facts: Facts, name: string): string {
  const { hour, day } = lately(facts, name);
  return `${hour},${day};`;
}

function partsOf(need: Need, { args: tools, world }: ContextTypes): readonly Part[] {
  const parts: Part[] = [];
  const wanted = (name: string): Need | null => (need.whole ? ALL : (need.fields.get(name) ?? null));
  const args = wanted("args");
  if (args !== null) for (const path of pathsOf(args)) parts.push(({ call }) => argsKey(call, path));
  if (wanted("labels") !== null) parts.push(({ facts }) => `${facts.labels.length}[${facts.labels.map(sized).join("")}`);
  if (wanted("tool") !== null) parts.push(({ care }) => (care === undefined ? "" : sized(JSON.stringify(care))));
  if (TARGET_FIELDS.some((name) => wanted(name) !== null))
    parts.push(({ facts, call }) => (call === null ? "_" : sized(JSON.stringify(projectTargets(facts, need, thingsOf(world, call))))));
  if (WORLD_FIELDS.some((name) => wanted(name) !== null))
    parts.push(({ facts, call }) => sized(JSON.stringify(projectWorld(facts, need, world, call !== null))));
  const lists = wanted("lists");
  if (lists !== null) parts.push(({ call }) => listsKey(call, lists, tools));
  if (wanted("media") !== null) parts.push(({ facts }) => `${facts.media.length}[${facts.media.map(sized).join("")}`);
  const calls = wanted("calls");
  if (calls !== null)
    for (const name of namesIn(calls, tools)) {
      parts.push(({ facts }) => countsKey(facts.calls(name)));
      if (readsLately(within(calls, name))) parts.push(({ facts }) => latelyKey(facts, `calls:${name}`));
    }
  const spent = wanted("spent");
  if (spent !== null) {
    parts.push(({ facts }) => countsKey(facts.spent) + (facts.cents === null ? "-;" : countsKey(facts.cents)));
    if (readsLately(within(spent, "tokens"))) parts.push(({ facts }) => latelyKey(facts, "tokens"));
    if (readsLately(within(spent, "cents"))) parts.push(({ facts }) => (facts.cents === null ? "" : latelyKey(facts, "micros")));
  }
  if (wanted("origin") !== null) parts.push(({ facts }) => sized(facts.surface) + sized(JSON.stringify(originOf(facts))));
  if (wanted("origin") !== null || wanted("onBehalfOf") !== null)
    parts.push(({ facts: { onBehalfOf } }) => onBehalfOf.kind + sized(onBehalfOf.id));
  return parts;
}

function listsKey(call: RequestFacts["call"], need: Need, tools: ReadonlyMap<string, RecordType>): string {
  const type = call === null ? undefined : tools.get(call.tool);
  return call === null || type === undefined ? "_" : sized(JSON.stringify(projectLists(call, type, need)));
}

function pathsOf(need: Need): readonly (readonly string[])[] {
  if (need.whole || need.fields.size === 0) return [[]];
  return [...need.fields].flatMap(([name, inner]) => pathsOf(inner).map((rest) => [name, ...rest]));
}

function argsKey(call: RequestFacts["call"], path: readonly string[]): string | null {
  if (call === null || call.args === null) return "_";
  if (call.inexact.length > 0) return null;
  let at: Json = call.args;
  for (let i = 0; i < path.length; i += 1) {
    if (at === null) return `-${i};`; // where it ends is part of what an error says
    if (typeof at !== "object" || Array.isArray(at)) return null; // not what the schema says: denied, not remembered
    const fields = at as JsonObject;
    const name = path[i] ?? "";
    if (!Object.hasOwn(fields, name)) return `-${i};`;
    at = fields[name] ?? null;
  }
  return leafKey(at);
}

function leafKey(value: Json): string {
  switch (typeof value) {
    case "string":
      return `"${sized(value)}`;
    case "number":
      return `#${value};`;
    case "boolean":
      return value ? "t" : "f";
    default:
      return `{${sized(JSON.stringify(value))}`;
  }
}
