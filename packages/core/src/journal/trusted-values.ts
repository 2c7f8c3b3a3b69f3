/** Trusted sets, and records of the whole project: rows kept by the events that extend and shorten them, in the transaction that writes them, wherever they stand. */
import { type JournalEvent, type Millis, recordSet, type StoredThing } from "../vocab/index.ts";

export type TrustedValueChange = Readonly<{ set: string; value: string; on: boolean }>;

/** Values that one event adds or removes, in whatever case of letters; nothing for most. */
export function listTrustedValueChanges(e: JournalEvent): readonly TrustedValueChange[] {
  switch (e.kind) {
    case "known.learned":
      return e.values.map((value) => ({ set: e.set, value, on: true }));
    case "known.recorded":
      return e.set === "project" ? listRecordChanges(e) : NONE;
    case "known.added":
      return [{ set: e.set, value: e.value, on: true }];
    case "known.removed":
      return [{ set: e.set, value: e.value, on: false }];
    default:
      return NONE;
  }
}
const NONE: readonly TrustedValueChange[] = Object.freeze([]);

type Recorded = Extract<JournalEvent, { kind: "known.recorded" }>;

/** An item that could not be read ends the record before it. */
function listRecordChanges({ type, records, skipped }: Recorded): readonly TrustedValueChange[] {
  const set = recordSet(type);
  return [
    ...skipped.flatMap(({ key }) => (key === null ? [] : [{ set, value: key, on: false }])),
    ...records.map(({ key }) => ({ set, value: key, on: true })),
  ];
}

/** The record that an event makes of this thing for the whole project; null for any other event. */
export function findRecorded(e: JournalEvent, at: Millis, type: string, key: string): StoredThing | null {
  if (e.kind !== "known.recorded" || e.set !== "project" || e.type !== type) return null;
  const found = e.records.find((one) => one.key === key);
  return found === undefined ? null : { ...found, at, maxAgeSeconds: e.maxAgeSeconds };
}
