import { appendLearning } from "../../knowledge/learnings.ts";
import { joinTextParts } from "../../reason/parse.ts";
import { addUsage, type GateDecided, type ProposedCall } from "../../vocab/index.ts";
import { type Call, UNDECIDED } from "../calls/call.ts";
import type { EventOf } from "../fold-parts.ts";
import { pay } from "../limits/evolve.ts";
import { answerIn, NO_SUMMARY, PREPARING, type State, type Turn } from "../state.ts";
import { assistantMessage, noteMessage } from "./conversation.ts";
import { foldSummaryOver } from "./evolve-context.ts";
import { continueTurn, hear, hearQueued, refuseAnswer, say } from "./evolve-conversation.ts";
import { changesFor, forgetChanges } from "./evolve-middleware.ts";
import { foldCutOffAnswer, takeMisread } from "./evolve-output.ts";
import { NO_TRIES } from "./retry.ts";
import { isUnlooked } from "./structured-output.ts";
import { isStuck, LAST_ITERATIONS, nudgeFor, REPEATS_HALTED, REPEATS_NUDGED } from "./stuck-model.ts";
/** The fold of a model's reply: calls to decide, an answer to deliver, or a note to a model that is stuck. */
export function foldAsked(t: Turn, { iteration, attempt, purpose, reserved, reservedMicros }: EventOf<"model.asked">): void {
  t.phase = { kind: "asking", iteration, attempt, purpose, reserved, reservedMicros };
  t.modelDue = null;
  t.answeredLast = false;
  if (purpose === "reply") t.attempts = attempt;
  else t.summary = { ...t.summary, attempts: attempt };
}

export function foldReply(s: State, t: Turn, e: EventOf<"model.replied">): void {
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
  const text = joinTextParts(parts);
  const misread = takeMisread(t);
  const calls = misread === null ? parts.filter((p) => p.kind === "call") : []; // none of them was to be understood otherwise than as a whole
  const said = misread === null ? parts : parts.filter((p) => p.kind !== "call");
  if (said.length > 0) say(s, assistantMessage(said));
  t.learnt = appendLearning(t.learnt, text);
  if (t.respond.kind === "allowed" && !isUnlooked(t, e.finish, calls.length)) t.aside += text; // an early ending delivers only what the gate let be said
  if (calls.length > 0) {
    t.phase = { kind: "calling", calls: calls.map((proposed) => newCall(s, t, proposed)) };
    forgetChanges(t);
    t.silent = 0;
    foldFewLeft(s, t);
    return;
  }
  const steered = s.queued.some((m) => m.role === "user");
  hearQueued(s);
  if (e.finish === "length" && t.output === null) t.cutOff += text;
  const nudge =
    misread ??
    nudgeFor(
      parts,
      e.finish,
      e.parts.some((p) => p.kind === "call"),
    );
  forgetChanges(t);
  t.silent = nudge === null ? 0 : t.silent + 1;
  if (e.finish === "refused" || e.finish === "filtered") t.phase = { kind: "answering", text: t.cutOff + text, fits: null };
  else if (nudge !== null)
    continueTurn(s, t, isStuck(t) || t.broken !== null ? null : nudge); // one that was withheld said something
  else if (e.finish === "length" && t.output !== null) foldCutOffAnswer(s, t);
  else if (e.finish === "length") continueTurn(s, t, "[cut off] your reply reached the output limit. Go on exactly where it stopped.");
  else if (steered) {
    t.cutOff = "";
    continueTurn(s, t, null); // a person spoke meanwhile: that comes first
  } else {
    t.phase = { kind: "answering", text: t.cutOff + text, fits: null };
    if (t.respond.kind === "denied") refuseAnswer(s, t, t.respond.verdict);
  }
  foldFewLeft(s, t);
}

/** A summary's text is in the event after this one. For the turn it is usage, not an iteration. */
export function foldSummaryReply(s: State, t: Turn, e: EventOf<"model.replied">): void {
  t.usage = addUsage(t.usage, e.usage);
  pay(t, e.micros);
  t.phase = PREPARING;
  foldSummaryOver(t);
  hearQueued(s);
}

const newCall = (s: State, t: Turn, proposed: ProposedCall): Call => ({
  proposed,
  entry: s.seq,
  gated: UNDECIDED,
  run: { kind: "not-started" },
  ...changesFor(t, proposed.id),
  shown: null,
  cleaned: null,
  modified: false,
  usedAnswer: null,
  noticed: false,
  starts: 0,
  repeat: null,
  child: null,
  standIn: null,
  edition: 0,
  retries: 0,
  mending: null,
});

/** Each call once, however often it is decided. What its contract refuses has no arguments that could be the same. */
export function foldRepeat(s: State, t: Turn, call: Call, e: GateDecided): void {
  if (call.noticed || e.action.kind !== "call" || e.action.args === null) return;
  call.noticed = true;
  const times = (t.repeats.get(e.digest) ?? 0) + 1; // the digest is of the tool and its arguments, whatever the call's id
  t.repeats.set(e.digest, times);
  const { tool } = call.proposed;
  if (times === REPEATS_NUDGED)
    hear(
      s,
      noteMessage(
        `[repeated] this is the ${REPEATS_NUDGED}th call of ${tool} with the same arguments. Its result will not change: do something else, or answer.`,
      ),
      call.entry, // of the call: a decision may have no entry of its own
    );
  if (times === REPEATS_HALTED)
    t.halt ??= { by: { kind: "system", id: "repeats" }, reason: `${tool} was called ${REPEATS_HALTED} times with the same arguments` };
}

/** After a reply that goes on. Queued where calls wait for their results: nothing may stand between the two. */
export function foldFewLeft(s: State, t: Turn): void {
  const left = t.limits.iterations - t.iterations;
  const first = Math.min(LAST_ITERATIONS, t.limits.iterations - 1); // a turn of three or fewer hears it after its first reply
  if (left === first && left > 0 && answerIn(t) === null)
    hear(s, noteMessage(`[${left} left] you have ${left === 1 ? "1 reply" : `${left} replies`} left in this turn. Come to an end.`));
}
