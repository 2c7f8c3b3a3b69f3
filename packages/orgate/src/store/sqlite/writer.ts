/**
 * All that writes to the journal's database, synchronously, on one connection: in the main thread, or behind `worker.ts`.
 * Entries arrive sealed. Each write is conditional on what its sealer saw, checked inside the transaction, because other processes write too.
 */

import type { DatabaseSync } from "node:sqlite";
import type {
  DeadLetterChanges,
  Records,
  SessionSummary,
  StoredCommit,
  StoredEntry,
  StreamHead,
  TrustedValueChange,
  UnknownChanges,
} from "@orgate/core/journal";
import {
  type Epoch,
  epoch,
  type Fault,
  FaultError,
  type IntentId,
  isSessionStream,
  type Seq,
  type SessionId,
  type StreamId,
  seq,
  type WriterId,
  ZERO,
} from "@orgate/core/vocab";
import { errorMessage } from "../../node/error-message.ts";
import { type NewBlob, openBlobs } from "./blobs.ts";
import { type Claims, claimWriter } from "./claims.ts";
import { type AppendCounts, type CountWriter, countWriter, rebuildCounts } from "./counts.ts";
import { deadLetterWriter } from "./dead-letters.ts";
import { guardDatabase } from "./files.ts";
import { type CountPart, countKeys, openCountLedger } from "./proof/count-proof.ts";
import type { QuestionRows } from "./proof/question-proof.ts";
import type { Moves } from "./proof/sums.ts";
import { type QuestionWriter, questionWriter } from "./questions.ts";
import { openReader } from "./reader.ts";
import { type DatabasePaths, withWriteFaults } from "./schema.ts";
import { rebuildTrustedValues, trustedValueWriter } from "./trusted-values.ts";
import { unknownWriter } from "./unknowns.ts";

/** A process in its slot: what a hold row names. */
export type Owner = Readonly<{ writer: WriterId; incarnation: number; pid: number }>;

export type SealedAppend = Readonly<{
  stream: StreamId;
  head: Pick<StreamHead, "seq" | "hash">;
  /** Null for a stream that nobody holds: one that belongs to no session, or a session that begins here and now. */
  epoch: Epoch | null;
  begins: boolean;
  entries: readonly StoredEntry[];
  blobs: readonly NewBlob[];
  consumes: readonly IntentId[];
  tells: readonly Readonly<{ id: IntentId; session: SessionId; intent: string }>[];
  unlessHalted: readonly string[];
  /** What this append halts or lets go on; null for both: nothing. */
  halts: readonly Readonly<{ scope: string; on: boolean }>[];
  claims: Claims;
  counts: AppendCounts | null;
  known: readonly TrustedValueChange[];
  /** Null for a stream that is not a session's. `listed` says whether what lists filter by has changed. */
  summary: Readonly<{ value: SessionSummary; listed: boolean }> | null;
  questions: QuestionRows;
  unknowns: UnknownChanges;
  /** By how much that moves the sums over these tables (`sums.ts`). */
  moves: Moves;
  /** Sessions whose open unknowns and approval requests are forgotten, because what they say is to be erased. */
  forgets: readonly SessionId[];
  deadLetters: DeadLetterChanges;
}>;
export type Batch = Readonly<{ appends: readonly SealedAppend[]; commit: StoredCommit; owner: Owner }>;
/** `refused`: nothing was written; the append at `index` cannot be, and why. */
export type BatchResult = Readonly<{ kind: "done" } | { kind: "refused"; index: number; fault: Fault }>;

export type TakeHold = Readonly<{ session: SessionId; seen: Epoch; owner: Owner }>;
export type ErasedRange = Readonly<{ stream: StreamId; first: Seq; last: Seq; waitMs: number }>;
/** `truncated` is false when a reader held up the last step: old pages can still be found in the WAL until it is gone. */
export type Erased = Readonly<{ entries: number; blobs: number; files: number; intents: number; truncated: boolean }>;

