/** The library's front door in Node: open a project or a folder, run agents, take sessions up again, look at what happened. */
import { setTimeout as sleep } from "node:timers/promises";
import {
  type Agent,
  type AnswerOf,
  approvalId,
  type CallId,
  checkLimits,
  type Digest,
  defineAgent,
  drive,
  type Embedder,
  type Entry,
  endsWithoutAgent,
  type Fault,
  FaultError,
  type Fold,
  followChild,
  type Gate,
  type GrantId,
  goUp,
  type Held,
  type Intent,
  isFault,
  type Journal,
  type JournalEvent,
  type Json,
  type Label,
  type Limits,
  type Live,
  label,
  type Middleware,
  type Model,
  middlewareOf,
  openBelow,
  openSession,
  outputOfRun,
  outputsOf,
  type Parent,
  type Principal,
  type Resolution,
  type RunResult,
  readState,
  type Schema,
  type SessionId,
  type Spoken,
  type State,
  type Surface,
  seq,
  takeSession,
  toResult,
  unpricedLimit,
  type Wish,
  withChosenModel,
  withDefaultModel,
  withDigest,
} from "@orgate/core";
import type {
  BreakerState,
  KnownPage,
  KnownValue,
  ListedDeadLetter,
  ListedQuestion,
  QuestionPage,
  StandingGrant,
  StandingHalt,
} from "@orgate/core/journal";
import { type FileInput, type SaidInput, toAttachments, toHistory } from "../files/file-input.ts";
import { embedderFor } from "../models/embedding.ts";
import { settingsOf } from "../models/env.ts";
import { tokenizers } from "../models/tokenizers.ts";
import { sha256 } from "../node/crypto.ts";
import type { Env } from "../node/env.ts";
import { version } from "../node/version.ts";
import { isPolicies, type Policies } from "../policies/policies.ts";
import { type Recording, recordPolicies } from "../policies/policy-record.ts";
import type { IntentDoor } from "../store/intent-socket.ts";
import { type Person, signIntent } from "../store/keyring.ts";
import {
  type Composed,
  compose,
  delegatesOf,
  type Family,
  modelsWith,
  NODE,
  type OpenProjectStore,
  type Outside,
  openPlace,
} from "./compose.ts";
import { deliver } from "./delivery.ts";
import { checkedRuntime, checkRuntimeOptions, resumeFault, runFault } from "./front-door.ts";
import type { Notify } from "./notice-webhook.ts";
import { noticesOf } from "./notices.ts";
import { type Acting, haltWork, inForce, type QuestionView, resumeWork, revokeGrant, viewQuestion } from "./people/approvals.ts";
import { type BreakerView, readBreakers, setBreaker, unknownBreaker } from "./people/breakers.ts";
import { type DeadLetterView, viewDeadLetter } from "./people/dead-letters.ts";
import { unknownScope } from "./people/halt-scope.ts";
import { leaveToConduct } from "./people/may-orchestrate.ts";
import { settledFault, settledRequest } from "./people/settled-request.ts";
import { editKnown, type KnownEntry } from "./people/trusted-values.ts";
import { type Sessions, sessionsOf } from "./sessions.ts";
import { openEar, type Subscribe, subscriber } from "./subscribe.ts";
import type { Telemetry } from "./telemetry.ts";

export type RuntimeOptions = Readonly<{
  /** Where journal and keys lie. */
  directory: string;
  agents: readonly Agent[];
  /** What decides: `cedarPolicies` reads a folder. Without policies nothing runs: there is no default that permits. */
  gate: Gate;
  /** On whose behalf; a session may name another. */
  principal: Principal;
  surface?: Surface;
  /** Of agents whose sessions are opened elsewhere, by name: the policies of that surface join for them. */
  surfaces?: Readonly<Record<string, Surface>>;
  /** `worker` keeps a server's event loop free of disk waits; `main` is quicker for one-shot use. */
  thread?: "main" | "worker";
  synchronous?: "full" | "normal" | "off";
  /** The model of agents that name none: `provider/name`. */
  defaultModel?: string;
  /** A model of one's own in place of the lookup by `provider/name`; `languageModel` makes one of any AI SDK model. */
  model?: (agent: Agent) => Model;
  /** Where keys and addresses of providers come from; `process.env` unless given. */
  env?: Env;
  /** The project's folder: its `.env` says what `env` does not. */
  folder?: string;
  /** Is told when a question waits for a person; `webhook` sends it on. */
  notify?: Notify;
  /** The developer's own code around every turn, in order; an agent's own comes after it. */
  middleware?: readonly Middleware[];
  /** What makes vectors of texts, for agents with knowledge: `provider/model`, or a maker of one's own. Without it, words alone are searched. */
  embedding?: string | Embedder;
  /** Named in notices. */
  project?: string;
}>;

