/** Longest delay of a timer (24.8 days). */
const LONGEST_MS = 2 ** 31 - 1;

/**
 * Thrown by a gate's `decide` that has to ask elsewhere first. The driver waits for `answered`, reads all facts again, and calls `decide` again:
 * nothing is begun on the facts of before. The action is denied when `answered` rejects, has not settled after `timeoutMs`, or when the gate throws this
 * again and again instead of deciding.
 */
export class AwaitsGate extends Error {
  readonly key: string;
  readonly answered: Promise<void>;
  readonly timeoutMs: number;
  /** Called when a driver begins to wait. Returns how the wait ends: because the action is decided, or because its turn is over. */
  readonly onWait: () => () => void;
  constructor(key: string, answered: Promise<void>, timeoutMs = 30_000, onWait: () => () => void = () => () => {}) {
    super("the gate has not answered yet");
    if (!(timeoutMs >= 0 && timeoutMs <= LONGEST_MS))
      throw new RangeError(`\`timeoutMs\` is ${timeoutMs}: use milliseconds, up to ${LONGEST_MS}`);
    this.name = "AwaitsGate";
    this.key = key;
    this.answered = answered;
    this.timeoutMs = timeoutMs;
    this.onWait = onWait;
  }
}
