/** Where each action stands with the gate and with people: decisions, questions, answers, expiries. Part of the fold. */
import { expiry, isAnswered, survivesAll, type Vote } from "../../gate/approvals.ts";
import { withEdits } from "../../gate/request.ts";
import {
  type ActionText,
  actionKind,
  type Decided,
  doingOf,
  grantId,
  isRefusal,
  millis,
  principalName,
  type Resource,
  type SessionEvent,
  type Verdict,
} from "../../vocab/index.ts";
import { refusedAgain, setBack } from "../calls/recovery-state.ts";
import { refuseAnswer, settle } from "../model/conversation.ts";
import { noticeRepeat } from "../model/stuck-model.ts";
import { type Answered, actingFor, type Call, type Gated, nameOf, type Question, type State, type Turn, UNDECIDED } from "../state.ts";

type Of<K extends SessionEvent["kind"]> = Extract<SessionEvent, { kind: K }>;

export function decided(s: State, t: Turn, e: Decided, at: number): void {
  const before = gatedOf(t, e.id);
  const after = toGated(s, t, e, before, at);
  const call = callOf(t, e.id);
  if (call !== null) call.entry = s.seq;
  if (call !== null) noticeRepeat(s, t, call, e);
  if (call !== null && call.starts === 0) {
    if (before?.kind === "allowed") countVotes(s, t, call, -1);
    if (after.kind === "allowed") countVotes(s, t, call, 1);
  }
  setGated(t, e.id, after);
  if (call !== null && after.kind === "denied") setBack(call);
  if (call !== null && e.verdict.kind === "modify" && e.action.kind === "call" && e.action.args !== null) {
    call.edited = withEdits(e.action.args, e.verdict.edits);
    call.modified = true;
  }
  if (call !== null) settle(s, t);
  else if (e.action.kind === "respond" && t.answer !== null && after.kind === "denied") refuseAnswer(s, t, after.verdict);
}

function toGated(s: State, t: Turn, e: Decided, before: Gated | null, at: number): Gated {
  switch (e.verdict.kind) {
    case "allow":
      return { kind: "allowed", decided: e };
    case "deny":
      return { kind: "denied", verdict: e.verdict };
    case "ask":
      return { kind: "to-ask", decided: e, asks: e.verdict.asks, again: whyAgain(e, before === null ? null : answeredOf(t, before)) };
    case "defer":
      return {
        kind: "deferred",
        decided: e,
        due: before?.kind === "deferred" ? before.due : millis(at + e.verdict.ms),
        seen: s.changes + s.counted,
      };
    case "modify":
      return UNDECIDED; // with other arguments: checked and gated again
  }
}

/** Q-1 an answer counts only for the digest and the policies it was given for; otherwise the question is asked afresh, and says why. */
function whyAgain(e: Decided, answered: Answered | null): string | null {
  if (answered === null || e.verdict.kind !== "ask") return null;
  if (answered.slice !== e.slice) return "the policies that can decide it have changed";
  const news = e.verdict.asks.filter((a) => !answered.asks.some((b) => b.policy === a.policy));
  return news.length > 0 ? `${news.map((a) => a.policy).join(", ")} asks too` : "it is not what was answered";
}

export function asked(s: State, t: Turn, e: Of<"approval.asked">, at: number): void {
  const gated = gatedOf(t, e.action);
  if (gated?.kind !== "to-ask") return;
  const { approval, action, digest, asks, expiresAt } = e;
  const { onExpiry } = expiry(asks, millis(at));
  t.questions.set(approval, {
    approval,
    action,
    digest,
    slice: gated.decided.slice,
    asks,
    about: aboutOf(gated.decided),
    targets: e.targets ?? null,
    labels: [...s.labels].sort(),
    toolDigest: doingOf(gated.decided.action)?.toolDigest ?? null,
    expiresAt,
    onExpiry,
    votes: [],
    answer: null,
  });
  setGated(t, action, { kind: "asked", approval });
}

const aboutOf = ({ action, id }: Decided): Resource => doingOf(action)?.resource ?? { type: "Action", id };

export function answered(s: State, t: Turn, e: Of<"approval.answered">): void {
  const question = t.questions.get(e.approval);
  if (question === undefined || question.answer !== null) return;
  t.answeredLast = true;
  const { answer } = e;
  if (isRefusal(answer)) {
    const why = answer.reason === "" ? "no reason given" : answer.reason;
    refused(s, t, { ...question, answer }, "person", answer.kind === "withdraw" ? `withdrawn by who asked for it: ${why}` : why);
    return;
  }
  const vote: Vote = { by: principalName(e.by), counts: e.counts, grant: answer.kind === "grant" ? answer.grant : null };
  const votes = e.digest === question.digest ? [...question.votes, vote] : [vote]; // edited: whoever said yes before said it to something else
  const now: Question = {
    ...question,
    about: e.about ?? question.about,
    digest: e.digest,
    votes,
    answer: isAnswered(question.asks, votes) ? answer : null,
  };
  t.questions.set(e.approval, now);
  const call = callOf(t, question.action);
  if (answer.kind === "edit" && call !== null) {
    call.edited = answer.args;
    if (call.starts > 0) call.edition += 1;
  }
  if (now.answer === null) return; // not yet enough people
  if (answer.kind === "grant" && call !== null) remember(s, t, now, call, e);
  const good: Answered = now;
  setGated(t, question.action, { kind: "undecided", answered: good });
}

