/**
 * The budget that a turn has left. Reserved before a call, settled after it, at what it was or, when nobody can say, at the most it could be.
 * B-1 settled + reserved ≤ limit, in every dimension, after every event, whatever crashes. Only a provider that bills more than it was asked for
 *    breaks it: the truth is recorded, the ending names it, and nothing more is begun.
 * B-2 a reservation is available to nobody else; a delegate gets its share of what is left.
 * Pure: `evolve.ts` beside this file folds reservations and settlements.
 */
import {
  type AgentFacts,
  type CallId,
  type Ending,
  highestInputPrice,
  type JournalEvent,
  type Limits,
  MICROS_PER_CENT,
  type Millis,
  maxCost,
  NO_RESERVATION,
  type Prices,
  type Reservation,
  totalTokens,
  toUsage,
} from "../../vocab/index.ts";
import { overheadTokens } from "../model/conversation.ts";
import { askingIn, type Call, callsIn, knowledgeFor, modelNow, runningTool, type State, type Turn } from "../state.ts";

/** Rule 5: a model call that was lost or broke off is repeated at most twice. */
export const MAX_ATTEMPTS = 3;
/** A reply shorter than this is of no use to anyone. */
export const MIN_OUTPUT = 64;

/** A count is not a bill: providers add framing of their own, and an estimate may be low. A request's reservation is larger by this factor. */
const MARGIN = { estimate: 1.25, counted: 1.05 };

export const DIMENSIONS = ["iterations", "tokens", "micros", "calls", "ms"] as const;
export type Dimension = (typeof DIMENSIONS)[number];

// ── where a turn stands ──

/**
 * Everything of this turn in one dimension, settled and reserved: its own, its tools', its delegates'. Asked for at every pass, so nothing is made for it.
 * Unknown prices count nothing here: with a limit on money there are none.
 */
export function amountUsed(s: State, t: Turn, of: Dimension): number {
  let sum = ownUse(t, of) + (t.settled[of] ?? 0);
  if (s.reserved.size > 0) for (const held of s.reserved.values()) if (held.turn === t.number) sum += held.amount[of] ?? 0;
  return sum;
}

/** Its own model calls, tool calls and time, the call in flight at its reservation. */
function ownUse(t: Turn, of: Dimension): number {
  const inFlight = askingIn(t);
  switch (of) {
    case "iterations":
      return t.iterations + (inFlight?.purpose === "reply" ? 1 : 0);
    case "tokens":
      return totalTokens(t.usage) + totalTokens(t.lost) + (inFlight === null ? 0 : totalTokens(inFlight.reserved));
    case "micros":
      return t.micros + (inFlight?.reservedMicros ?? 0);
    case "calls":
      return t.calls;
    case "ms":
      return t.activeMs;
  }
}

/** The rest of the limits after all that is settled and reserved; `micros` is null when money is not limited. Never below zero. */
export function remaining(s: State, t: Turn, now: Millis): Reservation {
  const left = (of: Exclude<Dimension, "micros" | "ms">) => Math.max(0, t.limits[of] - amountUsed(s, t, of));
  return {
    iterations: left("iterations"),
    tokens: left("tokens"),
    micros: moneyLeft(s, t),
    calls: left("calls"),
    ms: Math.max(0, remainingMs(s, t, now)),
  };
}

/** Only time in which a holder drives counts, and that of delegates: the fold adds up what lies between the events of one hold. */
export const remainingMs = (s: State, t: Turn, now: Millis): number => t.limits.turnMs - amountUsed(s, t, "ms") - Math.max(0, now - s.at);

function moneyLeft(s: State, t: Turn): number | null {
  return t.limits.cents === null ? null : Math.max(0, t.limits.cents * MICROS_PER_CENT - amountUsed(s, t, "micros"));
}

/**
 * B-1, to be held after every event: the dimensions in which more is settled and reserved than the limit. Empty unless a provider billed more than it was
 * asked for. A turn's own time is measured, not reserved, and ends it when it is up; here it is the part that delegates have of it.
 */
