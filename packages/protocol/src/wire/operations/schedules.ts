/** What fires by itself. */

import type { ScheduleSpec } from "@orgate/core/vocab";
import * as z from "zod";
import { as, because, get, paged, pageOf, post } from "../operation.ts";
import * as s from "../shapes.ts";

const scheduleName = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/);
const ofSchedule = z.strictObject({ schedule: scheduleName });
const when = z.union([
  z.strictObject({ kind: z.literal("cron"), cron: z.string(), timezone: z.string() }).readonly(),
  z.strictObject({ kind: z.literal("at"), at: s.millisSchema }).readonly(),
]);
const overlap = z.enum(["skip", "queue", "parallel"]);
const missed = z.enum(["skip", "once", "all"]);
const spec: z.ZodType<ScheduleSpec> = z
  .strictObject({
    agent: s.name,
    input: z.string(),
    when,
    owner: z.string(),
    oneShot: z.boolean(),
    jitterMs: z.number(),
    overlap,
    atOnce: z.number(),
    missed,
    mostMissed: z.number(),
    graceMs: z.number(),
    session: z.enum(["fresh", "shared"]),
    retries: z.number(),
    failures: z.number(),
    enabled: z.boolean(),
  })
  .readonly();
const firing = z.strictObject({ dueAt: s.millisSchema, session: s.sessionIdSchema }).readonly();
const states = ["active", "paused", "stopped", "done", "removed", "off"] as const;
export const scheduleView = z
  .strictObject({
    schedule: scheduleName,
    state: z.enum(states),
    spec,
    from: z.string().nullable(),
    nextAt: s.millisSchema.nullable(),
    /** The next three. */
    upcoming: z.array(s.millisSchema).max(3).readonly(),
    open: z.array(s.sessionIdSchema).readonly(),
    queued: z.number(),
    retrying: z.number(),
    setAside: z.array(firing).readonly(),
    failures: z.number(),
    fired: z.number(),
    last: z
      .strictObject({ at: s.millisSchema, dueAt: s.millisSchema, session: s.sessionIdSchema, ending: z.string().nullable() })
      .readonly()
      .nullable(),
    /** What the caller may do with it, as things stand. */
    may: z.strictObject({ edit: z.boolean(), run: z.boolean() }).readonly(),
  })
  .readonly();
const happened = z.strictObject({ seq: z.number(), at: s.millisSchema, event: s.scheduleEvent }).readonly();
const tag = "schedules";

export const scheduleOperations = {
  schedules: get({
    path: "/schedules",
    query: z.strictObject({
      ...paged,
      agent: s.name.exactOptional(),
      state: z.enum(states).exactOptional(),
      /** In its name. */
      text: z.string().max(100).exactOptional(),
      /** `need`: those that have stopped, and those that fail, before the others. */
      order: z.enum(["name", "need"]).default("name"),
    }),
    answers: as(pageOf(scheduleView)),
    act: { kind: "list", on: "listing" },
    tag,
    summary: "List schedules: when they fire, for whom, when next, how the last firing ended; by name, or those that need attention first.",
  }),
  schedule: get({
    path: "/schedules/{schedule}",
    params: ofSchedule,
    answers: as(scheduleView),
    act: { kind: "observe", on: "schedule" },
    tag,
    summary: "Show one schedule.",
  }),
  addSchedule: post({
    path: "/schedules",
    body: z.strictObject({
      schedule: scheduleName,
      agent: s.name,
      input: z.string().min(1).max(20_000).exactOptional(),
      cron: z.string().max(200).exactOptional(),
      at: z.string().max(40).exactOptional(),
      timezone: z.string().max(64).exactOptional(),
      jitter: z.string().max(10).exactOptional(),
      overlap: overlap.exactOptional(),
      missed: missed.exactOptional(),
    }),
    answers: as(scheduleView),
    status: 201,
    act: { kind: "edit-schedule", on: "schedule" },
    tag,
    summary: "Add a schedule that runs as the caller: exactly one of `cron` and `at`.",
  }),
  pauseSchedule: post({
    path: "/schedules/{schedule}/pause",
    params: ofSchedule,
    body: because,
    answers: as(scheduleView),
    act: { kind: "edit-schedule", on: "schedule" },
    tag,
    summary: "Pause a schedule, in every process, until it is resumed.",
  }),
  resumeSchedule: post({
    path: "/schedules/{schedule}/resume",
    params: ofSchedule,
    body: because,
    answers: as(scheduleView),
    act: { kind: "edit-schedule", on: "schedule" },
    tag,
    summary: "Resume a schedule that was paused, or that stopped after failures.",
  }),
  removeSchedule: post({
    path: "/schedules/{schedule}/remove",
    params: ofSchedule,
    body: because,
    answers: as(scheduleView),
    act: { kind: "edit-schedule", on: "schedule" },
    tag,
    summary: "Remove a schedule that a person added.",
  }),
  runSchedule: post({
    path: "/schedules/{schedule}/run",
    params: ofSchedule,
    answers: as(z.strictObject({ schedule: scheduleName, session: s.sessionIdSchema })),
    status: 202,
    act: { kind: "run-schedule", on: "schedule" },
    tag,
    summary: "Fire a schedule now, beside its times; returns the session.",
  }),
  retrySchedule: post({
    path: "/schedules/{schedule}/retry",
    params: ofSchedule,
    body: z.strictObject({ dueAt: s.millisSchema.exactOptional() }),
    answers: as(z.strictObject({ schedule: scheduleName, session: s.sessionIdSchema })),
    status: 202,
    act: { kind: "run-schedule", on: "schedule" },
    tag,
    summary: "Retry a failed firing: the one of that due time, or the latest; returns the session.",
  }),
  scheduleHistory: get({
    path: "/schedules/{schedule}/history",
    params: ofSchedule,
    query: z.strictObject(paged),
    answers: as(pageOf(happened)),
    act: { kind: "observe", on: "schedule" },
    tag,
    summary: "List what happened to a schedule, newest first: fired, skipped, ended, paused, by whom.",
  }),
  scheduleNext: get({
    path: "/schedules/{schedule}/next",
    params: ofSchedule,
    query: z.strictObject({ limit: z.coerce.number().int().min(1).max(100).default(5) }),
    answers: as(z.strictObject({ schedule: scheduleName, next: z.array(s.millisSchema).readonly() })),
    act: { kind: "observe", on: "schedule" },
    tag,
    summary: "List the next due times of a schedule.",
  }),
} as const;
