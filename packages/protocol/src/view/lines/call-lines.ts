/** Lines about calls: starts, outcomes, recovery, delegation, and the labels and names that results bring. */
import { escapeHidden, type Outcome, principalName, type SkippedRecord, toCanonicalJson } from "@orgate/core/vocab";
import { countNoun, durationText, shorten } from "../text-width.ts";
import type { Tone } from "../tone.ts";
import { allotmentText, type EventOf, type Line, type LineTable, line, live, SHOWN_CHARS } from "./line.ts";

type CallKind =
  | `act.${"started" | "ended" | "late"}`
  | "recovery.applied"
  | `unknown.${"resolved" | "reconcile-asked"}`
  | "dead-letter.dismissed"
  | `budget.${"reserved" | "settled"}`
  | `child.${"opened" | "ended"}`
  | `labels.${"added" | "removed"}`
  | `known.${"learned" | "recorded"}`
  | "names.told"
  | "text.cleaned"
  | "note";

export const CALL_LINES: LineTable<CallKind> = {
  "act.started": (e, memory) => [startedLine(memory.nameOf(e.call), e)],
  "act.ended": (e, memory) => [outcomeLine(memory.nameOf(e.call), e.outcome, e.evidence.durationMs)],
  "act.late": (e, memory) => [live("!", "accent", `${memory.nameOf(e.call)}, unknown so far, turned out: ${outcomeText(e.outcome)}`)],
  "recovery.applied": (e, memory) => [
    (e.strategy === "ask-model" ? line : live)(
      "↻",
      "accent",
      `${memory.nameOf(e.call)}: ${recoveryText(e)}${e.detail === "" ? "" : `, ${escapeHidden(e.detail)}`}`,
    ),
  ],
  "unknown.resolved": (e, memory) => [
    live(
      "!",
      "accent",
      `${principalName(e.by)} resolved ${memory.nameOf(e.call)}: ${e.as}${e.note === "" ? "" : `, ${escapeHidden(e.note)}`}`,
    ),
  ],
  "unknown.reconcile-asked": (e, memory) => [
    live("!", "accent", `${principalName(e.by)} wants the tool asked about ${memory.nameOf(e.call)}`),
  ],
  "dead-letter.dismissed": (e, memory) => [
    live("!", "accent", `${principalName(e.by)} has seen to ${memory.nameOf(e.call)}${e.note === "" ? "" : `: ${escapeHidden(e.note)}`}`),
  ],
  "budget.reserved": (e, memory) => [line("·", "dim", `set aside for ${memory.nameOf(e.call)}: ${allotmentText(e.amount)}`)],
  "budget.settled": (e, memory) => [line("·", "dim", `${memory.nameOf(e.call)} used ${allotmentText(e.amount)}`)],
  "child.opened": (e, memory) => [
    live("⤷", "accent", `${memory.nameOf(e.call)}: ${escapeHidden(e.agent)} works on it in ${e.child} (${allotmentText(e.allotment)})`),
  ],
  "child.ended": (e, memory) => [
    live("⤶", e.ending === "completed" ? "good" : "warn", `${memory.nameOf(e.call)}: ${e.child} ended ${e.ending}`),
  ],
  "labels.added": (e) => [line("·", "dim", `labels from here on: ${e.labels.map((l) => escapeHidden(l)).join(", ")}`)],
  "labels.removed": (e) => [
    live(
      "!",
      "warn",
      `no longer labelled ${e.labels.map((l) => escapeHidden(l)).join(", ")}, says ${principalName(e.by)}: ${escapeHidden(e.why)}`,
    ),
  ],
  "known.learned": (e) => [
    line("·", "dim", `known from here on, in ${escapeHidden(e.set)}: ${e.values.map((v) => escapeHidden(v)).join(", ")}`),
  ],
  "known.recorded": (e, memory) => [
    ...(e.records.length === 0
      ? []
      : [line("·", "dim", `${memory.nameOf(e.call)} made ${countNoun(e.records.length, `record of ${escapeHidden(e.type)}`)}`)]),
    ...(e.establishes !== null && e.records.length > 0
      ? [live("!", "accent", `the session serves ${escapeHidden(e.records[0]?.key ?? "")} from here on, says ${memory.nameOf(e.call)}`)]
      : []),
    ...e.skipped.slice(0, MOST_SKIPPED).map((one) => line("·", "warn", skippedText(e, one, memory.nameOf(e.call)))),
  ],
  "names.told": (e, memory) => [line("·", "dim", `${memory.nameOf(e.call)} named ${countNoun(e.names.length, escapeHidden(e.of))}`)],
  "text.cleaned": (e, memory) => [line("·", "dim", `what the model sees of ${memory.nameOf(e.call)} is without ${cleanedText(e)}`)],
  note: (e) => [
    line("·", "dim", `note of ${escapeHidden(e.from)}, ${escapeHidden(e.name)}: ${shorten(escapeHidden(toCanonicalJson(e.value)), 120)}`),
  ],
};

