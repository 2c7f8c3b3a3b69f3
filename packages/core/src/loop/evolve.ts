/**
 * One event folded into the state, in place: the driver owns it, it grows at the end and is never copied (rule 8).
 * The same events give the same state, whoever folds them and whenever: resume is nothing but this.
 */
import { newTally, tallied } from "../journal/counts.ts";
import { withSaid } from "../knowledge/learnings.ts";
import { observeOutcome, observeUnstarted } from "../observe/observe.ts";
import { textOf } from "../reason/parse.ts";
import { type Counters, estimates } from "../reason/tokens.ts";
import { newWindow, pinTask } from "../reason/window.ts";
import {
  actionKind,
  addUsage,
  type CallId,
  type Decided,
  type Digest,
  type Entry,
  epoch,
  type Label,
  millis,
  NO_USAGE,
  NOTHING_ALLOTTED,
  type Observation,
  parseActionId,
  type SessionEvent,
  type SessionId,
  seq,
  totalTokens,
  valueCounter,
} from "../vocab/index.ts";
import { applied, askedFirst, hasFailed, isAgain } from "./calls/recovery-state.ts";
import { pay, release, reserve, usedIn } from "./limits/budgets.ts";
import { recallAnew, recalled } from "./memory/recall.ts";
import { keepAnew, keeping, kept } from "./memory/remember-state.ts";
import { compacted, summaryOver } from "./model/context.ts";
import {
  assistantMessage,
  goOn,
  hear,
  hearQueued,
  noteMessage,
  observation,
  refuseAnswer,
  say,
  sayResults,
  settle,
  userMessage,
} from "./model/conversation.ts";
import { hearHistory } from "./model/history.ts";
import { modelDenied, modelFailed, modelLost, NO_TRIES } from "./model/retry.ts";
import { arrangedFor, broken, forget, rewritten } from "./model/rewrites.ts";
import { sanitisedText, shownOutcome } from "./model/sanitise.ts";
import { cutOffAnswer, isUnlooked, outputAsked, outputChecked, takeMisread } from "./model/structured-output.ts";
import { isStuck, noticeLast, nudgeOf } from "./model/stuck-model.ts";
import { summaryDenied, summaryFailed, summaryLost } from "./model/summary-fallback.ts";
import { answered, asked, consumed, countVotes, decided, expired, reopened } from "./people/approval-state.ts";
import { chooseModel, cleared, compactAsked, placeOfChosen } from "./people/conversation-settings.ts";
import {
  askingIn,
  type Call,
  callsIn,
  isDelegated,
  isOwnWord,
  isSettled,
  KEEP_DUE,
  keyOf,
  NO_SUMMARY,
  nameKey,
  nameOf,
  PREPARING,
  RECALL_DUE,
  type State,
  type Turn,
  UNDECIDED,
} from "./state.ts";

type Opened = Extract<SessionEvent, { kind: "session.opened" }>;
type Of<K extends SessionEvent["kind"]> = Extract<SessionEvent, { kind: K }>;

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
    names: new Map(),
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
    used: NOTHING_ALLOTTED,
    lost: 0,
    value: null,
    turns: 0,
    turn: null,
    last: null,
  };
}

/** `counters`: where tokens are not estimated. Whoever only looks needs none. */
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

