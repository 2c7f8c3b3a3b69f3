/**
 * 5. The journal: append-only, chained, sealed. The truth; all state is a fold of what it holds.
 * Rules: J-1, J-2, J-4.
 */
import type {
  ApprovalId,
  Digest,
  Entry,
  Epoch,
  Intent,
  IntentId,
  KeyId,
  Millis,
  PowerCut,
  RecentCounts,
  Seq,
  SessionId,
  StoredThing,
  StreamId,
  TimedEvent,
  WriterId,
} from "../vocab/index.ts";
import type { StoredEntry, StoredSeal } from "./codec.ts";
import type { Count, CountQuery, CountRead } from "./counts.ts";
import type { ListedDeadLetter } from "./dead-letters.ts";
import type { ApprovalPage, ExpiredPage, ListedApproval } from "./questions.ts";
import type { SessionSummary } from "./summary.ts";
import type { CallLikeness, OpenUnknown } from "./unknowns.ts";

/** The right to append to a session's stream and to resolve what its epoch left open. */
export type Hold = Readonly<{ session: SessionId; epoch: Epoch }>;

export type Append = Readonly<{
  stream: StreamId;
  /** The last sequence number the writer has seen; 0 for a new stream. */
  after: Seq;
  /** Required for a session's stream, null for system streams. */
  hold: Hold | null;
  events: readonly TimedEvent[];
  /** Intents that became these events: gone from the inbox in the same transaction. */
  consumes: readonly IntentId[];
  /** Refused with `halted` when one of these scopes is halted at the very moment of the commit. What starts an effect names its scopes. */
  unlessHalted: readonly string[];
  /** Sessions that begin in the same transaction: the first to take one holds it. Refused when one exists already. */
  opens?: readonly SessionStart[];
  /** Counters of these events, and counts that nobody else may have changed since they were read: refused with `counters-moved` otherwise. */
  /** `before`: buckets before this one are of no more use. */
  counts?: Readonly<{ owner: string; add: readonly Count[]; unless: readonly CountRead[]; before: number }>;
  /** Put into the inboxes of other sessions in the same transaction; one that is known already is left as it is. */
  tells?: readonly Intent[];
}>;

/** The first events of a session that nobody holds yet. */
export type SessionStart = Readonly<{ session: SessionId; events: readonly TimedEvent[] }>;

