/** What the coordinator tells of schedules: those that its voices may see, and nothing of the words in them. */
import type { JsonObject } from "@orgate/core";
import { timeText, whenText } from "@orgate/protocol/view";
import type { Runtime } from "../../runtime/api.ts";
import { NODE } from "../../runtime/ports/outside.ts";
import { openCalendar } from "../../schedules/calendar.ts";
import { getScheduleStore } from "../../schedules/index.ts";
import { scheduleView } from "../../schedules/project-schedules.ts";
import { observing } from "../handlers/schedules.ts";
import type { CallerAccess } from "./caller-access.ts";

const calendar = openCalendar();

/** W-36 how many there are, and whether there is more. */
export async function schedulesForOperator({ place }: Pick<Runtime, "place">, voices: CallerAccess, most: number): Promise<JsonObject> {
  const book = getScheduleStore(place);
  await book.refresh();
  const seen = [...book.all().values()]
    .filter(({ state }) => state !== "removed")
    .map((s) => scheduleView(s, calendar, NODE.clock.now()))
    .filter((one) => voices.refuses(observing(one)) === null)
    .sort((a, b) => (a.nextAt ?? Number.MAX_SAFE_INTEGER) - (b.nextAt ?? Number.MAX_SAFE_INTEGER) || (a.schedule < b.schedule ? -1 : 1));
  const schedules = seen.slice(0, most).map(({ schedule, state, spec, nextAt, last, failures }) => ({
    schedule,
    state,
    when: whenText(spec),
    agent: spec.agent,
    for: spec.owner,
    next: nextAt === null ? "never" : timeText(nextAt),
    last: last === null ? "never" : `${timeText(last.dueAt)} ${last.ending ?? "not over"}`,
    failures,
  }));
  return { count: seen.length, more: seen.length > most, schedules };
}
