/** Entries of the journal, believed only under a genuine seal. */
import {
  BOUND_STREAMS,
  findBad,
  foldPendingApprovals,
  NO_PENDING_APPROVALS,
  type PendingApprovals,
  type ReadOne,
  type SessionSummary,
  summariseSession,
  unsealAppend,
} from "@orgate/core/journal";
import {
  type Digest,
  type Entry,
  FaultError,
  isFault,
  isSessionStream,
  type JournalEvent,
  type Seq,
  type SessionId,
  type StreamId,
  seq,
} from "@orgate/core/vocab";
import type { alteredEntries } from "./proof/altered.ts";
import type { Seals } from "./proof/seals.ts";
import { type AppendRow, CHUNK, type JournalRows } from "./rows.ts";

/** Appends per look from a stream's end: what is looked for is usually among the first few. */
const NEAR = 20;

export type Chunk = Readonly<{ entries: readonly Entry[]; end: boolean }>;

type Found = Readonly<{ appends: readonly AppendRow[]; after: Seq; limit: number; previous: Digest }>;

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
    const { indexed, appends, previous } = this.#rows.snapshot(() => {
      const found = this.#rows.appendsFrom(name, seq(after + 1), limit);
      return {
        indexed: this.#rows.stream(name),
        appends: found,
        previous: found[0] === undefined ? null : this.#rows.previousOf(found[0]),
      };
    });
    const [first] = appends;
    if (first === undefined && after > 0) this.#checkAfter(name, after);
    if (first !== undefined && (previous === null || first.first > after + 1)) {
      this.#raiseMissing(name, seq(previous === null ? first.first - 1 : after + 1));
    }
    try {
      const { entries, last } = this.#unseal(name, { appends, after, limit, previous: previous ?? ("none" as Digest) });
      const isEnd = last === appends.at(-1) && (last === undefined || last.first + last.count - 1 - after < limit);
      // the index says how far the stream went at the least: what is missing at its end is named, never taken for its end
      const reached = last === undefined ? after : last.first + last.count - 1;
      if (isEnd && indexed !== null && reached < indexed.seq)
        throw new FaultError({ kind: "entry-bad", stream: name, seq: seq(reached + 1), detail: "it is missing" });
      const isExact = reached === indexed?.seq || !isSessionStream(name); // only the row of a session may be behind
      if (isEnd && last !== undefined && indexed !== null && isExact && last.hash !== indexed.hash)
        throw new FaultError({ kind: "entry-bad", stream: name, seq: seq(reached), detail: "it is not the entry that was written last" });
      if (last !== undefined) this.#rows.safely(() => this.#seals.proveAppend(last)); // and so all that it is chained to
      return { entries, end: isEnd && (entries.at(-1)?.seq ?? reached) === reached };
    } catch (error) {
      if (isFault(error, "entry-bad")) this.#raiseIfAltered(error.fault);
      throw error;
    }
  }

  /** At most `limit` entries after `after`, and the append that holds the last of them: what stands behind them is not looked at. */
  #unseal(name: StreamId, { appends, after, limit, previous }: Found): Readonly<{ entries: Entry[]; last: AppendRow | undefined }> {
    const entries: Entry[] = [];
    let last: AppendRow | undefined;
    let due = appends[0]?.first ?? 1;
    for (const append of appends) {
      if (entries.length === limit) break;
      if (append.first !== due) throw new FaultError({ kind: "entry-bad", stream: name, seq: seq(due), detail: "it is missing" });
      const skipped = Math.max(0, after + 1 - append.first);
      const stored = this.#rows.entriesOf(append, last?.hash ?? previous);
      const read = unsealAppend(append, stored, this.#rows.unsealing, { from: skipped, to: skipped + limit - entries.length });
      const bad = findBad(read);
      if (bad !== null)
        throw new FaultError({ kind: "entry-bad", stream: name, seq: seq(append.first + skipped + bad.index), detail: bad.detail });
      for (const [i, one] of read.entries()) {
        if (one.kind === "erased") throw new FaultError({ kind: "entry-erased", stream: name, seq: seq(append.first + skipped + i) });
        if (one.kind === "entry") entries.push(one.entry);
      }
      last = append;
      due = append.first + append.count;
    }
    return { entries, last };
  }

  /** Nothing stands after this entry. A reader of a stream that gives authority has read it before: it must still be there. */
  #checkAfter(name: StreamId, after: Seq): void {
    if (this.#rows.hashAt(name, after) !== null) return;
    if (!BOUND_STREAMS.includes(name)) return;
    this.#seals.alarms.raise(`entry ${after} of stream \`${name}\``, "it is missing");
    throw new FaultError({ kind: "entry-bad", stream: name, seq: after, detail: "it is missing" });
  }

  #raiseMissing(name: StreamId, at: Seq): never {
    this.#raiseIfAltered({ stream: name, seq: at, detail: "it is missing" });
    throw new FaultError({ kind: "entry-bad", stream: name, seq: at, detail: "it is missing" });
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
  entryAt(name: StreamId, place: Seq): Entry | null {
    const append = this.#rows.appendsFrom(name, place, 1)[0];
    if (append === undefined || append.first > place) return null;
    const read = this.#read(append)[place - append.first];
    if (read?.kind !== "entry") return null;
    this.#rows.safely(() => this.#seals.proveAppend(append));
    return read.entry;
  }

  *newestFirst(name: StreamId): Iterable<JournalEvent> {
    for (let before = Number.MAX_SAFE_INTEGER; ; ) {
      const appends = this.#rows.appendsBefore(name, before, NEAR);
      for (const append of appends) yield* this.#events(append);
      if (appends.length < NEAR) return;
      before = appends.at(-1)?.first ?? 0;
    }
  }

  /** J-19 open requests follow from the decisions, as they were sealed. The newest first. */
  *#events(append: AppendRow): Iterable<JournalEvent> {
    const read = this.#read(append);
    const bad = findBad(read);
    if (bad !== null) {
      const at = seq(append.first + bad.index);
      this.#seals.alarms.raise(`entry ${at} of stream \`${append.stream}\``, bad.detail);
      throw new FaultError({ kind: "entry-bad", stream: append.stream, seq: at, detail: bad.detail });
    }
    this.#rows.safely(() => this.#seals.proveAppend(append));
    for (const one of read.toReversed()) if (one.kind === "entry") yield one.entry.event;
  }

  #read(append: AppendRow): readonly ReadOne[] {
    return unsealAppend(append, this.#rows.entriesOf(append), this.#rows.unsealing);
  }
}