export type SqliteWriter = Readonly<{
  commit(batch: Batch): BatchResult;
  /** Null when the hold is not what was seen any more. */
  take(take: TakeHold): Epoch | null;
  release(session: SessionId, at: Epoch, owner: Owner): void;
  put(id: IntentId, session: SessionId, intent: string): "new" | "known";
  erase(erasure: ErasedRange): Erased;
  keepCounts(names: readonly string[], now: number): void;
  /** Throws unless the file takes a transaction, down to the disk; nothing of it changes. */
  probe(): void;
  close(): void;
}>;

/** What a writer that commits needs to seal counters: the project's blob key, and where its own commits end. */
export type Counting = Readonly<{ key: string | Uint8Array; start: CountPart }>;

/** `counting` is null for whoever only puts intents. */
export function openWriter(db: DatabaseSync, places: DatabasePaths, counting: Counting | null): SqliteWriter {
  const files = guardDatabase(places.database);
  rebuildCounts(db);
  const records = (): Records => openReader(db, places).records;
  const counter = counting === null ? null : openCounter(db, counting);
  const counts = (): CountWriter => counter ?? missingKey();
  const blobs = openBlobs(db, places.blobs);
  let questions: QuestionWriter | null = null; // a process that only puts intents may have no table of this form (`rebuildQuestions`)
  const questionRows = (): QuestionWriter => (questions ??= questionWriter(db));
  const unknowns = unknownWriter(db);
  const deadLetters = deadLetterWriter(db);
  const claim = claimWriter(db);
  rebuildTrustedValues(db, records);
  const known = trustedValueWriter(db);
  const begin = db.prepare("BEGIN IMMEDIATE");
  const commitNow = db.prepare("COMMIT");
  const headOf = db.prepare("SELECT seq, hash, epoch, holder, incarnation FROM streams WHERE stream = ?");
  const moveHead = db.prepare("UPDATE streams SET seq = ?, hash = ?, at = ? WHERE stream = ? AND seq = ? AND hash = ?");
  const moveHeldHead = db.prepare(
    "UPDATE streams SET seq = ?, hash = ?, at = ? WHERE stream = ? AND seq = ? AND hash = ? AND epoch = ? AND holder = ? AND incarnation = ?",
  );
  const newStream = db.prepare("INSERT OR IGNORE INTO streams (stream, seq, hash, at, epoch) VALUES (?, ?, ?, ?, 0)");
  const addEntry = db.prepare("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  const addCommit = db.prepare(
    "INSERT INTO commits (writer, number, at, previous, ranges, root, hash, key, signature, seen, counts) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
  );
  const consume = db.prepare("UPDATE inbox SET taken = 1, intent = NULL WHERE id = ? AND session = ? AND taken = 0");
  const listSession = db.prepare("INSERT OR REPLACE INTO sessions VALUES (?, ?, ?, ?, ?)");
  const endErased = db.prepare(
    `UPDATE sessions SET state = 'closed', summary = json_set(summary, '$.title', NULL, '$.state', 'closed', '$.openQuestions', 0,
     '$.openUnknowns', 0, '$.children', json('[]')) WHERE session = ?`,
  );
  const touchSession = db.prepare("UPDATE sessions SET summary = ? WHERE session = ?");
  const takeHold = db.prepare(
    `INSERT INTO streams (stream, seq, hash, at, epoch, holder, incarnation, pid) VALUES (?, 0, '${ZERO}', 0, 1, ?, ?, ?)
     ON CONFLICT DO UPDATE SET epoch = epoch + 1, holder = excluded.holder, incarnation = excluded.incarnation, pid = excluded.pid
     WHERE epoch = ? RETURNING epoch`,
  );
  const freeHold = db.prepare(
    "UPDATE streams SET holder = NULL, incarnation = NULL, pid = NULL WHERE stream = ? AND epoch = ? AND holder = ? AND incarnation = ?",
  );
  const anyHalt = db.prepare("SELECT 1 FROM halts LIMIT 1");
  const isHalted = db.prepare("SELECT 1 FROM halts WHERE scope = ?");
  const halt = db.prepare("INSERT OR IGNORE INTO halts VALUES (?)");
  const letGoOn = db.prepare("DELETE FROM halts WHERE scope = ? OR ? = 'all'");
  const putIntent = db.prepare("INSERT OR IGNORE INTO inbox (id, session, intent, taken, arrived_at) VALUES (?, ?, ?, 0, ?)");
  const payloads = db.prepare("SELECT payload FROM entries WHERE stream = ? AND seq BETWEEN ? AND ? AND payload LIKE '%\"$blob\"%'");
  const erasePayloads = db.prepare(
    "UPDATE entries SET payload = NULL, salt = NULL WHERE stream = ? AND seq BETWEEN ? AND ? AND payload IS NOT NULL",
  );
  const dropIntents = db.prepare("UPDATE inbox SET taken = 1, intent = NULL WHERE session = ? AND intent IS NOT NULL");

  /** What was committed counts only in files that others will read (J-3). A WAL that is merely unlinked is brought into the database first: it holds what was done. */
  function confirm(): void {
    try {
      files.check();
    } catch (error) {
      if (files.isWalGone()) rescue(db);
      throw error;
    }
  }

  function transaction<T>(work: () => T): T {
    try {
      begin.run();
      const result = work();
      commitNow.run();
      confirm();
      return result;
    } catch (error) {
      // On a full disk SQLite has rolled back by itself.
      if (db.isTransaction) db.exec("ROLLBACK");
      if (error instanceof FaultError || error instanceof Refused) throw error;
      throw new FaultError({ kind: "journal-unwritable", detail: errorMessage(error) }, error);
    }
  }

  function writeAppend(a: SealedAppend, index: number, { commit, owner }: Batch): void {
    const last = a.entries.at(-1);
    if (last === undefined) throw new RangeError("an append has at least one event");
    const begin = (): boolean => newStream.run(a.stream, last.seq, last.entryHash, last.at).changes === 1;
    const moved = a.begins
      ? begin() // a row that is there already, if only for its hold, is somebody else's session
      : a.epoch === null
        ? moveHead.run(last.seq, last.entryHash, last.at, a.stream, a.head.seq, a.head.hash).changes === 1 || (a.head.seq === 0 && begin())
        : moveHeldHead.run(last.seq, last.entryHash, last.at, a.stream, a.head.seq, a.head.hash, a.epoch, owner.writer, owner.incarnation)
            .changes === 1;
    if (!moved) throw new Refused(index, whyNot(a, owner));
    if (a.unlessHalted.length > 0 && anyHalt.get() !== undefined) {
      const scope = a.unlessHalted.find((one) => isHalted.get(one) !== undefined);
      if (scope !== undefined) throw new Refused(index, { kind: "halted", scope });
    }
    const taken = claim(a.stream, a.claims);
    if (taken !== null) throw new Refused(index, taken);
    const overtaken = a.counts === null ? null : counts().add(a.counts);
    if (overtaken !== null) throw new Refused(index, overtaken);
    for (const { scope, on } of a.halts) on ? halt.run(scope) : letGoOn.run(scope, scope);
    for (const id of a.consumes) {
      if (consume.run(id, a.stream).changes === 1) continue;
      throw new Refused(index, { kind: "intent-refused", intent: id, detail: `intent \`${id}\` is not pending` });
    }
    for (const { id, session, intent } of a.tells) putIntent.run(id, session, intent, Date.now());
    for (const blob of a.blobs) blobs.add(blob);
    for (const session of a.forgets) {
      unknowns.forget(session);
      questionRows().forget(session);
    }
    if (a.known.length > 0) known.keep(a.stream, last.at, a.known);
    for (const e of a.entries)
      addEntry.run(e.stream, e.seq, e.at, e.kind, e.previous, e.payloadHash, e.entryHash, e.salt, e.payload, commit.writer, commit.number);
    if (a.summary !== null) {
      const { value: s, listed } = a.summary;
      const text = JSON.stringify(s);
      if (listed) listSession.run(s.session, s.state, s.agent, s.openedAt, text);
      else touchSession.run(text, s.session);
      questionRows().keep(s.session, a.questions);
      unknowns.keep(s.session, a.unknowns);
      deadLetters.keep(s.session, a.deadLetters);
    }
  }

  function whyNot({ stream, head, epoch: at, begins }: SealedAppend, owner: Owner): Fault {
    const row = headOf.get(stream);
    if (at !== null && (row?.epoch !== at || row.holder !== owner.writer || row.incarnation !== owner.incarnation))
      return { kind: "hold-lost", session: stream as SessionId, epoch: at };
    const found = seq(Number(row?.seq ?? 0));
    if (begins) return { kind: "append-conflict", stream, expected: head.seq, found };
    if (found === head.seq) return { kind: "entry-bad", stream, seq: found, detail: "it was changed underneath its writer" };
    return { kind: "append-conflict", stream, expected: head.seq, found };
  }

  return {
    commit(batch) {
      try {
        const { ledger } = counts();
        transaction(() => {
          ledger.begin();
          for (const [index, append] of batch.appends.entries()) writeAppend(append, index, batch);
          const c = batch.commit;
          addCommit.run(c.writer, c.number, c.at, c.previous, c.ranges, c.root, c.hash, c.key, c.signature, c.seen, ledger.settle(c));
        });
        ledger.done();
        return { kind: "done" };
      } catch (error) {
        if (error instanceof Refused) return { kind: "refused", index: error.index, fault: error.fault };
        throw error;
      }
    },
    take({ session, seen, owner }) {
      const row = transaction(() => takeHold.get(session, owner.writer, owner.incarnation, owner.pid, seen));
      return row === undefined ? null : epoch(Number(row.epoch));
    },
    release(session, at, owner) {
      transaction(() => freeHold.run(session, at, owner.writer, owner.incarnation));
    },
    put: (id, session, intent) => (transaction(() => putIntent.run(id, session, intent, Date.now()).changes) === 1 ? "new" : "known"),
    erase({ stream, first, last, waitMs }) {
      db.exec("PRAGMA secure_delete = ON");
      const rows = transaction(() => {
        const addresses = payloads.all(stream, first, last).flatMap((row) => blobsIn(JSON.parse(String(row.payload))));
        if (isSessionStream(stream)) {
          // it cannot go on, and what it would touch is content too; its unknowns and approval requests went with the record of the erasure
          deadLetters.forget(stream);
          endErased.run(stream); // what was said is content, whichever entry it came from; and nothing of it waits or runs any more (J-9)
        }
        known.forget(stream);
        const entries = Number(erasePayloads.run(stream, first, last).changes);
        return { entries, blobs: blobs.drop(addresses), intents: Number(dropIntents.run(stream).changes) };
      });
      // Only now: had the erasure not become durable, its files would still be needed.
      const files = transaction(() => blobs.sweep());
      return { ...rows, files, truncated: scrub(db, waitMs) };
    },
    keepCounts(names, now) {
      withWriteFaults(() => counts().keep(names, records, now));
      confirm();
    },
    probe: () => void transaction(() => db.exec("UPDATE format SET version = version")),
    close() {
      files.close();
      db.close();
    },
  };
}

