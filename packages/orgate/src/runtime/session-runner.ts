/** Drives the sessions of one runtime: takes them, runs and resumes turns, hands them over, and waits for them when it closes. */
import { setTimeout as sleep } from "node:timers/promises";
import {
  type Agent,
  canEndWithoutAgent,
  checkSubject,
  drive,
  type Fault,
  FaultError,
  type Fold,
  followChild,
  type Held,
  isFault,
  type JournalEvent,
  type Limits,
  type Live,
  label,
  openSession,
  type Parent,
  type Principal,
  type RunResult,
  readOpenDelegates,
  readRunOutput,
  type SessionId,
  type State,
  type Surface,
  takeSession,
  takeUpParents,
  toResult,
  withChosenModel,
} from "@orgate/core";
import { toAttachments, toHistory } from "../files/file-input.ts";
import { sha256 } from "../node/crypto.ts";
import type { IntentListener } from "../store/intent-socket.ts";
import { type AgentAssembly, withOutputOfRun } from "./agent-assembly.ts";
import { resolveLimits } from "./agent-checks.ts";
import type { AgentRef, RunOptions } from "./api.ts";
import type { Composed } from "./compose.ts";
import type { Outside } from "./ports/outside.ts";
import type { OpenProjectStore } from "./ports/project-store.ts";
import type { Sessions } from "./sessions.ts";

/** `fold` goes into the cache once nobody reads the state any more. */
type Drove = Readonly<{ state: State; fold: Fold | null; agent: Agent | null }>;
export type Driver = Readonly<{ composed: Composed; agent: Agent | null; limits: Limits; until: AbortSignal }>;
/** How long a session is driven: see `drive`. */
export type Until = Readonly<{ cancel: AbortSignal; maxRestMs?: number }>;
type Driving = Until & Readonly<{ limits: Limits }>;
export type TakenSession<D> = Readonly<{ held: Held; driver: D }>;

type RunnerParts = Readonly<{
  place: OpenProjectStore;
  outside: Outside;
  /** Called when this process drives the session no more. */
  silence(session: SessionId): void;
  agents(): AgentAssembly;
}>;

export class SessionRunner {
  readonly #parts: RunnerParts;
  readonly #closing = new AbortController();
  readonly #leaving = new AbortController();
  readonly #runs = new Set<Promise<unknown>>();
  /** Parents of the delegates that are driven here. */
  readonly #parents = new Map<SessionId, Parent>();
  /** How often each session is being driven here. */
  readonly #driven = new Map<SessionId, number>();
  #door: Promise<IntentListener | null> | null = null;

  constructor(parts: RunnerParts) {
    this.#parts = parts;
  }

  parentOf(session: SessionId): Parent | null {
    return this.#parents.get(session) ?? null;
  }

