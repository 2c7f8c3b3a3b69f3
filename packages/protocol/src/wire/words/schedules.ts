/** Schedules: the words of their operations. */
import { type CliField, get, post, type SlashField, tagged } from "./words.ts";

const SCHEDULE = { value: "SCHEDULE", field: "schedule", help: "its name", required: true } as const satisfies CliField;
const REASON = { value: "TEXT", help: "why; the journal keeps it" } as const satisfies CliField;
const SLASH_REASON = { value: "REASON", field: "reason", help: "why; the journal keeps it" } as const satisfies CliField;
const DUE = {
  value: "TIME",
  field: "dueAt",
  as: "time",
  help: "when it was due (default: the latest that failed)",
} as const satisfies CliField;
const SLASH_DUE = { ...DUE, value: "DUE" } as const satisfies SlashField;
const TURN_EXITS = "Exits 0 when the turn completed, 3 when it waits for a person, 1 on any other ending or error, 2 on wrong usage.";

export const scheduleWords = tagged("schedules", {
  schedules: get({
    path: "/schedules",
    slash: [
      {
        command: "cron",
        verb: "list",
        summary: "list, pause, run and remove schedules",
        notes: ["As `orgate schedules`. `orgate up` fires them; `run` fires one now."],
      },
    ],
    tool: {
      name: "list_schedules",
      about:
        "Schedules, next due first: each with its state, times and agent, whom it runs for, when it is due next and how the last firing ended.",
      fields: { most: { kind: "count", most: 50, default: 20, field: "limit" } },
      fixed: { order: "due" },
      isOwnWords: true,
      shows: {
        list: "schedules",
        fields: {
          schedule: "schedule",
          state: "state",
          when: { from: "spec", as: "times" },
          agent: "spec.agent",
          for: "spec.owner",
          next: { from: "nextAt", as: "due" },
          last: { from: "last", as: "firing" },
          failures: "failures",
        },
      },
    },
    act: { kind: "list", on: "listing" },
    summary: "List schedules: when they fire, as whom, when next, how the last firing ended.",
    cli: {
      command: "schedules list",
      notes: ["`orgate up` fires them. `stopped`: it failed too often in a row; `resume` starts it again."],
      examples: ["orgate schedules list", "orgate schedules list --json"],
    },
  }),
  schedule: get({
    path: "/schedules/{schedule}",
    slash: [{ command: "cron", verb: "show", args: [SCHEDULE] }],
    act: { kind: "observe", on: "schedule" },
    summary: "Show one schedule.",
    cli: {
      command: "schedules show",
      summary: "Show one schedule: its settings, its next due times, its firings that have not ended or that failed.",
      args: [SCHEDULE],
      examples: ["orgate schedules show nightly", "orgate schedules show nightly --json"],
    },
  }),
  addSchedule: post({
    path: "/schedules",
    status: 201,
    act: { kind: "edit-schedule", on: "schedule" },
    summary: "Add a schedule that runs as the caller: exactly one of `cron` and `at`.",
    cli: {
      command: "schedules add",
      summary: "Add a schedule: an agent takes a turn at set times, on your behalf.",
      args: [SCHEDULE],
      options: {
        agent: { value: "NAME", help: "which agent" },
        cron: { value: "EXPR", help: "five fields, or six with seconds first" },
        at: { value: "TIME", help: "once: 2030-01-31T08:00:00Z, or 2030-01-31T08:00 on the clocks of --timezone" },
        timezone: { value: "ZONE", help: "an IANA name (default UTC)" },
        input: { value: "TEXT", help: "the message that the agent gets" },
        jitter: { value: "TIME", help: "fire up to this much later (default 0s)" },
        overlap: { value: "HOW", help: "while a firing has not ended: skip (default), queue or parallel" },
        missed: { value: "HOW", help: "due times that no server was running for: once (default), skip or all" },
      },
      notes: [
        "Exactly one of --cron and --at. A schedule that a project always needs belongs in its files: docs/guide/schedules.md.",
        'Each firing is decided by policy as Action::"run" on the agent, for you.',
      ],
      examples: [
        'orgate schedules add nightly --agent reporter --cron "0 2 * * *" --timezone Europe/Berlin --input "write the report"',
        'orgate schedules add launch --agent reporter --at 2030-01-31T08:00:00Z --input "announce it"',
      ],
    },
  }),
  pauseSchedule: post({
    path: "/schedules/{schedule}/pause",
    slash: [{ command: "cron", verb: "pause", args: [SCHEDULE, SLASH_REASON] }],
    act: { kind: "edit-schedule", on: "schedule" },
    summary: "Pause a schedule, in every process, until it is resumed.",
    cli: {
      command: "schedules pause",
      args: [SCHEDULE],
      options: { reason: REASON },
      notes: ["Due times meanwhile are not made up for."],
      examples: ['orgate schedules pause nightly --reason "maintenance"'],
    },
  }),
  resumeSchedule: post({
    path: "/schedules/{schedule}/resume",
    slash: [{ command: "cron", verb: "resume", args: [SCHEDULE, SLASH_REASON] }],
    act: { kind: "edit-schedule", on: "schedule" },
    summary: "Resume a schedule that was paused, or that stopped after failures.",
    cli: {
      command: "schedules resume",
      args: [SCHEDULE],
      options: { reason: REASON },
      notes: ["Due times count from now on, also where a clock had been ahead."],
      examples: ["orgate schedules resume nightly"],
    },
  }),
  removeSchedule: post({
    path: "/schedules/{schedule}/remove",
    slash: [{ command: "cron", verb: "remove", args: [SCHEDULE, SLASH_REASON] }],
    act: { kind: "edit-schedule", on: "schedule" },
    summary: "Remove a schedule that a person added.",
    cli: {
      command: "schedules remove",
      args: [SCHEDULE],
      options: { reason: REASON },
      notes: ["A schedule that a file declares is removed from that file."],
      examples: ['orgate schedules remove nightly --reason "not needed any more"'],
    },
  }),
  runSchedule: post({
    path: "/schedules/{schedule}/run",
    slash: [{ command: "cron", verb: "run", args: [SCHEDULE] }],
    status: 202,
    act: { kind: "run-schedule", on: "schedule" },
    summary: "Fire a schedule now, beside its times; returns the session.",
    cli: {
      command: "schedules run",
      summary: "Fire a schedule now, beside its times.",
      args: [SCHEDULE],
      notes: [TURN_EXITS],
      examples: ["orgate schedules run nightly", "orgate schedules run nightly --json"],
    },
  }),
  retrySchedule: post({
    path: "/schedules/{schedule}/retry",
    slash: [{ command: "cron", verb: "retry", args: [SCHEDULE, SLASH_DUE] }],
    status: 202,
    act: { kind: "run-schedule", on: "schedule" },
    summary: "Retry a failed firing: the one of that due time, or the latest; returns the session.",
    cli: {
      command: "schedules retry",
      summary: "Retry a firing that failed.",
      args: [SCHEDULE],
      options: { due: DUE },
      notes: ["If it fails again, it is not retried by itself. A schedule that has stopped is started again by `resume`.", TURN_EXITS],
      examples: ["orgate schedules retry nightly", "orgate schedules retry nightly --due 2030-01-31T01:00:00Z"],
    },
  }),
  scheduleHistory: get({
    path: "/schedules/{schedule}/history",
    slash: [{ command: "cron", verb: "history", args: [SCHEDULE] }],
    act: { kind: "observe", on: "schedule" },
    summary: "List what happened to a schedule, newest first: fired, skipped, ended, paused, by whom.",
    cli: {
      command: "schedules history",
      args: [SCHEDULE],
      options: { limit: { value: "N", as: "number", help: "maximum number to list (default 20)", default: "20" } },
      examples: ["orgate schedules history nightly", "orgate schedules history nightly --limit 100 --json"],
    },
  }),
  scheduleNext: get({
    path: "/schedules/{schedule}/next",
    slash: [{ command: "cron", verb: "next", args: [SCHEDULE] }],
    act: { kind: "observe", on: "schedule" },
    summary: "List the next due times of a schedule.",
    cli: {
      command: "schedules next",
      args: [SCHEDULE],
      options: { limit: { value: "N", as: "number", help: "maximum number to list (default 5)" } },
      notes: ["With its jitter: when it fires."],
      examples: ["orgate schedules next nightly --limit 10"],
    },
  }),
});
