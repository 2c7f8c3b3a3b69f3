/**
 * One event folded into the state, in place: the driver owns it, it grows at the end and is never copied (rule 8).
 * The same events give the same state, whoever folds them and whenever: resume is nothing but this.
 */
import { withEdits } from "../gate/request.ts";
import { observeOutcome, observeRefusal, observeUnstarted } from "../observe/observe.ts";
import { textOf } from "../reason/parse.ts";
import type { Message } from "../reason/port.ts";
import { estimateTokens, PER_MESSAGE } from "../reason/tokens.ts";
import { pinTask, widen } from "../reason/window.ts";
import {
  type ActionId,
  addUsage,
  type CallId,
  type Decided,
  type Entry,
  epoch,
  type Label,
  millis,
  NO_USAGE,
  type Observation,
  type Part,
  type ProposedCall,
  type SessionEvent,
  type SessionId,
  seq,
  totalTokens,
} from "../vocab/index.ts";
import { type Answered, type Call, type Gated, isSettled, type State, type Turn, UNDECIDED } from "./state.ts";

type Opened = Extract<SessionEvent, { kind: "session.opened" }>;
type Of<K extends SessionEvent["kind"]> = Extract<SessionEvent, { kind: K }>;

/** Before the first event, which is always `session.opened`. */
export function emptyState(session: SessionId, opened: Opened): State {
  return {
    session,
    seq: seq(0),
    at: millis(0),
    epoch: epoch(0),
    agent: opened.agent,
    principal: opened.principal,
    surface: opened.surface,
    closed: false,
    labels: new Set<Label>(),
    messages: [],
    window: { from: 0, task: -1, newest: 0, tokens: 0 },
    queued: [],
    wireIds: new Set(),
    replies: 0,
    allowedCalls: new Map(),
    unknowns: new Map(),
    spent: 0,
    turns: 0,
    turn: null,
    last: null,
  };
}

export function fold(entries: Iterable<Entry>): State | null {
  let state: State | null = null;
  for (const entry of entries) {
    if (state === null) {
      if (entry.event.kind !== "session.opened") return null;
      state = emptyState(entry.stream as SessionId, entry.event);
    }
    evolve(state, entry);
  }
  return state;
}

