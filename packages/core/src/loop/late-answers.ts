/**
 * Waits for gates that answer later (`AwaitsGate`). Nothing has begun yet, so nobody has to wait for the answer: a turn that ends or is left forgets it.
 * A gate's own code keeps no promise to us: an answer that is rejected, is late at the time limit, or is followed by yet another wait, time after time,
 * denies the action.
 */
import { denyForFault, orAwaited } from "../gate/fail-closed.ts";
import { AwaitsGate } from "../gate/late.ts";
import type { ActionText, Decision } from "../vocab/index.ts";

type Needs = Readonly<{ deadline(ms: number, ring: () => void): () => void; wake(): void }>;

/** Waits for one decision. Facts may change during each of them; a gate that is asked this often about one action never decides it. */
const MAX_WAITS = 100;
/** A second wait for the same decision lets timers run: a gate that never decides must not starve the process. */
const YIELD_MS = 1;

type Undecided = { waits: number; readonly letGo: (() => void)[] };

export class LateAnswers {
  readonly #needs: Needs;
  /** By the gate's key; each value ends its wait. */
  readonly #waiting = new Map<string, () => void>();
  readonly #failed = new Map<string, string>();
  readonly #undecided = new Map<ActionText, Undecided>();

  constructor(needs: Needs) {
    this.#needs = needs;
  }

  /** Throws `AwaitsGate` while the gate has not answered. A wait that failed denies once. */
  decide(action: ActionText, ask: () => Decision): Decision {
    let decision: Decision;
    try {
      decision = orAwaited(ask);
    } catch (error) {
      if (!(error instanceof AwaitsGate)) throw error;
      const failure = this.#failureOf(action, error);
      if (failure === null) throw error;
      decision = denyForFault(failure);
    }
    this.#letGo(action);
    return decision;
  }

  isWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  forget(): void {
    for (const end of this.#waiting.values()) end();
    this.#waiting.clear();
    this.#failed.clear();
    for (const action of [...this.#undecided.keys()]) this.#letGo(action);
  }

  /** Null once the wait has begun, or goes on. */
  #failureOf(action: ActionText, awaited: AwaitsGate): string | null {
    const { key } = awaited;
    const failure = this.#failed.get(key);
    this.#failed.delete(key);
    if (failure !== undefined) return failure;
    if (this.#waiting.has(key)) return null;
    const undecided = this.#undecided.get(action) ?? { waits: 0, letGo: [] };
    if (undecided.waits === MAX_WAITS) return `the gate was waited for ${MAX_WAITS} times and has not decided`;
    undecided.waits += 1;
    this.#undecided.set(action, undecided);
    try {
      undecided.letGo.push(awaited.onWait());
    } catch (error) {
      return failedToAnswer(error);
    }
    this.#wait(awaited, undecided.waits > 1);
    return null;
  }

  #wait({ key, answered, timeoutMs }: AwaitsGate, isAgain: boolean): void {
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
      () => (isAgain ? void this.#needs.deadline(YIELD_MS, () => over(null)) : over(null)),
      (error: unknown) => over(failedToAnswer(error)),
    );
  }

  /** The gate's code runs here: an error of it changes nothing that is decided. */
  #letGo(action: ActionText): void {
    for (const letGo of this.#undecided.get(action)?.letGo ?? [])
      try {
        letGo();
      } catch {
        // the wait is over all the same
      }
    this.#undecided.delete(action);
  }
}

const failedToAnswer = (error: unknown): string => `the gate failed to answer: ${error instanceof Error ? error.message : String(error)}`;