export type RunOptions<Out extends Schema | undefined = Schema | undefined> = Readonly<{
  /** Goes on in this session; a new one is opened without it. */
  session?: SessionId;
  /** Goes on in the session that has this id of the caller's own; one is opened under it when there is none. */
  id?: string;
  principal?: Principal;
  labels?: readonly string[];
  history?: readonly SaidInput[];
  /** Shown with the input: images, PDFs, texts, 20 MiB of them. `fileAt` reads one. */
  files?: readonly FileInput[];
  limits?: Partial<Limits>;
  /** Runs this session on another model from this turn on, whatever its agent names: `provider/name`. The journal keeps who chose it. */
  model?: string;
  /** What this turn answers with, in place of what the agent says: any Standard Schema that can describe itself, or a JSON Schema. */
  output?: Out;
  /** How often an answer that does not fit is asked for again; 2 unless said. */
  outputRepairs?: number;
  /** Cancels the turn: really stops the model call and the tools, and is journalled. */
  signal?: AbortSignal;
  /** The same as iterating: entries once durable, previews while words arrive. */
  on?: (live: Live) => void;
}>;

/** What a person says, with what is shown. */
export type RunReport = Readonly<{ text: string; files?: readonly FileInput[] }>;

/** Iterate for what happens as it happens, await `result` for what came of it. Either alone is enough. */
export type Run<Value = Json> = AsyncIterable<Live> & Readonly<{ result: Promise<RunResult<Value>> }>;

export type Completed<Value = Json> = RunResult<Value> & Readonly<{ events: readonly Entry[] }>;

/** By name; or itself, and then the type of what it answers with is known. */
export type AgentRef<Value = unknown> = string | Agent<Value>;
/** What a run answers with: by its own schema, else by its agent's. */
export type ValueOf<Out extends Schema | undefined, Value> = Out extends Schema ? AnswerOf<Out> : unknown extends Value ? Json : Value;

export type Runtime = Readonly<{
  run<Value, const Out extends Schema | undefined = undefined>(
    agent: AgentRef<Value>,
    input: string,
    options?: RunOptions<Out>,
  ): Run<ValueOf<Out, Value>>;
  complete<Value, const Out extends Schema | undefined = undefined>(
    agent: AgentRef<Value>,
    input: string,
    options?: RunOptions<Out>,
  ): Promise<Completed<ValueOf<Out, Value>>>;
  /** Takes a session up where it stands: after a crash, or when what it waited for has come. */
  resume(session: SessionId, options?: Pick<RunOptions, "signal" | "on">): Run;
  /** Puts a wish into the session's inbox; whoever holds it turns it into an event. */
  wish(intent: Intent): Promise<"new" | "known">;
  /** Said for when the turn in progress has ended: it then starts the next one. With no turn in progress it starts one now. */
  followUp(session: SessionId, said: string | RunReport, as: Person): Promise<Answered>;
  /** Opened without a turn, found, listed, forked, closed. */
  sessions: Sessions;
  /** Follows a session, or everything, from any place on; reads the journal, so that nothing is lost to a slow reader. */
  subscribe: Subscribe;
  approvals: Approvals;
  /**
   * No effect is begun in `all`, `agent:NAME` or `tool:NAME` once this resolves, in any process; what runs is stopped. A name that this runtime does
   * not have is refused, unless `anyway` says that it is meant.
   */
  halt(scope: string, reason: string, as: Person, how?: Readonly<{ anyway?: boolean }>): Promise<void>;
  resumeWork(scope: string, reason: string, as: Person): Promise<void>;
  halts(): Promise<readonly StandingHalt[]>;
  breakers: Breakers;
  deadLetters: DeadLetters;
  known: KnownSets;
  /** Takes labels off a session, for good reason: what it has seen does not count as that any more. Gated as `remove-label`. */
  unlabel(labels: Unlabel, as: Person): Promise<Answered>;
  /** Says what became of a call that nobody could tell of. */
  resolve(unknown: ResolveOutcome, as: Person): Promise<Answered>;
  inspect: Inspect;
  place: OpenProjectStore;
  /**
   * Leaves the turns in progress to whoever takes them up next: nothing more is begun here, what is in flight lands, and no turn is ended or cancelled.
   * Resolves when no session is held any more; a tool that does not end keeps it waiting. `close` comes after it.
   */
  park(): Promise<void>;
  close(): Promise<void>;
}>;

/** What waits for people, and what they say. Whoever answers is signed for and stands under the same check as everybody (Q41-Q43). */
export type Approvals = Readonly<{
  /** In the order in which they were asked; a page of 100 unless told. Reads no session. */
  list(page?: Partial<QuestionPage>): Promise<readonly ListedQuestion[]>;
  /** All there is to see before answering; null when it waits no more. */
  show(approval: string): Promise<QuestionView | null>;
  /** Bound to the digest that was shown. Throws `intent-refused` with the reason. */
  answer(answer: Omit<Extract<Wish, { kind: "answer" }>, "kind">, as: Person): Promise<Answered>;
  /** In force. */
  grants(): Promise<readonly StandingGrant[]>;
  revoke(grant: GrantId, reason: string, as: Person): Promise<void>;
}>;

