/** Trusted sets: rows kept by the events that extend and shorten them, in the transaction that writes them, wherever they stand. */
import type { JournalEvent } from "../vocab/index.ts";

export type TrustedValueChange = Readonly<{ set: string; value: string; on: boolean }>;

/** Values that one event adds or removes, in whatever case of letters; nothing for most. */
export function listTrustedValueChanges(e: JournalEvent): readonly TrustedValueChange[] {
  switch (e.kind) {
    case "known.learned":
      return e.values.map((value) => ({ set: e.set, value, on: true }));
    case "known.added":
      return [{ set: e.set, value: e.value, on: true }];
    case "known.removed":
      return [{ set: e.set, value: e.value, on: false }];
    default:
      return NONE;
  }
}
const NONE: readonly TrustedValueChange[] = Object.freeze([]);
