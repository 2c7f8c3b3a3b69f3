/**
 * From the journal to any number of followers. One reader follows the journal and keeps its last stretch, each entry as text, once for all; a follower at
 * the front is served from that stretch, one that is behind reads the journal, at its own pace. Nothing is queued for anybody.
 *
 * W-24 a follower gets every entry once and in order from any position on, however slow it is; the next batch is read when it has taken what
 *     came before, so that a slow one costs the server nothing but its place.
 * W-25 what is kept for those at the front is bounded, in entries and in bytes, and is let go with the last follower.
 * W-24 a follower gets only what it may see at that moment; where something in between is not for it, the range of its batch covers it.
 */

import { type Entry, FaultError, type Journal, type SessionId, type StreamId, seq } from "@orgate/core";
import type { WrittenEntry } from "@orgate/core/journal";
import { type Following, MOST_ENTRIES } from "@orgate/protocol";
import { openBell } from "../../node/bell.ts";
import type { Runtime } from "../../runtime/api.ts";
import { createTextCursor, ENDS_WORDS, openLiveText, type TextPreview, type WordsNow } from "../../runtime/previews/live-text.ts";

export type FanoutEntry =
  /** The entries between `after` and `to`; `items` are frames' items as text. */
  | Readonly<{ kind: "batch"; after: number; to: number; items: readonly string[] }>
  | Readonly<{ kind: "words"; words: TextPreview }>
  | Readonly<{ kind: "caught-up"; at: number }>
  /** Its session is closed: nothing follows. */
  | Readonly<{ kind: "closed"; at: number }>
  /** It may not be seen any more: nothing follows. */
  | Readonly<{ kind: "hidden"; at: number }>;

export type Follow = Readonly<{
  to: Following;
  after: number | "now";
  previews: boolean;
  /** Whether this follower may see that stream, now. */
  sees(stream: StreamId): boolean | Promise<boolean>;
  signal: AbortSignal;
}>;

export type Fanout = Readonly<{
  follow(follow: Follow): AsyncGenerator<FanoutEntry>;
  /** For metrics. */
  held(): Readonly<{ followers: number; entries: number; bytes: number }>;
  close(): void;
}>;

type Places = Pick<Journal, "read" | "session" | "tail" | "position">;
/** `text` is the entry, or the whole item where the entry cannot be read. */
type Held = Readonly<{
  position: number | null;
  stream: StreamId;
  seq: number;
  text: string;
  isEntry: boolean;
  event: Entry["event"]["kind"] | null;
}>;
/** `wantPreviews`: those that follow a session hear its words wherever it is driven. */
type Feed = Pick<Runtime, "subscribe" | "wantPreviews">;

export type FanoutLimits = Readonly<{ entries: number; bytes: number; batchBytes: number }>;
const BOUNDS: FanoutLimits = { entries: 4_096, bytes: 16 * 1024 * 1024, batchBytes: 1024 * 1024 };

export function openFanout(journal: Places, feed: Feed, bounds: FanoutLimits = BOUNDS): Fanout {
  let front: Front | null = null;
  let followers = 0;

  async function* follow(wanted: Follow): AsyncGenerator<FanoutEntry> {
    front ??= openFront(journal, feed, bounds);
    const mine = front;
    followers += 1;
    try {
      await mine.started;
      const source: Source = { journal, front: mine, bounds };
      yield* wanted.to.kind === "session" ? followSession(source, wanted.to.session, wanted) : followAll(source, wanted);
    } finally {
      followers -= 1;
      if (followers === 0 || mine.failed() !== null) {
        mine.close();
        if (front === mine) front = null;
      }
    }
  }
  return {
    follow,
    held: () => ({ followers, ...(front?.held() ?? { entries: 0, bytes: 0 }) }),
    close: () => front?.close(),
  };
}

// ── the front: what was written last ──

type Front = Readonly<{
  started: Promise<void>;
  /** Null when the place lies before what is kept. */
  after(position: number): readonly Held[] | null;
  afterOf(stream: StreamId, place: number): readonly Held[] | null;
  spoken(session: SessionId | null): WordsNow;
  watch(session: SessionId | null, previews: boolean, ring: () => void): () => void;
  failed(): Readonly<{ error: unknown }> | null;
  held(): Readonly<{ entries: number; bytes: number }>;
  close(): void;
}>;

type Watcher = Readonly<{ stream: StreamId | null; previews: boolean; ring(): void }>;

