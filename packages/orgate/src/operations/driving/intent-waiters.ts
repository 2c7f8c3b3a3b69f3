/** Senders that wait until a session has taken their intent from its inbox. */
import type { Inbox, Intent, Journal, SessionId } from "@orgate/core";

type Ports = Readonly<{ journal: Pick<Journal, "watch">; inbox: Pick<Inbox, "state">; waitMs: number }>;
type Fail = (error: unknown) => void;

export class IntentWaiters {
  readonly #ports: Ports;
  readonly #waiting = new Map<SessionId, Set<Fail>>();

  constructor(ports: Ports) {
    this.#ports = ports;
  }

  /** False when the time is up first. Rejects when the session can take nothing any more. */
  async wait({ id, session }: Pick<Intent, "id" | "session">): Promise<boolean> {
    const { journal, inbox, waitMs } = this.#ports;
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    const others = this.#waiting.get(session) ?? new Set();
    this.#waiting.set(session, others.add(reject));
    const look = (): void =>
      void inbox.state(id).then(
        (state) => state === "taken" && resolve(true),
        () => resolve(false),
      );
    const stop = journal.watch((stream) => (stream === null || stream === session) && look(), session);
    const timer = setTimeout(() => resolve(false), waitMs);
    look();
    try {
      return await promise;
    } finally {
      stop();
      clearTimeout(timer);
      others.delete(reject);
      if (others.size === 0 && this.#waiting.get(session) === others) this.#waiting.delete(session);
    }
  }

  fail(session: SessionId, error: unknown): void {
    for (const fail of [...(this.#waiting.get(session) ?? [])]) fail(error);
  }
}
