/**
 * Recovery: which strategy comes next for a call that failed, and the event it leads to. The driver records the choice, and `evolve.ts` beside this file folds it.
 * A call whose process died is not here: see `afterLost` in `next-calls.ts`.
 * F-1 a failed call has its one result only when `recovery.applied` says what was done about it, or its turn ends.
 * F-2 strategies are tried in order; one that fails or cannot be done gives way to the next, and when none is left the turn stops.
 * F-3 a `once` call is never run again by a strategy; a `reconcile` call only after its tool has said that it did not happen.
 * F-2 a function of the user's is asked once for each call that fails; one that throws, or answers with no strategy, stops the turn.
 */

import { toErrorText } from "../../act/act.ts";
import { cut } from "../../observe/observe.ts";
import {
  ASK_MODEL,
  type CallId,
  copyFrozen,
  type JournalEvent,
  type Millis,
  millis,
  type Recovery,
  type RecoveryPlan,
  readRecoveryPlan,
  type Seq,
  type Tool,
} from "../../vocab/index.ts";
import { isTooExpensive, remaining, remainingMs } from "../limits/budgets.ts";
import type { Ports } from "../ports.ts";
import { type Call, callsIn, type Mending, runningTool, type State, stricter, type Turn, toCallKey } from "../state.ts";
import { backoff } from "./backoff.ts";

type Applied = Extract<JournalEvent, { kind: "recovery.applied" }>;

/** `look`: the result that stands in has to be read first. */
export type Choice = Readonly<{ kind: "apply"; event: Applied } | { kind: "look"; at: Seq; event: Applied }>;

type Needs = Pick<Ports, "tools" | "hash">;
type At = Readonly<{ p: Needs; s: State; t: Turn; call: Call; failed: Mending; now: Millis }>;

/** One per drive: it remembers what a function said, until that is journalled. */
export function createChooser(p: Needs, s: State): (t: Turn, call: Call, now: Millis) => Choice | null {
  const said = new Map<CallId, Planned>();
  return (t, call, now) => {
    const failed = call.mending;
    if (call.run.kind !== "failed" || failed === null) return null;
    const id = call.proposed.id;
    if (failed.plan !== null) {
      said.delete(id);
      return choose({ p, s, t, call, failed, now }, { plan: failed.plan, why: null });
    }
    const planned = said.get(id) ?? planOf(p, call, failed);
    said.set(id, planned);
    return choose({ p, s, t, call, failed, now }, planned);
  };
}

type Planned = Readonly<{ plan: RecoveryPlan; why: string | null }>;

/** As the tool that was asked for says now, or its agent. */
function planOf(p: Needs, call: Call, failed: Mending): Planned {
  const recover = p.tools.find(call.proposed.tool)?.recover ?? ASK_MODEL;
  if (typeof recover !== "function") return { plan: recover, why: null };
  const action = call.run.kind === "failed" ? call.run.decided.action : null;
  const args = action?.kind === "call" ? (action.args ?? {}) : {};
  const { starts, repeat } = call;
  try {
    const failure = {
      tool: runningTool(call),
      call: call.proposed.id,
      args: copyFrozen(args),
      error: failed.error,
      starts,
      repeat: repeat ?? "once",
    };
    const read = readRecoveryPlan(recover(Object.freeze(failure)));
    return read.kind === "plan"
      ? { plan: read.plan, why: null }
      : { plan: [], why: `what was to choose a strategy chose none: ${read.detail}` };
  } catch (error) {
    return { plan: [], why: `what was to choose a strategy failed itself: ${toErrorText(error)}` };
  }
}

function choose(at: At, { plan: all, why }: Planned): Choice {
  const { failed } = at;
  const [head] = all;
  const isOnceMore = failed.plan !== null && failed.stage === "choose" && head?.kind === "retry" && failed.tries < head.times;
  const from = failed.plan === null || isOnceMore ? 0 : 1;
  const skipped = why === null ? [] : [why];
  for (const [i, strategy] of all.slice(from).entries()) {
    const plan = all.slice(from + i);
    const tries = isOnceMore && i === 0 ? failed.tries + 1 : 1;
    const tried = attempt(at, strategy, tries);
    if ("not" in tried) skipped.push(`${strategy.kind}: ${tried.not}`);
    else {
      const { look, ...what } = tried;
      const detail = [...skipped, what.detail].filter((text) => text !== "").join("; ");
      const event = {
        ...BLANK,
        ...what,
        call: at.call.proposed.id,
        strategy: strategy.kind,
        plan,
        step: failed.step + from + i,
        tries,
        detail,
      };
      return look === null ? { kind: "apply", event } : { kind: "look", at: look, event };
    }
  }
  const detail = [...skipped, "nothing is left to try"].join("; ");
  return {
    kind: "apply",
    event: { ...BLANK, call: at.call.proposed.id, strategy: "stop", plan: [], step: failed.step + all.length, tries: 1, detail },
  };
}

