/** Seals appends: hashes and chains their entries, moves long texts into blobs, and derives the rows that are written with them. */
import { createHmac } from "node:crypto";
import {
  type Append,
  type BlobRef,
  computeDeadLetterChanges,
  computeUnknownChanges,
  foldPendingApprovals,
  foldUnknowns,
  isDeadLetter,
  isPlainProgress,
  isResultOnly,
  isSealedAtOnce,
  isUnknownOutcome,
  NO_OPEN_UNKNOWNS,
  NO_PENDING_APPROVALS,
  type OpenUnknowns,
  type SealPorts,
  type SessionSummary,
  type StoredEntry,
  type StreamHead,
  sealEntries,
  summariseProgress,
  summariseSealed,
  toBody,
  type PendingApprovals as WaitingQuestions,
  withPendingApprovals,
} from "@orgate/core/journal";
import {
  type Digest,
  type Epoch,
  epoch,
  type Fault,
  FaultError,
  isSessionStream,
  type Seq,
  type SessionId,
  type StreamId,
  seq,
  toCanonicalJson,
} from "@orgate/core/vocab";
import { sha256 } from "../node/crypto.ts";
import type { RowsBeside, SealedAppend } from "./sqlite/append-writer.ts";
import type { NewBlob } from "./sqlite/blobs.ts";
import { collectClaims } from "./sqlite/claims.ts";
import { isListChange } from "./sqlite/lists/sessions.ts";
import { type ApprovalMacs, NO_QUESTION_ROWS, questionMacs } from "./sqlite/proof/approval-proof.ts";
import { GONE } from "./sqlite/proof/bonds.ts";
import { appendMacs } from "./sqlite/proof/seals.ts";
import type { Moves, Sums } from "./sqlite/proof/sums.ts";
import type { SqliteReader } from "./sqlite/reader.ts";
import { placedChanges } from "./sqlite/trusted-values.ts";

const NO_CHANGES = { gone: [], put: [] } as const;
const NO_MOVES: Moves = Object.freeze({ questions: 0n, unknowns: 0n });

export type Holding = Readonly<{
  /** Takes a session for this process, with a new epoch. Rejects with `session-held`. `isHeld`: this process knows of a hold of its own. */
  take(session: SessionId, isHeld: boolean): Promise<Epoch>;
  /** False when this process may have lost what it holds without knowing. */
  isSure(): boolean;
  /** Called before `isSure` is true again. */
  onChange(listener: (change: HoldingChange) => void): void;
}>;
/** `lapsed`: others could take sessions for a while, and these are left. `lost`: this process may write nothing any more. */
export type HoldingChange = Readonly<{ kind: "lapsed"; kept: ReadonlySet<SessionId> } | { kind: "lost"; fault: Fault }>;

/** What appends and recovery read of the journal is there when these resolve, until the result is called. */
export type Fetch = Readonly<{
  streams(wanted: readonly WantedStream[]): Promise<() => void>;
  unsealed(): Promise<() => void>;
  /** How far this process knows what others have changed; an append that starts an effect rests on no less. */
  known(): number;
}>;
/** `from`: what is read of the stream begins there at the latest; 0 for all of it. */
export type WantedStream = Readonly<{ stream: StreamId; from: Seq | null }>;

/** One append as it is written, and what its commit must know of it. */
export type SealedPart = Readonly<{
  append: SealedAppend;
  entries: readonly StoredEntry[];
  /** By how much it moves the sums over the tables of requests and unknowns (`sums.ts`). */
  moves: Moves;
  isSealedAtOnce: boolean;
  /** It may reach the disk with the next append (`lose-last-result`). */
  isResultOnly: boolean;
  /** Null for a stream that is not a session's. */
  summary: SessionSummary | null;
}>;
type ListRows = Pick<RowsBeside, "listed" | "deadLetters">;
const NO_LIST_ROWS: ListRows = Object.freeze({ listed: null, deadLetters: NO_CHANGES });
type Followed = Readonly<{ stream: StreamId; events: Append["events"]; entries: readonly StoredEntry[]; end: StoredEntry }>;

const besideOf = (append: Append, blobs: readonly NewBlob[]): Omit<RowsBeside, "questions" | "unknowns" | "forgets" | keyof ListRows> => ({
  ...{ blobs, consumes: append.consumes, tells: [], counts: append.counts ?? null },
  halts: haltsIn(append.events),
  claims: collectClaims(append.events),
  known: append.events.flatMap(({ event }, i) => placedChanges(event, seq(append.after + 1 + i))),
});