/** What keeps failing and is left alone (F20-F25). */
export type Breakers = Readonly<{
  /** All that were ever changed, by name, as they stand now. */
  list(): Promise<readonly BreakerView[]>;
  /** `tool:NAME`, `model:PROVIDER/NAME` or `mcp:SERVER`; `forMs` is how long it stays open, until it is closed without. Gated as `set-breaker`. A name that no agent uses is refused, unless `anyway`. */
  set(breaker: string, change: Readonly<{ to: BreakerState; forMs?: number; reason: string; anyway?: boolean }>, as: Person): Promise<void>;
  reset(breaker: string, reason: string, as: Person): Promise<void>;
}>;

/** Calls that failed and were set aside (F9). */
export type DeadLetters = Readonly<{
  /** In the order in which they were set aside; a page of 100 unless told. Reads no session. */
  list(page?: Partial<QuestionPage>): Promise<readonly ListedDeadLetter[]>;
  /** Null when it is not set aside, or not any more. */
  show(session: SessionId, call: CallId): Promise<DeadLetterView | null>;
  dismiss(letter: Readonly<{ session: SessionId; call: CallId; note?: string }>, as: Person): Promise<Answered>;
}>;

/** Trusted sets of the project: what targets are known (G94). */
export type KnownSets = Readonly<{
  /** By set and value; a page of 100 unless told. */
  list(page?: Partial<KnownPage>): Promise<readonly KnownValue[]>;
  /** Gated as `edit-known`. */
  add(entry: KnownEntry, as: Person): Promise<void>;
  remove(entry: KnownEntry, as: Person): Promise<void>;
}>;

export type Unlabel = Readonly<{ session: SessionId; labels: readonly string[]; why: string }>;

export type ResolveOutcome = Readonly<{ session: SessionId; call: CallId; as: Resolution; note?: string }>;

/** `entry` is what it became, null while whoever holds the session has not taken it; `result` is of the turn, when it was driven on here. */
export type Answered = Readonly<{ entry: Entry | null; result: RunResult | null }>;

export type Inspect = Readonly<{
  sessions: Journal["sessions"];
  session: Journal["session"];
  find: Journal["find"];
  /** The fold of all its events. Read-only: nothing is held. */
  state(session: SessionId): Promise<State>;
  events(session: SessionId): AsyncIterable<Entry>;
  /** As defined: tools, model, limits. */
  agents: readonly Agent[];
  /** Which set of policies decides now. */
  policies(): Digest;
  /** What decides. */
  gate: Gate;
  head: OpenProjectStore["store"]["head"];
}>;

