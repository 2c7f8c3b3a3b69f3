/**
 * Durable entries of all streams in commit order: subscribers, webhooks, the console's views and the halt command read it.
 * J-19 a delivered entry is proved like one that is read: under a genuine seal itself, or chained to one that is delivered with it. One that is not is delivered
 *      as bad in its place, and is an alarm. An empty place is an alarm too: entries are never removed.
 */
import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import { EMPTY_STREAM, type Position, type StoredEntry, type UnsealPorts, unsealOne, type WrittenEntry } from "@orgate/core/journal";
import { type Digest, digest, isFault, millis, type Seq, type StreamId, streamId } from "@orgate/core/vocab";
import type { alteredEntries } from "./proof/altered.ts";
import type { Seals } from "./proof/seals.ts";

/** Rows per look: few enough to let others run in between. */
const CHUNK = 1_000;

type Needs = Readonly<{
  db: DatabaseSync;
  snapshot: <T>(look: () => T) => T;
  seals: Seals;
  raiseIfAltered: ReturnType<typeof alteredEntries>;
  ports: UnsealPorts;
}>;
type Row = Readonly<{ position: Position; stored: StoredEntry; before: Digest | null }>;

/** In the order in which it became durable, fewer than asked for when there is much. */
export function tailReader({
  db,
  snapshot,
  seals,
  raiseIfAltered,
  ports,
}: Needs): (after: Position, most: number) => readonly WrittenEntry[] {
  // Writers take turns, entries are never removed, and the rowid of a new row is one more than the last: the order in which commits became durable.
  const writtenAfter = db.prepare(
    "SELECT seq, at, kind, previous, payload_hash, entry_hash, salt, payload, stream, rowid FROM entries WHERE rowid > ? ORDER BY rowid LIMIT ?",
  );
  writtenAfter.setReturnArrays(true);
  const hashAt = db.prepare("SELECT entry_hash FROM entries WHERE stream = ? AND seq = ?");

  const rowsAfter = (after: Position, most: number): readonly Row[] =>
    (writtenAfter.all(after, Math.min(most, CHUNK)) as unknown as SQLOutputValue[][]).map((row) => {
      const stored = toStoredEntry(streamId(String(row[8])), row);
      const before = stored.seq === 1 ? EMPTY_STREAM.hash : hashAt.get(stored.stream, stored.seq - 1)?.entry_hash;
      return { position: Number(row[9]), stored, before: before === undefined ? null : digest(String(before)) };
    });

  function raiseGaps(after: Position, rows: readonly Row[]): void {
    let due = after + 1;
    for (const { position } of rows) {
      if (position > due) seals.alarms.raise(`position ${due} of the journal`, "the entry that was written there is missing");
      due = position + 1;
    }
  }

  /** Why an entry by itself is not proved; null when it is. */
  function whyNot(stored: StoredEntry): string | null {
    try {
      seals.prove(stored);
      return null;
    } catch (error) {
      if (isFault(error) && error.fault.kind === "entry-bad") return error.fault.detail;
      throw error;
    }
  }

  return (after, most) => {
    const rows = snapshot(() => rowsAfter(after, most));
    raiseGaps(after, rows);
    const chained = new Map<StreamId, Digest>(); // what a proved entry of each stream is chained to
    return rows
      .toReversed()
      .map(({ position, stored, before }): WrittenEntry => {
        const { stream, seq, at } = stored;
        const read = unsealOne(stored, before, ports);
        if (read.kind === "bad") raiseIfAltered({ stream, seq, detail: read.detail });
        const why = read.kind === "bad" || chained.get(stream) === stored.entryHash ? null : snapshot(() => whyNot(stored));
        if (read.kind === "bad" || why !== null) chained.delete(stream);
        else chained.set(stream, stored.previous);
        return { position, stream, seq, at, ...(why === null ? read : { kind: "bad", detail: why }) };
      })
      .reverse();
  };
}

/** The decoder of our own rows: STRICT tables hold what the types say. */
export function toStoredEntry(stream: StreamId, row: readonly SQLOutputValue[]): StoredEntry {
  return {
    stream,
    seq: row[0] as Seq,
    at: millis(row[1] as number),
    kind: row[2] as string,
    previous: row[3] as Digest,
    payloadHash: row[4] as Digest,
    entryHash: row[5] as Digest,
    salt: row[6] as string | null,
    payload: row[7] as string | null,
  };
}
