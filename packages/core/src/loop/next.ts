/**
 * START READING HERE. One session, one turn: what comes now, as a function of what has happened.
 *
 *   reason ──▶ gate ──▶ (ask a person) ──▶ act ──▶ observe ──▶ reason …                 `drive.ts` performs these moves,
 *   model.replied  gate.decided  approval.asked  act.started, act.ended                   `evolve.ts` folds what came of them
 *
 * L-1 every call of a reply is decided before any of them runs. L-2 no more than `toolsAtOnce` run at once.
 * L-3 a limit of N iterations is N model calls; the calls of the Nth still run. L-4 every turn ends exactly once, whatever happens.
 * No clock, no I/O, no tools in here: resume, the cluster, the tests and the what-if tools all ask this same function.
 * Observing is not a move: once every call of a reply is settled, the fold itself puts the results into the conversation, in call order.
 */
import { type ActionId, type Compacting, canonical, count, type Ending, type Millis } from "../vocab/index.ts";
import { isBeaten } from "./calls/race.ts";
import { isAgain, isResting, isToRecover } from "./calls/recovery-state.ts";
import { account, outOfMoney, overBilled, payable, remaining, remainingMs, requestTokens, roomForOutput } from "./limits/budgets.ts";
import { recallAction } from "./memory/recall.ts";
import { keepAction, learntIn } from "./memory/remember-state.ts";
import { compaction } from "./model/context.ts";
import { isModelResting } from "./model/retry.ts";
import { isStuck } from "./model/stuck-model.ts";
import { type HeldBack, NOTHING_HELD } from "./people/halts.ts";
import {
  type Call,
  type FollowUp,
  type Gated,
  isDelegated,
  isSettled,
  nameOf,
  type Question,
  type State,
  type Turn,
  type Unknown,
} from "./state.ts";

export type Move =
  | { readonly kind: "gate"; readonly action: ActionId }
  | { readonly kind: "question"; readonly action: ActionId } // put to people; the session then waits for one of them
  | { readonly kind: "act"; readonly call: Call } // for the first time, or again after its hold was lost
  | { readonly kind: "follow"; readonly call: Call } // a delegate is at work: drive it on, or wait for whoever does
  | { readonly kind: "call-off"; readonly call: Call } // a delegate that raced with another, which was first
  | { readonly kind: "reconcile"; readonly call: Call } // ask the tool what became of it
  | { readonly kind: "recover"; readonly call: Call } // it failed: pick what is done about it
  | { readonly kind: "give-up"; readonly call: Call } // nobody can tell: `unknown`
  | { readonly kind: "settle"; readonly unknown: Unknown } // a person wants the tool asked about an old unknown
  | { readonly kind: "expire"; readonly question: Question } // by due time, not by when a timer ran
  | { readonly kind: "compact"; readonly how: Exclude<Compacting, "summarise"> } // what is shown of the conversation, before the model is asked
  | { readonly kind: "summarise" } // a model call of its own
  | { readonly kind: "check-output" } // whether the answer is what was asked for
  | { readonly kind: "recall" } // what is known that may help
  | { readonly kind: "ask-model" }
  | { readonly kind: "keep" } // what the turn has come to
  | { readonly kind: "stop"; readonly ending: Ending } // what is in flight, really
  | { readonly kind: "start"; readonly followUp: FollowUp } // the next turn, by what was said to follow this one
  | { readonly kind: "wait" } // for a person
  | { readonly kind: "end"; readonly ending: Ending; readonly output: string | null; readonly detail: string | null };

/** No moves: nothing to do here and now, because a call or the model is in flight, or because there is no turn. */
export function next(s: State, now: Millis, held: HeldBack = NOTHING_HELD): readonly Move[] {
  const t = s.turn;
  const moves = t === null ? movesOfRest(s) : movesOfTurn(s, t, now, held);
  return s.unknowns.size === 0 ? moves : [...movesOfUnknowns(s), ...moves];
}

function movesOfRest(s: State): readonly Move[] {
  const [followUp] = s.followUps;
  return followUp === undefined || s.closed ? [] : [{ kind: "start", followUp }];
}