export function evolve(s: State, entry: Entry): State {
  const e = entry.event;
  if (s.turn !== null && e.kind !== "hold.taken") s.turn.activeMs += Math.max(0, entry.at - s.at);
  s.seq = entry.seq;
  s.at = entry.at;
  switch (e.kind) {
    case "session.opened":
      for (const l of e.labels) s.labels.add(l);
      for (const said of e.history)
        say(s, said.role === "user" ? userMessage(said.text) : assistantMessage([{ kind: "text", text: said.text, meta: null }]));
      return s;
    case "agent.changed":
      s.agent = e.agent;
      return s;
    case "hold.taken":
      return newHold(s, e);
    case "turn.started":
      return startTurn(s, e);
    case "input.steered":
      hear(s, userMessage(e.text));
      return inTurn(s, (t) => {
        if (t.answer !== null) goOn(s, t, null); // an answer that still waits for leave is overtaken
      });
    case "turn.cancel-asked":
      if (s.turn !== null) s.turn.cancel = { by: e.by, reason: e.reason };
      return s;
    case "model.asked":
      return inTurn(s, (t) => {
        t.asking = { iteration: e.iteration, attempt: e.attempt, reserved: e.reserved };
        t.attempts = e.attempt;
      });
    case "model.failed":
      return inTurn(s, (t) => {
        if (e.broke) t.lost = addUsage(t.lost, t.asking?.reserved ?? NO_USAGE); // rule 5: what may have been used counts as used
        t.asking = null;
        t.modelError = e.error;
        t.again = e.again;
        [t.model, t.respond] = [UNDECIDED, UNDECIDED];
      });
    case "model.replied":
      return inTurn(s, (t) => replied(s, t, e));
    case "gate.decided":
      return inTurn(s, (t) => decided(s, t, e));
    case "approval.asked":
      return inTurn(s, (t) => {
        const gated = gatedOf(t, e.action);
        if (gated?.kind !== "to-ask") return;
        t.questions.set(e.approval, {
          approval: e.approval,
          action: e.action,
          digest: e.digest,
          slice: gated.decided.slice,
          asks: e.asks,
          answer: null,
        });
        setGated(t, e.action, { kind: "asked", approval: e.approval });
      });
    case "approval.answered":
      return inTurn(s, (t) => answered(s, t, e));
    case "approval.consumed":
      return inTurn(s, (t) => {
        t.questions.delete(e.approval);
      });
    case "act.started":
      return inCall(s, e.call, (c, t) => {
        if (c.gated.kind !== "allowed") return;
        if (c.starts === 0) t.calls += 1;
        c.starts = e.start;
        c.repeat ??= e.repeat;
        c.run = { kind: "running", decided: c.gated.decided, epoch: e.epoch };
      });
    case "recovery.applied":
      return inCall(s, e.call, (c) => {
        if (e.found !== "did-not-happen") return; // the others are followed by `act.ended`
        c.run = { kind: "not-started" };
        c.gated = UNDECIDED; // it never took effect: decided again, then run
      });
    case "act.ended":
      return inCall(s, e.call, (c, t) => {
        const doing = c.run.kind === "running" || c.run.kind === "lost" ? c.run.decided : null;
        c.run = { kind: "ended", outcome: e.outcome, endsTurn: e.endsTurn };
        if (e.outcome.kind === "unknown" && doing?.action.kind === "call") {
          const { tool, resource } = doing.action;
          s.unknowns.set(e.call, { call: e.call, tool, resource, digest: doing.digest, outcome: e.outcome, at: entry.at });
        }
        settle(s, t);
      });
    case "act.late": {
      const was = s.unknowns.get(e.call);
      s.unknowns.delete(e.call);
      const o = observeOutcome(was?.tool ?? "the call", e.outcome, s.turn?.limits.observationChars ?? 24_000);
      return hear(s, noteMessage(`[late] the outcome of call ${e.call}, reported as unknown, is known now: ${o.text}`));
    }
    case "labels.added":
      for (const l of e.labels) s.labels.add(l);
      return s;
    case "turn.ended":
      return endTurn(s, e);
    case "session.closed":
      s.closed = true;
      return s;
    case "note":
    case "intent.refused":
      return s; // on record, and of no consequence to what comes next
    case "key.certified":
    case "key.rotated":
    case "key.withdrawn":
    case "content.erased":
    case "policy.loaded":
    case "policy.applied":
    case "policy.refused":
    case "trust.given":
    case "trust.withdrawn":
      return s; // system streams; never in a session's
  }
}

function startTurn(s: State, e: Of<"turn.started">): State {
  s.turns = e.turn;
  s.turn = {
    number: e.turn,
    limits: e.limits,
    by: e.by,
    iterations: 0,
    usage: NO_USAGE,
    lost: NO_USAGE,
    calls: 0,
    activeMs: 0,
    refusedInARow: 0,
    allowedCalls: new Map(),
    asking: null,
    attempts: 0,
    modelError: null,
    again: true,
    model: UNDECIDED,
    respond: UNDECIDED,
    calling: [],
    answer: null,
    finish: "stop",
    cutOff: "",
    aside: "",
    cancel: null,
    over: false,
    questions: new Map(),
  };
  say(s, userMessage(e.input));
  pinTask(s.messages, s.window);
  return s;
}

/** Receipts and permits died with the process before: what had not started is undecided again, what had is lost. */
function newHold(s: State, e: Of<"hold.taken">): State {
  s.epoch = e.epoch;
  return inTurn(s, (t) => {
    if (t.asking !== null) {
      t.lost = addUsage(t.lost, t.asking.reserved);
      t.asking = null;
      t.modelError = "the model call was in flight when its process ended";
      t.again = true;
    }
    t.model = reopened(t, t.model);
    t.respond = reopened(t, t.respond);
    for (const c of t.calling) {
      if (isSettled(c)) continue;
      if (c.run.kind === "running") c.run = { kind: "lost", decided: c.run.decided };
      else if (c.gated.kind === "allowed" && c.starts === 0) count(s, t, c, -1);
      c.gated = reopened(t, c.gated);
    }
  });
}

/** An answer that was given and not yet used is still good; it is checked again when the action is. */
function reopened(t: Turn, gated: Gated): Gated {
  if (gated.kind === "asked" || gated.kind === "undecided") return gated;
  const approval = gated.kind === "allowed" && gated.decided.verdict.kind === "allow" ? gated.decided.verdict.approval : null;
  const question = approval === null ? undefined : t.questions.get(approval);
  return question === undefined ? UNDECIDED : { kind: "undecided", answered: question };
}

