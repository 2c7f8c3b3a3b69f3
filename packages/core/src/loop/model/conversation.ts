/** The conversation as it grows: what is said, what is heard later, and each call's one result. Part of the fold. */
import { cut, observeOutcome, observeRefusal } from "../../observe/observe.ts";
import { fileTokens } from "../../reason/file-tokens.ts";
import type { Message, Words } from "../../reason/port.ts";
import { PER_MESSAGE, type TokenCount } from "../../reason/tokens.ts";
import { widen } from "../../reason/window.ts";
import {
  type ActionText,
  type Attachment,
  actionKind,
  type Observation,
  type Part,
  type ProposedCall,
  type Seq,
  type Verdict,
} from "../../vocab/index.ts";
import { type Call, type Gated, isSettled, KEEP_DUE, nameOf, RECALL_DUE, type State, type Turn, UNDECIDED } from "../state.ts";
import { sanitisedText, shownOutcome } from "./sanitise.ts";

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
  widen(s.messages, s.window, message, plain === null ? Number.POSITIVE_INFINITY : plain.limits.contextTokens - takenOf(s));
}

/** What instructions, tools and the schema of the answer add to every request. */
export const overheadOf = (s: State): number => s.agent.overheadTokens + (s.turn?.output?.tokens ?? 0);

/** What is left free of the conversation, for what is recalled: a quarter of the whole at the most. */
export const reserveOf = (s: State): number =>
  s.agent.knowledge === null || s.agent.knowledge.maxItems === 0
    ? 0
    : Math.min(s.agent.knowledge.maxTokens, Math.floor((s.turn?.limits.contextTokens ?? 0) / 4));
/** Tokens that the conversation does not have. */
export const takenOf = (s: State): number => overheadOf(s) + reserveOf(s);

/** Counted once, and tied to the entry it comes from. */
const stamped = (s: State, words: Words, entry: Seq): Message => ({ ...words, tokens: messageTokens(words, counted(s)), entry });
export const counted = (s: State): TokenCount => s.counters(s.agent.tokenizer);

/** Nothing may stand between a call and its results, or before the reply to a request that did not hold it. */
export function hear(s: State, words: Words): State {
  if (s.turn !== null && (s.turn.asking !== null || s.turn.calling.length > 0)) s.queued.push(stamped(s, words, s.seq));
  else say(s, words);
  return s;
}

export function hearQueued(s: State): void {
  for (const message of s.queued.splice(0)) keep(s, message);
}

/** Another iteration, with a word to the model about why. */
export function goOn(s: State, t: Turn, note: string | null): void {
  if (note !== null) say(s, noteMessage(note));
  t.answer = null;
  t.fits = null;
  reopen(t);
}

/**
 * Decided anew before the next request; what was asked about the last one is of no use any more. A plain leave to answer stands
 * until the driver finds that it would be decided otherwise, which it looks at before every request: the same words once are enough.
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
  goOn(s, t, `[denied by ${by === "person" ? "a person" : by}] your answer was not delivered: ${reason}`);
}
type Denial = Extract<Verdict, { kind: "deny" }>;

/** Once every call of the reply is settled, the model gets its results: one per call id, in call order. */
export function settle(s: State, t: Turn): void {
  if (t.calling.length === 0 || !t.calling.every(isSettled)) return;
  const all = t.calling;
  t.calling = [];
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

export function observation(c: Call, t: Turn): Observation {
  const limit = t.limits.observationChars;
  if (c.run.kind === "failed") {
    const tool = c.mending?.as.standIn ?? c.proposed.tool; // whatever was to run next has not failed
    const seen = observeOutcome(tool, shownOutcome({ kind: "failed", error: c.mending?.error ?? "" }, c.cleaned), limit);
    return { ...seen, text: c.mending == null || c.mending.shown === null ? seen.text : sanitisedText(c.mending.shown, c.cleaned) };
  }
  if (c.run.kind === "ended") {
    const seen = observeOutcome(nameOf(c), shownOutcome(c.run.outcome, c.cleaned), limit);
    const notes = [c.standIn === null ? null : `${c.standIn} stood in for ${c.proposed.tool}, which failed`, c.run.note];
    const said = notes.flatMap((note) => (note === null ? [] : [`[${note}] `])).join("");
    return { ...seen, text: `${said}${c.shown === null ? seen.text : sanitisedText(c.shown, c.cleaned)}` };
  }
  if (c.gated.kind === "denied") return observeRefusal(c.proposed.tool, c.gated.verdict);
  throw new Error(`call ${c.proposed.id} is not settled`);
}

/** C-2 what a reply's calls brought must fit beside the reply and the task: longer ones are cut to their share. The journal has all of it. */
export function sayResults(s: State, t: Turn, calls: readonly Call[], observe: (c: Call) => Observation): void {
  const { messages, window: w } = s;
  const pinned =
    (messages[w.task]?.tokens ?? 0) + (w.task < w.newest ? (messages[w.newest]?.tokens ?? 0) : 0) + (w.summary?.message.tokens ?? 0);
  const room = t.limits.contextTokens - takenOf(s) - pinned - calls.length * (PER_MESSAGE + CUT_NOTE);
  const seen = calls.map((c) => ({ c, o: observe(c) }));
  const sizes = seen.map(({ o }) => counted(s)(o.text));
  const most = fairShare(sizes, Math.max(room, calls.length * LEAST_RESULT));
  for (const [i, { c, o }] of seen.entries()) {
    const { text, tokens } = fitted(o.text, sizes[i] ?? 0, most, counted(s));
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

export const userMessage = (text: string, files: readonly Attachment[] = []): Words =>
  files.length === 0 ? { role: "user", text } : { role: "user", text, files };
export const noteMessage = (text: string): Words => ({ role: "note", text });
export const toolMessage = ({ wireId, tool }: ProposedCall, { text, kind }: Observation): Words =>
  toolMessageOf({ wireId, tool, text, isError: kind !== "result" });
export const toolMessageOf = (result: Omit<Extract<Words, { role: "tool" }>, "role">): Words => ({
  role: "tool",
  ...result,
});
export const assistantMessage = (parts: readonly Part[]): Words => ({ role: "assistant", parts });

export const messageTokens = (words: Words, count: TokenCount): number =>
  PER_MESSAGE +
  (words.role === "assistant" ? words.parts.reduce((n, p) => n + partTokens(p, count), 0) : count(words.text)) +
  (words.role === "user" ? (words.files ?? []).reduce((n, file) => n + fileTokens(file, count), 0) : 0);
const partTokens = (p: Part, count: TokenCount): number => count(p.text) + (p.kind === "call" ? count(p.tool) + PER_MESSAGE : 0);
