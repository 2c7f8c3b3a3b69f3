/**
 * The schedules of a project as people see and change them. Operations and the coordinator use this file.
 * Rules: Z-4, Z-6, Z-8.
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
import { foldSchedule, type StandingSchedule, scheduleStream, toScheduleStanding } from "@orgate/core/journal";
import { usageFault } from "@orgate/core/vocab";
import { type Acting, assertMayAct, certifyActor } from "../runtime/people/approvals.ts";
import { createRunCheck } from "../runtime/people/may-run.ts";
import type { Person } from "../store/keyring.ts";
import type { Calendar } from "./calendar.ts";
import { dueTimes, nextThree } from "./due-times.ts";
import { planFiring, toFiringId } from "./firing.ts";
import type { SchedulerPorts } from "./scheduler.ts";
import type { ScheduleStore } from "./store.ts";

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
  /** Sessions of firings that have not ended. */
  open: readonly SessionId[];
  queued: number;
  retrying: number;
  setAside: readonly Readonly<{ dueAt: Millis; session: SessionId }>[];
  /** Firings in a row that failed for good. */
  failures: number;
  fired: number;
  last: StandingSchedule["last"];
}>;

export type ScheduleHistoryEntry = Readonly<{
  seq: number;
  at: Millis;
  event: Readonly<Record<string, unknown>> & Readonly<{ kind: string }>;
}>;

export type ScheduleReadsPorts = Readonly<{ schedules: ScheduleStore; journal: Pick<Journal, "read">; calendar: Calendar; now(): Millis }>;
export type ProjectSchedulesPorts = ScheduleReadsPorts &
  Pick<SchedulerPorts, "findSessionStart" | "newSession" | "sign"> &
  Readonly<{ journal: Pick<Journal, "session">; place: Acting["place"]; gate: Pick<Gate, "decideFor"> }>;

/** The session to open: its id tells one request from another. `again`: an earlier attempt may have got anywhere. */
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

/** The state that people see: a single due time that has passed is done, whether it was fired or missed. */
function stateOf(s: StandingSchedule, calendar: Calendar, now: Millis): ScheduleView["state"] {
  const { state, spec, open, queue, retry } = s;
  if (state !== "active") return state;
  if (!spec.enabled) return "off";
  const isOver = spec.when.kind === "at" && nextThree(s, calendar, now).length === 0;
  return isOver && open.length + queue.length + retry.length === 0 ? "done" : "active";
}

/** Reads schedules: needs a journal to read, and nothing that changes one. */
export class ScheduleReads {
  readonly #ports: ScheduleReadsPorts;

  constructor(ports: ScheduleReadsPorts) {
    this.#ports = ports;
  }

  /** By name; those that were removed are not among them. */
  async list(): Promise<readonly ScheduleView[]> {
    return (await this.standing()).map((s) => this.view(s));
  }

  /** The same before due times are computed: a schedule that is not shown costs nothing. */
  async standing(): Promise<readonly StandingSchedule[]> {
    const { schedules } = this.#ports;
    await schedules.refresh();
    return [...schedules.all().values()].filter(({ state }) => state !== "removed").sort((a, b) => (a.schedule < b.schedule ? -1 : 1));
  }

