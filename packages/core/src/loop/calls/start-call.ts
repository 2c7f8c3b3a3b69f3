/** One call from its start to its end: announced by `act.started`, run under its permit, ended by `act.ended`. Or its tool is asked whether an earlier start happened. */
import { type Acted, act, type FoundTool, type Run, reconcile } from "../../act/act.ts";
import { countedAmounts } from "../../gate/arguments/amounts.ts";
import { targetDigests } from "../../gate/arguments/targets.ts";
import { cut, observeOutcome } from "../../observe/observe.ts";
import {
  type Action,
  type CallId,
  type GateDecided,
  type JournalEvent,
  type Json,
  type JsonObject,
  label,
  MICROS_PER_CENT,
  type Outcome,
  printActionId,
  reconciledEvent,
  type Tool,
  UNTRUSTED,
  type WouldPermit,
} from "../../vocab/index.ts";
import { checkHold, consume, type EffectContext, type EffectResult } from "../effect-context.ts";
import { reservation, settlement } from "../limits/budgets.ts";
import { bindMemoryTool } from "../memory/memory-tools.ts";
import { isPromise, onResult, sceneIn } from "../model/middleware.ts";
import { cleanedEventsFor, sanitisedText, shownOutcome } from "../model/sanitise.ts";
import type { Move } from "../moves.ts";
import { type State, type Turn, toCallKey, type Unknown } from "../state.ts";
import { breakersOfTool, classifyCall } from "./breakers.ts";
import { type Answered, type Call, runningTool, stricter } from "./call.ts";
import { doubtEvents, lateRecordEvents, recordEvents } from "./make-records.ts";
import { evidenceRecorder, noteEvent } from "./notes.ts";
import { learnedEvents } from "./trusted-values.ts";
import { createWouldPermit } from "./would-permit.ts";

type StartMove = Extract<Move, { kind: "act" | "reconcile" }>;

export function startCall(c: EffectContext, t: Turn, { kind: how, call }: StartMove): (() => void) | null {
  if (call.gated.kind !== "allowed") return null;
  const { p, hold } = c;
  const { decided } = call.gated;
  const found = p.tools.find(runningTool(call));
  if (found === null) return null;
  let startedAt = c.s.seq;
  const tool = bindMemoryTool(c, found, () => startedAt);
  const bill: Bill = { micros: null, proof: null };
  const wouldPermit = createWouldPermit(p, decided, c.toolDigest, c.factsFor(c.s, t, decided.id));
  const run = toRun(c, { call, tool, bill }, { timeoutMs: tool.timeoutMs ?? t.limits.toolMs, wouldPermit });
  if (call.usedAnswer === null || !isUsedAnswer(call.usedAnswer, decided)) consume(c, decided);
  c.record({
    call: call.proposed.id, // in canonical order: written as it stands
    decisions: [],
    edition: call.edition,
    epoch: hold.epoch,
    kind: "act.started",
    repeat: run.repeat,
    start: run.context.start,
    ...actingOn(c, tool, decided),
  });
  startedAt = c.s.seq;
  if (how === "act") for (const event of reservation(c.s, call.proposed.id, tool.name)) c.record(event);
  return () => {
    const permit = c.permitFor(decided.id);
    checkHold(c);
    const began = p.clock.now();
    const ms = () => p.clock.now() - began;
    const done = (): Done => ({ call, tool, bill, ms: ms() });
    if (how === "act") c.launch(call.proposed.id, async () => toActResult(c, await act(permit, c.redeem, run), done(), run.stop.aborted));
    else c.launch(call.proposed.id, async () => toFoundResult(c, await reconcile(permit, c.redeem, run), done()));
  };
}

/** The tool that runs, the values of its targets and its numbers: all are counted. */
function actingOn(
  { p }: EffectContext,
  tool: Tool,
  { action }: GateDecided,
): Pick<Extract<JournalEvent, { kind: "act.started" }>, "tool" | "values" | "amounts"> {
  if (action.kind !== "call") return { tool: tool.name, values: {} };
  const amounts = countedAmounts(tool, action.args, p.hash);
  const values = targetDigests(tool, action.args, p.hash);
  return { tool: tool.name, values, ...(Object.keys(amounts).length === 0 ? {} : { amounts }) };
}

/** The approval of this very call, used up when it first started. */
const isUsedAnswer = (used: Answered, { verdict }: GateDecided): boolean => verdict.kind === "allow" && verdict.approval === used.approval;

