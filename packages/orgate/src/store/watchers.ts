/** Who wants to hear of intents of a session, of sessions that want driving, and of anything that others write. */
import type { SessionId } from "@orgate/core/vocab";

export class Watchers {
  readonly #sessions = new Map<SessionId, Set<() => void>>();
  readonly #anything = new Set<() => void>();
  readonly #due = new Set<() => void>();

  get isEmpty(): boolean {
    return this.#sessions.size === 0 && this.#anything.size === 0;
  }

  watched(): readonly SessionId[] {
    return [...this.#sessions.keys()];
  }

  wake(session: SessionId): void {
    for (const arrived of [...(this.#sessions.get(session) ?? [])]) arrived();
  }

  tellAll(): void {
    for (const changed of [...this.#anything]) changed();
  }

  tellDue(): void {
    for (const due of [...this.#due]) due();
  }

  /** The result stops watching. */
  session(session: SessionId, arrived: () => void): () => void {
    const mine = (): void => arrived(); // the same function may watch twice
    const all = this.#sessions.get(session) ?? new Set();
    this.#sessions.set(session, all.add(mine));
    return () => {
      all.delete(mine);
      if (all.size === 0 && this.#sessions.get(session) === all) this.#sessions.delete(session);
    };
  }

  anything(changed: () => void): () => void {
    const mine = (): void => changed();
    this.#anything.add(mine);
    return () => void this.#anything.delete(mine);
  }

  due(due: () => void): () => void {
    const mine = (): void => due();
    this.#due.add(mine);
    return () => void this.#due.delete(mine);
  }

  clear(): void {
    this.#due.clear();
    this.#sessions.clear();
    this.#anything.clear();
  }
}
