/**
 * The contract of a project's store: what everything above it may rely on, whichever database lies below. SQLite (`journal.ts`) is the default, PostgreSQL
 * serves many machines. Whatever a database on a network cannot answer at once is asynchronous here; the four reads of a decision in progress (`unknownsLike`,
 * `counted`, `isKnown`, `holds`) are not: a store on a network answers them from its copy of these tables, and its appends are refused where that copy was old.
 */
import type {
  Head,
  Journal,
  OpenUnknown,
  OpenUnknowns,
  Position,
  Records,
  SessionSummary,
  StoredEntry,
  StoredSeal,
  Trust,
} from "@orgate/core/journal";
import type { Ports } from "@orgate/core/loop";
import type { Fault, KeyId, Millis, PowerCut, SealMode, Seq, SessionId, Sign, StreamId, WriterId } from "@orgate/core/vocab";
import type { ClusterConfig } from "../config/cluster-schema.ts";

/** Where a project's store is: in files of `directory`, or in the database of a cluster. */
export type StorePlace = Readonly<{ directory: string; cluster?: ClusterConfig | null }>;

/** Keys of the project, and the folder that they lie in: every store needs these. */
export type StoreOpening = Readonly<{
  /** Keys, sockets and local caches lie in it; with SQLite also the journal. Created when missing. */
  directory: string;
  /** Keys the addresses of blobs, so that equal texts of two projects cannot be matched. */
  blobKey: string | Uint8Array;
  /** Asked once, as soon as the process has its name as a writer. */
  keyFor: (writer: WriterId) => Readonly<{ key: KeyId; sign: Sign }>;
  /** Whose seals count. What is read is believed only under such a seal. */
  trust: (records: Records) => Trust;
}>;

/** How a store commits. */
export type CommitOptions = Readonly<{
  /** `each`: every transaction is sealed by itself. */
  sealing?: SealMode;
  /** What a power cut may take back. */
  powerCut?: PowerCut;
}>;

/** The reads of a journal: they need no slot. */
export type JournalReads = Pick<
  Journal,
  | "read"
  | "hashAt"
  | "session"
  | "find"
  | "sessions"
  | "questions"
  | "expired"
  | "question"
  | "unknownsLike"
  | "counted"
  | "isKnown"
  | "recorded"
  | "known"
  | "deadLetters"
  | "streams"
  | "tail"
  | "position"
  | "positionOf"
>;

export type StoreInbox = Ports["inbox"] &
  Readonly<{
    /** Calls back when another process has written anything; returns the way to stop. */
    watchChanges(changed: () => void): () => void;
    /** Sessions that something waits for. */
    waiting(): Promise<readonly SessionId[]>;
  }>;

/** A store that reads, and puts intents into the inbox: it writes under no name of its own. */
export type ReadStore = Readonly<{
  journal: JournalReads & Pick<Journal, "watch">;
  inbox: StoreInbox;
  /** Alarms that any process raised while it used the journal. While one stands, nothing is appended. */
  alarms: StoreAlarms;
  /** The last seal of each writer: what `verify --head` compares. */
  head(): Promise<Head>;
  /** The journal as it was stored, at one moment, for verify, export and other proofs. `of`: only this stream and what proves it is needed. */
  snapshot(of?: StreamId): Promise<Snapshot>;
  /** The living process that holds a session. Only as true as the moment: what must be sure of it takes the session. */
  holder(session: SessionId): Promise<Holder | null>;
  /** The same of many, in one look: those that a living process holds. */
  holders(sessions: readonly SessionId[]): Promise<ReadonlyMap<SessionId, Holder>>;
  /** Living processes that write: of this store, where it writes, that one among them. */
  processes(): Promise<readonly WriterProcess[]>;
  close(): Promise<void>;
}>;

