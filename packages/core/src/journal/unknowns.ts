/**
 * Calls of all sessions with an unknown outcome: one row each, kept by the events in the transaction that writes
 * them, so that a decision in one session sees what another has left open. A cache: the same fold over a session's entries makes its rows again.
 * G-4 the list holds the open ones: from `act.ended` with an unknown outcome until it is known after all, resolved by a person, or reported by its tool.
 */
import {
  type CallId,
  type Digest,
  decisionsIn,
  type Entry,
  type JournalEvent,
  type Millis,
  type Outcome,
  type Resource,
  type SessionId,
} from "../vocab/index.ts";

/** The resource; no argument of the call. */
export type OpenUnknown = Readonly<{
  session: SessionId;
  call: CallId;
  tool: string;
  resource: Resource;
  digest: Digest;
  cause: Extract<Outcome, { kind: "unknown" }>["cause"];
  at: Millis;
}>;

/** A call looks like an unknown one when it shares one of these: its digest, or its tool and resource. */
export type CallLikeness = Pick<OpenUnknown, "tool" | "resource" | "digest">;

export const isSameCall = (a: CallLikeness, b: CallLikeness): boolean =>
  a.digest === b.digest || (a.tool === b.tool && a.resource.type === b.resource.type && a.resource.id === b.resource.id);

/** Of one session. */
export type OpenUnknowns = ReadonlyMap<CallId, OpenUnknown>;
export const NO_OPEN_UNKNOWNS: OpenUnknowns = new Map();

/** True when `foldUnknowns` may have to look at what these events follow. */
export const isUnknownOutcome = (event: JournalEvent): boolean => event.kind === "act.ended" && event.outcome.kind === "unknown";

/** `earlier` is what the session's stream holds before these entries, newest first: read only when an outcome is unknown, which is rare. */
export function foldUnknowns(
  before: OpenUnknowns,
  session: SessionId,
  entries: readonly Pick<Entry, "at" | "event">[],
  earlier: () => Iterable<JournalEvent>,
): OpenUnknowns {
  const open = new Map(before);
  for (const [i, { at, event: e }] of entries.entries()) {
    switch (e.kind) {
      case "act.ended": {
        if (e.outcome.kind !== "unknown") break;
        const did = findStartedCall(e.call, backwards(entries.slice(0, i), earlier));
        if (did !== null) open.set(e.call, { session, call: e.call, ...did, cause: e.outcome.cause, at });
        break;
      }
      case "act.late":
      case "unknown.resolved":
        open.delete(e.call);
        break;
      case "recovery.applied":
        if (e.found === "happened" || e.found === "did-not-happen") open.delete(e.call);
        break;
      default: // the others say nothing of what became of a call
    }
  }
  return open;
}

function* backwards(entries: readonly Pick<Entry, "event">[], earlier: () => Iterable<JournalEvent>): Iterable<JournalEvent> {
  for (const { event } of entries.toReversed()) yield event;
  yield* earlier();
}

/** As it was decided when it last started; what was decided about it afterwards did not start it. */
export function findStartedCall(call: CallId, newestFirst: Iterable<JournalEvent>): CallLikeness | null {
  let hasStarted = false;
  for (const e of newestFirst) {
    if (e.kind === "act.started" && e.call === call) hasStarted = true;
    const decided = hasStarted ? decisionsIn(e).findLast((d) => d.id === (call as string)) : undefined;
    if (decided?.action.kind === "call") return { tool: decided.action.tool, resource: decided.action.resource, digest: decided.digest };
  }
  return null;
}

export type UnknownChanges = Readonly<{ gone: readonly CallId[]; put: readonly OpenUnknown[] }>;
export const computeUnknownChanges = (before: OpenUnknowns, after: OpenUnknowns): UnknownChanges => ({
  gone: [...before.keys()].filter((call) => !after.has(call)),
  put: [...after.values()].filter((u) => before.get(u.call) !== u),
});
