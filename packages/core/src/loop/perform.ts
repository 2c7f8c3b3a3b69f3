/** The moves that stay in the process: their events go with the next commit. `perform` returns true when it recorded an event; the moves are then chosen again. */
import { expiryTime } from "../gate/approvals.ts";
import { AwaitsGate } from "../gate/late.ts";
import {
  type ActionId,
  findAgentHalt,
  type GateDecided,
  type Limits,
  type Outcome,
  printActionId,
  toCanonicalJson,
} from "../vocab/index.ts";
import { doubtEvents } from "./calls/make-records.ts";
import { MAX_STARTS } from "./calls/next-calls.ts";
import { newLabelEvents } from "./calls/start-call.ts";
import type { SessionCommits } from "./commit.ts";
import { consume, type EffectContext } from "./effect-context.ts";
import type { Announcer } from "./effects.ts";
import { approvalDigest, isDoubtedAsBefore, type Judge } from "./judge.ts";
import type { Stops } from "./limits/abort-scopes.ts";
import { costOfTurn, settlement } from "./limits/budgets.ts";
import { RECALLING } from "./memory/recall.ts";
import { BEFORE_MODEL } from "./model/before-model.ts";
import { compactedEvent } from "./model/context.ts";
import { checkOutput } from "./model/structured-output.ts";
import type { EndMove, GiveUpReason, Move } from "./moves.ts";
import { findGated } from "./people/approval-state.ts";
import { lapsedGrant, toShownTargets } from "./people/grants.ts";
import { type Call, type FollowUp, runningTool, stricter, type Turn, toActionId } from "./state.ts";

export type Performing = Readonly<{
  c: EffectContext;
  decide: Judge;
  commits: SessionCommits;
  announcer: Announcer;
  stop: Stops;
  limits: Limits;
  cancel: AbortSignal;
}>;

/** A move whose gate answers later is not launched: it is decided again, on the facts of then, once the answer is there. */
export function performOrAwait(at: Performing, move: Move): boolean | "awaited" {
  try {
    return perform(at, move);
  } catch (error) {
    if (!(error instanceof AwaitsGate)) throw error;
    return "awaited";
  }
}

function perform(at: Performing, move: Move): boolean {
  const { c, announcer, stop } = at;
  const t = c.s.turn;
  if (move.kind === "gate") {
    recordDecision(at, at.decide(c.s, t, move.action));
    return true;
  }
  if (move.kind === "start") return startTurn(at, move.followUp);
  if (t === null) return false;
  switch (move.kind) {
    case "question":
      return requestApproval(c, t, move.action);
    case "expire":
      c.record({ kind: "approval.expired", approval: move.question.approval, result: move.question.onExpiry });
      return true;
    case "recover":
      return recover(c, t, move.call);
    case "give-up":
      giveUp(c, move.call, move.why);
      return true;
    case "end":
      return endTurn(at, t, move);
    case "act":
    case "reconcile":
      return reconsiderCall(at, t, move.call);
    case "stop":
      stop.stopTurn(move.ending);
      return false;
    case "compact":
      return recordIfAny(c, compactedEvent(c.p, c.s, t, move.how));
    case "check-output":
      return recordIfAny(c, checkOutput(c.p, t));
    case "recall":
      return announcer.recall(t);
    case "ask-model":
      return reconsiderModel(at, t) || reconsiderAnswer(at, t) || announcer.prepare(t);
    case "summarise":
    case "keep":
    case "reconcile-unknown":
    case "follow":
    case "call-off":
    case "wait":
      return false;
  }
}

function recordIfAny(c: EffectContext, event: Parameters<EffectContext["record"]>[0] | null): boolean {
  if (event !== null) c.record(event);
  return event !== null;
}

/** Policies can be replaced while a turn runs. The session then names the new set before the first decision made under it (J-27). */
function recordDecision({ c }: Performing, decided: GateDecided): void {
  const policies = c.p.gate.digest;
  if (policies !== c.s.agent.policies) c.record({ kind: "agent.changed", agent: { ...c.s.agent, policies } });
  c.record(decided);
}

/** A queued message starts the next turn, unless the driver was cancelled or work is halted. */
function startTurn({ c, limits, cancel }: Performing, { text: input, files, by, intent }: FollowUp): boolean {
  const { p, s } = c;
  if (cancel.aborted || findAgentHalt(p.orders.now(), s.agent.name) !== null) return false;
  c.record({ kind: "turn.started", turn: s.turns + 1, input, files, by, limits, intent });
  return true;
}

/** Ends the turn. Middleware or a search that is still at its next request is aborted first, and the turn ends when it has stopped. */
function endTurn({ c, announcer, stop }: Performing, t: Turn, { ending, output, detail }: EndMove): boolean {
  if (c.isInFlight(BEFORE_MODEL)) {
    announcer.abandon(ending);
    return false;
  }
  if (c.isInFlight(RECALLING)) {
    stop.stopTurn(ending);
    return false;
  }
  if (ending === "completed" && t.respond.kind === "allowed")
    consume(c, { ...t.respond.decided, id: printActionId({ kind: "respond", iteration: t.iterations }) });
  const { number: turn, usage, lost, iterations, calls } = t;
  const activeMs = t.activeMs + Math.max(0, c.time() - c.s.at);
  c.record({ kind: "turn.ended", turn, ending, output, detail, usage, lost, micros: costOfTurn(c.s, t), iterations, calls, activeMs });
  return true;
}

