/**
 * Schedules as people see and change them. The command line, the API and the coordinator use this file.
 * Z14 a schedule is changed only by a certified person whom the policies let do so; whoever adds one is whom it runs for.
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
  seq,
} from "@orgate/core";
import { type StandingSchedule, scheduleStream } from "@orgate/core/journal";
import { type Acting, known, mayAct } from "../approvals.ts";
import { type Calendar, type Person, sha256 } from "../compose.ts";
import { mayNotRunOf } from "../may-run.ts";
import { type Book, wrong } from "./book.ts";
import { type ClockworkPorts, firingOf } from "./clockwork.ts";
import { jitterOf } from "./planning.ts";

export type ScheduleView = Readonly<{
  schedule: string;
  state: StandingSchedule["state"] | "off";
  spec: ScheduleSpec;
  /** The file that declares it; null: a person added it. */
  from: string | null;
  /** When it fires next, jitter included; null: not by itself. */
  nextAt: Millis | null;
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

export type DeskPorts = Pick<ClockworkPorts, "beginning" | "newSession" | "now" | "sign"> &
  Readonly<{
    book: Book;
    journal: Pick<Journal, "read" | "session">;
    calendar: Calendar;
    place: Acting["place"];
    gate: Pick<Gate, "decideFor">;
  }>;

export type ScheduleDesk = Readonly<{
  /** By name; those that were removed are not among them. */
  list(): Promise<readonly ScheduleView[]>;
  show(name: string): Promise<ScheduleView | null>;
  /** Newest first. */
  history(name: string, page: Readonly<{ before: number | null; most: number }>): Promise<readonly HistoryEntry[]>;
  /** The next due times, jitter included, of one that is active. */
  next(name: string, most: number): Promise<readonly Millis[]>;
  add(name: string, spec: ScheduleSpec, as: Person): Promise<ScheduleView>;
  remove(name: string, reason: string, as: Person): Promise<ScheduleView>;
  pause(name: string, reason: string, as: Person): Promise<ScheduleView>;
  resume(name: string, reason: string, as: Person): Promise<ScheduleView>;
  /** Fires it now, whatever else is due, once for each session that is named; the session is there and its turn begun when it resolves. */
  run(name: string, as: Person, session?: SessionId): Promise<SessionId>;
}>;

export function viewOf(s: StandingSchedule, calendar: Calendar): ScheduleView {
  const { schedule, spec, from, open, queue, retry, setAside, failures, fired, last } = s;
  const [nextAt = null] = dueTimes(s, calendar, 1);
  const state = s.state === "active" && !spec.enabled ? "off" : s.state;
  return {
    schedule,
    state,
    spec,
    from,
    nextAt,
    open: open.map(({ session }) => session),
    queued: queue.length,
    retrying: retry.length,
    setAside,
    failures,
    fired,
    last,
  };
}

function dueTimes({ schedule, spec, state, through }: StandingSchedule, calendar: Calendar, most: number): readonly Millis[] {
  const out: Millis[] = [];
  if (state !== "active" || !spec.enabled) return out;
  for (let at = calendar.next(spec.when, through); at !== null && out.length < most; at = calendar.next(spec.when, at)) {
    out.push(millis(at + jitterOf(schedule, at, spec.jitterMs, sha256)));
    if (spec.oneShot) break;
  }
  return out;
}

