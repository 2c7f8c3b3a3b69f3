/** Records, subject, time and approval as values for the engine: only those that a slice can read. */
import type { Facts, Json, JsonObject, RecordValue, Subject, ThingFacts, ThingsFacts } from "../../../vocab/index.ts";
import { type Need, type RecordType, toCedar, Unrepresentable } from "../../arguments/arg-types.ts";
import { projectElements } from "../../arguments/lists.ts";
import type { CedarRecord, CedarValue } from "../engine.ts";
import { toColumnType, type WorldTypes } from "./world-types.ts";

export const WORLD_FIELDS = ["records", "allRecords", "subject", "now", "approval"] as const;
/** The zone whose clocks `context.now` shows. */
export type World = WorldTypes & Readonly<{ zone: string }>;

const ALL: Need = { whole: true, fields: new Map() };
const inside = (need: Need, name: string): Need | null => (need.whole ? ALL : (need.fields.get(name) ?? null));

/** `isCall`: only calls have arguments that refer to records. */
export function projectWorld(facts: Facts, need: Need, world: World, isCall: boolean): CedarRecord {
  const [records, allRecords, subject, now, approval] = WORLD_FIELDS.map((name) => inside(need, name));
  return {
    ...(records == null || !isCall ? {} : { records: byType(facts, records, world, projectOnly) }),
    ...(allRecords == null || !isCall ? {} : { allRecords: byType(facts, allRecords, world, projectColumns) }),
    ...(subject == null || facts.subject === null ? {} : { subject: picked(subjectIn(facts.subject, world.subject), subject) }),
    ...(now == null ? {} : { now: picked(facts.now(world.zone), now) }),
    ...(approval == null || facts.approval === null ? {} : { approval: picked(facts.approval, approval) }),
  };
}

type Project = (things: ThingsFacts, need: Need, declared: RecordType | undefined) => CedarRecord | null;

function byType(facts: Facts, need: Need, world: World, project: Project): CedarRecord {
  const out: Record<string, CedarValue> = {};
  for (const [type, things] of Object.entries(facts.records())) {
    const wanted = inside(need, type);
    const shown = wanted === null ? null : project(things, wanted, world.records.get(type));
    if (shown !== null) out[type] = shown;
  }
  return out;
}

/** Of several things none is meant. */
function projectOnly({ each: [only, ...others] }: ThingsFacts, need: Need, declared: RecordType | undefined): CedarRecord | null {
  return only === undefined || others.length > 0 ? null : projectThing(only, need, declared);
}

/** Each field as a list of what the records say. A field that one of them lacks is absent: what the others say of it is not said of all. */
function projectColumns({ each, shown }: ThingsFacts, need: Need, declared: RecordType | undefined): CedarRecord | null {
  if (shown !== undefined) return picked(shown as CedarRecord, need);
  if (declared === undefined || each.length === 0) return null;
  const whole = each.map((thing) => projectThing(thing, ALL, declared));
  if (whole.includes(null)) return null;
  const out: Record<string, CedarValue> = {};
  for (const [name, { type }] of declared.fields) {
    const wanted = inside(need, name);
    if (wanted === null || !whole.every((one) => one !== null && Object.hasOwn(one, name))) continue;
    const values = each.map((thing) => valuesOf(thing)[name] as Json);
    out[name] = projectElements(`records.${name}`, toColumnType(type), values.flat() as readonly Json[], wanted);
  }
  return out;
}

/** Null for one that is not as the tools declare it now: a declaration may have changed since it was made. */
export function projectThing(thing: ThingFacts, need: Need, declared: RecordType | undefined): CedarRecord | null {
  if (declared === undefined) return null;
  const shown = shownAs(valuesOf(thing), declared);
  const isWhole = [...declared.fields].every(([name, field]) => !field.required || Object.hasOwn(shown, name));
  return isWhole || thing.isPartial === true ? picked(shown, need) : null;
}

