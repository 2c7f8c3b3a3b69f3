/** The moves of a turn whose reply asks for calls: recover failed ones, decide all, ask people, then run what limits and money allow. */
import { countNoun } from "../../vocab/index.ts";
import { amountUsed, listAffordable, outOfMoney } from "../limits/budgets.ts";
import { endAfterLost, isDue, type Move, type TurnNow } from "../moves.ts";
import { type Call, callsIn, isDelegated, isSettled, runningTool, type Turn, toActionId } from "../state.ts";
import { isBeaten } from "./race.ts";
import { isAgain, isResting, isToRecover } from "./recovery.ts";

export function nextForCalls(at: TurnNow): readonly Move[] {
  const { t, now, heldBack } = at;
  const failed = callsIn(t).filter(isToRecover);
  if (failed.length > 0) return failed.map((call) => ({ kind: "recover", call }));
  const open = callsIn(t).filter((c) => !isSettled(c) && !isResting(c, now) && heldBack.call(c) === null);
  const hopeless = open.flatMap(giveUpIfHopeless);
  if (hopeless.length > 0) return hopeless;
  const beaten = open.filter((c) => c.run.kind !== "running" && isBeaten(t, c));
  if (beaten.length > 0) return beaten.map((c) => dismiss(t, c));
  const undecided = open.filter((c) => c.run.kind !== "running" && (c.gated.kind === "undecided" || isDue(c.gated, at)));
  if (undecided.length > 0) return undecided.map((c) => ({ kind: "gate", action: toActionId(c) }));
  const toAsk = open.filter((c) => c.gated.kind === "to-ask");
  if (toAsk.length > 0) return toAsk.map((c) => ({ kind: "question", action: toActionId(c) }));
  return startCalls(at, open);
}

/** Every open call is decided. Starts those that have a place, are within the limit of calls, and can be paid for. */
function startCalls({ s, t, now, heldBack }: TurnNow, open: readonly Call[]): readonly Move[] {
  const running = open.filter((c) => c.run.kind === "running");
  const ready = open.filter((c) => c.gated.kind === "allowed" && c.run.kind !== "running");
  const places = Math.max(0, t.limits.toolsAtOnce - running.length);
  const lost = ready.filter((c) => c.starts > 0 && !isAgain(c)); // these have started: no limit may leave them without an outcome
  const fresh = ready.filter((c) => c.starts === 0 || isAgain(c));
  const within = fresh.slice(0, Math.max(0, t.limits.calls - amountUsed(s, t, "calls")));
  const starting = listAffordable(s, t, [...lost, ...within], isReconciled).slice(0, places);
  if (starting.length > 0)
    return [...followDelegates(t), ...starting.map((call): Move => ({ kind: isReconciled(call) ? "reconcile" : "act", call }))];
  if (running.length > 0) return followDelegates(t);
  if (lost.length > 0) return lost.map((call) => ({ kind: "give-up", call, why: "out-of-money" }));
  const [unaffordable] = within;
  const isLater = (c: Call): boolean => c.gated.kind === "asked" || c.gated.kind === "deferred" || heldBack.call(c) !== null;
  const later = callsIn(t).filter((c) => isResting(c, now) || (!isSettled(c) && isLater(c)));
  if (unaffordable !== undefined && listAffordable(s, t, later, isReconciled).length > 0) return [{ kind: "wait" }]; // the calls that can be paid for run first
  if (unaffordable !== undefined) return endAfterLost(t, outOfMoney(s, t, runningTool(unaffordable)));
  if (fresh.length > 0)
    return endAfterLost(t, { ending: "out-of-calls", detail: `${countNoun(t.limits.calls, "call was", "calls were")} started` });
  return [{ kind: "wait" }];
}

/** Sub-agents at work are driven on; those that lost a race are called off. */
export const followDelegates = (t: Turn): readonly Move[] =>
  callsIn(t)
    .filter(isDelegated)
    .map((call) => ({ kind: isBeaten(t, call) ? "call-off" : "follow", call }));

/** A call that lost a race before it started: its contract refuses it now, and an open approval request about it expires. */
function dismiss(t: Turn, c: Call): Move {
  const { gated } = c;
  const question = gated.kind === "asked" ? t.questions.get(gated.approval) : undefined;
  return question === undefined || question.answer !== null
    ? { kind: "gate", action: toActionId(c) }
    : { kind: "expire", question: { ...question, onExpiry: "deny" } };
}

/** A tool that can tell is asked whether a lost or failed call happened, before the call runs again. That is free. */
const isReconciled = (c: Call): boolean =>
  c.run.kind === "lost" ? afterLost(c) === "reconcile" : c.run.kind === "failed" && c.mending?.stage === "ask-tool";

function giveUpIfHopeless(call: Call): readonly Move[] {
  if (call.run.kind !== "lost") return [];
  const after = afterLost(call);
  if (after === "again" || after === "reconcile") return call.gated.kind === "denied" ? [{ kind: "give-up", call, why: "denied" }] : [];
  return [{ kind: "give-up", call, why: after }];
}

/**
 * Rule 4 and T-7, for a call whose process was lost. A call is started `MAX_STARTS` times at most: it may be what brought the process down.
 * Asking its tool whether it happened counts as a start too (`act.started` announces both); retries after a failure are not counted here.
 */
export function afterLost(c: Call): "again" | "reconcile" | "not-repeatable" | "too-many-starts" {
  if (c.starts - c.retries >= MAX_STARTS) return "too-many-starts";
  switch (c.repeat) {
    case "read":
    case "idempotent":
      return "again";
    case "reconcile":
      return "reconcile";
    case "once":
    case null:
      return "not-repeatable";
  }
}
export const MAX_STARTS = 3;
