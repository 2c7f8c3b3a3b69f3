/**
 * One event folded into the state, in place: the driver owns it, it grows at the end and is never copied (rule 8).
 * The same events give the same state, in every process and at any time: resume is nothing but this.
 */

import { foldTally, newTally } from "../journal/counts.ts";
import { type Counters, estimates } from "../reason/tokens.ts";
import { newWindow } from "../reason/window.ts";
import {
  actionKind,
  decisionsIn,
  type Entry,
  epoch,
  type GateDecided,
  type Label,
  millis,
  NO_RESERVATION,
  type SessionEvent,
  type SessionId,
  seq,
} from "../vocab/index.ts";
import {
  foldChildEnded,
  foldChildOpened,
  foldCleaned,
  foldEnded,
  foldLate,
  foldReconcileAsked,
  foldReconcileDecided,
  foldRecovery,
  foldResolved,
  foldStarted,
} from "./calls/evolve.ts";
import { foldRecorded } from "./calls/evolve-records.ts";
import { foldAgentChanged, foldHoldTaken, foldNames, foldSteered, foldTurnEnded, foldTurnStarted } from "./evolve-turn.ts";
import { inTurn, proposedArgs } from "./fold-parts.ts";
import { foldReserved, foldSettled } from "./limits/evolve.ts";
import { foldKeeping, foldKept, foldRecalled } from "./memory/evolve.ts";
import { foldCleared, foldCompactAsked, foldCompacted, foldModelChosen } from "./model/evolve-context.ts";
import { foldModelDenied, foldModelFailed, foldSummaryDenied } from "./model/evolve-failure.ts";
import { foldMiddlewareApplied, foldMiddlewareFailed } from "./model/evolve-middleware.ts";
import { foldOutputAsked, foldOutputChecked } from "./model/evolve-output.ts";
import { foldAsked, foldReply, foldSummaryReply } from "./model/evolve-reply.ts";
import { hearHistory } from "./model/history.ts";
import { foldAnswered, foldConsumed, foldDecided, foldExpired, foldRequested } from "./people/evolve.ts";

import type { State } from "./state.ts";

type Opened = Extract<SessionEvent, { kind: "session.opened" }>;

/** Before the first event, which is always `session.opened`. */
export function emptyState(session: SessionId, opened: Opened, counters: Counters = estimates): State {
  return {
    session,
    counters,
    seq: seq(0),
    at: millis(0),
    epoch: epoch(0),
    agent: opened.agent,
    principal: opened.principal,
    surface: opened.surface,
    origin: opened.origin,
    parent: opened.parent,
    closed: false,
    labels: new Set<Label>(),
    media: new Set<string>(),
    messages: [],
    window: newWindow(),
    cleared: 0,
    compactTo: null,
    chosen: null,
    queued: [],
    wireIds: new Set(),
    replies: 0,
    allowedCalls: new Map(),
    tally: newTally(),
    values: new Map(),
    said: [],
    names: new Map(),
    things: new Map(),
    doubted: new Map(),
    subject: opened.subject ?? null,
    recalled: new Map(),
    recalledTexts: [],
    unknowns: new Map(),
    deadLetters: new Map(),
    results: new Map(),
    changes: 0,
    counted: 0,
    grantsDue: [],
    followUps: [],
    taken: new Set(),
    spent: 0,
    micros: 0,
    unpriced: false,
    reserved: new Map(),
    used: NO_RESERVATION,
    lost: 0,
    value: null,
    turns: 0,
    turn: null,
    last: null,
  };
}

/** `counters`: where tokens are not estimated. A reader needs none. */
export function fold(entries: Iterable<Entry>, counters: Counters = estimates): State | null {
  let state: State | null = null;
  for (const entry of entries) {
    if (state === null) {
      if (entry.event.kind !== "session.opened") return null;
      state = emptyState(entry.stream as SessionId, entry.event, counters);
    }
    evolve(state, entry);
  }
  return state;
}

