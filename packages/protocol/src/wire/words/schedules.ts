/** Schedules: the words of their operations. */
import { get, post, tagged } from "./words.ts";

export const scheduleWords = tagged("schedules", {
  schedules: get({
    path: "/schedules",
    act: { kind: "list", on: "listing" },
    summary: "List schedules: when they fire, for whom, when next, how the last firing ended; by name, or those that need attention first.",
  }),
  schedule: get({
    path: "/schedules/{schedule}",
    act: { kind: "observe", on: "schedule" },
    summary: "Show one schedule.",
  }),
  addSchedule: post({
    path: "/schedules",
    status: 201,
    act: { kind: "edit-schedule", on: "schedule" },
    summary: "Add a schedule that runs as the caller: exactly one of `cron` and `at`.",
  }),
  pauseSchedule: post({
    path: "/schedules/{schedule}/pause",
    act: { kind: "edit-schedule", on: "schedule" },
    summary: "Pause a schedule, in every process, until it is resumed.",
  }),
  resumeSchedule: post({
    path: "/schedules/{schedule}/resume",
    act: { kind: "edit-schedule", on: "schedule" },
    summary: "Resume a schedule that was paused, or that stopped after failures.",
  }),
  removeSchedule: post({
    path: "/schedules/{schedule}/remove",
    act: { kind: "edit-schedule", on: "schedule" },
    summary: "Remove a schedule that a person added.",
  }),
  runSchedule: post({
    path: "/schedules/{schedule}/run",
    status: 202,
    act: { kind: "run-schedule", on: "schedule" },
    summary: "Fire a schedule now, beside its times; returns the session.",
  }),
  retrySchedule: post({
    path: "/schedules/{schedule}/retry",
    status: 202,
    act: { kind: "run-schedule", on: "schedule" },
    summary: "Retry a failed firing: the one of that due time, or the latest; returns the session.",
  }),
  scheduleHistory: get({
    path: "/schedules/{schedule}/history",
    act: { kind: "observe", on: "schedule" },
    summary: "List what happened to a schedule, newest first: fired, skipped, ended, paused, by whom.",
  }),
  scheduleNext: get({
    path: "/schedules/{schedule}/next",
    act: { kind: "observe", on: "schedule" },
    summary: "List the next due times of a schedule.",
  }),
});
