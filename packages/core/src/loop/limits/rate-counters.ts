/**
 * What is counted over hours and days, as one process sees it: what it has counted itself it knows, what others have counted it reads at the moment
 * of a decision. A decision that lets something begin sets its count aside at once, so that the next one, in whatever session, sees it (G-25);
 * what begins is written only if nobody else has counted meanwhile (G-25). Nothing of it waits: reading, deciding and setting aside are one step.
 */
import { bucketOf, type Count, type CountRead, spanOf, sumOf } from "../../journal/counts.ts";
import type { Append, Journal } from "../../journal/port.ts";
import { type Counter, type Lately, type Millis, millis } from "../../vocab/index.ts";

/** Whose: a session's action. */
export type Whose = Readonly<{ session: string; action: string }>;
export type RateQuery = Counter & Readonly<{ agent: string }>;
export type Aside = RateQuery & Readonly<{ by: number }>;

export type CountsPort = Readonly<{
  /** From now on these are there to be read. */
  keep(names: readonly string[]): Promise<void>;
  areKept(names: readonly string[]): boolean;
  /** What a decision about this reads begins here; the action itself is not counted. */
  reader(whose: Whose, now: Millis): (sought: RateQuery) => Lately;
  /** Set aside until it begins, or is let go. */
  setAside(whose: Whose, counts: readonly Aside[]): void;
  letGo(whose: Whose): void;
  /** Of one session: set aside for its actions, this one not counted. */
  asideIn(whose: Whose, sought: RateQuery): number;
  /** True while nobody else has counted what this decision read. */
  isCurrent(whose: Whose): boolean;
  hasRead(whose: Whose): boolean;
  /** For the append in which these begin. */
  conditions(begun: readonly Whose[], add: readonly Count[]): NonNullable<Append["counts"]>;
  /** It is durable: what was set aside for these counts from now on as what it is. */
  begun(begun: readonly Whose[], counts: NonNullable<Append["counts"]>): void;
  /** The session is driven no more: what had not begun is decided again by whoever takes it up. */
  leave(session: string): void;
}>;

type Reading = Readonly<{ sought: RateQuery; day: number; others: number }>;
type Session = { readonly aside: Map<string, readonly Aside[]>; readonly reads: Map<string, Map<string, Reading>> };

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

