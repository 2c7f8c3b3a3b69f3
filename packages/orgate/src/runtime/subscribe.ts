/**
 * Following what happens, from any place on. A subscriber reads the journal, at its own pace: nothing is queued for it, nothing is lost to a slow one,
 * and what it throws is its own affair. Words of a reply in progress are kept once per session that is driven here, not once per reader (H-12).
 */

import { type Entry, FaultError, type Journal, type Live, type SessionId, seq } from "@orgate/core";
import type { Position, WrittenEntry } from "@orgate/core/journal";
import { openBell } from "../node/bell.ts";

export type FollowOptions = Readonly<{
  /** Continue after this entry (of one session) or position (of all). Default 0: from the start; `now`: from the end. */
  after?: number | "now";
  /** Ends it. */
  signal?: AbortSignal;
}>;

export type TextPreview = Extract<Live, { kind: "preview" }>;

export type Subscribe = {
  /** Ends when the session is closed. Throws `session-unknown`, and what is wrong with its entries. */
  (to: Readonly<{ session: SessionId }>, from?: FollowOptions): AsyncIterableIterator<Live>;
  /** Every stream of the journal, system streams included; each entry with its position. What is erased or bad is named, and the others go on. */
  (to: Readonly<{ all: true }>, from?: FollowOptions): AsyncIterableIterator<WrittenEntry | TextPreview>;
};

// ── words of replies in progress ──

type Spoken = {
  readonly iteration: number;
  readonly attempt: number;
  text: string;
  thinking: string;
  /** Arguments so far, by the call's place in the reply. */
  calls: readonly Readonly<{ tool: string; text: string }>[];
};

export type LiveText = Readonly<{
  add(live: Live): void;
  /** This process writes no more in the session. */
  forget(session: SessionId): void;
  now(session: SessionId | null): ReadonlyMap<SessionId, Readonly<Spoken>>;
  watch(heard: (session: SessionId) => void): () => void;
}>;

export function openLiveText(): LiveText {
  const speaking = new Map<SessionId, Spoken>();
  const listeners = new Set<(session: SessionId) => void>();
  return {
    add(live) {
      if (live.kind === "entry") {
        if (ENDS_WORDS.has(live.entry.event.kind)) speaking.delete(live.entry.stream as SessionId); // words are only heard of a session
        return;
      }
      const { session, iteration, attempt, preview } = live;
      const before = speaking.get(session);
      const isSame = before?.iteration === iteration && before.attempt === attempt;
      const spoken: Spoken = isSame ? before : { iteration, attempt, text: "", thinking: "", calls: [] };
      if (preview.part === "call") {
        const { call, tool, offset, text } = preview;
        spoken.calls = spoken.calls.toSpliced(call, 1, { tool, text: (spoken.calls[call]?.text ?? "").slice(0, offset) + text });
      } else spoken[preview.part] = spoken[preview.part].slice(0, preview.offset) + preview.text;
      speaking.set(session, spoken);
      for (const heard of [...listeners]) heard(session);
    },
    forget: (session) => void speaking.delete(session),
    now(session) {
      if (session === null) return new Map([...speaking].map(([s, spoken]) => [s, { ...spoken }]));
      const spoken = speaking.get(session);
      return spoken === undefined ? new Map() : new Map([[session, { ...spoken }]]);
    },
    watch(heard) {
      const mine = (session: SessionId): void => heard(session);
      listeners.add(mine);
      return () => listeners.delete(mine);
    },
  };
}
const ENDS_WORDS: ReadonlySet<Entry["event"]["kind"]> = new Set(["model.replied", "model.failed", "turn.ended", "hold.taken"]);

/** Remembers what a reader has received, and returns what is new. */
export function createTextCursor(): (now: ReturnType<LiveText["now"]>) => readonly TextPreview[] {
  const told = new Map<SessionId, Spoken>();
  return (now) => {
    for (const session of told.keys()) if (!now.has(session)) told.delete(session);
    return [...now].flatMap(([session, spoken]) => {
      const { iteration, attempt } = spoken;
      const before = told.get(session);
      const seen = before?.iteration === iteration && before.attempt === attempt ? before : { text: "", thinking: "", calls: [] };
      told.set(session, { ...spoken });
      const words = (["thinking", "text"] as const).map((part): TextPreview["preview"] => {
        const offset = seen[part].length;
        return { part, offset, text: spoken[part].slice(offset) };
      });
      const calls = spoken.calls.map(({ tool, text }, call): TextPreview["preview"] => {
        const offset = seen.calls[call]?.text.length ?? 0;
        return { part: "call", call, tool, offset, text: text.slice(offset) };
      });
      return [...words, ...calls].flatMap((preview): readonly TextPreview[] =>
        preview.text === "" ? [] : [{ kind: "preview", session, iteration, attempt, preview }],
      );
    });
  };
}

