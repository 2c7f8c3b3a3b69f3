/**
 * Commits of one drive: events are recorded into a batch and folded at once; the batch is appended through the turnstile, which no other file imports.
 * L-5 append before effect: an announcement is durable before its effect is launched (rule 2).
 * L-6 a failed append leaves nothing behind: driving stops. A commit that a halt, a revoked grant or a moved counter refuses is taken back instead.
 */

import type { Orders } from "../journal/orders.ts";
import type { SessionStart } from "../journal/port.ts";
import { type DigestAction, type Permit, type Receipt, type Redeem, turnstile } from "../permit/turnstile.ts";
import {
  type ActionText,
  countJoined,
  FaultError,
  type GrantId,
  type Intent,
  type IntentId,
  isFault,
  type JournalEvent,
  type Millis,
  type Seq,
  seq,
  type TimedEvent,
} from "../vocab/index.ts";
import { endingIntents } from "./calls/delegate.ts";
import { emptyState, evolve, replaceState } from "./evolve.ts";
import { settlementAfter } from "./limits/budgets.ts";
import { createSessionCounters, type SessionCounters } from "./limits/session-rate-counters.ts";
import { isOutputAsked, outputAskedEvents } from "./model/structured-output.ts";
import type { Held } from "./open.ts";
import { isBeginning, listHaltScopes, restsOnGrant } from "./people/halts.ts";
import type { Live, Ports } from "./ports.ts";
import { readState } from "./resume.ts";
import type { State } from "./state.ts";

/** The state of the world that a decision was made on: labels, outcomes and unknowns; grants and halts; circuit breakers. */
type Moment = Readonly<{ changes: number; orders: Orders; breakers: number }>;

export type CommitParts = Readonly<{
  p: Ports;
  held: Held;
  time: () => Millis;
  digestAction: DigestAction;
  /** Called before an event is folded. */
  onRecord(event: JournalEvent): void;
}>;

export class SessionCommits {
  readonly #p: Ports;
  readonly #s: State;
  readonly #parts: CommitParts;
  readonly #counters: SessionCounters;
  readonly #pass: ReturnType<typeof turnstile>;
  readonly #batch: TimedEvent[] = [];
  readonly #consumed: IntentId[] = [];
  readonly #opening: SessionStart[] = []; // sub-agents whose sessions open with the batch
  readonly #telling: Intent[] = []; // intents for other sessions that go with it
  readonly #decidedAt = new Map<ActionText, Moment>();
  readonly #receipts = new Map<ActionText, Receipt>();
  #durable: Seq;

  constructor(parts: CommitParts) {
    const { p, held, digestAction } = parts;
    this.#p = p;
    this.#s = held.state;
    this.#parts = parts;
    this.#durable = held.state.seq;
    this.#counters = createSessionCounters(p, held.state);
    this.#pass = turnstile((events) => this.#append(events), digestAction);
  }

  get redeem(): Redeem {
    return this.#pass.redeem;
  }

