/**
 * Waits for gates that answer later (`AwaitsGate`). Nothing has begun yet, so nobody has to wait for the answer: a turn that ends or is left forgets it.
 * A gate's own code keeps no promise to us: an answer that is rejected, or is late at the time limit, denies the action.
 */
import { denyForFault, orAwaited } from "../gate/fail-closed.ts";
import { AwaitsGate } from "../gate/late.ts";
import type { Decision } from "../vocab/index.ts";

type Needs = Readonly<{ deadline(ms: number, ring: () => void): () => void; wake(): void }>;

export class LateAnswers {
  readonly #needs: Needs;
  /** By the gate's key; each value ends its wait. */
  readonly #waiting = new Map<string, () => void>();
  readonly #failed = new Map<string, string>();

  constructor(needs: Needs) {
    this.#needs = needs;
  }

  /** Throws `AwaitsGate` while the gate has not answered. A wait that failed denies once. */
  decide(ask: () => Decision): Decision {
    try {
      return orAwaited(ask);
    } catch (error) {
      const failure = error instanceof AwaitsGate ? this.#failed.get(error.key) : undefined;
      if (!(error instanceof AwaitsGate) || failure === undefined) throw error;
      this.#failed.delete(error.key);
      return denyForFault(failure);
    }
  }

  wait({ key, answered, timeoutMs }: AwaitsGate): void {
    if (this.#waiting.has(key)) return;
    const over = (failure: string | null): void => {
      if (this.#waiting.get(key) !== end) return; // forgotten meanwhile
      end();
      this.#waiting.delete(key);
      if (failure !== null) this.#failed.set(key, failure);
      this.#needs.wake();
    };
    const end = this.#needs.deadline(timeoutMs, () => over(`the gate did not answer within ${timeoutMs} ms`));
    this.#waiting.set(key, end);
    Promise.resolve(answered).then(
      () => over(null),
      (error: unknown) => over(`the gate failed to answer: ${error instanceof Error ? error.message : String(error)}`),
    );
  }

  isWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  forget(): void {
    for (const end of this.#waiting.values()) end();
    this.#waiting.clear();
    this.#failed.clear();
  }
}