  view(s: StandingSchedule): ScheduleView {
    return scheduleView(s, this.#ports.calendar, this.#ports.now());
  }

  stateOf(s: StandingSchedule): ScheduleView["state"] {
    return stateOf(s, this.#ports.calendar, this.#ports.now());
  }

  async show(name: string): Promise<ScheduleView | null> {
    const found = await this.find(name);
    return found === null ? null : this.view(found);
  }

  /** Newest first. */
  async history(
    name: string,
    { before, most }: Readonly<{ before: number | null; most: number }>,
  ): Promise<readonly ScheduleHistoryEntry[]> {
    const { seq: last } = await this.mustFind(name);
    const end = Math.min(before === null ? last : before - 1, last);
    const start = Math.max(0, end - most);
    if (end <= start) return [];
    const entries = await this.#ports.journal.read(scheduleStream(name), seq(start), end - start);
    return entries.map(({ seq: n, at, event }) => ({ seq: n, at, event })).reverse();
  }

  /** The next due times, jitter included, of one that is active. */
  async next(name: string, most: number): Promise<Readonly<{ state: ScheduleView["state"]; next: readonly Millis[] }>> {
    const found = await this.mustFind(name);
    return { state: this.stateOf(found), next: dueTimes(found, this.#ports.calendar, most, this.#ports.now()) };
  }

  protected async find(name: string): Promise<StandingSchedule | null> {
    const { schedules } = this.#ports;
    await schedules.refresh(name);
    const found = schedules.get(name);
    return found === null || found.state === "removed" ? null : found;
  }

  protected async mustFind(name: string): Promise<StandingSchedule> {
    const found = await this.find(name);
    if (found === null) throw noSchedule(name);
    return found;
  }
}

export class ProjectSchedules extends ScheduleReads {
  readonly #ports: ProjectSchedulesPorts;

  constructor(ports: ProjectSchedulesPorts) {
    super(ports);
    this.#ports = ports;
  }

  async add(name: string, spec: ScheduleSpec, as: Person): Promise<ScheduleView> {
    const { schedules, calendar, now, findSessionStart } = this.#ports;
    if (!SCHEDULE_NAME.test(name)) throw usageFault(`\`${name}\` cannot name a schedule`, "use 1 to 64 of A-Z, a-z, 0-9, `_` and `-`");
    if (spec.owner !== as.name)
      throw usageFault("a schedule runs as the person who adds it", "leave the owner out; a file of the project may name another");
    if (findSessionStart(spec.agent) === null) throw new FaultError({ kind: "agent-missing", agent: spec.agent, known: [] });
    if (calendar.next(spec.when, now()) === null) throw usageFault("that time has passed", "name one that is to come");
    const by = await this.#permit({ schedule: name, spec }, "edit-schedule", `add schedule ${name}`, as);
    await schedules.refresh(name);
    await schedules.change(name, (s) => {
      if (s !== null && s.state !== "removed")
        throw usageFault(`there is a schedule \`${name}\` already`, "choose another name, or remove that one first");
      return { events: [{ kind: "schedule.declared", schedule: name, spec, from: null, by, after: now(), carried: null }] };
    });
    return this.view(await this.mustFind(name));
  }

  remove(name: string, reason: string, as: Person): Promise<ScheduleView> {
    return this.#edit(name, "remove", reason, as);
  }

  pause(name: string, reason: string, as: Person): Promise<ScheduleView> {
    return this.#edit(name, "pause", reason, as);
  }

  resume(name: string, reason: string, as: Person): Promise<ScheduleView> {
    return this.#edit(name, "resume", reason, as);
  }

  /** Fires it now, whatever else is due, once for each that is wanted; the session is open and its turn begun when it resolves. */
  async run(name: string, as: Person, wanted?: WantedSchedule): Promise<SessionId> {
    const found = await this.mustFind(name);
    const by = await this.#permit(found, "run-schedule", `run schedule ${name}`, as);
    const before = await this.#findAsked(name, wanted);
    if (before !== null) return before;
    return this.#fire(name, by, wanted?.session, (_, tries) => ({ dueAt: millis(this.#ports.now() + tries), attempt: 1 })); // two may ask in the same millisecond
  }

  /** Z-6 fires a failed due time once more: the given one, or the latest. */
  async retry(name: string, dueAt: Millis | null, as: Person, wanted?: WantedSchedule): Promise<SessionId> {
    const found = await this.mustFind(name);
    const by = await this.#permit(found, "run-schedule", `run schedule ${name}`, as);
    const before = await this.#findAsked(name, wanted);
    if (before !== null) return before;
    const due = dueAt ?? found.setAside[0]?.dueAt;
    if (due === undefined || !found.setAside.some((one) => one.dueAt === due)) throw notSetAside(name, found, dueAt);
    const attempts = (await this.#findFired(name, millis(0), (fired) => fired.dueAt === due))?.attempt ?? 0;
    return this.#fire(name, by, wanted?.session, (s, tries) => {
      if (!s.setAside.some((one) => one.dueAt === due)) throw notSetAside(name, s, due); // somebody was quicker
      return { dueAt: due, attempt: attempts + 1 + tries };
    });
  }

  /** Z-4 nothing is recorded before the policies have decided: neither a schedule that only a file declares, nor a change of one. */
  async #permit(
    { schedule, spec }: Pick<StandingSchedule, "schedule" | "spec">,
    kind: "edit-schedule" | "run-schedule",
    what: string,
    as: Person,
  ): Promise<Principal> {
    const { gate, place, schedules } = this.#ports;
    assertMayAct(gate, as, { kind, schedule, agent: spec.agent, requester: spec.owner }, what);
    const by = await certifyActor({ place, person: as }, what);
    await schedules.recordExpected(by);
    return by;
  }

  async #edit(name: string, doing: Doing, reason: string, as: Person): Promise<ScheduleView> {
    const { schedules, now } = this.#ports;
    const found = await this.mustFind(name);
    const by = await this.#permit(found, "edit-schedule", `${doing} schedule ${name}`, as);
    if (doing === "remove" && found.from !== null)
      throw usageFault(`\`${name}\` is declared in ${found.from}`, "remove it from that file; `orgate schedules pause` stops it meanwhile");
    const hasCome = found.state === "done" && (doing === "resume" || found.retry.length === 0);
    if (doing !== "remove" && hasCome)
      throw usageFault(`\`${name}\` has fired, and comes once`, "declare it at another time, or `orgate schedules run` fires it now");
    await schedules.change(name, (s) => {
      if (s === null || s.state === "removed") throw noSchedule(name);
      const edited = { schedule: name, by, reason: reason.toWellFormed() };
      const event: SystemEvent = doing === "resume" ? { kind: EDITS.resume, ...edited, after: now() } : { kind: EDITS[doing], ...edited };
      return changes(s, event, now()) ? { events: [event] } : null;
    });
    const after = schedules.get(name);
    if (after === null) throw noSchedule(name);
    return this.view(after);
  }

  /** The session of an earlier request with the same name; null if there was none. */
  async #findAsked(name: string, wanted: WantedSchedule | undefined): Promise<SessionId | null> {
    if (wanted === undefined) return null;
    const { journal, now } = this.#ports;
    if ((await journal.session(wanted.session)) !== null) return wanted.session;
    if (!wanted.again) return null;
    const intent = toFiringId(name, wanted.session);
    return (await this.#findFired(name, millis(now() - ASKED_AGAIN_MS), (fired) => fired.intent === intent))?.session ?? null;
  }

  /** The last firing that fits: from the end of the schedule's history, page by page, and not before `since`. */
  async #findFired(name: string, since: Millis, isIt: (fired: Fired) => boolean): Promise<Fired | null> {
    const { schedules, journal } = this.#ports;
    for (let end: number = schedules.get(name)?.seq ?? 0; end > 0; end -= PAGE) {
      const start = Math.max(0, end - PAGE);
      const entries = await journal.read(scheduleStream(name), seq(start), end - start);
      const found = entries.flatMap(({ event }) => (event.kind === "schedule.fired" && isIt(event) ? [event] : [])).at(-1);
      if (found !== undefined) return found;
      if ((entries[0]?.at ?? 0) < since) return null;
    }
    return null;
  }

