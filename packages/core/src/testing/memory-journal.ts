/**
 * Journal, inbox and records in memory: what a test drives instead of a disk, with the same rules as every other adapter.
 * A `MemoryDisk` outlives the processes that write to it; `die()` is a kill -9: holds are free at once, what was not durable is gone.
 */
import type { Inbox } from "../inbox/port.ts";
import {
  type Append,
  type BlobRef,
  BOUND_STREAMS,
  type Count,
  type CountQuery,
  checkEnd,
  computeApprovalChanges,
  computeDeadLetterChanges,
  decodePayload,
  EMPTY_STREAM,
  findRecorded,
  foldPendingApprovals,
  foldUnknowns,
  type Hold,
  isSameCall,
  isSealedAtOnce,
  isUnknownOutcome,
  type Journal,
  type ListedApproval,
  type ListedDeadLetter,
  listCounts,
  listNewlySeen,
  listOpeningClaims,
  listTrustedValueChanges,
  makeSeal,
  NO_SEAL,
  type OpenUnknown,
  type Records,
  type SealPorts,
  type SeenPlace,
  type SessionPage,
  type SessionSummary,
  type StoredEntry,
  type StoredSeal,
  type StreamHead,
  sealEntries,
  seenName,
  sumBuckets,
  summariseSealed,
  type TrustedValue,
  toBucket,
  toBucketSpan,
  UnsealedMarks,
  unseal,
  unsealOne,
  withPendingApprovals,
} from "../journal/index.ts";
import {
  copyFrozen,
  type Digest,
  type Epoch,
  epoch,
  type Fault,
  FaultError,
  type GrantId,
  type Intent,
  type IntentId,
  isSessionStream,
  type JournalEvent,
  type Millis,
  millis,
  type RecentCounts,
  recordSet,
  type SealMode,
  type Seq,
  type SessionId,
  type StreamId,
  seq,
  type TimedEvent,
  type WriterId,
} from "../vocab/index.ts";
import { memoryInbox } from "./memory-inbox.ts";

export type HoldRow = { epoch: Epoch; owner: object | null; writer: WriterId };
/** A taken intent keeps its id, so that the same one sent again is still known (I-1). */
export type InboxRow = { readonly id: IntentId; readonly session: SessionId; intent: Intent | null; readonly arrivedAt: Millis };

/** Storage that outlives a process. Open for tests to look into and to tamper with. */
export type MemoryDisk = Readonly<{
  entries: Map<StreamId, StoredEntry[]>;
  heads: Map<StreamId, StreamHead>;
  seals: Map<WriterId, StoredSeal[]>;
  /** Ends of streams that no seal of their writer covers yet. */
  unsealed: Map<WriterId, UnsealedMarks>;
  blobs: Map<string, string>;
  sessions: Map<SessionId, SessionSummary>;
  externals: Map<string, SessionId>;
  /** Every entry of every stream, as it became durable. */
  order: { readonly stream: StreamId; readonly seq: Seq }[];
  onlookers: Set<(stream: StreamId | null) => void>;
  questions: ListedApproval[];
  unknowns: OpenUnknown[];
  deadLetters: ListedDeadLetter[];
  lastArrival: { number: number };
  holds: Map<SessionId, HoldRow>;
  inbox: Map<IntentId, InboxRow>;
  halts: Set<string>;
  known: (TrustedValue & Readonly<{ by: JournalEvent }>)[];
  /** Names that are counted, and the rows: what, by whom, in which bucket. */
  kept: Set<string>;
  counts: { readonly count: Count; readonly owner: string }[];
  revoked: Set<GrantId>;
  watchers: Set<{ readonly session: SessionId; readonly arrived: () => void }>;
  alive: Set<object>;
  /** Not null: every commit fails with this from now on, as on a full disk. */
  broken: { detail: string | null };
}>;

export function memoryDisk(): MemoryDisk {
  return {
    entries: new Map(),
    heads: new Map(),
    seals: new Map(),
    unsealed: new Map(),
    blobs: new Map(),
    sessions: new Map(),
    externals: new Map(),
    order: [],
    onlookers: new Set(),
    questions: [],
    unknowns: [],
    deadLetters: [],
    lastArrival: { number: 0 },
    holds: new Map(),
    inbox: new Map(),
    halts: new Set(),
    known: [],
    kept: new Set(),
    counts: [],
    revoked: new Set(),
    watchers: new Set(),
    alive: new Set(),
    broken: { detail: null },
  };
}

