/** The fold of a turn as a whole: its start, its end, another agent, another process. */
import { observeOutcome, observeUnstarted } from "../observe/observe.ts";
import { pinTask } from "../reason/window.ts";
import { NO_RESERVATION, NO_USAGE, type Observation, totalTokens } from "../vocab/index.ts";
import { type Call, isDelegated, isSettled, runningTool, UNDECIDED } from "./calls/call.ts";
import { keepSaid } from "./calls/said-words.ts";
import { type EventOf, inTurn } from "./fold-parts.ts";
import { sumUsed } from "./limits/budgets.ts";
import { reopenKeep, reopenRecall } from "./memory/evolve.ts";
import { observation, userMessage } from "./model/conversation.ts";
import { continueTurn, hear, hearQueued, say, sayResults } from "./model/evolve-conversation.ts";
import { foldModelLost } from "./model/evolve-failure.ts";
import { NO_TRIES } from "./model/retry.ts";
import { reopenDecision } from "./people/approval-state.ts";
import { placeOfChosen } from "./people/conversation-settings.ts";
import { countAllowed } from "./people/evolve.ts";
import { askingIn, callsIn, isOwnWord, KEEP_DUE, NO_SUMMARY, nameKey, PREPARING, RECALL_DUE, type State, type ToldName } from "./state.ts";

export function foldTurnStarted(s: State, e: EventOf<"turn.started">): State {
  if (e.intent !== null && s.followUps[0]?.intent === e.intent) s.followUps.shift();
  s.turns = e.turn;
  const chosen = placeOfChosen(s);
  s.turn = {
    number: e.turn,
    limits: e.limits,
    by: e.by,
    startedAt: s.at,
    words: isOwnWord(s, e.by, e.turn) ? [e.input] : [],
    speakers: [...new Set([e.by.id, ...(e.turn === 1 ? (s.parent?.speakers ?? []) : [])])],
    iterations: 0,
    usage: NO_USAGE,
    lost: NO_USAGE,
    lostBelow: 0,
    micros: 0,
    unpriced: (s.agent.fallbacks[chosen - 1] ?? s.agent).prices === null,
    settled: NO_RESERVATION,
    calls: 0,
    activeMs: 0,
    refusedInARow: 0,
    allowedCalls: new Map(),
    values: new Map(),
    phase: PREPARING,
    summary: NO_SUMMARY,
    recall: RECALL_DUE,
    knowledge: null,
    learnt: "",
    keep: KEEP_DUE,
    attempts: 0,
    modelError: null,
    modelDue: null,
    noModel: false,
    tries: NO_TRIES,
    fellBack: chosen,
    model: UNDECIDED,
    respond: UNDECIDED,
    output: null,
    repairs: 0,
    misread: null,
    finish: "stop",
    cutOff: "",
    aside: "",
    silent: 0,
    repeats: new Map(),
    rewritten: { parts: null, calls: new Map() },
    broken: null,
    cancel: null,
    halt: null,
    failure: null,
    over: false,
    questions: new Map(),
    answeredLast: false,
  };
  say(s, userMessage(e.input, e.files));
  pinTask(s.messages, s.window);
  return s;
}

/** Other models are asked from the first one on. */
export function foldAgentChanged(s: State, { agent }: EventOf<"agent.changed">): State {
  const models = ({ model, fallbacks }: State["agent"]) => [model, ...fallbacks.map((f) => f.model)].join(" ");
  if (s.turn !== null && models(agent) !== models(s.agent)) {
    s.turn.fellBack = placeOfChosen({ agent, chosen: s.chosen });
    s.turn.tries = NO_TRIES;
    s.turn.noModel = false;
  }
  if (s.turn !== null) reopenRecall(s.turn); // it may look less far now, or not at all
  s.changes += 1; // what was decided before is not current any more
  s.agent = agent;
  return s;
}