function skippedText({ type, establishes }: EventOf<"known.recorded">, { key, field, why }: SkippedRecord, by: string): string {
  const thing = `${escapeHidden(type)}${key === null ? "" : ` ${escapeHidden(key)}`}`;
  if (why !== "unknown") return `no record of ${thing}: \`${escapeHidden(field)}\` is ${why}`;
  const ended =
    key === null
      ? `no ${thing} is on record any more: ${by} may have changed any of them`
      : `${thing} is on record no more: ${by} may have changed it`;
  return establishes === null ? ended : `${ended}, and the session serves nobody`;
}

/** A list that was declared wrongly fails item by item: a few say it all. */
const MOST_SKIPPED = 5;

function startedLine(name: string, { start, repeat }: EventOf<"act.started">): Line {
  const again = start > 1 ? ` again (start ${start}, same key)` : "";
  const text = `${name} ${start > 1 && repeat === "reconcile" ? "taken up" : "started"}${again}, ${repeat}`;
  return start > 1 && repeat !== "reconcile" ? live("↻", "accent", text) : line("·", "dim", text);
}

function outcomeLine(name: string, outcome: Outcome, ms: number): Line {
  const [mark, tone]: readonly [string, Tone] =
    outcome.kind === "done" ? ["←", "good"] : outcome.kind === "failed" ? ["✗", "bad"] : ["?", "warn"];
  return live(mark, tone, `${name} ${outcomeText(outcome)} · ${durationText(ms)}`);
}

function outcomeText(outcome: Outcome): string {
  switch (outcome.kind) {
    case "done":
      return `done: ${shorten(escapeHidden(typeof outcome.output === "string" ? outcome.output : toCanonicalJson(outcome.output)), SHOWN_CHARS)}`;
    case "failed":
      return `failed: ${escapeHidden(outcome.error)}`;
    case "unknown":
      return `unknown, ${outcome.cause}: ${escapeHidden(outcome.detail)}`;
  }
}

export function recoveryText(e: EventOf<"recovery.applied">): string {
  switch (e.strategy) {
    case "reconcile":
      return `the tool was asked what became of it: ${e.found}`;
    case "retry":
      return `it is run again (retry ${e.tries})`;
    case "fallback":
      return `${escapeHidden(e.tool ?? "another tool")} stands in`;
    case "cached":
      return `the result of entry ${e.from} stands in`;
    case "ask-model":
      return "the model is told of the error";
    case "escalate":
      return "a person is asked";
    case "dead-letter":
      return "set aside for an operator";
    case "stop":
      return "the turn ends";
  }
}

const cleanedText = ({ invisible, hidden }: Readonly<{ invisible: number; hidden: number }>): string =>
  [
    ...(invisible > 0 ? [countNoun(invisible, "invisible character")] : []),
    ...(hidden > 0 ? [countNoun(hidden, "hidden passage")] : []),
  ].join(" and ");