export type MemoryStore = Readonly<{ journal: Journal; inbox: Inbox; records: Records; disk: MemoryDisk; die(): void }>;

export const memoryStore = (ports: SealPorts): MemoryStore => openMemory(memoryDisk(), ports);

/** Halts are updated from their events, in the commit that writes them. */
function obey(halts: Set<string>, e: JournalEvent): void {
  if (e.kind === "work.halted") halts.add(e.scope);
  else if (e.kind === "work.resumed" && e.scope === "all") halts.clear();
  else if (e.kind === "work.resumed") halts.delete(e.scope);
}

/** In the commit of the events that ask and settle them. Returns how many of the session are open then. */
function listQuestions(disk: MemoryDisk, { session, agent }: SessionSummary, events: readonly TimedEvent[]): number {
  const before = new Map(disk.questions.filter((q) => q.session === session).map((q) => [q.approval, q]));
  const { gone, put } = computeApprovalChanges(before, foldPendingApprovals(before, session, agent, events));
  const kept = disk.questions.filter((q) => q.session !== session || !gone.includes(q.approval));
  for (const q of put) {
    const at = kept.findIndex((k) => k.session === session && k.approval === q.approval);
    if (at === -1) {
      disk.lastArrival.number += 1;
      kept.push({ ...q, arrival: disk.lastArrival.number });
    } else kept[at] = { ...q, arrival: kept[at]?.arrival ?? 0 };
  }
  disk.questions.splice(0, disk.questions.length, ...kept);
  return kept.filter((q) => q.session === session).length;
}

/** In the commit of the events that set them aside and see to them. */
function listDeadLetters(
  disk: MemoryDisk,
  { session, agent }: SessionSummary,
  events: readonly TimedEvent[],
  stored: () => readonly StoredEntry[],
): void {
  const { gone, put } = computeDeadLetterChanges(session, agent, events, () => earlierIn(disk, stored()));
  const kept = disk.deadLetters.filter((d) => d.session !== session || !gone.includes(d.call));
  for (const letter of put) {
    disk.lastArrival.number += 1;
    kept.push({ ...letter, arrival: disk.lastArrival.number });
  }
  if (gone.length + put.length > 0) disk.deadLetters.splice(0, disk.deadLetters.length, ...kept);
}

function* entriesIn(disk: MemoryDisk, stored: readonly StoredEntry[]): Iterable<TimedEvent> {
  for (const { at, kind, payload } of stored) {
    const read = payload === null ? null : decodePayload(kind, payload, (address) => disk.blobs.get(address) ?? null);
    if (read?.kind === "event") yield { at, event: read.event };
  }
}

function* earlierIn(disk: MemoryDisk, stored: readonly StoredEntry[]): Iterable<JournalEvent> {
  for (const { kind, payload } of stored) {
    const read = payload === null ? null : decodePayload(kind, payload, (address) => disk.blobs.get(address) ?? null);
    if (read?.kind === "event") yield read.event;
  }
}

/** In the commit of the events that leave and settle them. */
function listUnknowns(disk: MemoryDisk, session: SessionId, events: readonly TimedEvent[], stored: () => readonly StoredEntry[]): void {
  const before = new Map(disk.unknowns.filter((u) => u.session === session).map((u) => [u.call, u]));
  if (before.size === 0 && !events.some(({ event }) => isUnknownOutcome(event))) return;
  const open = foldUnknowns(before, session, events, () => earlierIn(disk, stored()));
  const others = disk.unknowns.filter((u) => u.session !== session);
  disk.unknowns.splice(0, disk.unknowns.length, ...others, ...open.values());
}

/** Other writers, and the streams that give authority, as they stood before these entries. */
function seenOn(disk: MemoryDisk, writer: WriterId, fresh: readonly (readonly StoredEntry[])[]): readonly SeenPlace[] {
  const streams = BOUND_STREAMS.flatMap((name): readonly SeenPlace[] => {
    const before = fresh.find(([first]) => first?.stream === name)?.[0];
    const at = before === undefined ? disk.heads.get(name) : { seq: before.seq - 1, hash: before.previous };
    return at === undefined || at.seq === 0 ? [] : [{ kind: "stream", name, number: at.seq, hash: at.hash }];
  });
  const writers = [...disk.seals].flatMap(([name, seals]): readonly SeenPlace[] => {
    const last = seals.at(-1);
    return name === writer || last === undefined ? [] : [{ kind: "writer", name, number: last.number, hash: last.hash }];
  });
  return [...streams, ...writers];
}

