import type { ScheduleSpec } from "@orgate/core";
import type { StandingSchedule } from "@orgate/core/journal";
import { type OperationRequest, unreadable, wireProblem } from "@orgate/protocol";
import type { OperationGroups } from "@orgate/protocol/words";
import { projectScheduleSchema } from "../../config/schedule-schema.ts";
import { openCalendar } from "../../schedules/calendar.ts";
import { toScheduleSpec } from "../../schedules/declaring.ts";
import type { ScheduleReads, ScheduleView, WantedSchedule } from "../../schedules/project-schedules.ts";
import { type Act, act } from "../access.ts";
import type { OperationContext } from "../context.ts";
import type { OperationHandlers } from "../execute.ts";
import { deriveSessionId, type IdempotencyKey } from "../idempotency.ts";
import { type Cursors, type PageSource, page, whole } from "../paging.ts";
import { refusal } from "../refusal.ts";
import { json } from "../result.ts";

type Group = OperationGroups["schedules"];
type Reads = "schedules" | "schedule" | "scheduleHistory" | "scheduleNext";

export function scheduleReaders({
  schedules,
  cursors,
}: Readonly<{ schedules: ScheduleReads; cursors: Cursors }>): Required<Pick<OperationHandlers, Reads>> {
  return {
    schedules: async ({ query, may }) => {
      const { items, next } = await page(cursors, query, {
        ...inOrder(await schedules.standing(), query, schedules),
        shows: (one) => may(observing(one)),
      });
      return json({ items: items.map((one) => offered(schedules.view(one), may)), next });
    },
    schedule: async ({ params, may }) => {
      const found = await schedules.show(params.schedule);
      if (found === null)
        throw refusal(wireProblem("not-found", `there is no schedule \`${params.schedule}\``, "`orgate schedules list` shows them"));
      return json(offered(found, may));
    },
    scheduleHistory: async ({ params, query }) =>
      json(
        await page(cursors, query, {
          read: async (after, most) => schedules.history(params.schedule, { before: after === null ? null : whole(after), most }),
          place: ({ seq }) => String(seq),
          shows: () => true,
        }),
      ),
    scheduleNext: async ({ params, query }) => json({ schedule: params.schedule, ...(await schedules.next(params.schedule, query.limit)) }),
  };
}

export function scheduleHandlers(
  context: Pick<OperationContext, "schedules" | "sessionDriver" | "cursors">,
): Required<Pick<OperationHandlers, Group>> {
  const { schedules, sessionDriver } = context;
  const calendar = openCalendar();
  const show = async (view: ScheduleView | Promise<ScheduleView>, may: May) => json(offered(await view, may));
  return {
    ...scheduleReaders(context),
    addSchedule: async ({ body: { schedule, ...written }, caller, key, may }) => {
      const before = key.again ? await schedules.show(schedule) : null;
      if (before !== null && before.from === null && before.spec.owner === caller.principal.id) return show(before, may); // a crash cut its answer off
      return show(schedules.add(schedule, specFrom(written, caller.principal.id, calendar), caller.person), may);
    },
    pauseSchedule: async ({ params, body, caller, may }) => show(schedules.pause(params.schedule, body.reason, caller.person), may),
    resumeSchedule: async ({ params, body, caller, may }) => show(schedules.resume(params.schedule, body.reason, caller.person), may),
    removeSchedule: async ({ params, body, caller, may }) => show(schedules.remove(params.schedule, body.reason, caller.person), may),
    runSchedule: async ({ params, caller, key }) => {
      const session = await schedules.run(params.schedule, caller.person, wantedBy(key));
      sessionDriver.wake(session);
      return json({ schedule: params.schedule, session });
    },
    retrySchedule: async ({ params, body, caller, key }) => {
      const session = await schedules.retry(params.schedule, body.dueAt ?? null, caller.person, wantedBy(key));
      sessionDriver.wake(session);
      return json({ schedule: params.schedule, session });
    },
  };
}

/** The same for the same key: asked again, it is the one that there is. */
const wantedBy = ({ intent, again }: Pick<IdempotencyKey, "intent" | "again">): WantedSchedule => ({
  session: deriveSessionId(intent),
  again,
});

type May = (wanted: Act) => boolean;
const doing =
  (kind: "observe" | "edit-schedule" | "run-schedule") =>
  ({ schedule, spec }: Pick<ScheduleView, "schedule" | "spec">): Act =>
    act(kind, "schedule", { id: schedule, agent: spec.agent, requester: spec.owner });
export const observing = doing("observe");
const editing = doing("edit-schedule");
const running = doing("run-schedule");
/** With what its caller may do with it: what would be refused need not be offered. */
const offered = (view: ScheduleView, may: May) => ({ ...view, may: { edit: may(editing(view)), run: may(running(view)) } });

type Sought = OperationRequest<"schedules">["query"];
/** A place is what its row is sorted by: one that comes or goes meanwhile moves none of the others to another page. */
function inOrder(
  all: readonly StandingSchedule[],
  { agent, state, text, order }: Sought,
  reads: Pick<ScheduleReads, "stateOf" | "view">,
): Omit<PageSource<StandingSchedule>, "shows"> {
  const place = (one: StandingSchedule): string =>
    order === "name" ? one.schedule : `${order === "need" ? need(one) : dueText(reads.view(one))} ${one.schedule}`;
  const rows = all
    .filter(
      (one) =>
        (agent === undefined || one.spec.agent === agent) &&
        (state === undefined || reads.stateOf(one) === state) &&
        (text === undefined || one.schedule.toLowerCase().includes(text.toLowerCase())),
    )
    .map((one) => ({ one, at: place(one) }))
    .sort((a, b) => (a.at < b.at ? -1 : 1));
  return {
    place,
    read: async (after, most) => {
      const first = after === null ? 0 : rows.findIndex(({ at }) => at > after);
      return first < 0 ? [] : rows.slice(first, first + most).map(({ one }) => one);
    },
  };
}
const need = ({ state, failures, last }: StandingSchedule): number =>
  state === "stopped" ? 0 : failures > 0 || (last !== null && last.ending !== null && last.ending !== "completed") ? 1 : 2;

/** Sorts as text; one that is not due again comes last. */
const dueText = ({ nextAt }: Pick<ScheduleView, "nextAt">): string => String(nextAt ?? Number.MAX_SAFE_INTEGER).padStart(16, "0");

function specFrom(written: object, owner: string, calendar: ReturnType<typeof openCalendar>): ScheduleSpec {
  const read = projectScheduleSchema().safeParse(written);
  if (read.success) return toScheduleSpec(read.data, owner, calendar);
  throw refusal(unreadable("the schedule", read.error));
}