function toRun(
  c: EffectContext,
  { call, tool, bill }: Pick<Done, "call" | "tool" | "bill">,
  { timeoutMs, wouldPermit }: Readonly<{ timeoutMs: number; wouldPermit: WouldPermit }>,
): Run {
  const id = call.proposed.id;
  const note = (name: string, value: Json) => {
    const event = noteEvent(runningTool(call), id, name, value); // copied at once: the tool may go on changing it
    if (c.isInFlight(id)) c.settle(() => [event]);
  };
  const spent = (cents: number) => {
    if (typeof cents !== "number" || !(cents >= 0)) return; // no amount of money: as if nothing was said
    bill.micros = Math.ceil(cents * MICROS_PER_CENT);
    if (cents > tool.maxCents) note("spent-beyond-maximum", { cents, maxCents: tool.maxCents });
  };
  const context = {
    session: c.s.session,
    key: toCallKey(c.s, call),
    epoch: c.hold.epoch,
    start: call.starts + 1,
    note,
    spent,
    evidence: evidenceRecorder(bill),
    wouldPermit,
  };
  return {
    tool,
    repeat: stricter(call.repeat ?? tool.repeat, tool.repeat),
    context,
    timeoutMs,
    stop: c.stopOf(tool.name),
    sleep: (ms, signal) => c.p.clock.sleep(ms, signal),
    deadline: c.deadline,
  };
}

/** Middleware may take its time over an outcome; without any the result is there at once. */
type Ended = EffectResult | Promise<EffectResult>;

function toActResult(c: EffectContext, { outcome, late, over }: Acted, done: Done, stopped: boolean): Ended {
  if (over !== null) c.outliving(over);
  void late?.then((o) => (o === null ? undefined : reportLate(c, done.call, o))).catch(() => {}); // nobody is left to tell when the inbox itself fails: it stays unknown, which is the truth
  const reason = outcome.kind === "done" ? "" : outcome.kind === "failed" ? outcome.error : `${outcome.cause}: ${outcome.detail}`;
  const reported = (ended: EffectResult) => () => {
    const key = `${c.s.session}/${done.call.proposed.id}`;
    for (const breaker of breakersOfTool(done.tool))
      c.p.breakers.report(breaker, key, classifyCall(breaker, outcome, stopped), cut(reason, 500));
    return ended();
  };
  const result = toEndedResult(c, done, outcome);
  return isPromise(result) ? result.then(reported) : reported(result);
}

async function reportLate({ p, s }: EffectContext, call: Call, outcome: Outcome): Promise<void> {
  const wish = { kind: "late", call: call.proposed.id, outcome } as const;
  await p.inbox.put(p.signAsWriter({ id: p.ids.intent(), session: s.session, at: p.clock.now(), wish }));
}

async function toFoundResult(c: EffectContext, told: FoundTool, done: Done): Promise<EffectResult> {
  leaveBreakers(c, done.tool, done.call.proposed.id);
  const found = toFound(told);
  const detail = found.kind === "cannot-tell" ? found.detail : "";
  const said = reconciledEvent(done.call.proposed.id, found.kind, detail);
  if (found.kind === "did-not-happen") return () => [said];
  if (found.kind === "cannot-tell" && done.call.mending?.stage === "ask-tool") return () => [said]; // it failed, and is not run again
  const outcome: Outcome =
    found.kind === "happened" ? { kind: "done", output: found.output } : { kind: "unknown", cause: "not-reconciled", detail };
  const result = await toEndedResult(c, done, outcome);
  return () => [said, ...result()];
}

// ── the events that end a call ──
/** The cost and the proof that a tool reports for its call; null while it has reported none. */
export type Bill = { micros: number | null; proof: JsonObject | null };
/** A call that is over, with its cost and its duration. */
export type Done = Readonly<{ call: Call; tool: Tool; bill: Bill; ms: number }>;

/** The end of a call, once middleware has seen its outcome. */
export function toEndedResult(c: EffectContext, done: Done, outcome: Outcome): Ended {
  if (c.p.middleware.length === 0) return () => endedEvents(c, done, outcome, []);
  return middlewareOn(c, done.call, outcome).then((seen) => () => endedEvents(c, done, outcome, seen));
}

export async function middlewareOn(c: EffectContext, call: Call, outcome: Outcome): Promise<readonly JournalEvent[]> {
  const { middleware } = c.p;
  const t = c.s.turn;
  if (middleware.length === 0 || t === null) return [];
  const { id } = call.proposed;
  const tool = runningTool(call);
  const action = "decided" in call.run ? call.run.decided.action : null;
  const limit = t.limits.observationChars;
  const made = c.p.tools.find(tool);
  const isUntrusted = made?.labels.includes(UNTRUSTED) ?? true;
  const { text } = observeOutcome(tool, isUntrusted ? shownOutcome(outcome, made?.markup ?? "clean") : outcome, limit);
  const result = { call: { id, tool, args: action?.kind === "call" ? action.args : null }, outcome, text, limit };
  return (await onResult(middleware, { ...sceneIn(c, t.iterations), call: id }, result)).events;
}