export type Store = Omit<ReadStore, "journal"> &
  Readonly<{
    journal: Journal;
    /** `isNew`: nobody has written under this name yet, so its key wants certifying before the first seal of anything else. */
    slot: Readonly<{ writer: WriterId; incarnation: number; isNew: boolean }>;
    /** Open unknowns of all sessions. */
    unknowns(page: UnknownPage): Promise<readonly ListedUnknown[]>;
    unknownsOf(session: SessionId): Promise<OpenUnknowns>;
    /** How many sessions each agent has in each state, and what is open in them. */
    tally(): Promise<readonly Tally[]>;
    /** One entry as it is stored, with its seal. */
    stored(stream: StreamId, place: Seq): Promise<StoredPlace | null>;
    /** Rejects unless the journal takes writes, as far as is known without writing to it. */
    checkWritable(): Promise<void>;
    /** Removes payloads for good. The caller records it first (`content.erased`), and holds the session or knows that nobody does. */
    erase(stream: StreamId, first: Seq, last: Seq, waitMs?: number): Promise<Erased>;
    /** Tells others what this process does, and with `tell`, which is asked now and then, how it does: they list it with `processes`. */
    play(role: ProcessRole, tell?: () => Telling | null): Promise<void>;
    /** Between the processes of the project; null where they have no way to hear one another. */
    signals: Signals | null;
    /** Answers to requests, by idempotency key: every server of the project knows them. */
    requests: RequestKeys;
    /** Null where processes look for themselves what wants driving. */
    claims: SessionClaims | null;
    /** Resolves when this process can append nothing any more, with the reason; never where the store is closed in order. */
    stopped: Promise<Fault>;
    /** Everything that is durable by now is sealed when this resolves: before it is exported, or its head is kept elsewhere. */
    seal(): Promise<void>;
  }>;

/**
 * A journal in SQLite that nothing else writes to, or that is read in short transactions: the store's own files, or a copy of a database elsewhere. Every
 * tool of proof works on it, those that are not ours included.
 */
export type Snapshot = Readonly<{
  /** `journal.db` and `blobs/` lie in it: threads and other programs open it by this path. Keys do not lie here. */
  directory: string;
  records: Records;
  /** Rows beside the entries that are not what the entries make of them: `row KEY of table NAME`, `counter NAME`, `set NAME`. Empty when all is well. */
  wrongRows(now: number): readonly string[];
  /** Removes what was copied. */
  close(): Promise<void>;
}>;

/** Works on a snapshot, and removes it whatever happens. */
export async function withSnapshot<T>(
  store: Pick<ReadStore, "snapshot">,
  work: (snapshot: Snapshot) => T | Promise<T>,
  of?: StreamId,
): Promise<T> {
  const snapshot = await store.snapshot(of);
  try {
    return await work(snapshot);
  } finally {
    await snapshot.close();
  }
}

/**
 * Who drives what, among many processes: a session that wants driving and has no holder is handed to one of them for a moment. It says who looks first, and
 * nothing is safe by it: taking the session decides.
 */
export type SessionClaims = Readonly<{
  /** At most so many. `isMore`: there may be others. `nextMs`: until something is due by itself, as far as is known. */
  claim(most: number): Promise<Readonly<{ sessions: readonly SessionId[]; isMore: boolean; nextMs: number | null }>>;
  /** A session was left, or was claimed and not taken: there is nothing to do in it before `due`; null: before something happens, as far as is known. */
  leave(session: SessionId, due: Millis | null, isUntaken: boolean): Promise<void>;
  /** Makes what is missing anew, from what the journal and the inbox hold. */
  fill(): Promise<void>;
  /** Calls back when something may have become due; a call may be lost. Returns the way to stop. */
  watch(due: () => void): () => void;
}>;

/**
 * Short texts for whoever hears at this moment. Nothing of them is kept, any may be lost, and others of the same database may hear and send them too: what must
 * not be read or believed by those is sealed by the sender.
 */
export type Signals = Readonly<{
  /** The longest text, in bytes. */
  mostBytes: number;
  /** Rejects when they cannot be sent now. */
  send(texts: readonly string[]): Promise<void>;
  /** `joined`: called when there is a connection to hear by, and whenever there is a new one. What was sent before was missed. */
  hear(ear: SignalEar): () => void;
}>;
export type SignalEar = Readonly<{ heard(text: string): void; joined(): void }>;

