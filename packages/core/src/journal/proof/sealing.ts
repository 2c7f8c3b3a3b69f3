/**
 * When an append is sealed. Most of a turn is sealed at intervals; what gives or takes authority, and what ends or hands over, is sealed in its own transaction.
 * J-31 an append is sealed at the latest SEAL_WITHIN_MS after it became durable, or by the next process under its writer's name.
 */
import {
  type EventKind,
  isSessionStream,
  type JournalEvent,
  type Millis,
  millis,
  type StreamId,
  type TimedEvent,
} from "../../vocab/index.ts";
import type { Mark, StoredEntry } from "../codec.ts";
import { toMark } from "./seal.ts";

export const SEAL_WITHIN_MS = 100;

const AT_ONCE: ReadonlySet<EventKind> = new Set<EventKind>([
  ...(["session.opened", "session.forked", "session.closed", "agent.changed", "hold.taken"] as const),
  ...(["turn.started", "turn.ended", "turn.halted", "turn.cancel-asked"] as const),
  ...(["approval.asked", "approval.answered", "approval.expired", "approval.consumed", "grant.used"] as const),
  ...(["unknown.resolved", "unknown.reconcile-asked", "act.late", "labels.removed", "known.learned", "known.recorded"] as const),
  ...(["child.opened", "child.ended", "input.steered", "input.queued", "context.cleared", "context.compact-asked"] as const),
  ...(["model.chosen", "dead-letter.dismissed", "intent.refused"] as const),
]);

/** True for an entry that never stands in a journal without a seal. `kind` is as stored: a version may follow it. */
export function isAlwaysSealed(stream: StreamId, kind: string): boolean {
  if (!isSessionStream(stream)) return true;
  const at = kind.indexOf("@");
  return AT_ONCE.has((at === -1 ? kind : kind.slice(0, at)) as EventKind);
}

const isUnknown = (e: JournalEvent): boolean => e.kind === "act.ended" && e.outcome.kind === "unknown";

/** True for an append that is sealed in its own transaction. */
export const isSealedAtOnce = (stream: StreamId, events: readonly TimedEvent[]): boolean =>
  events.some(({ event }) => isAlwaysSealed(stream, event.kind) || isUnknown(event));

const RESULTS: ReadonlySet<EventKind> = new Set<EventKind>([
  ...(["act.ended", "text.cleaned", "names.told", "labels.added", "budget.settled", "note", "gate.decided"] as const),
  ...(["context.compacted", "knowledge.recalled", "model.asked"] as const),
]);

/** True for an append that starts no call, ends nothing and tells nobody: under `lose-last-result` the next one flushes it. */
export const isResultOnly = (stream: StreamId, events: readonly TimedEvent[]): boolean =>
  isSessionStream(stream) && events.every(({ event }) => RESULTS.has(event.kind) && !isUnknown(event));

/** Ends of streams that a writer has written and not sealed yet. */
export class UnsealedMarks {
  readonly #sessions = new Map<StreamId, Mark>();
  readonly #others: Mark[] = []; // each append to such a stream can be proved by itself
  #since: Millis | null = null;
  #latest: Millis = millis(0);

  /** The time of the newest of these entries. */
  get latest(): Millis {
    return this.#latest;
  }

  get isEmpty(): boolean {
    return this.#since === null;
  }

  add(entries: readonly StoredEntry[], now: Millis): void {
    const mark = toMark(entries);
    if (isSessionStream(mark.stream)) this.#sessions.set(mark.stream, mark);
    else this.#others.push(mark);
    this.#since ??= now;
    this.#latest = millis(Math.max(this.#latest, entries.at(-1)?.at ?? 0));
  }

  has(stream: StreamId): boolean {
    return this.#sessions.has(stream);
  }

  /** True when a seal cannot wait any longer. */
  isDue(now: Millis): boolean {
    return this.#since !== null && (now >= this.#since + SEAL_WITHIN_MS || now < this.#since);
  }

  /** Everything that is unsealed, and what these appends add to it. */
  with(appends: readonly (readonly StoredEntry[])[]): readonly Mark[] {
    const sessions = new Map(this.#sessions);
    const others = [...this.#others];
    for (const entries of appends) {
      const mark = toMark(entries);
      if (isSessionStream(mark.stream)) sessions.set(mark.stream, mark);
      else others.push(mark);
    }
    return [...sessions.values(), ...others];
  }

  clear(): void {
    this.#sessions.clear();
    this.#others.length = 0;
    this.#since = null;
  }
}
