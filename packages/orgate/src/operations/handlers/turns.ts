/** Turns of a session, from its entries; and the result of one. */
import {
  ENDINGS,
  type Entry,
  findAwaitedHalt,
  type JournalEvent,
  type Json,
  readTurn,
  type Seq,
  type SessionId,
  type State,
  seq,
} from "@orgate/core";
import { eachEntry, type Orders } from "@orgate/core/journal";
import { findAgentHalt, haltText, liftText, type StandingHalt } from "@orgate/core/vocab";
import type { OperationOutput } from "@orgate/protocol";
import type { Runtime } from "../../runtime/api.ts";
import { listSubAgentRuns } from "../../runtime/sub-agent-runs.ts";

export type TurnView = OperationOutput<"turns">["items"][number];
type Ended = Extract<JournalEvent, { kind: "turn.ended" }>;
type Open = { -readonly [K in keyof TurnView]: TurnView[K] };

/** In order, those that begin after this entry: what comes before it is not read. One page of entries in memory at a time. */
export async function* turnsOf({ place }: Runtime, session: SessionId, after: Seq): AsyncGenerator<TurnView> {
  let open: Open | null = null;
  for await (const entry of eachEntry(place.store.journal, session, after)) {
    const { event } = entry;
    if (event.kind === "turn.started") {
      if (open !== null) yield open;
      open = begun(entry, event);
    }
    if (event.kind === "turn.ended" && open !== null) {
      yield { ...open, ...over(entry, event) };
      open = null;
    }
  }
  if (open !== null) yield open;
}

const BACK = 200;

/** The newest first, from this entry back: as much is read as is taken. */
export async function* newestTurns({ place }: Runtime, session: SessionId, last: number): AsyncGenerator<TurnView> {
  let ended: Partial<TurnView> = {};
  for (let end = last; end > 0; end -= BACK) {
    const start = Math.max(0, end - BACK);
    for (const entry of (await place.store.journal.read(session, seq(start), end - start)).toReversed()) {
      const { event } = entry;
      if (event.kind === "turn.ended") ended = over(entry, event);
      if (event.kind !== "turn.started") continue;
      yield { ...begun(entry, event), ...ended };
      ended = {};
    }
  }
}

const begun = ({ stream, seq: first, at }: Entry, { turn, input, by }: Extract<JournalEvent, { kind: "turn.started" }>): Open => ({
  session: stream as SessionId,
  turn,
  first,
  input,
  by,
  startedAt: at,
  endedAt: null,
  ending: null,
  output: null,
  detail: null,
  usage: null,
  iterations: null,
  calls: null,
  micros: null,
  activeMs: null,
});

const over = ({ at }: Entry, { ending, output, detail, usage, iterations, calls, micros, activeMs }: Ended): Partial<TurnView> => ({
  endedAt: at,
  ending,
  output,
  detail,
  usage,
  iterations,
  calls,
  micros,
  activeMs,
});

export type ResultView = OperationOutput<"execute">;
type Sees = (agent: string) => boolean;

/** S-17 up to that entry, of that turn. A person whom the caller may not see appears without a name. */
export async function listMembers(
  { inspect, place }: Runtime,
  session: SessionId,
  sees: Sees,
  upTo: number | null,
): Promise<ResultView["members"]> {
  const { agent, seq: last } = (await inspect.session(session)) ?? { agent: null, seq: 0 };
  if (inspect.agents.every(({ name, delegates }) => name !== agent || delegates.length === 0)) return [];
  return (await listSubAgentRuns(place.store.journal, session, upTo ?? last)).map(({ output: _, ...one }) =>
    sees(one.agent) ? one : { ...one, agent: null, session: null, detail: null },
  );
}

/** Result of a turn that has ended, from the entry that ended it. */
export async function readTurnResult(runtime: Runtime, session: SessionId, { event, at, sees }: Came): Promise<ResultView> {
  const { ending, output, detail, usage, lost, iterations, calls, micros, activeMs } = event;
  const summary = await runtime.inspect.session(session);
  const agent = runtime.inspect.agents.find(({ name }) => name === summary?.agent);
  return {
    session,
    state: "ended",
    ending,
    sentence: ENDINGS[ending].sentence,
    next: ENDINGS[ending].next,
    detail,
    output,
    value: agent?.output === null || agent === undefined || ending !== "completed" ? null : jsonIn(output),
    iterations,
    usage: { ...usage, total: usage.input + usage.output, lost: lost.input + lost.output },
    cost: micros === null ? null : micros / 1_000_000,
    durationMs: activeMs,
    calls,
    questions: [],
    unknowns: [],
    warnings: [...(agent?.warnings ?? [])],
    members: await listMembers(runtime, session, sees, at),
  };
}

type Came = Readonly<{ event: Ended; at: number; sees: Sees }>;

/** Of the first turn of a session, whether it is over or not. */
export async function firstResult(runtime: Runtime, session: SessionId, sees: Sees): Promise<ResultView> {
  for await (const { event, seq: at } of eachEntry(runtime.place.store.journal, session))
    if (event.kind === "turn.ended" && event.turn === 1) return readTurnResult(runtime, session, { event, at, sees });
  return waitingResult(runtime, session, { isWaiting: false, sees });
}

function jsonIn(text: string | null): Json {
  try {
    return text === null ? null : JSON.parse(text);
  } catch {
    return null;
  }
}

/** Q-17 What was said to a halted agent waits in its session without a turn. */
const haltOn = (s: State, orders: Orders): StandingHalt | null =>
  s.turn !== null ? findAwaitedHalt(s, orders) : s.followUps.length > 0 ? findAgentHalt(orders, s.agent.name) : null;

function waitingWords(isWaiting: boolean, halt: StandingHalt | null) {
  if (halt !== null)
    return {
      sentence: "The turn waits until a halt is lifted.",
      next: `Lift it with ${liftText(halt)}: what waits then begins, once.`,
      detail: haltText(halt),
    };
  const [sentence, next] = isWaiting
    ? ["The turn waits for a person.", "Answer it; the session costs nothing meanwhile."]
    : ["The turn goes on.", "Follow the session, or ask again with the same key."];
  return { sentence, next, detail: null };
}

/** Result of a turn that has not ended yet. */
export async function waitingResult(
  runtime: Runtime,
  session: SessionId,
  { isWaiting, sees }: Readonly<{ isWaiting: boolean; sees: Sees }>,
): Promise<ResultView> {
  const { orders } = runtime.place;
  const { journal, unknownsOf } = runtime.place.store;
  await orders.refresh();
  const state = await readTurn({ journal }, session);
  const at = state.turn ?? state.last;
  const usage = at?.usage ?? { input: 0, output: 0, cached: 0, reasoning: 0 };
  const questions = [...(state.turn?.questions.values() ?? [])].filter((q) => q.answer === null).map((q) => q.approval);
  return {
    session,
    state: "waiting",
    ending: null,
    ...waitingWords(isWaiting, questions.length > 0 ? null : haltOn(state, orders.now())),
    output: null,
    value: null,
    iterations: at?.iterations ?? 0,
    usage: { ...usage, total: usage.input + usage.output, lost: at === null ? 0 : at.lost.input + at.lost.output },
    cost: null,
    durationMs: at?.activeMs ?? 0,
    calls: at?.calls ?? 0,
    questions,
    unknowns: [...(await unknownsOf(session)).keys()],
    warnings: [],
    members: await listMembers(runtime, session, sees, null),
  };
}
