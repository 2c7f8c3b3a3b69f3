/** Entries of the journal, believed only under a genuine seal. */
import {
  BOUND_STREAMS,
  checkEnd,
  EMPTY_STREAM,
  foldPendingApprovals,
  NO_PENDING_APPROVALS,
  type PendingApprovals,
  type SessionSummary,
  type StoredEntry,
  summariseSession,
  unseal,
  unsealOne,
} from "@orgate/core/journal";
import { type Entry, FaultError, type JournalEvent, type Seq, type SessionId, type StreamId, seq } from "@orgate/core/vocab";
import type { alteredEntries } from "./proof/altered.ts";
import type { Seals } from "./proof/seals.ts";
import { CHUNK, type JournalRows } from "./rows.ts";

/** Entries per look from a stream's end: what is looked for is usually among the first few. */
const NEAR = 50;

export type Chunk = Readonly<{ entries: readonly Entry[]; end: boolean }>;

export class ProvedEntries {
  readonly #rows: JournalRows;
  readonly #seals: Seals;
  readonly #raiseIfAltered: ReturnType<typeof alteredEntries>;

  constructor(rows: JournalRows, seals: Seals, raiseIfAltered: ReturnType<typeof alteredEntries>) {
    this.#rows = rows;
    this.#seals = seals;
    this.#raiseIfAltered = raiseIfAltered;
  }

  chunk(name: StreamId, after: Seq, most: number): Chunk {
    const limit = Math.min(most, CHUNK);
    const { head, before, stored } = this.#rows.snapshot(() => ({
      head: this.#rows.stream(name)?.head ?? EMPTY_STREAM,
      before: after === 0 ? EMPTY_STREAM.hash : this.#rows.hashAt(name, after),
      stored: this.#rows.entriesAfter(name, after, limit),
    }));
    if (before === null) {
      const isBound = BOUND_STREAMS.includes(name); // its readers have read as far before
      if (after > head.seq && stored.length === 0 && !isBound) return { entries: [], end: true };
      if (isBound) this.#seals.alarms.raise(`entry ${after} of stream \`${name}\``, "it is missing");
      throw new FaultError({ kind: "entry-bad", stream: name, seq: after, detail: "it is missing" });
    }
    const start = { seq: after, hash: before };
    const ended = stored.length < limit;
    const last = stored.at(-1);
    let entries: readonly Entry[] = [];
    try {
      entries = unseal(name, start, stored, this.#rows.unsealing);
      if (ended) checkEnd(name, last === undefined ? start : { seq: last.seq, hash: last.entryHash }, head);
    } catch (error) {
      if (error instanceof FaultError && error.fault.kind === "entry-bad") this.#raiseIfAltered(error.fault);
      throw error;
    }
    if (last !== undefined) this.#rows.safely(() => this.#seals.prove(last)); // and so all that it is chained to
    return { entries, end: ended };
  }

  /** All entries of a session. Throws `entry-bad` or `entry-erased`. */
  *all(name: SessionId): Iterable<Entry> {
    for (let [after, isEnd] = [seq(0), false]; !isEnd; ) {
      const part = this.chunk(name, after, CHUNK);
      yield* part.entries;
      after = part.entries.at(-1)?.seq ?? after;
      isEnd = part.end;
    }
  }

  /** Approval requests of a session; none where its entries cannot be read. */
  waitingIn(name: SessionId): PendingApprovals {
    try {
      const entries = [...this.all(name)];
      const line = entries.reduce<SessionSummary | null>(summariseSession, null);
      return line === null ? NO_PENDING_APPROVALS : foldPendingApprovals(NO_PENDING_APPROVALS, name, line.agent, entries);
    } catch (error) {
      if (error instanceof FaultError) return NO_PENDING_APPROVALS;
      throw error;
    }
  }

  /** One entry by itself; null where there is none, or it cannot be read. */
  eventAt(name: StreamId, place: Seq): JournalEvent | null {
    const stored = this.#rows.entryAt(name, place);
    if (stored === null) return null;
    const read = unsealOne(stored, stored.previous, this.#rows.unsealing);
    if (read.kind !== "entry") return null;
    this.#seals.prove(stored);
    return read.entry.event;
  }

  *newestFirst(name: StreamId): Iterable<JournalEvent> {
    for (let before = Number.MAX_SAFE_INTEGER; ; ) {
      const stored = this.#rows.entriesBefore(name, before, NEAR);
      for (const one of stored) yield* this.#events(one);
      if (stored.length < NEAR) return;
      before = stored.at(-1)?.seq ?? 0;
    }
  }

  /** J-19 open requests follow from the decisions, as they were sealed. */
  #events(stored: StoredEntry): readonly JournalEvent[] {
    const read = unsealOne(stored, stored.previous, this.#rows.unsealing);
    if (read.kind === "bad") {
      this.#seals.alarms.raise(`entry ${stored.seq} of stream \`${stored.stream}\``, read.detail);
      throw new FaultError({ kind: "entry-bad", stream: stored.stream, seq: stored.seq, detail: read.detail });
    }
    this.#rows.safely(() => this.#seals.prove(stored));
    return read.kind === "entry" ? [read.entry.event] : [];
  }
}
