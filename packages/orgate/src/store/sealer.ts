/** Seals appends: hashes and chains their entries, moves long texts into blobs, and derives the rows that are written with them. */
import { createHmac } from "node:crypto";
import {
  type Append,
  type BlobRef,
  computeDeadLetterChanges,
  computeUnknownChanges,
  EMPTY_STREAM,
  foldPendingApprovals,
  foldUnknowns,
  isDeadLetter,
  isUnknownOutcome,
  listTrustedValueChanges,
  NO_OPEN_UNKNOWNS,
  NO_PENDING_APPROVALS,
  type OpenUnknowns,
  type SealPorts,
  type SessionSummary,
  type StreamHead,
  sealEntries,
  summariseSealed,
  type PendingApprovals as WaitingQuestions,
  withPendingApprovals,
} from "@orgate/core/journal";
import { type Epoch, epoch, FaultError, isSessionStream, type SessionId, type StreamId, seq, toCanonicalJson } from "@orgate/core/vocab";
import { sha256 } from "../node/crypto.ts";
import type { SealedAppend } from "./sqlite/append-writer.ts";
import type { NewBlob } from "./sqlite/blobs.ts";
import { collectClaims } from "./sqlite/claims.ts";
import { type ApprovalMacs, NO_QUESTION_ROWS, questionMacs } from "./sqlite/proof/approval-proof.ts";
import { GONE } from "./sqlite/proof/bonds.ts";
import type { Moves, Sums } from "./sqlite/proof/sums.ts";
import type { SqliteReader } from "./sqlite/reader.ts";

