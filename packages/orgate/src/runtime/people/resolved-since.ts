/**
 * Finds how the unknown outcomes that an approval request asks about were resolved since.
 * Q-23 A request that was asked because of an unknown outcome says, when it is shown, that the outcome is known by now: what it was, who said so, and when.
 */
import { type Ask, type CallId, type JournalEvent, principalName, type SessionId, UNKNOWN_OPEN } from "@orgate/core";
import type { CallLikeness, Journal } from "@orgate/core/journal";
import { callId, isFault, isSessionId } from "@orgate/core/vocab";
import { findNewestEntry } from "../delivery.ts";

type Reads = Pick<Journal, "read" | "session" | "unknownsLike">;
type Asked = Readonly<{ session: SessionId; asks: readonly Ask[]; about: CallLikeness }>;
type Named = Readonly<{ session: SessionId; call: CallId }>;

/** One sentence for each that is known by now. A session is read only for an unknown that is no longer open. */
export async function listResolvedSince(journal: Reads, { session, asks, about }: Asked): Promise<readonly string[]> {
  const named = asks.flatMap(({ policy }) => unknownIn(policy, session));
  if (named.length === 0) return [];
  const open = journal.unknownsLike(about);
  const settled = named.filter((one) => !open.some((u) => u.session === one.session && u.call === one.call));
  return Promise.all(settled.map((one) => settledText(journal, one)));
}

/** The policy names it: `orgate:unknown-open/CALL`, of another session `orgate:unknown-open/SESSION/CALL`. */
function unknownIn(policy: string, own: SessionId): readonly Named[] {
  if (!policy.startsWith(`${UNKNOWN_OPEN}/`)) return [];
  const [first = "", second] = policy.slice(UNKNOWN_OPEN.length + 1).split("/");
  if (second === undefined) return [{ session: own, call: callId(first) }];
  return isSessionId(first) ? [{ session: first, call: callId(second) }] : [];
}

async function settledText(journal: Reads, { session, call }: Named): Promise<string> {
  const found = await findNewestEntry(journal, session, (e) => outcomeIn(e, call) !== null).catch((error: unknown) => {
    if (isFault(error)) return null; // erased, or bad: whoever opens that session is told
    throw error;
  });
  const outcome = found === null ? null : outcomeIn(found.event, call);
  if (found === null || outcome === null) return `call ${call} of ${session} is not open any more`;
  return `call ${call} of ${session} was resolved since: ${outcome.says} (${outcome.by}, ${new Date(found.at).toISOString()})`;
}

const WORDS: Readonly<Record<string, string>> = {
  happened: "it happened",
  "did-not-happen": "it did not happen",
  abandon: "it was given up, and nobody knows",
};

function outcomeIn(e: JournalEvent, call: CallId): Readonly<{ says: string; by: string }> | null {
  if (e.kind === "unknown.resolved" && e.call === call) return { says: WORDS[e.as] ?? e.as, by: principalName(e.by) };
  if (e.kind === "act.late" && e.call === call) return { says: "its result came after all", by: "its tool" };
  if (e.kind === "recovery.applied" && e.call === call && (e.found === "happened" || e.found === "did-not-happen"))
    return { says: WORDS[e.found] ?? e.found, by: "its tool" };
  return null;
}