function requestApproval({ p, s, time, record }: EffectContext, t: Turn, id: ActionId): boolean {
  const action = printActionId(id);
  const gated = findGated(t, action);
  if (gated?.kind !== "to-ask") return false;
  const { decided, asks, again } = gated;
  const digest = approvalDigest(t, decided.action, decided.digest, p.hash);
  const { expiresAt } = expiryTime(asks, time());
  const why = again ?? lapsedGrant({ p, s, t, now: time() }, decided);
  const targets = toShownTargets(p, decided.action);
  record({
    kind: "approval.asked",
    approval: p.ids.approval(),
    action,
    digest,
    asks,
    expiresAt,
    again: why,
    ...(targets === null ? {} : { targets }),
    labels: [...s.labels].sort(),
    subject: s.subject?.id ?? null,
  });
  return true;
}

/** False when a cached result has to be read first: that leaves the process. */
function recover(c: EffectContext, t: Turn, call: Call): boolean {
  const choice = c.chooseFor(t, call);
  if (choice?.kind !== "apply") return false;
  if (isLeftUndone(call, choice.event.strategy))
    for (const event of doubtEvents(c, call.proposed.id, call.run.decided.action, "named")) c.record(event);
  c.record(choice.event);
  return true;
}

type Failed = Call & { readonly run: Extract<Call["run"], { kind: "failed" }> };
/** A tool that would be asked before it runs again, and that is not run again: nobody has asked how much of its work is done. */
const isLeftUndone = (call: Call, strategy: string): call is Failed =>
  call.run.kind === "failed" && call.repeat === "reconcile" && strategy !== "retry";

/** A lost call ends `unknown`; a lost read ends `failed`, because it had no effect. */
function giveUp(c: EffectContext, call: Call, why: GiveUpReason): void {
  const { p, s } = c;
  const detail = `the process that ran it ended before it could report the outcome; ${NOT_RUN_AGAIN[why]}`;
  const id = call.proposed.id;
  const outcome: Outcome =
    call.repeat === "read" ? { kind: "failed", error: `hold-lost: ${detail}` } : { kind: "unknown", cause: "hold-lost", detail };
  const tool = p.tools.find(runningTool(call));
  for (const event of tool === null ? [] : newLabelEvents(s, tool, id)) c.record(event); // its outcome may still come late
  if (outcome.kind !== "unknown") for (const event of settlement(s, id, runningTool(call), null)) c.record(event);
  const action = call.run.kind === "lost" ? call.run.decided.action : null;
  if (outcome.kind === "unknown") for (const event of doubtEvents(c, id, action, "any")) c.record(event);
  const evidence = { durationMs: 0, starts: call.starts, proof: null };
  c.record({ kind: "act.ended", call: id, outcome, evidence, endsTurn: false, recovering: outcome.kind === "failed" });
}

const NOT_RUN_AGAIN: Readonly<Record<GiveUpReason, string>> = {
  "not-repeatable": "its tool may not be run twice",
  "tool-changed": "its tool is gone or may no longer be repeated",
  "too-many-starts": `it was started ${MAX_STARTS} times`,
  denied: "running it again was denied",
  "out-of-money": "no money is left to run it again",
  "turn-ends": "its turn ended",
};

/**
 * A call that waited for a place, or for its process to come back, is checked again right before it starts:
 * it is decided again when something its decision read has changed, and given up when its tool may no longer be repeated as it was.
 */
function reconsiderCall(at: Performing, t: Turn, call: Call): boolean {
  const { c, commits } = at;
  const { p, s } = c;
  if (call.gated.kind !== "allowed") return false;
  const tool = p.tools.find(runningTool(call));
  if (call.run.kind === "lost" && (tool === null || stricter(call.repeat ?? "once", tool.repeat) !== call.repeat)) {
    giveUp(c, call, "tool-changed");
    return true;
  }
  const before = call.gated.decided;
  const action = printActionId(toActionId(call));
  const isCurrent =
    before.action.kind !== "delegate" && // whether there is budget for it changes with every event
    commits.isCurrent(action) &&
    p.gate.digest === s.agent.policies;
  if (isCurrent && isDoubtedAsBefore(p, s, before)) return false;
  commits.markStale(action);
  const now = at.decide(s, t, toActionId(call));
  commits.markCurrent(action);
  if (isSame(now, before)) return false;
  commits.withdraw(action);
  recordDecision(at, now);
  return true;
}

/** The decision to deliver an answer is made again before every request, and recorded when it differs from the one on record. */
function reconsiderAnswer(at: Performing, t: Turn): boolean {
  if (t.respond.kind !== "allowed") return false;
  const now = at.decide(at.c.s, t, { kind: "respond", iteration: t.iterations + 1 });
  if (isSame(now, t.respond.decided)) return false;
  recordDecision(at, now);
  return true;
}

function reconsiderModel(at: Performing, t: Turn): boolean {
  const { c, commits } = at;
  if (t.model.kind !== "allowed") return false;
  const before = t.model.decided;
  if (commits.isCurrent(before.id) && c.p.gate.digest === c.s.agent.policies) return false;
  commits.markStale(before.id);
  const now = at.decide(c.s, t, { kind: "model", iteration: t.iterations + 1 });
  commits.markCurrent(before.id);
  if (isSame(now, before)) return false;
  commits.withdraw(before.id);
  recordDecision(at, now);
  return true;
}

/** The same verdict (and the approval or grant behind it), policies, action and facts. */
const isSame = (a: GateDecided, b: GateDecided): boolean =>
  a.slice === b.slice && a.digest === b.digest && isAlike(a.verdict, b.verdict) && isAlike(a.read, b.read);
/** A gate that caches its decisions returns the same objects again. */
const isAlike = (a: object, b: object): boolean => a === b || toCanonicalJson(a) === toCanonicalJson(b);
