/**
 * Words of replies in progress, wherever they are driven. Processes that drive send them to those whose clients watch, over the store's signals: a convenience
 * that may fail or be slow without anybody waiting for it. Nothing is sent while nobody watches elsewhere, and at most so often and so much otherwise.
 */
import { randomUUID } from "node:crypto";
import type { Clock, Journal, SessionId } from "@orgate/core";
import { type SealedTexts, sealedTexts } from "../../node/sealed-text.ts";
import type { Signals } from "../../store/store.ts";
import { Incoming } from "./incoming.ts";
import { type LiveText, openLiveText, type WordsNow } from "./live-text.ts";
import { type Message, MOST_NAMED, openMessage, sealMessage } from "./messages.ts";
import { Outgoing } from "./outgoing.ts";
import type { Previews } from "./previews.ts";

export type RelayPorts = Readonly<{
  signals: Signals;
  /** A secret of the project that all its processes have. */
  key: string | Uint8Array;
  journal: Pick<Journal, "read">;
  clock: Pick<Clock, "elapsed" | "sleep">;
}>;

/** A process sends no more often than this, and no more at a time, however many sessions speak. */
const PAUSE_MS = 50;
const MOST_AT_ONCE = 16;
/** Who watches says so again; `WATCHED_MS` of the other side is three times this. */
const ANNOUNCE_MS = 5_000;

/** `own`: of the sessions that are driven here. */
export const openRelay = (own: LiveText, ports: RelayPorts): Previews => new Relay(own, ports).previews;

class Relay {
  readonly previews: Previews;
  readonly #ports: RelayPorts;
  readonly #me = randomUUID();
  readonly #sealed: SealedTexts;
  readonly #far = openLiveText();
  readonly #outgoing: Outgoing;
  readonly #incoming: Incoming;
  readonly #wanted = new Map<SessionId | null, number>();
  readonly #over = new AbortController();
  #isSending = false;
  #isAnnouncing = false;
  /** What is to be sent next, before words. */
  #next: Readonly<{ hello: boolean; watch: boolean }> = { hello: false, watch: false };
  readonly #asks = new Set<SessionId | null>();

  constructor(own: LiveText, ports: RelayPorts) {
    const { signals, key, journal, clock } = ports;
    this.#ports = ports;
    this.#sealed = sealedTexts(key, "previews");
    this.#outgoing = new Outgoing(own, clock, () => this.#send());
    this.#incoming = new Incoming({
      ...{ far: this.#far, journal, clock },
      isWanted: (session) => this.#wanted.has(session) || this.#wanted.has(null),
      ask: (session) => this.#ask(session),
    });
    const stops = [own.watch(this.#outgoing.said), signals.hear({ heard: (text) => this.#hear(text), joined: () => this.#joined() })];
    this.previews = {
      now: (session) => newer(own.now(session), this.#far.now(session)),
      watch: (heard) => {
        const both = [own.watch(heard), this.#far.watch(heard)];
        return () => {
          for (const stop of both) stop();
        };
      },
      passed: (entry) => this.#far.add({ kind: "entry", entry }),
      want: (session) => this.#want(session),
      close: () => {
        this.#over.abort();
        for (const stop of stops) stop();
      },
    };
  }

  #want(session: SessionId | null): () => void {
    const count = this.#wanted.get(session) ?? 0;
    this.#wanted.set(session, count + 1);
    if (count === 0) {
      this.#ask(session);
      void this.#announce();
    }
    let isWanted = true;
    return () => {
      if (!isWanted) return;
      isWanted = false;
      const left = (this.#wanted.get(session) ?? 1) - 1;
      if (left > 0) return void this.#wanted.set(session, left);
      this.#wanted.delete(session); // the others hear of it when it is said again
      if (this.#wanted.has(null)) return;
      if (session !== null) return this.#incoming.forget(session);
      for (const one of this.#far.now(null).keys()) if (!this.#wanted.has(one)) this.#incoming.forget(one);
    };
  }

  /** As long as anything is wanted here. At last it says that nothing is. */
  async #announce(): Promise<void> {
    if (this.#isAnnouncing) return;
    this.#isAnnouncing = true;
    while (this.#wanted.size > 0 && !this.#over.signal.aborted) {
      await this.#ports.clock.sleep(ANNOUNCE_MS, this.#over.signal);
      this.#sayAgain();
    }
    this.#isAnnouncing = false;
  }

  #ask(session: SessionId | null): void {
    this.#asks.add(session);
    this.#sayAgain();
  }

  #sayAgain(): void {
    this.#next = { ...this.#next, watch: true };
    this.#send();
  }

  #joined(): void {
    for (const one of this.#wanted.keys()) this.#asks.add(one);
    this.#next = { hello: true, watch: this.#wanted.size > 0 };
    this.#send();
  }

  /** What goes wrong here disturbs nobody: it is only words. */
  #hear(text: string): void {
    try {
      const message = openMessage(this.#sealed, text);
      if (message === null || message.from === this.#me) return;
      if (message.kind === "words") this.#incoming.hear(message);
      else if (message.kind === "watch") this.#outgoing.hear(message);
      else if (this.#wanted.size > 0) this.#sayAgain();
    } catch {
      // a reader that throws hears no words of it
    }
  }

  #send(): void {
    if (this.#isSending || this.#over.signal.aborted) return;
    this.#isSending = true;
    void this.#sendAll();
  }

  /** One message of many at a time, then a pause: what is said meanwhile is in the next. */
  async #sendAll(): Promise<void> {
    const { signals, clock } = this.#ports;
    while (!this.#over.signal.aborted) {
      const messages = [...this.#takeOwn(), ...this.#outgoing.take(MOST_AT_ONCE)];
      if (messages.length === 0) break;
      const texts = messages.map((one) => sealMessage(this.#sealed, { from: this.#me, ...one }, signals.mostBytes));
      await signals.send(texts.filter((one) => one !== null)).catch(() => {}); // who misses something asks for it
      await clock.sleep(PAUSE_MS, this.#over.signal);
    }
    this.#isSending = false;
  }

  #takeOwn(): readonly Message[] {
    const { hello, watch } = this.#next;
    const ask = named([...this.#asks]);
    this.#next = { hello: false, watch: false };
    this.#asks.clear();
    const sessions = named([...this.#wanted.keys()]);
    return [...(hello ? [{ kind: "hello" } as const] : []), ...(watch ? [{ kind: "watch", sessions, ask } as const] : [])];
  }
}

function named(sessions: readonly (SessionId | null)[]): readonly SessionId[] | null {
  const names = sessions.filter((one) => one !== null);
  return names.length < sessions.length || names.length > MOST_NAMED ? null : names;
}

/** A session is driven by one process at a time: whoever asked last. */
function newer(mine: WordsNow, others: WordsNow): WordsNow {
  if (others.size === 0) return mine;
  const all = new Map(mine);
  for (const [session, spoken] of others) if ((spoken.asked ?? 0) > (all.get(session)?.asked ?? 0)) all.set(session, spoken);
  return all;
}