const valuesOf = ({ id, owner, ageSeconds, fields }: ThingFacts): Readonly<Record<string, RecordValue>> => ({
  ...fields,
  ...(owner === null ? {} : { owner }),
  id,
  ageSeconds,
});

const subjectIn = ({ id, attributes }: Subject, type: RecordType): CedarRecord => shownAs({ ...attributes, id }, type);

/** Without what has another type than was declared. */
function shownAs(values: Readonly<Record<string, RecordValue>>, type: RecordType): CedarRecord {
  const out: Record<string, CedarValue> = {};
  for (const [name, field] of type.fields) {
    const value = Object.hasOwn(values, name) ? values[name] : undefined;
    const shown = value === undefined ? null : valueAs(value as Json, field.type);
    if (shown !== null) out[name] = shown;
  }
  return out;
}

function valueAs(value: Json, type: Parameters<typeof toCedar>[1]): CedarValue | null {
  try {
    return toCedar(value, type, ALL, []);
  } catch (error) {
    if (error instanceof Unrepresentable) return null;
    throw error;
  }
}

function picked(from: Readonly<Record<string, CedarValue>>, need: Need): CedarRecord {
  if (need.whole) return { ...from };
  return Object.fromEntries([...need.fields.keys()].flatMap((name) => (Object.hasOwn(from, name) ? [[name, from[name] ?? false]] : [])));
}

// ── read back ──

/** As a decision has journalled them. What it did not read is absent, or as at the beginning of time: nobody reads it. */
export function restoreWorld(read: JsonObject): Pick<Facts, "records" | "now" | "approval"> {
  const approval = objectAt(read, "approval");
  const now = objectAt(read, "now") ?? {};
  const number = (name: string): number => (typeof now[name] === "number" ? now[name] : 0);
  return {
    records: () => restoreThings(objectAt(read, "records") ?? {}, objectAt(read, "allRecords") ?? {}),
    now: () => ({
      epoch: number("epoch"),
      date: typeof now["date"] === "string" ? now["date"] : "",
      weekday: number("weekday"),
      hour: number("hour"),
      minute: number("minute"),
    }),
    approval: approval === null ? null : { ageSeconds: typeof approval["ageSeconds"] === "number" ? approval["ageSeconds"] : 0 },
  };
}

function restoreThings(records: JsonObject, columns: JsonObject): Readonly<Record<string, ThingsFacts>> {
  const types = [...new Set([...Object.keys(records), ...Object.keys(columns)])];
  return Object.fromEntries(
    types.map((type) => {
      const [one, shown] = [objectAt(records, type), objectAt(columns, type)];
      return [type, { each: one === null ? [] : [restoreThing(one)], ...(shown === null ? {} : { shown }) }];
    }),
  );
}

/** A record as it was shown to the policies: what they did not read of it is not there, and nothing is missed. */
export function restoreThing(shown: Json): ThingFacts {
  const fields = objectAt({ shown }, "shown") ?? {};
  const { id, owner, ageSeconds, ...rest } = fields;
  return {
    id: typeof id === "string" ? id : "",
    owner: typeof owner === "string" ? owner : null,
    ageSeconds: typeof ageSeconds === "number" ? ageSeconds : 0,
    fields: Object.fromEntries(Object.entries(rest).flatMap(([name, value]) => plainOf(value as Json).map((one) => [name, one]))),
    isPartial: true,
  };
}

function plainOf(value: Json): readonly RecordValue[] {
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") return [value];
  if (Array.isArray(value)) return [value.filter((one): one is string => typeof one === "string")];
  const decimal = objectAt({ value }, "value")?.["__extn"];
  const arg = objectAt({ decimal: decimal ?? null }, "decimal")?.["arg"];
  return typeof arg === "string" ? [Number(arg)] : [];
}

function objectAt(from: JsonObject, name: string): JsonObject | null {
  const value = Object.hasOwn(from, name) ? from[name] : null;
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : null;
}
