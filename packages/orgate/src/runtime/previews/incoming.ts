/**
 * The side of a process whose clients watch: takes words of sessions that others drive. Words count only while the journal has the request that they answer, and
 * nothing that ends it: old ones that come late, or that somebody repeats, are nothing. What was lost is asked for again, never guessed.
 */
import { type Clock, type Entry, type Journal, type Preview, type Seq, type SessionId, seq } from "@orgate/core";
import { eachEntry } from "@orgate/core/journal";
import { ENDS_WORDS, type LiveText, type Spoken } from "./live-text.ts";
import type { Words } from "./messages.ts";

/** Of all sessions together. What is over it is not shown: the reply itself comes. */
const MOST_CHARS = 16 * 1024 * 1024;
const MOST_SESSIONS = 1_000;
const MOST_HELD = 64;
const ASK_AGAIN_MS = 1_000;

/** `over`: no reply that was asked for up to here is shown. `held`: words that came while their request was looked for. */
type Place = { over: number; held: Words[] | null; askedAt: number };

export type IncomingPorts = Readonly<{
  far: LiveText;
  journal: Pick<Journal, "read">;
  clock: Pick<Clock, "elapsed">;
  isWanted(session: SessionId): boolean;
  /** Asks whoever drives it for everything so far. */
  ask(session: SessionId): void;
}>;

export class Incoming {
  readonly #ports: IncomingPorts;
  readonly #places = new Map<SessionId, Place>();
  readonly #mostChars: number;

  constructor(ports: IncomingPorts, mostChars = MOST_CHARS) {
    this.#ports = ports;
    this.#mostChars = mostChars;
  }

  hear(words: Words): void {
    const { far, isWanted } = this.#ports;
    const { session, asked } = words;
    if (!isWanted(session)) return;
    const known = far.askedOf(session);
    if (known === asked) {
      this.#add(words);
      return;
    }
    const place = this.#placeOf(session);
    if (asked <= Math.max(place.over, known ?? 0)) return;
    if (place.held !== null) {
      if (place.held.length < MOST_HELD) place.held.push(words); // the gap is asked for
      return;
    }
    place.held = [words];
    void this.#lookFor(session, asked, place);
  }

  forget(session: SessionId): void {
    this.#ports.far.forget(session);
    this.#places.delete(session);
  }

  async #lookFor(session: SessionId, asked: Seq, place: Place): Promise<void> {
    const found = await findInProgress(this.#ports.journal, session, asked).catch(() => undefined);
    const held = place.held ?? [];
    place.held = null;
    if (found === undefined || this.#places.get(session) !== place) return; // nothing can be said of it, or nobody watches any more
    if (found === null) place.over = Math.max(place.over, asked);
    else this.#ports.far.add({ kind: "entry", entry: found });
    for (const words of held) this.hear(words);
  }

  #add({ session, asked, iteration, attempt, preview }: Words): void {
    const { far } = this.#ports;
    const spoken = far.now(session).get(session);
    const known = lengthOf(spoken?.asked === asked ? spoken : null, preview);
    if (known === null || preview.offset > known) {
      this.#askAgain(session);
      return;
    }
    const text = preview.text.slice(known - preview.offset);
    if (text === "") return;
    if (far.chars() + text.length > this.#mostChars) {
      far.forget(session);
      this.#placeOf(session).over = asked;
      return;
    }
    far.add({ kind: "preview", session, asked, iteration, attempt, preview: { ...preview, offset: known, text } });
  }

  #askAgain(session: SessionId): void {
    const place = this.#placeOf(session);
    const now = this.#ports.clock.elapsed();
    if (now - place.askedAt < ASK_AGAIN_MS) return;
    place.askedAt = now;
    this.#ports.ask(session);
  }

  #placeOf(session: SessionId): Place {
    const there = this.#places.get(session);
    if (there !== undefined) return there;
    const [oldest] = this.#places.keys();
    if (oldest !== undefined && this.#places.size >= MOST_SESSIONS) this.#places.delete(oldest);
    const place: Place = { over: 0, held: null, askedAt: Number.NEGATIVE_INFINITY };
    this.#places.set(session, place);
    return place;
  }
}

/** How much of this part is known; null: a call before it is missing. */
function lengthOf(spoken: Readonly<Spoken> | null, preview: Preview): number | null {
  if (preview.part !== "call") return spoken?.[preview.part].length ?? 0;
  const calls = spoken?.calls ?? [];
  return preview.call > calls.length ? null : (calls[preview.call]?.text.length ?? 0);
}

/** The request at this place, unless it is none or something has ended it: null. Undefined: nothing is there yet. */
async function findInProgress(journal: Pick<Journal, "read">, session: SessionId, asked: Seq): Promise<Entry | null | undefined> {
  let request: Entry | undefined;
  for await (const entry of eachEntry(journal, session, seq(Math.max(0, asked - 1)))) {
    if (request === undefined) {
      if (entry.event.kind !== "model.asked") return null;
      request = entry;
    } else if (ENDS_WORDS.has(entry.event.kind)) return null;
  }
  return request;
}