  /** Every run is known until it is over, so that closing can wait for it. */
  readonly track = <T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> => {
    if (this.#closing.signal.aborted || this.#leaving.signal.aborted) return Promise.reject(new FaultError({ kind: "runtime-closed" }));
    const running = work(this.#closing.signal);
    this.#runs.add(running);
    void running.catch(() => {}).finally(() => this.#runs.delete(running));
    return running;
  };

  /** Drives a delegate for the session above it. */
  driveChild(child: SessionId, stop: AbortSignal): Promise<void> {
    const { place, outside } = this.#parts;
    const { journal, inbox } = place.store;
    const ground = { journal, inbox, clock: outside.clock, ids: outside.ids, signAsWriter: place.keyring.signAsWriter };
    return followChild(ground, child, stop, (cancel) => this.#driveSession(child, () => {}, { cancel }));
  }

  /** Resumes a session, then those above it that waited for it. */
  async resume(session: SessionId, watch: (live: Live) => void, until: Until): Promise<RunResult> {
    const { place } = this.#parts;
    const first = await this.#driveSession(session, watch, until);
    const drove = [first];
    await takeUpParents({ inbox: place.store.inbox }, first.state, async (above) => {
      const isOver = until.cancel.aborted || this.#leaving.signal.aborted;
      const came = isOver ? null : await this.#driveSession(above, () => {}, until).catch(unlessNotHere);
      if (came !== null) drove.push(came);
      return came?.state ?? null;
    });
    const result = await this.resultOf(first.state, first.agent);
    for (const { fold } of drove) place.folds.put(fold); // last: the next to take it changes the state
    return result;
  }

  /** Takes a session with the agent as that session runs it: the journal says which model was chosen for it (M-19). */
  async take<D extends Pick<Driver, "composed">>(session: SessionId, find: (state: State) => D | Promise<D>): Promise<TakenSession<D>> {
    const { place, outside } = this.#parts;
    const found: D[] = [];
    const ground = { journal: place.store.journal, counters: outside.counters, folds: place.folds };
    const held = await takeSession(ground, session, async (state) => {
      const driver = await find(state);
      found.push(driver);
      return driver.composed.facts;
    });
    const [driver] = found;
    if (driver === undefined) throw new Error("a session was taken without its agent");
    return { held, driver };
  }

  /** Takes a session for a new turn; refuses one that is closed or in the middle of a turn. */
  async takeIdle<D extends Pick<Driver, "composed">>(session: SessionId, find: (state: State) => D): Promise<TakenSession<D>> {
    const { place } = this.#parts;
    const taken = await this.take(session, find);
    const { held } = taken;
    if (held.state.turn === null && !held.state.closed) return taken;
    place.folds.put(await place.folds.mark(held.state));
    await place.store.journal.release(held.hold);
    throw new FaultError({ kind: held.state.closed ? "session-closed" : "session-busy", session });
  }

  /** Drives until the session waits or has ended, also through what arrived while the hold was being given back. Others reach it by socket meanwhile (W-1). */
  async drive(composed: Composed, first: Held, driving: Driving): Promise<Omit<Drove, "agent">> {
    const { session } = first.state;
    this.#driven.set(session, (this.#driven.get(session) ?? 0) + 1);
    this.#door ??= this.#parts.place.listen((s) => this.#driven.has(s));
    try {
      return await this.#driveOn(composed, first, driving);
    } finally {
      const left = (this.#driven.get(session) ?? 1) - 1;
      if (left > 0) this.#driven.set(session, left);
      else {
        this.#driven.delete(session);
        this.#parts.silence(session);
      }
    }
  }

  /** Requests of its delegates are part of the result: the caller may answer them. */
  async resultOf(state: State, agent: Agent | null): Promise<RunResult> {
    const { place } = this.#parts;
    return toResult(state, agent?.warnings ?? [], await readOpenDelegates({ journal: place.store.journal }, state), place.orders.now());
  }

  async park(): Promise<void> {
    this.#leaving.abort("the runtime leaves");
    await Promise.allSettled(this.#runs);
  }

  /** Cancels what runs, which the journal records, and waits for it: nothing is left half done behind a closed journal. */
  async stop(): Promise<void> {
    this.#closing.abort("the runtime was closed");
    await Promise.allSettled(this.#runs);
  }

  async closeDoor(): Promise<void> {
    await (await this.#door)?.close();
  }

  async #driveSession(session: SessionId, watch: (live: Live) => void, until: Until): Promise<Drove> {
    const { held, driver } = await this.take(session, (state) => this.#driverFor(state, watch, until.cancel));
    const { parent, turn } = held.state;
    if (parent !== null) this.#parents.set(session, parent);
    try {
      const drove = await this.drive(driver.composed, held, { ...until, limits: turn?.limits ?? driver.limits, cancel: driver.until });
      return { ...drove, agent: driver.agent };
    } finally {
      this.#parents.delete(session);
    }
  }

  /** D-4 without its agent, or with one that cannot be run, a turn does not go on; but it ends when it is to end. */
  async #driverFor(state: State, watch: (live: Live) => void, until: AbortSignal): Promise<Driver> {
    const agents = this.#parts.agents();
    try {
      const agent = withChosenModel(agents.find(state.agent.name), state.chosen);
      return { composed: agents.assemble(agent, watch), agent, limits: agent.limits, until };
    } catch (error) {
      if (!isFault(error) || !(await this.#isToEnd(state.session, until))) throw error;
      const { agent, ...composed } = agents.assembleAbsent(state, watch);
      const stop = until.aborted ? until : AbortSignal.abort("its agent cannot be run");
      return { composed, agent: null, limits: agent.limits, until: stop };
    }
  }

  /** The caller cancelled, or a person cancels the turn or refuses what it waits for. */
  async #isToEnd(session: SessionId, signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return true;
    const { keyring, store } = this.#parts.place;
    await keyring.refresh();
    const intents = (await store.inbox.pending(session)).map(({ intent }) => intent);
    return intents.some((one) => canEndWithoutAgent(one.wish) && keyring.authenticate(one).kind === "genuine");
  }

  async #driveOn({ ports, facts }: Composed, first: Held, driving: Driving): Promise<Omit<Drove, "agent">> {
    const { journal, inbox } = this.#parts.place.store;
    const leaving = this.#leaving.signal;
    let before: ReadonlySet<string> = new Set();
    for (let held = first; ; ) {
      let state: State;
      let fold: Fold | null = null;
      try {
        state = await drive(ports, held, { ...driving, leave: leaving });
        if (held.left.running === 0) fold = await ports.folds.mark(state);
      } finally {
        // While a tool's own code still runs, the hold is kept: it ends with that code, or with this process.
        if (held.left.running === 0)
          await journal.release(held.hold).catch(ignoreLost); // what stopped the drive is what the caller must hear
        else void this.#releaseWhenOver(held);
      }
      if (leaving.aborted) return { state, fold };
      const pending = (await inbox.pending(state.session)).map(({ intent }): string => intent.id);
      if (pending.every((id) => before.has(id))) return { state, fold }; // an intent that stayed twice is left for the next driver
      before = new Set(pending);
      const again = await takeSession(ports, state.session, facts, fold).catch(unlessHeld);
      if (again === null) return { state, fold }; // somebody else took it, and sees what arrived
      held = again;
    }
  }

  /** Polls until the tools that outlived their call have ended, then gives the hold back. */
  async #releaseWhenOver(held: Held): Promise<void> {
    const closing = this.#closing.signal;
    while (held.left.running > 0 && !closing.aborted) await sleep(50, undefined, { ref: false });
    if (closing.aborted) return; // the journal may be closed by now; a hold ends with its process
    await this.#parts.place.store.journal.release(held.hold).catch(ignoreLost);
  }
}

const ignoreLost = (error: unknown): void => {
  if (!isFault(error)) throw error;
};
const unlessHeld = (error: unknown): null => {
  if (isFault(error, "session-held")) return null;
  throw error;
};

/** A fault above a delegate is not the delegate's: the session there waits for a process that can take it, and reports the fault to it. */
const unlessNotHere = (error: unknown): null => {
  if (isFault(error) && NOT_HERE.has(error.fault.kind)) return null;
  throw error;
};
const NOT_HERE: ReadonlySet<Fault["kind"]> = new Set(["agent-missing", "agent-invalid", "agent-other", "entry-erased", "entry-bad"]);

// ── one turn ──

export type TurnParts = Readonly<{
  place: OpenProjectStore;
  agents: AgentAssembly;
  runner: SessionRunner;
  sessions: Sessions;
  principal: Principal;
  surfaceOf(agent: string): Surface;
}>;

type TurnDriver = Readonly<{ agent: Agent; limits: Limits; composed: Composed }>;
export type Turn = Readonly<{ ref: AgentRef; input: string; options: RunOptions }>;

export async function runTurn(parts: TurnParts, turn: Turn, watch: (live: Live) => void, closing: AbortSignal): Promise<RunResult> {
  const { place, agents, runner } = parts;
  const { options } = turn;
  const name = agents.nameOf(turn.ref);
  const files = toAttachments(options.files ?? []);
  const agent = agents.find(name);
  const output = options.output === undefined ? null : readRunOutput(options.output, options.outputRepairs, name, sha256);
  const { model = null } = options;
  const driverOn = (chosen: string | null): TurnDriver => {
    const running = withChosenModel(agent, model ?? chosen);
    return { agent: running, limits: resolveLimits(running, options.limits), composed: agents.assemble(running, watch) };
  };
  const by = options.principal ?? parts.principal;
  if (options.session !== undefined && options.subject !== undefined) throw subjectTooLate(options.session);
  const fresh = options.session === undefined ? driverOn(null) : null; // reports what is wrong before a session is opened
  const session = options.id === undefined ? options.session : await sessionNamed(parts.sessions, name, by, { ...options, id: options.id });
  const { held, driver } =
    session === undefined
      ? await openNew(fresh ?? driverOn(null), by, options, parts)
      : await runner.takeIdle(session, ({ chosen }) => driverOn(chosen));
  const number = held.state.turns + 1;
  const choice: readonly JournalEvent[] =
    model === null || model === held.state.chosen ? [] : [{ kind: "model.chosen", model, by, intent: null }];
  const input = turn.input.toWellFormed();
  const start: JournalEvent = { kind: "turn.started", turn: number, input, files, by, limits: driver.limits, intent: null };
  const composed = output === null ? driver.composed : withOutputOfRun(driver.composed, agent, { turn: number, output });
  const begin = [...held.begin, ...choice, start];
  const until = options.signal === undefined ? closing : AbortSignal.any([options.signal, closing]);
  const { state, fold } = await runner.drive(composed, { ...held, begin }, { limits: driver.limits, cancel: until });
  const result = await runner.resultOf(state, driver.agent);
  place.folds.put(fold); // last: the next to take it changes the state
  return result;
}

const subjectTooLate = (session: SessionId): FaultError =>
  new FaultError({
    kind: "usage",
    detail: `whom session \`${session}\` serves was said when it was opened`,
    hint: "open another session for another subject, or have a tool that authenticates say it",
  });

/** The session with this external id, opened under it when there is none. */
async function sessionNamed(
  sessions: Sessions,
  agent: string,
  principal: Principal,
  { id, session, labels = [], history = [], model, subject }: RunOptions & Readonly<{ id: string }>,
): Promise<SessionId> {
  const more = { ...(model === undefined ? {} : { model }), ...(subject === undefined ? {} : { subject }) };
  const there = (await sessions.create({ agent, id, principal, labels, history, ...more })).session;
  if (session === undefined || session === there) return there;
  throw new FaultError({ kind: "external-taken", external: id, session: there });
}

async function openNew(
  driver: TurnDriver,
  principal: Principal,
  { labels = [], history = [], subject }: RunOptions,
  { surfaceOf }: TurnParts,
): Promise<TakenSession<TurnDriver>> {
  const { ports, facts } = driver.composed;
  const held = await openSession(ports, {
    agent: facts,
    principal,
    surface: surfaceOf(facts.name),
    labels: labels.map(label),
    history: toHistory(history),
    external: null,
    parent: null,
    origin: null,
    ...(subject === undefined ? {} : { subject: checkSubject(subject) }),
  });
  return { held, driver };
}
