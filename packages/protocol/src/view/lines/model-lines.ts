/** Lines about the model: requests, replies, middleware, the context it is shown, the knowledge it is given. */
import { type Change, escapeHidden, principalName } from "@orgate/core/vocab";
import { countNoun } from "../text-width.ts";
import { type EventOf, type Line, type LineTable, line, live, textLines } from "./line.ts";

type ModelKind =
  | `model.${"asked" | "replied" | "failed" | "chosen"}`
  | `output.${"asked" | "checked"}`
  | "calls.misread"
  | `middleware.${"applied" | "failed"}`
  | `context.${"compacted" | "cleared" | "compact-asked"}`
  | `knowledge.${"recalled" | "keeping" | "kept"}`;

export const MODEL_LINES: LineTable<ModelKind> = {
  "model.asked": (e) => [line("·", "dim", `asked ${e.model}, iteration ${e.iteration}${e.attempt > 1 ? `, attempt ${e.attempt}` : ""}`)],
  "model.replied": (e) => [replyLine(e)],
  "model.failed": (e, _memory, at) => [live("✗", "bad", `the model call failed: ${escapeHidden(e.error)}${retryText(e.dueAt, at)}`)],
  "model.chosen": (e) => [live("·", "accent", `${principalName(e.by)} chose the model ${escapeHidden(e.model)}`)],
  "output.asked": () => [line("·", "dim", "the answer is to be JSON by a schema")],
  "output.checked": (e) =>
    e.result.kind === "fits"
      ? [line("·", "dim", "the answer fits its schema")]
      : [
          line(
            "!",
            "warn",
            `the answer was not taken: ${escapeHidden(e.result.kind === "misfit" ? e.result.issues.join("; ") : e.result.detail)}`,
          ),
        ],
  "calls.misread": (e) => [line("!", "warn", `its calls were not understood: ${escapeHidden(e.detail)}`)],
  "middleware.applied": (e, memory) => [
    line(
      "·",
      "dim",
      `middleware ${escapeHidden(e.middleware)} changed ${CHANGED[e.change.kind]}${e.call === null ? "" : ` of ${memory.nameOf(e.call)}`}`,
    ),
  ],
  "middleware.failed": (e) => [live("✗", "bad", `middleware ${escapeHidden(e.middleware)} (${e.stage}) failed: ${escapeHidden(e.error)}`)],
  "context.compacted": (e) => [
    line("·", "dim", `entries ${e.first} to ${e.last} are shown ${COMPACTED[e.how](e.model)}: ${e.before} → ${e.after} tokens`),
  ],
  "context.cleared": (e) => [
    live("·", "accent", `${principalName(e.by)} clears the conversation: the model is shown nothing of before (${e.before} tokens)`),
  ],
  "context.compact-asked": (e) => [
    live("·", "dim", `${principalName(e.by)} wants no more than ${e.tokens} tokens of the conversation shown`),
  ],
  "knowledge.recalled": (e) => recallLines(e),
  "knowledge.keeping": (e) => [line("·", "dim", `what the turn came to is about to be kept as ${e.item}`)],
  "knowledge.kept": (e) => [
    e.error === null
      ? line("·", "dim", `what the turn came to is kept as ${e.item}`)
      : line("!", "warn", `what the turn came to could not be kept: ${escapeHidden(e.error)}`),
  ],
};

const COMPACTED: Readonly<Record<EventOf<"context.compacted">["how"], (model: string | null) => string>> = {
  window: () => "no more",
  mask: () => "without their results",
  summarise: (model) => `as a summary by ${model}`,
};

function retryText(dueAt: number | null, now: number): string {
  if (dueAt === null) return "";
  return dueAt <= now ? "; it is made again" : `; it is made again in ${Math.ceil((dueAt - now) / 1000)} s`;
}

function replyLine({ parts, usage, finish, purpose }: EventOf<"model.replied">): Line {
  if (purpose === "summary") return line("·", "dim", `the model summed up (${usage.input + usage.output} tokens)`);
  const text = parts.flatMap((part) => (part.kind === "text" ? textLines(part.text) : []));
  const calls = parts.filter((part) => part.kind === "call").length;
  const what = calls > 0 ? `proposed ${countNoun(calls, "call")}` : finish === "stop" ? "answered" : `ended with \`${finish}\``;
  return { ...line("·", "dim", `the model ${what} (${usage.input} + ${usage.output} tokens)`), more: text };
}

function recallLines({ items, error }: EventOf<"knowledge.recalled">): readonly Line[] {
  const trouble = error === null ? [] : [line("!", "warn", `what is known could not be looked up: ${escapeHidden(error)}`)];
  if (items.length === 0) return trouble.length > 0 ? trouble : [line("·", "dim", "nothing is known that may help")];
  const names = items.map(({ id, kind, relevance }) => `${id} (${kind} ${relevance.toFixed(2)})`);
  return [...trouble, line("·", "dim", `recalled ${names.join(", ")}`)];
}

const CHANGED: Readonly<Record<Change["kind"], string>> = {
  input: "what was said",
  request: "the request",
  reply: "the reply",
  arguments: "the arguments",
  block: "the fate (blocked)",
  observation: "the result as shown",
};
