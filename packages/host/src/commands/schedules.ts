/** Schedules: looked at, added, paused, resumed, fired by hand. `orgate up` is what fires them at their times. */
import { isFault, type Millis, type ScheduleSpec } from "@orgate/core";
import { scheduleLine, timeText, whenText } from "@orgate/core/journal/view";
import { EXIT, type Given, type Run } from "../cli/command.ts";
import type { Screen } from "../cli/screen.ts";
import { type Cell, table } from "../cli/table.ts";
import { visible } from "../cli/visible.ts";
import { delegatesOf, NODE, openCalendar, type Person, type Place } from "../compose.ts";
import type { Config } from "../config.ts";
import { openPolicies, type Policies } from "../policies.ts";
import { loadProjectAgents, type ProjectAgents } from "../project-agents.ts";
import { createRuntime } from "../runtime.ts";
import type { Declared } from "../schedules/book.ts";
import { openBook } from "../schedules/book.ts";
import { schedulesIn, specOf } from "../schedules/declaring.ts";
import { type ScheduleDesk, type ScheduleView, scheduleDesk, viewOf } from "../schedules/desk.ts";
import { openSchedules } from "../schedules/index.ts";
import { projectSchedule } from "../schedules/written.ts";
import { usage } from "./approvals.ts";
import { certified, lookingIfAny, personOf, positive, projectOf, writing } from "./project.ts";

type Here = Readonly<{ config: Config; loaded: ProjectAgents; declared: readonly Declared[]; gate: Policies }>;

async function here(given: Given, owner: string): Promise<Here> {
  const config = projectOf(given);
  const loaded = await loadProjectAgents(config);
  const declared = schedulesIn({ config, agents: loaded.agents, symbi: loaded.sources.map(({ symbi }) => symbi), owner }, openCalendar());
  const gate = openPolicies(
    config,
    loaded.agents.map(({ agent }) => agent),
    "cli",
  );
  return { config, loaded, declared, gate };
}

/** What the journal has, and what the project declares that nobody has served yet. */
async function views(given: Given, screen: Screen): Promise<readonly ScheduleView[]> {
  const calendar = openCalendar();
  const { declared } = await here(given, personOf(given, screen).name);
  const known = await lookingIfAny<readonly ScheduleView[]>(
    given,
    async ({ journal }) => {
      const book = openBook({
        journal: { ...journal, append: () => Promise.reject(new Error("this is for looking only")) },
        now: NODE.clock.now,
      });
      await book.refresh();
      return [...book.all().values()].filter(({ state }) => state !== "removed").map((s) => viewOf(s, calendar));
    },
    () => [],
  );
  const fresh = declared.filter(({ name }) => !known.some(({ schedule }) => schedule === name));
  return [...known, ...fresh.map((one) => notYet(one, calendar))].sort((a, b) => (a.schedule < b.schedule ? -1 : 1));
}

function notYet({ name, spec, from }: Declared, calendar: ReturnType<typeof openCalendar>): ScheduleView {
  const nextAt = spec.enabled ? calendar.next(spec.when, NODE.clock.now()) : null;
  return {
    schedule: name,
    state: spec.enabled ? "active" : "off",
    spec,
    from,
    nextAt,
    upcoming: nextAt === null ? [] : [nextAt],
    open: [],
    queued: 0,
    retrying: 0,
    setAside: [],
    failures: 0,
    fired: 0,
    last: null,
  };
}