export function listOverdrawn(s: State): readonly Dimension[] {
  const t = s.turn;
  if (t === null) return [];
  const most: Reservation = {
    iterations: t.limits.iterations,
    tokens: t.limits.tokens,
    micros: t.limits.cents === null ? Number.POSITIVE_INFINITY : t.limits.cents * MICROS_PER_CENT,
    calls: t.limits.calls,
    ms: t.limits.turnMs + t.activeMs,
  };
  return DIMENSIONS.filter((of) => amountUsed(s, t, of) > (most[of] ?? 0));
}

// ── the model ──

/** Tokens of the next request, as counted. */
export const requestTokens = (s: State): number => overheadTokens(s) + (knowledgeFor(s.turn)?.tokens ?? 0) + s.window.tokens;

/** Tokens to reserve for a request of this many counted tokens. */
const reservedInput = (agent: AgentFacts, t: Turn, tokens: number): number =>
  Math.ceil(tokens * (agent.tokenizer === "estimate" || t.fellBack > 0 ? MARGIN.estimate : MARGIN.counted)); // another model counts otherwise

/** A request of this many tokens, with its longest reply; `prices` are those of the model that is asked now unless given. */
type RequestSize = Readonly<{ tokens: number; most: number; prices?: Prices | null }>;
export type Room = Readonly<{ input: number; output: number; short: Shortage | null }>;
export type Shortage = Readonly<{ ending: Extract<Ending, "out-of-tokens" | "out-of-money">; detail: string }>;

/** The longest reply, to a request of this many tokens, that cannot overshoot tokens or money; `short` when not even a short one fits. */
export function roomFor(s: State, t: Turn, { tokens, most, prices = modelNow(s.agent, t).prices }: RequestSize): Room {
  const input = reservedInput(s.agent, t, tokens);
  const byTokens = t.limits.tokens - amountUsed(s, t, "tokens") - input;
  const byMoney = affordable(s, t, input, prices);
  const output = Math.min(most, byTokens, byMoney);
  if (output >= Math.min(MIN_OUTPUT, most)) return { input, output, short: null };
  const short: Shortage =
    byTokens < MIN_OUTPUT
      ? { ending: "out-of-tokens", detail: `the next request does not fit into the ${t.limits.tokens} tokens of the turn` }
      : {
          ending: "out-of-money",
          detail:
            prices === null
              ? "money is limited, and the price of the model is not known"
              : `the next request could cost more than is left of the turn's ${t.limits.cents} cents`,
        };
  return { input, output: Math.max(0, output), short };
}

/** Room for the next reply. */
export const roomForOutput = (s: State, t: Turn): Room => roomFor(s, t, { tokens: requestTokens(s), most: t.limits.outputTokens });

/** Tokens of output that money is left for after this much input. */
function affordable(s: State, t: Turn, input: number, prices: Prices | null): number {
  const left = moneyLeft(s, t);
  if (left === null) return Number.POSITIVE_INFINITY;
  if (prices === null) return 0;
  const rest = left - Math.ceil(input * highestInputPrice(prices));
  if (rest < 0) return 0;
  return prices.output === 0 ? Number.POSITIVE_INFINITY : Math.floor(rest / prices.output);
}

/** A provider billed more than it was asked for, and more than there was. Nothing more is begun. */
export function overBilled(s: State, t: Turn): Shortage | null {
  const tokens = amountUsed(s, t, "tokens");
  if (tokens > t.limits.tokens)
    return { ending: "out-of-tokens", detail: `the provider reported more than was reserved: ${tokens} of ${t.limits.tokens} tokens` };
  const { cents } = t.limits;
  const micros = cents === null ? 0 : amountUsed(s, t, "micros");
  if (cents !== null && micros > cents * MICROS_PER_CENT)
    return { ending: "out-of-money", detail: `the provider reported more than was reserved: ${inCents(micros)} of ${cents} cents` };
  return null;
}