  /** Folds an event and adds it to the batch, with the events that follow from it. */
  record(event: JournalEvent): void {
    const at = this.#parts.time();
    const s = this.#s;
    const place = seq(s.seq + 1 - countJoined(this.#batch, event)); // decisions that it takes in have no places of their own
    this.#batch.push({ at, event });
    this.#parts.onRecord(event);
    evolve(s, { stream: s.session, seq: place, at, event });
    if (event.kind === "turn.ended") this.#telling.push(...endingIntents(this.#p, s, at));
    this.#counters.heard(event);
    if (event.kind === "gate.decided") this.markCurrent(event.id);
    for (const more of outputAskedEvents(this.#p, event)) this.record(more);
    for (const more of settlementAfter(s, event)) this.record(more);
  }

  /** True when the batch is durable. False: the journal refused it, nothing was begun, and what had happened is recorded again. Throws otherwise. */
  async flush(): Promise<boolean> {
    if (this.#batch.length === 0) return true;
    const events = this.#batch.splice(0);
    const consumed = [...this.#consumed];
    this.#counters.about(events);
    try {
      const receipt = await this.#pass.append(events);
      this.#counters.durable();
      for (const { event } of events)
        if (event.kind === "gate.decided" && event.verdict.kind === "allow") this.#receipts.set(event.id, receipt);
    } catch (error) {
      const isMoved = isFault(error, "counters-moved");
      if (!isMoved && (this.#durable === 0 || !(isFault(error, "halted") || isFault(error, "grant-revoked")))) throw error;
      const { fault } = error;
      await this.#takeBack(events, consumed, fault.kind === "grant-revoked" ? fault.grant : null);
      return false;
    }
    return true;
  }

  async #append(events: readonly TimedEvent[]): Promise<Seq> {
    const first = await this.#p.journal.append({
      stream: this.#s.session,
      after: this.#durable,
      hold: this.#parts.held.hold,
      events,
      consumes: this.#consumed.splice(0),
      unlessHalted: listHaltScopes(this.#s, events),
      opens: this.#opening.splice(0),
      tells: this.#telling.splice(0),
      ...this.#counters.now(),
    });
    if (first !== this.#durable + 1)
      throw new FaultError({
        kind: "journal-unwritable",
        detail: `the store put entry ${this.#durable + 1} of ${this.#s.session} at ${String(first)}`,
      });
    this.#durable = seq(this.#durable + events.length);
    for (const [i, { at, event }] of events.entries())
      this.tell({ kind: "entry", entry: { stream: this.#s.session, seq: seq(first + i), at, event } });
    return first;
  }

  /** Nothing of a refused batch is durable. What had happened is recorded again; what was to begin, or rests on what was refused, is not. */
  async #takeBack(events: readonly TimedEvent[], consumed: readonly IntentId[], revoked: GrantId | null): Promise<void> {
    await this.#p.orders.refresh();
    const restsOnCounters = this.#counters.takenBack();
    const s = this.#s;
    const [first] = events;
    const isNew = this.#durable === 0 && first?.event.kind === "session.opened";
    replaceState(s, isNew ? emptyState(s.session, first.event, this.#p.counters) : await readState(this.#p, s.session, this.#p));
    for (const { event } of events)
      if (!isBeginning(event) && !restsOnGrant(event, revoked) && !restsOnCounters(event) && !isOutputAsked(event)) this.record(event);
    this.#decidedAt.clear(); // the order came after these decisions: each is checked again
    this.#consumed.push(...consumed);
  }

  /** Issued once per durable `allow`. */
  permitFor(action: ActionText): Permit {
    const receipt = this.#receipts.get(action);
    this.#receipts.delete(action);
    this.#decidedAt.delete(action); // it is looked at again only before it starts: the map must not grow with the turn
    if (receipt === undefined) throw new FaultError({ kind: "permit-refused", action, detail: "no durable allow" });
    return this.#pass.issuePermit(receipt, action);
  }

  /** True while nothing that a decision reads has changed since it was made, in this session or another. */
  isCurrent(action: ActionText): boolean {
    const seen = this.#decidedAt.get(action);
    return (
      seen?.changes === this.#s.changes &&
      seen.orders === this.#p.orders.now() &&
      seen.breakers === this.#p.breakers.version() &&
      this.#counters.isCurrent(action)
    );
  }

  markCurrent(action: ActionText): void {
    const { orders, breakers } = this.#p;
    this.#decidedAt.set(action, { changes: this.#s.changes, orders: orders.now(), breakers: breakers.version() });
  }

  /** The action is being decided again, perhaps by a gate that answers later: until it is, the decision before does not count. */
  markStale(action: ActionText): void {
    this.#decidedAt.delete(action);
  }

  /** The action is decided again: its receipt issues no permit any more. */
  withdraw(action: ActionText): void {
    this.#receipts.delete(action);
  }

  isConsumed(intent: IntentId): boolean {
    return this.#consumed.includes(intent);
  }

  consume(intent: IntentId): void {
    this.#consumed.push(intent);
  }

  begin(one: SessionStart): void {
    this.#opening.push(one);
  }

  /** A watcher's error is its own: the run does not depend on who watches. */
  tell(live: Live): void {
    try {
      this.#p.watch(live);
    } catch {
      // the watcher's owner sees it there
    }
  }

  close(): void {
    this.#counters.leave();
  }
}
