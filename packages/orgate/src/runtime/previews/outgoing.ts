/** The side of a process that drives: sends words to whoever watches elsewhere. What its own sessions say is in `own`; what the gate withholds never was. */
import type { Clock, SessionId } from "@orgate/core";
import type { LiveText } from "./live-text.ts";
import { createPieces, type Message, type Received } from "./messages.ts";

/** For how long a process counts as watching that is not heard of: three of its announcements. */
export const WATCHED_MS = 15_000;
const MOST_WATCHERS = 1_000;

type Wish = Readonly<{ until: number; sessions: ReadonlySet<SessionId> | null }>;

export class Outgoing {
  readonly #own: LiveText;
  readonly #clock: Pick<Clock, "elapsed">;
  readonly #ready: () => void;
  readonly #wishes = new Map<string, Wish>();
  /** How far each reply was sent. */
  readonly #sent = new Map<SessionId, ReturnType<typeof createPieces>>();
  /** Sessions that may have more to send, the one whose turn it is first. */
  readonly #waiting = new Set<SessionId>();

  /** `ready` is called when there may be something to send. */
  constructor(own: LiveText, clock: Pick<Clock, "elapsed">, ready: () => void) {
    this.#own = own;
    this.#clock = clock;
    this.#ready = ready;
  }

  /** A session that is driven here has said something. */
  readonly said = (session: SessionId): void => {
    if (!this.#isWatched(session)) return;
    this.#waiting.add(session);
    this.#ready();
  };

  hear({ from, sessions, ask }: Extract<Received, { kind: "watch" }>): void {
    this.#wishes.delete(from);
    if (sessions?.length === 0 || this.#wishes.size >= MOST_WATCHERS) return;
    this.#wishes.set(from, { until: this.#clock.elapsed() + WATCHED_MS, sessions: sessions === null ? null : new Set(sessions) });
    for (const session of ask ?? [...this.#sent.keys()]) this.#sent.delete(session);
    for (const session of this.#own.now(null).keys()) this.said(session);
  }

  /** At most so many pieces, of each session in turn. */
  take(most: number): readonly Message[] {
    const found: Message[] = [];
    while (found.length < most) {
      const [session] = this.#waiting;
      if (session === undefined) break;
      this.#waiting.delete(session);
      const words = this.#next(session);
      if (words === null) continue;
      found.push(words);
      this.#waiting.add(session); // at the end: it may have more
    }
    return found;
  }

  #next(session: SessionId): Message | null {
    const spoken = this.#own.now(session).get(session);
    if (spoken === undefined || spoken.asked === null) {
      this.#sent.delete(session); // its reply is recorded, or nobody could tell which it is
      return null;
    }
    const { asked, iteration, attempt } = spoken;
    let pieces = this.#sent.get(session);
    if (pieces?.asked !== asked) {
      this.#forgetOver();
      pieces = createPieces(asked);
      this.#sent.set(session, pieces);
    }
    const preview = pieces.next(spoken);
    return preview === null ? null : { kind: "words", session, asked, iteration, attempt, preview };
  }

  /** Replies end without a sign to this side. */
  #forgetOver(): void {
    for (const [session, { asked }] of this.#sent) if (this.#own.askedOf(session) !== asked) this.#sent.delete(session);
  }

  #isWatched(session: SessionId): boolean {
    const now = this.#clock.elapsed();
    for (const [from, { until, sessions }] of this.#wishes) {
      if (until <= now) this.#wishes.delete(from);
      else if (sessions === null || sessions.has(session)) return true;
    }
    return false;
  }
}
