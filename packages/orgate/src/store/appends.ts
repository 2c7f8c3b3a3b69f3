/**
 * Appends of one process. J-1 what is asked for in one turn of the event loop, or while a commit is being written, is one transaction, up to MOST_AT_ONCE.
 * J-31 what is not sealed with its own transaction is sealed at the latest after SEAL_WITHIN_MS, before its session is released, and when the store is closed.
 * J-3 a commit that fails rejects every append that waits for it, and the store takes no further append: nothing is driven on an unwritten record.
 */
import {
  type Append,
  type Hold,
  type Journal,
  makeSeal,
  SEAL_WITHIN_MS,
  type SealPorts,
  type Seen,
  type SessionSummary,
  type StoredSeal,
  UnsealedMarks,
} from "@orgate/core/journal";
import {
  type Digest,
  type Epoch,
  errorMessage,
  type Fault,
  FaultError,
  isFault,
  isSessionStream,
  millis,
  type PowerCut,
  type SealMode,
  type Seq,
  type SessionId,
  seq,
} from "@orgate/core/vocab";
import { journalReads, orNull, yieldToEventLoop } from "./journal-reads.ts";
import { Onlookers } from "./onlookers.ts";
import { type Fetch, type Holding, type SealedPart, Sealer, type StreamPositions, sumMoves, summariesToTouch } from "./sealer.ts";
import type { Owner } from "./sqlite/append-writer.ts";
import type { Alarms } from "./sqlite/proof/alarms.ts";
import type { Bonds } from "./sqlite/proof/bonds.ts";
import type { Moves, Sums } from "./sqlite/proof/sums.ts";
import type { SqliteReader } from "./sqlite/reader.ts";
import type { AppendRow } from "./sqlite/rows.ts";
import type { AnyWriter } from "./sqlite/thread.ts";
import type { StoreInbox } from "./store.ts";

type Waiter = Readonly<{ done: () => void; failed: (error: unknown) => void }>;
type MadeSeal = Readonly<{ stored: StoredSeal; seen: readonly Seen[]; moves: Moves }>;
/** `known`: `Fetch.known` when it was asked for. */
type WaitingAppend = Readonly<{ append: Append; known: number; done: (first: Seq) => void; failed: (error: unknown) => void }>;
/** One try at a commit: the appends that it holds, and those that must wait for the next one. */
type SealedBatch = Readonly<{
  ahead: StreamPositions;
  parts: readonly SealedPart[];
  /** Whose each of `parts` is. */
  owners: readonly WaitingAppend[];
  firsts: ReadonlyMap<WaitingAppend, Seq>;
  later: readonly WaitingAppend[];
}>;
export type JournalParts = Readonly<{
  reader: SqliteReader;
  writer: Pick<AnyWriter, "commit" | "release">;
  keepCounts: Journal["keepCounts"];
  ports: SealPorts;
  owner: Owner;
  alarms: Alarms;
  bonds: Bonds;
  sums: Sums;
  holding: Holding;
  /** Copies rows before they are read, where the journal is not in this process's own files. */
  fetch: Fetch | null;
  blobKey: string | Uint8Array;
  sealing: SealMode;
  powerCut: PowerCut;
  inbox: Pick<StoreInbox, "watchChanges"> & Readonly<{ wake(session: SessionId): void }>;
  /** Nothing certifies this process's key before its first append: what was left unsealed is sealed with that one, and by nobody if it never comes. */
  isKeyNew: boolean;
  /** Throws unless this process's own lock is still the file that other processes look at. */
  confirm: () => void;
}>;

/** Throws while an alarm stands. */
export function assertTrusted(alarms: Alarms): void {
  const [alarm] = alarms.standing();
  if (alarm !== undefined) throw new FaultError({ kind: "journal-doubted", what: alarm.what, detail: alarm.detail });
}

/** Appends per transaction: drivers that wait for it go on together, and everybody else waits that long for the event loop. */
const MOST_AT_ONCE = 64;

