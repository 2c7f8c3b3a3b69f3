/** Starting one call: announced by `act.started`, run under its permit, and ended by an outcome. Or its tool is asked whether an earlier start happened. */
import { type Acted, act, type FoundTool, type Run, reconcile } from "../../act/act.ts";
import { targetDigests } from "../../gate/arguments/targets.ts";
import { cut } from "../../observe/observe.ts";
import {
  type GateDecided,
  type JournalEvent,
  type Json,
  MICROS_PER_CENT,
  type Outcome,
  reconciledEvent,
  type Tool,
  type WouldPermit,
} from "../../vocab/index.ts";
import { checkHold, consume, type EffectContext, type EffectResult } from "../effects.ts";
import { reservation } from "../limits/budgets.ts";
import { bindMemoryTool } from "../memory/memory-tools.ts";
import type { Move } from "../moves.ts";
import { type Turn, toCallKey } from "../state.ts";
import { breakersOfTool, classifyCall } from "./breakers.ts";
import { type Answered, type Call, runningTool, stricter } from "./call.ts";
import { evidenceRecorder, noteEvent } from "./notes.ts";
import { type Bill, type Done, toEndedResult } from "./outcome-events.ts";
import { leaveBreakers, toFound } from "./reconcile-unknown.ts";
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
  const { key, start } = run.context;
  if (call.usedAnswer === null || !isUsedAnswer(call.usedAnswer, decided)) consume(c, decided);
  c.record({
    kind: "act.started",
    call: call.proposed.id,
    key,
    digest: decided.digest,
    epoch: hold.epoch,
    start,
    repeat: run.repeat,
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

/** The tool that runs and the values of its targets: both are counted. */
function actingOn(
  { p }: EffectContext,
  tool: Tool,
  { action }: GateDecided,
): Pick<Extract<JournalEvent, { kind: "act.started" }>, "tool" | "values"> {
  return { tool: tool.name, values: action.kind === "call" ? targetDigests(tool, action.args, p.hash) : {} };
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

async function toActResult(c: EffectContext, { outcome, late, over }: Acted, done: Done, stopped: boolean): Promise<EffectResult> {
  c.outliving(over);
  void late?.then((o) => (o === null ? undefined : reportLate(c, done.call, o))).catch(() => {}); // nobody is left to tell when the inbox itself fails: it stays unknown, which is the truth
  const reason = outcome.kind === "done" ? "" : outcome.kind === "failed" ? outcome.error : `${outcome.cause}: ${outcome.detail}`;
  const result = await toEndedResult(c, done, outcome);
  return () => {
    const key = `${c.s.session}/${done.call.proposed.id}`;
    for (const breaker of breakersOfTool(done.tool))
      c.p.breakers.report(breaker, key, classifyCall(breaker, outcome, stopped), cut(reason, 500));
    return result();
  };
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
