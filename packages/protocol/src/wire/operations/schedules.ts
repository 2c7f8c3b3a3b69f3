/** Operations on schedules. */

import type { ScheduleSpec } from "@orgate/core/vocab";
import * as z from "zod";
import { as, because, defineOperations, pageQuery, pageSchema } from "../operation.ts";
import * as s from "../shapes.ts";
import { scheduleWords } from "../words/schedules.ts";

const scheduleName = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, "cannot name a schedule: use 1 to 64 of A-Z, a-z, 0-9, `_` and `-`");
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
    /** Acts that the caller may do with it now. */
    may: z.strictObject({ edit: z.boolean(), run: z.boolean() }).readonly(),
  })
  .readonly();
const happened = z.strictObject({ seq: z.number(), at: s.millisSchema, event: s.scheduleEvent }).readonly();

export const scheduleOperations = defineOperations(scheduleWords, {
  schedules: {
    query: z.strictObject({
      ...pageQuery,
      agent: s.name.exactOptional(),
      state: z.enum(states).exactOptional(),
      /** In its name. */
      text: z.string().max(100).exactOptional(),
      /** `need`: those that have stopped, and those that fail, before the others. `due`: those that are due next first. */
      order: z.enum(["name", "need", "due"]).default("name"),
    }),
    answers: as(pageSchema(scheduleView)),
  },
  schedule: { params: ofSchedule, answers: as(scheduleView) },
  addSchedule: {
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
  },
  pauseSchedule: { params: ofSchedule, body: because, answers: as(scheduleView) },
  resumeSchedule: { params: ofSchedule, body: because, answers: as(scheduleView) },
  removeSchedule: { params: ofSchedule, body: because, answers: as(scheduleView) },
  runSchedule: {
    params: ofSchedule,
    answers: as(z.strictObject({ schedule: scheduleName, session: s.sessionIdSchema })),
  },
  retrySchedule: {
    params: ofSchedule,
    body: z.strictObject({ dueAt: s.millisSchema.exactOptional() }),
    answers: as(z.strictObject({ schedule: scheduleName, session: s.sessionIdSchema })),
  },
  scheduleHistory: { params: ofSchedule, query: z.strictObject(pageQuery), answers: as(pageSchema(happened)) },
  scheduleNext: {
    params: ofSchedule,
    query: z.strictObject({ limit: z.coerce.number().int().min(1).max(1_000).default(5) }),
    answers: as(z.strictObject({ schedule: scheduleName, state: z.enum(states), next: z.array(s.millisSchema).readonly() })),
  },
});