/** `elapsed`: milliseconds that really pass, also while the machine sleeps; without it the wall is believed. */
export function countsOf(
  journal: Pick<Journal, "writer" | "counted" | "keepCounts">,
  wall: () => Millis,
  elapsed: () => number = wall,
): CountsPort {
  const now = countingTime(wall, elapsed);
  const kept = new Set<string>();
  const own = new Map<string, Map<number, number>>();
  const aside = new Map<string, number>(); // over all sessions
  const sessions = new Map<string, Session>();
  const since = now();
  let generation = 0;
  let swept = 0;
  /** Rows of an earlier generation are read like anybody else's: what this one knows begins when it began to keep. */
  const ownerOf = (generation: number): string => `${journal.writer}.${since}.${generation}`;
  let owner = ownerOf(0);

  const of = (session: string): Session => {
    const found = sessions.get(session) ?? { aside: new Map(), reads: new Map() };
    sessions.set(session, found);
    return found;
  };
  const add = (list: readonly Aside[], sign: 1 | -1): void => {
    for (const one of list) {
      const left = (aside.get(keyOf(one)) ?? 0) + sign * one.by;
      if (left === 0) aside.delete(keyOf(one));
      else aside.set(keyOf(one), left);
    }
  };
  const asideFor = (list: readonly Aside[] | undefined, key: string): number =>
    (list ?? []).reduce((sum, one) => (keyOf(one) === key ? sum + one.by : sum), 0);

  function letGo({ session, action }: Whose): void {
    const mine = sessions.get(session);
    add(mine?.aside.get(action) ?? [], -1);
    mine?.aside.delete(action);
  }

  const others = (sought: RateQuery, at: Readonly<{ hour: number; day: number }>): Lately =>
    journal.counted({ ...sought, ...at, not: owner });

  function read(whose: Whose, sought: RateQuery, at: Millis): Lately {
    if (!kept.has(sought.name)) throw new Error(`\`${sought.name}\` is not counted yet`);
    const span = spanOf(Math.min(at, now())); // a session's own time may be ahead, after a clock that was: the others' is not
    const key = keyOf(sought);
    const theirs = others(sought, span);
    if (Number.isNaN(theirs.day)) {
      kept.delete(sought.name); // kept anew before the next decision
      throw new Error(`\`${sought.name}\` has to be counted anew`);
    }
    const mine = sumOf(rowsOf(own.get(key)), span);
    const mineToBe = (aside.get(key) ?? 0) - asideFor(sessions.get(whose.session)?.aside.get(whose.action), key);
    const { reads } = of(whose.session);
    const before = reads.get(whose.action) ?? new Map<string, Reading>();
    reads.set(whose.action, before.set(key, { sought, day: span.day, others: theirs.day }));
    return { hour: theirs.hour + mine.hour + mineToBe, day: theirs.day + mine.day + mineToBe };
  }

  /** What is older than a day is of no more use. */
  function sweep(): void {
    const { day } = spanOf(now());
    if (swept === day) return;
    swept = day;
    for (const [key, rows] of own) {
      for (const bucket of rows.keys()) if (bucket < day) rows.delete(bucket);
      if (rows.size === 0) own.delete(key);
    }
  }

  return {
    async keep(names) {
      const fresh = names.filter((name) => !kept.has(name));
      if (fresh.length === 0) return;
      await journal.keepCounts(fresh, now());
      generation += 1;
      owner = ownerOf(generation);
      own.clear();
      for (const name of fresh) kept.add(name);
    },
    areKept: (names) => names.every((name) => kept.has(name)),
    reader(whose, at) {
      sessions.get(whose.session)?.reads.delete(whose.action);
      return (sought) => read(whose, sought, at);
    },
    setAside(whose, counts) {
      letGo(whose);
      const wanted = counts.filter(({ name }) => kept.has(name) || name.includes("/")); // per value it is read for a turn, too
      if (wanted.length === 0) return;
      of(whose.session).aside.set(whose.action, wanted);
      add(wanted, 1);
    },
    letGo,
    asideIn({ session, action }, sought) {
      const all = sessions.get(session)?.aside ?? [];
      let sum = 0;
      for (const [id, list] of all) if (id !== action) sum += asideFor(list, keyOf(sought));
      return sum;
    },
    isCurrent({ session, action }) {
      for (const { sought, day, others: seen } of sessions.get(session)?.reads.get(action)?.values() ?? [])
        if (others(sought, { hour: day, day }).day !== seen) return false;
      return true;
    },
    hasRead: ({ session, action }) => (sessions.get(session)?.reads.get(action)?.size ?? 0) > 0,
    conditions(begun, counts) {
      const unless = begun.flatMap(({ session, action }): readonly CountRead[] =>
        [...(sessions.get(session)?.reads.get(action)?.values() ?? [])].map(({ sought, day, others: seen }) => ({
          ...sought,
          day,
          not: owner,
          seen,
        })),
      );
      return { owner: owner, add: counts, unless, before: spanOf(now()).day };
    },
    begun(all, { owner: as, add: counts }) {
      for (const whose of all) {
        letGo(whose);
        sessions.get(whose.session)?.reads.delete(whose.action);
      }
      sweep();
      if (as !== owner) return; // it is read from the journal
      for (const one of counts) {
        if (!kept.has(one.name)) continue;
        const rows = own.get(keyOf(one)) ?? new Map<number, number>();
        own.set(keyOf(one), rows.set(bucketOf(one.at), (rows.get(bucketOf(one.at)) ?? 0) + one.by));
      }
    },
    leave(session) {
      for (const list of sessions.get(session)?.aside.values() ?? []) add(list, -1);
      sessions.delete(session);
    },
  };
}

function* rowsOf(rows: ReadonlyMap<number, number> | undefined): Iterable<Readonly<{ bucket: number; n: number }>> {
  for (const [bucket, n] of rows ?? []) yield { bucket, n };
}
