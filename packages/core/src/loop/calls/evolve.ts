/** The fold of calls: starts, outcomes, failures and what is done about them, unknown outcomes, sub-agents. */
import { cut, observeOutcome } from "../../observe/observe.ts";
import { type Digest, type Entry, type GateDecided, type Millis, parseActionId } from "../../vocab/index.ts";
import { type EventOf, inCall } from "../fold-parts.ts";
import { noteMessage } from "../model/conversation.ts";
import { hear, settleReply } from "../model/evolve-conversation.ts";
import { sanitisedText, shownOutcome } from "../model/sanitise.ts";
import { type State, type Turn, toCallKey, totalKey, valueKey } from "../state.ts";
import { type Call, type Mending, runningTool, UNDECIDED } from "./call.ts";
import { isAgain } from "./recovery.ts";

export function foldStarted(s: State, e: EventOf<"act.started">): State {
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
}

/** Starts per value of a target, and totals of numbers. */
function countValues(s: State, t: Turn, { tool, values, amounts = {} }: EventOf<"act.started">): void {
  const add = (key: string, by: number): void => {
    for (const counts of [s.values, t.values]) counts.set(key, (counts.get(key) ?? 0) + by);
  };
  for (const arg in values) for (const value of values[arg] ?? []) add(valueKey(tool, arg, value), 1);
  for (const [arg, { by, per }] of Object.entries(amounts)) for (const value of ["", ...per]) add(totalKey(tool, arg, value), by);
}

export function foldChildOpened(s: State, e: EventOf<"child.opened">): State {
  return inCall(s, e.call, (c, t) => {
    c.child = { session: e.child, agent: e.agent, since: t.activeMs };
  });
}

/** The call's own ending follows it. */
export function foldChildEnded(s: State, e: EventOf<"child.ended">): State {
  return inCall(s, e.call, (c, t) => {
    t.activeMs = Math.max(t.activeMs, (c.child?.since ?? 0) + e.used.ms); // its time is the turn's too, wherever it was driven
    t.lostBelow += e.lost;
  });
}

export function foldEnded(s: State, e: EventOf<"act.ended">, entry: Entry): State {
  return inCall(s, e.call, (c, t) => {
    const decided = c.run.kind === "running" || c.run.kind === "lost" ? c.run.decided : null;
    c.entry = entry.seq;
    s.changes += 1;
    if (e.recovering && decided !== null && e.outcome.kind === "failed") return foldFailure(c, decided, e.outcome.error);
    c.run = { kind: "ended", outcome: e.outcome, endsTurn: e.endsTurn, note: null };
    if (e.outcome.kind === "done" && decided !== null) keepResult(s, decided.digest, entry);
    if (e.outcome.kind === "unknown" && decided?.action.kind === "call") {
      const { tool, resource } = decided.action;
      s.unknowns.set(e.call, {
        call: e.call,
        tool,
        resource,
        digest: decided.digest,
        decided,
        outcome: e.outcome,
        key: toCallKey(s, c),
        at: entry.at,
        gated: null,
        shown: null,
        cleaned: null,
      });
    }
    settleReply(s, t);
  });
}

/** The oldest are dropped: a result that this many later calls did not ask for is not fresh either. */
function keepResult(s: State, digest: Digest, { seq: place, at }: Entry): void {
  s.results.delete(digest);
  s.results.set(digest, { seq: place, at });
  const [oldest] = s.results.keys();
  if (s.results.size > MOST_RESULTS && oldest !== undefined) s.results.delete(oldest);
}
const MOST_RESULTS = 1_000;

// ── unknown outcomes ──

export function foldLate(s: State, e: EventOf<"act.late">): State {
  const was = s.unknowns.get(e.call);
  s.unknowns.delete(e.call);
  const cleaned = was?.cleaned ?? null;
  const o = observeOutcome(was?.tool ?? "the call", shownOutcome(e.outcome, cleaned), s.turn?.limits.observationChars ?? 24_000);
  const shown = was === undefined || was.shown === null ? o.text : sanitisedText(was.shown, cleaned);
  return hear(s, noteMessage(`[late] the outcome of call ${e.call}, reported as unknown, is known now: ${shown}`));
}

export function foldReconcileAsked(s: State, e: EventOf<"unknown.reconcile-asked">): State {
  const unknown = s.unknowns.get(e.call);
  if (unknown !== undefined) unknown.gated = UNDECIDED;
  return s;
}

export function foldResolved(s: State, e: EventOf<"unknown.resolved">): State {
  const was = s.unknowns.get(e.call);
  s.unknowns.delete(e.call);
  s.changes += 1;
  const note = e.note === "" ? "" : `: ${e.note}`;
  return hear(s, noteMessage(`[resolved] ${was?.tool ?? "the call"} (${e.call}), whose outcome was unknown: ${RESOLVED[e.as]}${note}`));
}

/** A person wants the tool asked: only a plain `allow` of the gate lets it be asked. */
export function foldReconcileDecided(s: State, e: GateDecided): State {
  const id = parseActionId(e.id);
  const unknown = id.kind === "reconcile" ? s.unknowns.get(id.call) : undefined;
  if (unknown !== undefined) unknown.gated = e.verdict.kind === "allow" ? { kind: "allowed", decided: e } : null;
  return s;
}