export async function createRuntime(options: RuntimeOptions): Promise<Runtime> {
  checkRuntimeOptions(options);
  const { directory, gate, thread = "main", synchronous = "full", surface = "library", surfaces = {} } = options;
  const surfaceOf = (agent: string): Surface => (Object.hasOwn(surfaces, agent) ? (surfaces[agent] ?? surface) : surface);
  const given = options.agents.map((agent) => withDefaultModel(agent, options.defaultModel ?? null));
  const agents = byName(given);
  checkDelegates(agents);
  checkOwnPolicies(given, gate);
  const settings = settingsOf(options.env ?? process.env, options.folder ?? null);
  const { embedding = null } = options;
  const embedder = typeof embedding === "string" ? embedderFor(embedding, settings) : embedding;
  const outside: Outside = { ...NODE, model: options.model ?? modelsWith(settings), embedder };
  const middleware = new Map(
    given.map((a) => {
      const leave = leaveToConduct(a, gate, () => place.store.journal); // last: it looks at what the others have made of a call
      return [a.name, middlewareOf([...(options.middleware ?? []), ...a.middleware, ...leave], `agent \`${a.name}\``)];
    }),
  );
  const place = await openPlace({ directory, thread, synchronous });
  const { journal, inbox } = place.store;
  const policies = isPolicies(gate) ? await recording(place, outside.clock.now, gate) : null;
  const deciding = policies === null ? place : { ...place, orders: withPolicies(place.orders, policies) };

  const telemetry = await telemetryFor(options.env ?? process.env, outside.clock.now);
  const agentOf = (name: string): Agent => agents.get(name) ?? missing(name, [...agents.keys()]);
  const ear = openEar();
  function assemble(agent: Agent, watcher: (live: Live) => void): Composed {
    const watch = (live: Live): void => {
      ear.hear(live);
      if (live.kind === "entry") telemetry?.hear(live.entry, agent);
      watcher(live);
    };
    const { notify, project = null } = options;
    const own = middleware.get(agent.name) ?? [];
    if (notify === undefined) return compose(deciding, agent, gate, watch, outside, family, own);
    const parentOf = (session: SessionId) => parents.get(session) ?? null;
    const notice = noticesOf({ agent: agent.name, project, parentOf }, notify.tell);
    const both = (live: Live): void => {
      watch(live);
      notice(live); // last: what a watcher does comes first, and an error here is nobody's but ours
    };
    return compose(deciding, agent, gate, both, outside, family, own);
  }

  const parents = new Map<SessionId, Parent>(); // of the delegates that are driven here
  const ground = { journal, inbox, clock: outside.clock, ids: outside.ids, signAsWriter: place.keyring.signAsWriter };
  const family: Family = {
    find: delegatesOf(agents, gate),
    drive: (child, _, stop) => followChild(ground, child, stop, (cancel) => driveSession(child, () => {}, cancel)),
  };

  /** Takes a session with the agent as that session runs it: the journal says which model was chosen for it (M561). */
  async function takeWith<D extends Pick<Driver, "composed">>(
    session: SessionId,
    find: (state: State) => D | Promise<D>,
  ): Promise<Took<D>> {
    const found: D[] = [];
    const held = await takeSession({ journal, counters: tokenizers, folds: place.folds }, session, async (state) => {
      const driver = await find(state);
      found.push(driver);
      return driver.composed.facts;
    });
    const [driver] = found;
    if (driver === undefined) throw new Error("a session was taken without its agent");
    return { held, driver };
  }
  type Took<D> = Readonly<{ held: Held; driver: D }>;

  /** Takes a session and drives it: one of an agent of this runtime, whoever opened it. */
  async function driveSession(session: SessionId, watch: (live: Live) => void, signal: AbortSignal): Promise<Drove> {
    const { held, driver } = await takeWith(session, (state) => driverFor(state, watch, signal));
    const { parent, turn } = held.state;
    if (parent !== null) parents.set(session, parent);
    try {
      const drove = await through(driver.composed, held, turn?.limits ?? driver.limits, driver.until);
      return { ...drove, agent: driver.agent };
    } finally {
      parents.delete(session);
    }
  }

  /** `fold` goes into the cache once nobody looks at the state any more. */
  type Drove = Readonly<{ state: State; fold: Fold | null; agent: Agent | null }>;
  type Driver = Readonly<{ composed: Composed; agent: Agent | null; limits: Limits; until: AbortSignal }>;

  /** D4 without its agent, or with one that cannot be run, a turn does not go on; but it ends when it is to end. */
  async function driverFor(state: State, watch: (live: Live) => void, until: AbortSignal): Promise<Driver> {
    const { name } = state.agent;
    try {
      const agent = withChosenModel(agentOf(name), state.chosen);
      return { composed: assemble(agent, watch), agent, limits: agent.limits, until };
    } catch (error) {
      if (!isFault(error) || !(await isToEnd(state.session, until))) throw error;
      const { limits } = absentAgent(name);
      const stop = until.aborted ? until : AbortSignal.abort("its agent cannot be run");
      return { composed: composeAbsent(absentAgent(name), state, watch), agent: null, limits, until: stop };
    }
  }

  /** Whoever drives was told to stop, or a person cancels the turn or refuses what it waits for. */
  async function isToEnd(session: SessionId, signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return true;
    await place.keyring.refresh();
    const wishes = (await inbox.pending(session)).map(({ intent }) => intent);
    return wishes.some((one) => endsWithoutAgent(one.wish) && place.keyring.authenticate(one).kind === "genuine");
  }

  /** As the journal knows it: nothing is noted as changed, and nothing of it can be run. */
  function composeAbsent(agent: Agent, { agent: facts }: State, watch: (live: Live) => void): Composed {
    return { ...compose(deciding, agent, gate, watch, { ...outside, model: absentModel }, family, []), facts };
  }

  /** What its delegates ask is asked of whoever waits for it. */
  const resultOf = async (state: State, agent: Agent | null): Promise<RunResult> =>
    toResult(state, agent?.warnings ?? [], await openBelow({ journal }, state), place.orders.now());

  const closing = new AbortController();
  const leaving = new AbortController();
  const runs = new Set<Promise<unknown>>();
  /** Every run is known until it is over, so that closing can wait for it. */
  function tracked<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (closing.signal.aborted || leaving.signal.aborted) return Promise.reject(new FaultError({ kind: "runtime-closed" }));
    const running = work(closing.signal);
    runs.add(running);
    void running.catch(() => {}).finally(() => runs.delete(running));
    return running;
  }

  const driven = new Map<SessionId, number>();
  let door: Promise<IntentDoor | null> | null = null;
  /** While something is driven, others reach it through a socket (W1). */
  async function drivingOpenly<T>(session: SessionId, work: () => Promise<T>): Promise<T> {
    driven.set(session, (driven.get(session) ?? 0) + 1);
    door ??= place.listen((s) => driven.has(s));
    try {
      return await work();
    } finally {
      const left = (driven.get(session) ?? 1) - 1;
      if (left > 0) driven.set(session, left);
      else {
        driven.delete(session);
        ear.silence(session);
      }
    }
  }

  /** Drives until it waits or has ended, also through what arrived while the hold was being given back. */
  const through = (composed: Composed, first: Held, limits: Limits, signal: AbortSignal): Promise<Omit<Drove, "agent">> =>
    drivingOpenly(first.state.session, () => driveOn(composed, first, limits, signal));

  async function driveOn({ ports, facts }: Composed, first: Held, limits: Limits, signal: AbortSignal): Promise<Omit<Drove, "agent">> {
    let before: ReadonlySet<string> = new Set();
    for (let held = first; ; ) {
      let state: State;
      let fold: Fold | null = null;
      try {
        state = await drive(ports, held, { limits, cancel: signal, leave: leaving.signal });
        if (held.left.running === 0) fold = await ports.folds.mark(state);
      } finally {
        // While a tool's own code still runs, the hold is kept: it ends with that code, or with this process.
        if (held.left.running === 0)
          await journal.release(held.hold).catch(ignoreLost); // what stopped the drive is what the caller must hear
        else void outlived(held);
      }
      if (leaving.signal.aborted) return { state, fold };
      const pending = (await inbox.pending(state.session)).map(({ intent }): string => intent.id);
      if (pending.every((id) => before.has(id))) return { state, fold }; // what was left there twice is left for whoever drives next
      before = new Set(pending);
      const again = await takeSession(ports, state.session, facts, fold).catch(unlessHeld);
      if (again === null) return { state, fold }; // somebody else took it, and sees what arrived
      held = again;
    }
  }

  /** Looks now and then whether the tools that outlived their call have ended, and gives the hold back then. */
  async function outlived(held: Held): Promise<void> {
    while (held.left.running > 0 && !closing.signal.aborted) await nap();
    if (closing.signal.aborted) return; // the journal may be closed by now; a hold ends with its process
    await journal.release(held.hold).catch(ignoreLost);
  }

  function run<Value, const Out extends Schema | undefined = undefined>(
    ref: AgentRef<Value>,
    input: string,
    given: RunOptions<Out> = {},
  ): Run<ValueOf<Out, Value>> {
    return valued(plainRun(ref, input, given));
  }

  function plainRun(ref: AgentRef, input: string, given: RunOptions): Run {
    const wrong = runFault([ref, input, given]);
    return stream(wrong === null ? given.on : undefined, tracked, async (watch, signal) => {
      if (wrong !== null) throw wrong;
      const name = nameOf(ref);
      const files = toAttachments(given.files ?? []);
      const agent = agentOf(name);
      const output = given.output === undefined ? null : outputOfRun(given.output, given.outputRepairs, name, sha256);
      const { model = null } = given;
      const on = (chosen: string | null) => {
        const running = withChosenModel(agent, model ?? chosen);
        return { agent: running, limits: limitsOf(running, given.limits), composed: assemble(running, watch) };
      };
      const by = given.principal ?? options.principal;
      const fresh = given.session === undefined ? on(null) : null; // what is wrong is told before a session is opened
      const session = given.id === undefined ? given.session : await named(name, by, given.id, given);
      const { held, driver } =
        session === undefined ? await opened(fresh ?? on(null), by, given) : await taken(session, ({ chosen }) => on(chosen));
      const { composed, limits } = driver;
      const turn = held.state.turns + 1;
      const choice: readonly JournalEvent[] =
        model === null || model === held.state.chosen ? [] : [{ kind: "model.chosen", model, by, intent: null }];
      const start: JournalEvent = {
        kind: "turn.started",
        turn,
        input: input.toWellFormed(),
        files,
        by,
        limits,
        intent: null,
      };
      const asked = output === null ? composed : answering(composed, agent, { turn, output });
      const begin = [...held.begin, ...choice, start];
      const { state, fold } = await through(asked, { ...held, begin }, limits, either(given.signal, signal));
      const result = await resultOf(state, driver.agent);
      place.folds.put(fold); // last: whoever takes it changes the state
      return result;
    });
  }

  async function named(
    agent: string,
    principal: Principal,
    id: string,
    { session, labels = [], history = [], model }: RunOptions,
  ): Promise<SessionId> {
    const there = (await sessions.create({ agent, id, principal, labels, history, ...(model === undefined ? {} : { model }) })).session;
    if (session === undefined || session === there) return there;
    throw new FaultError({ kind: "external-taken", external: id, session: there });
  }

  async function opened<D extends Pick<Driver, "composed">>(driver: D, principal: Principal, given: RunOptions): Promise<Took<D>> {
    const { ports, facts } = driver.composed;
    const { labels = [], history = [] } = given;
    const held = await openSession(ports, {
      agent: facts,
      principal,
      surface: surfaceOf(facts.name),
      labels: labels.map((l): Label => label(l)),
      history: toHistory(history),
      external: null,
      parent: null,
      origin: null,
    });
    return { held, driver };
  }

  async function taken<D extends Pick<Driver, "composed">>(session: SessionId, find: (state: State) => D): Promise<Took<D>> {
    const took = await takeWith(session, find);
    const { held } = took;
    if (held.state.turn === null && !held.state.closed) return took;
    place.folds.put(await place.folds.mark(held.state));
    await journal.release(held.hold);
    throw new FaultError({ kind: held.state.closed ? "session-closed" : "session-busy", session });
  }

  function resume(session: SessionId, given: Pick<RunOptions, "signal" | "on"> = {}): Run {
    const wrong = resumeFault([session, given]);
    return stream(wrong === null ? given.on : undefined, tracked, async (watch, signal) => {
      if (wrong !== null) throw wrong;
      const until = either(given.signal, signal);
      const first = await driveSession(session, watch, until);
      const drove = [first];
      const { state } = first;
      await goUp({ inbox }, state, async (above) => {
        const came = until.aborted || leaving.signal.aborted ? null : await driveSession(above, () => {}, until).catch(unlessNotHere);
        if (came !== null) drove.push(came);
        return came?.state ?? null;
      });
      const result = await resultOf(state, first.agent);
      for (const { fold } of drove) place.folds.put(fold); // last: whoever takes it changes the state
      return result;
    });
  }

  /** Signed, put where whoever holds the session sees it, or taken up here when nobody does. */
  async function send(session: SessionId, wish: Wish, as: Person): Promise<Answered> {
    const { clock, ids } = outside;
    const intent = signIntent(as, { id: ids.intent(), session, at: clock.now(), wish });
    let result: RunResult | null = null;
    const takeOver = async (): Promise<"drove" | "held"> => {
      try {
        result = await resume(session).result;
        return "drove";
      } catch (error) {
        if (isFault(error, "session-held")) return "held";
        throw error;
      }
    };
    const became = await deliver({ store: place.store, directory, intent, waitMs: WAIT_MS, takeOver });
    if (became.kind === "refused") throw new FaultError({ kind: "intent-refused", intent: intent.id, detail: became.reason });
    return { entry: became.kind === "became" ? became.entry : null, result };
  }

  const acting = (person: Person): Acting & { readonly place: OpenProjectStore } => ({ place, gate, person });
  const standing = async () => {
    await place.orders.refresh();
    return inForce(place.orders, outside.clock.now());
  };
  const changeBreaker: Breakers["set"] = async (breaker, { to, forMs = null, reason, anyway = false }, as) => {
    const now = outside.clock.now();
    const unknown = anyway ? null : unknownBreaker(given, await readBreakers(journal, now), breaker, "`anyway: true`");
    if (unknown !== null) throw unknown;
    await setBreaker(acting(as), breaker, { to, forMs, reason }, now);
  };
  const approvals: Approvals = {
    list: ({ after = 0, most = 100 } = {}) => journal.questions({ after, most }),
    async show(approval) {
      const [found] = await journal.question(approvalId(approval));
      return found === undefined ? null : viewQuestion(journal, found.session, found.approval, outside.clock.now());
    },
    async answer(answer, as) {
      const [found] = await journal.question(answer.approval);
      if (found === undefined) throw await nothingOpen(journal, answer.approval, as);
      return send(found.session, { kind: "answer", ...answer }, as);
    },
    grants: async () => (await standing()).grants,
    revoke: async (grant, reason, as) => void (await revokeGrant(acting(as), grant, reason)),
  };

  /** Another agent of the same name answers with something else than the type says. */
  function nameOf(ref: AgentRef): string {
    if (typeof ref === "string") return ref;
    const own = agentOf(ref.name);
    if (own === ref || own.digest(sha256) === ref.digest(sha256) || own.definition.output === ref.definition.output) return ref.name;
    const detail = "the agent of this name is another one here, which answers with something else";
    throw new FaultError({ kind: "agent-invalid", where: `agent \`${ref.name}\``, detail, hint: "run the one that the runtime was given" });
  }

  async function complete<Value, const Out extends Schema | undefined = undefined>(
    ref: AgentRef<Value>,
    input: string,
    given: RunOptions<Out> = {},
  ): Promise<Completed<ValueOf<Out, Value>>> {
    const wrong = runFault([ref, input, given]);
    if (wrong !== null) throw wrong;
    const events: Entry[] = [];
    const on = (live: Live) => {
      if (live.kind === "entry") events.push(live.entry);
      given.on?.(live);
    };
    const result = await run(ref, input, { ...given, on }).result;
    return Object.assign(result, { events }); // not a copy: the conversation is made when it is looked at
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

  async function park(): Promise<void> {
    leaving.abort("the runtime leaves");
    await Promise.allSettled(runs);
  }

  /** What runs is cancelled, which the journal says, and waited for: nothing is left half done behind a closed journal. */
  async function close(): Promise<void> {
    closing.abort("the runtime was closed");
    await Promise.allSettled(runs);
    ended.abort();
    policies?.stop();
    await (await door)?.close();
    await options.notify?.close();
    await telemetry?.close();
    await place.close();
  }

  const ended = new AbortController();
  const { clock, ids } = outside;
  const sessions = sessionsOf({
    journal,
    clock,
    ids,
    counters: tokenizers,
    principal: options.principal,
    surfaceOf,
    factsOf: (name, model) => assemble(withChosenModel(agentOf(name), model), () => {}).facts,
  });
  const inspect: Inspect = {
    sessions: journal.sessions,
    session: journal.session,
    find: journal.find,
    state: (session) => readState({ journal }, session, { counters: tokenizers }),
    events,
    agents: given,
    policies: () => gate.digest,
    gate,
    head: place.store.head,
  };
  return checkedRuntime({
    sessions,
    subscribe: subscriber(journal, ear, ended.signal),
    run,
    complete,
    resume,
    wish: (intent) => inbox.put(intent),
    followUp: (session, said, as) => send(session, { kind: "follow-up", ...toSpoken(said) }, as),
    approvals,
    async halt(scope, reason, as, { anyway = false } = {}) {
      const unknown = anyway ? null : unknownScope(options.agents, scope, "`{ anyway: true }` as fourth argument");
      if (unknown !== null) throw unknown;
      await haltWork(acting(as), scope, reason);
    },
    resumeWork: (scope, reason, as) => resumeWork(acting(as), scope, reason),
    halts: async () => (await standing()).halts,
    breakers: {
      list: () => readBreakers(journal, outside.clock.now()),
      set: changeBreaker,
      reset: (breaker, reason, as) => changeBreaker(breaker, { to: "closed", reason }, as),
    },
    deadLetters: {
      list: ({ after = 0, most = 100 } = {}) => journal.deadLetters({ after, most }),
      show: (session, call) => viewDeadLetter(journal, session, call),
      dismiss: ({ session, call, note = "" }, as) => send(session, { kind: "dismiss", call, note }, as),
    },
    known: {
      list: ({ set = null, after = null, most = 100 } = {}) => journal.known({ set, after, most }),
      add: (entry, as) => editKnown(acting(as), "known.added", entry, outside.clock.now),
      remove: (entry, as) => editKnown(acting(as), "known.removed", entry, outside.clock.now),
    },
    unlabel: ({ session, labels, why }, as) => send(session, { kind: "unlabel", labels: labels.map(label), why }, as),
    resolve: ({ session, call, as: resolution, note = "" }, as) => send(session, { kind: "resolve", call, as: resolution, note }, as),
    inspect,
    place,
    park,
    close,
  });
}

