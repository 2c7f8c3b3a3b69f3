import { expiryTime, findSurvivingLabels } from "../../gate/approvals.ts";
import { applyEdits } from "../../gate/request.ts";
import {
  type ActionText,
  actionKind,
  type GateDecided,
  grantId,
  hasQuorum,
  isRefusal,
  millis,
  principalName,
  type Resource,
  toCallSubject,
  type Verdict,
  type Vote,
} from "../../vocab/index.ts";
import { type Answered, type ApprovalQuestion, type Call, type Gated, runningTool, UNDECIDED } from "../calls/call.ts";
import { dropStrategy, foldRefusedRetry } from "../calls/evolve.ts";
import type { EventOf } from "../fold-parts.ts";
import { refuseAnswer, settleReply } from "../model/evolve-conversation.ts";
import { foldRepeat } from "../model/evolve-reply.ts";
import { actingFor, answerIn, type State, type Turn } from "../state.ts";
import { findAnswered, findCall, findGated } from "./approval-state.ts";
/** The fold of decisions and approvals: where each action stands with the gate and with people. */
export function foldDecided(s: State, t: Turn, e: GateDecided, at: number): void {
  const before = findGated(t, e.id);
  const after = toGated(s, e, { before, answered: before === null ? null : findAnswered(t, before), at });
  const call = findCall(t, e.id);
  if (call !== null && after.kind !== "allowed") call.entry = s.seq;
  if (call !== null) foldRepeat(s, t, call, e);
  if (call !== null && call.starts === 0) {
    if (before?.kind === "allowed") countAllowed(s, t, call, -1);
    if (after.kind === "allowed") countAllowed(s, t, call, 1);
  }
  setGated(t, e.id, after);
  if (call !== null && after.kind === "denied") dropStrategy(call);
  if (call !== null && e.verdict.kind === "modify" && e.action.kind === "call" && e.action.args !== null) {
    call.edited = applyEdits(e.action.args, e.verdict.edits);
    call.modified = true;
  }
  if (call !== null) settleReply(s, t);
  else if (e.action.kind === "respond" && answerIn(t) !== null && after.kind === "denied") refuseAnswer(s, t, after.verdict);
}

type Before = Readonly<{ before: Gated | null; answered: Answered | null; at: number }>;

