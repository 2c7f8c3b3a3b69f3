/**
 * A whole runtime without clock, disk or network: what a crash test drives. The disk and the outside world live on; processes die.
 * The seed is the whole story.
 */

import { type KnowledgeDefinition, readKnowledgeSettings } from "../agents/agent-knowledge.ts";
import { toolbox } from "../agents/define-tool.ts";
import { listAgentTools } from "../agents/delegate-tool.ts";
import type { Row } from "../gate/table.ts";
import { type Journal, type StandingGrant, unseal } from "../journal/index.ts";
import { type Knowledge, noKnowledge } from "../knowledge/port.ts";
import { openBreakers } from "../loop/calls/breakers.ts";
import { followChild, takeUpParents } from "../loop/calls/delegate.ts";
import { drive } from "../loop/drive.ts";
import type { Driving } from "../loop/driver-parts.ts";
import { fold } from "../loop/evolve.ts";
import { openCounts } from "../loop/limits/rate-counters.ts";
import { toOutputs } from "../loop/model/structured-output.ts";
import type { Held } from "../loop/open.ts";
import { openSession } from "../loop/open.ts";
import { openOrders } from "../loop/people/orders.ts";
import type { Live, Ports } from "../loop/ports.ts";
import { takeSession } from "../loop/resume.ts";
import { listCharges } from "../loop/session/agent-facts.ts";
import { type FoldCache, NO_FOLDS } from "../loop/session/fold-cache.ts";
import type { State } from "../loop/state.ts";
import type { OwnContextPlan } from "../reason/own-plan.ts";
import type { Model } from "../reason/port.ts";
import { type Counters, estimates } from "../reason/tokens.ts";
import {
  type AgentFacts,
  type Attachment,
  approvalId,
  type ContextPlan,
  DEFAULT_BREAKER,
  DEFAULT_LIMITS,
  DEFAULT_MODEL_RETRY,
  type Entry,
  type EventKind,
  eventsIn,
  GRANTS,
  HALT,
  type Hash,
  type IntentBody,
  intentId,
  type JournalEvent,
  keyId,
  type Limits,
  type Middleware,
  type Output,
  PLAIN_WINDOW,
  type Prices,
  type Principal,
  type SealMode,
  type SessionId,
  type SystemEvent,
  seq,
  sessionId,
  type Tool,
  type Tools,
  trackProposals,
  writerId,
  ZERO,
} from "../vocab/index.ts";
import type { CrashPoint } from "./arbitraries.ts";
import { type ManualClock, manualClock } from "./clock.ts";
import { type MemoryDisk, type MemoryStore, memoryDisk, openMemory } from "./memory-journal.ts";
import { type WorldPolicies, worldGate } from "./world-gate.ts";

/** Everything is permitted: a policy like any other, and the journal shows it. */
export const PERMIT_ALL: readonly Row[] = Object.freeze([{ id: "permit-all", action: "*", verdict: "allow" }]);

export type WorldOptions = Readonly<{
  hash: Hash;
  model: Model;
  tools?: readonly Tool[];
  middleware?: readonly Middleware[];
  rows?: readonly Row[];
  /** Cedar in the place of `rows`: what it permits is all there is, thinking and answering included. */
  policies?: WorldPolicies;
  /** Groups of people, by person. */
  groups?: Readonly<Record<string, readonly string[]>>;
  limits?: Partial<Limits>;
  /** Shown with the input of every turn that `run` or `say` begins. */
  files?: readonly Attachment[];
  prices?: Prices;
  /** Asked in the model's place, in order. */
  fallbacks?: readonly Readonly<{ model: Model; prices?: Prices }>[];
  context?: ContextPlan;
  summariser?: Model;
  /** Structured output of its turns. */
  output?: Output;
  counters?: Counters;
  contextPlans?: Readonly<Record<string, OwnContextPlan>>;
  /** Whom the agent of `run`, which is called `tester`, may delegate to, and how deep. */
  delegates?: readonly string[];
  maxDepth?: number;
  /** How the agent of `run` uses knowledge, and what is known: it outlives processes, as a disk does. */
  knowledge?: KnowledgeDefinition;
  known?: Knowledge;
  /** The other agents, by name. They share the gate, and die with their process. */
  others?: Readonly<Record<string, OtherAgent>>;
  /** The first process dies at the first of these, the second at the second, … */
  crashes?: readonly CrashPoint[];
  /** `each`: as many seals as there are transactions, for a test that counts them. */
  sealing?: SealMode;
  /** Folds that the next process finds; none unless given. A process keeps the fold of each drive that it brought to its end. */
  folds?: (journal: Journal) => FoldCache;
  /** What every drive but those of delegates is given. */
  maxRestMs?: number;
  /** A chance to break a port on purpose: mutation tests hand in what must be noticed. */
  spoil?: (ports: Ports) => Ports;
}>;