/** Folds one event into the state. */
export function evolve(s: State, entry: Entry): State {
  // plain switch: one line or so for each kind, in the order of a turn
  const e = entry.event;
  if (s.turn !== null && e.kind !== "hold.taken") s.turn.activeMs += Math.max(0, entry.at - s.at);
  s.seq = entry.seq;
  s.at = entry.at;
  foldTally(s.tally, s.agent.name, entry.at, e);
  if ("intent" in e && e.intent !== null) s.taken.add(e.intent);
  switch (e.kind) {
    case "session.opened":
      for (const l of e.labels) s.labels.add(l);
      hearHistory(s, e.history);
      return s;
    case "agent.changed":
      return foldAgentChanged(s, e);
    case "hold.taken":
      return foldHoldTaken(s, e);
    case "turn.started":
      return foldTurnStarted(s, e);
    case "input.steered":
      return foldSteered(s, e);
    case "input.queued":
      s.followUps.push({ text: e.text, files: e.files, by: e.by, intent: e.intent });
      return s;
    case "turn.cancel-asked":
      if (e.all) s.followUps.splice(0);
      if (s.turn !== null) s.turn.cancel = { by: e.by, reason: e.reason };
      return s;
    case "model.asked":
      foldInner(s, entry);
      return inTurn(s, (t) => foldAsked(t, e));
    case "model.failed":
      return inTurn(s, (t) => foldModelFailed(s, t, e));
    case "model.replied":
      return inTurn(s, (t) => (e.purpose === "reply" ? foldReply(s, t, e) : foldSummaryReply(s, t, e)));
    case "gate.decided":
      return foldDecision(s, e, entry.at);
    case "approval.asked":
      return inTurn(s, (t) => foldRequested(s, t, e, entry.at));
    case "approval.answered":
      return inTurn(s, (t) => foldAnswered(s, t, e));
    case "approval.expired":
      return inTurn(s, (t) => foldExpired(s, t, e));
    case "approval.consumed":
      return inTurn(s, (t) => foldConsumed(t, e));
    case "act.started":
      foldInner(s, entry);
      return foldStarted(s, e);
    case "recovery.applied":
      return foldRecovery(s, e);
    case "child.opened":
      return foldChildOpened(s, e);
    case "child.ended":
      return foldChildEnded(s, e);
    case "act.ended":
      return foldEnded(s, e, entry);
    case "act.late":
      return foldLate(s, e);
    case "unknown.reconcile-asked":
      return foldReconcileAsked(s, e);
    case "unknown.resolved":
      return foldResolved(s, e);
    case "dead-letter.dismissed":
      s.deadLetters.delete(e.call);
      return s;
    case "turn.halted":
      return inTurn(s, (t) => {
        t.halt = { by: e.by, reason: e.reason };
      });
    case "labels.added":
      s.changes += 1;
      for (const l of e.labels) s.labels.add(l);
      return s;
    case "labels.removed":
      s.changes += 1;
      for (const l of e.labels) s.labels.delete(l);
      return s;
    case "known.recorded":
      return foldRecorded(s, e, entry.at);
    case "names.told":
      return foldNames(s, e);
    case "text.cleaned":
      return foldCleaned(s, e);
    case "knowledge.recalled":
      return inTurn(s, (t) => foldRecalled(s, t, e));
    case "knowledge.keeping":
      return inTurn(s, (t) => foldKeeping(t, e));
    case "knowledge.kept":
      return inTurn(s, (t) => foldKept(t, e));
    case "turn.ended":
      return foldTurnEnded(s, e);
    case "session.closed":
      s.closed = true;
      return s;
    case "output.asked":
      return inTurn(s, (t) => foldOutputAsked(s, t, e));
    case "output.checked":
      return inTurn(s, (t) => foldOutputChecked(s, t, e));
    case "calls.misread":
      return inTurn(s, (t) => {
        t.misread = e.detail;
      });
    case "middleware.applied":
      return foldMiddlewareApplied(s, e);
    case "middleware.failed":
      return foldMiddlewareFailed(s, e);
    case "budget.reserved":
      return foldReserved(s, e);
    case "budget.settled":
      return foldSettled(s, e);
    case "context.compacted":
      return foldCompacted(s, e);
    case "context.cleared":
      return foldCleared(s);
    case "context.compact-asked":
      return foldCompactAsked(s, e);
    case "model.chosen":
      return foldModelChosen(s, e);
    case "session.forked":
    case "note":
    case "grant.used":
    case "intent.refused":
    case "known.learned": // the project's, not the session's
      return s; // on record, and of no consequence to what comes next
    case "key.certified":
    case "key.rotated":
    case "key.withdrawn":
    case "content.erased":
    case "policy.loaded":
    case "policy.applied":
    case "policy.stored":
    case "policy.refused":
    case "trust.given":
    case "trust.withdrawn":
    case "access.given":
    case "access.revoked":
    case "known.added":
    case "known.removed":
    case "knowledge.added":
    case "knowledge.forgotten":
    case "grant.given":
    case "grant.revoked":
    case "work.halted":
    case "work.resumed":
    case "breaker.changed":
    case "schedule.declared":
    case "schedule.removed":
    case "schedule.paused":
    case "schedule.resumed":
    case "schedule.fired":
    case "schedule.queued":
    case "schedule.skipped":
    case "schedule.ended":
    case "schedule.stopped":
      return s; // system streams; never in a session's
  }
}

function foldDecision(s: State, e: GateDecided, at: Entry["at"]): State {
  if (actionKind(e.id) === "reconcile") return foldReconcileDecided(s, e);
  return inTurn(s, (t) => {
    foldDecided(s, t, e, at);
    if (actionKind(e.id) === "model") foldModelDenied(s, t);
    if (actionKind(e.id) === "summary") foldSummaryDenied(s, t);
  });
}

/** Decisions that are part of an event were made before it. */
function foldInner(s: State, { event, at }: Entry): void {
  for (const decided of decisionsIn(event, (call) => proposedArgs(s, call))) foldDecision(s, decided, at);
}

/** Puts another fold of the same session in the place of this one: its last commit was refused. */
export function replaceState(s: State, by: State): void {
  Object.assign(s, by);
}
