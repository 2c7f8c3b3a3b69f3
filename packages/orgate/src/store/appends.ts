/**
 * Appends of one process. J-1 all that is asked for in one turn of the event loop, or while a commit is being written, is one transaction and one sealed commit.
 * J-3 a commit that fails rejects every append that waits for it, and the store takes no further append: nothing is driven on an unwritten record.
 */
import { type Append, type Hold, type Journal, type SealPorts, sealCommit } from "@orgate/core/journal";
import {
  type Digest,
  type Epoch,
  epoch,
  errorMessage,
  type Fault,
  FaultError,
  isFault,
  millis,
  type Seq,
  type SessionId,
  type StreamId,
  seq,
} from "@orgate/core/vocab";
import type { Inbox } from "./inbox.ts";
import { journalReads, yieldToEventLoop } from "./journal-reads.ts";
import { Sealer, type StreamPositions, sumMoves } from "./sealer.ts";
import type { Owner, SealedAppend } from "./sqlite/append-writer.ts";
import type { Alarms } from "./sqlite/proof/alarms.ts";
import type { Bonds } from "./sqlite/proof/bonds.ts";
import type { Sums } from "./sqlite/proof/sums.ts";
import type { SqliteReader } from "./sqlite/reader.ts";
import type { HoldRow } from "./sqlite/rows.ts";
import type { AnyWriter } from "./sqlite/thread.ts";

type WaitingAppend = Readonly<{ append: Append; done: (first: Seq) => void; failed: (error: unknown) => void }>;
/** One try at a commit: the appends that it holds, and those that must wait for the next one. */
type SealedBatch = Readonly<{
  ahead: StreamPositions;
  appends: readonly SealedAppend[];
  /** Whose each of `appends` is. */
  owners: readonly WaitingAppend[];
  firsts: ReadonlyMap<WaitingAppend, Seq>;
  later: readonly WaitingAppend[];
}>;
export type JournalParts = Readonly<{
  reader: SqliteReader;
  writer: AnyWriter;
  ports: SealPorts;
  owner: Owner;
  alarms: Alarms;
  bonds: Bonds;
  sums: Sums;
  isAlive: (hold: HoldRow) => boolean;
  blobKey: string | Uint8Array;
  inbox: Pick<Inbox, "watchChanges"> & Readonly<{ wake(session: SessionId): void }>;
  /** Throws unless this process's own lock is still the file that other processes look at. */
  confirm: () => void;
}>;

/** Throws while an alarm stands. */
export function assertTrusted(alarms: Alarms): void {
  const [alarm] = alarms.standing();
  if (alarm !== undefined) throw new FaultError({ kind: "journal-doubted", what: alarm.what, detail: alarm.detail });
}

export class SqliteJournal {
  readonly #parts: JournalParts;
  readonly #held = new Map<SessionId, Epoch>();
  readonly #sealer: Sealer;
  readonly #onlookers = new Set<(stream: StreamId | null) => void>();
  #last: Readonly<{ number: number; hash: Digest }>;
  #tried: Digest | null = null;
  #stopped: Fault | null = null;
  #queue: WaitingAppend[] = [];
  #busy = false;

  constructor(parts: JournalParts) {
    this.#parts = parts;
    this.#sealer = new Sealer({ ...parts, held: this.#held });
    this.#last = parts.reader.writerHead(parts.owner.writer);
  }

