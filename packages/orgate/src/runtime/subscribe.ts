/**
 * Following what happens, from any place on. A subscriber reads the journal, at its own pace: nothing is queued for it, nothing is lost to a slow one,
 * and what it throws is its own affair. Words of a reply in progress are kept once per session, not once per reader (`previews/`, H-12).
 */

import { FaultError, type Journal, type Live, type SessionId, seq } from "@orgate/core";
import type { Position, WrittenEntry } from "@orgate/core/journal";
import { openBell } from "../node/bell.ts";
import { createTextCursor, type TextPreview } from "./previews/live-text.ts";
import type { Previews } from "./previews/previews.ts";

export type { TextPreview } from "./previews/live-text.ts";

export type FollowOptions = Readonly<{
  /** Continue after this entry (of one session) or position (of all). Default 0: from the start; `now`: from the end. */
  after?: number | "now";
  /** Ends it. */
  signal?: AbortSignal;
  /**
   * `true`: also of replies that other processes of a cluster receive; `false`: entries only. Of one session it is `true` unless given; of everything those
   * previews come that are known here: of sessions that are driven here, or that somebody else follows here.
   */
  previews?: boolean;
}>;

export type Subscribe = {
  /** Ends when the session is closed. Throws `session-unknown`, and what is wrong with its entries. */
  (to: Readonly<{ session: SessionId }>, from?: FollowOptions): AsyncIterableIterator<Live>;
  /** Every stream of the journal, system streams included; each entry with its position. What is erased or bad is named, and the others go on. */
  (to: Readonly<{ all: true }>, from?: FollowOptions): AsyncIterableIterator<WrittenEntry | TextPreview>;
};

const CHUNK = 200;
const NO_WORDS: ReturnType<Previews["now"]> = new Map();
type Places = Pick<Journal, "read" | "session" | "tail" | "position" | "watch">;

type From = Readonly<{ after: number | "now"; previews: boolean | undefined }>;
type Follow<T> = Readonly<{
  session: SessionId | null;
  look(): Promise<readonly T[]>;
  isOver(): boolean;
  until: AbortSignal;
  previews: boolean | undefined;
}>;

export function createSubscribe(journal: Places, ear: Omit<Previews, "close">, closed: AbortSignal): Subscribe {
  function subscribe(to: Readonly<{ session: SessionId }>, from?: FollowOptions): AsyncGenerator<Live>;
  function subscribe(to: Readonly<{ all: true }>, from?: FollowOptions): AsyncGenerator<WrittenEntry | TextPreview>;
  function subscribe(to: Readonly<{ session: SessionId } | { all: true }>, { after = 0, signal, previews }: FollowOptions = {}) {
    if (after !== "now" && !(Number.isSafeInteger(after) && after >= 0)) throw nowhere(after);
    const until = signal === undefined ? closed : AbortSignal.any([closed, signal]);
    return "session" in to ? ofSession(to.session, { after, previews }, until) : ofAll({ after, previews }, until);
  }

  function ofSession(session: SessionId, { after, previews = true }: From, until: AbortSignal): AsyncGenerator<Live> {
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
    return follow({ session, look, isOver: () => over, until, previews });
  }

  function ofAll({ after, previews }: From, until: AbortSignal): AsyncGenerator<WrittenEntry | TextPreview> {
    const start: Promise<Position> = after === "now" ? journal.position() : Promise.resolve(after);
    start.catch(() => {}); // heard of where it is awaited
    let at: Position | null = null;
    const look = async (): Promise<readonly WrittenEntry[]> => {
      at ??= await start;
      const found = await journal.tail(at, CHUNK);
      at = found.at(-1)?.position ?? at;
      return found;
    };
    return follow({ session: null, look, isOver: () => false, until, previews });
  }

  async function* follow<T extends Live | WrittenEntry>(how: Follow<T>): AsyncGenerator<T | TextPreview> {
    const { session, look, isOver, until, previews } = how;
    const fresh = createTextCursor();
    const bell = openBell(until, { keepAlive: true });
    const concerns = (stream: string | null): void => {
      if (stream === null || session === null || stream === session) bell.ring();
    };
    const stops = [journal.watch(concerns, session ?? undefined)];
    if (previews !== false) stops.push(ear.watch(concerns));
    if (previews === true) stops.push(ear.want(session));
    try {
      while (!until.aborted) {
        bell.still();
        const spoken = previews === false ? NO_WORDS : ear.now(session); // before the look: an empty one then means that all that came before these words was told
        const found = await look().catch(unlessOver(until));
        for (const one of found) if (one.kind === "entry") ear.passed(one.entry); // first: what it ends is not told after it
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
