import { FaultError, type ScheduleSpec, sessionId } from "@orgate/core";
import { wireProblem } from "@orgate/core/wire";
import { openCalendar } from "../../compose.ts";
import { specOf } from "../../schedules/declaring.ts";
import type { ScheduleView } from "../../schedules/desk.ts";
import { projectSchedule } from "../../schedules/written.ts";
import { act } from "../access.ts";
import { refusal } from "../answering.ts";
import type { Handlers } from "../api.ts";
import type { Front } from "./front.ts";
import { json, page, whole } from "./paging.ts";

type Names =
  | "schedules"
  | "schedule"
  | "addSchedule"
  | "pauseSchedule"
  | "resumeSchedule"
  | "removeSchedule"
  | "runSchedule"
  | "retrySchedule"
  | "scheduleHistory"
  | "scheduleNext";

export function scheduleHandlers({
  schedules: desk,
  floor,
  cursors,
}: Pick<Front, "schedules" | "floor" | "cursors">): Pick<Handlers, Names> {
  const calendar = openCalendar();
  return {
    schedules: async ({ query, may }) =>
      json(await page(cursors, query, { read: desk.page, place: ({ schedule }) => schedule, shows: (one) => may(observing(one)) })),
    schedule: async ({ params }) => {
      const found = await desk.show(params.schedule);
      if (found === null) throw refusal(wireProblem("not-found", `there is no schedule \`${params.schedule}\``, "list them"));
      return json(found);
    },
    addSchedule: async ({ body: { schedule, ...written }, caller, once }) => {
      const before = once.again ? await desk.show(schedule) : null;
      if (before !== null && before.from === null && before.spec.owner === caller.principal.id) return json(before); // a crash cut its answer off
      return json(await desk.add(schedule, specFrom(written, caller.principal.id, calendar), caller.person));
    },
    pauseSchedule: async ({ params, body, caller }) => json(await desk.pause(params.schedule, body.reason, caller.person)),
    resumeSchedule: async ({ params, body, caller }) => json(await desk.resume(params.schedule, body.reason, caller.person)),
    removeSchedule: async ({ params, body, caller }) => json(await desk.remove(params.schedule, body.reason, caller.person)),
    runSchedule: async ({ params, caller, once }) => {
      const session = await desk.run(params.schedule, caller.person, sessionOf(once.intent));
      floor.wake(session);
      return json({ schedule: params.schedule, session });
    },
    retrySchedule: async ({ params, body, caller, once }) => {
      const session = await desk.retry(params.schedule, body.dueAt ?? null, caller.person, sessionOf(once.intent));
      floor.wake(session);
      return json({ schedule: params.schedule, session });
    },
    scheduleHistory: async ({ params, query }) =>
      json(
        await page(cursors, query, {
          read: async (after, most) => desk.history(params.schedule, { before: after === null ? null : whole(after), most }),
          place: ({ seq }) => String(seq),
          shows: () => true,
        }),
      ),
    scheduleNext: async ({ params, query }) => json({ schedule: params.schedule, next: await desk.next(params.schedule, query.most) }),
  };
}

/** The same for the same key: asked again, it is the one that there is. */
const sessionOf = (intent: string) => sessionId(`s_${intent.replaceAll(/[^0-9a-z]/g, "").slice(0, 38)}`);

export const observing = ({ schedule, spec }: Pick<ScheduleView, "schedule" | "spec">) =>
  act("observe", "schedule", { id: schedule, agent: spec.agent, requester: spec.owner });

function specFrom(written: object, owner: string, calendar: ReturnType<typeof openCalendar>): ScheduleSpec {
  const read = projectSchedule.safeParse(written);
  if (read.success) return specOf(read.data, owner, calendar);
  const [issue] = read.error.issues;
  throw new FaultError({
    kind: "usage",
    detail: `\`${issue?.path.join(".") ?? ""}\`: ${issue?.message ?? "not understood"}`,
    hint: "docs/guide/schedules.md has every setting",
  });
}
