/** Drives woken sessions, a limited number at once; the others wait their turn, in order, and none is lost (W-28). */
import type { SessionId } from "@orgate/core";

type Options = Readonly<{
  atOnce: number;
  /** Drives a session until it waits or has ended; never rejects. */
  drive(session: SessionId): Promise<void>;
  hasPendingIntents(session: SessionId): Promise<boolean>;
  /** A session was left: there may be room for another. */
  left(): void;
}>;

export class DriveQueue {
  readonly #options: Options;
  readonly #queue = new Set<SessionId>();
  readonly #driven = new Map<SessionId, Promise<void>>();
  /** Woken while driven. */
  readonly #wokenAgain = new Set<SessionId>();
  /** Called when the session has been left, or will not be driven here. */
  readonly #following = new Map<SessionId, (() => void)[]>();
  #isClosed = false;

  constructor(options: Options) {
    this.#options = options;
  }

  get driving(): number {
    return this.#driven.size;
  }

  get queued(): number {
    return this.#queue.size;
  }

  wake(session: SessionId): void {
    if (this.#isClosed) return;
    if (this.#driven.has(session))
      this.#wokenAgain.add(session); // its driver sees what has come, unless it is just leaving
    else this.#queue.add(session);
    this.#startNext();
  }

  /** Has the session driven here, and resolves when it was left, or when no session is begun here any more. */
  async drive(session: SessionId): Promise<void> {
    if (this.#isClosed) return;
    const left = new Promise<void>((resolve) => this.#following.set(session, [...(this.#following.get(session) ?? []), resolve]));
    this.wake(session);
    await left;
  }

  /** Resolves when the session is not driven here any more; undefined if it is not driven. */
  whenLeft(session: SessionId): Promise<void> | undefined {
    return this.#driven.get(session);
  }

  /** Resolves when no session is driven here and none waits to be. */
  async settle(): Promise<void> {
    while (this.#driven.size > 0) await Promise.all(this.#driven.values());
  }

  /** Begins no session any more; returns when those that are driven now have been left. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const session of this.#queue) this.#tell(session);
    this.#queue.clear();
    await Promise.all(this.#driven.values());
  }

  #startNext(): void {
    for (const session of this.#queue) {
      if (this.#isClosed || this.#driven.size >= this.#options.atOnce) return;
      this.#queue.delete(session);
      this.#driven.set(
        session,
        this.#options.drive(session).finally(() => this.#leave(session)),
      );
    }
  }

  #leave(session: SessionId): void {
    this.#driven.delete(session);
    this.#tell(session);
    if (this.#wokenAgain.delete(session)) void this.#wakeIfPending(session);
    this.#startNext();
    this.#options.left();
  }

  async #wakeIfPending(session: SessionId): Promise<void> {
    const has = await this.#options.hasPendingIntents(session).catch(() => false); // a journal that is away: whoever looks for sessions finds it later
    if (has) this.wake(session);
  }

  #tell(session: SessionId): void {
    for (const left of this.#following.get(session) ?? []) left();
    this.#following.delete(session);
  }
}