const NO_CHANGES = { gone: [], put: [] } as const;

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
  readonly #met: HeadsMet;
  readonly #known = new Map<StreamId, StreamPosition>();

  constructor({ reader, ports, sums, blobKey, held }: SealerParts) {
    this.#reader = reader;
    this.#ports = ports;
    this.#sums = sums;
    this.#blobKey = blobKey;
    this.#held = held;
    this.#macs = questionMacs(blobKey);
    this.#met = new HeadsMet(reader);
  }

  load(stream: StreamId): StreamPosition {
    const head = this.#reader.stream(stream)?.head ?? EMPTY_STREAM;
    this.#met.check(stream, head);
    if (head.seq > 0) this.#reader.seals.prove({ stream, seq: head.seq, entryHash: head.hash }); // nothing is chained to an entry without a seal
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

  /** An append and the sessions that begin with it: written together or not at all. */
  seal(append: Append, ahead: StreamPositions): readonly SealedAppend[] | "later" {
    const { tells = [], opens = [], unlessHalted } = append;
    const before = new Map(ahead);
    const own = this.#sealStream({ ...append, begins: false }, ahead);
    if (own === "later") return own;
    try {
      const begun = opens.map(({ session, events }) => {
        const begin = { stream: session, after: seq(0), hold: null, events, consumes: [], unlessHalted, begins: true };
        const sealed = this.#sealStream(begin, ahead);
        if (sealed === "later") throw new FaultError({ kind: "append-conflict", stream: session, expected: seq(0), found: seq(0) });
        return sealed;
      });
      return [
        { ...own, tells: tells.map((intent) => ({ id: intent.id, session: intent.session, intent: toCanonicalJson(intent) })) },
        ...begun,
      ];
    } catch (error) {
      ahead.clear(); // nothing of it is written: later appends of the batch must not see it
      for (const [stream, position] of before) ahead.set(stream, position);
      throw error;
    }
  }

  /** `ahead`: streams as the earlier appends of this batch will leave them. "later": it depends on what they write, so it waits for the next commit. */
  #sealStream(append: Append & { readonly begins: boolean }, ahead: StreamPositions): SealedAppend | "later" {
    const { stream, after, hold, events, consumes, unlessHalted, begins } = append;
    // the transaction checks this again; an early refusal spares the rest of the batch a second sealing
    const moved = append.counts?.unless.find((read) => this.#reader.counted({ ...read, hour: read.day }).day !== read.seen);
    if (moved !== undefined) throw new FaultError({ kind: "counters-moved", counter: moved.name });
    const isSession = isSessionStream(stream);
    if (isSession && !begins && (hold?.session !== stream || this.#held.get(stream) !== hold.epoch))
      throw new FaultError({ kind: "hold-lost", session: stream, epoch: hold?.epoch ?? epoch(0) });
    const forgets = events.flatMap(({ event: e }) => (e.kind === "content.erased" && isSessionStream(e.stream) ? [e.stream] : []));
    if (forgets.some((one) => ahead.has(one))) return "later"; // it removes rows that earlier appends of the batch leave
    if (ahead.has(stream) && events.some(({ event }) => isUnknownOutcome(event) || isDeadLetter(event))) return "later"; // it reads back what earlier appends of the batch write
    let { head, summary, questions, unknowns } = ahead.get(stream) ?? this.#known.get(stream) ?? this.load(stream);
    if (head.seq !== after) {
      if (ahead.has(stream)) return "later"; // whether it conflicts is known once the earlier appends are written or refused
      ({ head, summary, questions, unknowns } = this.load(stream)); // another process may have written meanwhile
    }
    if (head.seq !== after) throw new FaultError({ kind: "append-conflict", stream, expected: after, found: head.seq });
    const blobs: NewBlob[] = [];
    const entries = sealEntries({ stream, head }, events, this.#ports, (text): BlobRef => {
      const address = createHmac("sha256", this.#blobKey).update(text).digest("hex");
      blobs.push({ address, text });
      return { address, sha256: sha256(text), chars: text.length };
    });
    const end = entries.at(-1);
    if (end === undefined) throw new RangeError("an append has at least one event");
    const line = isSession ? summariseSealed(summary, entries, events) : null;
    const sealed = events.map(({ event }, i) => ({ at: entries[i]?.at ?? end.at, event }));
    const waiting = line === null ? NO_PENDING_APPROVALS : foldPendingApprovals(questions, line.session, line.agent, sealed);
    const open = line === null ? NO_OPEN_UNKNOWNS : foldUnknowns(unknowns, line.session, sealed, () => this.#reader.newestFirst(stream));
    const value = line === null ? null : withPendingApprovals(line, waiting.size);
    ahead.set(stream, { head: { seq: end.seq, hash: end.entryHash, at: end.at }, summary: value, questions: waiting, unknowns: open });
    const listed = value !== null && (summary === null || summary.state !== value.state || summary.agent !== value.agent);
    const under = isSession && hold !== null ? hold.epoch : null;
    const asked = this.#macs.change(questions, waiting);
    const forgotten = forgets.map((one) => ({
      questions: this.#macs.change(this.#reader.questions.ofSession(one), NO_PENDING_APPROVALS).moves,
      unknowns: this.#sums.delta(this.#reader.unknowns.ofSession(one), NO_OPEN_UNKNOWNS),
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
      known: events.flatMap(({ event }) => listTrustedValueChanges(event)),
      summary: value === null ? null : { value, listed },
      questions: line === null ? NO_QUESTION_ROWS : asked.rows,
      unknowns: computeUnknownChanges(unknowns, open),
      moves: sumMoves([{ questions: asked.moves, unknowns: this.#sums.delta(unknowns, open) }, ...forgotten]),
      forgets,
      deadLetters:
        line === null ? NO_CHANGES : computeDeadLetterChanges(line.session, line.agent, sealed, () => this.#reader.newestFirst(stream)),
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
const haltsIn = (events: Append["events"]): SealedAppend["halts"] =>
  events.flatMap(({ event: e }) =>
    e.kind === "work.halted" || e.kind === "work.resumed" ? [{ scope: e.scope, on: e.kind === "work.halted" }] : [],
  );