// ── tools ──

/** The most one start of this tool may cost. */
export const chargeFor = (s: State, tool: string): number => (Object.hasOwn(s.agent.charges, tool) ? (s.agent.charges[tool] ?? 0) : 0); // a tool may be called `constructor`

/** One more start of it is more than there is money for. */
export const isTooExpensive = (s: State, t: Turn, tool: string): boolean =>
  chargeFor(s, tool) > (moneyLeft(s, t) ?? Number.POSITIVE_INFINITY);

/** The calls that there is money to start, in order. */
export function listAffordable(s: State, t: Turn, calls: readonly Call[], isFree: (c: Call) => boolean): readonly Call[] {
  let left = moneyLeft(s, t) ?? Number.POSITIVE_INFINITY;
  return calls.filter((c) => {
    const charge = isFree(c) ? 0 : chargeFor(s, runningTool(c));
    if (charge > left) return false;
    left -= charge;
    return true;
  });
}

export const outOfMoney = (s: State, t: Turn, tool: string): Shortage => ({
  ending: "out-of-money",
  detail: `a call of ${tool} may cost ${inCents(chargeFor(s, tool))} cents, and ${Math.floor((moneyLeft(s, t) ?? 0) / MICROS_PER_CENT)} of ${t.limits.cents} are left`,
});

/** Goes with `act.started`; nothing for a tool that costs nothing. */
export function reservation(s: State, call: CallId, tool: string): readonly JournalEvent[] {
  const micros = chargeFor(s, tool);
  return micros === 0 ? [] : [{ kind: "budget.reserved", call, amount: { ...NO_RESERVATION, micros } }];
}

/**
 * Goes with `act.ended`: the last start at what the tool said of it, and at its maximum when it said nothing; starts before it, which were lost, at theirs.
 * Nothing is settled while the call's outcome is unknown.
 */
export function settlement(s: State, call: CallId, tool: string, saidMicros: number | null): readonly JournalEvent[] {
  const held = s.reserved.get(call);
  if (held === undefined) return [];
  const charge = Math.min(chargeFor(s, tool), held.amount.micros ?? 0);
  const saved = saidMicros === null ? 0 : charge - Math.min(charge, Math.max(0, saidMicros));
  return [{ kind: "budget.settled", call, amount: { ...held.amount, micros: (held.amount.micros ?? 0) - saved } }];
}

/** The reservation of a call with an unknown outcome is settled once somebody resolves it: at its maximum, or at nothing. */
export function settlementAfter(s: State, event: JournalEvent): readonly JournalEvent[] {
  switch (event.kind) {
    case "act.late":
      return resolvedAt(s, event.call, true);
    case "unknown.resolved":
      return resolvedAt(s, event.call, event.as !== "did-not-happen");
    case "recovery.applied":
      if (event.strategy !== "reconcile" || event.found === "cannot-tell") return [];
      return event.found === "happened" && !s.unknowns.has(event.call) && isOpen(s, event.call)
        ? [] // `act.ended` follows, and settles it
        : resolvedAt(s, event.call, event.found === "happened");
    default:
      return [];
  }
}

const isOpen = (s: State, call: CallId): boolean => callsIn(s.turn).some((c) => c.proposed.id === call && c.run.kind !== "ended");

function resolvedAt(s: State, call: CallId, took: boolean): readonly JournalEvent[] {
  const held = s.reserved.get(call);
  return held === undefined ? [] : [{ kind: "budget.settled", call, amount: took ? held.amount : { ...NO_RESERVATION } }];
}

// ── delegates ──

/** The turn needs one more model call to use the results of its sub-agents. This much is not shared with them. */
export function ownShare(s: State, t: Turn, askers: number): Reservation {
  const heard = Math.min(t.limits.contextTokens, requestTokens(s) + askers * RESULT_TOKENS);
  const usage = toUsage(reservedInput(s.agent, t, heard), Math.min(t.limits.outputTokens, ANSWER_TOKENS));
  return { iterations: 1, tokens: totalTokens(usage), micros: maxCost(modelNow(s.agent, t).prices, usage), calls: 0, ms: 0 };
}
const RESULT_TOKENS = 500;
const ANSWER_TOKENS = 1_024;

