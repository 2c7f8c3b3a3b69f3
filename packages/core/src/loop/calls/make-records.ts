/**
 * Records of things out of a completed call's output, by the tool's own declaration, and the end of those that a call may have made untrue (G-39).
 * An item that cannot be read as declared makes no record, and ends the one before: that is no longer what the source last said.
 */
import { toDecimal } from "../../gate/arguments/numbers.ts";
import { plainValue, targetValues } from "../../gate/arguments/targets.ts";
import {
  type Action,
  type CallId,
  followJsonPath,
  type JournalEvent,
  type Json,
  type JsonObject,
  type Outcome,
  parseJsonPath,
  type RecordField,
  type RecordRule,
  type RecordValue,
  type SkippedRecord,
  type ThingRecord,
  type Tool,
  UNTRUSTED,
} from "../../vocab/index.ts";
import type { Ports } from "../ports.ts";
import type { State } from "../state.ts";
import { recordRules } from "./record-facts.ts";

const MOST_ITEMS = 500;
const MOST_TEXTS = 200;
export const MAX_KEY = 200;
const MAX_TEXT = 2_000;
/** Of all records of one event, in characters: what is more than this is a document, not facts for decisions. */
const MAX_CHARS = 200_000;

type Made = Readonly<{ records: readonly ThingRecord[]; skipped: readonly SkippedRecord[] }>;
type Why = SkippedRecord["why"];
type Recorded = Extract<JournalEvent, { kind: "known.recorded" }>;

/** In the commit of its ending. Untrusted output makes no records. */
export function recordEvents(tool: Tool, call: CallId, action: Action | null, outcome: Outcome): readonly Recorded[] {
  if (outcome.kind !== "done" || tool.labels.includes(UNTRUSTED)) return [];
  const args = action?.kind === "call" ? (action.args ?? {}) : {};
  return tool.records.flatMap((rule): readonly Recorded[] => {
    const { type, set, maxAgeSeconds, establishes } = rule;
    const { records, skipped } = makeRecords(rule, outcome.output, args);
    if (records.length + skipped.length === 0) return [];
    return [{ kind: "known.recorded", call, type, set, maxAgeSeconds, establishes, records, skipped }];
  });
}

type Doubting = Readonly<{ p: Readonly<{ tools: Ports["tools"]; journal: Pick<Ports["journal"], "recorded"> }>; s: State }>;

/**
 * A call that may have had an effect which nobody knows leaves no record in force of a thing that it names; and, where its tool takes keys from the
 * output, of any thing of that type in its session. `how`: with an output, or where the tool says that it failed, the things that it names are enough.
 */
export function doubtEvents({ p, s }: Doubting, call: CallId, action: Action | null, how: "any" | "named"): readonly Recorded[] {
  if (action?.kind !== "call" || action.effects.every((effect) => effect === "read")) return [];
  const tool = p.tools.find(action.tool);
  const touched = tool === null ? everyType(p, s) : touchedThings(tool, action.args ?? {}, how);
  return [...touched].map(([type, keys]) => {
    const rules = recordRules(p, type);
    const isShared =
      rules.some(({ set }) => set === "project") || [...keys].some((key) => key !== null && p.journal.recorded(type, key) !== null);
    const isSubject = how === "any" && s.subject !== null && (keys.has(null) || keys.has(s.subject.id));
    return {
      kind: "known.recorded",
      call,
      type,
      set: isShared ? "project" : "session",
      maxAgeSeconds: null,
      establishes: isSubject && rules.some(({ establishes }) => establishes === "subject") ? "subject" : null,
      records: [],
      skipped: [...keys].map((key): SkippedRecord => ({ key, field: "key", why: "unknown" })),
    };
  });
}

type Touched = ReadonlyMap<string, ReadonlySet<string | null>>;