function replied(s: State, t: Turn, e: Of<"model.replied">): void {
  s.replies += 1;
  t.iterations += 1;
  t.usage = addUsage(t.usage, e.usage);
  t.asking = null;
  t.attempts = 0;
  t.modelError = null;
  t.finish = e.finish;
  const text = textOf(e.parts);
  const calls = e.parts.filter((p) => p.kind === "call");
  if (e.parts.length > 0) say(s, assistantMessage(e.parts));
  for (const c of calls) s.wireIds.add(c.wireId);
  if (t.respond.kind === "allowed") t.aside += text; // an early ending delivers only what the gate let be said
  if (calls.length > 0) {
    t.calling = calls.map(
      (proposed): Call => ({
        proposed,
        gated: UNDECIDED,
        run: { kind: "not-started" },
        edited: null,
        modified: false,
        starts: 0,
        repeat: null,
      }),
    );
    return;
  }
  const steered = s.queued.some((m) => m.role === "user");
  hearQueued(s);
  if (e.finish === "length") t.cutOff += text;
  if (e.finish === "refused" || e.finish === "filtered") t.answer = t.cutOff + text;
  else if (e.finish === "length") goOn(s, t, "[cut off] your reply reached the output limit. Go on exactly where it stopped.");
  else if (text.trim() === "") goOn(s, t, "[empty] your reply was empty. Answer, or call a tool.");
  else if (steered)
    goOn(s, t, null); // a person spoke meanwhile: that comes first
  else {
    t.answer = t.cutOff + text;
    if (t.respond.kind === "denied") refuseAnswer(s, t, t.respond.verdict.reason);
  }
}

/** Another iteration, with a word to the model about why. */
function goOn(s: State, t: Turn, note: string | null): void {
  if (note !== null) say(s, noteMessage(note));
  t.answer = null;
  [t.model, t.respond] = [UNDECIDED, UNDECIDED];
}

function refuseAnswer(s: State, t: Turn, reason: string): void {
  t.refusedInARow += 1;
  goOn(s, t, `[denied by policy] your answer was not delivered: ${reason}`);
}

function decided(s: State, t: Turn, e: Decided): void {
  const before = gatedOf(t, e.id);
  const after = toGated(e);
  const call = callOf(t, e.id);
  if (call !== null && call.starts === 0) {
    if (before?.kind === "allowed") count(s, t, call, -1);
    if (after.kind === "allowed") count(s, t, call, 1);
  }
  setGated(t, e.id, after);
  if (call !== null && e.verdict.kind === "modify" && e.action.kind === "call" && e.action.args !== null) {
    call.edited = withEdits(e.action.args, e.verdict.edits);
    call.modified = true;
  }
  if (call !== null) settle(s, t);
  else if (e.action.kind === "respond" && t.answer !== null && after.kind === "denied") refuseAnswer(s, t, after.verdict.reason);
}

function toGated(e: Decided): Gated {
  switch (e.verdict.kind) {
    case "allow":
      return { kind: "allowed", decided: e };
    case "deny":
      return { kind: "denied", verdict: e.verdict };
    case "ask":
      return { kind: "to-ask", decided: e, asks: e.verdict.asks };
    case "modify":
      return UNDECIDED; // with other arguments: checked and gated again
  }
}

function answered(s: State, t: Turn, e: Of<"approval.answered">): void {
  const question = t.questions.get(e.approval);
  if (question === undefined || question.answer !== null) return;
  t.questions.set(e.approval, { ...question, answer: e.answer });
  if (e.answer.kind === "approve") {
    const good: Answered = question;
    setGated(t, question.action, { kind: "undecided", answered: good });
    return;
  }
  const reason = e.answer.reason === "" ? "no reason given" : e.answer.reason;
  setGated(t, question.action, {
    kind: "denied",
    verdict: { kind: "deny", by: "person", because: question.asks.map((a) => a.policy), faults: [], reason },
  });
  if (callOf(t, question.action) !== null) settle(s, t);
  else if (t.answer !== null) refuseAnswer(s, t, reason);
}