/** `status` is null while nothing was answered for good; `body` is then how many servers are at it. */
export type KeptRequest = Readonly<{ digest: string; status: number | null; body: string }>;
export type RequestKeys = Readonly<{
  find(id: string): Promise<KeptRequest | null>;
  /** The request that the key belongs to, from now on or since before. */
  begin(id: string, digest: string, now: number): Promise<string>;
  /** The same by a server that is at it until it keeps an answer or leaves. `others`: whether others are, or were when they crashed. */
  enter(id: string, digest: string, now: number): Promise<Readonly<{ digest: string; others: boolean }>>;
  /** Without an answer for good. True: others are still at it. */
  leave(id: string): Promise<boolean>;
  /** False: there is an answer already, and it stays. */
  keep(id: string, digest: string, answer: Readonly<{ status: number; body: string }>, now: number): Promise<boolean>;
  /**
   * J-8 Removes the stored answers that name a session, for good. Their keys stay, so that the same request is not done a second time. False when a
   * reader was in the way: old pages can still be found on disk until it is gone.
   */
  erase(session: SessionId): Promise<boolean>;
}>;

/** `what` names the place (`entry 3 of stream halt`), `detail` what is wrong with it. */
export type Alarm = Readonly<{ at: number; what: string; detail: string }>;
/** `isVerified`: the journal verified then, so that the same place can only be bad again because somebody made it so; otherwise it is accepted as it is. */
export type Acknowledgement = Readonly<{ at: number; by: string; reason: string; isVerified: boolean }>;
export type StoreAlarms = Readonly<{
  /** Those that nobody has acknowledged, the first one first. */
  standing(): Promise<readonly Alarm[]>;
  /** Raised once for a place: while it stands it is not raised again. False when an operator has acknowledged this place as it is. */
  raise(what: string, detail: string): Promise<boolean>;
  acknowledge(acknowledgement: Pick<Acknowledgement, "by" | "reason"> & Partial<Acknowledgement>): Promise<readonly Alarm[]>;
}>;

/** `host` and `until` are null where the store is on one machine: a hold then lasts as long as its process. */
export type Holder = Readonly<{ writer: WriterId; pid: number | null; host: string | null; until: Millis | null }>;
/** `server`: serves and drives; `coordinator`: serves; `worker`: drives. */
export type ProcessRole = "server" | "coordinator" | "worker";
/**
 * A living process that writes. `place`: process and machine. What follows is null where there is only one machine, and nobody counts: `role`, also null for
 * a run and a program of one's own; `version`, of Orgate, also null of a process that does not tell; `holds`, how many sessions it holds; `heardMs`, how long ago it renewed its lease; `commits` since it began, and the `appends` in them as of its last renewal;
 * `figures`, as it told them then, also null of a run and of an older version.
 */
export type WriterProcess = Readonly<{
  writer: WriterId;
  place: string;
  role: ProcessRole | null;
  version: string | null;
  holds: number | null;
  heardMs: number | null;
  commits: number | null;
  appends: number | null;
  figures: ProcessFigures | null;
  /** Of the sessions that it holds, those that have been silent for longest; the time is that of their last entry. */
  quietest: readonly HeldSession[];
}>;
/** `lag`: entries of the journal that it has not followed yet. `delayMs`: how late its event loop was at most since it told before. `rssBytes`: its memory. */
export type ProcessFigures = Readonly<{ driven: number; queued: number; lag: number; delayMs: number; rssBytes: number }>;
/** What a process tells of itself; `seen`: up to where it has followed the journal. */
export type Telling = Omit<ProcessFigures, "lag"> & Readonly<{ seen: Position }>;
export type HeldSession = Readonly<{ session: SessionId; at: Millis }>;
export type ListedUnknown = OpenUnknown & Readonly<{ agent: string }>;
/** By session and call. */
export type UnknownPage = Readonly<{ after: Pick<OpenUnknown, "session" | "call"> | null; most: number }>;
/** How many sessions an agent has in one state, and what waits for people in them. */
export type Tally = Readonly<{ agent: string; state: SessionSummary["state"]; count: number; openQuestions: number; openUnknowns: number }>;
export type StoredPlace = Readonly<{ entry: StoredEntry; seal: StoredSeal | null }>;
/** `truncated` is false when a reader held up the last step: old pages can still be found on disk until it is gone. */
export type Erased = Readonly<{ entries: number; blobs: number; files: number; intents: number; truncated: boolean }>;
