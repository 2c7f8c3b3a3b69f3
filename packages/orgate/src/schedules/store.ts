/**
 * The schedules of a project, folded from the journal: the scheduler, the server and the command line all read and change them here.
 *
 * Z-2 A schedule is folded from its newest entries: at least every `CARRY_EVERY` entries, one carries the whole state.
 * Z-2 A declaration is written when it is new or has changed, once, by the first process that starts; a schedule that no file declares any more is removed;
 *    schedules that people added stay.
 * Z-8 A person changes a schedule if their key is certified here and the policies permit it.
 */
import {
  type Entry,
  isFault,
  type Json,
  type Millis,
  type Principal,
  SCHEDULE_NAME,
  type ScheduleSpec,
  type Seq,
  type SystemEvent,
  seq,
  toCanonicalJson,
} from "@orgate/core";
import {
  type Append,
  foldSchedule,
  type Journal,
  newScheduleStanding,
  readAllEntries,
  SCHEDULES,
  type StandingSchedule,
  scheduleStream,
  toScheduleStanding,
} from "@orgate/core/journal";
import { usageFault } from "@orgate/core/vocab";

/** `from`: the file that declares it; null: a person added it. `isOwned`: the file names the owner. */
export type Declared = Readonly<{ name: string; spec: ScheduleSpec; from: string | null; isOwned?: boolean }>;

export type ScheduleStorePorts = Readonly<{ journal: Pick<Journal, "read" | "append" | "streams">; now(): Millis }>;
/** The events of one change, and what else its append does. */
export type SchedulePlan = Readonly<{ events: readonly SystemEvent[] } & Partial<Pick<Append, "opens" | "tells" | "unlessHalted">>>;

/** How many entries may follow the last one that carries the state: a start reads no more, however old a schedule is. */
const CARRY_EVERY = 200;
const PAGE = 500;

export class ScheduleStore {
  readonly #ports: ScheduleStorePorts;
  readonly #all = new Map<string, StandingSchedule>();
  #expected: readonly Declared[] | null = null;

  constructor(ports: ScheduleStorePorts) {
    this.#ports = ports;
  }

