/** Messages of a conversation, their tokens, and the text that the model is shown of each call's outcome. */
import { observeOutcome, observeRefusal } from "../../observe/observe.ts";
import { fileTokens } from "../../reason/file-tokens.ts";
import type { Words } from "../../reason/port.ts";
import { PER_MESSAGE, type TokenCount } from "../../reason/tokens.ts";

import type { Attachment, Observation, Part, ProposedCall } from "../../vocab/index.ts";
import { type Call, runningTool, type State, type Turn } from "../state.ts";
import { sanitisedText, shownOutcome } from "./sanitise.ts";

/** Tokens that instructions, tools and the schema of the answer add to every request. */
export const overheadTokens = (s: State): number => s.agent.overheadTokens + (s.turn?.output?.tokens ?? 0);

/** Tokens kept free for recalled knowledge: a quarter of the context at most. */
export const recallReserve = (s: State): number =>
  s.agent.knowledge === null || s.agent.knowledge.maxItems === 0
    ? 0
    : Math.min(s.agent.knowledge.maxTokens, Math.floor((s.turn?.limits.contextTokens ?? 0) / 4));
/** Tokens that the conversation does not have. */
export const reservedTokens = (s: State): number => overheadTokens(s) + recallReserve(s);

export const tokenCounter = (s: State): TokenCount => s.counters(s.agent.tokenizer);

export function observation(c: Call, t: Turn): Observation {
  const limit = t.limits.observationChars;
  if (c.run.kind === "failed") {
    const tool = c.mending?.as.standIn ?? c.proposed.tool; // whatever was to run next has not failed
    const seen = observeOutcome(tool, shownOutcome({ kind: "failed", error: c.mending?.error ?? "" }, c.cleaned), limit);
    return { ...seen, text: c.mending == null || c.mending.shown === null ? seen.text : sanitisedText(c.mending.shown, c.cleaned) };
  }
  if (c.run.kind === "ended") {
    const seen = observeOutcome(runningTool(c), shownOutcome(c.run.outcome, c.cleaned), limit);
    const notes = [c.standIn === null ? null : `${c.standIn} stood in for ${c.proposed.tool}, which failed`, c.run.note];
    const said = notes.flatMap((note) => (note === null ? [] : [`[${note}] `])).join("");
    return { ...seen, text: `${said}${c.shown === null ? seen.text : sanitisedText(c.shown, c.cleaned)}` };
  }
  if (c.gated.kind === "denied") return observeRefusal(c.proposed.tool, c.gated.verdict);
  throw new Error(`call ${c.proposed.id} is not settled`);
}

export const userMessage = (text: string, files: readonly Attachment[] = []): Words =>
  files.length === 0 ? { role: "user", text } : { role: "user", text, files };
export const noteMessage = (text: string): Words => ({ role: "note", text });
export const toolMessage = ({ wireId, tool }: ProposedCall, { text, kind }: Observation): Words =>
  toToolMessage({ wireId, tool, text, isError: kind !== "result" });
/** In canonical order, like the parts of a reply: each message is hashed once, as it stands. */
export const toToolMessage = ({ wireId, tool, text, isError }: Omit<Extract<Words, { role: "tool" }>, "role">): Words => ({
  isError,
  role: "tool",
  text,
  tool,
  wireId,
});
export const assistantMessage = (parts: readonly Part[]): Words => ({ parts, role: "assistant" });

export const messageTokens = (words: Words, count: TokenCount): number =>
  PER_MESSAGE +
  (words.role === "assistant" ? words.parts.reduce((n, p) => n + partTokens(p, count), 0) : count(words.text)) +
  (words.role === "user" ? (words.files ?? []).reduce((n, file) => n + fileTokens(file, count), 0) : 0);
const partTokens = (p: Part, count: TokenCount): number => count(p.text) + (p.kind === "call" ? count(p.tool) + PER_MESSAGE : 0);