export const list: Run = async (given, screen) => {
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

async function one(given: Given, screen: Screen): Promise<ScheduleView> {
  const [name = ""] = given.args;
  const found = (await views(given, screen)).find(({ schedule }) => schedule === name);
  if (found === undefined) throw usage(`there is no schedule \`${name}\``, "`orgate schedules list` shows those there are");
  return found;
}

const MOST_NEXT = 1_000;
export const next: Run = async (given, screen) => {
  const { schedule, spec, state } = await one(given, screen);
  const most = Math.min(MOST_NEXT, positive(given.text("most") ?? "5", "--most"));
  const calendar = openCalendar();
  const times: Millis[] = [];
  if (state === "active")
    for (let at = calendar.next(spec.when, NODE.clock.now()); at !== null && times.length < most; at = calendar.next(spec.when, at)) {
      times.push(at);
      if (spec.oneShot) break;
    }
  if (given.json) screen.line(JSON.stringify({ schedule, state, next: times.map(timeText) }));
  else if (times.length === 0) screen.line(`${visible(schedule)} is ${state}: nothing of it is due`);
  else for (const at of times) screen.line(timeText(at));
  return EXIT.success;
};

export const history: Run = async (given, screen) => {
  const [name = ""] = given.args;
  await one(given, screen);
  const most = Math.min(MOST_NEXT, positive(given.text("most") ?? "20", "--most"));
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

/** With what the project declares on record, and the person known. */
async function acting<T>(
  given: Given,
  screen: Screen,
  work: (desk: ScheduleDesk, at: Here & Readonly<{ place: Place; person: Person }>) => Promise<T>,
): Promise<T> {
  const person = personOf(given, screen);
  const at = await here(given, person.name);
  return writing(at.config, async (place) => {
    await certified(given, screen, place, person);
    const agents = new Map(at.loaded.agents.map(({ agent }) => [agent.name, agent]));
    const { book, desk } = openSchedules({ place, gate: at.gate, beginning: delegatesOf(agents, at.gate) });
    await book.declare(at.declared, { kind: "user", id: person.name });
    return work(desk, { ...at, place, person });
  });
}

export const add: Run = async (given, screen) => {
  const [name = ""] = given.args;
  const view = await acting(given, screen, (desk, { person }) => desk.add(name, specGiven(given, person.name), person));
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
  const read = projectSchedule.safeParse({
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
    throw usage(
      `--${option}: ${issue?.message.replace(/^[A-Z]/, (c) => c.toLowerCase()) ?? "not understood"}`,
      "`orgate schedules add --help` has every option",
    );
  }
  return specOf(read.data, owner, openCalendar());
}

const edit =
  (doing: "pause" | "resume" | "remove", word: string): Run =>
  async (given, screen) => {
    const [name = ""] = given.args;
    const view = await acting(given, screen, (desk, { person }) => desk[doing](name, given.text("reason") ?? "", person));
    return shown(given, screen, view, `${word} ${visible(name)}, in every process`);
  };
export const pause = edit("pause", "paused");
export const resume = edit("resume", "resumed");
export const remove = edit("remove", "removed");

function shown(given: Given, screen: Screen, view: ScheduleView, text: string): number {
  screen.line(given.json ? JSON.stringify(view) : text);
  return EXIT.success;
}

/** Fired here, and driven here unless a server was quicker. */
export const run: Run = async (given, screen) => {
  const [name = ""] = given.args;
  const { session, at } = await acting(given, screen, async (desk, where) => ({ session: await desk.run(name, where.person), at: where }));
  const { directory, synchronous } = at.config.journal;
  const agents = at.loaded.agents.map(({ agent }) => agent);
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
  });
  try {
    const result = await runtime.resume(session).result;
    if (given.json) screen.line(JSON.stringify({ schedule: name, ...result }));
    else
      screen.line(
        `${visible(name)}: ${session} ${result.state === "waiting" ? "waits" : `ended ${result.ending}`}${result.output === null ? "" : `\n${visible(result.output)}`}`,
      );
    return result.state === "waiting" ? EXIT.waiting : result.ending === "completed" ? EXIT.success : EXIT.failure;
  } catch (error) {
    if (!isFault(error, "session-held")) throw error;
    if (given.json) screen.line(JSON.stringify({ schedule: name, session, state: "running" }));
    else screen.line(`${visible(name)}: ${session} is driven by another process: \`orgate sessions show ${session}\``);
    return EXIT.success;
  } finally {
    await runtime.close();
    await at.loaded.mcp?.hub.close();
  }
};
