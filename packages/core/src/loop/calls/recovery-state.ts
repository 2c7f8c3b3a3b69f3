/**
 * Where a call that failed stands: what was chosen, what came of it, what is left to try. Part of the fold; `recovery.ts` does the choosing.
 * Rule: F-1.
 */
import { cut } from "../../observe/observe.ts";
import { type Decided, type Millis, millis, type SessionEvent } from "../../vocab/index.ts";
import { settle } from "../model/conversation.ts";
import { type Call, type Mending, nameOf, type State, type Turn, UNDECIDED } from "../state.ts";

type Applied = Extract<SessionEvent, { kind: "recovery.applied" }>;

/** Its tool has failed: for the first time, or again after something was done about it. */
export function hasFailed(c: Call, decided: Decided, error: string): void {
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

const asItWas = ({ standIn, edition, starts, retries, repeat, leave, edited, modified }: Call): Mending["as"] => ({
  standIn,
  edition,
  starts,
  retries,
  repeat,
  leave,
  edited,
  modified,
});

/** What was being tried is of no more use: denied, or nobody can tell. The next strategy's turn; a stand-in that never ran has not failed. */
export function setBack(c: Call): void {
  if (c.run.kind !== "failed" || c.mending === null) return;
  if (c.standIn !== c.mending.as.standIn) Object.assign(c, c.mending.as);
  c.mending = { ...c.mending, stage: "next", dueAt: null };
}

/** A person was asked and said no, or nobody answered: the error goes to the model. Said of anything else, it only makes room for the next strategy. */
export function refusedAgain(c: Call, by: "expiry" | "person", reason: string): void {
  if (c.run.kind !== "failed") return;
  const who = by === "expiry" ? "whether to run it again was asked" : "a person decided not to run it again";
  if (c.mending?.stage === "person") endFailed(c, `${who}: ${reason}`);
  else setBack(c);
}

export function applied(s: State, t: Turn, c: Call, e: Applied): void {
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
      t.failure ??= `tool execution failed: ${nameOf(c)}: ${cut(c.mending.error, 1_000)}`;
      endFailed(c, null);
      break;
  }
  settle(s, t);
}

/** Another tool under the same call id: with a key, a leave and a way to be repeated of its own. */
function standIn(c: Call, tool: string): void {
  c.standIn = tool;
  c.edition += 1;
  c.starts = 0;
  c.retries = 0;
  c.repeat = null;
  c.leave = null;
  c.modified = false;
}

/** Its tool was asked whether it happened, before it was to run again. */
export function askedFirst(c: Call, found: Applied["found"]): boolean {
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
  const due = t?.calling.flatMap((c) => (isResting(c, now) && c.mending?.dueAt != null ? [c.mending.dueAt] : [])) ?? [];
  return due.length === 0 ? null : millis(Math.min(...due));
}