/** The one turn answers by its own schema; those after it by the agent's. */
const answering = ({ ports, facts }: Composed, agent: Agent, run: Parameters<typeof outputsOf>[1]): Composed => ({
  facts,
  ports: { ...ports, outputs: outputsOf(agent.output === null ? null : withDigest(agent.output, sha256), run) },
});

/** The type of what was looked at: nothing is delivered that the schema has not let through (M102). */
const valued = <Value>(run: Run): Run<Value> => run as Run<Value>;
function toSpoken(said: string | RunReport): Spoken {
  const { text, files = [] } = typeof said === "string" ? { text: said } : said;
  return files.length === 0 ? { text } : { text, files: toAttachments(files) };
}

/** W83 loaded only where the standard variables ask for it: for everybody else it costs nothing. */
async function telemetryFor(env: Env, now: () => number): Promise<Telemetry | null> {
  if (!Object.keys(env).some((name) => /^OTEL_EXPORTER_OTLP_(?:.*_)?ENDPOINT$/.test(name))) return null;
  const { openTelemetry, telemetrySettings } = await import("./telemetry.ts");
  const settings = telemetrySettings(env, version());
  return settings === null ? null : openTelemetry(settings, now);
}

/** Which set decides is on record before the first decision is made (G33). */
async function recording(place: OpenProjectStore, now: Outside["clock"]["now"], policies: Policies): Promise<Recording> {
  const { journal, inbox } = place.store;
  try {
    const { refresh, stop } = await recordPolicies({ journal, now }, policies);
    const unwatch = inbox.watchChanges(() => void refresh().catch(() => {})); // whoever decides next looks again, and hears of it
    return {
      refresh,
      stop() {
        unwatch();
        stop();
      },
    };
  } catch (error) {
    await place.close();
    throw error;
  }
}