type Waiting = Readonly<{ append: Append; done: (first: Seq) => void; failed: (error: unknown) => void }>;

/** One process on the disk. Two that live at the same time need writers of their own. */
export function openMemory(
  disk: MemoryDisk,
  ports: SealPorts,
  now: () => Millis = () => millis(0),
  how: SealMode = "interval",
): MemoryStore {
  const me = {};
  disk.alive.add(me);
  let stopped: Fault | null = null;
  let queue: Waiting[] = [];
  const said = new Map<string, Digest>();
  const unsealed = disk.unsealed.get(ports.writer) ?? new UnsealedMarks();
  disk.unsealed.set(ports.writer, unsealed);

  function seal(fresh: readonly (readonly StoredEntry[])[], at: Millis, recovered: boolean): void {
    const seals = disk.seals.get(ports.writer) ?? [];
    const last = seals.at(-1) ?? NO_SEAL;
    const says = listNewlySeen(seenOn(disk, ports.writer, fresh), said, last.number + 1);
    seals.push(makeSeal(last, { at, wrote: unsealed.with(fresh), seen: says, recovered }, ports));
    for (const one of says) said.set(seenName(one), one.hash);
    disk.seals.set(ports.writer, seals);
    unsealed.clear();
  }
  /** What is left to seal when a session is released, the journal is closed, or a process that died has left something. */
  function sealRest(recovered: boolean): void {
    if (unsealed.isEmpty) return;
    seal([], unsealed.latest, recovered);
  }
  sealRest(true);

  const stop = (detail: string): void => {
    stopped ??= { kind: "journal-unwritable", detail };
    disk.alive.delete(me);
    for (const w of queue.splice(0)) w.failed(new FaultError(stopped));
  };
  const check = (): void => {
    if (stopped !== null) throw new FaultError(stopped);
  };

  /** All that was asked for in one tick is one commit; a conflict is told to its own append and leaves the others alone. */
  function flush(): void {
    const batch = queue;
    queue = [];
    if (batch.length === 0) return;
    if (disk.broken.detail !== null) {
      stopped ??= { kind: "journal-unwritable", detail: disk.broken.detail };
      for (const w of batch) w.failed(new FaultError(stopped));
      return;
    }
    const sealed: StoredEntry[][] = [];
    let isDue = how === "each";
    const settle: (() => void)[] = [];
    for (const w of batch) {
      try {
        const [own, ...begun] = write(w.append);
        sealed.push(own, ...begun);
        isDue ||= begun.length > 0 || isSealedAtOnce(w.append.stream, w.append.events);
        settle.push(() => {
          w.done(own[0]?.seq ?? seq(0));
          for (const { session } of w.append.tells ?? []) for (const at of [...disk.watchers]) if (at.session === session) at.arrived();
        });
      } catch (error) {
        settle.push(() => w.failed(error));
      }
    }
    if (sealed.length > 0) {
      const at = sealed.reduce((latest, entries) => millis(Math.max(latest, entries.at(-1)?.at ?? 0)), millis(0)); // a stream's time never goes back
      if (isDue || unsealed.isDue(at)) seal(sealed, at, false);
      else for (const entries of sealed) unsealed.add(entries, at);
    }
    for (const tell of settle) tell();
    if (disk.onlookers.size === 0) return;
    for (const stream of new Set(sealed.flatMap(([first]) => first?.stream ?? []))) for (const look of [...disk.onlookers]) look(stream);
  }

  /** All of an append or nothing: its own entries first, then those of the sessions that begin with it. */
  function write(append: Append): [StoredEntry[], ...StoredEntry[][]] {
    const { stream, events, consumes, opens = [], tells = [] } = append;
    const fault = refusal({ ...append, head: disk.heads.get(stream) ?? EMPTY_STREAM });
    if (fault !== null) throw new FaultError(fault);
    const taken = opens.find(
      ({ session }, i) => disk.heads.has(session) || disk.holds.has(session) || opens.findIndex((o) => o.session === session) < i,
    )?.session;
    if (taken !== undefined)
      throw new FaultError({ kind: "append-conflict", stream: taken, expected: seq(0), found: disk.heads.get(taken)?.seq ?? seq(0) });
    for (const { event } of opens.flatMap((begin) => begin.events)) {
      const claimed = claimedBy(event);
      if (claimed !== null) throw new FaultError(claimed);
    }
    const own = writeStream(stream, events);
    const begun = opens.map((begin) => writeStream(begin.session, begin.events));
    for (const id of consumes) {
      const row = disk.inbox.get(id);
      if (row !== undefined) row.intent = null;
    }
    for (const intent of tells)
      if (!disk.inbox.has(intent.id))
        disk.inbox.set(intent.id, { id: intent.id, session: intent.session, intent: copyFrozen(intent), arrivedAt: now() });
    for (const { at, event } of events)
      for (const { set, value, on } of listTrustedValueChanges(event)) {
        const left = disk.known.filter((k) => k.set !== set || (on ? k.value !== value : k.value.toLowerCase() !== value.toLowerCase()));
        disk.known.splice(0, disk.known.length, ...left, ...(on ? [{ set, value, from: stream, at, by: event }] : []));
      }
    for (const count of append.counts?.add ?? [])
      if (disk.kept.has(count.name)) disk.counts.push({ count, owner: append.counts?.owner ?? "" });
    for (const { event } of events) {
      obey(disk.halts, event);
      if (event.kind === "grant.revoked") disk.revoked.add(event.grant);
    }
    return [own, ...begun];
  }

  function writeStream(stream: StreamId, events: readonly TimedEvent[]): StoredEntry[] {
    const head = disk.heads.get(stream) ?? EMPTY_STREAM;
    const blobs: [string, string][] = [];
    const entries = sealEntries({ stream, head }, events, ports, (text): BlobRef => {
      const sha256 = ports.hash(text);
      blobs.push([`m${sha256}`, text]);
      return { address: `m${sha256}`, sha256, chars: text.length };
    });
    const last = entries.at(-1);
    if (last === undefined) throw new RangeError("an append has at least one event");
    for (const [address, text] of blobs) disk.blobs.set(address, text);
    const before = disk.entries.get(stream) ?? [];
    before.push(...entries);
    disk.entries.set(stream, before);
    for (const { seq } of entries) disk.order.push({ stream, seq });
    for (const { event: e } of events)
      if (isSessionStream(stream)) for (const claim of listOpeningClaims(e)) disk.externals.set(claim, stream);
    disk.heads.set(stream, { seq: last.seq, hash: last.entryHash, at: last.at });
    if (isSessionStream(stream)) {
      const summary = summariseSealed(disk.sessions.get(stream) ?? null, entries, events);
      if (summary !== null) {
        const sealed = events.map(({ event }, i) => ({ at: entries[i]?.at ?? millis(0), event }));
        const earlier = () => before.slice(0, -entries.length).reverse(); // copied only when it is read: a run is long
        listUnknowns(disk, stream, sealed, earlier);
        listDeadLetters(disk, summary, sealed, earlier);
        disk.sessions.set(stream, withPendingApprovals(summary, listQuestions(disk, summary, sealed)));
      }
    }
    return [...entries];
  }

  const counted = (sought: CountQuery): RecentCounts =>
    sumBuckets(
      disk.counts
        .filter(
          ({ count: c, owner }) => c.name === sought.name && c.agent === sought.agent && c.value === sought.value && owner !== sought.not,
        )
        .map(({ count }) => ({ bucket: toBucket(count.at), n: count.by })),
      sought,
    );

  /** Those of the last day are counted again from the entries, session by session. */
  function keepCounts(names: readonly string[], at: Millis): void {
    const fresh = new Set(names.filter((name) => !disk.kept.has(name)));
    for (const [stream, stored] of fresh.size === 0 ? [] : disk.entries) {
      const counts = isSessionStream(stream) ? listCounts(entriesIn(disk, stored), toBucketSpan(at).day) : [];
      for (const count of counts) if (fresh.has(count.name)) disk.counts.push({ count, owner: "" });
    }
    for (const name of fresh) disk.kept.add(name);
  }

  function refusal(
    a: Pick<Append, "stream" | "after" | "hold" | "consumes" | "unlessHalted" | "events" | "counts"> & { head: StreamHead },
  ): Fault | null {
    const moved = a.counts?.unless.find((read) => counted({ ...read, hour: read.day }).day !== read.seen);
    if (moved !== undefined) return { kind: "counters-moved", counter: moved.name };
    const halted = a.unlessHalted.find((scope) => disk.halts.has(scope));
    if (halted !== undefined) return { kind: "halted", scope: halted };
    if (isSessionStream(a.stream)) {
      if (a.hold === null || a.hold.session !== a.stream || !holds(a.hold))
        return { kind: "hold-lost", session: a.stream, epoch: a.hold?.epoch ?? epoch(0) };
    }
    if (a.after !== a.head.seq) return { kind: "append-conflict", stream: a.stream, expected: a.after, found: a.head.seq };
    for (const id of a.consumes) {
      const row = disk.inbox.get(id);
      if (row === undefined || row.intent === null || row.session !== a.stream || a.consumes.indexOf(id) !== a.consumes.lastIndexOf(id))
        return { kind: "intent-refused", intent: id, detail: `intent \`${id}\` is not pending` };
    }
    for (const { event: e } of a.events) {
      if (e.kind === "grant.used" && disk.revoked.has(e.grant)) return { kind: "grant-revoked", grant: e.grant };
      const claimed = claimedBy(e);
      if (claimed !== null) return claimed;
    }
    return null;
  }

  function claimedBy(e: JournalEvent): Fault | null {
    for (const external of listOpeningClaims(e)) {
      const session = disk.externals.get(external);
      if (session !== undefined) return { kind: "external-taken", external, session };
    }
    return null;
  }

  const holds = (hold: Hold): boolean => {
    const row = disk.holds.get(hold.session);
    return stopped === null && row !== undefined && row.owner === me && row.epoch === hold.epoch;
  };

  const getBlob = (address: string, sha256: string): string | null => {
    const text = disk.blobs.get(address) ?? null;
    if (text !== null && ports.hash(text) !== sha256) throw new Error(`blob ${address} is not what was stored`);
    return text;
  };

  const journal: Journal = {
    writer: ports.writer,
    powerCut: "lose-last-moments", // and everything else
    append: (append) =>
      new Promise<Seq>((done, failed) => {
        check();
        if (append.events.length === 0) throw new RangeError("an append has at least one event");
        if (queue.push({ append, done, failed }) === 1) void Promise.resolve().then(flush);
      }),
    async read(stream, after, most) {
      const all = disk.entries.get(stream) ?? [];
      const before = after === 0 ? EMPTY_STREAM : { seq: after, hash: all[after - 1]?.entryHash ?? EMPTY_STREAM.hash };
      const stored = all.slice(after, after + most);
      const entries = unseal(stream, before, stored, { hash: ports.hash, getBlob });
      const last = stored.at(-1);
      if (stored.length < most && (after === 0 || after <= all.length))
        checkEnd(stream, last === undefined ? before : { seq: last.seq, hash: last.entryHash }, disk.heads.get(stream) ?? EMPTY_STREAM);
      return entries;
    },
    hashAt: async (stream, at) => disk.entries.get(stream)?.[at - 1]?.entryHash ?? null,
    async take(session) {
      check();
      const row = disk.holds.get(session);
      if (row !== undefined && row.owner !== null && disk.alive.has(row.owner))
        throw new FaultError({ kind: "session-held", session, by: `writer \`${row.writer}\`` });
      const mine: HoldRow = { epoch: epoch((row?.epoch ?? 0) + 1), owner: me, writer: ports.writer };
      disk.holds.set(session, mine);
      return { session, epoch: mine.epoch };
    },
    async release(hold) {
      const row = disk.holds.get(hold.session);
      if (row === undefined || row.owner !== me || row.epoch !== hold.epoch) return;
      if (stopped === null && unsealed.has(hold.session)) sealRest(false);
      row.owner = null;
    },
    holds,
    session: async (session) => disk.sessions.get(session) ?? null,
    find: async (external) => {
      const session = disk.externals.get(external);
      return session === undefined ? null : (disk.sessions.get(session) ?? null);
    },
    sessions: async (page) => pageOf(disk.sessions.values(), page),
    questions: async ({ after, most }) => disk.questions.filter((q) => q.arrival > after).slice(0, most),
    expired: async ({ by, after, most }) =>
      disk.questions
        .flatMap((q) => (q.expiresAt !== null && q.expiresAt <= by ? [{ ...q, due: q.expiresAt }] : []))
        .sort((a, b) => a.due - b.due || a.arrival - b.arrival)
        .filter((q) => after === null || q.due > (after.expiresAt ?? 0) || (q.due === after.expiresAt && q.arrival > after.arrival))
        .slice(0, most)
        .map(({ due: _, ...listed }) => listed),
    question: async (approval) => disk.questions.filter((q) => q.approval === approval),
    unknownsLike: (sought) => disk.unknowns.filter((u) => isSameCall(u, sought)).sort((a, b) => a.at - b.at),
    isKnown: (set, values, cased) =>
      disk.known.some((k) => k.set === set && values.some((v) => (cased ? v === k.value : v.toLowerCase() === k.value.toLowerCase()))),
    recorded(type, key) {
      const row = disk.known.find((k) => k.set === recordSet(type) && k.value === key);
      return row === undefined ? null : findRecorded(row.by, row.at, type, key);
    },
    known: async ({ set, after, most }) =>
      disk.known
        .filter((k) => (set === null || k.set === set) && (after === null || byValue(k, after) > 0))
        .sort(byValue)
        .slice(0, most),
    counted,
    keepCounts: async (names, at) => keepCounts(names, at),
    deadLetters: async ({ after, most }) => disk.deadLetters.filter((d) => d.arrival > after).slice(0, most),
    streams: async (prefix) =>
      [...disk.heads]
        .flatMap(([stream, { seq }]) => (stream.startsWith(prefix) ? [{ stream, seq }] : []))
        .sort((a, b) => (a.stream < b.stream ? -1 : 1)),
    tail: async (after, most) =>
      disk.order.slice(after, after + most).flatMap(({ stream, seq }, i) => {
        const all = disk.entries.get(stream) ?? [];
        const stored = all.find((e) => e.seq === seq);
        const before = seq === 1 ? EMPTY_STREAM.hash : (all.find((e) => e.seq === seq - 1)?.entryHash ?? null);
        if (stored === undefined) return [];
        return [{ position: after + i + 1, stream, seq, at: stored.at, ...unsealOne(stored, before, { hash: ports.hash, getBlob }) }];
      }),
    position: async () => disk.order.length,
    positionOf: async (stream, at) => disk.order.findIndex((one) => one.stream === stream && one.seq === at) + 1 || null,
    watch(changed) {
      const look = (stream: StreamId | null): void => {
        try {
          if (stopped === null) changed(stream);
        } catch {
          // an onlooker's error is its own: what is written does not depend on who looks
        }
      };
      disk.onlookers.add(look);
      return () => disk.onlookers.delete(look);
    },
    async close() {
      flush();
      if (stopped === null) sealRest(false);
      stop("it is closed");
    },
  };

  const records: Records = {
    streams: () => [...disk.entries.keys()].sort(),
    entries: (stream) => [...(disk.entries.get(stream) ?? [])],
    writers: () => [...disk.seals.keys()].sort(),
    seals: (writer) => [...(disk.seals.get(writer) ?? [])],
    blob: (address) => disk.blobs.get(address) ?? null,
  };

  return { journal, inbox: memoryInbox(disk, () => stopped, now), records, disk, die: () => stop("the process is dead") };
}

const byValue = (a: Pick<TrustedValue, "set" | "value">, b: Pick<TrustedValue, "set" | "value">): number =>
  a.set === b.set ? (a.value < b.value ? -1 : a.value > b.value ? 1 : 0) : a.set < b.set ? -1 : 1;

function pageOf(all: Iterable<SessionSummary>, { state, agent, before, most }: SessionPage): SessionSummary[] {
  const newestFirst = (a: SessionSummary, b: SessionSummary): number =>
    b.openedAt - a.openedAt || (a.session < b.session ? 1 : a.session > b.session ? -1 : 0);
  return [...all]
    .filter((s) => (state === null || s.state === state) && (agent === null || s.agent === agent))
    .filter((s) => before === null || s.openedAt < before.openedAt || (s.openedAt === before.openedAt && s.session < before.session))
    .sort(newestFirst)
    .slice(0, most);
}
