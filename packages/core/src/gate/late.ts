/**
 * Thrown by a gate's `decide` that has to ask elsewhere first. The driver waits for `answered`, reads all facts again, and calls `decide` again:
 * nothing is begun on the facts of before. `answered` never rejects and always settles: the gate keeps the time limit.
 */
export class AwaitsGate extends Error {
  readonly key: string;
  readonly answered: Promise<void>;
  constructor(key: string, answered: Promise<void>) {
    super("the gate has not answered yet");
    this.name = "AwaitsGate";
    this.key = key;
    this.answered = answered;
  }
}
