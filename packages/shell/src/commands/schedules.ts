/** Schedules: what the shell prints about them, and `/cron add`. */
import type { OperationOutput } from "@orgate/protocol";
import { scheduleLine, timeText, whenText } from "@orgate/protocol/view";
import type { Shell } from "../contract.ts";
import { ageText } from "../terminal/table.ts";
import { visible } from "../terminal/visible.ts";
import { fitTable } from "../ui/tables.ts";
import type { HandWrittenVerb, Renderers } from "./operation-command.ts";

type Schedule = OperationOutput<"schedule">;

const stateLine = ({ schedule, state, nextAt }: Schedule): readonly string[] => [
  `${visible(schedule)} is ${state}${nextAt === null ? "" : `, next in ${ageText(nextAt - Date.now())}`}`,
];

function table(items: readonly Schedule[], shell: Shell): readonly string[] {
  if (items.length === 0) return ["nothing fires by itself"];
  const now = Date.now();
  const rows = items.map((one) => [
    one.schedule,
    one.state,
    one.spec.agent,
    whenText(one.spec),
    one.nextAt === null ? "-" : `in ${ageText(one.nextAt - now)}`,
    one.last === null ? "-" : `${ageText(now - one.last.at)} ago${one.last.ending === null ? "" : `, ${one.last.ending}`}`,
  ]);
  return fitTable(["schedule", "state", "agent", "when", "next", "last"], rows, shell.ui.look());
}

const fired = ({ schedule, session }: OperationOutput<"runSchedule">): readonly string[] => [
  `${visible(schedule)} is fired: \`/resume ${session}\` shows it`,
];

export const SCHEDULE_RENDERERS: Renderers = {
  schedules: ({ items }, shell) => table(items, shell),
  schedule: (one, shell) => table([one], shell),
  pauseSchedule: stateLine,
  resumeSchedule: stateLine,
  removeSchedule: stateLine,
  runSchedule: fired,
  retrySchedule: fired,
  scheduleNext: ({ schedule, next }) => (next.length === 0 ? [`${visible(schedule)} is not due again`] : next.map(timeText)),
  scheduleHistory({ items }) {
    const now = Date.now();
    return items.length === 0
      ? ["nothing has come of it yet"]
      : items.map(({ at, event }) => `${ageText(now - at)} ago  ${scheduleLine(event).text}`);
  },
};

const ADD = '/cron add NAME AGENT "0 8 * * 1-5" TEXT';
async function add(rest: string, shell: Shell): Promise<void> {
  const [, schedule, agent, cron, input = ""] = /^(\S+)\s+(\S+)\s+"([^"]+)"(?:\s+([\s\S]+))?$/.exec(rest) ?? [];
  if (schedule === undefined || agent === undefined || cron === undefined) return shell.say(`\`${ADD}\``);
  const body = { schedule, agent, cron, ...(input === "" ? {} : { input }) };
  const made = await shell.unwrap(shell.connection.client.call("addSchedule", { body }));
  if (made !== null) shell.ui.print(stateLine(made));
}

/** By hand: a cron expression of five words stands in quotes, before words that have none. */
export const CRON_ADD: HandWrittenVerb = { usage: ADD, run: add };
