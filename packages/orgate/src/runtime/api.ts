/** The types of the library's front door: what `createRuntime` takes and what a runtime can do. */

import type {
  Agent,
  AnswerOf,
  CallId,
  Clock,
  Digest,
  Embedder,
  Entry,
  Gate,
  GrantId,
  Ids,
  Intent,
  IntentBody,
  Journal,
  Json,
  KnowledgeStore,
  Limits,
  Live,
  Middleware,
  Model,
  OwnContextPlan,
  Principal,
  Resolution,
  RunResult,
  Schema,
  SessionId,
  State,
  SubjectInput,
  Surface,
} from "@orgate/core";
import type {
  ApprovalPage,
  BreakerState,
  ListedApproval,
  ListedDeadLetter,
  StandingGrant,
  TrustedValue,
  TrustedValuePage,
} from "@orgate/core/journal";
import type { PowerCut, SealMode, StandingHalt } from "@orgate/core/vocab";
import type { ClusterConfig } from "../config/cluster-schema.ts";
import type { FileInput, HistoryInput } from "../files/file-input.ts";
import type { Env } from "../node/env.ts";
import type { Person } from "../store/keyring.ts";
import type { Notify } from "./notice-webhook.ts";
import type { ApprovalRequestView } from "./people/approvals.ts";
import type { BreakerView } from "./people/breakers.ts";
import type { DeadLetterView } from "./people/dead-letters.ts";
import type { TrustedEntry } from "./people/trusted-values.ts";
import type { BreakerTable, OwnCounters, Tracer } from "./ports/own-ports.ts";
import type { OpenOwnStore } from "./ports/own-store.ts";
import type { OpenProjectStore } from "./ports/project-store.ts";
import type { Sessions } from "./sessions.ts";
import type { Subscribe } from "./subscribe.ts";

export type RuntimeOptions = Readonly<{
  /** Where journal and keys lie. */
  directory: string;
  agents: readonly Agent[];
  /** Decides every action: `cedarPolicies` reads a folder. Without policies nothing runs: there is no default that permits. */
  gate: Gate;
  /** On whose behalf; a session may name another. */
  principal: Principal;
  surface?: Surface;
  /** Of agents whose sessions are opened elsewhere, by name: the policies of that surface join for them. */
  surfaces?: Readonly<Record<string, Surface>>;
  /** `worker` keeps a server's event loop free of disk waits; `main` is quicker for one-shot use. */
  thread?: "main" | "worker";
  /** What a power cut may take back: nothing, unless you say otherwise. No crash of a process loses anything. */
  powerCut?: PowerCut;
  /** `each` signs every transaction by itself instead of every tenth of a second. */
  sealing?: SealMode;
  /** The model of agents that name none: `provider/name`. */
  defaultModel?: string;
  /** Your own model in place of the lookup by `provider/name`; `languageModel` wraps any AI SDK model. */
  model?: (agent: Agent) => Model;
  /** Where keys and addresses of providers come from; `process.env` unless given. */
  env?: Env;
  /** The project's folder: its `.env` says what `env` does not. */
  folder?: string;
  /** Called when an approval request waits for a person; `webhook` posts it. */
  notify?: Notify;
  /** The developer's own code around every turn, in order; an agent's own comes after it. */
  middleware?: readonly Middleware[];
  /** Embeds texts for agents with knowledge: `provider/model`, or your own embedder. Without it, search uses words alone. */
  embedding?: string | Embedder;
  /** Named in notices. */
  project?: string;
  /** The database of a cluster in place of files: `[cluster]` of `orgate.toml`. Keys still lie in `directory`. */
  cluster?: ClusterConfig | null;
  /** Opens another journal store than SQLite. Keys still lie in `directory`. */
  store?: OpenOwnStore;
  /** Another knowledge store than SQLite; `close` of the runtime closes it. */
  knowledge?: KnowledgeStore;
  /** Counts tokens by the tokenizer's name; null for one that is built in. */
  counters?: OwnCounters;
  /** Context plans by name; an agent uses one with `context: { kind: "own", plan: NAME }`. */
  contextPlans?: Readonly<Record<string, OwnContextPlan>>;
  /** Settings of circuit breakers, in place of those of agents and tools. */
  breakers?: BreakerTable;
  /** Hears every durable entry of the sessions driven here, beside OpenTelemetry. */
  tracer?: Tracer;
  /** For tests: another time. */
  clock?: Clock;
  /** For tests: ids that can be foretold. */
  ids?: Ids;
}>;

export type RunOptions<Out extends Schema | undefined = Schema | undefined> = Readonly<{
  /** Goes on in this session; a new one is opened without it. */
  session?: SessionId;
  /** Goes on in the session with this external id; opens one under it when there is none. */
  id?: string;
  principal?: Principal;
  /** Whom a new session serves: `context.subject` for policies. Refused for a session that is there and serves somebody else. */
  subject?: SubjectInput;
  labels?: readonly string[];
  history?: readonly HistoryInput[];
  /** Shown with the input: images, PDFs, texts, 20 MiB of them. `fileAt` reads one. */
  files?: readonly FileInput[];
  limits?: Partial<Limits>;
  /** Runs this session on another model from this turn on, whatever its agent names: `provider/name`. The journal keeps who chose it. */
  model?: string;
  /** The schema of this turn's answer, in place of the agent's: any Standard Schema that can describe itself, or a JSON Schema. */
  output?: Out;
  /** How often an answer that does not fit is asked for again; 2 unless said. */
  outputRepairs?: number;
  /** Cancels the turn: really stops the model call and the tools, and is journalled. */
  signal?: AbortSignal;
  /** The same as iterating: entries once durable, previews while words arrive. */
  on?: (live: Live) => void;
}>;