function movesOfTurn(s: State, t: Turn, now: Millis, held: HeldBack): readonly Move[] {
  const stop = mustStop(s, t, now);
  if (stop !== null) return stopping(t, stop);
  const expired = t.questions.size === 0 ? [] : [...t.questions.values()].filter((q) => isExpired(q, now));
  if (expired.length > 0) return expired.map((question) => ({ kind: "expire", question }));
  if (held.turn !== null) return [...following(t), { kind: "wait" }]; // for whoever lifts the halt
  if (t.asking !== null) return [];
  if (t.finish === "refused" || t.finish === "filtered") return [end(t, t.finish, null)]; // what such a reply asks for is not done
  if (t.calling.length > 0) return movesOfCalls(s, t, now, held);
  const isUp = (gated: Gated) => isDue(gated, s, now);
  if (t.answer !== null) return movesOfAnswer(s, t, t.answer, isUp);
  if (isModelResting(t, now)) return []; // the driver waits
  const over = ended(s, t);
  if (over !== null) return keptFirst(s, t, over, isUp);
  const fitting = movesToFit(s, t, isUp) ?? movesToRecall(s, t, isUp);
  if (fitting !== null) return fitting;
  const short = tooMuch(s, t);
  return short === null ? movesToModel(t, isUp) : [short];
}

const isExpired = (q: Question, now: Millis): boolean => q.answer === null && q.expiresAt !== null && now >= q.expiresAt;

function movesOfUnknowns(s: State): readonly Move[] {
  return [...s.unknowns.values()].flatMap((unknown): readonly Move[] => {
    if (unknown.gated?.kind === "undecided") return [{ kind: "gate", action: { kind: "reconcile", call: unknown.call } }];
    return unknown.gated?.kind === "allowed" ? [{ kind: "settle", unknown }] : [];
  });
}

function movesOfCalls(s: State, t: Turn, now: Millis, held: HeldBack): readonly Move[] {
  const failed = t.calling.filter(isToRecover);
  if (failed.length > 0) return failed.map((call) => ({ kind: "recover", call }));
  const open = t.calling.filter((c) => !isSettled(c) && !isResting(c, now) && held.call(c) === null);
  const hopeless = open.filter((c) => c.run.kind === "lost" && (recovery(c) === "give-up" || c.gated.kind === "denied"));
  if (hopeless.length > 0) return hopeless.map((call) => ({ kind: "give-up", call }));
  const beaten = open.filter((c) => c.run.kind !== "running" && isBeaten(t, c));
  if (beaten.length > 0) return beaten.map((c) => dismissal(t, c));
  const undecided = open.filter((c) => c.run.kind !== "running" && (c.gated.kind === "undecided" || isDue(c.gated, s, now)));
  if (undecided.length > 0) return undecided.map((c) => ({ kind: "gate", action: idOf(c) }));
  const questions = open.filter((c) => c.gated.kind === "to-ask").map((c): Move => ({ kind: "question", action: idOf(c) }));
  if (questions.length > 0) return questions;

  const running = open.filter((c) => c.run.kind === "running");
  const ready = open.filter((c) => c.gated.kind === "allowed" && c.run.kind !== "running");
  const places = Math.max(0, t.limits.toolsAtOnce - running.length);
  const lost = ready.filter((c) => c.starts > 0 && !isAgain(c)); // these have started: no limit may leave them untold
  const fresh = ready.filter((c) => c.starts === 0 || isAgain(c));
  const within = fresh.slice(0, remaining(s, t, now).calls);
  const starting = payable(s, t, [...lost, ...within], isAsked).slice(0, places);
  if (starting.length > 0) return [...following(t), ...starting.map((call): Move => ({ kind: isAsked(call) ? "reconcile" : "act", call }))];
  if (running.length > 0) return following(t);
  if (lost.length > 0) return lost.map((call) => ({ kind: "give-up", call })); // there is no money to run it again
  const [dear] = within;
  const isLater = (c: Call): boolean => c.gated.kind === "asked" || c.gated.kind === "deferred" || held.call(c) !== null;
  const later = t.calling.filter((c) => isResting(c, now) || (!isSettled(c) && isLater(c)));
  if (dear !== undefined && payable(s, t, later, isAsked).length > 0) return [{ kind: "wait" }]; // what there is money for runs first
  if (dear !== undefined) return ending(t, outOfMoney(s, t, nameOf(dear)));
  if (fresh.length > 0) return ending(t, { ending: "out-of-calls", detail: `${count(t.limits.calls, "call was", "calls were")} started` });
  return [{ kind: "wait" }];
}

