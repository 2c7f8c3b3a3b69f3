/**
 * Records of things out of a completed call's output, by the tool's own declaration (G-38).
 * An item that cannot be read as declared makes no record, and ends the one before: that is no longer what the source last said.
 */
import { toDecimal } from "../../gate/arguments/numbers.ts";
import { plainValue } from "../../gate/arguments/targets.ts";
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

const MOST_ITEMS = 500;
const MOST_TEXTS = 200;
export const MAX_KEY = 200;
const MAX_TEXT = 2_000;
/** Of all records of one event, in characters: what is more than this is a document, not facts for decisions. */
const MAX_CHARS = 200_000;

type Made = Readonly<{ records: readonly ThingRecord[]; skipped: readonly SkippedRecord[] }>;
type Why = SkippedRecord["why"];

/** In the commit of its ending. Untrusted output makes no records. */
export function recordEvents(tool: Tool, call: CallId, action: Action | null, outcome: Outcome): readonly JournalEvent[] {
  if (outcome.kind !== "done" || tool.labels.includes(UNTRUSTED)) return [];
  const args = action?.kind === "call" ? (action.args ?? {}) : {};
  return tool.records.flatMap((rule): readonly JournalEvent[] => {
    const { type, set, maxAgeSeconds, establishes } = rule;
    const { records, skipped } = makeRecords(rule, outcome.output, args);
    if (records.length + skipped.length === 0) return [];
    return [{ kind: "known.recorded", call, type, set, maxAgeSeconds, establishes, records, skipped }];
  });
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