/** A session that looks for orders looks for applied policies too: both come from other processes, and count for its next decision (G650). */
const withPolicies = (orders: OpenProjectStore["orders"], policies: Recording): OpenProjectStore["orders"] => ({
  ...orders,
  async refresh() {
    await orders.refresh();
    await policies.refresh();
  },
});

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

/** A name that is nobody's would be refused each time that the model calls it: better said before anything runs. */
function checkDelegates(agents: ReadonlyMap<string, Agent>): void {
  for (const { name, delegates } of agents.values()) {
    const unknown = delegates.find((one) => !agents.has(one));
    if (unknown === undefined) continue;
    const hint = `known agents: ${[...agents.keys()].join(", ")}`;
    throw new FaultError({
      kind: "agent-invalid",
      where: `agent \`${name}\``,
      detail: `there is no agent \`${unknown}\` to delegate to`,
      hint,
    });
  }
}

/** Y75 what an agent's own file says of policies is decided by the gate, or the agent is not run. */
function checkOwnPolicies(agents: readonly Agent[], gate: Gate): void {
  const read = new Set(isPolicies(gate) ? gate.current().files.map(({ digest }) => digest) : []);
  const stranger = agents.find(({ policies }) => policies.some(({ text }) => !read.has(sha256(text))));
  if (stranger === undefined) return;
  throw new FaultError({
    kind: "agent-invalid",
    where: `agent \`${stranger.name}\``,
    detail: "its own file has policies, and the gate does not read them",
    hint: "make the gate with cedarPolicies, and give it the same agents",
  });
}

