/**
 * The loop's manners with a model that gets stuck: a word to it first, an ending later. Part of the fold: constants, no I/O, nothing of it is a limit.
 * L-13 a reply that says nothing is asked again, with a word about why; after three in a row the next one fails the turn.
 * L-13 the same call over and over: a word at the 5th, `halted` before the 10th runs, counted over the turn. L-3 a word when three iterations are left.
 */
import type { Decided, Finish, Part } from "../../vocab/index.ts";
import type { Call, State, Turn } from "../state.ts";
import { hear, noteMessage } from "./conversation.ts";

export const NUDGES_IN_A_ROW = 3;
export const REPEATS_NUDGED = 5;
export const REPEATS_HALTED = 10;
export const LAST_ITERATIONS = 3;

/** What is wrong with a reply without calls that gives no answer either; null when it gives one. */
export function nudgeOf(parts: readonly Part[], finish: Finish, dropped: boolean): string | null {
  const isSilent = parts.every((p) => p.kind !== "text" || p.text.trim() === "");
  if (dropped) return "[dropped] the calls of your reply were not taken. Answer, or go about it in another way.";
  if (finish === "length") return isSilent ? "[cut off] your reply reached the output limit before it said anything. Be brief." : null;
  if (finish === "calls") return "[no call] your reply says that it calls a tool, but there is no call in it. Call one, or answer.";
  if (!isSilent) return null;
  return parts.some((p) => p.kind === "thinking")
    ? "[only thinking] your reply had thoughts and nothing else. Answer, or call a tool."
    : "[empty] your reply was empty. Answer, or call a tool.";
}

export const isStuck = (t: Turn): boolean => t.silent > NUDGES_IN_A_ROW;

/** Each call once, however often it is decided. What its contract refuses has no arguments that could be the same. */
export function noticeRepeat(s: State, t: Turn, call: Call, e: Decided): void {
  if (call.noticed || e.action.kind !== "call" || e.action.args === null) return;
  call.noticed = true;
  const times = (t.repeats.get(e.digest) ?? 0) + 1; // the digest is of the tool and its arguments, whatever the call's id
  t.repeats.set(e.digest, times);
  const { tool } = call.proposed;
  if (times === REPEATS_NUDGED)
    hear(
      s,
      noteMessage(
        `[repeated] this is the ${REPEATS_NUDGED}th call of ${tool} with the same arguments. Its result will not change: do something else, or answer.`,
      ),
    );
  if (times === REPEATS_HALTED)
    t.halt ??= { by: { kind: "system", id: "repeats" }, reason: `${tool} was called ${REPEATS_HALTED} times with the same arguments` };
}

/** After a reply that goes on. Queued where calls wait for their results: nothing may stand between the two. */
export function noticeLast(s: State, t: Turn): void {
  const left = t.limits.iterations - t.iterations;
  const first = Math.min(LAST_ITERATIONS, t.limits.iterations - 1); // a turn of three or fewer hears it after its first reply
  if (left === first && left > 0 && t.answer === null)
    hear(s, noteMessage(`[${left} left] you have ${left === 1 ? "1 reply" : `${left} replies`} left in this turn. Come to an end.`));
}
