/** Describes schedules in words. */
import { EVENT_KINDS, type JournalEvent, type ScheduleSpec } from "@orgate/core/vocab";
import type { OperationOutput } from "@orgate/protocol";
import { cronWords, whenText } from "@orgate/protocol/view";
import type { Tone } from "../../parts/Tag.tsx";
import { exactTime, formatDuration } from "../../parts/time/time.ts";

export type ListedSchedule = OperationOutput<"schedules">["items"][number];
export type ScheduleEvent = Extract<JournalEvent, { kind: `schedule.${string}` }>;

export const TOPICS = EVENT_KINDS.filter((kind) => kind.startsWith("schedule."));

export const timeZoneFor = ({ when }: Pick<ScheduleSpec, "when">): string | null => (when.kind === "cron" ? when.timezone : null);

/** `At 02:00 every day`, or the cron expression if it has no simple wording. */
export function describeWhen(spec: Pick<ScheduleSpec, "when">): string {
  const { when } = spec;
  const words = when.kind === "at" ? `once, ${exactTime(when.at)}` : (cronWords(when.cron) ?? whenText(spec));
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** The state in one word, worst first. */
export function describeState({ state, open, failures, retrying, queued }: ListedSchedule): Readonly<{ tone: Tone; word: string }> {
  if (state === "stopped") return { tone: "bad", word: "stopped" };
  if (state === "paused") return { tone: "wait", word: "paused" };
  if (state !== "active") return { tone: "plain", word: state };
  if (open.length > 0) return { tone: "act", word: open.length === 1 ? "running" : `${open.length} running` };
  if (retrying > 0) return { tone: "wait", word: "retrying soon" };
  if (failures > 0) return { tone: "bad", word: "failing" };
  return queued > 0 ? { tone: "act", word: `${queued} queued` } : { tone: "ok", word: "active" };
}

/** Why no firing is due. */
export const whyNotPlanned = ({ state }: Pick<ListedSchedule, "state">): string =>
  ({
    paused: "after it is resumed",
    stopped: "after it is resumed",
    done: "never: it fires only once",
    off: "switched off",
    removed: "never",
    active: "never again",
  })[state];

export const describeOverlap = ({ overlap, atOnce }: Pick<ScheduleSpec, "overlap" | "atOnce">): string =>
  ({
    skip: "is skipped",
    queue: "is queued",
    parallel: `runs in parallel, at most ${atOnce} at once`,
  })[overlap];

export const describeMissed = ({ missed, mostMissed, graceMs }: Pick<ScheduleSpec, "missed" | "mostMissed" | "graceMs">): string =>
  `${
    {
      skip: "are skipped",
      once: "fire once, late",
      all: `fire late, at most the last ${mostMissed}`,
    }[missed]
  }; a time counts as missed after ${formatDuration(graceMs)}`;

export const FIRED_WHY: Readonly<Record<Extract<ScheduleEvent, { kind: "schedule.fired" }>["why"], string>> = {
  due: "at its time",
  missed: "late: no server was running at its time",
  queued: "after the previous firing",
  retry: "as a retry",
  asked: "on request",
};

export const SKIPPED_WHY: Readonly<Record<Extract<ScheduleEvent, { kind: "schedule.skipped" }>["why"], string>> = {
  missed: "no server was running then",
  overlap: "the previous firing had not ended",
  "queue-full": "the queue was full",
  "not-permitted": "the policies do not let its owner run the agent",
  halted: "work was halted",
  "agent-missing": "there is no such agent",
};
