/**
 * Schedules as people see and change them. The command line, the API and the coordinator use this file.
 * Z-8 a schedule is changed only by a certified person whom the policies let do so; whoever adds one is whom it runs for.
 * Z-8 whoever asks once more under the same name gets what they got: also of a schedule whose firings share a session, and after a crash.
 * Z-6 what was set aside is fired again, as what it was, because a person asks for it; then it is set aside no more.
 */
import {
  FaultError,
  type Gate,
  isFault,
  type Journal,
  type Millis,
  millis,
  type Principal,
  SCHEDULE_NAME,
  type ScheduleSpec,
  type SessionId,
  type SystemEvent,
  seq,
} from "@orgate/core";
import { type StandingSchedule, scheduleStream } from "@orgate/core/journal";
import { type Acting, assertMayAct, certifyActor } from "../runtime/people/approvals.ts";
import { createRunCheck } from "../runtime/people/may-run.ts";
import type { Person } from "../store/keyring.ts";
import type { Calendar } from "./calendar.ts";
import { dueTimes, nextThree } from "./due-times.ts";
import { planFiring, type SchedulerPorts, toFiringId } from "./scheduler.ts";
import { type ScheduleStore, usageFault } from "./store.ts";

export type ScheduleView = Readonly<{
  schedule: string;
  state: StandingSchedule["state"] | "off";
  spec: ScheduleSpec;
  /** The file that declares it; null: a person added it. */
  from: string | null;
  /** When it fires next, jitter included; null: not by itself. */
  nextAt: Millis | null;
  /** That and the two after it. */
  upcoming: readonly Millis[];
  /** Firings that are not over, that wait, and that are tried again. */
  open: readonly SessionId[];
  queued: number;
  retrying: number;
  setAside: readonly Readonly<{ dueAt: Millis; session: SessionId }>[];
  /** Set aside in a row. */
  failures: number;
  fired: number;
  last: StandingSchedule["last"];
}>;

export type HistoryEntry = Readonly<{ seq: number; at: Millis; event: Readonly<Record<string, unknown>> & Readonly<{ kind: string }> }>;

export type ScheduleOperationPorts = Pick<SchedulerPorts, "findSessionStart" | "newSession" | "now" | "sign"> &
  Readonly<{
    schedules: ScheduleStore;
    journal: Pick<Journal, "read" | "session">;
    calendar: Calendar;
    place: Acting["place"];
    gate: Pick<Gate, "decideFor">;
  }>;

export type ScheduleDesk = Readonly<{
  /** By name; those that were removed are not among them. */
  list(): Promise<readonly ScheduleView[]>;
  /** The same, before it is worked out when each fires: what is not shown costs nothing. */
  standing(): Promise<readonly StandingSchedule[]>;
  view(standing: StandingSchedule): ScheduleView;
  stateOf(standing: StandingSchedule): ScheduleView["state"];
  show(name: string): Promise<ScheduleView | null>;
  /** Newest first. */
  history(name: string, page: Readonly<{ before: number | null; most: number }>): Promise<readonly HistoryEntry[]>;
  /** The next due times, jitter included, of one that is active. */
  next(name: string, most: number): Promise<readonly Millis[]>;
  add(name: string, spec: ScheduleSpec, as: Person): Promise<ScheduleView>;
  remove(name: string, reason: string, as: Person): Promise<ScheduleView>;
  pause(name: string, reason: string, as: Person): Promise<ScheduleView>;
  resume(name: string, reason: string, as: Person): Promise<ScheduleView>;
  /** Fires it now, whatever else is due, once for each that is wanted; the session is there and its turn begun when it resolves. */
  run(name: string, as: Person, wanted?: WantedSchedule): Promise<SessionId>;
  /** Fires what was set aside once more: of this due time, or of the latest. */
  retry(name: string, dueAt: Millis | null, as: Person, wanted?: WantedSchedule): Promise<SessionId>;
}>;
/** The session that it is to open, which tells one request from another. `again`: it was asked for before, and nobody knows how far that came. */
export type WantedSchedule = Readonly<{ session: SessionId; again: boolean }>;

export function scheduleView(s: StandingSchedule, calendar: Calendar, now: Millis): ScheduleView {
  const { schedule, spec, from, open, queue, retry, setAside, failures, fired, last } = s;
  const upcoming = nextThree(s, calendar, now);
  return {
    schedule,
    state: stateOf(s, calendar, now),
    spec,
    from,
    nextAt: upcoming[0] ?? null,
    upcoming,
    open: open.map(({ session }) => session),
    queued: queue.length,
    retrying: retry.length,
    setAside,
    failures,
    fired,
    last,
  };
}

