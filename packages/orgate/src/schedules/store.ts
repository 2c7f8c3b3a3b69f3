/**
 * The schedules of a project as the journal has them: read, declared, and changed by people. Whoever looks and whoever fires use this file alike.
 *
 * Z-2 a schedule is folded from its last entries: at least every so many of them one carries how it stood.
 * Z-2 what a project declares is written when it is new or another, once, whoever starts first; what it declares no more is removed; what people added stays.
 * Z-8 people change schedules when their key counts here and the policies let them.
 */
import {
  type Entry,
  FaultError,
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

/** A schedule with its name and the file it stands in; null: a person adds it. `isOwned`: its file says whose it is; else it is whose it is told to be. */
export type Declared = Readonly<{ name: string; spec: ScheduleSpec; from: string | null; isOwned?: boolean }>;

export type ScheduleStorePorts = Readonly<{ journal: Pick<Journal, "read" | "append" | "streams">; now(): Millis }>;
/** What is to be written as things stand, and what else with it; null: nothing. */
export type SchedulePlan = Readonly<{ events: readonly SystemEvent[] } & Partial<Pick<Append, "opens" | "tells" | "unlessHalted">>>;

export type ScheduleStore = Readonly<{
  /** As of the last refresh. */
  all(): ReadonlyMap<string, StandingSchedule>;
  get(name: string): StandingSchedule | null;
  /** Reads what is new: of one, or of all that have changed. Tells which those are. */
  refresh(name?: string): Promise<readonly string[]>;
  /** Appends what `plan` wants as it stands; whoever else was first changes that, and it is planned again. Null: nothing was to be done. */
  change(name: string, plan: (now: StandingSchedule | null) => SchedulePlan | null): Promise<StandingSchedule | null>;
  /** What the project's files declare counts, before anybody has recorded it: `get` and `all` return it as it would stand. */
  expect(declared: readonly Declared[]): void;
  /** Records what is expected; owners of schedules that no file names stay as they are. Without expectations it does nothing. */
  recordExpected(by: Principal): Promise<void>;
  /** Z-2. `owners`: a server takes over what no file says whose it is; who only passes by leaves it whose it has been (Z-4). */
  declare(declared: readonly Declared[], by: Principal, owners?: "taken" | "kept"): Promise<void>;
}>;

/** So many entries, and how it stands is carried: what is read at a start does not grow with a schedule's past. */
const CARRY_EVERY = 200;
const PAGE = 500;

export function openScheduleStore({ journal, now }: ScheduleStorePorts): ScheduleStore {
  const all = new Map<string, StandingSchedule>();

  async function read(name: string, last: Seq | null): Promise<void> {
    const before = all.get(name) ?? null;
    const stream = scheduleStream(name);
    if (before === null) {
      const found = await fromTheEnd(journal, name, last);
      if (found !== null) all.set(name, found);
      return;
    }
    for (let at: StandingSchedule | null = before; at !== null; ) {
      const entries: readonly Entry[] = await journal.read(stream, at.seq, PAGE);
      at = foldSchedule(at, entries);
      if (at !== null && (all.get(name)?.seq ?? 0) <= at.seq) all.set(name, at); // another read may have been quicker
      if (entries.length < PAGE) return;
    }
  }

  async function refresh(name?: string): Promise<readonly string[]> {
    if (name !== undefined) {
      const before = all.get(name)?.seq;
      await read(name, null);
      return all.get(name)?.seq === before ? [] : [name];
    }
    const moved = (await journal.streams(SCHEDULES))
      .map(({ stream, seq: last }) => ({ name: stream.slice(SCHEDULES.length), last }))
      .filter((one) => all.get(one.name)?.seq !== one.last);
    await together(moved, (one) => read(one.name, one.last));
    return moved.map((one) => one.name);
  }

  async function change(name: string, plan: (now: StandingSchedule | null) => SchedulePlan | null): Promise<StandingSchedule | null> {
    for (;;) {
      const standing = all.get(name) ?? null;
      const planned = plan(standing);
      if (planned === null) return null;
      const at = now();
      const events = [...carrying(standing), ...planned.events].map((event) => ({ at, event }));
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
        if ((all.get(name)?.seq ?? 0) < after.seq) all.set(name, after);
        return after;
      } catch (error) {
        if (!isFault(error) || error.fault.kind !== "append-conflict" || error.fault.stream !== scheduleStream(name)) throw error;
        await read(name, null);
      }
    }
  }

  const declare = (declared: readonly Declared[], by: Principal, owners: "taken" | "kept" = "taken"): Promise<void> =>
    declareAll({ all, refresh, change, now }, declared, by, owners);

  let expected: readonly Declared[] | null = null;
  async function recordExpected(by: Principal): Promise<void> {
    if (expected !== null) await declare(expected, by, "kept");
  }
  const pending = (): readonly StandingSchedule[] =>
    (expected ?? []).filter(({ name }) => !all.has(name) || all.get(name)?.state === "removed").map((one) => asIfDeclared(one, now()));

  return {
    all: () => (expected === null ? all : new Map([...all, ...pending().map((one) => [one.schedule, one] as const)])),
    get: (name) => pending().find(({ schedule }) => schedule === name) ?? all.get(name) ?? null,
    expect: (declared) => {
      expected = declared;
    },
    recordExpected,
    refresh,
    change,
    declare,
  };
}

