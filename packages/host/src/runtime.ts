/** The library's front door in Node: open a project or a folder, run agents, take sessions up again, look at what happened. */
import {
  type Agent,
  drive,
  type Entry,
  FaultError,
  type Gate,
  type Held,
  type Intent,
  isFault,
  type Journal,
  type JournalEvent,
  type Label,
  type Limits,
  type Live,
  label,
  type Model,
  openSession,
  type Principal,
  type RunResult,
  readState,
  type Said,
  type SessionId,
  type State,
  type Surface,
  seq,
  takeSession,
  toResult,
  type Wish,
} from "@orgate/core";
import { type Composed, compose, type Door, NODE, type Outside, openPlace, type Place } from "./compose.ts";
import { isPolicies, type Policies } from "./policies.ts";
import { recordPolicies } from "./policy-record.ts";

export type RuntimeOptions = Readonly<{
  /** Where journal and keys lie. */
  directory: string;
  agents: readonly Agent[];
  /** What decides: `cedarPolicies` reads a folder. Without policies nothing runs: there is no default that permits. */
  gate: Gate;
  /** On whose behalf; a session may name another. */
  principal: Principal;
  surface?: Surface;
  /** `worker` keeps a server's event loop free of disk waits; `main` is quicker for one-shot use. */
  thread?: "main" | "worker";
  synchronous?: "full" | "normal" | "off";
  /** A model of one's own in place of the lookup by `provider/name`. */
  model?: (agent: Agent) => Model;
}>;

export type RunOptions = Readonly<{
  /** Goes on in this session; a new one is opened without it. */
  session?: SessionId;
  principal?: Principal;
  labels?: readonly string[];
  history?: readonly Said[];
  limits?: Partial<Limits>;
  /** Cancels the turn: really stops the model call and the tools, and is journalled. */
  signal?: AbortSignal;
  /** The same as iterating: entries once durable, previews while words arrive. */
  on?: (live: Live) => void;
}>;

/** Iterate for what happens as it happens, await `result` for what came of it. Either alone is enough. */
export type Run = AsyncIterable<Live> & Readonly<{ result: Promise<RunResult> }>;

export type Completed = RunResult & Readonly<{ events: readonly Entry[] }>;

export type Runtime = Readonly<{
  run(agent: string, input: string, options?: RunOptions): Run;
  complete(agent: string, input: string, options?: RunOptions): Promise<Completed>;
  /** Takes a session up where it stands: after a crash, or when what it waited for has come. */
  resume(session: SessionId, options?: Pick<RunOptions, "signal" | "on">): Run;
  /** Puts a wish into the session's inbox; whoever holds it turns it into an event. */
  wish(intent: Intent): Promise<"new" | "known">;
  inspect: Inspect;
  place: Place;
  close(): Promise<void>;
}>;

export type Inspect = Readonly<{
  sessions: Journal["sessions"];
  session: Journal["session"];
  /** The fold of all its events. Read-only: nothing is held. */
  state(session: SessionId): Promise<State>;
  events(session: SessionId): AsyncIterable<Entry>;
  head: Place["store"]["head"];
}>;

