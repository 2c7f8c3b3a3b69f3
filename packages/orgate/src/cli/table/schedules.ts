/** Commands of schedules: each is an operation, and derived from its words. */
import type { CommandSpec } from "@orgate/shell/terminal";
import { operationCommand } from "../operations/derive.ts";

const views = () => import("../commands/project/schedules.ts");

export const schedulesCommands: readonly CommandSpec[] = [
  operationCommand("schedules", async () => (await views()).listSchedules),
  operationCommand("schedule", async () => (await views()).showSchedule),
  operationCommand("addSchedule", async () => (await views()).addSchedule),
  operationCommand("removeSchedule", async () => (await views()).removeSchedule),
  operationCommand("pauseSchedule", async () => (await views()).pauseSchedule),
  operationCommand("resumeSchedule", async () => (await views()).resumeSchedule),
  operationCommand("runSchedule", async () => (await views()).runSchedule),
  operationCommand("retrySchedule", async () => (await views()).retrySchedule),
  operationCommand("scheduleHistory", async () => (await views()).scheduleHistory),
  operationCommand("scheduleNext", async () => (await views()).scheduleNext),
];
