/**
 * Delegations that race: of those of one reply with `first`, one is the first to complete, and the others are no longer wanted.
 * S-17 those that have not started then do not; those at work are cancelled as the stop of their turn would cancel them; and whatever they say is no result.
 *      It follows from the fold alone, so a process that takes the session up calls off what the one before it had not.
 */
import { DELEGATE, proposedObject } from "../../vocab/index.ts";
import { type Call, callsIn, runningTool, type Turn } from "../state.ts";

const isRacing = (c: Call): boolean => {
  if (runningTool(c) !== DELEGATE) return false;
  const given = c.edited ?? proposedObject(c.proposed);
  return given !== null && given["first"] === true;
};

const winnerOf = (t: Turn): Call | null =>
  callsIn(t).find((c) => isRacing(c) && c.run.kind === "ended" && c.run.outcome.kind === "done") ?? null;

/** Another of its reply, which it raced with, has completed. */
export const isBeaten = (t: Turn, call: Call): boolean => isRacing(call) && call.run.kind !== "ended" && winnerOf(t) !== null;

export const CALLED_OFF = "called off";
export const callOffReason = (t: Turn): string => `${CALLED_OFF}: \`${winnerOf(t)?.child?.agent ?? "another"}\` was first`;

/** Why what it says now is no result; null when it is one. */
export const lateReason = (t: Turn | null, call: Call | undefined): string | null =>
  t !== null && call !== undefined && isBeaten(t, call) ? callOffReason(t) : null;
