/**
 * Counters over hours and days, as one process sees them: what it has counted itself it knows, what others have counted it reads at the moment
 * of a decision. A decision that lets something begin sets its count aside at once, so that the next one, in whatever session, sees it (G-25);
 * what begins is written only if nobody else has counted meanwhile (G-25). Nothing of it waits: reading, deciding and setting aside are one step.
 */
import { type Count, type CountRead, sumBuckets, toBucket, toBucketSpan } from "../../journal/counts.ts";
import type { Append, Journal } from "../../journal/port.ts";
import { type Counter, type Millis, millis, type RecentCounts } from "../../vocab/index.ts";

/** Whose: a session's action. */
export type ActionOwner = Readonly<{ session: string; action: string }>;
export type RateQuery = Counter & Readonly<{ agent: string }>;
export type RateReservation = RateQuery & Readonly<{ by: number }>;

export type CountsPort = Readonly<{
  /** From now on these are there to be read. */
  keep(names: readonly string[]): Promise<void>;
  areKept(names: readonly string[]): boolean;
  /** Begins the reads of one decision; the action itself is not counted. */
  reader(whose: ActionOwner, now: Millis): (sought: RateQuery) => RecentCounts;
  /** Reserved until it begins, or is released. */
  reserve(whose: ActionOwner, counts: readonly RateReservation[]): void;
  release(whose: ActionOwner): void;
  /** Of one session: reserved for its actions, this one not counted. */
  asideIn(whose: ActionOwner, sought: RateQuery): number;
  /** True while nobody else has counted what this decision read. */
  isCurrent(whose: ActionOwner): boolean;
  hasRead(whose: ActionOwner): boolean;
  /** For the append in which these begin. */
  conditions(begun: readonly ActionOwner[], add: readonly Count[]): NonNullable<Append["counts"]>;
  /** The commit is durable: its reservations count as real from now on. */
  begun(begun: readonly ActionOwner[], counts: NonNullable<Append["counts"]>): void;
  /** The session is driven no more: its next driver decides again what had not begun. */
  leave(session: string): void;
}>;

type Reading = Readonly<{ sought: RateQuery; day: number; others: number }>;
type Session = { readonly aside: Map<string, readonly RateReservation[]>; readonly reads: Map<string, Map<string, Reading>> };

const DAY_MS = 86_400_000;
const SLACK_MS = 60_000;

/**
 * The time that hours and days are counted by. A leap forward of the wall is believed only once a day has really passed since (`elapsed`): until then
 * what happened before it is still of the last day. A leap back is believed at once: more is counted then, never less (G-25).
 */
export function countingTime(now: () => Millis, elapsed: () => number): () => Millis {
  let offset = now() - elapsed();
  let leap: Readonly<{ offset: number; at: number }> | null = null;
  return () => {
    const ticks = elapsed();
    const found = now() - ticks;
    if (found > offset + SLACK_MS && (leap === null || found > leap.offset + SLACK_MS)) leap = { offset: found, at: ticks };
    if (found <= offset + SLACK_MS || (leap !== null && ticks - leap.at >= DAY_MS)) {
      offset = found;
      leap = null;
    }
    return millis(Math.floor(ticks + offset));
  };
}

const keyOf = ({ name, agent, value }: RateQuery): string => `${name}\n${agent}\n${value}`;

type CountsJournal = Pick<Journal, "writer" | "counted" | "keepCounts">;

/** The rate counters of a process. `elapsed`: milliseconds that really pass, also while the machine sleeps; without it the wall clock is believed. */
export function openCounts(journal: CountsJournal, wall: () => Millis, elapsed: () => number = wall): CountsPort {
  const all = new RateCounters(journal, countingTime(wall, elapsed));
  return {
    keep: (names) => all.keep(names),
    areKept: (names) => all.areKept(names),
    reader: (whose, at) => all.reader(whose, at),
    reserve: (whose, counts) => all.setAside(whose, counts),
    release: (whose) => all.letGo(whose),
    asideIn: (whose, sought) => all.asideIn(whose, sought),
    isCurrent: (whose) => all.isCurrent(whose),
    hasRead: (whose) => all.hasRead(whose),
    conditions: (begun, counts) => all.conditions(begun, counts),
    begun: (begun, counts) => all.begun(begun, counts),
    leave: (session) => all.leave(session),
  };
}

class RateCounters {
  readonly #journal: CountsJournal;
  readonly #now: () => Millis;
  readonly #kept = new Set<string>();
  readonly #own = new Map<string, Map<number, number>>();
  readonly #aside = new Map<string, number>(); // over all sessions
  readonly #sessions = new Map<string, Session>();
  readonly #since: Millis;
  #generation = 0;
  #swept = 0;
  #owner: string;

  constructor(journal: CountsJournal, now: () => Millis) {
    this.#journal = journal;
    this.#now = now;
    this.#since = now();
    this.#owner = this.#ownerName();
  }