export async function createRuntime(options: RuntimeOptions): Promise<Runtime> {
  const { directory, gate, thread = "main", synchronous = "full", surface = "library" } = options;
  const agents = byName(options.agents);
  const outside: Outside = options.model === undefined ? NODE : { ...NODE, model: options.model };
  const place = await openPlace({ directory, thread, synchronous });
  const { journal, inbox } = place.store;
  const stopRecording = isPolicies(gate) ? await recording(place, outside.clock.now, gate) : () => {};

  const agentOf = (name: string): Agent => agents.get(name) ?? missing(name, [...agents.keys()]);
  const assemble = (agent: Agent, watch: (live: Live) => void): Composed => compose(place, agent, gate, watch, outside);

  const driven = new Map<SessionId, number>();
  let door: Promise<Door | null> | null = null;
  /** While something is driven, others reach it through a socket (W1). */
  async function drivingOpenly<T>(session: SessionId, work: () => Promise<T>): Promise<T> {
    driven.set(session, (driven.get(session) ?? 0) + 1);
    door ??= place.listen((s) => driven.has(s));
    try {
      return await work();
    } finally {
      const left = (driven.get(session) ?? 1) - 1;
      if (left > 0) driven.set(session, left);
      else driven.delete(session);
    }
  }

  /** Drives until it waits or has ended, also through what arrived while the hold was being given back. */
  const through = (composed: Composed, first: Held, limits: Limits, signal: AbortSignal): Promise<State> =>
    drivingOpenly(first.state.session, () => driveOn(composed, first, limits, signal));

  async function driveOn({ ports, facts }: Composed, first: Held, limits: Limits, signal: AbortSignal): Promise<State> {
    for (let held = first; ; ) {
      let state: State;
      try {
        state = await drive(ports, held, limits, signal);
      } finally {
        await journal.release(held.hold).catch(ignoreLost); // what stopped the drive is what the caller must hear
      }
      if ((await inbox.pending(state.session)).length === 0) return state;
      const again = await takeSession(ports, state.session, facts).catch(unlessHeld);
      if (again === null) return state; // somebody else took it, and sees what arrived
      held = again;
    }
  }

  function run(name: string, input: string, given: RunOptions = {}): Run {
    return stream(given.on, async (watch) => {
      const agent = agentOf(name);
      const limits = { ...agent.limits, ...given.limits };
      const composed = assemble(agent, watch);
      const by = given.principal ?? options.principal;
      const held = given.session === undefined ? await opened(composed, by, given) : await taken(composed, given.session);
      const start: JournalEvent = { kind: "turn.started", turn: held.state.turns + 1, input, by, limits, intent: null };
      return toResult(await through(composed, { ...held, begin: [...held.begin, start] }, limits, given.signal ?? NEVER));
    });
  }

  function opened({ ports, facts }: Composed, principal: Principal, { labels = [], history = [] }: RunOptions): Promise<Held> {
    return openSession(ports, { agent: facts, principal, surface, labels: labels.map((l): Label => label(l)), history });
  }

  async function taken({ ports, facts }: Composed, session: SessionId): Promise<Held> {
    const held = await takeSession(ports, session, facts);
    const busy = held.state.turn !== null || held.state.closed;
    if (!busy) return held;
    await journal.release(held.hold);
    throw new FaultError({ kind: "session-busy", session });
  }

  function resume(session: SessionId, given: Pick<RunOptions, "signal" | "on"> = {}): Run {
    return stream(given.on, async (watch) => {
      const summary = await journal.session(session);
      if (summary === null) throw new FaultError({ kind: "session-unknown", session });
      const agent = agentOf(summary.agent);
      const composed = assemble(agent, watch);
      const held = await takeSession(composed.ports, session, composed.facts);
      return toResult(await through(composed, held, held.state.turn?.limits ?? agent.limits, given.signal ?? NEVER));
    });
  }

  async function complete(name: string, input: string, given: RunOptions = {}): Promise<Completed> {
    const events: Entry[] = [];
    const on = (live: Live) => {
      if (live.kind === "entry") events.push(live.entry);
      given.on?.(live);
    };
    return { ...(await run(name, input, { ...given, on }).result), events };
  }

  async function* events(session: SessionId): AsyncIterable<Entry> {
    for (let after = seq(0); ; ) {
      const chunk = await journal.read(session, after, 1_000);
      yield* chunk;
      const last = chunk.at(-1);
      if (last === undefined) return;
      after = last.seq;
    }
  }

  async function close(): Promise<void> {
    stopRecording();
    await (await door)?.close();
    await place.close();
  }

  const inspect: Inspect = {
    sessions: journal.sessions,
    session: journal.session,
    state: (session) => readState({ journal }, session),
    events,
    head: place.store.head,
  };
  return { run, complete, resume, wish: (intent) => inbox.put(intent), inspect, place, close };
}

/** Which set decides is on record before the first decision is made (G33). */
async function recording(place: Place, now: Outside["clock"]["now"], policies: Policies): Promise<() => void> {
  try {
    return await recordPolicies({ journal: place.store.journal, now }, policies);
  } catch (error) {
    await place.close();
    throw error;
  }
}

const NEVER = new AbortController().signal;

function byName(agents: readonly Agent[]): ReadonlyMap<string, Agent> {
  const map = new Map<string, Agent>();
  for (const agent of agents) {
    if (map.has(agent.name))
      throw new FaultError({
        kind: "agent-invalid",
        where: `agent \`${agent.name}\``,
        detail: "two agents have this name",
        hint: "rename one of them",
      });
    map.set(agent.name, agent);
  }
  return map;
}

function missing(agent: string, known: readonly string[]): never {
  throw new FaultError({ kind: "agent-missing", agent, known });
}

const ignoreLost = (error: unknown): void => {
  if (!isFault(error)) throw error;
};
const unlessHeld = (error: unknown): null => {
  if (isFault(error, "session-held")) return null;
  throw error;
};

/** One run, seen by callback, by iterator, or by its result alone. What nobody reads is not kept. */
function stream(on: ((live: Live) => void) | undefined, start: (watch: (live: Live) => void) => Promise<RunResult>): Run {
  let buffer: Live[] | null = null;
  let wake = () => {};
  let over = false;
  const watch = (live: Live) => {
    on?.(live);
    buffer?.push(live);
    wake();
  };
  const result = Promise.resolve()
    .then(() => start(watch))
    .finally(() => {
      over = true;
      wake();
    });
  result.catch(() => {}); // whoever awaits `result` or iterates hears of it; a run that nobody awaits does not bring the process down
  return {
    result,
    async *[Symbol.asyncIterator]() {
      const mine: Live[] = [];
      buffer = mine;
      for (;;) {
        yield* mine.splice(0);
        if (mine.length > 0) continue;
        if (over) break;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      await result; // a failed run ends its iterator with the failure
    },
  };
}

export type { Wish };