export function scheduleDesk(ports: DeskPorts): ScheduleDesk {
  const { book, journal, calendar, gate, place, now } = ports;

  async function find(name: string): Promise<StandingSchedule | null> {
    await book.refresh(name);
    const found = book.get(name);
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
    mayAct(gate, as, { kind, schedule: s.schedule, agent: s.spec.agent, requester: s.spec.owner }, what);
    return known({ place, person: as }, what);
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
      throw wrong(`\`${name}\` is declared in ${found.from}`, "take it out there; `orgate schedules pause` stops it meanwhile");
    if (doing === "resume" && found.state === "done")
      throw wrong(`\`${name}\` has fired, and comes once`, "declare it at another time, or `orgate schedules run` fires it now");
    await book.change(name, (s) => {
      if (s === null || s.state === "removed") throw noSchedule(name);
      if (isAlready(s, doing)) return null;
      const told = { schedule: name, by, reason: reason.toWellFormed() };
      return { events: [doing === "resume" ? { kind: DONE.resume, ...told, after: now() } : { kind: DONE[doing], ...told }] };
    });
    const after = book.get(name);
    if (after === null) throw noSchedule(name);
    return viewOf(after, calendar);
  }

  return {
    async list() {
      await book.refresh();
      return [...book.all().values()]
        .filter(({ state }) => state !== "removed")
        .map((s) => viewOf(s, calendar))
        .sort((a, b) => (a.schedule < b.schedule ? -1 : 1));
    },
    async show(name) {
      const found = await find(name);
      return found === null ? null : viewOf(found, calendar);
    },
    async history(name, { before, most }) {
      const { seq: last } = await must(name);
      const end = Math.min(before === null ? last : before - 1, last);
      const start = Math.max(0, end - most);
      if (end <= start) return [];
      const entries = await journal.read(scheduleStream(name), seq(start), end - start);
      return entries.map(({ seq: n, at, event }) => ({ seq: n, at, event })).reverse();
    },
    next: async (name, most) => dueTimes(await must(name), calendar, most),
    async add(name, spec, as) {
      if (!SCHEDULE_NAME.test(name)) throw wrong(`\`${name}\` cannot name a schedule`, "use 1 to 64 of A-Z, a-z, 0-9, `_` and `-`");
      if (spec.owner !== as.name)
        throw wrong("whoever adds a schedule is whom it runs for", "leave the owner out; a file of the project may name another");
      if (ports.beginning(spec.agent) === null) throw new FaultError({ kind: "agent-missing", agent: spec.agent, known: [] });
      if (calendar.next(spec.when, now()) === null) throw wrong("that time has passed", "name one that is to come");
      const by = await allowed({ schedule: name, spec }, "edit-schedule", `add schedule ${name}`, as);
      await book.refresh(name);
      await book.change(name, (s) => {
        if (s !== null && s.state !== "removed")
          throw wrong(`there is a schedule \`${name}\` already`, "choose another name, or remove that one first");
        return { events: [{ kind: "schedule.declared", schedule: name, spec, from: null, by, after: now(), carried: null }] };
      });
      return viewOf(await must(name), calendar);
    },
    remove: (name, reason, as) => edit(name, "remove", reason, as),
    pause: (name, reason, as) => edit(name, "pause", reason, as),
    resume: (name, reason, as) => edit(name, "resume", reason, as),
    async run(name, as, wanted) {
      const found = await must(name);
      const by = await allowed(found, "run-schedule", `run schedule ${name}`, as);
      if (wanted !== undefined && (await journal.session(wanted)) !== null) return wanted;
      const mayNotRun = mayNotRunOf(gate);
      const newSession = wanted === undefined ? ports.newSession : () => wanted;
      let session: SessionId | null = null;
      for (let tries = 0; session === null; tries += 1) {
        try {
          await book.change(name, (s) => {
            if (s === null || s.state === "removed") throw noSchedule(name);
            const firing = firingOf({ ...ports, mayNotRun, newSession }, s, { dueAt: millis(now() + tries), attempt: 1, why: "asked" }, by);
            if ("kind" in firing)
              throw new FaultError({ kind: "not-permitted", user: s.spec.owner, what: `run \`${s.spec.agent}\``, reason: firing.detail });
            session = firing.session;
            return firing.plan;
          });
        } catch (error) {
          session = null;
          if (!isFault(error, "external-taken") || tries > 100) throw error; // two asked in the same millisecond
        }
      }
      return session;
    },
  };
}

const noSchedule = (name: string): FaultError => wrong(`there is no schedule \`${name}\``, "`orgate schedules list` shows those there are");
