import { addUsage } from "../../vocab/index.ts";
import { UNDECIDED } from "../calls/call.ts";
import type { EventOf } from "../fold-parts.ts";
import { MAX_ATTEMPTS } from "../limits/budgets.ts";
import { pay } from "../limits/evolve.ts";
import { type Asking, askingIn, modelNow, PREPARING, type State, type Turn } from "../state.ts";
import { hearQueued, reopen } from "./evolve-conversation.ts";
import { mayDoElsewhere, NO_TRIES, triesAfter } from "./retry.ts";
import { summariserPlace } from "./summary-fallback.ts";
/** The fold of model calls that failed, were lost or were denied: the same model again, a fallback, or none. For replies and for summaries. */
export function foldModelFailed(s: State, t: Turn, e: EventOf<"model.failed">): void {
  const asking = askingIn(t);
  if (e.broke && asking !== null) countLost(t, asking); // rule 5: what may have been used counts as used
  t.phase = PREPARING;
  hearQueued(s); // no reply comes: messages that waited for it are in the next request
  if (e.purpose === "summary") foldSummaryFailed(s, t, e);
  else foldReplyFailed(s, t, e);
}

/** The call was in flight when its process ended. */
export function foldModelLost(s: State, t: Turn, asking: Asking): void {
  countLost(t, asking);
  if (asking.purpose === "reply") foldReplyLost(s, t);
  else foldSummaryLost(s, t);
  t.phase = PREPARING;
  hearQueued(s);
}

/** The usage of a lost call is unknown: it counts as all that was reserved for it. */
function countLost(t: Turn, { reserved, reservedMicros }: Asking): void {
  t.lost = addUsage(t.lost, reserved);
  pay(t, reservedMicros);
}

// ── replies ──

function foldReplyFailed(s: State, t: Turn, e: EventOf<"model.failed">): void {
  t.modelError = e.error;
  t.tries = triesAfter(t.tries, e);
  t.modelDue = e.dueAt;
  reopen(t);
  if (e.dueAt === null || t.tries.lost >= MAX_ATTEMPTS) giveUpOn(s, t, mayDoElsewhere(e));
}

function foldReplyLost(s: State, t: Turn): void {
  t.modelError = "the model call was in flight when its process ended";
  t.tries = { ...t.tries, lost: t.tries.lost + 1 };
  if (t.tries.lost >= MAX_ATTEMPTS) giveUpOn(s, t, true);
}

/** Left alone for now, or not allowed in another's place: the next one. That the agent's own model is not allowed ends the turn. */
export function foldModelDenied(s: State, t: Turn): void {
  if (t.model.kind !== "denied" || s.agent.fallbacks.length === 0) return;
  const { by, reason } = t.model.verdict;
  if (by !== "breaker" && t.fellBack === 0) return;
  const said = by === "breaker" ? reason : `${modelNow(s.agent, t).model} may not be asked: ${reason}`;
  t.modelError = t.modelError === null ? said : `${t.modelError}; ${said}`;
  giveUpOn(s, t, true);
}

function giveUpOn(s: State, t: Turn, elsewhere: boolean): void {
  t.modelDue = null;
  if (elsewhere && t.fellBack < s.agent.fallbacks.length) {
    t.fellBack += 1;
    t.tries = NO_TRIES;
    t.model = UNDECIDED;
  } else t.noModel = true;
}

// ── summaries ──

function foldSummaryFailed(s: State, t: Turn, e: EventOf<"model.failed">): void {
  const tries = triesAfter(t.summary.tries, e);
  t.summary = { ...t.summary, gated: UNDECIDED, tries };
  t.modelDue = e.dueAt;
  if (e.dueAt === null || tries.lost >= MAX_ATTEMPTS) handOn(s, t, mayDoElsewhere(e));
}

function foldSummaryLost(s: State, t: Turn): void {
  const { tries } = t.summary;
  t.summary = { ...t.summary, tries: { ...tries, lost: tries.lost + 1 } };
  if (t.summary.tries.lost >= MAX_ATTEMPTS) handOn(s, t, true);
}

/** Left alone for now, or not allowed in another's place: the next one. That the first is not allowed means that there is no summary. */
export function foldSummaryDenied(s: State, t: Turn): void {
  if (t.summary.gated.kind !== "denied") return;
  if (t.summary.gated.verdict.by === "breaker" || summariserPlace(s.agent, t) > 0) handOn(s, t, true);
}

function handOn(s: State, t: Turn, elsewhere: boolean): void {
  t.modelDue = null;
  const next = summariserPlace(s.agent, t) + 1;
  const isLast = !elsewhere || next > s.agent.fallbacks.length;
  t.summary = isLast
    ? { ...t.summary, over: true }
    : { gated: UNDECIDED, attempts: t.summary.attempts, tries: NO_TRIES, fellBack: next, over: false };
}