const following = (t: Turn): readonly Move[] =>
  t.calling.filter(isDelegated).map((call) => ({ kind: isBeaten(t, call) ? "call-off" : "follow", call }));

/** It has not started and is not to: its contract refuses it now, and a question about it has nothing left to ask. */
function dismissal(t: Turn, c: Call): Move {
  const { gated } = c;
  const question = gated.kind === "asked" ? t.questions.get(gated.approval) : undefined;
  return question === undefined || question.answer !== null
    ? { kind: "gate", action: idOf(c) }
    : { kind: "expire", question: { ...question, onExpiry: "deny" } };
}

/** Lost, or failed and about to run again: a tool that can be asked is asked whether it happened. That is free. */
const isAsked = (c: Call): boolean =>
  c.run.kind === "lost" ? recovery(c) === "reconcile" : c.run.kind === "failed" && c.mending?.stage === "ask-tool";

/** Something a decision may read has changed, or its time is up (the gate is asked once more, and a further defer then denies). */
const isDue = (gated: Gated, s: State, now: Millis): boolean =>
  gated.kind === "deferred" && (now >= gated.due || s.changes + s.counted > gated.seen);

/** A reply without calls. `respond` was decided before the model was asked: on labels and recipient, never on the text. */
function movesOfAnswer(s: State, t: Turn, text: string, isUp: IsUp): readonly Move[] {
  if (t.output !== null && t.fits === null) return [{ kind: "check-output" }];
  const first = decide(t.respond, { kind: "respond", iteration: t.iterations }, isUp);
  if (first !== null) return first;
  if (t.respond.kind !== "allowed") return [end(t, "denied", "the answer may not be delivered")];
  const output = t.fits === null ? text : canonical(t.fits.value);
  return keptFirst(s, t, { kind: "end", ending: "completed", output, detail: overBilled(s, t)?.detail ?? null }, isUp);
}

/** A turn that completes is remembered first, where its agent wants that. That it may not be is no reason to end otherwise. */
function keptFirst(s: State, t: Turn, over: Extract<Move, { kind: "end" }>, isUp: IsUp): readonly Move[] {
  if (over.ending !== "completed" || t.keep.stage === "over" || learntIn(s, t) === null) return [over];
  if (t.keep.stage === "keeping") return []; // it is being written
  return decide(t.keep.gated, keepAction(t), isUp) ?? [t.keep.gated.kind === "allowed" ? { kind: "keep" } : over];
}

/** Before a request what is known is looked up, where its agent has knowledge. That it may not be is no reason not to ask. */
function movesToRecall(s: State, t: Turn, isUp: IsUp): readonly Move[] | null {
  if (t.recall.done || (s.agent.knowledge?.maxItems ?? 0) === 0) return null;
  return decide(t.recall.gated, recallAction(t), isUp) ?? (t.recall.gated.kind === "allowed" ? [{ kind: "recall" }] : null);
}

function movesToModel(t: Turn, isUp: IsUp): readonly Move[] {
  const iteration = t.iterations + 1;
  if (t.model.kind === "denied") return [end(t, t.model.verdict.by === "breaker" ? "failed" : "denied", t.model.verdict.reason)];
  const answering: readonly Move[] = t.respond.kind === "undecided" ? [{ kind: "gate", action: { kind: "respond", iteration } }] : [];
  return [...answering, ...(decide(t.model, { kind: "model", iteration }, isUp) ?? [{ kind: "ask-model" }])];
}

/** Before a request its conversation is made to fit. */
function movesToFit(s: State, t: Turn, isUp: IsUp): readonly Move[] | null {
  const how = compaction(s, t);
  if (how === null) return null;
  if (how !== "summarise") return [{ kind: "compact", how }];
  return decide(t.summary.gated, { kind: "summary", iteration: t.iterations + 1 }, isUp) ?? [{ kind: "summarise" }];
}

