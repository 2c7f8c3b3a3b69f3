/**
 * START READING HERE. The moves that come now, as a function of the events so far. No clock, no I/O, no tools: resume, tests and what-if tools ask it too.
 *
 *   preparing ──▶ asking ──┬──▶ calling ──▶ preparing …     `drive.ts` performs these moves and appends the events they lead to,
 *   a request     a reply  └──▶ answering ──▶ the turn ends  `evolve.ts` folds those events into the next state
 *
 * L-1 every call of a reply is decided before any of them runs. L-2 no more than `toolsAtOnce` run at once.
 * L-3 a limit of N iterations is N model calls; the tool calls of the last reply still run. L-4 every turn ends exactly once, whatever happens.
 * Observing is no move: once every call of a reply is settled, the fold puts the results into the conversation, in call order.
 */
import type { Millis } from "../vocab/index.ts";
import { followDelegates, nextForCalls } from "./calls/next-calls.ts";
import { overBilled, remainingMs } from "./limits/budgets.ts";
import { nextForAnswer, nextForRequest } from "./model/next-request.ts";
import { end, endAfterLost, type Move, type Stop, type TurnNow } from "./moves.ts";
import { type HeldBack, NOTHING_HELD } from "./people/halts.ts";
import { callsIn, type State, type Turn } from "./state.ts";

/** No moves: an effect is in flight, or the session has nothing to do. */
export function next(s: State, now: Millis, heldBack: HeldBack = NOTHING_HELD): readonly Move[] {
  const moves = s.turn === null ? nextTurn(s) : nextInTurn({ s, t: s.turn, now, heldBack });
  return s.unknowns.size === 0 ? moves : [...nextForUnknowns(s), ...moves];
}

/** Between turns: a queued message starts the next one. */
function nextTurn(s: State): readonly Move[] {
  const [followUp] = s.followUps;
  return followUp === undefined || s.closed ? [] : [{ kind: "start", followUp }];
}

function nextInTurn(at: TurnNow): readonly Move[] {
  const { s, t, now, heldBack } = at;
  const stop = mustStop(s, t, now);
  if (stop !== null) return stopTurn(t, stop);
  const expired = expiredRequests(t, now);
  if (expired.length > 0) return expired;
  if (heldBack.turn !== null) return [...followDelegates(t), { kind: "wait" }]; // until the halt is lifted
  if (t.finish === "refused" || t.finish === "filtered") return [end(t, t.finish, null)]; // the calls of such a reply do not run
  switch (t.phase.kind) {
    case "preparing":
      return nextForRequest(at);
    case "asking":
      return [];
    case "calling":
      return nextForCalls(at);
    case "answering":
      return nextForAnswer(at, t.phase);
  }
}

/** Reasons to stop a turn at once, whatever it is doing. */
function mustStop(s: State, t: Turn, now: Millis): Stop | null {
  if (t.halt !== null) return { ending: "halted", detail: t.halt.reason };
  if (t.cancel !== null) return { ending: "cancelled", detail: t.cancel.reason };
  if (t.failure !== null) return { ending: "failed", detail: t.failure };
  if (remainingMs(s, t, now) <= 0) return { ending: "timed-out", detail: `${t.limits.turnMs} ms of work` };
  if (t.broken !== null) {
    const { middleware, stage, error } = t.broken;
    return { ending: "failed", detail: `middleware \`${middleware}\` failed (${stage}): ${error}` };
  }
  return t.phase.kind === "answering" ? null : overBilled(s, t); // delivering an answer costs nothing
}

/** Effects in flight are aborted and waited for; then the turn ends. */
function stopTurn(t: Turn, stop: Stop): readonly Move[] {
  const isInFlight = t.phase.kind === "asking" || callsIn(t).some((c) => c.run.kind === "running");
  return isInFlight ? [{ kind: "stop", ending: stop.ending }, ...followDelegates(t)] : endAfterLost(t, stop);
}

function expiredRequests(t: Turn, now: Millis): readonly Move[] {
  if (t.questions.size === 0) return [];
  const expired = [...t.questions.values()].filter((q) => q.answer === null && q.expiresAt !== null && now >= q.expiresAt);
  return expired.map((question) => ({ kind: "expire", question }));
}

/** Calls of any turn with an unknown outcome: a person may want the tool asked, which is decided like a call. */
function nextForUnknowns(s: State): readonly Move[] {
  return [...s.unknowns.values()].flatMap((unknown): readonly Move[] => {
    if (unknown.gated?.kind === "undecided") return [{ kind: "gate", action: { kind: "reconcile", call: unknown.call } }];
    return unknown.gated?.kind === "allowed" ? [{ kind: "reconcile-unknown", unknown }] : [];
  });
}