/**
 * The budget that one of `askers` delegates, of the same reply and not started yet, is given: its fair share, or its wish where that is less. `own` is what the
 * turn keeps for itself (`ownShare`). Each of them is a call of the turn too, and time is shared with the turn, which has to wait for them.
 */
export function allot(left: Reservation, askers: number, wish: Partial<Reservation>, own: Reservation = NO_RESERVATION): Reservation {
  const share = (of: Exclude<Dimension, "micros">, among: number, kept: number) =>
    Math.min(wish[of] ?? Number.POSITIVE_INFINITY, Math.max(0, Math.floor((left[of] - kept) / among)));
  const money = left.micros === null ? null : Math.max(0, Math.floor((left.micros - (own.micros ?? 0)) / askers));
  return {
    iterations: share("iterations", askers, own.iterations),
    tokens: share("tokens", askers, own.tokens),
    micros: wish.micros == null ? money : money === null ? wish.micros : Math.min(wish.micros, money),
    calls: share("calls", askers, own.calls + askers),
    ms: share("ms", askers + 1, own.ms),
  };
}

/** A budget that no reply fits into is useless: the delegation is refused, and says so. */
export const isWorthwhile = (a: Reservation): boolean =>
  a.iterations >= 1 && a.tokens > MIN_OUTPUT && a.ms >= 1 && (a.micros === null || a.micros >= MICROS_PER_CENT);

/** The limits of a delegate's turn: its agent's own, within its allotment. Whole cents, rounded down. */
export const limitsWithin = (limits: Limits, a: Reservation): Limits => ({
  ...limits,
  iterations: Math.min(limits.iterations, a.iterations),
  tokens: Math.min(limits.tokens, a.tokens),
  cents: a.micros === null ? limits.cents : Math.min(limits.cents ?? Number.POSITIVE_INFINITY, Math.floor(a.micros / MICROS_PER_CENT)),
  calls: Math.min(limits.calls, a.calls),
  turnMs: Math.min(limits.turnMs, a.ms),
});

/** All that a turn used, with its sub-agents and open reservations. Its parent settles the allotment at this amount. */
export function sumUsed(s: State, t: Turn): Reservation {
  const all = (of: Dimension): number => amountUsed(s, t, of);
  return { iterations: all("iterations"), tokens: all("tokens"), micros: costOfTurn(s, t), calls: all("calls"), ms: all("ms") };
}

/** The cost of the turn, with open reservations at their maximum; null where a price is not known. */
export function costOfTurn(s: State, t: Turn): number | null {
  return t.unpriced ? null : amountUsed(s, t, "micros");
}

/** Cents spent so far, as the gate sees them, rounded up; null where a price is not known. Reservations count: they may be spent already. */
export function centsSpent(s: State, t: Turn | null): Readonly<{ turn: number; session: number }> | null {
  if (s.unpriced || t?.unpriced === true || (t === null && s.agent.prices === null)) return null;
  const turn = t === null ? 0 : amountUsed(s, t, "micros");
  const before = [...s.reserved.values()].reduce((n, held) => n + (held.turn === t?.number ? 0 : (held.amount.micros ?? 0)), s.micros);
  return { turn: inCents(turn), session: inCents(turn + before) };
}

const inCents = (micros: number): number => Math.ceil(micros / MICROS_PER_CENT);

export const plus = (a: Reservation, b: Reservation): Reservation => ({
  iterations: a.iterations + b.iterations,
  tokens: a.tokens + b.tokens,
  micros: (a.micros ?? 0) + (b.micros ?? 0),
  calls: a.calls + b.calls,
  ms: a.ms + b.ms,
});
