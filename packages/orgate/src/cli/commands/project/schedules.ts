/** Schedules: looked at, added, paused, resumed, fired by hand. `orgate up` is what fires them at their times. */
import { setTimeout as pauseFor } from "node:timers/promises";
import {
  type FaultError,
  isFault,
  lowerFirst,
  millis,
  type RunResult,
  type ScheduleSpec,
  type SessionId,
  seq,
  toResult,
} from "@orgate/core";
import { newScheduleStanding, type StandingSchedule } from "@orgate/core/journal";
import { scheduleLine, timeText, whenText } from "@orgate/core/journal/view";
import { projectScheduleSchema } from "../../../config/schedule-schema.ts";
import { loadRunnableProject, type RunnableProject } from "../../../project/load.ts";
import type { Runtime } from "../../../runtime/api.ts";
import { mayAct } from "../../../runtime/people/approvals.ts";
import { delegatesOf } from "../../../runtime/ports/delegates.ts";
import { NODE } from "../../../runtime/ports/outside.ts";
import { loadProjectPorts } from "../../../runtime/ports/project-ports.ts";
import type { OpenProjectStore } from "../../../runtime/ports/project-store.ts";
import { createRuntime } from "../../../runtime/runtime.ts";
import { openCalendar } from "../../../schedules/calendar.ts";
import { schedulesIn, specOf } from "../../../schedules/declaring.ts";
import { dueTimes } from "../../../schedules/due-times.ts";
import { openSchedules } from "../../../schedules/index.ts";
import { type ScheduleDesk, type ScheduleView, scheduleDesk, scheduleView } from "../../../schedules/operations.ts";
import type { Declared } from "../../../schedules/store.ts";
import { openBook } from "../../../schedules/store.ts";
import type { Person } from "../../../store/keyring.ts";
import { EXIT, type Given, type RunCommand } from "../../../terminal/command.ts";
import type { Screen } from "../../../terminal/screen.ts";
import { type Cell, table } from "../../../terminal/table.ts";
import { visible } from "../../../terminal/visible.ts";
import { usage } from "../people/approvals.ts";
import { exitOf } from "../sessions/driving.ts";
import { certified, lookingIfAny, personOf, positive, projectOf, tell, writingProject } from "./project.ts";

type Here = RunnableProject & Readonly<{ declared: readonly Declared[] }>;

async function here(given: Given, owner: string): Promise<Here> {
  const loaded = await loadRunnableProject(projectOf(given), { env: given.env, surface: "cli" });
  const { config, project } = loaded;
  return { ...loaded, declared: schedulesIn({ config, agents: project.agents, files: project.sources, owner }, openCalendar()) };
}

/** What the journal has, and what the project declares that nobody has served yet. */
async function standing(given: Given, screen: Screen): Promise<readonly StandingSchedule[]> {
  const { declared } = await here(given, personOf(given, screen).name);
  const known = await lookingIfAny<readonly StandingSchedule[]>(
    given,
    async ({ journal }) => {
      const book = openBook({
        journal: { ...journal, append: () => Promise.reject(new Error("this is for looking only")) },
        now: NODE.clock.now,
      });
      await book.refresh();
      return [...book.all().values()].filter(({ state }) => state !== "removed");
    },
    () => [],
  );
  const names = new Set(known.map(({ schedule }) => schedule));
  const fresh = declared.filter(({ name }) => !names.has(name));
  return [...known, ...fresh.map(notYet)].sort((a, b) => (a.schedule < b.schedule ? -1 : 1));
}
async function views(given: Given, screen: Screen): Promise<readonly ScheduleView[]> {
  const calendar = openCalendar();
  return (await standing(given, screen)).map((s) => scheduleView(s, calendar, NODE.clock.now()));
}

/** As it would stand were it declared now. */
function notYet({ name, spec, from }: Declared): StandingSchedule {
  const by = { kind: "user", id: spec.owner } as const;
  return { schedule: name, spec, from, by, seq: seq(0), since: 0, ...newScheduleStanding(NODE.clock.now()) };
}

export const listSchedules: RunCommand = async (given, screen) => {
  const all = await views(given, screen);
  if (given.json) screen.line(JSON.stringify(all));
  else if (all.length === 0) screen.line("there are no schedules: `orgate schedules add --help`, or docs/guide/schedules.md");
  else
    for (const line of table(["schedule", "state", "when", "agent", "for", "next", "last"], all.map(rowOf), screen.paint))
      screen.line(line);
  return EXIT.success;
};

