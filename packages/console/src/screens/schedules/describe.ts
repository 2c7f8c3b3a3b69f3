/** What a schedule says, in words. */

import type { JournalEvent, ScheduleSpec } from "@orgate/core/vocab";
import type { OperationOutput } from "@orgate/protocol";
import { cronWords, whenText } from "@orgate/protocol/view";
import type { Tone } from "../../parts/Tag.tsx";
import { exactTime, formatDuration } from "../../parts/time/time.ts";

export type ListedSchedule = OperationOutput<"schedules">["items"][number];
export type ScheduleEvent = Extract<JournalEvent, { kind: `schedule.${string}` }>;

export const TOPICS = ["declared", "removed", "paused", "resumed", "fired", "queued", "skipped", "ended", "stopped"].map(
  (what) => `schedule.${what}`,
);

export const zoneOf = ({ when }: Pick<ScheduleSpec, "when">): string | null => (when.kind === "cron" ? when.timezone : null);

/** `At 02:00 every day`; the expression where that is plainer. */
export function describeWhen(spec: Pick<ScheduleSpec, "when">): string {
  const { when } = spec;
  const words = when.kind === "at" ? `once, ${exactTime(when.at)}` : (cronWords(when.cron) ?? whenText(spec));
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** The first word that an operator has to read. */
export function describeState({ state, open, failures, retrying, queued }: ListedSchedule): Readonly<{ tone: Tone; word: string }> {
  if (state === "stopped") return { tone: "bad", word: "stopped" };
  if (state === "paused") return { tone: "wait", word: "paused" };
  if (state !== "active") return { tone: "plain", word: state };
  if (open.length > 0) return { tone: "act", word: open.length === 1 ? "running" : `${open.length} running` };
  if (retrying > 0) return { tone: "wait", word: "tried again soon" };
  if (failures > 0) return { tone: "bad", word: "failing" };
  return queued > 0 ? { tone: "act", word: `${queued} in line` } : { tone: "ok", word: "active" };
}

/** Why nothing of it is due. */
export const whyNotPlanned = ({ state }: Pick<ListedSchedule, "state">): string =>
  ({
    paused: "once it is resumed",
    stopped: "once it is resumed",
    done: "never: it comes once",
    off: "switched off",
    removed: "never",
    active: "never again",
  })[state];

export const describeOverlap = ({ overlap, atOnce }: Pick<ScheduleSpec, "overlap" | "atOnce">): string =>
  ({
    skip: "is skipped",
    queue: "waits its turn",
    parallel: `runs beside it, ${atOnce} at once at the most`,
  })[overlap];

export const describeMissed = ({ missed, mostMissed, graceMs }: Pick<ScheduleSpec, "missed" | "mostMissed" | "graceMs">): string =>
  `${
    {
      skip: "are skipped",
      once: "are made up for once",
      all: `are made up for, the last ${mostMissed} of them`,
    }[missed]
  }; missed is what is later than ${formatDuration(graceMs)}`;

export const FIRED: Readonly<Record<Extract<ScheduleEvent, { kind: "schedule.fired" }>["why"], string>> = {
  due: "at its time",
  missed: "late: nobody served the project at its time",
  queued: "after the one before it",
  retry: "again, after a failure",
  asked: "because somebody asked for it",
};

export const SKIPPED: Readonly<Record<Extract<ScheduleEvent, { kind: "schedule.skipped" }>["why"], string>> = {
  missed: "nobody served the project then",
  overlap: "the one before it was not over",
  "queue-full": "too many were in line",
  "not-permitted": "the policies do not let its owner run the agent",
  halted: "work was halted",
  "agent-missing": "there is no such agent",
};