// ── following ──

const CHUNK = 200;
type Places = Pick<Journal, "read" | "session" | "tail" | "position" | "watch">;

export function createSubscribe(journal: Places, ear: LiveText, closed: AbortSignal): Subscribe {
  function subscribe(to: Readonly<{ session: SessionId }>, from?: FollowOptions): AsyncGenerator<Live>;
  function subscribe(to: Readonly<{ all: true }>, from?: FollowOptions): AsyncGenerator<WrittenEntry | TextPreview>;
  function subscribe(to: Readonly<{ session: SessionId } | { all: true }>, { after = 0, signal }: FollowOptions = {}) {
    if (after !== "now" && !(Number.isSafeInteger(after) && after >= 0)) throw nowhere(after);
    const until = signal === undefined ? closed : AbortSignal.any([closed, signal]);
    return "session" in to ? ofSession(to.session, after, until) : ofAll(after, until);
  }

  function ofSession(session: SessionId, after: number | "now", until: AbortSignal): AsyncGenerator<Live> {
    const start = journal.session(session);
    start.catch(() => {}); // heard of where it is awaited
    let at: number | null = after === "now" ? null : after;
    let over = false;
    let wasClosed = false; // when it began to follow
    const look = async (): Promise<readonly Live[]> => {
      if (over) return [];
      if (at === null || at === after) {
        const summary = await start;
        if (summary === null) throw new FaultError({ kind: "session-unknown", session });
        wasClosed = summary.state === "closed";
        at ??= summary.seq;
      }
      const entries = await journal.read(session, seq(at), CHUNK);
      at = entries.at(-1)?.seq ?? at;
      over ||= entries.length === 0 ? wasClosed : entries.some(({ event }) => event.kind === "session.closed");
      return entries.map((entry) => ({ kind: "entry", entry }));
    };
    return follow({ session, look, isOver: () => over, until });
  }

  function ofAll(after: number | "now", until: AbortSignal): AsyncGenerator<WrittenEntry | TextPreview> {
    const start: Promise<Position> = after === "now" ? journal.position() : Promise.resolve(after);
    start.catch(() => {}); // heard of where it is awaited
    let at: Position | null = null;
    const look = async (): Promise<readonly WrittenEntry[]> => {
      at ??= await start;
      const found = await journal.tail(at, CHUNK);
      at = found.at(-1)?.position ?? at;
      return found;
    };
    return follow({ session: null, look, isOver: () => false, until });
  }

  type Follow<T> = Readonly<{ session: SessionId | null; look(): Promise<readonly T[]>; isOver(): boolean; until: AbortSignal }>;

  async function* follow<T>({ session, look, isOver, until }: Follow<T>): AsyncGenerator<T | TextPreview> {
    const fresh = createTextCursor();
    const bell = openBell(until, { keepAlive: true });
    const concerns = (stream: string | null): void => {
      if (stream === null || session === null || stream === session) bell.ring();
    };
    const stops = [journal.watch(concerns, session ?? undefined), ear.watch(concerns)];
    try {
      while (!until.aborted) {
        bell.still();
        const spoken = ear.now(session); // before the look: an empty one then means that all that came before these words was told
        const found = await look().catch(unlessOver(until));
        yield* found;
        if (found.length > 0) continue;
        if (isOver()) return;
        const words = fresh(spoken);
        yield* words;
        if (words.length === 0) await bell.rung();
      }
    } finally {
      for (const stop of stops) stop();
      bell.remove();
    }
  }
  return subscribe;
}

const nowhere = (after: number): FaultError =>
  new FaultError({
    kind: "usage",
    detail: `\`after\` is \`${String(after)}\``,
    hint: "use `now`, 0 for the start, or the number of an entry or a position",
  });

/** A journal that was closed underneath a look is the end of it, not an error. */
const unlessOver =
  (until: AbortSignal) =>
  (error: unknown): readonly never[] => {
    if (until.aborted) return [];
    throw error;
  };