  /** As of the last refresh. */
  all(): ReadonlyMap<string, StandingSchedule> {
    if (this.#expected === null) return this.#all;
    return new Map([...this.#all, ...this.#pending().map((one) => [one.schedule, one] as const)]);
  }

  get(name: string): StandingSchedule | null {
    return this.#pending().find(({ schedule }) => schedule === name) ?? this.#all.get(name) ?? null;
  }

  /** Declared schedules count before anybody has recorded them: `get` and `all` return them as they would stand. */
  expect(declared: readonly Declared[]): void {
    this.#expected = declared;
  }

  /** Records what is expected; owners of schedules that no file names stay as they are. Without expectations it does nothing. */
  async recordExpected(by: Principal): Promise<void> {
    if (this.#expected !== null) await this.declare(this.#expected, by, "kept");
  }

  /** Reads the new entries of one schedule, or of all; returns the names of those that changed. */
  async refresh(name?: string): Promise<readonly string[]> {
    if (name !== undefined) {
      const before = this.#all.get(name)?.seq;
      await this.#read(name, null);
      return this.#all.get(name)?.seq === before ? [] : [name];
    }
    const moved = (await this.#ports.journal.streams(SCHEDULES))
      .map(({ stream, seq: last }) => ({ name: stream.slice(SCHEDULES.length), last }))
      .filter((one) => this.#all.get(one.name)?.seq !== one.last);
    await inBatches(moved, (one) => this.#read(one.name, one.last));
    return moved.map((one) => one.name);
  }

  /** Appends what `plan` returns for the current state; when another process was first, it plans again. Null: `plan` wanted nothing. */
  async change(name: string, plan: (now: StandingSchedule | null) => SchedulePlan | null): Promise<StandingSchedule | null> {
    const { journal, now } = this.#ports;
    for (;;) {
      const standing = this.#all.get(name) ?? null;
      const planned = plan(standing);
      if (planned === null) return null;
      const at = now();
      const events = [...carriedState(standing), ...planned.events].map((event) => ({ at, event }));
      try {
        const { opens = [], tells = [], unlessHalted = [] } = planned;
        const stream = scheduleStream(name);
        const first = await journal.append({
          stream,
          after: standing?.seq ?? seq(0),
          hold: null,
          events,
          consumes: [],
          unlessHalted,
          opens,
          tells,
        });
        const entries = events.map(({ event }, i): Entry => ({ stream, seq: seq(first + i), at, event }));
        const after = foldSchedule(standing, entries);
        if (after === null) throw new Error(`schedule \`${name}\` is there and not there`);
        if ((this.#all.get(name)?.seq ?? 0) < after.seq) this.#all.set(name, after);
        return after;
      } catch (error) {
        if (!isFault(error) || error.fault.kind !== "append-conflict" || error.fault.stream !== scheduleStream(name)) throw error;
        await this.#read(name, null);
      }
    }
  }

  /** Z-2. `owners`: a server takes over schedules whose file names no owner; a passing command leaves their owner as it was (Z-4). */
  async declare(declared: readonly Declared[], by: Principal, owners: "taken" | "kept" = "taken"): Promise<void> {
    await this.refresh();
    await inBatches(declared, (one) => this.#declareOne(one, by, owners));
    const names = new Set(declared.map(({ name }) => name));
    for (const { schedule, from, state } of this.#all.values())
      if (from !== null && state !== "removed" && !names.has(schedule))
        await this.change(schedule, (s) =>
          s === null || s.from === null || s.state === "removed"
            ? null
            : { events: [{ kind: "schedule.removed", schedule, by, reason: `${from} declares it no more` }] },
        );
  }

  #pending(): readonly StandingSchedule[] {
    const isPending = ({ name }: Declared): boolean => !this.#all.has(name) || this.#all.get(name)?.state === "removed";
    return (this.#expected ?? []).filter(isPending).map((one) => asIfDeclared(one, this.#ports.now()));
  }

  async #declareOne(one: Declared, by: Principal, owners: "taken" | "kept"): Promise<void> {
    const { name, from } = one;
    if (!SCHEDULE_NAME.test(name)) throw usageFault(`\`${name}\` cannot name a schedule`, "use 1 to 64 of A-Z, a-z, 0-9, `_` and `-`");
    await this.change(name, (s) => {
      const isKept = owners === "kept" && one.isOwned === false && s !== null && s.from !== null && s.state !== "removed";
      const spec = isKept ? { ...one.spec, owner: s.spec.owner } : one.spec;
      if (s !== null && isSame(s, spec, from)) return null;
      return { events: [{ kind: "schedule.declared", schedule: name, spec, from, by, after: this.#ports.now(), carried: null }] };
    });
  }

  async #read(name: string, last: Seq | null): Promise<void> {
    const { journal } = this.#ports;
    const before = this.#all.get(name) ?? null;
    if (before === null) {
      const found = await readFromEnd(journal, name, last);
      if (found !== null) this.#all.set(name, found);
      return;
    }
    for (let at: StandingSchedule | null = before; at !== null; ) {
      const entries: readonly Entry[] = await journal.read(scheduleStream(name), at.seq, PAGE);
      at = foldSchedule(at, entries);
      if (at !== null && (this.#all.get(name)?.seq ?? 0) <= at.seq) this.#all.set(name, at); // another read may have been quicker
      if (entries.length < PAGE) return;
    }
  }
}

function asIfDeclared({ name, spec, from }: Declared, now: Millis): StandingSchedule {
  const by = { kind: "user", id: spec.owner } as const;
  return { schedule: name, spec, from, by, seq: seq(0), since: 0, ...newScheduleStanding(now) };
}

/** Appends of one batch share a commit: declaring ten thousand schedules is not ten thousand waits for the disk. */
const AT_ONCE = 64;
async function inBatches<T>(all: readonly T[], work: (one: T) => Promise<unknown>): Promise<void> {
  for (let i = 0; i < all.length; i += AT_ONCE) await Promise.all(all.slice(i, i + AT_ONCE).map(work));
}

const isSame = (s: StandingSchedule, spec: ScheduleSpec, from: string | null): boolean =>
  s.state !== "removed" && s.from === from && toCanonicalJson(s.spec as unknown as Json) === toCanonicalJson(spec as unknown as Json);

/** The event that carries the state, where one is due; it joins the append of the change. */
function carriedState(s: StandingSchedule | null): readonly SystemEvent[] {
  if (s === null || s.since < CARRY_EVERY) return [];
  const { schedule, spec, from, by } = s;
  return [{ kind: "schedule.declared", schedule, spec, from, by, after: s.through, carried: toScheduleStanding(s) }];
}

/** Reads backwards to the last declaration that carries the state, or to the first entry. */
async function readFromEnd(journal: Pick<Journal, "read" | "streams">, name: string, known: Seq | null): Promise<StandingSchedule | null> {
  const stream = scheduleStream(name);
  const last = known ?? (await journal.streams(stream)).find((one) => one.stream === stream)?.seq ?? seq(0);
  for (let size = PAGE; ; size *= 4) {
    const start = Math.max(0, last - size);
    const entries = await readAllEntries(journal, stream, seq(start));
    const from = entries.findLastIndex(({ event }) => event.kind === "schedule.declared" && event.carried !== null);
    if (from >= 0 || start === 0) return foldSchedule(null, entries.slice(Math.max(0, from)));
  }
}