export type Journal = Readonly<{
  writer: WriterId;
  /** What a power cut may take back of what this process appends; sessions say so when they are taken. */
  powerCut: PowerCut;
  /** Resolves with the sequence number of the first event. Rejects with `append-conflict`, `hold-lost`, `halted`, `external-taken`, `grant-revoked`, `counters-moved`, `intent-refused` or `journal-unwritable`. */
  append(append: Append): Promise<Seq>;
  /** Entries after `after`, in order, chain checked, at most `most`; fewer where the stream ends. Rejects with `entry-bad` or `entry-erased`. */
  read(stream: StreamId, after: Seq, most: number): Promise<readonly Entry[]>;
  /** The hash of one entry; null where there is none. The owner of a cached fold checks by it whether the fold still fits. */
  hashAt(stream: StreamId, at: Seq): Promise<Digest | null>;
  /** Rejects with `session-held` while the process that holds it lives. */
  take(session: SessionId): Promise<Hold>;
  release(hold: Hold): Promise<void>;
  /** True while this very hold is the valid one: checked right before an effect where a hold can be lost. */
  holds(hold: Hold): boolean;
  session(session: SessionId): Promise<SessionSummary | null>;
  /** By the caller's own id, which means one session: a second with the same is refused with `external-taken`. */
  find(external: string): Promise<SessionSummary | null>;
  /** Newest first. */
  sessions(page: SessionPage): Promise<readonly SessionSummary[]>;
  /** Open approval requests of all sessions, oldest first; reads no session. */
  questions(page: ApprovalPage): Promise<readonly ListedApproval[]>;
  /** Those of them that have expired by then, the longest expired first; none that only waits is read. */
  expired(page: ExpiredPage): Promise<readonly ListedApproval[]>;
  /** Those with this id: one, unless two sessions were given the same. */
  question(approval: ApprovalId): Promise<readonly ListedApproval[]>;
  /** Open unknowns of any session that such a call looks like, oldest first, as of now: a decision is made in one go, and cannot wait. */
  unknownsLike(sought: CallLikeness): readonly OpenUnknown[];
  /** Counts of all other sessions, as of now, like `unknownsLike`. Only what is kept (`keepCounts`) is there; NaN where that time has been swept away and must be counted again. */
  counted(sought: CountQuery): RecentCounts;
  /** From now on these are counted, in every process; what the last day brought is counted from the entries. Known ones are left as they are, but for what is missing of that day. */
  keepCounts(names: readonly string[], now: Millis): Promise<void>;
  /** Is one of these a member of a trusted set of the project, as of now? In any case of letters, unless they count. */
  isKnown(set: string, values: readonly string[], cased: boolean): boolean;
  /** What a trusted source of the project last said of a thing, as of now; null for what was read for one session only. */
  recorded(type: string, key: string): StoredThing | null;
  /** By set and value, after this one. */
  known(page: TrustedValuePage): Promise<readonly TrustedValue[]>;
  /** Dead letters of any session, in the order in which they failed; reads no session. */
  deadLetters(page: ApprovalPage): Promise<readonly ListedDeadLetter[]>;
  /** Streams whose name begins so, in order of name, with the last sequence number of each. Reads no entry. */
  streams(prefix: string): Promise<readonly Readonly<{ stream: StreamId; seq: Seq }>[]>;
  /**
   * Entries that became durable in any stream after this position, in that order, at most `most`. Positions count from 1, without gaps, over all writers,
   * and never change. What is erased or bad is named in its place: one session's trouble does not keep the others from being read.
   */
  tail(after: Position, most: number): Promise<readonly WrittenEntry[]>;
  /** The last one; 0 before the first entry. */
  position(): Promise<Position>;
  /** Where an entry of a stream stands in the journal; null where there is none. */
  positionOf(stream: StreamId, at: Seq): Promise<Position | null>;
  /**
   * Calls back when something may have been appended, with the stream, or null when another process wrote (at most 100 ms late). Returns the way to stop.
   * `only`: whoever wants to hear of one stream; writes elsewhere need not wake it.
   */
  watch(changed: (stream: StreamId | null) => void, only?: StreamId): () => void;
  close(): Promise<void>;
}>;

/** `from` is the stream that says so: a session whose tool learnt it, or that of the people who added it. */
export type TrustedValue = Readonly<{ set: string; value: string; from: StreamId; at: Millis }>;
export type TrustedValuePage = Readonly<{ set: string | null; after: Pick<TrustedValue, "set" | "value"> | null; most: number }>;

/** A place in the journal as a whole. */
export type Position = number;
export type WrittenEntry = Readonly<{ position: Position; stream: StreamId; seq: Seq; at: Millis }> &
  Readonly<{ kind: "entry"; entry: Entry } | { kind: "erased" } | { kind: "bad"; detail: string }>;

export type SessionPage = Readonly<{
  state: SessionSummary["state"] | null;
  agent: string | null;
  before: Readonly<{ openedAt: Millis; session: SessionId }> | null;
  most: number;
}>;

/** The stored form, for verify, export and the tamper drill. Read in short transactions, never holding up writers. */
export type Records = Readonly<{
  streams(): Iterable<StreamId>;
  entries(stream: StreamId): Iterable<StoredEntry>;
  writers(): Iterable<WriterId>;
  seals(writer: WriterId): Iterable<StoredSeal>;
  /** Null when it is missing. */
  blob(address: string): string | null;
}>;

/** Checks one signature with one public key; both as text. A host port, synchronous. */
export type CheckSignature = (publicKey: string, text: string, signature: string) => boolean;
/** The id of a public key: a short digest of it. */
export type NameKey = (publicKey: string) => KeyId;
