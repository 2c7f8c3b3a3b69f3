/** Writes one sealed append inside the transaction of its batch: its row, the conditions of writing it, and the rows of the tables beside it. */
import type { DatabaseSync } from "node:sqlite";
import type { DeadLetterChanges, SessionSummary, StreamHead, UnknownChanges } from "@orgate/core/journal";
import {
  type Digest,
  type Epoch,
  type Fault,
  type IntentId,
  type Millis,
  type Seq,
  type SessionId,
  type StreamId,
  seq,
  type WriterId,
} from "@orgate/core/vocab";
import type { Blobs, NewBlob } from "./blobs.ts";
import { type Claims, claimWriter } from "./claims.ts";
import type { AppendCounts, CountWriter } from "./counts.ts";
import type { DeadLetterWriter } from "./dead-letters.ts";
import { type ApprovalRequestWriter, questionWriter } from "./lists/approval-requests.ts";
import type { SessionWriter } from "./lists/sessions.ts";
import type { ApprovalRequestRows } from "./proof/approval-proof.ts";
import type { PlacedChange, TrustedValueWriter } from "./trusted-values.ts";
import { type UnknownWriter, unknownWriter } from "./unknowns.ts";

/** A process in its slot, as a hold row names it. */
export type Owner = Readonly<{ writer: WriterId; incarnation: number; pid: number }>;

export type SealedAppend = Readonly<{
  stream: StreamId;
  /** Where the stream must end; of a session that is held, its only writer knows. */
  head: Pick<StreamHead, "seq" | "hash">;
  /** Null for a stream that nobody holds: one that belongs to no session, or a session that begins here and now. */
  epoch: Epoch | null;
  begins: boolean;
  row: Readonly<{ first: Seq; count: number; hash: Digest; mac: string; body: string; at: Millis }>;
  unlessHalted: readonly string[];
  /** Null when no other table is concerned, as with most appends of a turn. */
  beside: RowsBeside | null;
  /** Beside it there are only counters to add to, which is nothing while nobody keeps any. */
  isCountsOnly: boolean;
}>;

/** What is written with an append, or is a condition of it, in other tables. */
export type RowsBeside = Readonly<{
  blobs: readonly NewBlob[];
  consumes: readonly IntentId[];
  tells: readonly Readonly<{ id: IntentId; session: SessionId; intent: string }>[];
  /** Scopes that this append halts (`on`) or resumes. */
  halts: readonly Readonly<{ scope: string; on: boolean }>[];
  claims: Claims;
  counts: AppendCounts | null;
  known: readonly PlacedChange[];
  /** Of a session of which something has changed that lists filter by or that is counted. */
  listed: SessionSummary | null;
  questions: ApprovalRequestRows;
  unknowns: UnknownChanges;
  /** Sessions whose open unknowns and approval requests are dropped, because their content is to be erased. */
  forgets: readonly SessionId[];
  deadLetters: DeadLetterChanges;
}>;
/** Tables that erasing touches too. */
export type AppendTables = Readonly<{
  blobs: Pick<Blobs, "add">;
  deadLetters: Pick<DeadLetterWriter, "keep">;
  sessions: Pick<SessionWriter, "list">;
  trustedValues: Pick<TrustedValueWriter, "keep">;
  counts(): Pick<CountWriter, "add">;
}>;
/** Who writes, and the number of the seal that covers it, or will. */
export type AppendBy = Readonly<{ owner: Owner; seal: number }>;

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
  write(a: SealedAppend, index: number, by: AppendBy): void {
    const halted = this.#findHalt(a);
    if (halted !== null) throw new Refused(index, halted);
    if (!this.#addRow(a, by)) throw new Refused(index, this.#explainConflict(a, by.owner));
    if (a.beside === null) return;
    this.#writeBeside(a, a.beside, index);
  }

  /** One statement, without a transaction around it: the row of a session that is held, while nothing at all is halted or counted. False: something is in the way. */
  writeAlone(a: SealedAppend, by: AppendBy): boolean {
    return this.#addHeld(a, by, { isHalted: a.unlessHalted.length > 0, isCounted: a.isCountsOnly });
  }

  isAnythingCounted(): boolean {
    return this.#sql.anyCount.get() !== undefined;
  }

  /** False if the intent was there already. */
  putIntent(id: IntentId, session: SessionId, intent: string): boolean {
    return this.#sql.putIntent.run(id, session, intent, Date.now()).changes === 1;
  }

  #addHeld({ stream, epoch, row }: SealedAppend, { owner, seal }: AppendBy, unless = NO_CONDITIONS): boolean {
    const { first, count, hash, mac, body } = row;
    const { writer, incarnation } = owner;
    const conditions = [unless.isHalted ? 1 : 0, unless.isCounted ? 1 : 0];
    return (
      this.#sql.addHeld.run(count, first, writer, seal, hash, mac, body, stream, epoch, writer, incarnation, ...conditions).changes === 1
    );
  }

  #addRow(a: SealedAppend, by: AppendBy): boolean {
    if (a.epoch !== null) return this.#addHeld(a, by);
    const { stream, head, begins, row } = a;
    const to = [row.first + row.count - 1, row.hash, row.at] as const;
    const begin = (): boolean => this.#sql.newStream.run(stream, ...to).changes === 1;
    // a row that is there already, if only for its hold, is another session
    const isMoved = begins
      ? begin()
      : this.#sql.moveHead.run(...to, stream, head.seq, head.hash).changes === 1 || (head.seq === 0 && begin());
    return (
      isMoved && this.#sql.addFree.run(row.count, row.first, by.owner.writer, by.seal, row.hash, row.mac, row.body, stream).changes === 1
    );
  }

  #writeBeside({ stream, row }: SealedAppend, b: RowsBeside, index: number): void {
    const refused = this.#claim(stream, b.claims) ?? (b.counts === null ? null : this.#tables.counts().add(b.counts));
    if (refused !== null) throw new Refused(index, refused);
    for (const { scope, on } of b.halts) on ? this.#sql.halt.run(scope) : this.#sql.resume.run(scope, scope);
    for (const id of b.consumes) {
      if (this.#sql.consume.run(id, stream).changes === 1) continue;
      throw new Refused(index, { kind: "intent-refused", intent: id, detail: `intent \`${id}\` is not pending` });
    }
    for (const { id, session, intent } of b.tells) this.putIntent(id, session, intent);
    for (const blob of b.blobs) this.#tables.blobs.add(blob);
    for (const session of b.forgets) {
      this.#unknowns.forget(session);
      this.#questionRows().forget(session);
    }
    if (b.known.length > 0) this.#tables.trustedValues.keep(stream, row.at, b.known);
    if (b.listed !== null) this.#tables.sessions.list(b.listed);
    const session = stream as SessionId; // the rest is about sessions, and empty for any other stream
    if (b.questions.gone.length + b.questions.put.length > 0) this.#questionRows().keep(session, b.questions);
    this.#unknowns.keep(session, b.unknowns);
    this.#tables.deadLetters.keep(session, b.deadLetters);
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

  #questionRows(): ApprovalRequestWriter {
    this.#questions ??= questionWriter(this.#db);
    return this.#questions;
  }
}