/** True when an append concerns no table but its own. */
function isNothing(b: RowsBeside): boolean {
  const lists = [b.blobs, b.consumes, b.tells, b.halts, b.claims.opens, b.claims.uses, b.claims.revokes, b.known, b.forgets];
  const changes = [b.questions, b.unknowns, b.deadLetters];
  return (
    b.counts === null &&
    b.listed === null &&
    lists.every((list) => list.length === 0) &&
    changes.every(({ gone, put }) => gone.length + put.length === 0)
  );
}

function withTells(part: SealedPart, tells: NonNullable<Append["tells"]>): SealedPart {
  const rows = tells.map((intent) => ({ id: intent.id, session: intent.session, intent: toCanonicalJson(intent) }));
  return { ...part, append: { ...part.append, isCountsOnly: false, beside: { ...(part.append.beside ?? NOTHING), tells: rows } } };
}
const NOTHING: RowsBeside = Object.freeze({
  ...{ blobs: [], consumes: [], tells: [], halts: [], claims: { opens: [], uses: [], revokes: [] }, counts: null, known: [], listed: null },
  ...{ questions: NO_QUESTION_ROWS, unknowns: NO_CHANGES, forgets: [], deadLetters: NO_CHANGES },
});

const countsBeside = ({ counts }: Append): RowsBeside | null => (counts === undefined ? null : { ...NOTHING, counts });

export const sumMoves = (all: readonly Moves[]): Moves =>
  all.reduce((sum, one) => ({ questions: sum.questions + one.questions, unknowns: sum.unknowns + one.unknowns }), {
    questions: 0n,
    unknowns: 0n,
  });

/** A stream as this process last saw it. The transaction checks it, so it need not be read again for each append. */
type StreamPosition = Readonly<{ head: StreamHead; summary: SessionSummary | null; questions: WaitingQuestions; unknowns: OpenUnknowns }>;
export type StreamPositions = Map<StreamId, StreamPosition>;

type SealerParts = Readonly<{
  reader: SqliteReader;
  ports: SealPorts;
  sums: Sums;
  blobKey: string | Uint8Array;
  /** Sessions that this process holds. */
  held: ReadonlyMap<SessionId, Epoch>;
}>;

export class Sealer {
  readonly #reader: SqliteReader;
  readonly #ports: SealPorts;
  readonly #sums: Sums;
  readonly #blobKey: string | Uint8Array;
  readonly #held: ReadonlyMap<SessionId, Epoch>;
  readonly #macs: ApprovalMacs;
  readonly #macOf: (hash: Digest) => string;
  readonly #met: HeadsMet;
  readonly #known = new Map<StreamId, StreamPosition>();

  constructor({ reader, ports, sums, blobKey, held }: SealerParts) {
    this.#reader = reader;
    this.#ports = ports;
    this.#sums = sums;
    this.#blobKey = blobKey;
    this.#held = held;
    this.#macs = questionMacs(blobKey);
    this.#macOf = appendMacs(blobKey);
    this.#met = new HeadsMet(reader);
  }

  load(stream: StreamId): StreamPosition {
    const head = this.#reader.head(stream);
    this.#met.check(stream, head);
    if (head.seq > 0) this.#reader.seals.prove({ stream, seq: head.seq, hash: head.hash }); // nothing is chained to an entry that is not proved
    const fresh: StreamPosition = isSessionStream(stream)
      ? {
          head,
          summary: this.#reader.session(stream),
          questions: this.#reader.questions.ofSession(stream),
          unknowns: this.#reader.unknowns.ofSession(stream),
        }
      : { head, summary: null, questions: NO_PENDING_APPROVALS, unknowns: NO_OPEN_UNKNOWNS };
    this.#met.note(stream, head);
    this.#known.set(stream, fresh);
    return fresh;
  }

