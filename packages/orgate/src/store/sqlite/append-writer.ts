/** Writes one sealed append inside the transaction of its batch: head, conditions, entries, and the rows of the tables beside them. */
import type { DatabaseSync } from "node:sqlite";
import type {
  DeadLetterChanges,
  SessionSummary,
  StoredCommit,
  StoredEntry,
  StreamHead,
  TrustedValueChange,
  UnknownChanges,
} from "@orgate/core/journal";
import { type Epoch, type Fault, type IntentId, type SessionId, type StreamId, seq, type WriterId } from "@orgate/core/vocab";
import { type ApprovalRequestWriter, questionWriter } from "./approval-requests.ts";
import type { Blobs, NewBlob } from "./blobs.ts";
import { type Claims, claimWriter } from "./claims.ts";
import type { AppendCounts, CountWriter } from "./counts.ts";
import type { DeadLetterWriter } from "./dead-letters.ts";
import type { ApprovalRequestRows } from "./proof/approval-proof.ts";
import type { Moves } from "./proof/sums.ts";
import type { TrustedValueWriter } from "./trusted-values.ts";
import { type UnknownWriter, unknownWriter } from "./unknowns.ts";

/** A process in its slot, as a hold row names it. */
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
  /** Scopes that this append halts (`on`) or resumes. */
  halts: readonly Readonly<{ scope: string; on: boolean }>[];
  claims: Claims;
  counts: AppendCounts | null;
  known: readonly TrustedValueChange[];
  /** Null for a stream that is not a session's. `listed`: a column that lists filter by has changed. */
  summary: Readonly<{ value: SessionSummary; listed: boolean }> | null;
  questions: ApprovalRequestRows;
  unknowns: UnknownChanges;
  /** By how much that moves the sums over these tables (`sums.ts`). */
  moves: Moves;
  /** Sessions whose open unknowns and approval requests are dropped, because their content is to be erased. */
  forgets: readonly SessionId[];
  deadLetters: DeadLetterChanges;
}>;
/** Tables that erasing touches too. */
export type AppendTables = Readonly<{
  blobs: Pick<Blobs, "add">;
  deadLetters: Pick<DeadLetterWriter, "keep">;
  trustedValues: Pick<TrustedValueWriter, "keep">;
  counts(): Pick<CountWriter, "add">;
}>;

export class AppendWriter {
  readonly #tables: AppendTables;
  readonly #sql: ReturnType<typeof prepareAppends>;
  readonly #claim: ReturnType<typeof claimWriter>;
  readonly #unknowns: UnknownWriter;
  readonly #db: DatabaseSync;
  /** Made late: a process that only puts intents may have no table of this form (`rebuildQuestions`). */
  #questions: ApprovalRequestWriter | null = null;

  constructor(db: DatabaseSync, tables: AppendTables) {
    this.#db = db;
    this.#tables = tables;
    this.#sql = prepareAppends(db);
    this.#claim = claimWriter(db);
    this.#unknowns = unknownWriter(db);
  }

  /** Throws `Refused` when a condition of the append does not hold. */
  write(a: SealedAppend, index: number, { commit, owner }: Readonly<{ commit: StoredCommit; owner: Owner }>): void {
    const last = a.entries.at(-1);
    if (last === undefined) throw new RangeError("an append has at least one event");
    if (!this.#moveHead(a, last, owner)) throw new Refused(index, this.#explainConflict(a, owner));
    const refused =
      this.#findHalt(a) ?? this.#claim(a.stream, a.claims) ?? (a.counts === null ? null : this.#tables.counts().add(a.counts));
    if (refused !== null) throw new Refused(index, refused);
    for (const { scope, on } of a.halts) on ? this.#sql.halt.run(scope) : this.#sql.resume.run(scope, scope);
    for (const id of a.consumes) {
      if (this.#sql.consume.run(id, a.stream).changes === 1) continue;
      throw new Refused(index, { kind: "intent-refused", intent: id, detail: `intent \`${id}\` is not pending` });
    }
    for (const { id, session, intent } of a.tells) this.putIntent(id, session, intent);
    for (const blob of a.blobs) this.#tables.blobs.add(blob);
    for (const session of a.forgets) {
      this.#unknowns.forget(session);
      this.#questionRows().forget(session);
    }
    if (a.known.length > 0) this.#tables.trustedValues.keep(a.stream, last.at, a.known);
    for (const e of a.entries)
      this.#sql.addEntry.run(
        e.stream,
        e.seq,
        e.at,
        e.kind,
        e.previous,
        e.payloadHash,
        e.entryHash,
        e.salt,
        e.payload,
        commit.writer,
        commit.number,
      );
    this.#writeSummary(a);
  }

  /** False if the intent was there already. */
  putIntent(id: IntentId, session: SessionId, intent: string): boolean {
    return this.#sql.putIntent.run(id, session, intent, Date.now()).changes === 1;
  }

  #moveHead({ stream, head, epoch, begins }: SealedAppend, last: StoredEntry, owner: Owner): boolean {
    const to = [last.seq, last.entryHash, last.at] as const;
    const begin = (): boolean => this.#sql.newStream.run(stream, ...to).changes === 1;
    if (begins) return begin(); // a row that is there already, if only for its hold, is another session
    if (epoch === null) return this.#sql.moveHead.run(...to, stream, head.seq, head.hash).changes === 1 || (head.seq === 0 && begin());
    return this.#sql.moveHeldHead.run(...to, stream, head.seq, head.hash, epoch, owner.writer, owner.incarnation).changes === 1;
  }