const BLANK = { kind: "recovery.applied", found: null, dueAt: null, tool: null, output: null, from: null } as const;

type Tried =
  | Readonly<{ detail: string; dueAt: Millis | null; tool: string | null; from: Seq | null; look: Seq | null }>
  | Readonly<{ not: string }>;
const done = (given: Partial<Extract<Tried, { detail: string }>> = {}): Tried => ({
  detail: "",
  dueAt: null,
  tool: null,
  from: null,
  look: null,
  ...given,
});

function attempt(at: At, strategy: Recovery, tries: number): Tried {
  switch (strategy.kind) {
    case "retry":
      return retry(at, strategy, tries);
    case "fallback":
      return fallBack(at, strategy.tool);
    case "cached":
      return cached(at, strategy.maxAgeMs);
    case "dead-letter":
      return done({ detail: cut(at.failed.error, 500) });
    case "ask-model":
    case "escalate":
    case "stop":
      return done();
  }
}

function retry({ p, s, t, call, now }: At, strategy: Extract<Recovery, { kind: "retry" }>, tries: number): Tried {
  const tool = p.tools.find(runningTool(call));
  if (tool === null) return { not: "its tool is gone" };
  if (!mayRepeat(call, tool)) return { not: "a `once` call is never run again" };
  if (remaining(s, t, now).calls === 0) return { not: "the turn has no calls left" };
  if (isTooExpensive(s, t, tool.name)) return { not: "the turn has no money left for it" };
  const waitMs = backoff(strategy, tries, p.hash, toCallKey(s, call));
  if (waitMs >= remainingMs(s, t, now)) return { not: "the turn has no time left for it" };
  return done({ dueAt: millis(now + waitMs), detail: `start ${call.starts + 1} in ${waitMs} ms` });
}

/** The stricter of what its tool says now and what it said when it first started. */
const mayRepeat = (call: Call, tool: Tool): boolean => stricter(call.repeat ?? tool.repeat, tool.repeat) !== "once";

function fallBack({ p, s, t, call, now }: At, name: string): Tried {
  if (name === runningTool(call)) return { not: "it is the tool that failed" };
  if (p.tools.find(name) === null) return { not: `there is no tool \`${name}\`` };
  if (remaining(s, t, now).calls === 0) return { not: "the turn has no calls left" };
  if (isTooExpensive(s, t, name)) return { not: "the turn has no money left for it" };
  return done({ tool: name });
}

function cached({ s, failed, now }: At, maxAgeMs: number): Tried {
  const found = s.results.get(failed.digest);
  if (found === undefined) return { not: "the very same call has no result in this session" };
  const age = now - found.at;
  if (age > maxAgeMs) return { not: `its last result is ${age} ms old` };
  return done({
    from: found.seq,
    look: found.seq,
    detail: `an old result, of ${Math.round(age / 1000)} s ago: the call itself failed now`,
  });
}

// ── where a failed call stands ──

/** A strategy is to be chosen. */
export const isToRecover = (c: Call): boolean => c.run.kind === "failed" && (c.mending?.stage === "choose" || c.mending?.stage === "next");

/** Waits for its retry to be due. */
export const isResting = (c: Call, now: Millis): boolean => c.run.kind === "failed" && c.mending?.dueAt != null && now < c.mending.dueAt;

/** Runs because of a failure, and counts as a call like any other. */
export const isAgain = (c: Call): boolean => c.run.kind === "failed" && (c.mending?.stage === "again" || c.mending?.stage === "person");

/**
 * When the next retry of a call or of the model is due; null when none was waiting for its time at `now`: one that is due waits for a person or a
 * place, and not for a clock.
 */
export function nextRetry(t: Turn | null, now: Millis): Millis | null {
  if (t !== null && t.modelDue !== null && now < t.modelDue) return t.modelDue;
  const due = callsIn(t).flatMap((c) => (isResting(c, now) && c.mending?.dueAt != null ? [c.mending.dueAt] : []));
  return due.length === 0 ? null : millis(Math.min(...due));
}