  async #fire(name: string, by: Principal, wanted: SessionId | undefined, which: Which): Promise<SessionId> {
    const ports = this.#ports;
    const mayNotRun = createRunCheck(ports.gate);
    const newSession = wanted === undefined ? ports.newSession : () => wanted;
    let session: SessionId | null = null;
    for (let tries = 0; session === null; tries += 1) {
      try {
        await ports.schedules.change(name, (s) => {
          if (s === null || s.state === "removed") throw noSchedule(name);
          const firing = planFiring({ ...ports, mayNotRun, newSession }, s, { ...which(s, tries), why: "asked", by, id: wanted });
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

type Doing = "remove" | "pause" | "resume";
const EDITS = { remove: "schedule.removed", pause: "schedule.paused", resume: "schedule.resumed" } as const;
type Which = (s: StandingSchedule, tries: number) => Readonly<{ dueAt: Millis; attempt: number }>;

/** False if the schedule stands as the event would have it, whatever fields the event has. Due times that are already past move for nobody. */
function changes(s: StandingSchedule, event: SystemEvent, now: Millis): boolean {
  const after = foldSchedule(s, [{ stream: scheduleStream(s.schedule), seq: seq(s.seq + 1), at: now, event }]);
  if (after === null) return true;
  const through = s.through <= now ? s.through : after.through;
  const text = (one: StandingSchedule): string => JSON.stringify(toScheduleStanding(one));
  return text({ ...after, through }) !== text(s);
}

const PAGE = 500;
/** An idempotency key is kept for a day, and clocks differ. */
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

const noSchedule = (name: string): FaultError => usageFault(`there is no schedule \`${name}\``, "`orgate schedules list` shows them");