export function evolve(s: State, entry: Entry): State {
  const e = entry.event;
  if (s.turn !== null && e.kind !== "hold.taken") s.turn.activeMs += Math.max(0, entry.at - s.at);
  s.seq = entry.seq;
  s.at = entry.at;
  tallied(s.tally, s.agent.name, entry.at, e);
  if ("intent" in e && e.intent !== null) s.taken.add(e.intent);
  switch (e.kind) {
    case "session.opened":
      for (const l of e.labels) s.labels.add(l);
      hearHistory(s, e.history);
      return s;
    case "agent.changed":
      return changeAgent(s, e);
    case "hold.taken":
      return newHold(s, e);
    case "turn.started":
      return startTurn(s, e);
    case "input.steered":
      hear(s, userMessage(e.text, e.files));
      return inTurn(s, (t) => {
        if (!t.speakers.includes(e.by.id)) t.speakers.push(e.by.id);
        if (e.by.kind === "user" && isOwnWord(s, e.by, 0)) t.words.push(e.text);
        if (t.phase.kind === "answering") goOn(s, t, null); // an answer that still waits for leave is overtaken
      });
    case "input.queued":
      s.followUps.push({ text: e.text, files: e.files, by: e.by, intent: e.intent });
      return s;
    case "turn.cancel-asked":
      if (e.all) s.followUps.splice(0);
      if (s.turn !== null) s.turn.cancel = { by: e.by, reason: e.reason };
      return s;
    case "model.asked":
      return inTurn(s, (t) => {
        const { iteration, attempt, purpose, reserved, reservedMicros } = e;
        t.phase = { kind: "asking", iteration, attempt, purpose, reserved, reservedMicros };
        t.modelDue = null;
        t.answeredLast = false;
        if (purpose === "reply") t.attempts = attempt;
        else t.summary = { ...t.summary, attempts: attempt };
      });
    case "model.failed":
      return inTurn(s, (t) => {
        if (e.broke) lose(t); // rule 5: what may have been used counts as used
        t.phase = PREPARING;
        hearQueued(s); // no reply comes: what was said meanwhile is in the next request
        if (e.purpose === "summary") summaryFailed(s, t, e);
        else modelFailed(s, t, e);
      });
    case "model.replied":
      return inTurn(s, (t) => (e.purpose === "reply" ? replied(s, t, e) : summed(s, t, e)));
    case "gate.decided":
      if (actionKind(e.id) === "reconcile") return reconcileDecided(s, e);
      return inTurn(s, (t) => {
        decided(s, t, e, entry.at);
        if (actionKind(e.id) === "model") modelDenied(s, t);
        if (actionKind(e.id) === "summary") summaryDenied(s, t);
      });
    case "approval.asked":
      return inTurn(s, (t) => asked(s, t, e, entry.at));
    case "approval.answered":
      return inTurn(s, (t) => answered(s, t, e));
    case "approval.expired":
      return inTurn(s, (t) => expired(s, t, e));
    case "approval.consumed":
      return inTurn(s, (t) => consumed(t, e));
    case "act.started":
      return inCall(s, e.call, (c, t) => {
        if (c.gated.kind !== "allowed") return;
        t.answeredLast = false;
        if (c.starts === 0 || isAgain(c)) t.calls += 1;
        if (c.starts > 0 && c.run.kind === "failed") c.retries += 1;
        if (e.start === 1) countValues(s, t, e);
        c.starts = e.start;
        c.repeat ??= e.repeat;
        c.run = { kind: "running", decided: c.gated.decided, epoch: e.epoch };
      });
    case "recovery.applied":
      if (e.strategy === "reconcile" && s.unknowns.has(e.call)) return reconciled(s, e);
      return inCall(s, e.call, (c, t) => {
        if (e.strategy === "dead-letter") s.deadLetters.set(e.call, nameOf(c));
        if (e.strategy !== "reconcile") return applied(s, t, c, e);
        if (askedFirst(c, e.found)) return;
        if (e.found !== "did-not-happen") return; // the others are followed by `act.ended`
        c.run = { kind: "not-started" };
        c.gated = UNDECIDED; // it never took effect: decided again, then run
      });
    case "child.opened":
      return inCall(s, e.call, (c, t) => {
        c.child = { session: e.child, agent: e.agent, since: t.activeMs };
      });
    case "child.ended": // the call's own ending follows it
      return inCall(s, e.call, (c, t) => {
        t.activeMs = Math.max(t.activeMs, (c.child?.since ?? 0) + e.used.ms); // its time is the turn's too, wherever it was driven
        t.lostBelow += e.lost;
      });
    case "act.ended":
      return inCall(s, e.call, (c, t) => {
        const doing = c.run.kind === "running" || c.run.kind === "lost" ? c.run.decided : null;
        c.entry = entry.seq;
        s.changes += 1;
        if (e.recovering && doing !== null && e.outcome.kind === "failed") return hasFailed(c, doing, e.outcome.error);
        c.run = { kind: "ended", outcome: e.outcome, endsTurn: e.endsTurn, note: null };
        if (e.outcome.kind === "done" && doing !== null) keepResult(s, doing.digest, entry);
        if (e.outcome.kind === "unknown" && doing?.action.kind === "call") {
          const { tool, resource } = doing.action;
          const { digest } = doing;
          const key = keyOf(s, c);
          s.unknowns.set(e.call, {
            call: e.call,
            tool,
            resource,
            digest,
            decided: doing,
            outcome: e.outcome,
            key,
            at: entry.at,
            gated: null,
            shown: null,
            cleaned: null,
          });
        }
        settle(s, t);
      });
    case "act.late": {
      const was = s.unknowns.get(e.call);
      s.unknowns.delete(e.call);
      const cleaned = was?.cleaned ?? null;
      const o = observeOutcome(was?.tool ?? "the call", shownOutcome(e.outcome, cleaned), s.turn?.limits.observationChars ?? 24_000);
      const shown = was === undefined || was.shown === null ? o.text : sanitisedText(was.shown, cleaned);
      return hear(s, noteMessage(`[late] the outcome of call ${e.call}, reported as unknown, is known now: ${shown}`));
    }
    case "unknown.reconcile-asked": {
      const unknown = s.unknowns.get(e.call);
      if (unknown !== undefined) unknown.gated = UNDECIDED;
      return s;
    }
    case "unknown.resolved": {
      const was = s.unknowns.get(e.call);
      s.unknowns.delete(e.call);
      s.changes += 1;
      const note = e.note === "" ? "" : `: ${e.note}`;
      return hear(s, noteMessage(`[resolved] ${was?.tool ?? "the call"} (${e.call}), whose outcome was unknown: ${RESOLVED[e.as]}${note}`));
    }
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
    case "names.told":
      for (const { id, name } of e.names) keepName(s, nameKey(e.of, id), name);
      return s;
    case "text.cleaned": {
      const unknown = s.unknowns.get(e.call);
      if (unknown !== undefined) unknown.cleaned = e.markup;
      return inCall(s, e.call, (c) => {
        c.cleaned = e.markup;
      });
    }
    case "knowledge.recalled":
      return inTurn(s, (t) => recalled(s, t, e));
    case "knowledge.keeping":
      return inTurn(s, (t) => keeping(t, e));
    case "knowledge.kept":
      return inTurn(s, (t) => kept(t, e));
    case "turn.ended":
      return endTurn(s, e);
    case "session.closed":
      s.closed = true;
      return s;
    case "output.asked":
      return inTurn(s, (t) => outputAsked(s, t, e));
    case "output.checked":
      return inTurn(s, (t) => outputChecked(s, t, e));
    case "calls.misread":
      return inTurn(s, (t) => {
        t.misread = e.detail;
      });
    case "middleware.applied":
      return rewritten(s, e);
    case "middleware.failed":
      return broken(s, e);
    case "budget.reserved":
      return reserve(s, e);
    case "budget.settled":
      return release(s, e);
    case "context.compacted":
      return compacted(s, e);
    case "context.cleared":
      return cleared(s);
    case "context.compact-asked":
      return compactAsked(s, e);
    case "model.chosen":
      return chooseModel(s, e);
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

const MOST_NAMES = 2_000;
function keepName(s: State, key: string, name: string): void {
  s.names.delete(key);
  s.names.set(key, name);
  const [oldest] = s.names.keys();
  if (s.names.size > MOST_NAMES && oldest !== undefined) s.names.delete(oldest);
}

/** Per value of a target. */
function countValues(s: State, t: Turn, { tool, values }: Of<"act.started">): void {
  for (const arg in values)
    for (const value of values[arg] ?? [])
      for (const counts of [s.values, t.values]) counts.set(valueKey(tool, arg, value), (counts.get(valueKey(tool, arg, value)) ?? 0) + 1);
}
export const valueKey = (tool: string, of: string, value: string): string => `${valueCounter(tool, of)}\n${value}`;

function startTurn(s: State, e: Of<"turn.started">): State {
  if (e.intent !== null && s.followUps[0]?.intent === e.intent) s.followUps.shift();
  s.turns = e.turn;
  const chosen = placeOfChosen(s);
  s.turn = {
    number: e.turn,
    limits: e.limits,
    by: e.by,
    words: isOwnWord(s, e.by, e.turn) ? [e.input] : [],
    speakers: [...new Set([e.by.id, ...(e.turn === 1 ? (s.parent?.speakers ?? []) : [])])],
    iterations: 0,
    usage: NO_USAGE,
    lost: NO_USAGE,
    lostBelow: 0,
    micros: 0,
    unpriced: (s.agent.fallbacks[chosen - 1] ?? s.agent).prices === null,
    settled: NOTHING_ALLOTTED,
    calls: 0,
    activeMs: 0,
    refusedInARow: 0,
    allowedCalls: new Map(),
    values: new Map(),
    phase: PREPARING,
    summary: NO_SUMMARY,
    recall: RECALL_DUE,
    knowledge: null,
    learnt: "",
    keep: KEEP_DUE,
    attempts: 0,
    modelError: null,
    modelDue: null,
    noModel: false,
    tries: NO_TRIES,
    fellBack: chosen,
    model: UNDECIDED,
    respond: UNDECIDED,
    output: null,
    repairs: 0,
    misread: null,
    finish: "stop",
    cutOff: "",
    aside: "",
    silent: 0,
    repeats: new Map(),
    rewritten: { parts: null, calls: new Map() },
    broken: null,
    cancel: null,
    halt: null,
    failure: null,
    over: false,
    questions: new Map(),
    answeredLast: false,
  };
  say(s, userMessage(e.input, e.files));
  pinTask(s.messages, s.window);
  return s;
}

/** Other models are asked from the first one on. */
function changeAgent(s: State, { agent }: Of<"agent.changed">): State {
  const models = ({ model, fallbacks }: State["agent"]) => [model, ...fallbacks.map((f) => f.model)].join(" ");
  if (s.turn !== null && models(agent) !== models(s.agent)) {
    s.turn.fellBack = placeOfChosen({ agent, chosen: s.chosen });
    s.turn.tries = NO_TRIES;
    s.turn.noModel = false;
  }
  if (s.turn !== null) recallAnew(s.turn); // it may look less far now, or not at all
  s.changes += 1; // what was decided before is not current any more
  s.agent = agent;
  return s;
}

/** Receipts and permits died with the process before: what had not started is undecided again, what had is lost. */
function newHold(s: State, e: Of<"hold.taken">): State {
  s.epoch = e.epoch;
  for (const unknown of s.unknowns.values()) if (unknown.gated !== null) unknown.gated = UNDECIDED;
  return inTurn(s, (t) => {
    const asking = askingIn(t);
    if (asking !== null) {
      lose(t);
      if (asking.purpose === "reply") modelLost(s, t);
      else summaryLost(s, t);
      t.phase = PREPARING;
      recallAnew(t); // the next attempt is another request
      hearQueued(s);
    }
    t.recall = { ...t.recall, gated: reopened(t, t.recall.gated) };
    keepAnew(t);
    t.model = reopened(t, t.model);
    t.summary = { ...t.summary, gated: reopened(t, t.summary.gated) };
    t.respond = reopened(t, t.respond);
    for (const c of callsIn(t)) {
      if (isSettled(c) || isDelegated(c)) continue; // what a delegate does is its own session's to tell
      if (c.run.kind === "running") c.run = { kind: "lost", decided: c.run.decided };
      else if (c.gated.kind === "allowed" && c.starts === 0) countVotes(s, t, c, -1);
      c.gated = c.run.kind === "lost" ? { kind: "undecided", answered: c.leave } : reopened(t, c.gated);
    }
  });
}

/** A model call nobody can tell the use of: at what was set aside for it. */
function lose(t: Turn): void {
  const asking = askingIn(t);
  if (asking === null) return;
  t.lost = addUsage(t.lost, asking.reserved);
  pay(t, asking.reservedMicros);
}

/** The oldest give way: what nobody has asked for in so many other calls is not fresh either. */
function keepResult(s: State, digest: Digest, { seq: place, at }: Entry): void {
  s.results.delete(digest);
  s.results.set(digest, { seq: place, at });
  const [oldest] = s.results.keys();
  if (s.results.size > MOST_RESULTS && oldest !== undefined) s.results.delete(oldest);
}
const MOST_RESULTS = 1_000;

/** A person wants the tool asked; only a plain yes of the gate lets it be, anything else ends the wish. */
function reconcileDecided(s: State, e: Decided): State {
  const id = parseActionId(e.id);
  const unknown = id.kind === "reconcile" ? s.unknowns.get(id.call) : undefined;
  if (unknown !== undefined) unknown.gated = e.verdict.kind === "allow" ? { kind: "allowed", decided: e } : null;
  return s;
}

/** What the tool said of a call whose outcome was unknown. It is not run again: the turn that wanted it has gone on. */
function reconciled(s: State, e: Of<"recovery.applied">): State {
  const unknown = s.unknowns.get(e.call);
  if (unknown === undefined) return s;
  unknown.gated = null;
  if (e.found === "cannot-tell")
    return hear(s, noteMessage(`[asked] ${unknown.tool} (${e.call}) cannot tell what became of it: ${e.detail}`));
  s.unknowns.delete(e.call);
  s.changes += 1;
  return hear(
    s,
    noteMessage(
      `[resolved] ${unknown.tool} (${e.call}), whose outcome was unknown: the tool says ${e.found === "happened" ? "it happened" : "it did not happen"}`,
    ),
  );
}

const RESOLVED = {
  happened: "an operator says it happened",
  "did-not-happen": "an operator says it did not happen",
  abandon: "an operator gave it up; it stays unknown, and is not asked about any more",
};

function replied(s: State, t: Turn, e: Of<"model.replied">): void {
  s.replies += 1;
  t.iterations += 1;
  t.usage = addUsage(t.usage, e.usage);
  pay(t, e.micros);
  t.phase = PREPARING;
  t.attempts = 0;
  t.tries = NO_TRIES;
  t.modelError = null;
  t.summary = { ...NO_SUMMARY, fellBack: t.summary.fellBack };
  if (t.finish !== "length") t.cutOff = ""; // only a direct continuation goes on from what was cut off
  t.finish = e.finish;
  for (const p of e.parts) if (p.kind === "call") s.wireIds.add(p.wireId);
  const parts = t.rewritten.parts ?? e.parts;
  const text = textOf(parts);
  const misread = takeMisread(t);
  const calls = misread === null ? parts.filter((p) => p.kind === "call") : []; // none of them was to be understood otherwise than as a whole
  const said = misread === null ? parts : parts.filter((p) => p.kind !== "call");
  if (said.length > 0) say(s, assistantMessage(said));
  t.learnt = withSaid(t.learnt, text);
  if (t.respond.kind === "allowed" && !isUnlooked(t, e.finish, calls.length)) t.aside += text; // an early ending delivers only what the gate let be said
  if (calls.length > 0) {
    const started = calls.map(
      (proposed): Call => ({
        proposed,
        entry: s.seq,
        gated: UNDECIDED,
        run: { kind: "not-started" },
        ...arrangedFor(t, proposed.id),
        shown: null,
        cleaned: null,
        modified: false,
        leave: null,
        noticed: false,
        starts: 0,
        repeat: null,
        child: null,
        standIn: null,
        edition: 0,
        retries: 0,
        mending: null,
      }),
    );
    t.phase = { kind: "calling", calls: started };
    forget(t);
    t.silent = 0;
    noticeLast(s, t);
    return;
  }
  const steered = s.queued.some((m) => m.role === "user");
  hearQueued(s);
  if (e.finish === "length" && t.output === null) t.cutOff += text;
  const nudge =
    misread ??
    nudgeOf(
      parts,
      e.finish,
      e.parts.some((p) => p.kind === "call"),
    );
  forget(t);
  t.silent = nudge === null ? 0 : t.silent + 1;
  if (e.finish === "refused" || e.finish === "filtered") t.phase = { kind: "answering", text: t.cutOff + text, fits: null };
  else if (nudge !== null)
    goOn(s, t, isStuck(t) || t.broken !== null ? null : nudge); // one that was withheld said something
  else if (e.finish === "length" && t.output !== null) cutOffAnswer(s, t);
  else if (e.finish === "length") goOn(s, t, "[cut off] your reply reached the output limit. Go on exactly where it stopped.");
  else if (steered) {
    t.cutOff = "";
    goOn(s, t, null); // a person spoke meanwhile: that comes first
  } else {
    t.phase = { kind: "answering", text: t.cutOff + text, fits: null };
    if (t.respond.kind === "denied") refuseAnswer(s, t, t.respond.verdict);
  }
  noticeLast(s, t);
}

/** What it said stands in the event after this one; for the turn it is use, and no iteration. */
function summed(s: State, t: Turn, e: Of<"model.replied">): void {
  t.usage = addUsage(t.usage, e.usage);
  pay(t, e.micros);
  t.phase = PREPARING;
  summaryOver(t);
  hearQueued(s);
}

/** One that had started is never told as not run (`next` settles those before it ends a turn), unless its tool says that nothing came of it. */
const unsettled = (c: Call, ending: string): Observation =>
  c.run.kind === "not-started"
    ? observeUnstarted(nameOf(c), ending)
    : observeOutcome(nameOf(c), { kind: "unknown", cause: "hold-lost", detail: `the turn ended first (${ending})` }, 1_000);

function endTurn(s: State, e: Of<"turn.ended">): State {
  const t = s.turn;
  if (t === null) return s;
  sayResults(s, t, callsIn(t), (c) => (isSettled(c) || c.run.kind === "failed" ? observation(c, t) : unsettled(c, e.ending)));
  hearQueued(s);
  s.value = e.ending === "completed" ? (t.phase.kind === "answering" ? (t.phase.fits?.value ?? null) : null) : null;
  const { kind: _, ...last } = e;
  s.last = last;
  s.spent += totalTokens(e.usage) + totalTokens(e.lost);
  s.used = usedIn(s, t);
  s.lost = totalTokens(e.lost) + t.lostBelow;
  s.micros += t.micros + (t.settled.micros ?? 0); // what is still set aside is added when it is settled
  s.unpriced ||= t.unpriced;
  s.turn = null;
  return s;
}

function inTurn(s: State, change: (t: Turn) => void): State {
  if (s.turn !== null) change(s.turn);
  return s;
}

function inCall(s: State, id: CallId, change: (c: Call, t: Turn) => void): State {
  return inTurn(s, (t) => {
    const call = callsIn(t).find((c) => c.proposed.id === id);
    if (call !== undefined) change(call, t);
  });
}