/** By type. Null: a value that can be no key, more values than can be looked at, or a key that only the output would have said. */
function touchedThings({ targets, records }: Tool, args: JsonObject, how: "any" | "named"): Touched {
  const keyIn = (value: Json | undefined): string | null => {
    const read = readKey(value);
    return "value" in read ? read.value : null;
  };
  const named = Object.entries(targets).flatMap(([arg, target]): readonly (readonly [string, string | null])[] => {
    const { of } = target;
    return of === null ? [] : (targetValues(args, arg, target) ?? [""]).map((value) => [of, keyIn(value)] as const);
  });
  const declared = records.flatMap(({ type, key }): readonly (readonly [string, string | null])[] => {
    const read = "arg" in key ? keyIn(args[key.arg]) : null;
    return read === null && how === "named" ? [] : [[type, read]];
  });
  const touched = new Map<string, Set<string | null>>();
  for (const [type, key] of [...named, ...declared]) touched.set(type, new Set([...(touched.get(type) ?? []), key]));
  return touched;
}

/** The tool is gone, and with it what its arguments refer to: all that the agent's policies can read of anything. */
function everyType(p: Doubting["p"], s: State): Touched {
  const read = [...s.things.keys()].map((name) => name.slice(0, name.indexOf("\n")));
  const tools = p.tools.offered.flatMap(({ name }) => p.tools.find(name) ?? []);
  const declared = tools.flatMap(({ targets, records }) => [
    ...Object.values(targets).flatMap(({ of }) => of ?? []),
    ...records.map(({ type }) => type),
  ]);
  return new Map([...read, ...declared].map((type) => [type, new Set([null])]));
}

/** What a late outcome says of things. What was read of others that the call names, while nobody knew, may be older than its effect. */
export function lateRecordEvents(look: Doubting, call: CallId, action: Action, outcome: Outcome): readonly JournalEvent[] {
  const tool = action.kind === "call" ? look.p.tools.find(action.tool) : null;
  const said = tool === null ? [] : recordEvents(tool, call, action, outcome);
  const isSaid = (type: string, key: string | null): boolean =>
    said.some((one) => one.type === type && [...one.records, ...one.skipped].some((item) => item.key === key));
  const rest = doubtEvents(look, call, action, "named").flatMap((e) => {
    const skipped = e.skipped.filter(({ key }) => !isSaid(e.type, key));
    return skipped.length === 0 ? [] : [{ ...e, skipped }];
  });
  return [...rest, ...said];
}

export function makeRecords(rule: RecordRule, output: Json, args: JsonObject): Made {
  const read = follow(output, rule.each).map((item) => itemOf(rule, item, args));
  const keys = new Map<string, number>();
  for (const { key } of read) if (key !== null) keys.set(key, (keys.get(key) ?? 0) + 1);
  const isTwice = (key: string | null): boolean => key !== null && (keys.get(key) ?? 0) > 1;
  const records = read.flatMap((one) => (one.kind === "record" && !isTwice(one.key) ? [one.record] : []));
  const twice = [...keys].flatMap(([key, times]): readonly SkippedRecord[] => (times > 1 ? [{ key, field: "key", why: "duplicate" }] : []));
  const skipped = read.flatMap((one) => (one.kind === "skipped" && !isTwice(one.key) ? [one.skipped] : []));
  const isWhole = read.length <= MOST_ITEMS && JSON.stringify(records).length <= MAX_CHARS;
  if (isWhole) return { records, skipped: [...skipped, ...twice] };
  const tooMany = records.map(({ key }): SkippedRecord => ({ key, field: "each", why: "oversized" }));
  return { records: [], skipped: [...tooMany, ...skipped, ...twice] }; // each by its key: what was on record of any of them ends
}

type ReadItem = Readonly<
  { kind: "record"; key: string; record: ThingRecord } | { kind: "skipped"; key: string | null; skipped: SkippedRecord }
>;