/** Stands in for one that is not there any more: no tools, no delegates, and a model that is never asked. */
const absentAgent = (name: string): Agent => defineAgent({ name, instructions: "none", model: "absent/absent" });
const absentModel = ({ name }: Agent): Model => ({
  id: "absent/absent",
  ask: () => Promise.reject(new FaultError({ kind: "agent-missing", agent: name, known: [] })),
});

function missing(agent: string, known: readonly string[]): never {
  throw new FaultError({ kind: "agent-missing", agent, known });
}

/** Q580 */
async function nothingOpen(journal: Journal, approval: string, as: Person): Promise<FaultError> {
  const settled = await settledRequest(journal, approval, { me: `user:${as.name}` });
  if (settled !== null) return settledFault(settled);
  return new FaultError({
    kind: "usage",
    detail: `there is no open question \`${approval}\``,
    hint: "`approvals.list()` shows what waits",
  });
}

/** How long whoever holds the session may take. */
const WAIT_MS = 10_000;

const ignoreLost = (error: unknown): void => {
  if (!isFault(error)) throw error;
};
const unlessHeld = (error: unknown): null => {
  if (isFault(error, "session-held")) return null;
  throw error;
};

/** What is wrong above a delegate is not the delegate's: it waits there for whoever can take it up, and is told to whoever tries to. */
const unlessNotHere = (error: unknown): null => {
  if (isFault(error) && NOT_HERE.has(error.fault.kind)) return null;
  throw error;
};
const NOT_HERE: ReadonlySet<Fault["kind"]> = new Set(["agent-missing", "agent-invalid", "agent-other", "entry-erased", "entry-bad"]);