/** Once every call of the reply is settled, the model gets its results: one per call id, in call order. */
function settle(s: State, t: Turn): void {
  if (t.calling.length === 0 || !t.calling.every(isSettled)) return;
  const all = t.calling;
  t.calling = [];
  for (const c of all) say(s, toolMessage(c.proposed, observation(c, t)));
  t.refusedInARow = all.every((c) => c.gated.kind === "denied" && c.starts === 0) ? t.refusedInARow + 1 : 0;
  t.over = all.every((c) => c.run.kind === "ended" && c.run.endsTurn);
  [t.model, t.respond] = [UNDECIDED, UNDECIDED];
  if (s.queued.some((m) => m.role === "user")) t.over = false; // a person spoke meanwhile: that comes first
  hearQueued(s);
}

function observation(c: Call, t: Turn): Observation {
  if (c.run.kind === "ended") return observeOutcome(c.proposed.tool, c.run.outcome, t.limits.observationChars);
  if (c.gated.kind === "denied") return observeRefusal(c.proposed.tool, c.gated.verdict);
  throw new Error(`call ${c.proposed.id} is not settled`);
}

function endTurn(s: State, e: Of<"turn.ended">): State {
  const t = s.turn;
  if (t === null) return s;
  for (const c of t.calling)
    say(s, toolMessage(c.proposed, isSettled(c) ? observation(c, t) : observeUnstarted(c.proposed.tool, e.ending)));
  hearQueued(s);
  const { turn, ending, output, detail, usage, lost, iterations, calls, activeMs } = e;
  s.last = { turn, ending, output, detail, usage, lost, iterations, calls, activeMs };
  s.spent += totalTokens(usage) + totalTokens(lost);
  s.turn = null;
  return s;
}

// ── the conversation ──

function say(s: State, message: Message): void {
  s.messages.push(message);
  const budget = s.turn === null ? Number.POSITIVE_INFINITY : s.turn.limits.contextTokens - s.agent.overheadTokens;
  widen(s.messages, s.window, message, budget);
}

/** Nothing may stand between a call and its results, or before the reply to a request that did not hold it. */
function hear(s: State, message: Message): State {
  if (s.turn !== null && (s.turn.asking !== null || s.turn.calling.length > 0)) s.queued.push(message);
  else say(s, message);
  return s;
}

function hearQueued(s: State): void {
  for (const message of s.queued.splice(0)) say(s, message);
}

const userMessage = (text: string): Message => ({ role: "user", text, tokens: estimateTokens(text) + PER_MESSAGE });
const noteMessage = (text: string): Message => ({ role: "note", text, tokens: estimateTokens(text) + PER_MESSAGE });
const toolMessage = (c: ProposedCall, o: Observation): Message => ({
  role: "tool",
  wireId: c.wireId,
  tool: c.tool,
  text: o.text,
  isError: o.kind !== "result",
  tokens: estimateTokens(o.text) + PER_MESSAGE,
});
const assistantMessage = (parts: readonly Part[]): Message => ({
  role: "assistant",
  parts,
  tokens: PER_MESSAGE + parts.reduce((n, p) => n + partTokens(p), 0),
});
const partTokens = (p: Part): number => estimateTokens(p.text) + (p.kind === "call" ? estimateTokens(p.tool) + PER_MESSAGE : 0);

// ── finding one's way ──

function inTurn(s: State, change: (t: Turn) => void): State {
  if (s.turn !== null) change(s.turn);
  return s;
}

function inCall(s: State, id: CallId, change: (c: Call, t: Turn) => void): State {
  return inTurn(s, (t) => {
    const call = t.calling.find((c) => c.proposed.id === id);
    if (call !== undefined) change(call, t);
  });
}

const callOf = (t: Turn, action: ActionId): Call | null => t.calling.find((c) => (c.proposed.id as string) === action) ?? null;

export function gatedOf(t: Turn, action: ActionId): Gated | null {
  if (action.startsWith("model:")) return t.model;
  if (action.startsWith("respond:")) return t.respond;
  return callOf(t, action)?.gated ?? null;
}

function setGated(t: Turn, action: ActionId, gated: Gated): void {
  const call = callOf(t, action);
  if (action.startsWith("model:")) t.model = gated;
  else if (action.startsWith("respond:")) t.respond = gated;
  else if (call !== null) call.gated = gated;
}

/** A decided `allow` is counted at once, so that the next decision of the same reply already sees it. */
function count(s: State, t: Turn, call: Call, by: 1 | -1): void {
  const tool = call.proposed.tool;
  t.allowedCalls.set(tool, (t.allowedCalls.get(tool) ?? 0) + by);
  s.allowedCalls.set(tool, (s.allowedCalls.get(tool) ?? 0) + by);
}