const rowOf = (v: ScheduleView): readonly (string | Cell)[] => [
  v.schedule,
  { text: v.state, tone: v.state === "active" ? "good" : v.state === "stopped" ? "bad" : "warn" },
  whenText(v.spec),
  v.spec.agent,
  v.spec.owner,
  v.nextAt === null ? "–" : timeText(v.nextAt),
  v.last === null ? "never" : `${timeText(v.last.dueAt)} ${v.last.ending ?? "running"}`,
];

async function one(given: Given, screen: Screen): Promise<StandingSchedule> {
  const [name = ""] = given.args;
  const found = (await standing(given, screen)).find(({ schedule }) => schedule === name);
  if (found === undefined) throw noSchedule(name);
  return found;
}

const MOST_NEXT = 1_000;
export const next: RunCommand = async (given, screen) => {
  const found = await one(given, screen);
  const most = Math.min(MOST_NEXT, positive(given.text("limit") ?? "5", "--limit"));
  const calendar = openCalendar();
  const now = NODE.clock.now();
  const { schedule, state } = scheduleView(found, calendar, now);
  const times = dueTimes(found, calendar, most, now);
  if (given.json) screen.line(JSON.stringify({ schedule, state, next: times.map(timeText) }));
  else if (times.length === 0) screen.line(`${visible(schedule)} is ${state}: nothing of it is due`);
  else for (const at of times) screen.line(timeText(at));
  return EXIT.success;
};

export const scheduleHistory: RunCommand = async (given, screen) => {
  const [name = ""] = given.args;
  await one(given, screen);
  const most = Math.min(MOST_NEXT, positive(given.text("limit") ?? "20", "--limit"));
  const entries = await lookingIfAny(
    given,
    async ({ journal }) => {
      const book = openBook({
        journal: { ...journal, append: () => Promise.reject(new Error("this is for looking only")) },
        now: NODE.clock.now,
      });
      await book.refresh(name);
      if (book.get(name) === null) return [];
      return historyOf(book, journal).history(name, { before: null, most });
    },
    () => [],
  );
  if (given.json) screen.line(JSON.stringify(entries));
  else if (entries.length === 0) screen.line(`nothing of ${visible(name)} has happened yet`);
  else
    for (const { at, event } of entries) {
      if (!event.kind.startsWith("schedule.")) continue;
      const { mark, tone, text } = scheduleLine(event as Parameters<typeof scheduleLine>[0]);
      screen.line(`${screen.paint("dim", timeText(at))} ${screen.paint(tone, mark)} ${text}`);
    }
  return EXIT.success;
};

/** For looking: nothing of what changes anything is asked. */
const historyOf = (
  book: ReturnType<typeof openBook>,
  journal: Parameters<typeof scheduleDesk>[0]["journal"],
): Pick<ScheduleDesk, "history"> => {
  const none = (): never => {
    throw new Error("this is for looking only");
  };
  const gate = { decideFor: none };
  return scheduleDesk({
    book,
    journal,
    calendar: openCalendar(),
    now: NODE.clock.now,
    gate,
    beginning: none,
    newSession: none,
    sign: none,
    place: { keyring: none as never, orders: none as never },
  });
};

/**
 * With what the project declares on record, and the person known.
 * Z-4 nothing is put on record for somebody who may not do what they came for, and what no file says whose it is stays whose it has been.
 */
async function acting<T>(
  given: Given,
  screen: Screen,
  { kind, what, adds = null }: Doing,
  work: (desk: ScheduleDesk, at: Here & Readonly<{ place: OpenProjectStore; person: Person }>) => Promise<T>,
): Promise<T> {
  const person = personOf(given, screen);
  const at = await here(given, person.name);
  return writingProject(at.config, async (place) => {
    await certified(given, screen, place, person);
    const agents = new Map(at.agents.map((agent) => [agent.name, agent]));
    const { book, desk } = openSchedules({ place, gate: at.gate, beginning: delegatesOf(agents, at.gate) });
    const [name = ""] = given.args;
    await book.refresh();
    const known = book.get(name);
    const spec = known !== null && known.state !== "removed" ? known.spec : (at.declared.find((one) => one.name === name)?.spec ?? adds);
    if (spec === null) throw noSchedule(name);
    mayAct(at.gate, person, { kind, schedule: name, agent: spec.agent, requester: spec.owner }, `${what} schedule ${name}`);
    await book.declare(at.declared, { kind: "user", id: person.name }, "kept");
    return work(desk, { ...at, place, person });
  });
}
type Doing = Readonly<{ kind: "edit-schedule" | "run-schedule"; what: string; adds?: ScheduleSpec | null }>;

const noSchedule = (name: string): FaultError => usage(`there is no schedule \`${name}\``, "`orgate schedules list` shows those there are");

