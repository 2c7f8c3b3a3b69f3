/** Everything a session needs; nothing is optional. A session without a gate does not type-check. */
import type { Gate } from "../gate/port.ts";
import type { Inbox } from "../inbox/port.ts";
import type { Orders } from "../journal/orders.ts";
import type { Journal } from "../journal/port.ts";
import type { Knowledge } from "../knowledge/port.ts";
import type { OwnContextPlan } from "../reason/own-plan.ts";
import type { Model, Preview } from "../reason/port.ts";
import type { Counters } from "../reason/tokens.ts";
import type {
  AgentFacts,
  ApprovalId,
  BreakerSettings,
  Digest,
  Entry,
  Hash,
  Intent,
  IntentId,
  JournalEvent,
  Limits,
  Middleware,
  Millis,
  ModelRetry,
  Output,
  OutputSpec,
  SessionId,
  Tools,
} from "../vocab/index.ts";
import type { BreakersPort } from "./calls/breakers.ts";
import type { CountsPort } from "./limits/rate-counters.ts";
import type { FoldCache } from "./session/fold-cache.ts";

export type Clock = Readonly<{
  /** The wall's time: it may jump. */
  now(): Millis;
  /** Milliseconds since some moment, and never back: what limits are measured by. */
  elapsed(): number;
  /** Resolves after `ms` (any length), or as soon as the signal fires. Never rejects. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}>;

export type Ids = Readonly<{ session(): SessionId; approval(): ApprovalId; intent(): IntentId }>;

/** Watchers see entries once they are durable, and previews of a reply in progress. */
export type Live =
  | Readonly<{ kind: "entry"; entry: Entry }>
  | Readonly<{ kind: "preview"; session: SessionId; iteration: number; attempt: number; preview: Preview }>;

/** Standing orders: grants and halts, which belong to no session. */
export type OrdersPort = Readonly<{
  /** As of the last refresh. */
  now(): Orders;
  refresh(): Promise<void>;
  /** Idempotent by the grant's id. */
  give(grant: Extract<JournalEvent, { kind: "grant.given" }>): Promise<void>;
  /** Calls back when they may have changed; returns the way to stop. */
  watch(changed: () => void): () => void;
}>;

/** Says whether an intent really comes from whom it names. */
export type Authenticate = (intent: Intent) => { readonly kind: "genuine" } | { readonly kind: "refused"; readonly reason: string };

/** The runtime's own word, signed with its writer's key: so that nobody else can speak for it. */
export type SignAsWriter = (intent: Omit<Intent, "by" | "key" | "signature">) => Intent;

/** Sessions of other agents that work for this one. */
export type Children = Readonly<{
  /** Whom this agent may delegate to, and how many levels of delegates there may be below it. */
  delegates: readonly string[];
  maxDepth: number;
  find(agent: string): Delegate | null;
  /** Drives the session until it has ended or waits for a person; while another process holds it, waits for that. Once `stop` fires its turn is cancelled, wherever it is. */
  drive(child: SessionId, agent: string, stop: AbortSignal): Promise<void>;
}>;
/** An agent that something can be delegated to. */
export type Delegate = Readonly<{ facts: AgentFacts; limits: Limits; output: OutputSpec | null }>;
export const NO_CHILDREN: Children = Object.freeze({
  delegates: [],
  maxDepth: 0,
  find: () => null,
  drive: () => Promise.reject(new Error("this session has no delegates")),
});

/** Schemas of structured answers, by turn. */
export type Outputs = Readonly<{
  /** Of the turn of this number, as it starts: the run's own, or the agent's. */
  of(turn: number): Output | null;
  /** Of a turn that was started with this one, here or elsewhere. */
  find(digest: Digest): Output | null;
}>;
export const NO_OUTPUTS: Outputs = Object.freeze({ of: () => null, find: () => null });

export type Ports = Readonly<{
  model: Model;
  /** Asked in its place, in order: those of the agent's facts. */
  fallbacks: readonly Model[];
  /** The model that summarises: the agent's own unless its plan names another. */
  summariser: Model;
  /** Token counters by name. */
  counters: Counters;
  /** Context plans that the program brings, by the name in an agent's facts; null for an unknown name. */
  contextPlans: (name: string) => OwnContextPlan | null;
  gate: Gate;
  tools: Tools;
  /** In order; none is the empty list. */
  middleware: readonly Middleware[];
  outputs: Outputs;
  journal: Journal;
  inbox: Inbox;
  /** The agent's knowledge. */
  knowledge: Knowledge;
  orders: OrdersPort;
  children: Children;
  breakers: BreakersPort;
  /** Rate counters over hours and days. */
  counts: CountsPort;
  /** Folds of sessions that this process has left; `NO_FOLDS` keeps none. */
  folds: FoldCache;
  /** How a model that refused for the moment is asked again. */
  modelRetry: ModelRetry;
  /** When the model is left alone after it kept failing. */
  modelBreaker: BreakerSettings;
  authenticate: Authenticate;
  signAsWriter: SignAsWriter;
  clock: Clock;
  ids: Ids;
  hash: Hash;
  watch: (live: Live) => void;
}>;
