/**
 * Where the journal has the gate's decisions. One that allows what starts in the same append is part of the event that announces it; every other one
 * (a denial, a request for approval, a decision about what starts later) is an entry of its own, `gate.decided`. Nothing is moved: each stands where it was made.
 * J-34 a decision is in the journal once, and every reader finds it in its place, with its reasons and the arguments it was made on.
 */
import { actionKind } from "../action-id.ts";
import type { Entry, GateDecided, JournalEvent, TimedEvent } from "../event.ts";
import type { CallId } from "../ids.ts";
import { argumentsOf, type ProposedCall } from "../proposal.ts";
import { type JsonObject, toCanonicalJson } from "../text/canonical.ts";
import type { Action, BegunAction } from "../verdict.ts";
import type { InnerDecision } from "./session-event.ts";

const isAnnouncing = (e: JournalEvent): e is Extract<JournalEvent, { kind: "act.started" | "model.asked" }> =>
  e.kind === "act.started" || e.kind === "model.asked";

// ── written ──

/** Leave that becomes part of what is announced next, if nothing else comes between the two. */
function isJoinable(e: JournalEvent): e is GateDecided {
  if (e.kind !== "gate.decided" || e.verdict.kind !== "allow") return false;
  const kind = actionKind(e.id);
  return kind === "call" || kind === "model" || kind === "summary";
}

/** How many of the last events become part of this one when it comes next. */
export function countJoined(before: readonly TimedEvent[], event: JournalEvent): number {
  if (!isAnnouncing(event)) return 0;
  return before.length - 1 - before.findLastIndex((one) => !isJoinable(one.event));
}

/** The events of one commit as they are stored: the same decisions, in the same order. Whatever an announcement says of decisions before is not believed. */
export function joinDecisions(events: readonly TimedEvent[]): readonly TimedEvent[] {
  const stored: TimedEvent[] = [];
  const proposals = trackProposals();
  for (const one of events) {
    const { at, event } = one;
    proposals.hear(event);
    if (isAnnouncing(event)) {
      const made = stored.splice(stored.length - countJoined(stored, event)).map((d) => toInner(d.event as GateDecided, proposals));
      stored.push({ at, event: { ...event, decisions: made } });
    } else stored.push(one);
  }
  return stored;
}

function toInner({ action, digest, id, read, shadow, slice, verdict }: GateDecided, proposals: Proposals): InnerDecision {
  const made = { digest, id, read, shadow, slice, verdict };
  if (action.kind !== "call") return { action, ...made };
  const proposed = proposals.argsOf(action.call);
  const isAsProposed = proposed !== null && action.args !== null && toCanonicalJson(proposed) === toCanonicalJson(action.args);
  return { action: { ...action, args: isAsProposed ? "proposed" : action.args }, ...made };
}

// ── read ──

export type FindProposed = (call: CallId) => JsonObject | null;
export type Proposals = Readonly<{ hear(event: JournalEvent): void; argsOf: FindProposed }>;

/** Arguments of the calls that the newest reply proposes, as events are read in order. */
export function trackProposals(): Proposals {
  let calls: readonly ProposedCall[] = [];
  let isRewritten = false;
  return {
    hear(e) {
      if (e.kind === "middleware.applied" && e.change.kind === "reply") isRewritten = true; // the calls of the reply after it are not those that are decided
      if (e.kind !== "model.replied") return;
      calls = isRewritten ? [] : e.parts.filter((part) => part.kind === "call");
      isRewritten = false;
    },
    argsOf(id) {
      const found = calls.find((call) => call.id === id);
      return found === undefined ? null : proposedObject(found);
    },
  };
}

export function proposedObject(call: ProposedCall): JsonObject | null {
  const args = argumentsOf(call);
  if (args.kind === "not-json" || typeof args.value !== "object" || Array.isArray(args.value)) return null;
  return args.value as JsonObject | null;
}

const NONE: readonly GateDecided[] = Object.freeze([]);
const UNKNOWN: FindProposed = () => null;

/** Decisions in an event, in the order in which they were made. `argsOf` finds the arguments of a proposal; without it those that are as proposed are null. */
export function decisionsIn(e: JournalEvent, argsOf: FindProposed = UNKNOWN): readonly GateDecided[] {
  if (e.kind === "gate.decided") return [e];
  if (!isAnnouncing(e) || e.decisions.length === 0) return NONE;
  return e.decisions.map(({ action, ...rest }) => ({ kind: "gate.decided", ...rest, action: toWhole(action, argsOf) }));
}

function toWhole(action: BegunAction, argsOf: FindProposed): Action {
  if (action.kind !== "call") return action;
  return { ...action, args: action.args === "proposed" ? argsOf(action.call) : action.args };
}

/** The decisions that an event holds, each as an event of its own, and then the event without them: the same story, one thing at a time. */
export const eventsIn = (e: JournalEvent, argsOf: FindProposed = UNKNOWN): readonly JournalEvent[] =>
  isAnnouncing(e) && e.decisions.length > 0 ? [...decisionsIn(e, argsOf), { ...e, decisions: [] }] : [e];

/** All decisions of a session's entries, in order, each with the place of the entry that has it. */
export function listDecisions<E extends Pick<Entry, "event">>(entries: Iterable<E>): readonly (E & Readonly<{ event: GateDecided }>)[] {
  const proposals = trackProposals();
  const all: (E & Readonly<{ event: GateDecided }>)[] = [];
  for (const entry of entries) {
    proposals.hear(entry.event);
    for (const event of decisionsIn(entry.event, proposals.argsOf)) all.push({ ...entry, event });
  }
  return all;
}