function openCounter(db: DatabaseSync, { key, start }: Counting): CountWriter {
  const keys = countKeys(key);
  return countWriter(db, keys, openCountLedger(db, keys, start));
}
export function missingKey(): never {
  throw new Error("whoever commits has the project's keys");
}

function rescue(db: DatabaseSync): void {
  try {
    db.exec("PRAGMA wal_checkpoint(FULL)");
  } catch {
    // what made it necessary is what is told
  }
}

/** Rewrites the file without what was freed, and empties the WAL. False when a reader was in the way for longer than `waitMs`. */
function scrub(db: DatabaseSync, waitMs: number): boolean {
  const timeout = Number(db.prepare("PRAGMA busy_timeout").get()?.timeout);
  try {
    return withWriteFaults(() => {
      db.exec("VACUUM");
      db.exec(`PRAGMA busy_timeout = ${waitMs}`);
      return db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get()?.busy === 0;
    });
  } finally {
    db.exec(`PRAGMA busy_timeout = ${timeout}`);
  }
}

/** Addresses in a stored payload, once per reference. A key of the event's own is never `$blob` (codec.ts). */
function blobsIn(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  if ("$blob" in value) return [(value.$blob as { address: string }).address];
  return Object.values(value).flatMap(blobsIn);
}

/** Leaves a transaction that must not be written; never leaves this file. */
class Refused extends Error {
  readonly index: number;
  readonly fault: Fault;
  constructor(index: number, fault: Fault) {
    super("refused");
    this.index = index;
    this.fault = fault;
  }
}