  #explainConflict({ stream, head, epoch, begins }: SealedAppend, owner: Owner): Fault {
    const row = this.#sql.headOf.get(stream);
    if (epoch !== null && (row?.epoch !== epoch || row.holder !== owner.writer || row.incarnation !== owner.incarnation))
      return { kind: "hold-lost", session: stream as SessionId, epoch };
    const found = seq(Number(row?.seq ?? 0));
    if (!begins && found === head.seq) return { kind: "entry-bad", stream, seq: found, detail: "it was changed underneath its writer" };
    return { kind: "append-conflict", stream, expected: head.seq, found };
  }

  #findHalt({ unlessHalted }: SealedAppend): Fault | null {
    if (unlessHalted.length === 0 || this.#sql.anyHalt.get() === undefined) return null;
    const scope = unlessHalted.find((one) => this.#sql.isHalted.get(one) !== undefined);
    return scope === undefined ? null : { kind: "halted", scope };
  }

  #writeSummary(a: SealedAppend): void {
    if (a.summary === null) return;
    const { value: s, listed } = a.summary;
    const text = JSON.stringify(s);
    if (listed) this.#sql.listSession.run(s.session, s.state, s.agent, s.openedAt, text);
    else this.#sql.touchSession.run(text, s.session);
    this.#questionRows().keep(s.session, a.questions);
    this.#unknowns.keep(s.session, a.unknowns);
    this.#tables.deadLetters.keep(s.session, a.deadLetters);
  }

  #questionRows(): ApprovalRequestWriter {
    this.#questions ??= questionWriter(this.#db);
    return this.#questions;
  }
}

const prepareAppends = (db: DatabaseSync) => ({
  headOf: db.prepare("SELECT seq, hash, epoch, holder, incarnation FROM streams WHERE stream = ?"),
  moveHead: db.prepare("UPDATE streams SET seq = ?, hash = ?, at = ? WHERE stream = ? AND seq = ? AND hash = ?"),
  moveHeldHead: db.prepare(
    "UPDATE streams SET seq = ?, hash = ?, at = ? WHERE stream = ? AND seq = ? AND hash = ? AND epoch = ? AND holder = ? AND incarnation = ?",
  ),
  newStream: db.prepare("INSERT OR IGNORE INTO streams (stream, seq, hash, at, epoch) VALUES (?, ?, ?, ?, 0)"),
  addEntry: db.prepare("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"),
  consume: db.prepare("UPDATE inbox SET taken = 1, intent = NULL WHERE id = ? AND session = ? AND taken = 0"),
  putIntent: db.prepare("INSERT OR IGNORE INTO inbox (id, session, intent, taken, arrived_at) VALUES (?, ?, ?, 0, ?)"),
  listSession: db.prepare("INSERT OR REPLACE INTO sessions VALUES (?, ?, ?, ?, ?)"),
  touchSession: db.prepare("UPDATE sessions SET summary = ? WHERE session = ?"),
  anyHalt: db.prepare("SELECT 1 FROM halts LIMIT 1"),
  isHalted: db.prepare("SELECT 1 FROM halts WHERE scope = ?"),
  halt: db.prepare("INSERT OR IGNORE INTO halts VALUES (?)"),
  resume: db.prepare("DELETE FROM halts WHERE scope = ? OR ? = 'all'"),
});

/** Leaves a transaction that must not be written; `commit` catches it. */
export class Refused extends Error {
  readonly index: number;
  readonly fault: Fault;
  constructor(index: number, fault: Fault) {
    super("refused");
    this.index = index;
    this.fault = fault;
  }
}
