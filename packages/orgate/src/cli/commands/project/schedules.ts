/** Views of schedules: the lines that people read. */
import { setTimeout as pauseFor } from "node:timers/promises";
import { isFault, type RunResult, type SessionId, toResult } from "@orgate/core";
import type { OperationOutput } from "@orgate/protocol";
import { scheduleLine, timeText, whenText } from "@orgate/protocol/view";
import { type Cell, EXIT, table, visible } from "@orgate/shell/terminal";
import type { Runtime } from "../../../runtime/api.ts";
import type { OperationView, Viewing } from "../../operations/run.ts";
import { toExitCode } from "../sessions/run.ts";
import { tell } from "./read-only.ts";

type View = OperationOutput<"schedule">;

export const listSchedules: OperationView<"schedules"> = {
  print: ({ items }, { screen }) => {
    if (items.length === 0) screen.line("there are no schedules: `orgate schedules add --help`, or docs/guide/schedules.md");
    else
      for (const line of table(["schedule", "state", "when", "agent", "for", "next", "last"], items.map(rowOf), screen.paint))
        screen.line(line);
  },
};

const stateCell = (state: View["state"]): Cell => ({
  text: state,
  tone: state === "active" ? "good" : state === "stopped" ? "bad" : "warn",
});
const lastText = ({ last }: View): string => (last === null ? "never" : `${timeText(last.dueAt)} ${last.ending ?? "running"}`);
const rowOf = (v: View): readonly (string | Cell)[] => [
  v.schedule,
  stateCell(v.state),
  whenText(v.spec),
  v.spec.agent,
  v.spec.owner,
  v.nextAt === null ? "–" : timeText(v.nextAt),
  lastText(v),
];

export const showSchedule: OperationView<"schedule"> = {
  print: (v, { screen }) => {
    const row = (name: string, text: string): void => screen.line(`${screen.paint("dim", name.padEnd(10))} ${visible(text)}`);
    screen.line(screen.paint("strong", visible(v.schedule)));
    row("state", v.state);
    row("when", whenText(v.spec));
    row("agent", `${v.spec.agent}, for ${v.spec.owner}`);
    row("input", v.spec.input);
    row("declared", v.from ?? "by a person");
    row("next", v.upcoming.length === 0 ? "–" : v.upcoming.map(timeText).join(", "));
    row("last", lastText(v));
    if (v.open.length > 0) row("running", v.open.join(", "));
    if (v.setAside.length > 0) row("failed", v.setAside.map(({ dueAt, session }) => `${timeText(dueAt)} ${session}`).join(", "));
  },
};

export const scheduleNext: OperationView<"scheduleNext"> = {
  print: ({ schedule, state, next }, { screen }) => {
    if (next.length === 0) screen.line(`${visible(schedule)} is ${state}: nothing of it is due`);
    else for (const at of next) screen.line(timeText(at));
  },
};

export const scheduleHistory: OperationView<"scheduleHistory"> = {
  print: ({ items }, { given, screen }) => {
    if (items.length === 0) screen.line(`nothing of ${visible(given.args[0] ?? "")} has happened yet`);
    for (const { at, event } of items) {
      const { mark, tone, text } = scheduleLine(event);
      screen.line(`${screen.paint("dim", timeText(at))} ${screen.paint(tone, mark)} ${text}`);
    }
  },
};

export const addSchedule: OperationView<"addSchedule"> = {
  print: ({ schedule, spec, nextAt }, { screen }) =>
    screen.line(
      `added ${visible(schedule)}: ${whenText(spec)}, next ${nextAt === null ? "never" : timeText(nextAt)}; \`orgate up\` fires it`,
    ),
};

const edited = (word: string) => ({
  print: ({ schedule }: View, { screen }: Viewing): void => screen.line(`${word} ${visible(schedule)}, in every process`),
});
export const pauseSchedule: OperationView<"pauseSchedule"> = edited("paused");
export const resumeSchedule: OperationView<"resumeSchedule"> = edited("resumed");
export const removeSchedule: OperationView<"removeSchedule"> = edited("removed");

type Fired = OperationOutput<"runSchedule">;
type Ended = Readonly<{ schedule: string }> & RunResult;
/** The turn is driven in this process, unless a server was quicker; against a server, it drives the turn. */
const fired = {
  follow: async (
    { schedule, session }: Fired,
    { given, screen, runtime, settle }: Viewing & Readonly<{ runtime: Runtime; settle(): Promise<void> }>,
  ): Promise<Ended> => {
    await settle();
    return { schedule, ...(await driveToResult((text) => tell(given, screen, text), runtime, session)) };
  },
  print: (value: Fired | Ended, { screen }: Viewing): void => {
    const { schedule, session } = value;
    const said =
      "state" in value
        ? `${visible(schedule)}: ${session} ${value.state === "waiting" ? "waits" : `ended ${value.ending}`}`
        : `fired ${visible(schedule)}: the server drives ${session}`;
    screen.line("state" in value && value.output !== null ? `${said}\n${visible(value.output)}` : said);
  },
  exit: (value: Fired | Ended): number => ("state" in value ? toExitCode(value) : EXIT.success),
};
export const runSchedule: OperationView<"runSchedule", Ended> = fired;
export const retrySchedule: OperationView<"retrySchedule", Ended> = fired;

const LOOK_EVERY_MS = 50;
/** A-7 a server may have taken it up first: then its turn is waited for, and the exit code tells how that one ended. */
export async function driveToResult(say: (text: string) => void, runtime: Runtime, session: SessionId): Promise<RunResult> {
  const { journal, holder } = runtime.place.store;
  for (let isTold = false; ; ) {
    const state = await runtime.inspect.state(session);
    if (state.turn === null || (await journal.session(session))?.state === "waiting") return toResult(state);
    try {
      return await runtime.resume(session).result;
    } catch (error) {
      if (!isFault(error, "session-held")) throw error;
    }
    if (!isTold) say(`${session} is driven by another process: waiting for its turn to end`);
    isTold = true;
    while ((await holder(session)) !== null && (await journal.session(session))?.state === "running") await pauseFor(LOOK_EVERY_MS);
  }
}
