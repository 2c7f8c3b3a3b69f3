/** The moves of a turn around the model: what ends it between two replies, what its next request needs, and what an answer needs to be delivered. */
import { toCanonicalJson } from "../../vocab/index.ts";
import { amountUsed, overBilled, requestTokens, roomForOutput } from "../limits/budgets.ts";
import { toRecallId } from "../memory/recall.ts";
import { learningsIn, toRememberId } from "../memory/remember.ts";
import { type CompactBy, decideFirst, type EndMove, end, type Move, type TurnNow } from "../moves.ts";
import type { State, Turn, TurnPhase } from "../state.ts";
import { compaction } from "./context.ts";
import { isModelResting } from "./retry.ts";
import { isStuck } from "./stuck-model.ts";

/** Before a request: limits first, then its conversation is made to fit, knowledge is recalled, and the request is decided. */
export function nextForRequest(at: TurnNow): readonly Move[] {
  const { s, t, now } = at;
  if (isModelResting(t, now)) return []; // the driver sets a timer
  const over = endsNow(s, t);
  if (over !== null) return rememberFirst(at, over);
  const how = compaction(s, t);
  const needed = (how === null ? null : nextToFit(at, how)) ?? nextToRecall(at);
  if (needed !== null) return needed;
  const short = tooLarge(s, t);
  return short === null ? nextToAsk(at) : [short];
}

/** A reply without calls. `respond` was decided before the model was asked: on labels and recipient, never on the text. */
export function nextForAnswer(at: TurnNow, { text, fits }: Extract<TurnPhase, { kind: "answering" }>): readonly Move[] {
  const { s, t } = at;
  if (t.output !== null && fits === null) return [{ kind: "check-output" }];
  const first = decideFirst(t.respond, { kind: "respond", iteration: t.iterations }, at);
  if (first !== null) return first;
  if (t.respond.kind !== "allowed") return [end(t, "denied", "the answer may not be delivered")];
  const output = fits === null ? text : toCanonicalJson(fits.value);
  return rememberFirst(at, { kind: "end", ending: "completed", output, detail: overBilled(s, t)?.detail ?? null });
}

/** A turn that completes is remembered first, where its agent wants that. A denial does not change its ending. */
function rememberFirst(at: TurnNow, over: EndMove): readonly Move[] {
  const { s, t } = at;
  if (over.ending !== "completed" || t.keep.stage === "over" || learningsIn(s, t) === null) return [over];
  if (t.keep.stage === "keeping") return []; // the write is in flight
  return decideFirst(t.keep.gated, toRememberId(t), at) ?? [t.keep.gated.kind === "allowed" ? { kind: "keep" } : over];
}

function nextToFit(at: TurnNow, how: CompactBy | "summarise"): readonly Move[] {
  if (how !== "summarise") return [{ kind: "compact", how }];
  const { t } = at;
  return decideFirst(t.summary.gated, { kind: "summary", iteration: t.iterations + 1 }, at) ?? [{ kind: "summarise" }];
}

/** Knowledge is searched before each request, where the agent has any. A denial does not keep the model from being asked. */
function nextToRecall(at: TurnNow): readonly Move[] | null {
  const { s, t } = at;
  if (t.recall.done || (s.agent.knowledge?.maxItems ?? 0) === 0) return null;
  return decideFirst(t.recall.gated, toRecallId(t), at) ?? (t.recall.gated.kind === "allowed" ? [{ kind: "recall" }] : null);
}

function nextToAsk(at: TurnNow): readonly Move[] {
  const { t } = at;
  const iteration = t.iterations + 1;
  if (t.model.kind === "denied") return [end(t, t.model.verdict.by === "breaker" ? "failed" : "denied", t.model.verdict.reason)];
  const answering: readonly Move[] = t.respond.kind === "undecided" ? [{ kind: "gate", action: { kind: "respond", iteration } }] : [];
  const asking: readonly Move[] = answering.length > 0 ? [] : [{ kind: "ask-model" }]; // whether its reply may be delivered is decided before the request
  return [...answering, ...(decideFirst(t.model, { kind: "model", iteration }, at) ?? asking)];
}

/** Reasons to end between two replies: the limits, each with its own ending. */
function endsNow(s: State, t: Turn): EndMove | null {
  if (t.over && t.output === null) return end(t, "completed", null);
  if (t.refusedInARow >= t.limits.refusedInARow) return end(t, "denied", `${t.refusedInARow} replies in a row had every call refused`);
  if (isStuck(t)) return end(t, "failed", `${t.silent} replies in a row had neither an answer nor a call`);
  if (amountUsed(s, t, "iterations") >= t.limits.iterations)
    return end(t, "out-of-iterations", `${t.limits.iterations} model calls were made`);
  if (t.noModel) return end(t, "failed", t.modelError);
  return null;
}

/** The smallest request that can be made is larger than the context, or cannot be paid for. */
function tooLarge(s: State, t: Turn): EndMove | null {
  const { contextTokens } = t.limits;
  if (requestTokens(s) > contextTokens)
    return end(
      t,
      "out-of-tokens",
      `instructions, task and the newest message need ${requestTokens(s)} tokens, and contextTokens is ${contextTokens}`,
    );
  const { short } = roomForOutput(s, t);
  return short === null ? null : end(t, short.ending, short.detail);
}
