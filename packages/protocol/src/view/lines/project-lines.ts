/** Lines about the project itself: keys, erasure, policies, schedules, trust, access, trusted values, stored knowledge. */
import { escapeHidden, principalName } from "@orgate/core/vocab";
import { scheduleLine } from "../schedules.ts";
import { countNoun, countSet, setText } from "../text-width.ts";
import { type EventOf, type Line, type LineTable, line } from "./line.ts";

type ScheduleKind = `schedule.${"declared" | "removed" | "paused" | "resumed" | "fired" | "queued" | "skipped" | "ended" | "stopped"}`;
type ProjectKind =
  | ScheduleKind
  | `key.${"certified" | "rotated" | "withdrawn"}`
  | "content.erased"
  | `policy.${"loaded" | "applied" | "stored" | "refused"}`
  | `trust.${"given" | "withdrawn"}`
  | `access.${"given" | "revoked"}`
  | `known.${"added" | "removed"}`
  | `knowledge.${"added" | "forgotten"}`;

const scheduleLines = (e: EventOf<ScheduleKind>): readonly Line[] => {
  const { mark, tone, text } = scheduleLine(e);
  return [line(mark, tone, text)];
};

export const PROJECT_LINES: LineTable<ProjectKind> = {
  "key.certified": (e) => [line("·", "plain", `key ${e.key} certified for ${holderText(e)}`)],
  "key.rotated": (e) => [line("·", "plain", `root key ${e.from} replaced by ${e.to}`)],
  "key.withdrawn": (e) => [line("!", "warn", `key ${e.key} withdrawn by ${principalName(e.by)}: ${escapeHidden(e.reason)}`)],
  "content.erased": (e) => [
    line("!", "warn", `entries ${e.first}-${e.last} of ${e.stream} erased by ${principalName(e.by)}: ${escapeHidden(e.reason)}`),
  ],
  "policy.loaded": (e) => [
    line("·", "plain", `policies ${e.digest.slice(0, 12)} in force: ${setText(countSet(e.files.map(({ path }) => path)))}`),
  ],
  "policy.applied": (e) => [
    line(
      "·",
      "plain",
      `policies applied by ${principalName(e.by)}: ${e.changes.map((c) => `${c.change} ${escapeHidden(c.path)}`).join(", ")}${e.reason === "" ? "" : ` (${escapeHidden(e.reason)})`}`,
    ),
  ],
  "policy.stored": (e) => [line("·", "dim", `text ${e.digest.slice(0, 12)} of a policy stored: ${countNoun(e.text.length, "character")}`)],
  "policy.refused": (e) => [
    {
      ...line("✗", "warn", `policies refused on ${e.during}, ${principalName(e.by)}`),
      more: e.problems.map(escapeHidden),
    },
  ],
  "trust.given": (e) => [line("·", "plain", `${escapeHidden(e.subject)} trusted by ${principalName(e.by)} as ${e.digest.slice(0, 12)}`)],
  "trust.withdrawn": (e) => [
    line("!", "warn", `trust in ${escapeHidden(e.subject)} withdrawn by ${principalName(e.by)}: ${escapeHidden(e.reason)}`),
  ],
  "access.given": (e) => [line("·", "plain", accessText(e))],
  "access.revoked": (e) => [line("!", "warn", `access ${e.access} revoked by ${principalName(e.by)}: ${escapeHidden(e.reason)}`)],
  "known.added": (e) => [
    line("·", "plain", `${escapeHidden(e.value)} added to ${escapeHidden(e.set)} by ${principalName(e.by)}: ${escapeHidden(e.why)}`),
  ],
  "known.removed": (e) => [
    line("·", "plain", `${escapeHidden(e.value)} taken out of ${escapeHidden(e.set)} by ${principalName(e.by)}: ${escapeHidden(e.why)}`),
  ],
  "knowledge.added": (e) => [
    line(
      "·",
      "plain",
      `${e.how === "add" ? "added" : "imported"} by ${principalName(e.by)}: ${e.documents.map(({ path, chunks }) => `${escapeHidden(path)} (${chunks})`).join(", ")}`,
    ),
  ],
  "knowledge.forgotten": (e) => [
    line("!", "warn", `${countNoun(e.items.length, "item")} forgotten by ${principalName(e.by)}: ${escapeHidden(e.reason)}`),
  ],
  "schedule.declared": scheduleLines,
  "schedule.removed": scheduleLines,
  "schedule.paused": scheduleLines,
  "schedule.resumed": scheduleLines,
  "schedule.fired": scheduleLines,
  "schedule.queued": scheduleLines,
  "schedule.skipped": scheduleLines,
  "schedule.ended": scheduleLines,
  "schedule.stopped": scheduleLines,
};

function accessText({ access, means, person, agents, actions, until, by }: EventOf<"access.given">): string {
  const limits = [agents, actions].flatMap((list) => (list === null ? [] : [list.map((one) => escapeHidden(one)).join(", ")]));
  const within = limits.length === 0 ? "" : `, for ${limits.join("; ")}`;
  const ends = until === null ? "" : `, until ${new Date(until).toISOString()}`;
  return `${means} ${access} for ${escapeHidden(person)} by ${principalName(by)}${within}${ends}`;
}

function holderText({ of }: EventOf<"key.certified">): string {
  return of.kind === "root" ? "the project's root" : of.kind === "writer" ? `writer ${of.writer}` : of.name;
}