/** The previous process took its permits with it: calls not started are decided again, running calls become lost. */
export function foldHoldTaken(s: State, e: EventOf<"hold.taken">): State {
  s.epoch = e.epoch;
  for (const unknown of s.unknowns.values()) if (unknown.gated !== null) unknown.gated = UNDECIDED;
  return inTurn(s, (t) => {
    const asking = askingIn(t);
    if (asking !== null) {
      foldModelLost(s, t, asking);
      reopenRecall(t); // the next attempt is another request
    }
    t.recall = { ...t.recall, gated: reopenDecision(t, t.recall.gated) };
    reopenKeep(t);
    t.model = reopenDecision(t, t.model);
    t.summary = { ...t.summary, gated: reopenDecision(t, t.summary.gated) };
    t.respond = reopenDecision(t, t.respond);
    for (const c of callsIn(t)) {
      if (isSettled(c) || isDelegated(c)) continue; // what a delegate does is its own session's to tell
      if (c.run.kind === "running") c.run = { kind: "lost", decided: c.run.decided };
      else if (c.gated.kind === "allowed" && c.starts === 0) countAllowed(s, t, c, -1);
      c.gated = c.run.kind === "lost" ? { kind: "undecided", answered: c.usedAnswer } : reopenDecision(t, c.gated);
    }
  });
}

/** A started call is never reported as not run (`next` settles started calls before a turn ends), unless its tool says that nothing happened. */
const unsettled = (c: Call, ending: string): Observation =>
  c.run.kind === "not-started"
    ? observeUnstarted(runningTool(c), ending)
    : observeOutcome(runningTool(c), { kind: "unknown", cause: "hold-lost", detail: `the turn ended first (${ending})` }, 1_000);

export function foldTurnEnded(s: State, e: EventOf<"turn.ended">): State {
  const t = s.turn;
  if (t === null) return s;
  sayResults(s, t, callsIn(t), (c) => (isSettled(c) || c.run.kind === "failed" ? observation(c, t) : unsettled(c, e.ending)));
  hearQueued(s);
  s.value = e.ending === "completed" ? (t.phase.kind === "answering" ? (t.phase.fits?.value ?? null) : null) : null;
  const { kind: _, ...last } = e;
  s.last = last;
  s.spent += totalTokens(e.usage) + totalTokens(e.lost);
  s.used = sumUsed(s, t);
  s.lost = totalTokens(e.lost) + t.lostBelow;
  s.micros += t.micros + (t.settled.micros ?? 0); // what is still set aside is added when it is settled
  s.unpriced ||= t.unpriced;
  keepSaid(s.said, t);
  s.turn = null;
  return s;
}

export function foldSteered(s: State, e: EventOf<"input.steered">): State {
  hear(s, userMessage(e.text, e.files));
  return inTurn(s, (t) => {
    if (!t.speakers.includes(e.by.id)) t.speakers.push(e.by.id);
    const isAnother = t.by.kind === "user" && t.by.id !== e.by.id; // may speak here, and is not the one it runs for
    if (!isAnother && isOwnWord(s, e.by, 0)) t.words.push(e.text);
    if (t.phase.kind === "answering") continueTurn(s, t, null); // the message comes before an answer that is not delivered yet
  });
}

export function foldNames(s: State, e: EventOf<"names.told">): State {
  for (const { id, name } of e.names) keepName(s, nameKey(e.of, id), { name, isTrusted: e.trusted === true });
  return s;
}

const MOST_NAMES = 2_000;
/** A stranger may call a thing what they like: not once a trusted source has told its name. */
function keepName(s: State, key: string, told: ToldName): void {
  if (!told.isTrusted && s.names.get(key)?.isTrusted === true) return;
  s.names.delete(key);
  s.names.set(key, told);
  const [oldest] = s.names.keys();
  if (s.names.size > MOST_NAMES && oldest !== undefined) s.names.delete(oldest);
}
