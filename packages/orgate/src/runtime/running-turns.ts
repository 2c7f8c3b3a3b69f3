/** The turn that is running at an entry: who takes a session over learns what the process before it knew. */
import type { Entry, Journal } from "@orgate/core";
import { isSessionStream, type Seq, type StreamId, seq } from "@orgate/core/vocab";

const PAGE = 64;
/** Entries that wait while what came before them is read. */
const MOST_WAITING = 1_000;

/** Its entries before this one, from its start on; none where no turn is running. */
export async function readRunningTurn(journal: Pick<Journal, "read">, { stream, seq: at }: Entry): Promise<readonly Entry[]> {
  if (!isSessionStream(stream)) return [];
  let found: readonly Entry[] = [];
  for (let end: Seq = seq(at - 1); end > 0; ) {
    const start = seq(Math.max(0, end - PAGE));
    const page = await journal.read(stream, start, end - start);
    const last = page.findLastIndex(({ event: e }) => e.kind === "turn.started" || e.kind === "turn.ended");
    if (last !== -1 && page[last]?.event.kind === "turn.ended") return [];
    found = [...page.slice(Math.max(0, last)), ...found];
    if (last !== -1) return found;
    end = start;
  }
  return [];
}

export type RunningTurn = (taken: Entry) => Promise<readonly Entry[]>;
type Hear<Facts> = (entry: Entry, agent: Facts) => unknown;

/** Has a listener hear, where a session is taken over, what came before in its turn: the process before this one has told of that. */
export class CatchUp<Facts> {
  readonly #runningTurn: RunningTurn;
  readonly #to: Readonly<{ before: Hear<Facts>; tell: Hear<Facts> }>;
  readonly #waiting = new Map<StreamId, (readonly [Entry, Facts])[]>();
  readonly #reading = new Set<Promise<void>>();

  constructor(runningTurn: RunningTurn, to: Readonly<{ before: Hear<Facts>; tell: Hear<Facts> }>) {
    this.#runningTurn = runningTurn;
    this.#to = to;
  }

  /** False: too much waits, and this entry is not heard. */
  hear(entry: Entry, agent: Facts): boolean {
    const queue = this.#waiting.get(entry.stream);
    if (queue !== undefined) return queue.length < MOST_WAITING && queue.push([entry, agent]) > 0;
    if (entry.event.kind !== "hold.taken") {
      this.#to.tell(entry, agent);
      return true;
    }
    this.#waiting.set(entry.stream, [[entry, agent]]);
    const reading = this.#catchUp(entry, agent);
    this.#reading.add(reading);
    void reading.finally(() => this.#reading.delete(reading));
    return true;
  }

  async settle(): Promise<void> {
    await Promise.all(this.#reading);
  }

  async #catchUp(taken: Entry, agent: Facts): Promise<void> {
    const { before, tell } = this.#to;
    const came = await this.#runningTurn(taken).catch(() => []); // what cannot be read is not told of
    for (const entry of came) before(entry, agent);
    const queue = this.#waiting.get(taken.stream) ?? [];
    this.#waiting.delete(taken.stream);
    for (const [entry, by] of queue) tell(entry, by);
  }
}
