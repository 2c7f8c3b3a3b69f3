/** The conversation as it grows: what is said, what is heard later, and each call's one result. Part of the fold. */
import { observeOutcome, observeRefusal } from "../observe/observe.ts";
import type { Message } from "../reason/port.ts";
import { estimateTokens, PER_MESSAGE } from "../reason/tokens.ts";
import { widen } from "../reason/window.ts";
import type { Observation, Part, ProposedCall, Verdict } from "../vocab/index.ts";
import { type Call, type Gated, isSettled, nameOf, type State, type Turn, UNDECIDED } from "./state.ts";

export function say(s: State, message: Message): void {
  s.messages.push(message);
  const budget = s.turn === null ? Number.POSITIVE_INFINITY : s.turn.limits.contextTokens - s.agent.overheadTokens;
  widen(s.messages, s.window, message, budget);
}

/** Nothing may stand between a call and its results, or before the reply to a request that did not hold it. */
export function hear(s: State, message: Message): State {
  if (s.turn !== null && (s.turn.asking !== null || s.turn.calling.length > 0)) s.queued.push(message);
  else say(s, message);
  return s;
}

export function hearQueued(s: State): void {
  for (const message of s.queued.splice(0)) say(s, message);
}

/** Another iteration, with a word to the model about why. */
export function goOn(s: State, t: Turn, note: string | null): void {
  if (note !== null) say(s, noteMessage(note));
  t.answer = null;
  reopen(t);
}

/**
 * Decided anew before the next request; what was asked about the last one is of no use any more. A plain leave to answer stands
 * until the driver finds that it would be decided otherwise, which it looks at before every request: the same words once are enough.
 */
export function reopen(t: Turn): void {
  t.model = UNDECIDED;
  if (!isStanding(t.respond)) t.respond = UNDECIDED;
  for (const [id, q] of t.questions) if (q.action.startsWith("model:") || q.action.startsWith("respond:")) t.questions.delete(id);
}

const isStanding = (gated: Gated): boolean =>
  gated.kind === "allowed" && gated.decided.verdict.kind === "allow" && gated.decided.verdict.approval === null;

export function refuseAnswer(s: State, t: Turn, { by, reason }: Pick<Denial, "by" | "reason">): void {
  t.refusedInARow += 1;
  goOn(s, t, `[denied by ${by === "person" ? "a person" : by}] your answer was not delivered: ${reason}`);
}
type Denial = Extract<Verdict, { kind: "deny" }>;

/** Once every call of the reply is settled, the model gets its results: one per call id, in call order. */
export function settle(s: State, t: Turn): void {
  if (t.calling.length === 0 || !t.calling.every(isSettled)) return;
  const all = t.calling;
  t.calling = [];
  for (const c of all) say(s, toolMessage(c.proposed, observation(c, t)));
  const counting = all.filter((c) => !isRefusedBy(c, "breaker")); // what keeps failing is nobody's refusal
  if (counting.length > 0) t.refusedInARow = counting.every((c) => isRefusedBy(c, null)) ? t.refusedInARow + 1 : 0;
  t.over = all.every((c) => c.run.kind === "ended" && c.run.endsTurn);
  reopen(t);
  if (s.queued.some((m) => m.role === "user")) t.over = false; // a person spoke meanwhile: that comes first
  hearQueued(s);
}

const isRefusedBy = ({ run, gated, starts }: Call, by: Denial["by"] | null): boolean =>
  run.kind === "not-started" && starts === 0 && gated.kind === "denied" && (by === null || gated.verdict.by === by);

export function observation(c: Call, t: Turn): Observation {
  const limit = t.limits.observationChars;
  if (c.run.kind === "failed") {
    const seen = observeOutcome(nameOf(c), { kind: "failed", error: c.mending?.error ?? "" }, limit);
    return { ...seen, text: c.mending?.shown ?? seen.text };
  }
  if (c.run.kind === "ended") {
    const seen = observeOutcome(nameOf(c), c.run.outcome, limit);
    const notes = [c.standIn === null ? null : `${c.standIn} stood in for ${c.proposed.tool}, which failed`, c.run.note];
    const said = notes.flatMap((note) => (note === null ? [] : [`[${note}] `])).join("");
    return { ...seen, text: `${said}${c.shown ?? seen.text}` };
  }
  if (c.gated.kind === "denied") return observeRefusal(c.proposed.tool, c.gated.verdict);
  throw new Error(`call ${c.proposed.id} is not settled`);
}

export const userMessage = (text: string): Message => ({ role: "user", text, tokens: estimateTokens(text) + PER_MESSAGE });
export const noteMessage = (text: string): Message => ({ role: "note", text, tokens: estimateTokens(text) + PER_MESSAGE });
export const toolMessage = ({ wireId, tool }: ProposedCall, { text, kind }: Observation): Message =>
  toolMessageOf({ wireId, tool, text, isError: kind !== "result" });
export const toolMessageOf = (result: Omit<Extract<Message, { role: "tool" }>, "role" | "tokens">): Message => ({
  role: "tool",
  ...result,
  tokens: estimateTokens(result.text) + PER_MESSAGE,
});
export const assistantMessage = (parts: readonly Part[]): Message => ({
  role: "assistant",
  parts,
  tokens: PER_MESSAGE + parts.reduce((n, p) => n + partTokens(p), 0),
});
const partTokens = (p: Part): number => estimateTokens(p.text) + (p.kind === "call" ? estimateTokens(p.tool) + PER_MESSAGE : 0);
