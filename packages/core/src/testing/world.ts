/**
 * A whole runtime without clock, disk or network: what a crash test drives. The disk and the outside world live on; processes die.
 * The seed is the whole story.
 */

import { toolbox } from "../agents/define-tool.ts";
import { type Row, tableGate } from "../gate/table.ts";
import { type StandingGrant, unseal } from "../journal/index.ts";
import { chargesOf } from "../loop/agent-facts.ts";
import { drive, type Held } from "../loop/drive.ts";
import { fold } from "../loop/evolve.ts";
import { ordersOf } from "../loop/orders.ts";
import type { Live, Ports } from "../loop/ports.ts";
import { openSession, takeSession } from "../loop/resume.ts";
import type { State } from "../loop/state.ts";
import type { Model } from "../reason/port.ts";
import { type Counters, estimates } from "../reason/tokens.ts";
import {
  type AgentFacts,
  approvalId,
  type ContextPlan,
  DEFAULT_LIMITS,
  type Entry,
  type EventKind,
  GRANTS,
  HALT,
  type Hash,
  intentId,
  type JournalEvent,
  keyId,
  type Limits,
  PLAIN_WINDOW,
  type Prices,
  type Principal,
  type SessionId,
  type SystemEvent,
  seq,
  sessionId,
  type Tool,
  type Wish,
  writerId,
  ZERO,
} from "../vocab/index.ts";
import type { CrashPoint } from "./arbitraries.ts";
import { type ManualClock, manualClock } from "./clock.ts";
import { type MemoryDisk, type MemoryStore, memoryDisk, openMemory } from "./memory-journal.ts";

/** Everything is permitted: a policy like any other, and the journal shows it. */
export const PERMIT_ALL: readonly Row[] = Object.freeze([{ id: "permit-all", action: "*", verdict: "allow" }]);

export type WorldOptions = Readonly<{
  hash: Hash;
  model: Model;
  tools?: readonly Tool[];
  rows?: readonly Row[];
  groups?: Readonly<Record<string, readonly string[]>>;
  limits?: Partial<Limits>;
  prices?: Prices;
  context?: ContextPlan;
  summariser?: Model;
  counters?: Counters;
  /** The first process dies at the first of these, the second at the second, … */
  crashes?: readonly CrashPoint[];
  /** A chance to break a port on purpose: mutation tests hand in what must be noticed. */
  spoil?: (ports: Ports) => Ports;
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
  wish(wish: Wish, by?: Principal): Promise<void>;
  /** An operator's word on a system stream: a halt, a revocation. */
  order(event: SystemEvent): Promise<void>;
  grants(): Promise<readonly StandingGrant[]>;
  session(): SessionId;
  /** From here on it is about this session: the last one that was opened otherwise. */
  turnTo(session: SessionId): void;
  entries(): readonly Entry[];
  events<K extends EventKind>(kind: K): readonly Extract<JournalEvent, { kind: K }>[];
  state(): State;
}>;

class Crash extends Error {
  override readonly name = "Crash";
}

/** People may answer, unless a world's own rows say who. */
const APPROVING: Row = { id: "people", action: "approve", verdict: "allow" };
const USER: Principal = { kind: "user", id: "ann" };

