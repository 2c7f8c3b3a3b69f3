/**
 * The journal's closed list of things that happened, format version 1. Adding a kind breaks every switch that must handle it.
 * A published kind never changes its meaning: a new version gets an upcaster (`journal/upcasts.ts`), and stored bytes stay as they are.
 */
import type { SessionEvent } from "./events/session-event.ts";
import type { SystemEvent } from "./events/system-event.ts";
import type { Millis, Seq, SessionId, StreamId } from "./ids.ts";

export type JournalEvent = SessionEvent | SystemEvent;
export type EventKind = JournalEvent["kind"];

/** The closed list, as data: a Record over the kinds, so that a new one cannot be forgotten here. */
const KNOWN: Readonly<Record<JournalEvent["kind"], true>> = {
  "session.opened": true,
  "session.forked": true,
  "agent.changed": true,
  "hold.taken": true,
  "turn.started": true,
  "model.asked": true,
  "model.replied": true,
  "model.failed": true,
  "gate.decided": true,
  "approval.asked": true,
  "approval.answered": true,
  "approval.expired": true,
  "approval.consumed": true,
  "grant.used": true,
  "act.started": true,
  "recovery.applied": true,
  "budget.reserved": true,
  "budget.settled": true,
  "context.compacted": true,
  "output.asked": true,
  "output.checked": true,
  "calls.misread": true,
  "middleware.applied": true,
  "middleware.failed": true,
  "child.opened": true,
  "child.ended": true,
  "act.ended": true,
  "act.late": true,
  "labels.added": true,
  "labels.removed": true,
  "known.learned": true,
  "known.recorded": true,
  "names.told": true,
  "text.cleaned": true,
  "knowledge.recalled": true,
  "knowledge.keeping": true,
  "knowledge.kept": true,
  note: true,
  "input.steered": true,
  "input.queued": true,
  "context.cleared": true,
  "context.compact-asked": true,
  "model.chosen": true,
  "turn.cancel-asked": true,
  "turn.halted": true,
  "unknown.resolved": true,
  "unknown.reconcile-asked": true,
  "dead-letter.dismissed": true,
  "intent.refused": true,
  "session.closed": true,
  "turn.ended": true,
  "key.certified": true,
  "key.rotated": true,
  "key.withdrawn": true,
  "content.erased": true,
  "policy.loaded": true,
  "policy.applied": true,
  "policy.stored": true,
  "policy.refused": true,
  "trust.given": true,
  "trust.withdrawn": true,
  "access.given": true,
  "access.revoked": true,
  "known.added": true,
  "known.removed": true,
  "knowledge.added": true,
  "knowledge.forgotten": true,
  "grant.given": true,
  "grant.revoked": true,
  "work.halted": true,
  "work.resumed": true,
  "breaker.changed": true,
  "schedule.declared": true,
  "schedule.removed": true,
  "schedule.paused": true,
  "schedule.resumed": true,
  "schedule.fired": true,
  "schedule.queued": true,
  "schedule.skipped": true,
  "schedule.ended": true,
  "schedule.stopped": true,
};
export const EVENT_KINDS: readonly EventKind[] = Object.freeze(Object.keys(KNOWN) as EventKind[]);
export const isEventKind = (text: string): text is EventKind => Object.hasOwn(KNOWN, text);

export type GateDecided = Extract<JournalEvent, { kind: "gate.decided" }>;

/** An event with the time its writer gave it. */
export type TimedEvent = Readonly<{ at: Millis; event: JournalEvent }>;

/** An event in its place. */
export type Entry = Readonly<{ stream: StreamId; seq: Seq; at: Millis; event: JournalEvent }>;

export const isSessionStream = (stream: StreamId): stream is SessionId => stream.startsWith("s_");