/** A person's message, with files. */
export type MessageInput = Readonly<{ text: string; files?: readonly FileInput[] }>;

/** Iterate to follow it live, await `result` for its result. Either alone is enough. */
export type Run<Value = Json> = AsyncIterable<Live> & Readonly<{ result: Promise<RunResult<Value>> }>;

export type CompletedRun<Value = Json> = RunResult<Value> & Readonly<{ events: readonly Entry[] }>;

/** An agent by name, or the agent itself: then the type of its answer is known. */
export type AgentRef<Value = unknown> = string | Agent<Value>;
/** The type of a run's answer: by its own schema, else by its agent's. */
export type ValueOf<Out extends Schema | undefined, Value> = Out extends Schema ? AnswerOf<Out> : unknown extends Value ? Json : Value;

export type ResumeOptions = Pick<RunOptions, "signal" | "on"> &
  Readonly<{
    /** Longer waits for a model or a retry are not waited out: the session is given back, and whoever resumes it when they are due goes on. Default: no limit. */
    maxRestMs?: number;
  }>;

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
  ): Promise<CompletedRun<ValueOf<Out, Value>>>;
  /** Continues a session: after a crash, or when what it waited for has come. */
  resume(session: SessionId, options?: ResumeOptions): Run;
  /** Puts an intent into the session's inbox; the process that holds the session turns it into an event. */
  putIntent(intent: Intent): Promise<"new" | "known">;
  /** Said for when the turn in progress has ended: it then starts the next one. With no turn in progress it starts one now. */
  followUp(session: SessionId, said: string | MessageInput, as: Person): Promise<IntentOutcome>;
  /** Opened without a turn, found, listed, forked, closed. */
  sessions: Sessions;
  /** Follows a session, or everything, from any place on; reads the journal, so that nothing is lost to a slow reader. */
  subscribe: Subscribe;
  /** Previews of this session, of all with null, are wanted here, wherever it is driven, until the result is called: `subscribe` to everything then has them. */
  wantPreviews(session: SessionId | null): () => void;
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
  known: TrustedSets;
  /** Removes labels from a session, with a reason. Gated as `remove-label`. */
  unlabel(labels: LabelRemoval, as: Person): Promise<IntentOutcome>;
  /** Resolves the unknown outcome of a call. */
  resolve(unknown: ResolveOutcome, as: Person): Promise<IntentOutcome>;
  inspect: Inspect;
  place: OpenProjectStore;
  /**
   * Leaves the turns in progress to the next process: nothing more begins here, calls in flight end, and no turn is ended or cancelled.
   * Resolves when no session is held any more; a tool that does not end keeps it waiting. `close` comes after it.
   */
  park(): Promise<void>;
  close(): Promise<void>;
}>;

/** Approval requests and their answers. An answer is signed, and checked like any other. */
export type Approvals = Readonly<{
  /** In the order in which they were asked; a page of 100 unless told. Reads no session. */
  list(page?: Partial<ApprovalPage>): Promise<readonly ListedApproval[]>;
  /** Everything to check before answering; null if it no longer waits. */
  show(approval: string): Promise<ApprovalRequestView | null>;
  /** Bound to the digest that was shown. Throws `intent-refused` with the reason. */
  answer(answer: Omit<Extract<IntentBody, { kind: "answer" }>, "kind">, as: Person): Promise<IntentOutcome>;
  /** In force. */
  grants(): Promise<readonly StandingGrant[]>;
  revoke(grant: GrantId, reason: string, as: Person): Promise<void>;
}>;

/** Circuit breakers of tools, models and servers that keep failing (F-7, F-8, F-9). */
export type Breakers = Readonly<{
  /** All that were ever changed, by name, as they stand now. */
  list(): Promise<readonly BreakerView[]>;
  /** `tool:NAME`, `model:PROVIDER/NAME` or `mcp:SERVER`; `forMs` is how long it stays open, until it is closed without. Gated as `set-breaker`. A name that no agent uses is refused, unless `anyway`. */
  set(breaker: string, change: Readonly<{ to: BreakerState; forMs?: number; reason: string; anyway?: boolean }>, as: Person): Promise<void>;
  reset(breaker: string, reason: string, as: Person): Promise<void>;
}>;

/** Failed calls that wait for a person (F-6). */
export type DeadLetters = Readonly<{
  /** In the order in which they failed; a page of 100 by default. Reads no session. */
  list(page?: Partial<ApprovalPage>): Promise<readonly ListedDeadLetter[]>;
  /** Null when it is no dead letter, or not any more. */
  show(session: SessionId, call: CallId): Promise<DeadLetterView | null>;
  dismiss(letter: Readonly<{ session: SessionId; call: CallId; note?: string }>, as: Person): Promise<IntentOutcome>;
}>;

/** Trusted values of the project, by set (G-30). */
export type TrustedSets = Readonly<{
  /** By set and value; a page of 100 unless told. */
  list(page?: Partial<TrustedValuePage>): Promise<readonly TrustedValue[]>;
  /** Gated as `edit-known`. */
  add(entry: TrustedEntry, as: Person): Promise<void>;
  remove(entry: TrustedEntry, as: Person): Promise<void>;
}>;

export type LabelRemoval = Readonly<{ session: SessionId; labels: readonly string[]; why: string }>;

export type ResolveOutcome = Readonly<{ session: SessionId; call: CallId; as: Resolution; note?: string }>;

/** `entry`: the event that the intent became; null until the session's holder takes it. `result`: of the turn, if it was driven here. */
export type IntentOutcome = Readonly<{ entry: Entry | null; result: RunResult | null }>;

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
  gate: Gate;
  head: OpenProjectStore["store"]["head"];
}>;