function toGated(s: State, e: GateDecided, { before, answered, at }: Before): Gated {
  switch (e.verdict.kind) {
    case "allow":
      return { kind: "allowed", decided: e };
    case "deny":
      return { kind: "denied", verdict: e.verdict };
    case "ask":
      return { kind: "to-ask", decided: e, asks: e.verdict.asks, again: whyAgain(s, e, answered) };
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
function whyAgain(s: State, e: GateDecided, answered: Answered | null): string | null {
  if (answered === null || e.verdict.kind !== "ask") return null;
  if (answered.subject !== (s.subject?.id ?? null)) return "the session serves another subject by now";
  if (answered.slice !== e.slice) return "the policies that can decide it have changed";
  const news = e.verdict.asks.filter((a) => !answered.asks.some((b) => b.policy === a.policy));
  return news.length > 0 ? `${news.map((a) => a.policy).join(", ")} asks too` : "it is not what was answered";
}

export function foldRequested(s: State, t: Turn, e: EventOf<"approval.asked">, at: number): void {
  const gated = findGated(t, e.action);
  if (gated?.kind !== "to-ask") return;
  const { approval, action, digest, asks, expiresAt } = e;
  const { onExpiry } = expiryTime(asks, millis(at));
  t.questions.set(approval, {
    approval,
    action,
    digest,
    slice: gated.decided.slice,
    asks,
    about: aboutOf(gated.decided),
    targets: e.targets ?? null,
    labels: e.labels ?? [...s.labels].sort(),
    subject: e.subject === undefined ? (s.subject?.id ?? null) : e.subject,
    toolDigest: toCallSubject(gated.decided.action)?.toolDigest ?? null,
    expiresAt,
    onExpiry,
    votes: [],
    answer: null,
    answeredAt: null,
  });
  setGated(t, action, { kind: "asked", approval });
}

const aboutOf = ({ action, id }: GateDecided): Resource => toCallSubject(action)?.resource ?? { type: "Action", id };

export function foldAnswered(s: State, t: Turn, e: EventOf<"approval.answered">): void {
  const question = t.questions.get(e.approval);
  if (question === undefined || question.answer !== null) return;
  t.answeredLast = true;
  const { answer } = e;
  if (isRefusal(answer)) {
    const why = answer.reason === "" ? "no reason given" : answer.reason;
    foldRefused(
      s,
      t,
      { ...question, answer },
      {
        by: "person",
        reason: answer.kind === "withdraw" ? `withdrawn by who asked for it: ${why}` : why,
      },
    );
    return;
  }
  const vote: Vote = { by: principalName(e.by), counts: e.counts, grant: answer.kind === "grant" ? answer.grant : null };
  const votes = e.digest === question.digest ? [...question.votes, vote] : [vote]; // edited: whoever said yes before said it to something else
  const now: ApprovalQuestion = {
    ...question,
    about: e.about ?? question.about,
    digest: e.digest,
    votes,
    answer: hasQuorum(question.asks, votes) ? answer : null,
    answeredAt: s.at,
  };
  t.questions.set(e.approval, now);
  const call = findCall(t, question.action);
  if (answer.kind === "edit" && call !== null) {
    call.edited = answer.args;
    if (call.starts > 0) call.edition += 1;
  }
  if (now.answer === null) return; // not yet enough people
  if (answer.kind === "grant" && call !== null) dueGrant(s, t, e, { question: now, call });
  const good: Answered = now;
  setGated(t, question.action, { kind: "undecided", answered: good });
}

/** Given on its own stream once this is durable: grants outlive the session, and are listed and revoked there. */
function dueGrant(
  s: State,
  t: Turn,
  e: EventOf<"approval.answered">,
  { question: q, call }: Readonly<{ question: ApprovalQuestion; call: Call }>,
): void {
  if (e.answer.kind !== "grant") return;
  const { scope, until } = e.answer.grant;
  const about = q.about;
  s.grantsDue.push({
    kind: "grant.given",
    grant: grantId(`g_${s.session.slice(2)}_${q.approval}`),
    by: e.by,
    agent: s.agent.name,
    onBehalfOf: actingFor(s),
    tool: runningTool(call),
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
    survives: findSurvivingLabels(q.asks),
    subject: q.subject,
  });
}

/** Used up by the commit that starts the call; what a lost process leaves of that call is covered by it still. */
export function foldConsumed(t: Turn, e: EventOf<"approval.consumed">): void {
  const call = findCall(t, e.action);
  if (call !== null) call.usedAnswer = t.questions.get(e.approval) ?? call.usedAnswer;
  t.questions.delete(e.approval);
}

export function foldExpired(s: State, t: Turn, e: EventOf<"approval.expired">): void {
  const question = t.questions.get(e.approval);
  if (question === undefined || question.answer !== null) return;
  t.answeredLast = true;
  if (e.result === "halt") t.halt = { by: { kind: "system", id: "expiry" }, reason: `approval request ${e.approval} expired unanswered` };
  foldRefused(s, t, { ...question, answer: { kind: "deny", reason: "expired" } }, { by: "expiry", reason: "nobody answered in time" });
}

function foldRefused(
  s: State,
  t: Turn,
  question: ApprovalQuestion,
  { by, reason }: Pick<Extract<Verdict, { kind: "deny" }>, "by" | "reason">,
): void {
  t.questions.set(question.approval, question);
  const because = question.asks.map((a) => a.policy);
  setGated(t, question.action, { kind: "denied", verdict: { kind: "deny", by, because, faults: [], reason } });
  const call = findCall(t, question.action);
  if (call !== null) {
    foldRefusedRetry(call, by === "expiry" ? by : "person", reason);
    settleReply(s, t);
  } else if (answerIn(t) !== null && actionKind(question.action) === "respond") refuseAnswer(s, t, { by, reason });
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
      const call = findCall(t, action);
      if (call !== null) call.gated = gated;
      return;
    }
    case "reconcile":
      return;
  }
}

/** A decided `allow` is counted at once, so that the next decision of the same reply already sees it. */
export function countAllowed(s: State, t: Turn, call: Call, by: 1 | -1): void {
  const tool = runningTool(call);
  s.counted += 1;
  t.allowedCalls.set(tool, (t.allowedCalls.get(tool) ?? 0) + by);
  s.allowedCalls.set(tool, (s.allowedCalls.get(tool) ?? 0) + by);
}
