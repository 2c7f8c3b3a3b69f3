/** Records: what a trusted tool's output says about things, by type and key, for policies about later calls. */

import type { Millis } from "../ids.ts";
import type { JsonObject } from "../text/canonical.ts";

/** How a field's value is read, and what policies see: text, Long, decimal, Boolean, Set of texts; `time` is a moment in ISO 8601 with its zone, seen as epoch seconds. */
export const RECORD_FIELD_TYPES = ["string", "integer", "number", "boolean", "strings", "time"] as const;
export type RecordFieldType = (typeof RECORD_FIELD_TYPES)[number];

/** `optional`: a record without it, or with null, is one all the same. `of`: its texts are keys of things of this type; of the subject, those are theirs. */
export type RecordField = Readonly<{ path: string; type: RecordFieldType; optional: boolean; of?: string }>;

/** What a tool's output says about things of one type. Paths begin at one item. */
export type RecordRule = Readonly<{
  type: string;
  /** Leads to the items; empty: the output is the one item. */
  each: string;
  /** The key of an item, by a path in it; or the argument by which the one item was asked for. */
  key: Readonly<{ path: string }> | Readonly<{ arg: string }>;
  fields: Readonly<Record<string, RecordField>>;
  /** Whose it is: compared with the subject's id. */
  owner: string | null;
  /** Who can read it: this session, or every session of the project. */
  set: "session" | "project";
  /** Older than this it is absent. Null: it does not age. */
  maxAgeSeconds: number | null;
  /** The one item is whom the session serves from now on. */
  establishes: "subject" | null;
}>;

/** The type of an argument that refers to whoever the session serves. No tool makes records of it. */
export const SUBJECT_TYPE = "subject";

/** What tools say of whom sessions may serve: rules of the types that some tool establishes as the subject. */
export function subjectRules(rules: readonly RecordRule[]): readonly RecordRule[] {
  const types = new Set(rules.flatMap(({ type, establishes }) => (establishes === null ? [] : [type])));
  return rules.filter(({ type }) => types.has(type));
}

/** Attributes that every record has beside its fields. */
export const RECORD_ATTRIBUTES = ["id", "owner", "ageSeconds"] as const;

/** A value of a field as it is journalled: text, number, flag, texts; of a `time`, epoch seconds. */
export type RecordValue = string | number | boolean | readonly string[];
export type ThingRecord = Readonly<{ key: string; owner: string | null; fields: Readonly<Record<string, RecordValue>> }>;

/**
 * An item that made no record, and why. `key` is null where the key itself could not be read.
 * `unknown`: nobody knows what a call did to this thing, so what was on record of it ends; without a key, of all things of its type.
 */
export type SkippedRecord = Readonly<{
  key: string | null;
  field: string;
  why: "missing" | "mistyped" | "duplicate" | "oversized" | "unknown";
}>;

/** A record with the time of the entry that says so. */
export type StoredThing = ThingRecord & Readonly<{ at: Millis; maxAgeSeconds: number | null }>;

/** A record as a decision reads it. */
export type ThingFacts = Readonly<{
  id: string;
  owner: string | null;
  ageSeconds: number;
  fields: ThingRecord["fields"];
  /** Of a decision in the past, or in a table beside policies: only what is said here is known of it. */
  isPartial?: true;
}>;

/** Records of all the things of one type that a call's arguments name, as a decision reads them. */
export type ThingsFacts = Readonly<{
  each: readonly ThingFacts[];
  /** Of a decision in the past: the columns as they were shown to the policies. */
  shown?: JsonObject;
}>;

/** Whom a session serves: said by its caller when it opens, or by a tool that authenticates. */
export type Subject = Readonly<{ id: string; attributes: ThingRecord["fields"] }>;

/** The trusted set that has the project's records of one type: no set of people's values has such a name. */
export const recordSet = (type: string): string => `record:${type}`;
