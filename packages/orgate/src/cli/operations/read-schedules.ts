/** Reads schedules from the journal and from the project's files: a schedule that no server has recorded yet is shown as it will stand. */
import { millis } from "@orgate/core";
import type { Journal } from "@orgate/core/journal";
import type { Act } from "../../operations/access.ts";
import { policyRefusal } from "../../operations/access-limits.ts";
import { scheduleReaders } from "../../operations/handlers/schedules.ts";
import { cursors } from "../../operations/paging.ts";
import { loadRunnableProject } from "../../project/load.ts";
import { openCalendar } from "../../schedules/calendar.ts";
import { readSchedules } from "../../schedules/declaring.ts";
import { ScheduleReads } from "../../schedules/project-schedules.ts";
import { ScheduleStore } from "../../schedules/store.ts";
import { findCaller, hasRun, openGivenProject, withReadOnlyStore } from "../commands/project/project.ts";
import type { LocalRead } from "./local-reads.ts";
import { readWith } from "./read-with.ts";

type Stored = Pick<Journal, "read" | "streams">;
const NOTHING: Stored = { read: async () => [], streams: async () => [] };

export const withScheduleReads: LocalRead = async (given, screen, work) => {
  const { name } = findCaller(given, screen);
  const { config, project, gate } = await loadRunnableProject(openGivenProject(given), { env: given.env, surface: "cli" });
  const calendar = openCalendar();
  const declared = readSchedules({ config, agents: project.agents, files: project.sources, owner: name }, calendar);
  const may = (wanted: Act): boolean => wanted.kind === "observe" || policyRefusal(gate, name, wanted) === null;
  const now = () => millis(Date.now());
  const read = (journal: Stored) => {
    const store = new ScheduleStore({
      journal: { ...journal, append: () => Promise.reject(new Error("this journal is open to read only")) },
      now,
    });
    store.expect(declared);
    const schedules = new ScheduleReads({ schedules: store, journal, calendar, now });
    return work(readWith(scheduleReaders({ schedules, cursors: cursors() }), may));
  };
  return hasRun(config.journal) ? withReadOnlyStore(given, ({ journal }) => read(journal)) : read(NOTHING);
};