/** Given on its own stream once this is durable: grants outlive the session, and are listed and revoked there. */
function remember(s: State, t: Turn, q: Question, call: Call, e: Of<"approval.answered">): void {
  if (e.answer.kind !== "grant") return;
  const { scope, until } = e.answer.grant;
  const about = q.about;
  s.grantsDue.push({
    kind: "grant.given",
    grant: grantId(`g_${s.session.slice(2)}_${q.approval}`),
    by: e.by,
    agent: s.agent.name,
    onBehalfOf: actingFor(s),
    tool: nameOf(call),
    toolDigest: q.toolDigest,
    scope,
    resource: about,
    digest: q.digest,
    slice: q.slice,
    policies: q.asks.map((a) => a.policy),
    session: typeof until === "number" ? null : s.session,
    turn: until === "turn" ? t.number : null,
    until: typeof until === "number" ? until : null,
    targets: q.targets,
    labels: q.labels,
    survives: survivesAll(q.asks),
  });
}

/** Used up by the commit that starts the call; what a lost process leaves of that call is covered by it still. */
export function consumed(t: Turn, e: Of<"approval.consumed">): void {
  const call = callOf(t, e.action);
  if (call !== null) call.leave = t.questions.get(e.approval) ?? call.leave;
  t.questions.delete(e.approval);
}

export function expired(s: State, t: Turn, e: Of<"approval.expired">): void {
  const question = t.questions.get(e.approval);
  if (question === undefined || question.answer !== null) return;
  t.answeredLast = true;
  if (e.result === "halt") t.halt = { by: { kind: "system", id: "expiry" }, reason: `question ${e.approval} expired unanswered` };
  refused(s, t, { ...question, answer: { kind: "deny", reason: "expired" } }, "expiry", "nobody answered in time");
}

function refused(s: State, t: Turn, question: Question, by: Extract<Verdict, { kind: "deny" }>["by"], reason: string): void {
  t.questions.set(question.approval, question);
  const because = question.asks.map((a) => a.policy);
  setGated(t, question.action, { kind: "denied", verdict: { kind: "deny", by, because, faults: [], reason } });
  const call = callOf(t, question.action);
  if (call !== null) {
    refusedAgain(call, by === "expiry" ? by : "person", reason);
    settle(s, t);
  } else if (t.answer !== null && actionKind(question.action) === "respond") refuseAnswer(s, t, { by, reason });
}

/** An answer that was given and not yet used is still good; it is checked again when the action is. */
export function reopened(t: Turn, gated: Gated): Gated {
  if (gated.kind === "asked" || gated.kind === "undecided" || gated.kind === "deferred") return gated;
  return { kind: "undecided", answered: answeredOf(t, gated) };
}

/** The answer an action stands on, as long as it is not used up: also while its call waits for a place. */
export function answeredOf(t: Turn, gated: Gated): Answered | null {
  if (gated.kind === "undecided") return gated.answered;
  const approval = gated.kind === "allowed" && gated.decided.verdict.kind === "allow" ? gated.decided.verdict.approval : null;
  return [...t.questions.values()].find((q) => q.approval === approval && q.answer !== null) ?? null;
}

// ── finding one's way ──

export const callOf = (t: Turn, action: ActionText): Call | null => t.calling.find((c) => (c.proposed.id as string) === action) ?? null;

export function gatedOf(t: Turn, action: ActionText): Gated | null {
  switch (actionKind(action)) {
    case "model":
      return t.model;
    case "respond":
      return t.respond;
    case "summary":
      return t.summary.gated;
    case "recall":
      return t.recall.gated;
    case "remember":
      return t.keep.gated;
    case "call":
      return callOf(t, action)?.gated ?? null;
    case "reconcile":
      return null; // an old unknown has its own place in the state
  }
}

function setGated(t: Turn, action: ActionText, gated: Gated): void {
  switch (actionKind(action)) {
    case "model":
      t.model = gated;
      return;
    case "respond":
      t.respond = gated;
      return;
    case "summary":
      t.summary = { ...t.summary, gated };
      return;
    case "recall":
      t.recall = { ...t.recall, gated };
      return;
    case "remember":
      t.keep = { ...t.keep, gated };
      return;
    case "call": {
      const call = callOf(t, action);
      if (call !== null) call.gated = gated;
      return;
    }
    case "reconcile":
      return;
  }
}

/** A decided `allow` is counted at once, so that the next decision of the same reply already sees it. */
export function countVotes(s: State, t: Turn, call: Call, by: 1 | -1): void {
  const tool = nameOf(call);
  s.counted += 1;
  t.allowedCalls.set(tool, (t.allowedCalls.get(tool) ?? 0) + by);
  s.allowedCalls.set(tool, (s.allowedCalls.get(tool) ?? 0) + by);
}