  /** Throws when nothing may be appended. */
  check(): void {
    assertTrusted(this.#parts.alarms);
    if (this.#stopped !== null) throw new FaultError(this.#stopped);
  }

  /** The journal as the loop uses it. */
  port(): Omit<Journal, "close"> {
    const { reader, writer, owner, sums } = this.#parts;
    return {
      writer: owner.writer,
      append: (append) => this.#enqueue(append),
      ...journalReads(reader),
      unknownsLike(sought) {
        sums.check();
        return reader.unknowns.like(sought);
      },
      take: (session) => this.#take(session),
      release: (hold) => this.#release(hold),
      watch: (changed) => this.#watch(changed),
      keepCounts: async (names, now) => {
        this.check();
        reader.proveToBeCounted(names, now);
        await writer.keepCounts(names, now);
      },
      holds: (hold) => this.#holds(hold),
    };
  }

  async close(): Promise<void> {
    while (this.#busy || this.#queue.length > 0) await yieldToEventLoop();
    this.#stopped ??= { kind: "journal-unwritable", detail: "it is closed" };
  }

  #enqueue(append: Append): Promise<Seq> {
    return new Promise<Seq>((done, failed) => {
      this.check();
      if (this.#queue.push({ append, done, failed }) === 1 && !this.#busy) this.#schedule();
    });
  }

  #schedule(): void {
    setImmediate(() => void this.#flush());
  }

  async #flush(): Promise<void> {
    const batch = this.#queue;
    this.#queue = [];
    this.#busy = true;
    try {
      await this.#commit(batch);
    } catch (error) {
      this.#doubtOwnChain();
      const fault = error instanceof FaultError ? error.fault : ({ kind: "journal-unwritable", detail: errorMessage(error) } as const);
      // a damaged journal is an alarm, and nothing was written: once the alarm is over, appends go on
      if (fault.kind !== "entry-bad" && fault.kind !== "commit-bad") this.#stopped ??= fault;
      // Appends that were settled already do not hear this: a promise settles once.
      for (const w of [...batch, ...this.#queue.splice(0)]) w.failed(new FaultError(this.#stopped ?? fault, error));
    }
    this.#busy = false;
    if (this.#queue.length > 0) this.#schedule();
  }

  /** Seals and writes the batch. An append that the database refuses is rejected, and the others are sealed again without it. */
  async #commit(batch: readonly WaitingAppend[]): Promise<void> {
    const { writer, ports, owner, bonds, sums, confirm } = this.#parts;
    for (let left = batch; left.length > 0; ) {
      const sealed = this.#sealBatch(left);
      const { ahead, appends, owners, firsts, later } = sealed;
      if (appends.length === 0) return;
      const entries = appends.map((a) => a.entries);
      const at = millis(entries.reduce((latest, es) => Math.max(latest, es.at(-1)?.at ?? 0), 0));
      const moves = sumMoves(appends.map((a) => a.moves));
      const seen = [...bonds.toSay(this.#last.number + 1), ...sums.toSay(this.#last.number + 1, moves)];
      const commit = sealCommit(this.#last, { at, appends: entries, seen }, ports);
      this.#tried = commit.hash;
      const answer = writer.commit({ appends, commit, owner });
      const result = answer instanceof Promise ? await answer : answer;
      if (result.kind === "done") {
        confirm();
        this.#last = { number: commit.number, hash: commit.hash };
        bonds.said(seen);
        sums.said(moves);
        this.#settle(sealed);
        left = later;
        continue;
      }
      for (const stream of ahead.keys()) this.#sealer.drop(stream);
      const refused = owners[result.index];
      refused?.failed(new FaultError(result.fault));
      left = left.filter((w) => w !== refused && (firsts.has(w) || later.includes(w)));
    }
  }

  #sealBatch(batch: readonly WaitingAppend[]): SealedBatch {
    const ahead: StreamPositions = new Map();
    const appends: SealedAppend[] = [];
    const owners: WaitingAppend[] = [];
    const firsts = new Map<WaitingAppend, Seq>();
    const later: WaitingAppend[] = [];
    for (const w of batch) {
      try {
        const sealed = this.#sealer.seal(w.append, ahead);
        if (sealed === "later") {
          later.push(w);
          continue;
        }
        appends.push(...sealed);
        owners.push(...sealed.map(() => w));
        firsts.set(w, sealed[0]?.entries[0]?.seq ?? seq(0));
      } catch (error) {
        if (isFault(error, "journal-unreadable")) throw error; // not this append's fault: nothing can be chained to entries that cannot be read
        w.failed(error);
      }
    }
    return { ahead, appends, owners, firsts, later };
  }

  /** The commit is durable: everybody who waits for it or watches hears of it. */
  #settle({ ahead, appends, firsts }: SealedBatch): void {
    this.#parts.reader.seals.vouch(appends.flatMap((a) => a.entries.map((e) => e.entryHash)));
    this.#sealer.settle(
      ahead,
      appends.flatMap(({ forgets }) => forgets),
    );
    for (const [w, first] of firsts) w.done(first);
    for (const { tells } of appends) for (const { session } of tells) this.#parts.inbox.wake(session);
    for (const stream of ahead.keys()) for (const look of [...this.#onlookers]) look(stream);
  }

  /** Raises an alarm when this writer's next commit exists already and is not the one that this process sealed. */
  #doubtOwnChain(): void {
    const { reader, owner, alarms } = this.#parts;
    const found = orNull(() => reader.writerHead(owner.writer));
    if (found === null || found.hash === this.#last.hash || found.hash === this.#tried) return;
    alarms.raise(`commit ${found.number} of writer \`${owner.writer}\``, "it was written under this writer's name by somebody else");
  }

  async #take(session: SessionId): Promise<Hold> {
    const { reader, writer, owner, isAlive } = this.#parts;
    this.check();
    for (;;) {
      const hold = reader.stream(session)?.hold;
      if (hold !== undefined && isAlive(hold))
        throw new FaultError({ kind: "session-held", session, by: `writer \`${hold.holder}\` (process ${hold.pid})` });
      const taken = await writer.take({ session, seen: hold?.epoch ?? epoch(0), owner });
      if (taken === null) continue; // somebody else was first: look again
      this.#held.set(session, taken);
      this.#sealer.load(session);
      return { session, epoch: taken };
    }
  }

  async #release(hold: Hold): Promise<void> {
    if (this.#held.get(hold.session) !== hold.epoch) return;
    this.#held.delete(hold.session);
    this.#sealer.drop(hold.session);
    await this.#parts.writer.release(hold.session, hold.epoch, this.#parts.owner);
  }

  #holds(hold: Hold): boolean {
    return this.#stopped === null && this.#held.get(hold.session) === hold.epoch && this.#parts.alarms.standing().length === 0;
  }

  #watch(changed: (stream: StreamId | null) => void): () => void {
    const look = (stream: StreamId | null): void => {
      try {
        changed(stream);
      } catch {
        // an onlooker's error is its own: what is written does not depend on who looks
      }
    };
    this.#onlookers.add(look);
    const stop = this.#parts.inbox.watchChanges(() => look(null));
    return () => {
      this.#onlookers.delete(look);
      stop();
    };
  }
}

function orNull<T>(look: () => T): T | null {
  try {
    return look();
  } catch {
    return null; // the file cannot be read: the error that led here is the one to report
  }
}
