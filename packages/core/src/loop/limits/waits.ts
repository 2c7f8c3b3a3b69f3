/** Wakes a driver that idles: the result of an effect, an intent or an order that arrived, the end of the turn's time, a retry that is due. */
import type { Clock } from "../ports.ts";
import { type Alarm, createAlarm, createDeadlines, type Deadlines } from "./time.ts";

export class Waits {
  readonly deadlines: Deadlines; // of the calls that run
  readonly #turnAlarm: Alarm;
  readonly #retryAlarm: Alarm;
  #hasArrived = true;
  #wake = (): void => {};

  constructor(clock: Clock) {
    this.deadlines = createDeadlines(clock);
    this.#turnAlarm = createAlarm(clock, () => this.#wake());
    this.#retryAlarm = createAlarm(clock, () => this.#wake());
  }

  wake(): void {
    this.#wake();
  }

  /** Something may have arrived in the inbox, or orders have changed. */
  look(): void {
    this.#hasArrived = true;
    this.#wake();
  }

  hasArrived(): boolean {
    return this.#hasArrived;
  }

  takeArrived(): boolean {
    const arrived = this.#hasArrived;
    this.#hasArrived = false;
    return arrived;
  }

  /** Resolves with the next wake. `turnMs` is asked for once per turn: all of a turn's time counts, so its end does not move. */
  untilWoken(turnMs: () => number | null, retryMs: number | null): Promise<void> {
    const left = this.#turnAlarm.isSet() ? null : turnMs();
    if (left !== null) this.#turnAlarm.set(left);
    if (retryMs !== null) this.#retryAlarm.set(retryMs);
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = () => {};
        this.#retryAlarm.clear();
        resolve();
      };
    });
  }

  turnEnded(): void {
    this.#turnAlarm.clear();
    this.#retryAlarm.clear();
  }

  close(): void {
    this.turnEnded();
    this.deadlines.clear();
  }
}