/** The id of the next append: where the journal's entries end, plus one. */
const NEXT_ID = "coalesce((SELECT id + count FROM appends ORDER BY id DESC LIMIT 1), 1)";
const ANY_COUNT = "SELECT 1 FROM kept_counts WHERE name > ''";
const NO_CONDITIONS = { isHalted: false, isCounted: false };
const COLUMNS = "(id, count, stream, first, writer, seal, hash, mac, body)";

const prepareAppends = (db: DatabaseSync) => ({
  headOf: db.prepare("SELECT seq, hash, epoch, holder, incarnation FROM streams WHERE stream = ?"),
  /** The fence: only the holder of the session appends, under its epoch, checked in the statement that writes. */
  addHeld: db.prepare(
    `INSERT INTO appends ${COLUMNS} SELECT ${NEXT_ID}, ?, no, ?, ?, ?, ?, ?, ? FROM streams
     WHERE stream = ? AND epoch = ? AND holder = ? AND incarnation = ? AND (? = 0 OR NOT EXISTS (SELECT 1 FROM halts)) AND (? = 0 OR NOT EXISTS (${ANY_COUNT}))`,
  ),
  addFree: db.prepare(`INSERT INTO appends ${COLUMNS} SELECT ${NEXT_ID}, ?, no, ?, ?, ?, ?, ?, ? FROM streams WHERE stream = ?`),
  moveHead: db.prepare("UPDATE streams SET seq = ?, hash = ?, at = ? WHERE stream = ? AND seq = ? AND hash = ?"),
  newStream: db.prepare("INSERT OR IGNORE INTO streams (stream, seq, hash, at, epoch) VALUES (?, ?, ?, ?, 0)"),
  consume: db.prepare("UPDATE inbox SET taken = 1, intent = NULL WHERE id = ? AND session = ? AND taken = 0"),
  putIntent: db.prepare("INSERT OR IGNORE INTO inbox (id, session, intent, taken, arrived_at) VALUES (?, ?, ?, 0, ?)"),
  anyHalt: db.prepare("SELECT 1 FROM halts LIMIT 1"),
  anyCount: db.prepare(`${ANY_COUNT} LIMIT 1`),
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
