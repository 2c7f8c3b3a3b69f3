/** Lines about a session and its turns: who opened it, who drives it, how turns start and end. */
import { type Attachment, escapeHidden, fileLine, principalName } from "@orgate/core/vocab";
import { countNoun, durationText } from "../text-width.ts";
import { type EventOf, type Line, type LineTable, line, live, type NarratorMemory, textLines } from "./line.ts";

type SessionKind =
  | `session.${"opened" | "forked" | "closed"}`
  | "agent.changed"
  | "hold.taken"
  | "intent.refused"
  | `input.${"steered" | "queued"}`
  | `turn.${"started" | "cancel-asked" | "halted" | "ended"}`;

export const SESSION_LINES: LineTable<SessionKind> = {
  "session.opened": (e) => [
    line("·", "dim", `session opened: agent ${e.agent.name} (${e.agent.model}), for ${principalName(e.principal)}, on ${e.surface}`),
  ],
  "session.forked": (e) => [
    line("·", "dim", `forked from ${e.from} at entry ${e.at}${e.unknown.length === 0 ? "" : `; unknown there: ${e.unknown.join(", ")}`}`),
  ],
  "session.closed": (e) => [live("·", "dim", `closed by ${principalName(e.by)}: ${escapeHidden(e.reason)}`)],
  "agent.changed": (e) => [
    live("!", "warn", `the agent has changed since: ${e.agent.name} (${e.agent.model}), digest ${e.agent.digest.slice(0, 12)}`),
  ],
  "hold.taken": (e, memory) => [holdLine(e, memory)],
  "turn.started": (e) => [line("›", "strong", `turn ${e.turn}, ${principalName(e.by)}: ${escapeHidden(e.input)}${filesText(e.files)}`)],
  "input.steered": (e) => [live("›", "strong", `${principalName(e.by)} steers: ${escapeHidden(e.text)}${filesText(e.files)}`)],
  "input.queued": (e) => [line("›", "dim", `for after the turn, ${principalName(e.by)}: ${escapeHidden(e.text)}${filesText(e.files)}`)],
  "turn.cancel-asked": (e) => [
    live("!", "warn", `cancel${e.all ? ", and all that was to follow" : ""}, by ${principalName(e.by)}: ${escapeHidden(e.reason)}`),
  ],
  "turn.halted": (e) => [live("!", "bad", `halted (${escapeHidden(e.scope)}) by ${principalName(e.by)}: ${escapeHidden(e.reason)}`)],
  "intent.refused": (e) => [line("✗", "warn", `refused to ${e.wish} for ${principalName(e.by)}: ${escapeHidden(e.reason)}`)],
  "turn.ended": (e) => [turnEndLine(e)],
};

/** Said only where something may be lost. */
const RISKS: Readonly<Record<EventOf<"hold.taken">["powerCut"], string>> = {
  "lose-nothing": "",
  "lose-last-result": "; a power cut may take back its last result",
  "lose-last-moments": "; a power cut may take back its last moments",
};

function holdLine({ writer, epoch, powerCut }: EventOf<"hold.taken">, { isWaiting, isInTurn }: NarratorMemory): Line {
  if (isWaiting) return line("·", "dim", `taken up by ${writer} (hold ${epoch}): it waited for an answer`);
  return isInTurn
    ? live("↻", "accent", `taken up by ${writer} (hold ${epoch}) in the middle of the turn: the process before it is gone`)
    : line("·", "dim", `held by ${writer} (hold ${epoch})${RISKS[powerCut]}`);
}

function turnEndLine(e: EventOf<"turn.ended">): Line {
  const detail = e.detail === null ? "" : `, ${escapeHidden(e.detail)}`;
  const counts = `${countNoun(e.iterations, "iteration")}, ${countNoun(e.calls, "call")}, ${durationText(e.activeMs)}`;
  const text = `turn ${e.turn} ended: ${e.ending}${detail} (${counts})`;
  return { ...line("■", e.ending === "completed" ? "good" : "warn", text), more: textLines(e.output) };
}

/** Attachments are listed by name, never by content. */
export const filesText = (files: readonly Attachment[]): string =>
  files.length === 0 ? "" : ` · with ${files.map((file) => escapeHidden(fileLine(file))).join(", ")}`;