function endedEvents(
  c: EffectContext,
  { call, tool, bill, ms }: Done,
  outcome: Outcome,
  seen: readonly JournalEvent[],
): readonly JournalEvent[] {
  const endsTurn = tool.endsTurn && outcome.kind === "done";
  const ended: JournalEvent = {
    kind: "act.ended",
    call: call.proposed.id,
    outcome,
    evidence: { durationMs: ms, starts: call.starts, proof: bill.proof },
    endsTurn,
    recovering: outcome.kind === "failed",
  };
  const settled = outcome.kind === "unknown" ? [] : settlement(c.s, call.proposed.id, tool.name, bill.micros);
  const learnt = learnedEvents(tool, call, outcome);
  const action = "decided" in call.run ? call.run.decided.action : null;
  return [
    ...newLabelEvents(c.s, tool, call.proposed.id),
    ...settled,
    ...learnt,
    ...recordEvents(tool, call.proposed.id, action, outcome),
    ...endedRecords(c, call, action, outcome),
    ...cleanedEventsFor(tool, call.proposed.id, outcome),
    ...seen,
    ended,
  ];
}

/** A failed call of a tool that cannot be repeated may have done half of its work; any other may be run again, on the same records (`recover` has those that are not). */
function endedRecords(
  c: EffectContext,
  { proposed: { id }, repeat }: Call,
  action: Action | null,
  { kind }: Outcome,
): readonly JournalEvent[] {
  if (kind === "unknown") return doubtEvents(c, id, action, "any");
  return kind === "failed" && repeat === "once" ? doubtEvents(c, id, action, "named") : [];
}

/** The labels of a tool join the session with whatever its outcome says. */
export function newLabelEvents(s: State, tool: Tool, from: CallId): readonly JournalEvent[] {
  const fresh = tool.labels.filter((l) => !s.labels.has(l));
  return fresh.length === 0 ? [] : [{ kind: "labels.added", labels: fresh.map(label), from }];
}

// ── a call with an unknown outcome ──

export function toFound(result: FoundTool) {
  const found = result.kind === "found" ? result.found : { kind: "cannot-tell" as const, detail: result.detail };
  return found.kind === "cannot-tell" ? { ...found, detail: sanitisedText(found.detail, "clean") } : found; // it is told to the model as it is
}

/** A tool's word on an earlier run is no run: a place to probe the breaker is free again. */
export function leaveBreakers({ p, s }: EffectContext, tool: Tool | null, action: string): void {
  for (const breaker of tool === null ? [] : breakersOfTool(tool)) p.breakers.report(breaker, `${s.session}/${action}`, null, "");
}

/** A person wants the tool asked about a call whose outcome is unknown, perhaps of a turn long ago. */
export function reconcileUnknown(c: EffectContext, unknown: Unknown): (() => void) | null {
  const name = printActionId({ kind: "reconcile", call: unknown.call });
  const tool = c.p.tools.find(unknown.tool);
  if (unknown.gated?.kind !== "allowed" || c.isInFlight(name)) return null;
  const context = {
    session: c.s.session,
    key: unknown.key,
    epoch: c.hold.epoch,
    start: 1,
    note: () => {},
    spent: () => {},
    evidence: () => {},
    wouldPermit: () => "no" as const, // asked what became of a call, it shows nothing new
  };
  return () => {
    const permit = c.permitFor(name);
    checkHold(c);
    c.launch(name, async () => {
      const found: ReturnType<typeof toFound> =
        tool?.reconcile == null
          ? { kind: "cannot-tell", detail: "this tool cannot be asked for a call's outcome" }
          : toFound(
              await reconcile(permit, c.redeem, {
                tool,
                repeat: "reconcile",
                context,
                timeoutMs: tool.timeoutMs ?? 30_000,
                stop: c.stopOf(tool.name),
                sleep: (ms, signal) => c.p.clock.sleep(ms, signal),
                deadline: c.deadline,
              }),
            );
      const detail = found.kind === "cannot-tell" ? found.detail : "";
      const said = reconciledEvent(unknown.call, found.kind, detail);
      leaveBreakers(c, tool, name);
      const outcome: Outcome | null = found.kind === "happened" ? { kind: "done", output: found.output } : null;
      return () => [
        ...(tool === null ? [] : newLabelEvents(c.s, tool, unknown.call)),
        ...(outcome === null ? [] : lateRecordEvents(c, unknown.call, unknown.decided.action, outcome)),
        said,
      ];
    });
  };
}
