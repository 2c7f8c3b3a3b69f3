/**
 * Thrown by a gate's `decide` that has to ask elsewhere first. The driver waits for `answered`, reads all facts again, and calls `decide` again:
 * nothing is begun on the facts of before. The action is denied when `answered` rejects, or has not settled after `timeoutMs`.
 */
export class AwaitsGate extends Error {
  readonly key: string;
  readonly answered: Promise<void>;
  readonly timeoutMs: number;
  constructor(key: string, answered: Promise<void>, timeoutMs = 30_000) {
    super("the gate has not answered yet");
    this.name = "AwaitsGate";
    this.key = key;
    this.answered = answered;
    this.timeoutMs = timeoutMs;
  }
}