export function world(options: WorldOptions): World {
  const { hash, model, tools = [], rows = PERMIT_ALL, crashes = [], spoil = (p) => p } = options;
  const limits: Limits = { ...DEFAULT_LIMITS, ...options.limits };
  const disk = memoryDisk();
  const clock = manualClock();
  const live: Live[] = [];
  const people = rows.some((row) => row.action === "approve") ? [] : [APPROVING];
  const gate = tableGate([...people, ...rows], hash, options.groups);
  const box = toolbox(tools, hash);
  let booted = 0;
  let counter = 0;
  let open: SessionId | null = null;

  const agent: AgentFacts = {
    name: "tester",
    digest: hash("agent"),
    instructions: "be brief",
    model: model.id,
    policies: gate.digest,
    tools: box.digest,
    overheadTokens: 10,
    tokenizer: "estimate",
    context: options.context ?? PLAIN_WINDOW,
    prices: options.prices ?? null,
    charges: chargesOf(box),
  };

  function boot(): { ports: Ports; dead: () => boolean } {
    const point = crashes[booted];
    booted += 1;
    const store = openMemory(disk, sealPorts(`w${booted}`), clock.now);
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
    const ports: Ports = spoil({
      model: crashingModel(model, around),
      summariser: crashingModel(options.summariser ?? model, around),
      counters: options.counters ?? estimates,
      gate,
      tools: { ...box, find: (name) => crashing(box.find(name), around) },
      journal: { ...store.journal, append: (a) => around("append", () => store.journal.append(a)) },
      inbox: store.inbox,
      orders: ordersOf(store.journal, clock.now),
      authenticate: () => ({ kind: "genuine" }),
      signAsWriter: (intent) => ({ ...intent, by: { kind: "system", id: store.journal.writer }, key: keyId("test"), signature: "test" }),
      clock,
      ids: {
        session: () => sessionId(`s_00000000${String(++counter).padStart(4, "0")}`),
        approval: () => approvalId(`q${++counter}`),
        intent: () => intentId(`i${++counter}`),
      },
      hash,
      watch: (l) => live.push(l),
    });
    return { ports, dead: () => dead };
  }

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

  async function survive(start: (ports: Ports) => Promise<Held>, cancel: AbortSignal): Promise<State> {
    for (let take = start; ; take = resume) {
      const { ports, dead } = boot();
      try {
        const held = await take(ports);
        const state = await drive(ports, held, limits, cancel);
        await ports.journal.release(held.hold);
        return state;
      } catch (error) {
        if (!dead()) throw error;
        if (open !== null && !disk.sessions.has(open)) return survive(start, cancel); // it died before anything of it was durable
      }
    }
  }

  const resume = (p: Ports): Promise<Held> => takeSession(p, mine(), agent);
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
    });
    open = held.state.session;
    return { ...held, begin: [...held.begin, { kind: "turn.started", turn: 1, input, by: USER, limits, intent: null }] };
  }

  const never = () => new AbortController().signal;
  const store = (): MemoryStore => openMemory(disk, sealPorts("outside"), clock.now);
  return {
    disk,
    clock,
    live,
    processes: () => booted,
    run: (input, cancel = never()) => survive((p) => begin(p, input), cancel),
    go: (cancel = never()) => survive(resume, cancel),
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
      const orders = ordersOf(store().journal, clock.now);
      await orders.refresh();
      return [...orders.now().grants.values()];
    },
    session: mine,
    turnTo(session) {
      open = session;
    },
    entries: () => readAll(disk, mine(), hash),
    events: (kind) => readAll(disk, mine(), hash).flatMap(({ event }) => (isKind(event, kind) ? [event] : [])),
    state: () => fold(readAll(disk, mine(), hash)) ?? fail("the session is empty"),
  };
}

type Around = <T>(of: CrashPoint["of"], effect: () => Promise<T>) => Promise<T>;

const crashingModel = (model: Model, around: Around): Model => ({
  id: model.id,
  ask: (request, preview, signal) => around("model", () => model.ask(request, preview, signal)),
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

/** What is durable, whatever a process believes. */
export function readAll(disk: MemoryDisk, session: SessionId, hash: Hash): readonly Entry[] {
  const rows = disk.entries.get(session) ?? [];
  return unseal(session, { seq: seq(0), hash: ZERO }, rows, { hash, getBlob: (address) => disk.blobs.get(address) ?? null });
}

const isKind = <K extends EventKind>(event: JournalEvent, kind: K): event is Extract<JournalEvent, { kind: K }> => event.kind === kind;

function fail(detail: string): never {
  throw new Error(detail);
}
