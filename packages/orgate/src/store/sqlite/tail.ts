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
/** Positions after `after`, up to `last`. */
type Wanted = Readonly<{ after: Position; last: Position }>;
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

  function toEntries({ append, name, previous }: Written, wanted: Wanted, chained: Map<StreamId, Digest>): readonly WrittenEntry[] {
    const { stream, first, id } = append;
    const stored = rows.entriesOf(append, previous);
    const from = Math.max(0, wanted.after + 1 - id);
    const to = Math.min(append.count, wanted.last + 1 - id);
    const read = previous === null || name === null ? null : unsealAppend(append, stored, rows.unsealing, { from, to });
    const isBad = read === null || read.some(({ kind }) => kind === "bad");
    const why = isBad || chained.get(stream) === append.hash ? null : rows.snapshot(() => whyNot(append));
    if (isBad || why !== null || previous === null) chained.delete(stream);
    else chained.set(stream, previous);
    return Array.from({ length: Math.max(0, to - from) }, (_, n): WrittenEntry => {
      const i = from + n;
      const place = { position: id + i, stream, seq: seq(first + i), at: stored[i]?.at ?? millis(0) };
      const one = read?.[n] ?? {
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
    const wanted = { after, last: after + limit };
    return written
      .toReversed()
      .flatMap((one) => toEntries(one, wanted, chained).toReversed())
      .reverse();
  };
}