/** The tool has reported the outcome of an unknown call. The call does not run again: its turn has gone on. */
function foldReconciled(s: State, e: EventOf<"recovery.applied">): State {
  const unknown = s.unknowns.get(e.call);
  if (unknown === undefined) return s;
  unknown.gated = null;
  if (e.found === "cannot-tell") return hear(s, noteMessage(`[asked] ${unknown.tool} (${e.call}) cannot tell its outcome: ${e.detail}`));
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

export function foldCleaned(s: State, e: EventOf<"text.cleaned">): State {
  const unknown = s.unknowns.get(e.call);
  if (unknown !== undefined) unknown.cleaned = e.markup;
  return inCall(s, e.call, (c) => {
    c.cleaned = e.markup;
  });
}

// ── recovery ──

export function foldRecovery(s: State, e: EventOf<"recovery.applied">): State {
  if (e.strategy === "reconcile" && s.unknowns.has(e.call)) return foldReconciled(s, e);
  return inCall(s, e.call, (c, t) => {
    if (e.strategy === "dead-letter") s.deadLetters.set(e.call, runningTool(c));
    if (e.strategy !== "reconcile") return foldStrategy(s, t, c, e);
    if (foldAskedFirst(c, e.found)) return;
    if (e.found !== "did-not-happen") return; // the others are followed by `act.ended`
    c.run = { kind: "not-started" };
    c.gated = UNDECIDED; // it never took effect: decided again (its used answer still counts: `judge.ts`), then run
  });
}

type Applied = EventOf<"recovery.applied">;

/** Its tool has failed: for the first time, or again after something was done about it. */
function foldFailure(c: Call, decided: GateDecided, error: string): void {
  c.run = { kind: "failed", decided };
  const before: Mending = c.mending ?? {
    stage: "choose",
    plan: null,
    step: 0,
    tries: 0,
    dueAt: null,
    error,
    shown: null,
    digest: decided.digest,
    as: asItWas(c),
  };
  c.mending = { ...before, stage: "choose", dueAt: null, error, shown: c.shown, as: asItWas(c) };
  c.shown = null; // whatever comes next is shown as itself
}

const asItWas = ({ standIn, edition, starts, retries, repeat, usedAnswer, edited, modified }: Call): Mending["as"] => ({
  standIn,
  edition,
  starts,
  retries,
  repeat,
  usedAnswer,
  edited,
  modified,
});

/** The strategy being tried is denied or cannot tell: the next one comes. A fallback that never ran has not failed. */
export function dropStrategy(c: Call): void {
  if (c.run.kind !== "failed" || c.mending === null) return;
  if (c.standIn !== c.mending.as.standIn) Object.assign(c, c.mending.as);
  c.mending = { ...c.mending, stage: "next", dueAt: null };
}

/** A person was asked and said no, or nobody answered: the error goes to the model. Said of anything else, it only makes room for the next strategy. */
export function foldRefusedRetry(c: Call, by: "expiry" | "person", reason: string): void {
  if (c.run.kind !== "failed") return;
  const who = by === "expiry" ? "whether to run it again was asked" : "a person decided not to run it again";
  if (c.mending?.stage === "person") endFailed(c, `${who}: ${reason}`);
  else dropStrategy(c);
}

function foldStrategy(s: State, t: Turn, c: Call, e: Applied): void {
  if (c.run.kind !== "failed" || c.mending === null || e.strategy === "reconcile") return;
  const at = (stage: Mending["stage"], dueAt: Millis | null = null): void => {
    if (c.mending !== null) c.mending = { ...c.mending, stage, dueAt, plan: e.plan, step: e.step, tries: e.tries };
    c.gated = UNDECIDED; // gated again right before it runs
  };
  switch (e.strategy) {
    case "retry":
      at(c.repeat === "reconcile" ? "ask-tool" : "again", e.dueAt);
      return;
    case "fallback":
      at("again");
      standIn(c, e.tool ?? c.proposed.tool);
      return;
    case "escalate":
      at("person");
      return;
    case "cached":
      c.standIn = null; // it is a result of the tool that was asked for
      c.run = { kind: "ended", outcome: { kind: "done", output: e.output }, endsTurn: false, note: e.detail };
      break;
    case "ask-model":
      endFailed(c, null);
      break;
    case "dead-letter":
      endFailed(c, "it was set aside for an operator to look at; do not repeat it");
      break;
    case "stop":
      t.failure ??= `tool execution failed: ${runningTool(c)}: ${cut(c.mending.error, 1_000)}`;
      endFailed(c, null);
      break;
  }
  settleReply(s, t);
}

/** Another tool under the same call id: with its own key, approval and repeat rule. */
function standIn(c: Call, tool: string): void {
  c.standIn = tool;
  c.edition += 1;
  c.starts = 0;
  c.retries = 0;
  c.repeat = null;
  c.usedAnswer = null;
  c.modified = false;
}

/** Its tool was asked whether it happened, before it was to run again. */
function foldAskedFirst(c: Call, found: Applied["found"]): boolean {
  if (c.mending?.stage !== "ask-tool" || c.run.kind === "ended" || c.run.kind === "not-started" || found === "happened") return false;
  c.run = { kind: "failed", decided: c.run.decided };
  c.gated = UNDECIDED;
  c.mending = { ...c.mending, stage: found === "did-not-happen" ? "again" : "next", dueAt: null };
  return true;
}

function endFailed(c: Call, note: string | null): void {
  const error = c.mending?.error ?? "";
  c.shown = c.mending?.shown ?? null;
  c.run = { kind: "ended", outcome: { kind: "failed", error }, endsTurn: false, note };
}
