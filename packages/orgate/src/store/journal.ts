/**
 * Journal, inbox and records of one project in SQLite, for any number of processes at once.
 * J-1 all that is asked for in one turn of the event loop, or while a commit is being written, is one transaction and one sealed commit.
 * J-3 a commit that fails rejects everybody who waits for it, and the store takes no further append: nothing is driven on an unwritten record.
 * J-4 a session is held by one process, for as long as that process lives; a new hold has a new epoch.
 * Appends are sealed here, and written by a writer in this thread or in one of its own.
 */

import { createHmac, randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import {
  type Append,
  type BlobRef,
  deadLetterChanges,
  EMPTY_STREAM,
  foldQuestions,
  foldUnknowns,
  type Head,
  type Hold,
  type Journal,
  knownChanges,
  leavesUnknown,
  NOTHING_UNKNOWN,
  NOTHING_WAITS,
  type OpenUnknowns,
  type Records,
  type SealPorts,
  type SessionSummary,
  type StreamHead,
  sealCommit,
  sealEntries,
  setsAside,
  summariseSealed,
  type Trust,
  unknownChanges,
  type Waiting as WaitingQuestions,
  withQuestions,
} from "@orgate/core/journal";
import {
  canonical,
  type Digest,
  type Entry,
  type Epoch,
  epoch,
  type Fault,
  FaultError,
  isFault,
  isSessionStream,
  type KeyId,
  millis,
  type Seq,
  type SessionId,
  type Sign,
  type StreamId,
  seq,
  type WriterId,
} from "@orgate/core/vocab";
import { errorMessage } from "../node/error-message.ts";
import { type Inbox, openInbox } from "./inbox.ts";
import { isSlotHeld, takeSlot } from "./process-lock.ts";
import type { NewBlob } from "./sqlite/blobs.ts";
import { collectClaims } from "./sqlite/claims.ts";
import { findWrongCounts } from "./sqlite/counts.ts";
import { guardFiles } from "./sqlite/files.ts";
import { type Alarms, openAlarms } from "./sqlite/proof/alarms.ts";
import { type Bonds, GONE, openBonds } from "./sqlite/proof/bonds.ts";
import { findWrongTables } from "./sqlite/proof/compare.ts";
import { NO_QUESTION_ROWS, type QuestionMacs, questionMacs } from "./sqlite/proof/question-proof.ts";
import { openSeals, UNPROVED } from "./sqlite/proof/seals.ts";
import { type Moves, openSums, type Sums } from "./sqlite/proof/sums.ts";
import { type HoldRow, openReader, type SqliteReader, type StoredPlace, sha256, type Tally } from "./sqlite/reader.ts";
import { findStrangeSchema, openDatabase, placesIn, type Synchronous, writing } from "./sqlite/schema.ts";
import { type AnyWriter, openWriterThread } from "./sqlite/thread.ts";
import { findWrongTrustedSets } from "./sqlite/trusted-values.ts";
import type { ListedUnknown, UnknownPage } from "./sqlite/unknowns.ts";
import { type Erased, missingKey, type Owner, openWriter, type SealedAppend } from "./sqlite/writer.ts";

export type StoreOptions = Readonly<{
  /** `journal.db`, `writers/` and `blobs/` lie in it. Made when it is not there. */
  directory: string;
  /** Keys the addresses of blobs, so that equal texts of two projects cannot be matched. */
  blobKey: string | Uint8Array;
  /** Asked once, as soon as the slot is taken. */
  keyFor: (writer: WriterId) => Readonly<{ key: KeyId; sign: Sign }>;
  /** Whose seals count. What is read is believed only under such a seal. */
  trust: (records: Records) => Trust;
  thread?: "main" | "worker";
  synchronous?: Synchronous;
  /** The database does not grow beyond so many pages of 4 KiB. */
  maxPages?: number;
}>;

/** What needs no slot: looking, and putting an intent into the inbox. */
export type ReadStore = Readonly<{
  journal: Pick<
    Journal,
    | "read"
    | "hashAt"
    | "session"
    | "find"
    | "sessions"
    | "questions"
    | "question"
    | "unknownsLike"
    | "counted"
    | "isKnown"
    | "known"
    | "deadLetters"
    | "streams"
    | "tail"
    | "position"
    | "watch"
  >;
  inbox: Inbox;
  records: Records;
  /** What was found wrong with the journal while it was used, by any process. While one stands, nothing is appended. */
  alarms: Alarms;
  /** The last commit of each writer: what `verify --head` compares. */
  head(): Head;
  /** Rows beside the entries that are not what the entries make of them: `row KEY of table NAME`, `counter NAME`, `set NAME`. Empty when all is well. */
  wrongRows(now: number): readonly string[];
  /** The living process that holds a session. Only as true as the moment: what must be sure of it takes the session. */
  holder(session: SessionId): Holder | null;
  /** The same of many, in one look: those that a living process holds. */
  holders(sessions: readonly SessionId[]): ReadonlyMap<SessionId, Holder>;
  close(): Promise<void>;
}>;
export type Holder = Readonly<{ writer: WriterId; pid: number | null }>;

export type Store = Omit<ReadStore, "journal"> &
  Readonly<{
    journal: Journal;
    /** `isNew`: nobody has written under this name yet, so its key wants certifying before the first commit of anything else. */
    slot: Readonly<{ writer: WriterId; incarnation: number; isNew: boolean }>;
    /** Open unknowns of all sessions. */
    unknowns(page: UnknownPage): readonly ListedUnknown[];
    unknownsOf(session: SessionId): OpenUnknowns;
    /** How many sessions each agent has in each state. */
    tally(): readonly Tally[];
    /** One entry as it is stored, with its commit. */
    stored(stream: StreamId, place: Seq): StoredPlace | null;
    /** Rejects unless the journal takes what is written, as far as can be told without writing to it. */
    checkWritable(): Promise<void>;
    /** Removes payloads for good. The caller records it first (`content.erased`), and holds the session or knows that nobody does. */
    erase(stream: StreamId, first: Seq, last: Seq, waitMs?: number): Promise<Erased>;
  }>;
export type { Erased } from "./sqlite/writer.ts";

/** Whether anything was ever written here: before the first run there is nothing to look at. */
export const hasJournal = (directory: string): boolean => existsSync(placesIn(directory).database);

export type ReadOptions = Readonly<{
  directory: string;
  /** A project that has no journal yet gets an empty one. */
  create?: boolean;
  /** Null for whoever has not the project's root key: what they read is chained, and not proved. */
  trust?: StoreOptions["trust"] | null;
  /** Null for whoever has not the project's keys: rows of approval requests are then believed. */
  blobKey?: StoreOptions["blobKey"] | null;
}>;

/** Throws `journal-unreadable`. */
export function openReadStore({ directory, create = false, trust = null, blobKey = null }: ReadOptions): ReadStore {
  const places = placesIn(directory);
  const db = openDatabase(places, { create, synchronous: "full", maxPages: null });
  const alarms = openAlarms(directory, trust === null ? null : blobKey);
  raiseStrange(db, alarms);
  const seals = (records: Records) => (trust === null ? UNPROVED : openSeals({ db, trust, records, alarms, hash: sha256 }));
  const reader = openReader(db, places, { seals, key: trust === null ? null : blobKey });
  const writer = openWriter(db, places, null);
  const inbox = openInbox(db, places.database, writer, () => mustBeTrusted(alarms));
  return {
    journal: { ...readingPart(reader), watch: (changed) => inbox.watchChanges(() => changed(null)) },
    inbox,
    records: reader.records,
    alarms,
    head: () => headOf(reader),
    wrongRows: (now) => wrongRows(db, reader, now),
    holder: (session) => holderOf(session, { owner: null, reader, slots: places.writers }),
    holders: (sessions) => holdersOf(sessions, { owner: null, reader, slots: places.writers }),
    async close() {
      inbox.close();
      writer.close();
    },
  };
}

export function openStore(options: StoreOptions): Store {
  const { directory, keyFor, thread = "main", synchronous = "full", maxPages = null } = options;
  const places = placesIn(directory);
  const open = { create: true, synchronous, maxPages };
  const db = openDatabase(places, open);
  const taken = closingOnError(db, () => writing(() => takeSlot(places.writers)));
  try {
    const alarms = openAlarms(directory, options.blobKey);
    raiseStrange(db, alarms);
    const seals = (records: Records) => openSeals({ db, trust: options.trust, records, alarms, hash: sha256 });
    const reader = openReader(db, places, { seals, key: options.blobKey });
    const owner: Owner = { writer: taken.writer, incarnation: writing(() => nextIncarnation(db, taken.writer)), pid: process.pid };
    const counting = { key: options.blobKey, start: reader.countProof?.partOf(owner.writer) ?? missingKey() };
    const writer: AnyWriter = thread === "main" ? openWriter(db, places, counting) : openWriterThread({ places, open, counting });
    const ports: SealPorts = { writer: owner.writer, hash: sha256, salt: saltSource(), ...keyFor(owner.writer) };
    const isAlive = (hold: HoldRow): boolean => isHolderAlive(hold, { owner, reader, slots: places.writers });
    const confirm = guardFiles([taken.file]).check;
    const inbox = openInbox(db, places.database, writer, () => mustBeTrusted(alarms));
    const [told, watchOthers] = [inbox.wake, inbox.watchChanges];
    const under = { db, owner: owner.writer, trust: reader.seals.trust(), alarms };
    const { bonds, sums } = orDoubted(alarms.standing().length > 0 ? alarms : null, () => {
      const opened = {
        bonds: openBonds({ ...under, seals: reader.seals, hash: sha256 }),
        sums: openSums({
          ...{ db, owner: owner.writer, key: options.blobKey, alarms },
          sealed: reader.sealedSums,
          sumOfQuestions: () => reader.questionProof?.sum() ?? 0n,
        }),
      };
      opened.sums.check();
      reader.countProof?.check();
      return opened;
    });
    const journal = openJournal({
      reader,
      writer,
      ports,
      owner,
      alarms,
      bonds,
      sums,
      isAlive,
      blobKey: options.blobKey,
      told,
      watchOthers,
      confirm,
    });
    let closing: Promise<void> | null = null;
    const close = async (): Promise<void> => {
      await journal.close();
      inbox.close();
      await writer.close();
      if (thread === "worker") db.close();
      taken.free();
    };
    return {
      journal: { ...withoutCheck(journal), close: () => (closing ??= close()) },
      inbox,
      records: reader.records,
      alarms,
      head: () => headOf(reader),
      wrongRows: (now) => wrongRows(db, reader, now),
      holder: (session) => holderOf(session, { owner, reader, slots: places.writers }),
      holders: (sessions) => holdersOf(sessions, { owner, reader, slots: places.writers }),
      slot: { writer: owner.writer, incarnation: owner.incarnation, isNew: reader.writerHead(owner.writer).number === 0 },
      unknowns: reader.unknowns.page,
      unknownsOf: reader.unknowns.ofSession,
      tally: reader.tally,
      stored: reader.stored,
      async checkWritable() {
        journal.check();
        await writer.probe();
        await probeDisk(directory);
      },
      erase: async (stream, first, last, waitMs = 5_000) => writer.erase({ stream, first, last, waitMs }),
      close: () => (closing ??= close()),
    };
  } catch (error) {
    taken.free();
    db.close();
    throw error;
  }
}

/** More than a journal's own files have to spare: a change in place does not notice a full disk. */
const PROBE_BYTES = 256 * 1024;

/** W-23 a file is written, put on disk and taken away again. */
async function probeDisk(directory: string): Promise<void> {
  const file = join(directory, `.probe-${process.pid}-${randomBytes(4).toString("hex")}`);
  try {
    await writeFile(file, new Uint8Array(PROBE_BYTES), { flag: "wx", mode: 0o600, flush: true });
  } catch (error) {
    throw new FaultError({ kind: "journal-unwritable", detail: errorMessage(error) }, error);
  } finally {
    await rm(file, { force: true });
  }
}

const NO_CHANGES = { gone: [], put: [] } as const;

const addMoves = (all: readonly Moves[]): Moves =>
  all.reduce((sum, one) => ({ questions: sum.questions + one.questions, unknowns: sum.unknowns + one.unknowns }), {
    questions: 0n,
    unknowns: 0n,
  });

type Waiting = Readonly<{ append: Append; done: (first: Seq) => void; failed: (error: unknown) => void }>;
/** What the writer of a stream knows of it, so that it need not ask: checked by the database when it is used. */
type Known = Readonly<{ head: StreamHead; summary: SessionSummary | null; questions: WaitingQuestions; unknowns: OpenUnknowns }>;
type JournalParts = Readonly<{
  reader: SqliteReader;
  writer: AnyWriter;
  ports: SealPorts;
  owner: Owner;
  alarms: Alarms;
  bonds: Bonds;
  sums: Sums;
  isAlive: (hold: HoldRow) => boolean;
  blobKey: string | Uint8Array;
  /** An append has put something into the inbox of this session. */
  told: (session: SessionId) => void;
  watchOthers: Inbox["watchChanges"];
  /** Throws unless this process's own lock is still the file that others look at. */
  confirm: () => void;
}>;

function openJournal(parts: JournalParts): Journal & { check(): void } {
  const { reader, writer, ports, owner, alarms, bonds, sums, isAlive, blobKey, told, watchOthers, confirm } = parts;
  const known = new Map<StreamId, Known>();
  const macs: QuestionMacs = questionMacs(blobKey);
  const met = headsMet(reader);
  const held = new Map<SessionId, Epoch>();
  const onlookers = new Set<(stream: StreamId | null) => void>();
  let last = reader.writerHead(owner.writer);
  let tried: Digest | null = null;
  let stopped: Fault | null = null;
  let queue: Waiting[] = [];
  let busy = false;

  const check = (): void => {
    mustBeTrusted(alarms);
    if (stopped !== null) throw new FaultError(stopped);
  };
  function load(stream: StreamId): Known {
    const head = reader.stream(stream)?.head ?? EMPTY_STREAM;
    met.check(stream, head);
    if (head.seq > 0) reader.seals.prove({ stream, seq: head.seq, entryHash: head.hash }); // nothing is chained to what nobody sealed
    const fresh: Known = isSessionStream(stream)
      ? {
          head,
          summary: reader.session(stream),
          questions: reader.questions.ofSession(stream),
          unknowns: reader.unknowns.ofSession(stream),
        }
      : { head, summary: null, questions: NOTHING_WAITS, unknowns: NOTHING_UNKNOWN };
    met.note(stream, head);
    known.set(stream, fresh);
    return fresh;
  }

  type Ahead = Map<StreamId, Known>;

  /** An append and the sessions that begin with it: written together or not at all. */
  function seal(append: Append, ahead: Ahead): readonly SealedAppend[] | "later" {
    const { tells = [], opens = [], unlessHalted } = append;
    const before = new Map(ahead);
    const own = sealStream({ ...append, begins: false }, ahead);
    if (own === "later") return own;
    try {
      const begun = opens.map(({ session, events }) => {
        const begin = { stream: session, after: seq(0), hold: null, events, consumes: [], unlessHalted, begins: true };
        const sealed = sealStream(begin, ahead);
        if (sealed === "later") throw new FaultError({ kind: "append-conflict", stream: session, expected: seq(0), found: seq(0) });
        return sealed;
      });
      return [{ ...own, tells: tells.map((intent) => ({ id: intent.id, session: intent.session, intent: canonical(intent) })) }, ...begun];
    } catch (error) {
      ahead.clear(); // nothing of it is written: those after it are not to see it
      for (const [stream, known] of before) ahead.set(stream, known);
      throw error;
    }
  }

  /** `ahead` is what the appends before this one, in the same batch, will have made of their streams. */
  function sealStream(append: Append & { readonly begins: boolean }, ahead: Ahead): SealedAppend | "later" {
    const { stream, after, hold, events, consumes, unlessHalted, begins } = append;
    // looked at once more in the transaction: this spares those that wait with it a second sealing
    const moved = append.counts?.unless.find((read) => reader.counted({ ...read, hour: read.day }).day !== read.seen);
    if (moved !== undefined) throw new FaultError({ kind: "counters-moved", counter: moved.name });
    const isSession = isSessionStream(stream);
    if (isSession && !begins && (hold?.session !== stream || held.get(stream) !== hold.epoch))
      throw new FaultError({ kind: "hold-lost", session: stream, epoch: hold?.epoch ?? epoch(0) });
    const forgets = events.flatMap(({ event: e }) => (e.kind === "content.erased" && isSessionStream(e.stream) ? [e.stream] : []));
    if (forgets.some((one) => ahead.has(one))) return "later"; // what is forgotten is what those before it have left
    if (ahead.has(stream) && events.some(({ event }) => leavesUnknown(event) || setsAside(event))) return "later"; // it looks back at what those before it write
    let { head, summary, questions, unknowns } = ahead.get(stream) ?? known.get(stream) ?? load(stream);
    if (head.seq !== after) {
      if (ahead.has(stream)) return "later"; // whether it conflicts is known when those before it are written, or refused
      ({ head, summary, questions, unknowns } = load(stream)); // another process may have written meanwhile
    }
    if (head.seq !== after) throw new FaultError({ kind: "append-conflict", stream, expected: after, found: head.seq });
    const blobs: NewBlob[] = [];
    const entries = sealEntries(stream, head, events, ports, (text): BlobRef => {
      const address = createHmac("sha256", blobKey).update(text).digest("hex");
      blobs.push({ address, text });
      return { address, sha256: sha256(text), chars: text.length };
    });
    const end = entries.at(-1);
    if (end === undefined) throw new RangeError("an append has at least one event");
    const line = isSession ? summariseSealed(summary, entries, events) : null;
    const sealed = events.map(({ event }, i) => ({ at: entries[i]?.at ?? end.at, event }));
    const waiting = line === null ? NOTHING_WAITS : foldQuestions(questions, line.session, line.agent, sealed);
    const open = line === null ? NOTHING_UNKNOWN : foldUnknowns(unknowns, line.session, sealed, () => reader.newestFirst(stream));
    const value = line === null ? null : withQuestions(line, waiting.size);
    ahead.set(stream, { head: { seq: end.seq, hash: end.entryHash, at: end.at }, summary: value, questions: waiting, unknowns: open });
    const listed = value !== null && (summary === null || summary.state !== value.state || summary.agent !== value.agent);
    const under = isSession && hold !== null ? hold.epoch : null;
    const asked = macs.change(questions, waiting);
    const forgotten = forgets.map((one) => ({
      questions: macs.change(reader.questions.ofSession(one), NOTHING_WAITS).moves,
      unknowns: sums.delta(reader.unknowns.ofSession(one), NOTHING_UNKNOWN),
    }));
    return {
      stream,
      head,
      epoch: under,
      begins,
      entries,
      blobs,
      consumes,
      tells: [],
      unlessHalted,
      halts: haltsIn(events),
      claims: collectClaims(events),
      counts: append.counts ?? null,
      known: events.flatMap(({ event }) => knownChanges(event)),
      summary: value === null ? null : { value, listed },
      questions: line === null ? NO_QUESTION_ROWS : asked.rows,
      unknowns: unknownChanges(unknowns, open),
      moves: addMoves([{ questions: asked.moves, unknowns: sums.delta(unknowns, open) }, ...forgotten]),
      forgets,
      deadLetters: line === null ? NO_CHANGES : deadLetterChanges(line.session, line.agent, sealed, () => reader.newestFirst(stream)),
    };
  }

  /** Seals and writes what can be; an append that the database refuses is told so, and the others are sealed again without it. */
  async function commit(batch: readonly Waiting[]): Promise<void> {
    for (let left = batch; left.length > 0; ) {
      const ahead = new Map<StreamId, Known>();
      const appends: SealedAppend[] = [];
      const whose: Waiting[] = []; // of each of them
      const firsts = new Map<Waiting, Seq>();
      const later: Waiting[] = [];
      for (const w of left) {
        try {
          const sealed = seal(w.append, ahead);
          if (sealed === "later") {
            later.push(w);
            continue;
          }
          appends.push(...sealed);
          whose.push(...sealed.map(() => w));
          firsts.set(w, sealed[0]?.entries[0]?.seq ?? seq(0));
        } catch (error) {
          if (isFault(error, "journal-unreadable")) throw error; // not this append's own trouble: nothing can be written on what cannot be read
          w.failed(error);
        }
      }
      if (appends.length === 0) return;
      const entries = appends.map((a) => a.entries);
      const at = millis(entries.reduce((latest, es) => Math.max(latest, es.at(-1)?.at ?? 0), 0));
      const moves = addMoves(appends.map((a) => a.moves));
      const seen = [...bonds.toSay(last.number + 1), ...sums.toSay(last.number + 1, moves)];
      const sealed = sealCommit(last, at, entries, ports, seen);
      tried = sealed.hash;
      const answer = writer.commit({ appends, commit: sealed, owner });
      const result = answer instanceof Promise ? await answer : answer;
      if (result.kind === "done") {
        confirm();
        last = { number: sealed.number, hash: sealed.hash };
        bonds.said(seen);
        sums.said(moves);
        reader.seals.vouch(appends.flatMap((a) => a.entries.map((e) => e.entryHash)));
        for (const [stream, now] of ahead) {
          met.note(stream, now.head);
          if (!isSessionStream(stream) || held.has(stream)) known.set(stream, now);
        }
        for (const { forgets } of appends) for (const session of forgets) known.delete(session); // its rows are gone with it
        for (const [w, first] of firsts) w.done(first);
        for (const { tells } of appends) for (const { session } of tells) told(session);
        for (const stream of ahead.keys()) for (const look of [...onlookers]) look(stream);
        left = later;
        continue;
      }
      for (const stream of ahead.keys()) known.delete(stream);
      const refused = whose[result.index];
      refused?.failed(new FaultError(result.fault));
      left = left.filter((w) => w !== refused && (firsts.has(w) || later.includes(w)));
    }
  }

  /** A commit that stands in the place of this writer's next one, and is not what this process sealed. */
  function doubtOwnChain(): void {
    const found = orNull(() => reader.writerHead(owner.writer));
    if (found === null || found.hash === last.hash || found.hash === tried) return;
    alarms.raise(`commit ${found.number} of writer \`${owner.writer}\``, "it was written under this writer's name by somebody else");
  }

  async function flush(): Promise<void> {
    const batch = queue;
    queue = [];
    busy = true;
    try {
      await commit(batch);
    } catch (error) {
      doubtOwnChain();
      const fault = error instanceof FaultError ? error.fault : ({ kind: "journal-unwritable", detail: errorMessage(error) } as const);
      // what is wrong with the journal is an alarm, and nothing was written: once that is over, so is this
      if (fault.kind !== "entry-bad" && fault.kind !== "commit-bad") stopped ??= fault;
      // Those that were told already do not hear this: a promise settles once.
      for (const w of [...batch, ...queue.splice(0)]) w.failed(new FaultError(stopped ?? fault, error));
    }
    busy = false;
    if (queue.length > 0) schedule();
  }
  const schedule = (): void => void setImmediate(() => void flush());

  return {
    check,
    writer: owner.writer,
    append: (append) =>
      new Promise<Seq>((done, failed) => {
        check();
        if (queue.push({ append, done, failed }) === 1 && !busy) schedule();
      }),
    ...readingPart(reader),
    unknownsLike(sought) {
      sums.check();
      return reader.unknowns.like(sought);
    },
    async take(session) {
      check();
      for (;;) {
        const hold = reader.stream(session)?.hold;
        if (hold !== undefined && isAlive(hold))
          throw new FaultError({ kind: "session-held", session, by: `writer \`${hold.holder}\` (process ${hold.pid})` });
        const taken = await writer.take({ session, seen: hold?.epoch ?? epoch(0), owner });
        if (taken === null) continue; // somebody else was first: look again
        held.set(session, taken);
        load(session);
        return { session, epoch: taken };
      }
    },
    async release(hold) {
      if (held.get(hold.session) !== hold.epoch) return;
      held.delete(hold.session);
      known.delete(hold.session);
      await writer.release(hold.session, hold.epoch, owner);
    },
    watch(changed) {
      const look = (stream: StreamId | null): void => {
        try {
          changed(stream);
        } catch {
          // an onlooker's error is its own: what is written does not depend on who looks
        }
      };
      onlookers.add(look);
      const stop = watchOthers(() => look(null));
      return () => {
        onlookers.delete(look);
        stop();
      };
    },
    async keepCounts(names, now) {
      check();
      reader.proveToBeCounted(names, now);
      await writer.keepCounts(names, now);
    },
    holds: (hold: Hold) => stopped === null && held.get(hold.session) === hold.epoch && alarms.standing().length === 0,
    async close() {
      while (busy || queue.length > 0) await nextTurn();
      stopped ??= { kind: "journal-unwritable", detail: "it is closed" };
    },
  };
}

const MOST_MET = 20_000;

/** Where streams ended when this process last wrote or loaded them: none of them goes back (J-22). */
function headsMet({ hashAt, seals }: Pick<SqliteReader, "hashAt" | "seals">) {
  const met = new Map<StreamId, Pick<StreamHead, "seq" | "hash">>();
  return {
    check(stream: StreamId, head: StreamHead): void {
      const before = met.get(stream);
      if (before === undefined || before.hash === head.hash || (before.seq < head.seq && hashAt(stream, before.seq) === before.hash))
        return;
      seals.alarms.raise(`entry ${before.seq} of stream \`${stream}\``, GONE);
      throw new FaultError({ kind: "entry-bad", stream, seq: before.seq, detail: GONE });
    },
    note(stream: StreamId, { seq: at, hash }: StreamHead): void {
      met.delete(stream); // the newest last
      if (at > 0) met.set(stream, { seq: at, hash });
      for (const oldest of met.keys()) {
        if (met.size <= MOST_MET) return;
        met.delete(oldest);
      }
    },
  };
}

/** A table that is gone, or a trigger or view that is not ours: what is made again or changed behind our back hides something. */
function raiseStrange(db: DatabaseSync, alarms: Alarms): void {
  for (const { what, detail } of findStrangeSchema(db)) alarms.raise(what, detail);
}

/** What is known to be wrong is told with what to do about it. */
function orDoubted<T>(standing: Alarms | null, open: () => T): T {
  try {
    return open();
  } catch (error) {
    if (standing !== null) mustBeTrusted(standing);
    throw error;
  }
}

function orNull<T>(look: () => T): T | null {
  try {
    return look();
  } catch {
    return null; // the file cannot be read: whatever failed before is what is told
  }
}

/** Throws while an alarm stands. */
function mustBeTrusted(alarms: Alarms): void {
  const [alarm] = alarms.standing();
  if (alarm !== undefined) throw new FaultError({ kind: "journal-doubted", what: alarm.what, detail: alarm.detail });
}

const withoutCheck = ({ check: _, ...journal }: Journal & { check(): void }): Journal => journal;

function readingPart(reader: SqliteReader): Omit<ReadStore["journal"], "watch"> {
  return {
    async read(stream, after, most) {
      const entries: Entry[] = [];
      for (let from = after; entries.length < most; ) {
        const chunk = reader.chunk(stream, from, most - entries.length);
        for (const entry of chunk.entries) entries.push(entry);
        if (chunk.end) break;
        from = entries.at(-1)?.seq ?? from;
        if (entries.length < most) await nextTurn(); // a long history does not keep others waiting
      }
      return entries;
    },
    hashAt: async (stream, at) => reader.hashAt(stream, at),
    session: async (session) => reader.session(session),
    find: async (external) => reader.find(external),
    sessions: async (page) => reader.sessions(page),
    questions: async (page) => reader.questions.page(page),
    question: async (approval) => reader.questions.byId(approval),
    unknownsLike: (sought) => reader.unknowns.like(sought),
    counted: (sought) => reader.counted(sought),
    isKnown: (set, values, cased) => reader.known.has(set, values, cased),
    known: async (page) => reader.known.page(page),
    deadLetters: async (page) => reader.deadLetters.page(page),
    streams: async (prefix) => reader.streams(prefix),
    tail: async (after, most) => reader.tail(after, most),
    position: async () => reader.position(),
  };
}

/** One moment of the database: whoever writes meanwhile is not seen. */
function wrongRows(db: DatabaseSync, { records }: SqliteReader, now: number): readonly string[] {
  db.exec("BEGIN");
  try {
    return [
      ...findWrongTables(db, records),
      ...findWrongCounts(db, records, now).map((name) => `counter ${name}`),
      ...findWrongTrustedSets(db, records).map((set) => `set ${set}`),
    ];
  } finally {
    if (db.isTransaction) db.exec("COMMIT");
  }
}

const nextTurn = (): Promise<void> => new Promise((resume) => setImmediate(resume));

function headOf(reader: SqliteReader): Head {
  return new Map([...reader.records.writers()].map((writer) => [writer, reader.writerHead(writer)]));
}

/** `owner` is null for one who only looks, and has no slot. */
type Beholder = Readonly<{ owner: Owner | null; reader: SqliteReader; slots: string }>;

function holderOf(session: SessionId, at: Beholder): Holder | null {
  const hold = at.reader.stream(session)?.hold;
  return hold === undefined ? null : livingHolder(hold, at);
}

function holdersOf(sessions: readonly SessionId[], at: Beholder): ReadonlyMap<SessionId, Holder> {
  const held = at.reader.held(sessions);
  const living = sessions.flatMap((session): readonly (readonly [SessionId, Holder])[] => {
    const hold = held.get(session);
    const holder = hold === undefined ? null : livingHolder(hold, at);
    return holder === null ? [] : [[session, holder]];
  });
  return new Map(living);
}

const livingHolder = (hold: HoldRow, at: Beholder): Holder | null =>
  hold.holder !== null && isHolderAlive(hold, at) ? { writer: hold.holder, pid: hold.pid } : null;

/** A hold is valid exactly while its slot is locked by the very process that took the hold. */
function isHolderAlive(hold: HoldRow, at: Beholder): boolean {
  if (hold.holder === null) return false;
  if (hold.holder === at.owner?.writer) return hold.incarnation === at.owner.incarnation;
  return hold.incarnation === at.reader.incarnation(hold.holder) && isSlotHeld(at.slots, hold.holder);
}

/** Each taking of a slot has a number, so that holds of a process that ended are not taken for those of the next one in its slot. */
function nextIncarnation(db: DatabaseSync, writer: WriterId): number {
  const next = db.prepare(
    "INSERT INTO writers (writer, incarnation) VALUES (?, 1) ON CONFLICT DO UPDATE SET incarnation = incarnation + 1 RETURNING incarnation",
  );
  return Number(next.get(writer)?.incarnation);
}

function closingOnError<T>(db: DatabaseSync, step: () => T): T {
  try {
    return step();
  } catch (error) {
    db.close();
    throw error;
  }
}

/** 128 random bits each, fetched many at a time. */
function saltSource(): () => string {
  let pool = "";
  let at = 0;
  return () => {
    if (at >= pool.length) {
      pool = randomBytes(4_096).toString("hex");
      at = 0;
    }
    at += 32;
    return pool.slice(at - 32, at);
  };
}

/** What these events halt or let go on; the writer keeps it in the transaction that writes them. */
const haltsIn = (events: Append["events"]): SealedAppend["halts"] =>
  events.flatMap(({ event: e }) =>
    e.kind === "work.halted" || e.kind === "work.resumed" ? [{ scope: e.scope, on: e.kind === "work.halted" }] : [],
  );