export const addSchedule: RunCommand = async (given, screen) => {
  const [name = ""] = given.args;
  const adds = specGiven(given, personOf(given, screen).name);
  const view = await acting(given, screen, { kind: "edit-schedule", what: "add", adds }, (desk, { person }) =>
    desk.add(name, adds, person),
  );
  return shown(
    given,
    screen,
    view,
    `added ${visible(view.schedule)}: ${whenText(view.spec)}, next ${view.nextAt === null ? "never" : timeText(view.nextAt)}; \`orgate up\` fires it`,
  );
};

function specGiven(given: Given, owner: string): ScheduleSpec {
  const text = (option: string): Record<string, string> => {
    const value = given.text(option);
    return value === null ? {} : { [option]: value };
  };
  const read = projectScheduleSchema.safeParse({
    ...text("agent"),
    ...text("cron"),
    ...text("at"),
    ...text("timezone"),
    ...text("input"),
    ...text("jitter"),
    ...text("overlap"),
    ...text("missed"),
  });
  if (!read.success) {
    const [issue] = read.error.issues;
    const option = issue?.path.join(".") ?? "";
    throw usage(`--${option}: ${lowerFirst(issue?.message ?? "not understood")}`, "`orgate schedules add --help` has every option");
  }
  return specOf(read.data, owner, openCalendar());
}

const edit =
  (doing: "pause" | "resume" | "remove", word: string): RunCommand =>
  async (given, screen) => {
    const [name = ""] = given.args;
    const view = await acting(given, screen, { kind: "edit-schedule", what: doing }, (desk, { person }) =>
      desk[doing](name, given.text("reason") ?? "", person),
    );
    return shown(given, screen, view, `${word} ${visible(name)}, in every process`);
  };
export const pause = edit("pause", "paused");
export const resumeSchedule = edit("resume", "resumed");
export const removeSchedule = edit("remove", "removed");

function shown(given: Given, screen: Screen, view: ScheduleView, text: string): number {
  screen.line(given.json ? JSON.stringify(view) : text);
  return EXIT.success;
}

export const runSchedule: RunCommand = (given, screen) => fired(given, screen, (desk, name, person) => desk.run(name, person));

/** Z-6. */
export const retry: RunCommand = (given, screen) => {
  const due = given.text("due");
  const at = due === null ? null : Date.parse(due);
  if (at !== null && !(Number.isSafeInteger(at) && at >= 0))
    throw usage(`--due is \`${visible(due ?? "")}\``, "write it as `orgate schedules history` does: 2030-01-31T08:00:00Z");
  return fired(given, screen, (desk, name, person) => desk.retry(name, at === null ? null : millis(at), person));
};

/** Fired here, and driven here unless a server was quicker. */
async function fired(
  given: Given,
  screen: Screen,
  fire: (desk: ScheduleDesk, name: string, person: Person) => Promise<SessionId>,
): Promise<number> {
  const [name = ""] = given.args;
  const { session, at } = await acting(given, screen, { kind: "run-schedule", what: "run" }, async (desk, where) => ({
    session: await fire(desk, name, where.person),
    at: where,
  }));
  const { directory, synchronous } = at.config.journal;
  const { agents } = at;
  const runtime = await createRuntime({
    directory,
    agents,
    gate: at.gate,
    principal: { kind: "user", id: at.person.name },
    surface: "schedule",
    synchronous,
    env: given.env,
    folder: at.config.root,
    project: at.config.name,
    ...(await loadProjectPorts(at.config, given.env)),
  });
  try {
    const result = await driveToResult((text) => tell(given, screen, text), runtime, session);
    if (given.json) screen.line(JSON.stringify({ schedule: name, ...result }));
    else
      screen.line(
        `${visible(name)}: ${session} ${result.state === "waiting" ? "waits" : `ended ${result.ending}`}${result.output === null ? "" : `\n${visible(result.output)}`}`,
      );
    return exitOf(result);
  } finally {
    await runtime.close();
    await at.project.mcp?.hub.close();
  }
}

const LOOK_EVERY_MS = 50;
/** A-7 a server may have taken it up first: then its turn is waited for, and the exit code tells how that one ended. */
export async function driveToResult(say: (text: string) => void, runtime: Runtime, session: SessionId): Promise<RunResult> {
  for (let isTold = false; ; isTold = true) {
    try {
      return await runtime.resume(session).result;
    } catch (error) {
      if (!isFault(error, "session-held")) throw error;
    }
    if (!isTold) say(`${session} is driven by another process: waiting for its turn to end`);
    const { journal, holder } = runtime.place.store;
    while (holder(session) !== null && (await journal.session(session))?.state === "running") await pauseFor(LOOK_EVERY_MS);
    const state = await runtime.inspect.state(session);
    if (state.turn === null || (await journal.session(session))?.state === "waiting") return toResult(state);
  }
}