function itemOf(rule: RecordRule, item: Json | undefined, args: JsonObject): ReadItem {
  const skip = (key: string | null, field: string, why: Why): ReadItem => ({ kind: "skipped", key, skipped: { key, field, why } });
  const key = readKey("arg" in rule.key ? args[rule.key.arg] : only(item, rule.key.path));
  if ("why" in key) return skip(null, "key", key.why);
  const owner = rule.owner === null ? { value: null } : readKey(only(item, rule.owner));
  if ("why" in owner) return skip(key.value, "owner", owner.why);
  const fields: Record<string, RecordValue> = {};
  for (const [name, field] of Object.entries(rule.fields)) {
    const read = readField(field, item);
    if ("why" in read && !(read.why === "missing" && field.optional)) return skip(key.value, name, read.why);
    if (!("why" in read)) fields[name] = read.value;
  }
  return { kind: "record", key: key.value, record: { key: key.value, owner: owner.value, fields } };
}

const follow = (value: Json | undefined, path: string): readonly (Json | undefined)[] =>
  value === undefined ? [undefined] : followJsonPath(value, parseJsonPath(path) ?? []);
const only = (value: Json | undefined, path: string): Json | undefined => follow(value, path)[0];

type Read<T> = Readonly<{ value: T }> | Readonly<{ why: Why }>;

/** A key is compared with arguments, as they are: a text that reads as another, or a number that is not whole, is none. */
function readKey(value: Json | undefined): Read<string> {
  if (value === undefined || value === null || value === "") return { why: "missing" };
  if (typeof value !== "string" && !Number.isSafeInteger(value)) return { why: "mistyped" };
  const plain = plainValue(String(value));
  if (plain === null || !plain.isWellFormed()) return { why: "mistyped" };
  return plain.length > MAX_KEY ? { why: "oversized" } : { value: plain };
}

function readField({ path, type }: RecordField, item: Json | undefined): Read<RecordValue> {
  if (type === "strings") return readTexts(follow(item, path));
  const value = only(item, path);
  if (value === undefined || value === null) return { why: "missing" };
  const fits = (is: boolean): Read<RecordValue> => (is ? { value: value as RecordValue } : { why: "mistyped" });
  switch (type) {
    case "string":
      return typeof value === "string" ? readText(value) : { why: "mistyped" };
    case "boolean":
      return fits(typeof value === "boolean");
    case "integer":
      return fits(Number.isSafeInteger(value));
    case "number":
      return fits(typeof value === "number" && toDecimal(value) !== null);
    case "time": {
      const at = typeof value === "string" ? parseMoment(value) : null;
      return at === null ? { why: "mistyped" } : { value: at };
    }
  }
}

function readText(text: string): Read<string> {
  if (!text.isWellFormed()) return { why: "mistyped" };
  return text.length > MAX_TEXT ? { why: "oversized" } : { value: text };
}

/** A path to a list, or through one to a text of each of its items. */
function readTexts(found: readonly (Json | undefined)[]): Read<readonly string[]> {
  const [first] = found;
  if (found.length === 1 && (first === undefined || first === null)) return { why: "missing" };
  const all = found.length === 1 && Array.isArray(first) ? (first as Json[]) : found;
  if (all.length > MOST_TEXTS) return { why: "oversized" };
  const texts = all.map((one) => (typeof one === "string" ? readText(one) : ({ why: "mistyped" } as const)));
  const bad = texts.find((one) => "why" in one);
  if (bad !== undefined && "why" in bad) return bad;
  return { value: [...new Set(texts.flatMap((one) => ("why" in one ? [] : [one.value])))].sort() };
}

const MOMENT = /^(\d{4}-\d{2}-\d{2})(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2}))?$/;

/** Epoch seconds. A date alone is its midnight in UTC; a time without its zone is none. */
function parseMoment(text: string): number | null {
  const date = MOMENT.exec(text)?.[1];
  if (date === undefined || new Date(`${date}T00:00:00Z`).toJSON()?.slice(0, 10) !== date) return null; // 30 February is no day
  const at = Date.parse(text.replace(" ", "T"));
  return Number.isFinite(at) ? Math.floor(at / 1000) : null;
}
