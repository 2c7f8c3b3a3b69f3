/** Lines of a schedule's own stream, one for each entry. */
import { escapeHidden, type JournalEvent, type Principal, principalName, type ScheduleSpec } from "@orgate/core/vocab";
import type { Tone } from "./tone.ts";

type ScheduleEvent = Extract<JournalEvent, { kind: `schedule.${string}` }>;
type Said = Readonly<{ mark: string; tone: Tone; text: string }>;

export const timeText = (at: number): string => new Date(at).toISOString().replace(".000Z", "Z");

/** When it is due, as a person wrote it. */
export const whenText = ({ when }: Pick<ScheduleSpec, "when">): string =>
  when.kind === "at" ? `once at ${timeText(when.at)}` : `${escapeHidden(when.cron)} ${escapeHidden(when.timezone)}`;

export function scheduleLine(e: ScheduleEvent): Said {
  const name = escapeHidden(e.schedule);
  const say = (mark: string, tone: Tone, text: string): Said => ({ mark, tone, text });
  const told = (by: Principal, reason: string): string => `by ${principalName(by)}${reason === "" ? "" : `: ${escapeHidden(reason)}`}`;
  switch (e.kind) {
    case "schedule.declared": {
      const where = e.from === null ? "added" : `declared in ${escapeHidden(e.from)}`;
      return say(
        "·",
        "plain",
        `schedule ${name} ${where}: ${whenText(e.spec)}, ${escapeHidden(e.spec.agent)} for ${escapeHidden(e.spec.owner)}`,
      );
    }
    case "schedule.removed":
      return say("!", "warn", `schedule ${name} removed ${told(e.by, e.reason)}`);
    case "schedule.paused":
      return say("!", "warn", `schedule ${name} paused ${told(e.by, e.reason)}`);
    case "schedule.resumed":
      return say("·", "plain", `schedule ${name} resumed ${told(e.by, e.reason)}`);
    case "schedule.fired":
      return say("▸", "plain", `fired (${e.why}), due ${timeText(e.dueAt)}: ${e.session}`);
    case "schedule.queued":
      return say("·", "dim", `due ${timeText(e.dueAt)}, waits for the one before it`);
    case "schedule.skipped": {
      const which = e.count === 1 ? timeText(e.last) : `${e.count} due times from ${timeText(e.first)} to ${timeText(e.last)}`;
      return say("·", "warn", `skipped ${which} (${e.why})${e.detail === "" ? "" : `: ${escapeHidden(e.detail)}`}`);
    }
    case "schedule.ended":
      return say("■", e.ending === "completed" ? "good" : "warn", `${e.session} ended: ${e.ending ?? "it is not to be had"}`);
    case "schedule.stopped":
      return say("✗", "warn", `schedule ${name} stopped after ${e.failures} failures in a row: ${escapeHidden(e.reason)}`);
  }
}
