/**
 * The loop's manners with a model that gets stuck: a word to it first, an ending later. Part of the fold: constants, no I/O, nothing of it is a limit.
 * L-13 a reply that says nothing is asked again, with a word about why; after three in a row the next one fails the turn.
 * L-13 the same call over and over: a word at the 5th, `halted` before the 10th runs, counted over the turn. L-3 a word when three iterations are left.
 */
import type { Finish, Part } from "../../vocab/index.ts";
import type { Turn } from "../state.ts";

export const NUDGES_IN_A_ROW = 3;
export const REPEATS_NUDGED = 5;
export const REPEATS_HALTED = 10;
export const LAST_ITERATIONS = 3;

/** The note for a reply that has neither calls nor an answer; null when it has an answer. */
export function nudgeFor(parts: readonly Part[], finish: Finish, dropped: boolean): string | null {
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
