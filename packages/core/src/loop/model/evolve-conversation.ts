import { cut } from "../../observe/observe.ts";
import type { Message, Words } from "../../reason/port.ts";
import { PER_MESSAGE, type TokenCount } from "../../reason/tokens.ts";
import { widen } from "../../reason/window.ts";
import { type ActionText, actionKind, type Observation, type Seq, type Verdict } from "../../vocab/index.ts";
import { type Call, type Gated, isSettled, UNDECIDED } from "../calls/call.ts";
import { callsIn, KEEP_DUE, PREPARING, RECALL_DUE, type State, type Turn } from "../state.ts";
import { messageTokens, noteMessage, observation, reservedTokens, tokenCounter, toolMessage } from "./conversation.ts";
/** The fold of the conversation as it grows: what is said, what is heard later, and each call's one result. */
export const say = (s: State, words: Words, entry: Seq = s.seq): void => keep(s, stamped(s, words, entry));

/** Under a plan of its own nothing goes without an event: `context.ts`. */
function keep(s: State, message: Message): void {
  s.messages.push(message);
  for (const { mediaType } of message.role === "user" ? (message.files ?? []) : []) {
    if (s.media.has(mediaType)) continue;
    s.media.add(mediaType);
    s.changes += 1; // a policy may have read that there was none
  }
  const plain = s.agent.context.kind === "window" ? s.turn : null;
  widen(s.messages, s.window, message, plain === null ? Number.POSITIVE_INFINITY : plain.limits.contextTokens - reservedTokens(s));
}

/** Counted once, and tied to the entry it comes from. */
const stamped = (s: State, words: Words, entry: Seq): Message => ({ ...words, tokens: messageTokens(words, tokenCounter(s)), entry });
/** Nothing may stand between a call and its results, or before the reply to a request that did not hold it. */
export function hear(s: State, words: Words, entry: Seq = s.seq): State {
  if (s.turn !== null && (s.turn.phase.kind === "asking" || s.turn.phase.kind === "calling")) s.queued.push(stamped(s, words, entry));
  else say(s, words, entry);
  return s;
}

export function hearQueued(s: State): void {
  for (const message of s.queued.splice(0)) keep(s, message);
}

/** Another iteration, with a word to the model about why. */
export function continueTurn(s: State, t: Turn, note: string | null): void {
  if (note !== null) say(s, noteMessage(note));
  t.phase = PREPARING;
  reopen(t);
}

/**
 * Decided again before the next request; an approval about the last one is of no use any more. A plain permission to answer stands
 * until the driver finds, before a request, that it would be decided otherwise: one record of the same decision is enough.
 */
export function reopen(t: Turn): void {
  t.model = UNDECIDED;
  if (!isStanding(t.respond)) t.respond = UNDECIDED;
  t.recall = RECALL_DUE;
  t.keep = KEEP_DUE;
  for (const [id, q] of t.questions) if (isOfRequest(q.action)) t.questions.delete(id);
}

const isOfRequest = (action: ActionText): boolean => {
  const kind = actionKind(action);
  return kind !== "call" && kind !== "reconcile";
};

const isStanding = (gated: Gated): boolean =>
  gated.kind === "allowed" && gated.decided.verdict.kind === "allow" && gated.decided.verdict.approval === null;

export function refuseAnswer(s: State, t: Turn, { by, reason }: Pick<Denial, "by" | "reason">): void {
  t.refusedInARow += 1;
  continueTurn(s, t, `[denied by ${by === "person" ? "a person" : by}] your answer was not delivered: ${reason}`);
}
type Denial = Extract<Verdict, { kind: "deny" }>;

/** Once every call of the reply is settled, the model gets its results: one per call id, in call order. */
export function settleReply(s: State, t: Turn): void {
  const all = callsIn(t);
  if (all.length === 0 || !all.every(isSettled)) return;
  t.phase = PREPARING;
  sayResults(s, t, all, (c) => observation(c, t));
  const counting = all.filter((c) => !isRefusedBy(c, "breaker")); // what keeps failing is nobody's refusal
  if (counting.length > 0) t.refusedInARow = counting.every((c) => isRefusedBy(c, null)) ? t.refusedInARow + 1 : 0;
  t.over = all.every((c) => c.run.kind === "ended" && c.run.endsTurn);
  reopen(t);
  if (s.queued.some((m) => m.role === "user")) t.over = false; // a person spoke meanwhile: that comes first
  hearQueued(s);
}

const isRefusedBy = ({ run, gated, starts }: Call, by: Denial["by"] | null): boolean =>
  run.kind === "not-started" && starts === 0 && gated.kind === "denied" && (by === null || gated.verdict.by === by);

/** C-2 what a reply's calls brought must fit beside the reply and the task: longer ones are cut to their share. The journal has all of it. */
export function sayResults(s: State, t: Turn, calls: readonly Call[], observe: (c: Call) => Observation): void {
  const { messages, window: w } = s;
  const pinned =
    (messages[w.task]?.tokens ?? 0) + (w.task < w.newest ? (messages[w.newest]?.tokens ?? 0) : 0) + (w.summary?.message.tokens ?? 0);
  const room = t.limits.contextTokens - reservedTokens(s) - pinned - calls.length * (PER_MESSAGE + CUT_NOTE);
  const seen = calls.map((c) => ({ c, o: observe(c) }));
  const sizes = seen.map(({ o }) => tokenCounter(s)(o.text));
  const most = fairShare(sizes, Math.max(room, calls.length * LEAST_RESULT));
  for (const [i, { c, o }] of seen.entries()) {
    const { text, tokens } = fitted(o.text, sizes[i] ?? 0, most, tokenCounter(s));
    keep(s, { ...toolMessage(c.proposed, { ...o, text }), tokens: PER_MESSAGE + tokens, entry: c.entry });
  }
}
const CUT_NOTE = 24;
const LEAST_RESULT = 8;

/** The most one may have so that all of them fit: the short ones leave the rest to the long ones. */
function fairShare(sizes: readonly number[], room: number): number {
  let [left, share] = [room, Number.POSITIVE_INFINITY];
  for (const [i, size] of sizes.toSorted((a, b) => a - b).entries()) {
    share = left / (sizes.length - i);
    if (size > share) return share;
    left -= size;
  }
  return Number.POSITIVE_INFINITY;
}

function fitted(whole: string, tokens: number, most: number, count: TokenCount): { readonly text: string; readonly tokens: number } {
  if (tokens <= most) return { text: whole, tokens };
  for (let chars = Math.floor((whole.length * most) / tokens); ; chars = Math.floor(chars * 0.8)) {
    const text = cut(whole, chars);
    const left = count(text);
    if (chars < 8 || left <= most + CUT_NOTE) return { text, tokens: left };
  }
}