export type OtherAgent = Readonly<{
  model: Model;
  tools?: readonly Tool[];
  limits?: Partial<Limits>;
  prices?: Prices;
  context?: ContextPlan;
  output?: Output;
  delegates?: readonly string[];
  maxDepth?: number;
  knowledge?: KnowledgeDefinition;
}>;

export type World = Readonly<{
  disk: MemoryDisk;
  clock: ManualClock;
  live: readonly Live[];
  processes(): number;
  /** Opens a session and drives its first turn; after a crash a new process takes it up, until the turn has ended or waits. */
  run(input: string, cancel?: AbortSignal): Promise<State>;
  /** A further process takes the session and drives on. */
  go(cancel?: AbortSignal): Promise<State>;
  wish(wish: IntentBody, by?: Principal): Promise<void>;
  /** An operator's word on a system stream: a halt, a revocation. */
  order(event: SystemEvent): Promise<void>;
  grants(): Promise<readonly StandingGrant[]>;
  session(): SessionId;
  /** The ports of a further process, for what is done to sessions rather than in them. */
  outside(): Ports;
  /** Goes on in the session with another turn. */
  say(input: string, cancel?: AbortSignal): Promise<State>;
  /** From here on it is about this session: the last one that was opened otherwise. */
  turnTo(session: SessionId): void;
  /** Those that work for it, in the order in which they were opened. */
  children(): readonly SessionId[];
  entries(): readonly Entry[];
  /** Of one kind, in order; decisions that are part of other events are among them. */
  events<K extends EventKind>(kind: K): readonly Extract<JournalEvent, { kind: K }>[];
  state(): State;
}>;

class Crash extends Error {
  override readonly name = "Crash";
}

const ROOT = "tester";
const USER: Principal = { kind: "user", id: "ann" };

