/** Taking a session up again. Resume reads data: there is no code replay, so an upgrade or an edited agent strands nothing (rule 3). */
import type { Journal } from "../journal/port.ts";
import { type Counters, estimates } from "../reason/tokens.ts";
import {
  type AgentFacts,
  type Entry,
  FaultError,
  type JournalEvent,
  type Seq,
  type SessionId,
  seq,
  toCanonicalJson,
} from "../vocab/index.ts";
import { evolve, fold } from "./evolve.ts";
import { type Held, holdTakenEvent } from "./open.ts";
import type { Ports } from "./ports.ts";
import type { Fold } from "./session/fold-cache.ts";
import type { State } from "./state.ts";

/**
 * Rejects with `session-held` while its holder lives, with `session-unknown`, or with whatever is wrong with its entries.
 * `given`: the agent as it is now, or how to find it for this session: the journal says which model was chosen for it.
 * `left` is the fold of the driver that left the session a moment ago.
 */
export async function takeSession(p: Taking, session: SessionId, given: AgentFacts | AgentFor, left: Fold | null = null): Promise<Held> {
  if ((await p.journal.session(session)) === null) throw new FaultError({ kind: "session-unknown", session });
  const hold = await p.journal.take(session);
  try {
    const state = await heldState(p, session, left ?? p.folds.take(session));
    const agent = await agentFor(p, state, given);
    const changed: readonly JournalEvent[] =
      toCanonicalJson(agent) === toCanonicalJson(state.agent) ? [] : [{ kind: "agent.changed", agent }];
    return { state, hold, begin: [holdTakenEvent(p, hold), ...changed], left: { running: 0 } };
  } catch (error) {
    await p.journal.release(hold);
    throw error;
  }
}

type Taking = Pick<Ports, "journal" | "counters" | "folds">;
/** The agent that a session runs, by its state. Rejects with what keeps it from running. */
export type AgentFor = (state: State) => AgentFacts | Promise<AgentFacts>;

/** A session that is not taken after all keeps its fold: it costs the next one nothing. */
async function agentFor(p: Taking, state: State, given: AgentFacts | AgentFor): Promise<AgentFacts> {
  try {
    const agent = typeof given === "function" ? await given(state) : given;
    if (state.agent.name === agent.name) return agent;
    throw new FaultError({ kind: "agent-other", session: state.session, agent: state.agent.name });
  } catch (error) {
    p.folds.put(await p.folds.mark(state));
    throw error;
  }
}

/** L-23 where this process left it, with what others have appended since; else from its first entry on. */
async function heldState(p: Taking, session: SessionId, fold: Fold | null): Promise<State> {
  return fold === null || !(await p.folds.fits(fold)) ? readState(p, session, p) : foldOn(p, fold.state, ALL);
}

/** The fold of a whole stream, or of its first entries, without holding it. */
export async function readState(
  p: { readonly journal: Pick<Journal, "read"> },
  session: SessionId,
  { upTo = ALL, counters = estimates }: Readonly<{ upTo?: Seq; counters?: Counters }> = {},
): Promise<State> {
  const first = await p.journal.read(session, seq(0), Math.min(CHUNK, upTo));
  const state = fold(first, counters);
  if (state === null)
    throw new FaultError({ kind: "entry-bad", stream: session, seq: seq(1), detail: "a session starts with `session.opened`" });
  return first.length === CHUNK ? foldOn(p, state, upTo) : state;
}

async function foldOn(p: { readonly journal: Pick<Journal, "read"> }, state: State, upTo: Seq): Promise<State> {
  for (let isMore = state.seq < upTo; isMore; ) {
    const chunk = await p.journal.read(state.session, state.seq, Math.min(CHUNK, upTo - state.seq));
    for (const entry of chunk) evolve(state, entry);
    isMore = chunk.length === CHUNK && state.seq < upTo;
  }
  return state;
}
const CHUNK = 2_000;

/** The entries of a session from its last `turn.started` on; all but the first where there was no turn. Read from the end, so that no more is read than that turn has. */
export async function readLastTurn(p: Reading, session: SessionId): Promise<readonly Entry[]> {
  const pages: (readonly Entry[])[] = [];
  let size = 32;
  for (let end: number = (await p.journal.session(session))?.seq ?? 0; end > 1; size *= 2) {
    const start = Math.max(1, end - size);
    const page = await p.journal.read(session, seq(start), end - start);
    const first = page.findLastIndex(({ event }) => event.kind === "turn.started");
    pages.push(first < 0 ? page : page.slice(first));
    if (first >= 0) break;
    end = start;
  }
  return pages.toReversed().flat();
}
type Reading = { readonly journal: Pick<Journal, "read" | "session"> };

/** The fold of a session's opening and its last turn: what is asked, decided and used in that turn, without what was said before it. */
export async function readTurn(p: Reading, session: SessionId): Promise<State> {
  const opened = await p.journal.read(session, seq(0), 1);
  const state = fold([...opened, ...(await readLastTurn(p, session))]);
  if (state === null) throw new FaultError({ kind: "session-unknown", session });
  return state;
}
const ALL: Seq = seq(Number.MAX_SAFE_INTEGER);