type IsUp = (gated: Gated) => boolean;

/** What an action still needs before it may go ahead; null when it may. A denial is dealt with where it matters. */
function decide(gated: Gated, action: ActionId, isUp: IsUp): readonly Move[] | null {
  switch (gated.kind) {
    case "undecided":
      return [{ kind: "gate", action }];
    case "to-ask":
      return [{ kind: "question", action }];
    case "asked":
      return [{ kind: "wait" }];
    case "deferred":
      return [isUp(gated) ? { kind: "gate", action } : { kind: "wait" }];
    case "allowed":
    case "denied":
      return null;
  }
}

/** Reasons to end between two iterations; the limits, each with its own ending. */
function ended(s: State, t: Turn): Extract<Move, { kind: "end" }> | null {
  if (t.over && t.output === null) return end(t, "completed", null);
  if (t.refusedInARow >= t.limits.refusedInARow) return end(t, "denied", `${t.refusedInARow} replies in a row had every call refused`);
  if (isStuck(t)) return end(t, "failed", `${t.silent} replies in a row had neither an answer nor a call`);
  const { settled, reserved } = account(s, t);
  if (settled.iterations + reserved.iterations >= t.limits.iterations)
    return end(t, "out-of-iterations", `${t.limits.iterations} model calls were made`);
  if (t.noModel) return end(t, "failed", t.modelError);
  return null;
}

/** What must stay is more than the model may be shown, or than can be paid. */
function tooMuch(s: State, t: Turn): Move | null {
  const { contextTokens } = t.limits;
  if (requestTokens(s) > contextTokens)
    return end(
      t,
      "out-of-tokens",
      `instructions, task and the newest message need ${requestTokens(s)} tokens, and contextTokens is ${contextTokens}`,
    );
  const { short } = roomForOutput(s, t);
  return short === null ? null : end(t, short.ending, short.detail);
}

type Stop = { readonly ending: Ending; readonly detail: string | null };

function mustStop(s: State, t: Turn, now: Millis): Stop | null {
  if (t.halt !== null) return { ending: "halted", detail: t.halt.reason };
  if (t.cancel !== null) return { ending: "cancelled", detail: t.cancel.reason };
  if (t.failure !== null) return { ending: "failed", detail: t.failure };
  if (remainingMs(s, t, now) <= 0) return { ending: "timed-out", detail: `${t.limits.turnMs} ms of work` };
  if (t.broken !== null) {
    const { middleware, stage, error } = t.broken;
    return { ending: "failed", detail: `middleware \`${middleware}\` failed (${stage}): ${error}` };
  }
  return t.answer === null ? overBilled(s, t) : null; // to deliver an answer begins nothing
}

function stopping(t: Turn, stop: Stop): readonly Move[] {
  const isFlying = t.asking !== null || t.calling.some((c) => c.run.kind === "running");
  return isFlying ? [{ kind: "stop", ending: stop.ending }, ...following(t)] : ending(t, stop);
}

/** What has started is told of before its turn ends, also when it waits for a person. */
function ending(t: Turn, stop: Stop): readonly Move[] {
  const lost = t.calling.filter((c) => c.run.kind === "lost");
  return lost.length > 0 ? lost.map((call) => ({ kind: "give-up", call })) : [end(t, stop.ending, stop.detail)];
}

/** An early ending keeps what the model has said so far. */
const end = (t: Turn, ending: Ending, detail: string | null): Extract<Move, { kind: "end" }> => ({
  kind: "end",
  ending,
  output: sofar(t),
  detail,
});
const sofar = (t: Turn): string | null => (t.aside === "" ? null : t.aside);

/** Rule 4, for a call whose hold was lost. It is not started for ever: what brought the process down may be the call itself. */
export function recovery(c: Call): "again" | "reconcile" | "give-up" {
  if (c.starts - c.retries >= MAX_STARTS) return "give-up";
  switch (c.repeat) {
    case "read":
    case "idempotent":
      return "again";
    case "reconcile":
      return "reconcile";
    case "once":
    case null:
      return "give-up";
  }
}
export const MAX_STARTS = 3;

export const idOf = (c: Call): ActionId => ({ kind: "call", call: c.proposed.id });