export function world(options: WorldOptions): World {
  const { hash, rows = PERMIT_ALL, crashes = [], sealing = "interval", spoil = (p) => p } = options;
  const limits: Limits = { ...DEFAULT_LIMITS, ...options.limits };
  const rests = options.maxRestMs === undefined ? {} : { maxRestMs: options.maxRestMs };
  const disk = memoryDisk();
  const clock = manualClock();
  const live: Live[] = [];
  const { policies, groups } = options;
  const gate = worldGate({ hash, rows, policies, groups, agents: { ...options.others, [ROOT]: options } });
  const cast = new Map(Object.entries<OtherAgent>({ ...options.others, [ROOT]: options }).map(([name, one]) => [name, castOf(name, one)]));
  let booted = 0;
  let counter = 0;
  let open: SessionId | null = null;

  type Cast = Readonly<{
    facts: AgentFacts;
    limits: Limits;
    box: Tools;
    model: Model;
    output: Output | null;
    delegates: readonly string[];
    maxDepth: number;
  }>;

  function castOf(name: string, one: OtherAgent): Cast {
    const others = name === ROOT ? (options.fallbacks ?? []) : [];
    const { model, tools = [], prices = null, context = PLAIN_WINDOW, output = null, delegates = [], maxDepth = 3 } = one;
    const knowledge = readKnowledgeSettings(one.knowledge, `agent \`${name}\``);
    const box = toolbox(listAgentTools({ tools, delegates, knowledge }), hash);
    const facts: AgentFacts = {
      name,
      digest: hash(name === ROOT ? "agent" : name),
      instructions: "be brief",
      model: model.id,
      policies: gate.digest,
      tools: box.digest,
      overheadTokens: 10,
      tokenizer: "estimate",
      context,
      prices,
      fallbacks: others.map((other) => ({ model: other.model.id, prices: other.prices ?? null })),
      charges: listCharges(box),
      knowledge,
    };
    return { facts, limits: { ...DEFAULT_LIMITS, ...one.limits }, box, model, output, delegates, maxDepth };
  }
  const { facts: agent } = cast.get(ROOT) ?? fail("there is no agent");

  function boot(): { ports: (agent: string) => Ports; dead: () => boolean } {
    const point = crashes[booted];
    booted += 1;
    const store = openMemory(disk, sealPorts(`w${booted}`), clock.now, sealing);
    let dead = false;
    const seen = { append: 0, effect: 0, model: 0 };
    const die = (): never => {
      dead = true;
      store.die();
      throw new Crash();
    };
    /** The effect itself happens between the two: a process can die on either side of it. */
    async function around<T>(of: CrashPoint["of"], effect: () => Promise<T>): Promise<T> {
      if (dead) throw new Crash();
      const nth = seen[of];
      seen[of] += 1;
      const mine = point !== undefined && point.of === of && point.nth === nth ? point.when : null;
      if (mine === "before") die();
      const result = await effect();
      if (mine === "after") die();
      if (dead) throw new Crash();
      return result;
    }
    const shared = {
      counters: options.counters ?? estimates,
      contextPlans: (name) => options.contextPlans?.[name] ?? null,
      gate,
      middleware: options.middleware ?? [],
      journal: { ...store.journal, append: (a) => around("append", () => store.journal.append(a)) },
      inbox: store.inbox,
      knowledge: crashingKnowledge(options.known ?? noKnowledge, around),
      orders: openOrders(store.journal, clock.now),
      breakers: openBreakers(store.journal, { now: clock.now, hash, self: { kind: "system", id: store.journal.writer } }),
      counts: openCounts(store.journal, clock.now),
      folds: options.folds?.(store.journal) ?? NO_FOLDS,
      modelRetry: DEFAULT_MODEL_RETRY,
      modelBreaker: DEFAULT_BREAKER,
      authenticate: () => ({ kind: "genuine" }),
      signAsWriter: (intent) => ({ ...intent, by: { kind: "system", id: store.journal.writer }, key: keyId("test"), signature: "test" }),
      clock,
      ids: {
        session: () => sessionId(`s_00000000${String(++counter).padStart(4, "0")}`),
        approval: () => approvalId(`q${++counter}`),
        intent: () => intentId(`i${++counter}`),
      },
      hash,
      watch: (l: Live) => void live.push(l),
    } satisfies Partial<Ports>;
    const ports = (name: string): Ports => {
      const { model, box, output, delegates, maxDepth } = cast.get(name) ?? fail(`there is no agent ${name}`);
      return spoil({
        ...shared,
        outputs: toOutputs(output),
        model: crashingModel(model, around),
        fallbacks: name === ROOT ? (options.fallbacks ?? []).map((other) => crashingModel(other.model, around)) : [],
        summariser: crashingModel(options.summariser ?? model, around),
        tools: { ...box, find: (tool) => crashing(box.find(tool), around) },
        children: {
          delegates,
          maxDepth,
          find: (to) => cast.get(to) ?? null,
          drive: (child, to, stop) => followChild(shared, child, stop, (cancel) => driveHeld(ports(to), child, { cancel })),
        },
      });
    };
    return { ports, dead: () => dead };
  }

  async function driveHeld(p: Ports, session: SessionId, driving: Omit<Driving, "limits">): Promise<State> {
    const held = await takeSession(p, session, factsOf(session));
    return left(p, held, await drive(p, held, { limits: held.state.turn?.limits ?? limits, ...driving }));
  }
  async function left(p: Ports, { hold }: Held, state: State): Promise<State> {
    const fold = await p.folds.mark(state);
    await p.journal.release(hold);
    p.folds.put(fold);
    return state;
  }
  const agentOf = (session: SessionId): string => disk.sessions.get(session)?.agent ?? ROOT;
  const factsOf = (session: SessionId): AgentFacts => cast.get(agentOf(session))?.facts ?? fail("its agent is gone");

  function sealPorts(writer: string) {
    let salt = 0;
    return {
      writer: writerId(writer),
      key: keyId("test"),
      hash,
      sign: (text: string) => hash(text),
      salt: () => hash(`${writer}${++salt}`).slice(0, 32),
    };
  }

  async function survive(start: ((ports: Ports) => Promise<Held>) | null, cancel: AbortSignal): Promise<State> {
    for (let take = start; ; take = null) {
      const { ports, dead } = boot();
      try {
        if (take === null) return await takeUp(ports, cancel);
        const p = ports(ROOT);
        const held = await take(p);
        return await left(p, held, await drive(p, held, { limits, cancel, ...rests }));
      } catch (error) {
        if (!dead()) throw error;
        if (open !== null && !disk.sessions.has(open)) return survive(start, cancel); // it died before anything of it was durable
      }
    }
  }

  /** As a process does that is told to resume a session: it drives it, and then whom it works for. */
  async function takeUp(ports: (agent: string) => Ports, cancel: AbortSignal): Promise<State> {
    const drives = (session: SessionId) => driveHeld(ports(agentOf(session)), session, { cancel, ...rests });
    const state = await drives(mine());
    await takeUpParents(ports(ROOT), state, drives);
    return state;
  }
  const mine = (): SessionId => open ?? fail("no session was opened");

  async function begin(p: Ports, input: string): Promise<Held> {
    const held = await openSession(p, {
      agent,
      principal: USER,
      surface: "library",
      labels: [],
      history: [],
      external: null,
      parent: null,
      origin: null,
    });
    open = held.state.session;
    return withTurn(held, input);
  }

  function withTurn(held: Held, input: string): Held {
    const turn = held.state.turns + 1;
    return {
      ...held,
      begin: [...held.begin, { kind: "turn.started", turn, input, files: options.files ?? [], by: USER, limits, intent: null }],
    };
  }

  const never = () => new AbortController().signal;
  const store = (): MemoryStore => openMemory(disk, sealPorts("outside"), clock.now);
  return {
    disk,
    clock,
    live,
    processes: () => booted,
    run: (input, cancel = never()) => survive((p) => begin(p, input), cancel),
    go: (cancel = never()) => survive(null, cancel),
    async wish(wish, by = USER) {
      await store().inbox.put({ id: intentId(`i${++counter}`), session: mine(), at: clock.now(), by, key: null, wish, signature: null });
    },
    async order(event) {
      const { journal } = store();
      const stream = event.kind.startsWith("grant.") ? GRANTS : HALT;
      const after = disk.heads.get(stream)?.seq ?? seq(0);
      await journal.append({ stream, after, hold: null, events: [{ at: clock.now(), event }], consumes: [], unlessHalted: [] });
    },
    async grants() {
      const orders = openOrders(store().journal, clock.now);
      await orders.refresh();
      return [...orders.now().grants.values()];
    },
    session: mine,
    outside: () => boot().ports(ROOT),
    say: (input, cancel = never()) => survive((p) => takeSession(p, mine(), agent).then((held) => withTurn(held, input)), cancel),
    turnTo(session) {
      open = session;
    },
    children: () => readAll(disk, mine(), hash).flatMap(({ event: e }) => (e.kind === "child.opened" ? [e.child] : [])),
    entries: () => readAll(disk, mine(), hash),
    events(kind) {
      const { hear, argsOf } = trackProposals();
      return readAll(disk, mine(), hash).flatMap(({ event }) => {
        hear(event);
        return eventsIn(event, argsOf).flatMap((one) => (isKind(one, kind) ? [one] : []));
      });
    },
    state: () => fold(readAll(disk, mine(), hash)) ?? fail("the session is empty"),
  };
}

