/**
 * Durable entries of all streams in the order of the journal: subscribers, webhooks, the console's views and the halt command read it.
 * J-19 a delivered entry is proved like one that is read: under a genuine seal itself, or chained to one that is delivered with it. One that is not is delivered
 *      as bad in its place, and is an alarm. An empty place is an alarm too: entries are never removed.
 */
import { type Position, unsealAppend, type WrittenEntry } from "@orgate/core/journal";
import { type Digest, isFault, millis, type StreamId, seq } from "@orgate/core/vocab";
import type { alteredEntries } from "./proof/altered.ts";
import type { Seals } from "./proof/seals.ts";
import { type AppendRow, CHUNK, type JournalRows } from "./rows.ts";

type Needs = Readonly<{ rows: JournalRows; seals: Seals; raiseIfAltered: ReturnType<typeof alteredEntries> }>;
type Written = Readonly<{ append: AppendRow; name: StreamId | null; previous: Digest | null }>;

/** In the order in which it became durable, fewer than asked for when there is much. */
export function tailReader({ rows, seals, raiseIfAltered }: Needs): (after: Position, most: number) => readonly WrittenEntry[] {
  /** Why an append by itself is not proved; null when it is. */
  function whyNot(append: AppendRow): string | null {
    try {
      seals.proveAppend(append);
      return null;
    } catch (error) {
      if (isFault(error, "entry-bad")) return error.fault.detail;
      throw error;
    }
  }

  function raiseGaps(after: Position, written: readonly Written[]): void {
    let due = after + 1;
    for (const { append } of written) {
      if (append.id > due) seals.alarms.raise(`position ${due} of the journal`, "the entry that was written there is missing");
      due = append.id + append.count;
    }
  }

  function toEntries({ append, name, previous }: Written, chained: Map<StreamId, Digest>): readonly WrittenEntry[] {
    const { stream, first, id } = append;
    const stored = rows.entriesOf(append, previous);
    const read = previous === null || name === null ? null : unsealAppend(append, stored, rows.unsealing);
    const isBad = read === null || read.some(({ kind }) => kind === "bad");
    const why = isBad || chained.get(stream) === append.hash ? null : rows.snapshot(() => whyNot(append));
    if (isBad || why !== null || previous === null) chained.delete(stream);
    else chained.set(stream, previous);
    return Array.from({ length: append.count }, (_, i): WrittenEntry => {
      const place = { position: id + i, stream, seq: seq(first + i), at: stored[i]?.at ?? millis(0) };
      const one = read?.[i] ?? {
        kind: "bad" as const,
        detail: name === null ? "nobody knows its stream" : "the entry before it is missing",
      };
      if (one.kind === "bad") raiseIfAltered({ ...place, detail: one.detail });
      return { ...place, ...(why === null ? one : { kind: "bad" as const, detail: why }) };
    });
  }

  return (after, most) => {
    const limit = Math.min(most, CHUNK);
    const written = rows.snapshot(() =>
      rows.written(after + 1, limit).map((one): Written => ({ ...one, previous: one.name === null ? null : rows.previousOf(one.append) })),
    );
    raiseGaps(after, written);
    const chained = new Map<StreamId, Digest>(); // what a proved append of each stream is chained to
    const entries = written.toReversed().flatMap((one) => toEntries(one, chained).toReversed());
    return entries
      .reverse()
      .filter(({ position }) => position > after)
      .slice(0, limit);
  };
}
