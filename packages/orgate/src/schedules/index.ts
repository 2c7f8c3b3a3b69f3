/** Opens the schedules of a project: the command line reads and changes them, the server also fires them. */

import { type Gate, millis } from "@orgate/core";
import { sha256 } from "../node/crypto.ts";
import { createRunCheck } from "../runtime/people/may-run.ts";
import { NODE } from "../runtime/ports/outside.ts";
import type { OpenProjectStore } from "../runtime/ports/project-store.ts";
import { openCalendar } from "./calendar.ts";
import type { FindSessionStart } from "./firing.ts";
import { ProjectSchedules } from "./project-schedules.ts";
import { Scheduler, type SchedulerPorts } from "./scheduler.ts";
import { ScheduleStore } from "./store.ts";

export type Schedules = Readonly<{ store: ScheduleStore; desk: ProjectSchedules; scheduler: Scheduler }>;

export type SchedulesOptions = Readonly<{
  place: Pick<OpenProjectStore, "keyring" | "orders" | "store">;
  gate: Gate;
  findSessionStart: FindSessionStart;
  wake?: SchedulerPorts["wake"];
  failed?: SchedulerPorts["failed"];
  alarm?: SchedulerPorts["alarm"];
}>;

/** One store for each open journal: what one caller has read, the others need not read again. */
export function getScheduleStore(place: Pick<OpenProjectStore, "store">): ScheduleStore {
  const { journal } = place.store;
  const store = stores.get(journal) ?? new ScheduleStore({ journal, now: () => millis(Date.now()) });
  stores.set(journal, store);
  return store;
}
const stores = new WeakMap<object, ScheduleStore>();

export function openSchedules(options: SchedulesOptions): Schedules {
  const { place, gate, findSessionStart, wake = () => {}, failed = () => {}, alarm = ownTimer } = options;
  const { journal, holder } = place.store;
  const calendar = openCalendar();
  const now = () => millis(Date.now());
  const schedules = getScheduleStore(place);
  const shared = { schedules, journal, calendar, now, findSessionStart, newSession: NODE.ids.session, sign: place.keyring.signAsWriter };
  const scheduler = new Scheduler({
    ...shared,
    hash: sha256,
    timer: ownTimer,
    alarm,
    mayNotRun: createRunCheck(gate),
    wake,
    isHeld: async (session) => (await holder(session)) !== null,
    failed,
  });
  return { store: schedules, scheduler, desk: new ProjectSchedules({ ...shared, place, gate }) };
}

const ownTimer: SchedulerPorts["timer"] = (ms, then) => {
  const timer = setTimeout(then, ms).unref();
  return () => clearTimeout(timer);
};