/** Z-2. Records what is new or changed, once, whoever starts first; removes what no file declares any more. */
async function declareAll(
  {
    all,
    refresh,
    change,
    now,
  }: Pick<ScheduleStore, "refresh" | "change"> & Readonly<{ all: ReadonlyMap<string, StandingSchedule>; now(): Millis }>,
  declared: readonly Declared[],
  by: Principal,
  owners: "taken" | "kept",
): Promise<void> {
  await refresh();
  await together(declared, async (one) => {
    const { name, from } = one;
    if (!SCHEDULE_NAME.test(name)) throw usageFault(`\`${name}\` cannot name a schedule`, "use 1 to 64 of A-Z, a-z, 0-9, `_` and `-`");
    await change(name, (s) => {
      const isKept = owners === "kept" && one.isOwned === false && s !== null && s.from !== null && s.state !== "removed";
      const spec = isKept ? { ...one.spec, owner: s.spec.owner } : one.spec;
      if (s !== null && isSame(s, spec, from)) return null;
      return { events: [{ kind: "schedule.declared", schedule: name, spec, from, by, after: now(), carried: null }] };
    });
  });
  const names = new Set(declared.map(({ name }) => name));
  for (const { schedule, from, state } of all.values())
    if (from !== null && state !== "removed" && !names.has(schedule))
      await change(schedule, (s) =>
        s === null || s.from === null || s.state === "removed"
          ? null
          : { events: [{ kind: "schedule.removed", schedule, by, reason: `${from} declares it no more` }] },
      );
}

function asIfDeclared({ name, spec, from }: Declared, now: Millis): StandingSchedule {
  const by = { kind: "user", id: spec.owner } as const;
  return { schedule: name, spec, from, by, seq: seq(0), since: 0, ...newScheduleStanding(now) };
}

/** So many at once share a commit: ten thousand that are declared for the first time are not ten thousand waits for the disk. */
const AT_ONCE = 64;
async function together<T>(all: readonly T[], work: (one: T) => Promise<unknown>): Promise<void> {
  for (let i = 0; i < all.length; i += AT_ONCE) await Promise.all(all.slice(i, i + AT_ONCE).map(work));
}

const isSame = (s: StandingSchedule, spec: ScheduleSpec, from: string | null): boolean =>
  s.state !== "removed" && s.from === from && toCanonicalJson(s.spec as unknown as Json) === toCanonicalJson(spec as unknown as Json);

/** In the same append as what comes after it, and by whoever declared it. */
function carrying(s: StandingSchedule | null): readonly SystemEvent[] {
  if (s === null || s.since < CARRY_EVERY) return [];
  const { schedule, spec, from, by } = s;
  return [{ kind: "schedule.declared", schedule, spec, from, by, after: s.through, carried: toScheduleStanding(s) }];
}

/** Backwards, page by page, to the last declaration that carries, or to the beginning. */
async function fromTheEnd(journal: Pick<Journal, "read" | "streams">, name: string, known: Seq | null): Promise<StandingSchedule | null> {
  const stream = scheduleStream(name);
  const last = known ?? (await journal.streams(stream)).find((one) => one.stream === stream)?.seq ?? seq(0);
  for (let size = PAGE; ; size *= 4) {
    const start = Math.max(0, last - size);
    const entries = await readAllEntries(journal, stream, seq(start));
    const from = entries.findLastIndex(({ event }) => event.kind === "schedule.declared" && event.carried !== null);
    if (from >= 0 || start === 0) return foldSchedule(null, entries.slice(Math.max(0, from)));
  }
}

export const usageFault = (detail: string, hint: string): FaultError => new FaultError({ kind: "usage", detail, hint });