type Around = <T>(of: CrashPoint["of"], effect: () => Promise<T>) => Promise<T>;

const crashingModel = (model: Model, around: Around): Model => ({
  id: model.id,
  ask: (request, preview, signal) => around("model", () => model.ask(request, preview, signal)),
});

/** A write is an effect: a process can die on either side of it. To look something up is none. */
const crashingKnowledge = (knowledge: Knowledge, around: Around): Knowledge => ({
  ...knowledge,
  put: (item, signal) => around("effect", () => knowledge.put(item, signal)),
});

function crashing(tool: Tool | null, around: Around): Tool | null {
  if (tool === null) return null;
  const ask = tool.reconcile;
  return {
    ...tool,
    run: (args, context) => around("effect", () => tool.run(args, context)),
    reconcile: ask === null ? null : (args, context) => around("effect", () => ask(args, context)),
  };
}

/** Durable entries, whatever a process believes. */
export function readAll(disk: MemoryDisk, session: SessionId, hash: Hash): readonly Entry[] {
  const rows = disk.entries.get(session) ?? [];
  return unseal(session, { seq: seq(0), hash: ZERO }, rows, { hash, getBlob: (address) => disk.blobs.get(address) ?? null });
}

const isKind = <K extends EventKind>(event: JournalEvent, kind: K): event is Extract<JournalEvent, { kind: K }> => event.kind === kind;

function fail(detail: string): never {
  throw new Error(detail);
}
