/** The result of a run, for people and scripts alike: `runtime.complete`, `orgate run --json` and the screens show these fields. */

import type { Orders } from "../../journal/orders.ts";
import type { Message } from "../../reason/port.ts";
import type { StandingHalt } from "../../vocab/index.ts";
import { ENDINGS, type Ending, haltText, type Json, liftText, NO_USAGE, type SessionId, type Usage } from "../../vocab/index.ts";
import { nextRetry } from "../calls/recovery.ts";
import { costOfTurn } from "../limits/budgets.ts";
import { findAwaitedHalt } from "../people/halts.ts";
import type { Question, State, Unknown } from "../state.ts";

/** `Value`: what it answers with, where that is to be structured. */
export type RunResult<Value = Json> = Readonly<{
  session: SessionId;
  /** Of a delegate: the session that it works for. */
  parent: SessionId | null;
  /** `waiting`: somebody has to answer a question or to lift a halt, or the time of a retry has to come, before it goes on. */
  state: "ended" | "waiting";
  ending: Ending | null;
  sentence: string;
  next: string;
  detail: string | null;
  output: string | null;
  /** The answer by its schema: there for a turn that was to bring one and has completed. */
  value: Value | null;
  iterations: number;
  usage: Usage & Readonly<{ total: number; lost: number }>;
  /** In the currency of the agent's prices, with lost replies, tools and delegates, and at the most where nobody can say yet; null where a price is not known. */
  cost: number | null;
  durationMs: number;
  calls: number;
  /** Its own, and those of the delegates that work for it. */
  questions: readonly OpenApproval[];
  unknowns: readonly Unknown[];
  conversation: readonly Message[];
  /** Parts that the agent asks for and ran without: instructions of the project that are not trusted. */
  warnings: readonly string[];
}>;

/** Whose it is: an answer goes to that session. */
export type OpenApproval = Question & Readonly<{ session: SessionId; agent: string }>;

/** `below`: its delegates that are still at work, and theirs. `orders`: the halts that a turn may wait with. */
export function toResult(
  s: State,
  warnings: readonly string[] = [],
  below: readonly State[] = [],
  orders: Orders | null = null,
): RunResult {
  const at = s.turn ?? s.last;
  const ending = s.turn === null ? (s.last?.ending ?? null) : null;
  const questions = [s, ...below].flatMap(openQuestions);
  const halt = orders === null ? null : ([s, ...below].map((one) => findAwaitedHalt(one, orders)).find((one) => one !== null) ?? null);
  const resting = nextRetry(s.turn, s.at) === null ? WAITING : RESTING;
  const waiting = questions.length > 0 ? WAITING : halt !== null ? heldWords(halt) : resting;
  const words = ending === null ? waiting : ENDINGS[ending];
  const usage = at?.usage ?? NO_USAGE;
  const lost = at === null ? 0 : at.lost.input + at.lost.output;
  const { messages } = s;
  const said = messages.length;
  let conversation: readonly Message[] | null = null;
  return {
    session: s.session,
    parent: s.parent?.session ?? null,
    state: s.turn === null ? "ended" : "waiting",
    ending,
    sentence: words.sentence,
    next: words.next,
    detail: s.turn === null ? (s.last?.detail ?? null) : halt === null ? null : haltText(halt),
    output: s.turn === null ? (s.last?.output ?? null) : null,
    value: s.turn === null ? s.value : null,
    iterations: at?.iterations ?? 0,
    usage: { ...usage, total: usage.input + usage.output, lost },
    cost: inCurrency(s.turn === null ? (s.last?.micros ?? null) : costOfTurn(s, s.turn)),
    durationMs: at?.activeMs ?? 0,
    calls: at?.calls ?? 0,
    questions,
    unknowns: [...s.unknowns.values()].map((one) => ({ ...one })),
    /** As of now: the session goes on in the same list, which only grows. Copied for the caller, and once. */
    get conversation() {
      conversation ??= messages.slice(0, said);
      return conversation;
    },
    warnings,
  };
}

const inCurrency = (micros: number | null): number | null => (micros === null ? null : micros / 1_000_000);

const openQuestions = ({ session, agent, turn }: State): readonly OpenApproval[] =>
  [...(turn?.questions.values() ?? [])].filter((q) => q.answer === null).map((q) => ({ ...q, session, agent: agent.name }));

const heldWords = (halt: StandingHalt) => ({
  sentence: "The turn waits until a halt is lifted.",
  next: `Lift it with ${liftText(halt)}: what was approved then runs, once.`,
});

const RESTING = {
  sentence: "The turn rests until what failed may be tried again.",
  next: "Whoever drives it after that time goes on; the session costs nothing meanwhile.",
};
const WAITING = {
  sentence: "The turn waits for a person.",
  next: "`orgate approvals list` shows it, `orgate approvals approve ID` says yes; the session costs nothing meanwhile.",
};