/** As people are told it: what came once and has passed is done, whether it was fired or missed. */
function stateOf(s: StandingSchedule, calendar: Calendar, now: Millis): ScheduleView["state"] {
  const { state, spec, open, queue, retry } = s;
  if (state !== "active") return state;
  if (!spec.enabled) return "off";
  const isOver = spec.when.kind === "at" && nextThree(s, calendar, now).length === 0;
  return isOver && open.length + queue.length + retry.length === 0 ? "done" : "active";
}

export function scheduleDesk(ports: ScheduleOperationPorts): ScheduleDesk {
  const { schedules, journal, calendar, gate, place, now } = ports;

  async function find(name: string): Promise<StandingSchedule | null> {
    await schedules.refresh(name);
    const found = schedules.get(name);
    return found === null || found.state === "removed" ? null : found;
  }
  async function must(name: string): Promise<StandingSchedule> {
    const found = await find(name);
    if (found === null) throw noSchedule(name);
    return found;
  }
  async function allowed(
    s: Readonly<{ schedule: string; spec: ScheduleSpec }>,
    kind: "edit-schedule" | "run-schedule",
    what: string,
    as: Person,
  ): Promise<Principal> {
    assertMayAct(gate, as, { kind, schedule: s.schedule, agent: s.spec.agent, requester: s.spec.owner }, what);
    return certifyActor({ place, person: as }, what);
  }

  type Doing = "remove" | "pause" | "resume";
  const DONE = { remove: "schedule.removed", pause: "schedule.paused", resume: "schedule.resumed" } as const;
  /** What it is already is left as it is. */
  const isAlready = (s: StandingSchedule, doing: Doing): boolean =>
    doing === "pause" ? s.state === "paused" : doing === "resume" ? s.state === "active" && s.through <= now() : false;

  async function edit(name: string, doing: Doing, reason: string, as: Person): Promise<ScheduleView> {
    const found = await must(name);
    const by = await allowed(found, "edit-schedule", `${doing} schedule ${name}`, as);
    if (doing === "remove" && found.from !== null)
      throw usageFault(`\`${name}\` is declared in ${found.from}`, "take it out there; `orgate schedules pause` stops it meanwhile");
    const hasCome = found.state === "done" && (doing === "resume" || found.retry.length === 0);
    if (doing !== "remove" && hasCome)
      throw usageFault(`\`${name}\` has fired, and comes once`, "declare it at another time, or `orgate schedules run` fires it now");
    await schedules.change(name, (s) => {
      if (s === null || s.state === "removed") throw noSchedule(name);
      if (isAlready(s, doing)) return null;
      const told = { schedule: name, by, reason: reason.toWellFormed() };
      return { events: [doing === "resume" ? { kind: DONE.resume, ...told, after: now() } : { kind: DONE[doing], ...told }] };
    });
    const after = schedules.get(name);
    if (after === null) throw noSchedule(name);
    return scheduleView(after, calendar, now());
  }

  return {
    list: async () => (await standing()).map((s) => scheduleView(s, calendar, now())),
    standing,
    view: (s) => scheduleView(s, calendar, now()),
    stateOf: (s) => stateOf(s, calendar, now()),
    async show(name) {
      const found = await find(name);
      return found === null ? null : scheduleView(found, calendar, now());
    },
    async history(name, { before, most }) {
      const { seq: last } = await must(name);
      const end = Math.min(before === null ? last : before - 1, last);
      const start = Math.max(0, end - most);
      if (end <= start) return [];
      const entries = await journal.read(scheduleStream(name), seq(start), end - start);
      return entries.map(({ seq: n, at, event }) => ({ seq: n, at, event })).reverse();
    },
    next: async (name, most) => dueTimes(await must(name), calendar, most, now()),
    async add(name, spec, as) {
      if (!SCHEDULE_NAME.test(name)) throw usageFault(`\`${name}\` cannot name a schedule`, "use 1 to 64 of A-Z, a-z, 0-9, `_` and `-`");
      if (spec.owner !== as.name)
        throw usageFault("whoever adds a schedule is whom it runs for", "leave the owner out; a file of the project may name another");
      if (ports.findSessionStart(spec.agent) === null) throw new FaultError({ kind: "agent-missing", agent: spec.agent, known: [] });
      if (calendar.next(spec.when, now()) === null) throw usageFault("that time has passed", "name one that is to come");
      const by = await allowed({ schedule: name, spec }, "edit-schedule", `add schedule ${name}`, as);
      await schedules.refresh(name);
      await schedules.change(name, (s) => {
        if (s !== null && s.state !== "removed")
          throw usageFault(`there is a schedule \`${name}\` already`, "choose another name, or remove that one first");
        return { events: [{ kind: "schedule.declared", schedule: name, spec, from: null, by, after: now(), carried: null }] };
      });
      return scheduleView(await must(name), calendar, now());
    },
    remove: (name, reason, as) => edit(name, "remove", reason, as),
    pause: (name, reason, as) => edit(name, "pause", reason, as),
    resume: (name, reason, as) => edit(name, "resume", reason, as),
    async run(name, as, wanted) {
      const found = await must(name);
      const by = await allowed(found, "run-schedule", `run schedule ${name}`, as);
      const before = await askedBefore(name, wanted, found.seq);
      if (before !== null) return before;
      return fire(name, by, wanted?.session, (_, tries) => ({ dueAt: millis(now() + tries), attempt: 1 })); // two may ask in the same millisecond
    },
    async retry(name, dueAt, as, wanted) {
      const found = await must(name);
      const by = await allowed(found, "run-schedule", `run schedule ${name}`, as);
      const before = await askedBefore(name, wanted, found.seq);
      if (before !== null) return before;
      const due = dueAt ?? found.setAside[0]?.dueAt;
      if (due === undefined || !found.setAside.some((one) => one.dueAt === due)) throw notSetAside(name, found, dueAt);
      const attempts = await lastAttempt(name, due, found.seq);
      return fire(name, by, wanted?.session, (s, tries) => {
        if (!s.setAside.some((one) => one.dueAt === due)) throw notSetAside(name, s, due); // somebody was quicker
        return { dueAt: due, attempt: attempts + 1 + tries };
      });
    },
  };

  async function standing(): Promise<readonly StandingSchedule[]> {
    await schedules.refresh();
    return [...schedules.all().values()].filter(({ state }) => state !== "removed").sort((a, b) => (a.schedule < b.schedule ? -1 : 1));
  }

  /** How often a due time was tried: from the end of the schedule's past, page by page. */
  async function lastAttempt(name: string, dueAt: Millis, last: number): Promise<number> {
    return (await lastFired(name, last, millis(0), (fired) => fired.dueAt === dueAt))?.attempt ?? 0;
  }

  /** The session that this name got when it was asked for before; null where it was not. */
  async function askedBefore(name: string, wanted: WantedSchedule | undefined, last: number): Promise<SessionId | null> {
    if (wanted === undefined) return null;
    if ((await journal.session(wanted.session)) !== null) return wanted.session;
    if (!wanted.again) return null;
    const intent = toFiringId(name, wanted.session);
    return (await lastFired(name, last, millis(now() - ASKED_AGAIN_MS), (fired) => fired.intent === intent))?.session ?? null;
  }

  /** From the end of the schedule's past, page by page, and not before `since`. */
  async function lastFired(name: string, last: number, since: Millis, isIt: (fired: Fired) => boolean): Promise<Fired | null> {
    for (let end = last; end > 0; end -= PAGE) {
      const start = Math.max(0, end - PAGE);
      const entries = await journal.read(scheduleStream(name), seq(start), end - start);
      const found = entries.flatMap(({ event }) => (event.kind === "schedule.fired" && isIt(event) ? [event] : [])).at(-1);
      if (found !== undefined) return found;
      if ((entries[0]?.at ?? 0) < since) return null;
    }
    return null;
  }

  type Which = (s: StandingSchedule, tries: number) => Readonly<{ dueAt: Millis; attempt: number }>;
  async function fire(name: string, by: Principal, wanted: SessionId | undefined, which: Which): Promise<SessionId> {
    const mayNotRun = createRunCheck(gate);
    const newSession = wanted === undefined ? ports.newSession : () => wanted;
    let session: SessionId | null = null;
    for (let tries = 0; session === null; tries += 1) {
      try {
        await schedules.change(name, (s) => {
          if (s === null || s.state === "removed") throw noSchedule(name);
          const firing = planFiring({ ...ports, mayNotRun, newSession }, s, { ...which(s, tries), why: "asked" }, by, wanted);
          if ("kind" in firing)
            throw new FaultError({ kind: "not-permitted", user: s.spec.owner, what: `run \`${s.spec.agent}\``, reason: firing.detail });
          session = firing.session;
          return firing.plan;
        });
      } catch (error) {
        session = null;
        if (!isFault(error, "external-taken") || tries > 100) throw error;
      }
    }
    return session;
  }
}
const PAGE = 500;
/** A name is known for a day, and clocks differ. */
const ASKED_AGAIN_MS = 2 * 86_400_000;
type Fired = Extract<SystemEvent, { kind: "schedule.fired" }>;

const notSetAside = (name: string, { setAside }: StandingSchedule, dueAt: Millis | null): FaultError =>
  usageFault(
    dueAt === null
      ? `nothing of \`${name}\` is set aside`
      : `\`${name}\` has nothing set aside that was due ${new Date(dueAt).toISOString()}`,
    setAside.length === 0
      ? "`orgate schedules run` fires it now"
      : `there are: ${setAside.map((one) => new Date(one.dueAt).toISOString()).join(", ")}`,
  );

const noSchedule = (name: string): FaultError =>
  usageFault(`there is no schedule \`${name}\``, "`orgate schedules list` shows those there are");
