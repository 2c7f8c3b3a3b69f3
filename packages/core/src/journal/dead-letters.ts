/**
 * Dead letters of all sessions: one row each, kept by the events in the transaction that writes them, so that a list of
 * them reads no session. A cache: the same fold over a session's entries makes its rows again.
 * F-6 what is listed is what waits for an operator: from `recovery.applied` with `dead-letter` until `dead-letter.dismissed`.
 */
import type { CallId, Digest, Entry, JournalEvent, Millis, Resource, SessionId } from "../vocab/index.ts";
import { findStartedCall } from "./unknowns.ts";

/** The resource and the reason of the failure; no argument of the call. */
export type DeadLetter = Readonly<{
  session: SessionId;
  call: CallId;
  agent: string;
  tool: string;
  resource: Resource;
  digest: Digest;
  error: string;
  at: Millis;
}>;
/** `arrival` is its place in the list: in the order in which they failed. */
export type ListedDeadLetter = DeadLetter & Readonly<{ arrival: number }>;

export type DeadLetterChanges = Readonly<{ gone: readonly CallId[]; put: readonly DeadLetter[] }>;

/** True when `deadLetterChanges` has to look at what this event follows. */
export const isDeadLetter = (event: JournalEvent): boolean => event.kind === "recovery.applied" && event.strategy === "dead-letter";

/** `earlier` is what the session's stream holds before these entries, newest first: read only when a call becomes a dead letter, which is rare. */
export function computeDeadLetterChanges(
  session: SessionId,
  agent: string,
  entries: readonly Pick<Entry, "at" | "event">[],
  earlier: () => Iterable<JournalEvent>,
): DeadLetterChanges {
  const gone = new Set<CallId>();
  const put = new Map<CallId, DeadLetter>();
  for (const [i, { at, event: e }] of entries.entries()) {
    if (e.kind === "dead-letter.dismissed") {
      if (!put.delete(e.call)) gone.add(e.call);
    } else if (e.kind === "recovery.applied" && e.strategy === "dead-letter") {
      const did = findStartedCall(e.call, before(entries.slice(0, i), earlier));
      if (did !== null) put.set(e.call, { session, call: e.call, agent, ...did, error: e.detail, at });
    }
  }
  return { gone: [...gone], put: [...put.values()] };
}

function* before(entries: readonly Pick<Entry, "event">[], earlier: () => Iterable<JournalEvent>): Iterable<JournalEvent> {
  for (const { event } of entries.toReversed()) yield event;
  yield* earlier();
}