const nap = () => sleep(50, undefined, { ref: false });

const either = (mine: AbortSignal | undefined, closing: AbortSignal): AbortSignal =>
  mine === undefined ? closing : AbortSignal.any([mine, closing]);

/** Limits that make no sense together are refused before anything runs, wherever they come from. */
function limitsOf(agent: Agent, given: Partial<Limits> | undefined): Limits {
  if (given === undefined) return agent.limits;
  const limits = checkLimits({ ...agent.limits, ...given }, `the limits of this run of \`${agent.name}\``);
  if ("kind" in limits) throw new FaultError(limits);
  const unpriced = unpricedLimit(limits, agent, `the limits of this run of \`${agent.name}\``); // B7
  if (unpriced !== null) throw new FaultError(unpriced);
  return limits;
}

type Track = <T>(work: (signal: AbortSignal) => Promise<T>) => Promise<T>;

/** One run, seen by callback, by any number of iterators, or by its result alone. An iterator sees what happens from its start on. */
function stream(
  on: ((live: Live) => void) | undefined,
  track: Track,
  start: (watch: (live: Live) => void, signal: AbortSignal) => Promise<RunResult>,
): Run {
  const readers = new Set<{ readonly queue: Live[]; wake: () => void }>();
  let over = false;
  let failed: { readonly error: unknown } | null = null;
  const watch = (live: Live) => {
    for (const reader of readers) {
      reader.queue.push(live);
      reader.wake();
    }
    if (failed !== null) return;
    try {
      on?.(live);
    } catch (error) {
      failed = { error }; // the run does not depend on who looks; whoever awaits it hears of this at its end
    }
  };
  const result = track(async (signal) => {
    await Promise.resolve(); // whoever iterates has begun to
    const came = await start(watch, signal);
    if (failed !== null) throw failed.error;
    return came;
  }).finally(() => {
    over = true;
    for (const reader of readers) reader.wake();
  });
  result.catch(() => {}); // whoever awaits `result` or iterates hears of it; a run that nobody awaits does not bring the process down
  return {
    result,
    [Symbol.asyncIterator]() {
      const reader = { queue: [] as Live[], wake: () => {} };
      readers.add(reader); // now, not at the first `next`: nothing in between is missed
      return read(reader);
    },
  };

  async function* read(reader: { readonly queue: Live[]; wake: () => void }): AsyncGenerator<Live> {
    try {
      for (;;) {
        for (let live = reader.queue.shift(); live !== undefined; live = reader.queue.shift()) yield live;
        if (over) break;
        await new Promise<void>((resolve) => {
          reader.wake = resolve;
        });
      }
      await result; // a failed run ends its iterator with the failure
    } finally {
      readers.delete(reader);
    }
  }
}

export type { Wish };