export class SqliteJournal {
  readonly #parts: JournalParts;
  readonly #held = new Map<SessionId, Epoch>();
  readonly #sealer: Sealer;
  readonly #onlookers: Onlookers;
  /** What this process has written and not sealed. */
  readonly #unsealed = new UnsealedMarks();
  /** Sessions whose rows in lists wait for the next seal. */
  readonly #unlisted = new Map<SessionId, SessionSummary>();
  readonly #sealWaiters: Waiter[] = [];
  #timer: NodeJS.Timeout | null = null;
  #isRecovered: boolean;
  #last: Readonly<{ number: number; hash: Digest }>;
  #tried: Digest | null = null;
  #stopped: Fault | null = null;
  readonly #whenStopped = Promise.withResolvers<Fault>();
  #queue: WaitingAppend[] = [];
  #busy = false;

  constructor(parts: JournalParts) {
    this.#parts = parts;
    this.#sealer = new Sealer({ ...parts, held: this.#held });
    this.#onlookers = new Onlookers(parts);
    this.#last = parts.reader.writerHead(parts.owner.writer);
    this.#isRecovered = !parts.reader.hasUnsealed(parts.owner.writer);
    if (!this.#isRecovered && !parts.isKeyNew) this.#schedule();
    parts.holding.onChange((change) => {
      if (change.kind === "lost") this.#stop(change.fault);
      else for (const session of [...this.#held.keys()]) if (!change.kept.has(session)) this.#forget(session);
    });
  }

  /** Resolves when nothing can be appended any more; never where it is closed in order. */
  get whenStopped(): Promise<Fault> {
    return this.#whenStopped.promise;
  }

  #stop(fault: Fault): void {
    this.#stopped ??= fault;
    this.#whenStopped.resolve(this.#stopped);
  }

  #forget(session: SessionId): void {
    this.#held.delete(session);
    this.#sealer.drop(session);
  }

  /** Throws when nothing may be appended. */
  check(): void {
    assertTrusted(this.#parts.alarms);
    if (this.#stopped !== null) throw new FaultError(this.#stopped);
  }

  /** The journal as the loop uses it. */
  port(): Omit<Journal, "close"> {
    const { reader, owner, sums, keepCounts } = this.#parts;
    return {
      writer: owner.writer,
      powerCut: this.#parts.powerCut,
      append: (append) => this.#enqueue(append),
      ...journalReads(reader),
      unknownsLike(sought) {
        sums.check();
        return reader.unknowns.like(sought);
      },
      take: (session) => this.#take(session),
      release: (hold) => this.#release(hold),
      watch: this.#onlookers.watch,
      keepCounts: async (names, now) => {
        this.check();
        await keepCounts(names, now);
      },
      holds: (hold) => this.#holds(hold),
    };
  }

  async close(): Promise<void> {
    while (this.#busy || this.#queue.length > 0) await yieldToEventLoop();
    // what cannot be sealed now is left to the next process under this name: this one must let go of the name in any case
    const isOpen = this.#isRecovered ? !this.#unsealed.isEmpty : !this.#parts.isKeyNew;
    if (this.#stopped === null && isOpen) await this.seal().catch(() => {});
    this.#stopped ??= { kind: "journal-unwritable", detail: "it is closed" };
  }

  /** Everything that is durable by now is sealed when this resolves. */
  seal(): Promise<void> {
    if (this.#unsealed.isEmpty && this.#isRecovered && !this.#busy && this.#queue.length === 0) return Promise.resolve();
    return new Promise((done, failed) => {
      this.#sealWaiters.push({ done, failed });
      if (!this.#busy && this.#queue.length === 0) this.#schedule();
    });
  }

  #enqueue(append: Append): Promise<Seq> {
    return new Promise<Seq>((done, failed) => {
      this.check();
      const known = this.#parts.fetch?.known() ?? 0;
      if (this.#queue.push({ append, known, done, failed }) === 1 && !this.#busy) this.#schedule();
    });
  }

  #schedule(): void {
    setImmediate(() => void this.#flush());
  }

  async #flush(): Promise<void> {
    if (this.#busy) return;
    const batch = this.#queue.splice(0, MOST_AT_ONCE);
    const waiters = this.#sealWaiters.splice(0); // also while others wait to append: whoever releases a session does not wait for all of them
    this.#busy = true;
    try {
      if (!this.#isRecovered) await this.#gatherUnsealed();
      if (!this.#isRecovered && !this.#parts.isKeyNew) await this.#commit([], true); // by itself: what is recovered and what is new are told apart
      await this.#commit(batch, waiters.length > 0);
      for (const w of waiters) w.done();
    } catch (error) {
      this.#doubtOwnChain();
      const fault = error instanceof FaultError ? error.fault : ({ kind: "journal-unwritable", detail: errorMessage(error) } as const);
      // a damaged journal is an alarm, and nothing was written: once the alarm is over, appends go on
      if (fault.kind !== "entry-bad" && fault.kind !== "seal-bad") this.#stop(fault);
      // Appends that were settled already do not hear this: a promise settles once.
      for (const w of [...batch, ...this.#queue.splice(0), ...waiters]) w.failed(new FaultError(this.#stopped ?? fault, error));
    }
    this.#busy = false;
    if (this.#queue.length > 0 || this.#sealWaiters.length > 0) this.#schedule();
  }

  /** Seals and writes the batch. An append that the database refuses is rejected, and the others are sealed again without it. */
  async #commit(waiting: readonly WaitingAppend[], isForced: boolean): Promise<void> {
    const { writer, owner, confirm, powerCut, fetch } = this.#parts;
    for (let left = waiting; ; ) {
      const wanted = fetch === null ? [] : left.flatMap((w) => this.#sealer.wanted(w.append));
      const forget = wanted.length === 0 ? null : await fetch?.streams(wanted);
      const sealed = this.#sealBatch(left);
      forget?.();
      const { ahead, parts, owners, firsts, later } = sealed;
      const isLast = later.length === 0;
      if (parts.length === 0 && !(isForced && isLast && !(this.#unsealed.isEmpty && this.#isRecovered))) return;
      const moves = sumMoves(parts.map((part) => part.moves));
      const seal = this.#isSealDue(parts, isForced && isLast) ? this.#makeSeal(parts, moves) : null;
      const lists = seal === null ? [] : [...this.#unlisted.values()].filter((s) => !ahead.has(s.session));
      const touched = seal === null ? [] : summariesToTouch(parts);
      const appends = parts.map((part) => part.append);
      const flush = seal !== null || powerCut === "lose-nothing" || !parts.every((part) => part.isResultOnly);
      const batch = {
        appends,
        number: this.#last.number + 1,
        seal: seal?.stored ?? null,
        lists: [...lists, ...touched],
        flush,
        owner,
        known: owners.map((w) => w.known),
      };
      const answer = writer.commit(batch);
      const result = answer instanceof Promise ? await answer : answer;
      if (result.kind === "done") {
        confirm();
        this.#noteWritten(parts, seal);
        this.#settle(sealed);
        if (isLast) return;
        left = later;
        continue;
      }
      for (const stream of ahead.keys()) this.#sealer.drop(stream);
      const refused = owners[result.index];
      refused?.failed(new FaultError(result.fault));
      left = left.filter((w) => w !== refused && (firsts.has(w) || later.includes(w)));
    }
  }

  #isSealDue(parts: readonly SealedPart[], isForced: boolean): boolean {
    const { sealing } = this.#parts;
    return (
      isForced ||
      !this.#isRecovered ||
      sealing === "each" ||
      parts.some((part) => part.isSealedAtOnce) ||
      this.#unsealed.isDue(millis(Date.now()))
    );
  }

  /** The seal over everything that is unsealed and these appends. */
  #makeSeal(parts: readonly SealedPart[], moves: Moves): MadeSeal {
    const { bonds, sums, ports } = this.#parts;
    const number = this.#last.number + 1;
    const entries = parts.map((part) => part.entries);
    const at = millis(entries.reduce<number>((latest, es) => Math.max(latest, es.at(-1)?.at ?? 0), this.#unsealed.latest));
    const seen = [...bonds.toSay(number), ...sums.toSay(number, moves)];
    const stored = makeSeal(this.#last, { at, wrote: this.#unsealed.with(entries), seen, recovered: !this.#isRecovered }, ports);
    this.#tried = stored.hash;
    return { stored, seen, moves };
  }

  /** The transaction is durable: what it sealed is sealed, the rest waits for the next seal. */
  #noteWritten(parts: readonly SealedPart[], seal: MadeSeal | null): void {
    const { bonds, sums } = this.#parts;
    if (seal === null) {
      for (const { entries, summary } of parts) {
        this.#unsealed.add(entries, millis(Date.now()));
        if (summary !== null) this.#unlisted.set(summary.session, summary);
      }
      this.#timer ??= setTimeout(() => {
        this.#timer = null;
        void this.seal().catch(() => {}); // whoever appends next hears of it
      }, SEAL_WITHIN_MS);
      return;
    }
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#unsealed.clear();
    this.#unlisted.clear();
    this.#last = { number: seal.stored.number, hash: seal.stored.hash };
    this.#isRecovered = true;
    bonds.said(seal.seen);
    sums.said(seal.moves);
  }

  /** What the process before this one, under the same name, had left unsealed when it died: the next seal covers it. Each append is proved to be the project's own first. */
  async #gatherUnsealed(): Promise<void> {
    const { reader, owner, fetch } = this.#parts;
    const forget = await fetch?.unsealed();
    const left = reader.unsealedBy(owner.writer);
    this.#unsealed.clear(); // of a try that failed
    for (const append of left) if (this.#isOwn(append)) this.#unsealed.add(reader.entriesOf(append), millis(Date.now()));
    for (const stream of new Set(left.map((append) => append.stream))) {
      const summary = isSessionStream(stream) ? reader.session(stream) : null;
      if (summary !== null) this.#unlisted.set(summary.session, summary);
    }
    forget?.();
  }

  /** False for an append that is forged and was acknowledged so: nobody signs for it, and it is refused wherever it is read. Throws, and raises an alarm, otherwise. */
  #isOwn(append: AppendRow): boolean {
    const { reader, alarms } = this.#parts;
    try {
      reader.seals.proveAppend(append);
      return true;
    } catch (error) {
      if (!isFault(error, "entry-bad") || alarms.standing().length > 0) throw error;
      return false;
    }
  }

  #sealBatch(batch: readonly WaitingAppend[]): SealedBatch {
    const ahead: StreamPositions = new Map();
    const parts: SealedPart[] = [];
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
        parts.push(...sealed);
        owners.push(...sealed.map(() => w));
        firsts.set(w, sealed[0]?.append.row.first ?? seq(0));
      } catch (error) {
        if (isFault(error, "journal-unreadable")) throw error; // not this append's fault: nothing can be chained to entries that cannot be read
        w.failed(error);
      }
    }
    return { ahead, parts, owners, firsts, later };
  }

  /** The commit is durable: everybody who waits for it or watches hears of it. */
  #settle({ ahead, parts, firsts }: SealedBatch): void {
    this.#parts.reader.seals.vouch(parts.map((part) => part.append.row.hash));
    this.#sealer.settle(
      ahead,
      parts.flatMap((part) => part.append.beside?.forgets ?? []),
    );
    for (const [w, first] of firsts) w.done(first);
    for (const { append } of parts) for (const { session } of append.beside?.tells ?? []) this.#parts.inbox.wake(session);
    this.#onlookers.tell(ahead.keys());
  }

  /** Raises an alarm when this writer's next seal exists already and is not the one that this process made. */
  #doubtOwnChain(): void {
    const { reader, owner, alarms } = this.#parts;
    const found = this.#parts.isKeyNew ? null : orNull(() => reader.writerHead(owner.writer)); // in a cluster the name has a new owner once its lease is over
    if (found === null || found.hash === this.#last.hash || found.hash === this.#tried) return;
    alarms.raise(`seal ${found.number} of writer \`${owner.writer}\``, "it was written under this writer's name by somebody else");
  }

  async #take(session: SessionId): Promise<Hold> {
    this.check();
    const { holding, fetch } = this.#parts;
    const taken = await holding.take(session, this.#held.has(session));
    const forget = fetch === null ? null : await fetch.streams([this.#sealer.wants(session)]);
    this.#held.set(session, taken);
    this.#sealer.load(session);
    forget?.();
    return { session, epoch: taken };
  }

  async #release(hold: Hold): Promise<void> {
    if (this.#held.get(hold.session) !== hold.epoch) return;
    if (this.#stopped === null && this.#unsealed.has(hold.session)) await this.seal();
    this.#forget(hold.session);
    await this.#parts.writer.release(hold.session, hold.epoch, this.#parts.owner);
  }

  #holds(hold: Hold): boolean {
    const { holding, alarms } = this.#parts;
    return this.#stopped === null && this.#held.get(hold.session) === hold.epoch && holding.isSure() && alarms.standing().length === 0;
  }
}