  /** What `load` reads of a stream; of an append, what it reads of streams that are not at hand. */
  wants(stream: StreamId): WantedStream {
    return { stream, from: this.#met.at(stream) };
  }
  wanted({ stream, after, events, opens = [] }: Append): readonly WantedStream[] {
    const whole = events.some(({ event }) => isUnknownOutcome(event) || isDeadLetter(event));
    const own = whole ? [{ stream, from: seq(0) }] : this.#known.get(stream)?.head.seq === after ? [] : [this.wants(stream)];
    const forgets = events.flatMap(({ event: e }) => (e.kind === "content.erased" && isSessionStream(e.stream) ? [e.stream] : []));
    return [...own, ...[...opens.map(({ session }) => session), ...forgets].map((one) => this.wants(one))];
  }

  /** An append and the sessions that begin with it: written together or not at all. */
  seal(append: Append, ahead: StreamPositions): readonly SealedPart[] | "later" {
    const { tells = [], opens = [], unlessHalted } = append;
    const before = opens.length + tells.length === 0 ? null : new Map(ahead); // nothing else can fail below
    const own = this.#sealStream({ ...append, begins: false }, ahead);
    if (own === "later") return own;
    try {
      const begun = opens.map(({ session, events }) => {
        const begin = { stream: session, after: seq(0), hold: null, events, consumes: [], unlessHalted, begins: true };
        const sealed = this.#sealStream(begin, ahead);
        if (sealed === "later") throw new FaultError({ kind: "append-conflict", stream: session, expected: seq(0), found: seq(0) });
        return sealed;
      });
      return [tells.length === 0 ? own : withTells(own, tells), ...begun];
    } catch (error) {
      ahead.clear(); // nothing of it is written: later appends of the batch must not see it
      for (const [stream, position] of before ?? []) ahead.set(stream, position);
      throw error;
    }
  }

  /** `ahead`: streams as the earlier appends of this batch will leave them. "later": it depends on what they write, so it waits for the next commit. */
  #sealStream(append: Append & { readonly begins: boolean }, ahead: StreamPositions): SealedPart | "later" {
    const { stream, after, hold, events, unlessHalted, begins } = append;
    // the transaction checks this again; an early refusal spares the rest of the batch a second sealing
    const moved = append.counts?.unless.find((read) => this.#reader.counted({ ...read, hour: read.day }).day !== read.seen);
    if (moved !== undefined) throw new FaultError({ kind: "counters-moved", counter: moved.name });
    const isSession = isSessionStream(stream);
    if (isSession && !begins && (hold?.session !== stream || this.#held.get(stream) !== hold.epoch))
      throw new FaultError({ kind: "hold-lost", session: stream, epoch: hold?.epoch ?? epoch(0) });
    const forgets = events.flatMap(({ event: e }) => (e.kind === "content.erased" && isSessionStream(e.stream) ? [e.stream] : []));
    if (forgets.some((one) => ahead.has(one))) return "later"; // it removes rows that earlier appends of the batch leave
    if (ahead.has(stream) && events.some(({ event }) => isUnknownOutcome(event) || isDeadLetter(event))) return "later"; // it reads back what earlier appends of the batch write
    let before = ahead.get(stream) ?? this.#known.get(stream) ?? this.load(stream);
    if (before.head.seq !== after) {
      if (ahead.has(stream)) return "later"; // whether it conflicts is known once the earlier appends are written or refused
      before = this.load(stream); // another process may have written meanwhile
    }
    const { head } = before;
    if (head.seq !== after) throw new FaultError({ kind: "append-conflict", stream, expected: after, found: head.seq });
    const blobs: NewBlob[] = [];
    const entries = sealEntries({ stream, head }, events, this.#ports, (text): BlobRef => {
      const address = createHmac("sha256", this.#blobKey).update(text).digest("hex");
      blobs.push({ address, text });
      return { address, sha256: sha256(text), chars: text.length };
    });
    const [first, end] = [entries[0], entries.at(-1)];
    if (first === undefined || end === undefined) throw new RangeError("an append has at least one event");
    const { position, rows } = this.#followSession(before, { stream, events, entries, end });
    ahead.set(stream, position);
    const { moves, ...changed } = this.#changesBeside(before, position, forgets);
    const isPlain =
      rows === NO_LIST_ROWS && isSession && moves === NO_MOVES && blobs.length + append.consumes.length + forgets.length === 0;
    const beside = isPlain ? countsBeside(append) : { ...besideOf(append, blobs), ...rows, ...changed, forgets };
    return {
      append: {
        ...{ stream, head, begins, unlessHalted },
        epoch: isSession && hold !== null ? hold.epoch : null,
        row: {
          first: first.seq,
          count: entries.length,
          hash: end.entryHash,
          mac: this.#macOf(end.entryHash),
          body: toBody(entries),
          at: end.at,
        },
        beside: beside === null || isNothing(beside) ? null : beside,
        isCountsOnly: isPlain && beside?.counts?.unless.length === 0,
      },
      entries,
      moves,
      isResultOnly: (append.tells ?? []).length === 0 && append.consumes.length === 0 && isResultOnly(stream, events),
      isSealedAtOnce: begins || moves.questions !== 0n || moves.unknowns !== 0n || isSealedAtOnce(stream, events),
      summary: position.summary,
    };
  }

  /** Where the append leaves its stream; of a session, what lists and queues say of it then. */
  #followSession(
    before: StreamPosition,
    { stream, events, entries, end }: Followed,
  ): Readonly<{ position: StreamPosition; rows: ListRows }> {
    const head = { seq: end.seq, hash: end.entryHash, at: end.at };
    if (before.summary !== null && before.questions.size + before.unknowns.size === 0 && isPlainProgress(events))
      return { position: { ...before, head, summary: summariseProgress(before.summary, end, events) }, rows: NO_LIST_ROWS };
    const line = isSessionStream(stream) ? summariseSealed(before.summary, entries, events) : null;
    if (line === null)
      return {
        position: { head, summary: null, questions: NO_PENDING_APPROVALS, unknowns: NO_OPEN_UNKNOWNS },
        rows: NO_LIST_ROWS,
      };
    const sealed = events.map(({ event }, i) => ({ at: entries[i]?.at ?? end.at, event }));
    const questions = foldPendingApprovals(before.questions, line.session, line.agent, sealed);
    const unknowns = foldUnknowns(before.unknowns, line.session, sealed, () => this.#reader.newestFirst(stream));
    const summary = withPendingApprovals(line, questions.size);
    const deadLetters = computeDeadLetterChanges(line.session, line.agent, sealed, () => this.#reader.newestFirst(stream));
    return {
      position: { head, summary, questions, unknowns },
      rows: { listed: isListChange(before.summary, summary) ? summary : null, deadLetters },
    };
  }

  /** Rows of open requests and unknowns, and by how much they move the sums over their tables. */
  #changesBeside(before: StreamPosition, after: StreamPosition, forgets: readonly SessionId[]) {
    if (before.questions === after.questions && before.unknowns === after.unknowns && forgets.length === 0)
      return { questions: NO_QUESTION_ROWS, unknowns: NO_CHANGES, moves: NO_MOVES };
    const asked = this.#macs.change(before.questions, after.questions);
    const forgotten = forgets.map((one) => ({
      questions: this.#macs.change(this.#reader.questions.ofSession(one), NO_PENDING_APPROVALS).moves,
      unknowns: this.#sums.delta(this.#reader.unknowns.ofSession(one), NO_OPEN_UNKNOWNS),
    }));
    return {
      questions: asked.rows,
      unknowns: computeUnknownChanges(before.unknowns, after.unknowns),
      moves: sumMoves([{ questions: asked.moves, unknowns: this.#sums.delta(before.unknowns, after.unknowns) }, ...forgotten]),
    };
  }

  /** After a commit: what it left is where the next appends begin. */
  settle(ahead: StreamPositions, forgets: readonly SessionId[]): void {
    for (const [stream, now] of ahead) {
      this.#met.note(stream, now.head);
      if (!isSessionStream(stream) || this.#held.has(stream)) this.#known.set(stream, now);
    }
    for (const session of forgets) this.#known.delete(session); // its rows are gone with it
  }

  /** The next append reads this stream from the database. */
  drop(stream: StreamId): void {
    this.#known.delete(stream);
  }
}

/** Rows of lists that an append has not written itself: one for each session, as its last append of the batch leaves it. */
export function summariesToTouch(parts: readonly SealedPart[]): readonly SessionSummary[] {
  const newest = new Map<SessionId, SealedPart>();
  for (const part of parts) if (part.summary !== null) newest.set(part.summary.session, part);
  return [...newest.values()].flatMap(({ append, summary }) => (summary === null || append.beside?.listed ? [] : [summary]));
}

const MOST_MET = 20_000;

/** Where streams ended when this process last wrote or loaded them: none of them goes back (J-22). */
class HeadsMet {
  readonly #reader: Pick<SqliteReader, "hashAt" | "seals">;
  readonly #met = new Map<StreamId, Pick<StreamHead, "seq" | "hash">>();

  constructor(reader: Pick<SqliteReader, "hashAt" | "seals">) {
    this.#reader = reader;
  }

  check(stream: StreamId, head: StreamHead): void {
    const before = this.#met.get(stream);
    if (before === undefined || before.hash === head.hash) return;
    if (before.seq < head.seq && this.#reader.hashAt(stream, before.seq) === before.hash) return;
    this.#reader.seals.alarms.raise(`entry ${before.seq} of stream \`${stream}\``, GONE);
    throw new FaultError({ kind: "entry-bad", stream, seq: before.seq, detail: GONE });
  }

  at(stream: StreamId): Seq | null {
    return this.#met.get(stream)?.seq ?? null;
  }

  note(stream: StreamId, { seq: at, hash }: StreamHead): void {
    this.#met.delete(stream); // the newest last
    if (at > 0) this.#met.set(stream, { seq: at, hash });
    for (const oldest of this.#met.keys()) {
      if (this.#met.size <= MOST_MET) return;
      this.#met.delete(oldest);
    }
  }
}

/** Halts that these events set or lift; the writer stores them in the transaction that writes the events. */
const haltsIn = (events: Append["events"]): RowsBeside["halts"] =>
  events.flatMap(({ event: e }) =>
    e.kind === "work.halted" || e.kind === "work.resumed" ? [{ scope: e.scope, on: e.kind === "work.halted" }] : [],
  );
