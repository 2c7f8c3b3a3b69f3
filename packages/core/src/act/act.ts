/**
 * 3. Act: a permit in, an outcome out. The only room that runs tools.
 * T-5 a tool that has sent its call and lost sight of it says so (`outcome-unknown`): that is unknown too, and of a `read` a failure.
 * T-6 a call that outlives its time is given up, not forgotten: what it says later settles the unknown.
 */
import type { Permit, Redeem } from "../permit/turnstile.ts";
import {
  type Action,
  copyFrozen,
  FaultError,
  type Json,
  type Outcome,
  onAbort,
  type Reconciled,
  type Repeat,
  type Tool,
  type ToolContext,
  UNKNOWN_CAUSES,
  type UnknownCause,
} from "../vocab/index.ts";

export type Run = Readonly<{
  tool: Tool;
  /** The stricter of what the tool says now and what it said when it first started. */
  repeat: Repeat;
  context: Omit<ToolContext, "signal">;
  timeoutMs: number;
  /** Fires on cancel or when the turn's time is up. */
  stop: AbortSignal;
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** Rings unless it is taken away before. */
  deadline(ms: number, ring: () => void): () => void;
}>;

/** `over` resolves when the tool's own code has really ended: until then nobody else may touch what it touches. Null: it has ended. */
export type Acted = Readonly<{
  over: Promise<void> | null;
  outcome: Outcome;
  /** The late outcome of a call that was given up as unknown. Null: it failed after it was stopped, which says nothing about its effect. */
  late: Promise<Outcome | null> | null;
}>;

/** How long a stopped tool may take to say what it did. */
export const GRACE_MS = 250;

/** Runs the tool under a deadline and a stop signal; whichever comes first decides, with a short grace for the tool to say what it did. */
export async function act(permit: Permit, redeem: Redeem, run: Run): Promise<Acted> {
  const args = argsOf(redeem(permit), run.tool);
  const inner = new AbortController();
  const { promise, resolve } = Promise.withResolvers<Outcome | UnknownCause>();
  const stopListening = onAbort(run.stop, () => resolve(run.stop.reason === "timed-out" ? "timed-out" : "cancelled"));
  const inTime = run.deadline(run.timeoutMs, () => resolve("timed-out"));
  const running = settle(run.repeat, () => run.tool.run(args, { ...run.context, signal: inner.signal }));
  const over = running.then(resolve);
  const first = await promise;
  stopListening();
  inTime();
  return typeof first === "string" ? waitInGrace(run, first, { running, over, inner }) : { outcome: first, late: null, over: null };
}

type Stopped = Readonly<{ running: Promise<Outcome>; over: Promise<void>; inner: AbortController }>;

async function waitInGrace(run: Run, cause: UnknownCause, { running, over, inner }: Stopped): Promise<Acted> {
  inner.abort(cause);
  const patience = new AbortController();
  const last = await Promise.race([running, run.sleep(GRACE_MS, patience.signal).then(() => null)]);
  patience.abort("over");
  if (last?.kind === "done") return { outcome: last, late: null, over };
  const late = last === null && run.repeat !== "read" ? running.then((o) => (o.kind === "done" ? o : null)) : null;
  return { outcome: givenUp(run, cause, last), late, over };
}

export type FoundTool = Readonly<{ kind: "found"; found: Reconciled } | { kind: "gave-up"; detail: string }>;

/** Asks a `reconcile` tool for the outcome of the call with this key. Under a permit like any run: it is the tool's code. */
export async function reconcile(permit: Permit, redeem: Redeem, run: Run): Promise<FoundTool> {
  const args = argsOf(redeem(permit), run.tool);
  const ask = run.tool.reconcile;
  if (ask === null) return { kind: "gave-up", detail: "the tool can no longer be asked" };
  const inner = new AbortController();
  const timer = new AbortController();
  let onStop = () => {};
  const stopped = new Promise<FoundTool>((resolve) => {
    onStop = () => resolve({ kind: "gave-up", detail: "stopped while asking" });
  });
  if (run.stop.aborted) onStop();
  run.stop.addEventListener("abort", onStop, { once: true });
  const asked = Promise.resolve()
    .then(() => ask(args, { ...run.context, signal: inner.signal }))
    .then((found): FoundTool => ({ kind: "found", found }))
    .catch((error: unknown): FoundTool => ({ kind: "gave-up", detail: toErrorText(error) }));
  const timeUp = run
    .sleep(run.timeoutMs, timer.signal)
    .then((): FoundTool => ({ kind: "gave-up", detail: "the tool did not say in time" }));
  const found = await Promise.race([asked, timeUp, stopped]);
  inner.abort("over");
  timer.abort("over");
  run.stop.removeEventListener("abort", onStop);
  return found;
}

function argsOf(action: Action, tool: Tool) {
  if (action.kind !== "call" || action.args === null || action.tool !== tool.name) throw new Error("the permit is for another action");
  return action.args;
}

async function settle(repeat: Repeat, run: () => Promise<Json> | Json): Promise<Outcome> {
  try {
    return { kind: "done", output: ownJson(await run()) };
  } catch (error) {
    const lost = lostSight(error);
    return lost === null ? { kind: "failed", error: toErrorText(error) } : outcomeUnlessRead(repeat, lost.cause, lost.detail);
  }
}

/** A tool may be plain JavaScript: a cause that does not exist, or a detail that is no text, could not be recorded after the effect. */
function lostSight(error: unknown): Readonly<{ cause: UnknownCause; detail: string }> | null {
  if (!(error instanceof FaultError) || error.fault.kind !== "outcome-unknown") return null;
  const { cause, detail }: Readonly<Record<"cause" | "detail", unknown>> = error.fault;
  return {
    cause: UNKNOWN_CAUSES.find((known) => known === cause) ?? "connection-lost",
    detail: detail === undefined ? "the tool did not say why" : toErrorText(detail),
  };
}

/** A `read` does no harm, so for the model it simply failed. Any other call may or may not have taken effect. */
function givenUp(run: Run, cause: UnknownCause, last: Outcome | null): Outcome {
  const said = last?.kind === "failed" ? `; the tool said: ${last.error}` : "";
  const detail = cause === "timed-out" ? `no result after ${run.timeoutMs} ms${said}` : `stopped while running${said}`;
  return outcomeUnlessRead(run.repeat, cause, detail);
}

const outcomeUnlessRead = (repeat: Repeat, cause: UnknownCause, detail: string): Outcome =>
  repeat === "read" ? { kind: "failed", error: `${cause}: ${detail}` } : { kind: "unknown", cause, detail };

/** A copy that nobody can change meanwhile. The effect has happened by now, so what is not JSON is shown as text and never fails the call. */
function ownJson(output: unknown): Json {
  try {
    return copyFrozen((output ?? null) as Json);
  } catch {
    return `[not JSON] ${toErrorText(output)}`;
  }
}

/** Always a text, whatever was thrown. */
export function toErrorText(error: unknown): string {
  try {
    const said: unknown = error instanceof Error ? error.message : error;
    return (typeof said === "string" ? said : String(said)).toWellFormed();
  } catch {
    return "it threw something that cannot be shown";
  }
}