  async keep(names: readonly string[]): Promise<void> {
    const fresh = names.filter((name) => !this.#kept.has(name));
    if (fresh.length === 0) return;
    await this.#journal.keepCounts(fresh, this.#now());
    this.#generation += 1;
    this.#owner = this.#ownerName();
    this.#own.clear();
    for (const name of fresh) this.#kept.add(name);
  }

  areKept(names: readonly string[]): boolean {
    return names.every((name) => this.#kept.has(name));
  }

  reader(whose: ActionOwner, at: Millis): (sought: RateQuery) => RecentCounts {
    this.#sessions.get(whose.session)?.reads.delete(whose.action);
    return (sought) => this.#read(whose, sought, at);
  }

  setAside(whose: ActionOwner, counts: readonly RateReservation[]): void {
    this.letGo(whose);
    const wanted = counts.filter(({ name }) => this.#kept.has(name) || name.includes("/")); // per value it is read for a turn, too
    if (wanted.length === 0) return;
    this.#of(whose.session).aside.set(whose.action, wanted);
    this.#add(wanted, 1);
  }

  letGo({ session, action }: ActionOwner): void {
    const mine = this.#sessions.get(session);
    this.#add(mine?.aside.get(action) ?? [], -1);
    mine?.aside.delete(action);
  }

  asideIn({ session, action }: ActionOwner, sought: RateQuery): number {
    const all = this.#sessions.get(session)?.aside ?? [];
    let sum = 0;
    for (const [id, list] of all) if (id !== action) sum += asideFor(list, keyOf(sought));
    return sum;
  }

  isCurrent({ session, action }: ActionOwner): boolean {
    for (const { sought, day, others: seen } of this.#sessions.get(session)?.reads.get(action)?.values() ?? [])
      if (this.#others(sought, { hour: day, day }).day !== seen) return false;
    return true;
  }

  hasRead({ session, action }: ActionOwner): boolean {
    return (this.#sessions.get(session)?.reads.get(action)?.size ?? 0) > 0;
  }

  conditions(begun: readonly ActionOwner[], counts: readonly Count[]): NonNullable<Append["counts"]> {
    const owner = this.#owner;
    const unless = begun.flatMap(({ session, action }): readonly CountRead[] =>
      [...(this.#sessions.get(session)?.reads.get(action)?.values() ?? [])].map(({ sought, day, others: seen }) => ({
        ...sought,
        day,
        not: owner,
        seen,
      })),
    );
    return { owner, add: counts, unless, before: toBucketSpan(this.#now()).day };
  }

  begun(all: readonly ActionOwner[], { owner, add: counts }: NonNullable<Append["counts"]>): void {
    for (const whose of all) {
      this.letGo(whose);
      this.#sessions.get(whose.session)?.reads.delete(whose.action);
    }
    this.#sweep();
    if (owner !== this.#owner) return; // it is read from the journal
    for (const one of counts) {
      if (!this.#kept.has(one.name)) continue;
      const rows = this.#own.get(keyOf(one)) ?? new Map<number, number>();
      this.#own.set(keyOf(one), rows.set(toBucket(one.at), (rows.get(toBucket(one.at)) ?? 0) + one.by));
    }
  }

  leave(session: string): void {
    for (const list of this.#sessions.get(session)?.aside.values() ?? []) this.#add(list, -1);
    this.#sessions.delete(session);
  }

  /** Rows of an earlier generation are read like those of another process: this generation knows its counts since it began to keep them. */
  #ownerName(): string {
    return `${this.#journal.writer}.${this.#since}.${this.#generation}`;
  }

  #of(session: string): Session {
    const found = this.#sessions.get(session) ?? { aside: new Map(), reads: new Map() };
    this.#sessions.set(session, found);
    return found;
  }

  #add(list: readonly RateReservation[], sign: 1 | -1): void {
    for (const one of list) {
      const left = (this.#aside.get(keyOf(one)) ?? 0) + sign * one.by;
      if (left === 0) this.#aside.delete(keyOf(one));
      else this.#aside.set(keyOf(one), left);
    }
  }

  #others(sought: RateQuery, at: Readonly<{ hour: number; day: number }>): RecentCounts {
    return this.#journal.counted({ ...sought, ...at, not: this.#owner });
  }

  #read(whose: ActionOwner, sought: RateQuery, at: Millis): RecentCounts {
    if (!this.#kept.has(sought.name)) throw new Error(`\`${sought.name}\` is not counted yet`);
    const span = toBucketSpan(Math.min(at, this.#now())); // a session's own time may be ahead, after a clock that was: the others' is not
    const key = keyOf(sought);
    const theirs = this.#others(sought, span);
    if (Number.isNaN(theirs.day)) {
      this.#kept.delete(sought.name); // kept again before the next decision
      throw new Error(`\`${sought.name}\` has to be counted again`);
    }
    const mine = sumBuckets(rowsOf(this.#own.get(key)), span);
    const mineToBe = (this.#aside.get(key) ?? 0) - asideFor(this.#sessions.get(whose.session)?.aside.get(whose.action), key);
    const { reads } = this.#of(whose.session);
    const before = reads.get(whose.action) ?? new Map<string, Reading>();
    reads.set(whose.action, before.set(key, { sought, day: span.day, others: theirs.day }));
    return { hour: theirs.hour + mine.hour + mineToBe, day: theirs.day + mine.day + mineToBe };
  }

  /** Rows older than a day are never read again. */
  #sweep(): void {
    const { day } = toBucketSpan(this.#now());
    if (this.#swept === day) return;
    this.#swept = day;
    for (const [key, rows] of this.#own) {
      for (const bucket of rows.keys()) if (bucket < day) rows.delete(bucket);
      if (rows.size === 0) this.#own.delete(key);
    }
  }
}

const asideFor = (list: readonly RateReservation[] | undefined, key: string): number =>
  (list ?? []).reduce((sum, one) => (keyOf(one) === key ? sum + one.by : sum), 0);

function* rowsOf(rows: ReadonlyMap<number, number> | undefined): Iterable<Readonly<{ bucket: number; n: number }>> {
  for (const [bucket, n] of rows ?? []) yield { bucket, n };
}
