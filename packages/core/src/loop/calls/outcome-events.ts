import { observeOutcome } from "../../observe/observe.ts";
import {
  type CallId,
  digestJson,
  type Evidence,
  type JournalEvent,
  type JsonObject,
  label,
  type Outcome,
  type Tool,
  UNTRUSTED,
} from "../../vocab/index.ts";
import type { EffectContext, EffectResult } from "../effects.ts";
import { settlement } from "../limits/budgets.ts";
import { onResult, sceneIn } from "../model/middleware.ts";
import { cleanedEventsFor, shownOutcome } from "../model/sanitise.ts";
import type { State } from "../state.ts";
import { type Call, runningTool } from "./call.ts";
import { learnedEvents } from "./trusted-values.ts";
/** The events that end a call: its outcome with labels, settled budget, evidence, and what middleware lets the model see of it. */
/** The cost and the proof that a tool reports for its call; null while it has reported none. */
export type Bill = { micros: number | null; proof: JsonObject | null };
/** A call that is over, with its cost and its duration. */
export type Done = Readonly<{ call: Call; tool: Tool; bill: Bill; ms: number }>;

/** The end of a call, once middleware has seen its outcome. */
export async function toEndedResult(c: EffectContext, done: Done, outcome: Outcome): Promise<EffectResult> {
  const seen = await middlewareOn(c, done.call, outcome);
  return () => endedEvents(c, done, outcome, seen);
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
    evidence: { ...evidence(c, call, outcome, ms), proof: bill.proof },
    endsTurn,
    recovering: outcome.kind === "failed",
  };
  const settled = outcome.kind === "unknown" ? [] : settlement(c.s, call.proposed.id, tool.name, bill.micros);
  const learnt = learnedEvents(tool, call, outcome);
  return [
    ...newLabelEvents(c.s, tool, call.proposed.id),
    ...settled,
    ...learnt,
    ...cleanedEventsFor(tool, call.proposed.id, outcome),
    ...seen,
    ended,
  ];
}

/** The labels of a tool join the session with whatever its outcome says. */
export function newLabelEvents(s: State, tool: Tool, from: CallId): readonly JournalEvent[] {
  const fresh = tool.labels.filter((l) => !s.labels.has(l));
  return fresh.length === 0 ? [] : [{ kind: "labels.added", labels: fresh.map(label), from }];
}

export function evidence(
  { p, toolDigest }: Pick<EffectContext, "p" | "toolDigest">,
  call: Call,
  outcome: Outcome | null,
  durationMs: number,
): Evidence {
  const tool = p.tools.find(runningTool(call));
  const decided = call.run.kind === "running" || call.run.kind === "lost" ? call.run.decided : null;
  const outputDigest = outcome?.kind === "done" ? digestJson(outcome.output, p.hash) : null;
  const none = () => digestJson(null, p.hash);
  return {
    toolDigest: tool === null ? none() : toolDigest(tool),
    actionDigest: decided?.digest ?? none(),
    outputDigest,
    durationMs,
    starts: call.starts,
    proof: null,
  };
}