/** The newest entries, in order, bounded in number and bytes (W-25). */
class NewestEntries {
  readonly #limits: FanoutLimits;
  readonly #byStream = new Map<StreamId, Held[]>();
  #entries: Held[] = [];
  #bytes = 0;
  /** The position before the first entry that is held. */
  base = 0;

  constructor(limits: FanoutLimits) {
    this.#limits = limits;
  }

  add(one: Held): void {
    this.#entries.push(one);
    this.#bytes += one.text.length;
    const own = this.#byStream.get(one.stream);
    if (own === undefined) this.#byStream.set(one.stream, [one]);
    else own.push(one);
    if (this.#entries.length > this.#limits.entries || this.#bytes > this.#limits.bytes) this.#drop();
  }

  /** A quarter at a time, so that holding one more costs the same however many are held. */
  #drop(): void {
    const target = { entries: this.#limits.entries * 0.75, bytes: this.#limits.bytes * 0.75 };
    let gone = 0;
    while (gone < this.#entries.length && (this.#entries.length - gone > target.entries || this.#bytes > target.bytes))
      this.#bytes -= this.#entries[gone++]?.text.length ?? 0;
    for (const { stream } of this.#entries.slice(0, gone)) {
      const own = this.#byStream.get(stream);
      own?.shift(); // of one stream they are in the same order
      if (own?.length === 0) this.#byStream.delete(stream);
    }
    this.#entries = this.#entries.slice(gone);
    this.base += gone;
  }

  after(position: number): readonly Held[] | null {
    const from = position - this.base;
    return from < 0 ? null : this.#entries.slice(from, from + MOST_ENTRIES);
  }

  afterOf(stream: StreamId, place: number): readonly Held[] | null {
    const own = this.#byStream.get(stream);
    const first = own?.[0]?.seq;
    if (own === undefined || first === undefined || first > place + 1) return null;
    return own.slice(place + 1 - first, place + 1 - first + MOST_ENTRIES);
  }

  held(): Readonly<{ entries: number; bytes: number }> {
    return { entries: this.#entries.length, bytes: this.#bytes };
  }

  clear(): void {
    this.#entries = [];
    this.#byStream.clear();
    this.#bytes = 0;
  }
}

function openFront(journal: Places, { subscribe, wantPreviews }: Feed, limits: FanoutLimits): Front {
  const over = new AbortController();
  const liveText = openLiveText();
  const watchers = new Map<StreamId | null, Set<Watcher>>();
  const newest = new NewestEntries(limits);
  let failed: Readonly<{ error: unknown }> | null = null;

  function ring(stream: StreamId, isPreview: boolean): void {
    for (const key of [stream, null]) for (const one of [...(watchers.get(key) ?? [])]) if (!isPreview || one.previews) one.ring();
  }

  async function pump(): Promise<void> {
    for await (const live of subscribe({ all: true }, { after: newest.base, signal: over.signal })) {
      if (live.kind === "preview") {
        liveText.add(live);
        ring(live.session, true);
        continue;
      }
      if (live.kind === "entry") liveText.add(live);
      newest.add(heldOf(live));
      ring(live.stream, false);
    }
  }

  const fail = (error: unknown): void => {
    if (over.signal.aborted) return;
    failed = { error };
    for (const set of watchers.values()) for (const one of [...set]) one.ring();
  };
  const started = journal.position().then((position) => {
    newest.base = position;
    pump().catch(fail);
  });
  started.catch(() => {}); // heard of where it is awaited

  return {
    started,
    after: (position) => newest.after(position),
    afterOf: (stream, place) => newest.afterOf(stream, place),
    spoken: liveText.now,
    watch(session, previews, ringing) {
      const one: Watcher = { stream: session, previews, ring: ringing };
      const set = watchers.get(session) ?? new Set();
      watchers.set(session, set.add(one));
      const wantNoMore = previews ? wantPreviews(session) : () => {};
      return () => {
        wantNoMore();
        set.delete(one);
        if (set.size === 0 && watchers.get(session) === set) watchers.delete(session);
      };
    },
    failed: () => failed,
    held: () => newest.held(),
    close() {
      over.abort();
      newest.clear();
    },
  };
}

function heldOf(one: WrittenEntry): Held {
  const { position, stream, seq: at } = one;
  if (one.kind === "entry")
    return { position, stream, seq: at, text: JSON.stringify(one.entry), isEntry: true, event: one.entry.event.kind };
  return { position, stream, seq: at, text: JSON.stringify(one), isEntry: false, event: null };
}

const itemText = ({ isEntry, text }: Held, position: number | null): string =>
  isEntry ? `{"kind":"entry","position":${position},"entry":${text}}` : text;

// ── following ──

type Look = Readonly<{
  session: SessionId | null;
  start: number;
  look(at: number): Promise<readonly Held[]>;
  placeOf(one: Held): number;
  wasClosed: boolean;
}>;

/** Entries come from the front, or from the journal when they lie before it. */
type Source = Readonly<{ journal: Places; front: Front; bounds: FanoutLimits }>;

async function* followSession(source: Source, session: SessionId, wanted: Follow): AsyncGenerator<FanoutEntry> {
  const { journal, front } = source;
  const summary = await journal.session(session);
  if (summary === null) throw new FaultError({ kind: "session-unknown", session });
  const start = startAt(wanted.after, summary.seq, `session \`${session}\``);
  const look = async (at: number): Promise<readonly Held[]> => {
    const near = front.afterOf(session, at);
    if (near !== null && near.length > 0) return near;
    const entries = await journal.read(session, seq(at), MOST_ENTRIES);
    return entries.map((entry) => heldOf({ kind: "entry", position: 0, stream: entry.stream, seq: entry.seq, at: entry.at, entry }));
  };
  yield* tell(source, { session, start, look, placeOf: (one) => one.seq, wasClosed: summary.state === "closed" }, wanted);
}

async function* followAll(source: Source, wanted: Follow): AsyncGenerator<FanoutEntry> {
  const { journal, front } = source;
  const start = startAt(wanted.after, await journal.position(), "the journal");
  const look = async (at: number): Promise<readonly Held[]> => front.after(at) ?? (await journal.tail(at, MOST_ENTRIES)).map(heldOf);
  yield* tell(source, { session: null, start, look, placeOf: (one) => one.position ?? 0, wasClosed: false }, wanted);
}

/** A reader that has seen more than there is has seen another journal. */
function startAt(after: number | "now", last: number, what: string): number {
  if (after === "now") return last;
  if (after <= last) return after;
  throw new FaultError({ kind: "usage", detail: `${what} ends at ${last}, not at ${after}`, hint: "begin again from 0, or from `now`" });
}

async function* tell({ front, bounds }: Source, from: Look, { previews, sees, signal }: Follow): AsyncGenerator<FanoutEntry> {
  const { session, look, placeOf, wasClosed } = from;
  const fresh = createTextCursor();
  const bell = openBell(signal);
  const stop = front.watch(session, previews, bell.ring);
  let at = from.start;
  let isTold = false;
  let ended = 0; // a look may be ahead of the front
  try {
    while (!signal.aborted) {
      bell.still();
      const failed = front.failed();
      if (failed !== null) throw failed.error;
      const spoken = previews ? front.spoken(session) : new Map(); // before the look: an empty one then means that all before these words was told
      const found = within(await look(at), bounds.batchBytes);
      if (session !== null && !(await sees(session))) {
        yield { kind: "hidden", at };
        return;
      }
      const last = found.at(-1);
      if (last !== undefined) {
        const items: string[] = [];
        for (const one of found)
          if (session !== null || (await sees(one.stream))) items.push(itemText(one, session === null ? one.position : null));
        const to = placeOf(last);
        if (session !== null) ended = found.findLast(({ event }) => event !== null && ENDS_WORDS.has(event))?.seq ?? ended;
        yield { kind: "batch", after: at, to, items };
        at = to;
        if (session === null || !found.some(({ event }) => event === "session.closed")) continue;
      }
      if (last !== undefined || wasClosed) {
        yield { kind: "closed", at };
        return;
      }
      if (!isTold) {
        isTold = true;
        yield { kind: "caught-up", at };
        continue;
      }
      let isSpeaking = false;
      const isOver = session !== null && ended > (spoken.get(session)?.asked ?? ended);
      for (const words of isOver ? [] : fresh(spoken)) {
        if (session === null && !(await sees(words.session))) continue;
        isSpeaking = true;
        yield { kind: "words", words };
      }
      if (!isSpeaking) await bell.rung();
    }
  } finally {
    stop();
    bell.remove();
  }
}

/** At least one. */
function within(found: readonly Held[], most: number): readonly Held[] {
  let bytes = 0;
  const end = found.findIndex(({ text }, i) => {
    bytes += text.length;
    return i > 0 && bytes > most;
  });
  return end === -1 ? found : found.slice(0, end);
}
