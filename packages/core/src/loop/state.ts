/** A session's state: a fold of its events, owned by its driver, growing at the end and never copied. `evolve.ts` is its only writer. */

import type { Tally } from "../journal/counts.ts";
import type { Message } from "../reason/port.ts";
import type { Counters } from "../reason/tokens.ts";
import type { Window } from "../reason/window.ts";
import {
  type AgentFacts,
  type ApprovalId,
  type Attachment,
  type CallId,
  type CallKey,
  callKey,
  counterForTotal,
  counterForValue,
  type Digest,
  type Epoch,
  type Finish,
  type GateDecided,
  type IntentId,
  type JournalEvent,
  type Json,
  type KnowledgeId,
  type Label,
  type Limits,
  type Millis,
  type Origin,
  type Outcome,
  type OutputSpec,
  type Parent,
  type Part,
  type Prices,
  type Principal,
  type Purpose,
  type Reservation,
  type Resource,
  type Seq,
  type SessionId,
  type Stage,
  type StoredThing,
  type Subject,
  type Surface,
  type Tool,
  type ToolChange,
  type Usage,
} from "../vocab/index.ts";
import { type ApprovalQuestion, type Call, type Gated, UNDECIDED } from "./calls/call.ts";

export {
  type Answered,
  type ApprovalQuestion as Question,
  asProposedToRun,
  type Call,
  type Gated,
  isDelegated,
  isSettled,
  type Mending,
  type RunningCall,
  runningTool,
  stricter,
  toActionId,
  UNDECIDED,
} from "./calls/call.ts";

/** A thing of which the session's own source last said nothing that is a record: what the project's record said before is over as well. */
export type EndedThing = Readonly<{ at: Millis; hasEnded: true }>;

export type State = {
  readonly session: SessionId;
  /** Token counters by name: the same name counts the same wherever the session is folded. */
  readonly counters: Counters;
  seq: Seq;
  at: Millis;
  epoch: Epoch;
  agent: AgentFacts;
  principal: Principal;
  surface: Surface;
  /** The schedule or the delivery that opened it, or the session that it works for. */
  readonly origin: Origin | null;
  /** Of a delegate: whom it works for. */
  readonly parent: Parent | null;
  closed: boolean;
  readonly labels: Set<Label>;
  /** Of the files in the conversation: what a policy may be asked about. */
  readonly media: Set<string>;
  /** The conversation, whole. What the model is shown is a window into it. */
  readonly messages: Message[];
  readonly window: Window;
  /** Messages before this one were cleared away by somebody: no fork begins with them either. */
  cleared: number;
  /** No more tokens of it than these are wanted in the next request; null: as many as may be. */
  compactTo: number | null;
  /** The model that somebody chose for the turns to come. */
  chosen: string | null;
  /** Said while the model was thinking or its calls were running; heard when its next request is made. */
  readonly queued: Message[];
  /** Wire ids the model has used, so that a repeated one is noticed. */
  readonly wireIds: Set<string>;
  /** Model replies over the whole session. */
  replies: number;
  /** Calls decided `allow` in this session, by tool. */
  readonly allowedCalls: Map<string, number>;
  /** Its counts over hours and days. */
  readonly tally: Tally;
  /** Starts per value of a target, by `calls:TOOL/ARGUMENT` and the value's digest; totals of numbers, by `total:TOOL/ARGUMENT`. */
  readonly values: Map<string, number>;
  /** What the user wrote in turns that have ended, the newest of them. */
  readonly said: SaidTurn[];
  /** Names behind ids, the newest given. */
  readonly names: Map<string, ToldName>;
  /** What a trusted source last said of things, by type and key; or that it said something of them that is no record. */
  readonly things: Map<string, StoredThing | EndedThing>;
  /** By type: when a call may have changed any thing of it. Records of the project from before then are not believed here. */
  readonly doubted: Map<string, Millis>;
  /** Whom it serves; null: nobody has said. */
  subject: Subject | null;
  /** Recalled items, by id: each text stands in the journal once. And all of it as it came, for what values were seen in. */
  readonly recalled: Map<KnowledgeId, SeenItem>;
  readonly recalledTexts: SeenItem[];
  /** Calls that may or may not have taken effect, until somebody settles them. */
  readonly unknowns: Map<CallId, Unknown>;
  /** Dead letters with their tool, until a person has settled them. */
  readonly deadLetters: Map<CallId, string>;
  /** The last `done` of each action: where a later failure of the very same finds it. */
  readonly results: Map<Digest, Readonly<{ seq: Seq; at: Millis }>>;
  /** Goes up with what a decision made before may have to be made again for: labels, outcomes, unknowns. */
  changes: number;
  /** Goes up with the counters: decisions of the same reply count each other, and are not made again for it. */
  counted: number;
  /** Answers to be remembered; each is given once it is durable, also by the process after this one. */
  readonly grantsDue: Extract<JournalEvent, { kind: "grant.given" }>[];
  /** To be taken up when the turn has ended, in order: each starts one. */
  readonly followUps: FollowUp[];
  /** Intents that have become events: a copy of one, put into the inbox again, is taken no second time. */
  readonly taken: Set<IntentId>;
  /** Tokens of the turns before this one. */
  spent: number;
  /** The cost of earlier turns, and whether some price of it is not known. */
  micros: number;
  unpriced: boolean;
  /** Reservations for calls that run, and for those with an unknown outcome: by call, with the turn that made them. */
  readonly reserved: Map<CallId, { readonly turn: number; readonly amount: Reservation }>;
  /** All that the last turn used, with open reservations. */
  used: Reservation;
  /** Tokens of `used` that were reserved for model calls which were cut off, here or in a sub-agent. */
  lost: number;
  /** The structured answer of the last turn; null where it had none. */
  value: Json;
  turns: number;
  turn: Turn | null;
  last: Last | null;
};

export type SeenItem = Readonly<{ text: string; labels: readonly Label[] }>;

export type FollowUp = Readonly<{ text: string; files: readonly Attachment[]; by: Principal; intent: IntentId }>;

/** `gated` is where a person's wish to have the tool asked stands; null when nobody wants it. */
export type Unknown = {
  readonly call: CallId;
  readonly tool: string;
  readonly resource: Resource;
  readonly digest: Digest;
  readonly decided: GateDecided;
  readonly outcome: Extract<Outcome, { kind: "unknown" }>;
  /** The idempotency key that its tool got. */
  readonly key: CallKey;
  readonly at: Millis;
  gated: Gated | null;
  /** The text that middleware shows the model in place of a late outcome. */
  shown: string | null;
  cleaned: Tool["markup"] | null;
};

/** What was said in a turn that has ended, and how long it is. */
export type SaidTurn = Readonly<{ number: number; at: Millis; by: Principal; words: readonly string[]; chars: number }>;

/** The end of the last turn. */
export type Last = Omit<Extract<JournalEvent, { kind: "turn.ended" }>, "kind">;

export type Turn = {
  readonly number: number;
  readonly limits: Limits;
  readonly by: Principal;
  readonly startedAt: Millis;
  /** Texts that the user wrote in this turn. */
  readonly words: string[];
  /** Everybody whose words the turn follows, by name: none of them is a stranger to what it asks for. */
  readonly speakers: string[];
  /** Model replies in this turn. */
  iterations: number;
  usage: Usage;
  /** Reserved for model calls whose reply was lost: counted as used. */
  lost: Usage;
  /** The same of its sub-agents, in tokens. */
  lostBelow: number;
  /** Of its model calls, lost ones included; `unpriced` once the price of something is not known. */
  micros: number;
  unpriced: boolean;
  /** Settled for its tools and sub-agents. */
  settled: Reservation;
  /** Calls started. */
  calls: number;
  activeMs: number;
  refusedInARow: number;
  /** By tool, decided `allow` in this turn. */
  readonly allowedCalls: Map<string, number>;
  readonly values: Map<string, number>;
  /** Where summing up stands before the next request; `over`: there was one since the last reply, or there will be none. */
  summary: Readonly<{
    gated: Gated;
    attempts: number;
    /** Of the model that is asked now, and how many were given up in this turn. */
    tries: Readonly<{ lost: number; refused: number }>;
    fellBack: number;
    over: boolean;
  }>;
  /** Where looking things up for the next request stands; `done`: it was, since the last reply or attempt. */
  recall: Readonly<{ gated: Gated; done: boolean }>;
  /** The knowledge recalled last, as the model is shown it. */
  knowledge: Readonly<{ text: string; tokens: number; ids: readonly KnowledgeId[] }> | null;
  /** The assistant's texts that would be remembered, and how far remembering them is. */
  learnt: string;
  keep: Readonly<{ gated: Gated; stage: "due" | "keeping" | "over"; item: KnowledgeId | null }>;
  phase: TurnPhase;
  /** Attempts made at the reply that comes next. */
  attempts: number;
  /** Why the last attempt failed, when the model may be asked again, and whether nobody is left to ask. */
  modelError: string | null;
  modelDue: Millis | null;
  noModel: boolean;
  /** Of the model that is asked now, at the reply that comes next: broken off or lost, and refused for the moment. */
  tries: Readonly<{ lost: number; refused: number }>;
  /** How many of its models were given up in this turn: 0 is the agent's own, then its fallbacks in order. */
  fellBack: number;
  /** Decided before each model call; undecided again after each reply. */
  model: Gated;
  respond: Gated;
  /** The schema of its answer, and the tokens it adds to every request; null: any text. */
  output: Readonly<{ spec: OutputSpec; tokens: number }> | null;
  /** How often an answer was asked for again. */
  repairs: number;
  /** Of the reply that is folded next: why what it calls in words does not count. */
  misread: string | null;
  /** How the last reply ended. */
  finish: Finish;
  /** Texts of replies that were cut off at the output limit; the answer goes on from them. */
  cutOff: string;
  /** All that was said and may be delivered: the partial output of a turn that ends early. */
  aside: string;
  /** Replies in a row that said nothing. */
  silent: number;
  /** How often the same was called, by the digest of what it does. */
  readonly repeats: Map<Digest, number>;
  /** By middleware, of the reply that is folded next. */
  readonly rewritten: { parts: readonly Part[] | null; readonly calls: Map<CallId, ToolChange> };
  /** The middleware that failed, and where. */
  broken: { readonly middleware: string; readonly stage: Stage; readonly error: string } | null;
  cancel: { readonly by: Principal; readonly reason: string } | null;
  halt: { readonly by: Principal; readonly reason: string } | null;
  /** A final failure: the turn ends `failed` as soon as its effects have stopped. */
  failure: string | null;
  /** Every call of the last reply ran and says that it ends the turn. */
  over: boolean;
  readonly questions: Map<ApprovalId, ApprovalQuestion>;
  /** A person answered, or an approval request expired, and nothing has begun since. */
  answeredLast: boolean;
};

/** The work of a turn between two replies. `next` switches on it; only the fold changes it. */
export type TurnPhase =
  /** The next request is made ready: it is made to fit, knowledge is recalled for it, and it is decided. */
  | Readonly<{ kind: "preparing" }>
  /** A model call is in flight. */
  | (Readonly<{ kind: "asking" }> & Asking)
  /** The calls of a reply are decided and run, in call order. */
  | Readonly<{ kind: "calling"; calls: readonly Call[] }>
  /** A reply without calls: its answer is checked, decided and delivered. `fits`: its value, once it was found to fit the schema. */
  | Readonly<{ kind: "answering"; text: string; fits: Readonly<{ value: Json }> | null }>;
export const PREPARING: TurnPhase = Object.freeze({ kind: "preparing" });

const NO_CALLS: readonly Call[] = Object.freeze([]);
export const callsIn = (t: Turn | null | undefined): readonly Call[] => (t?.phase.kind === "calling" ? t.phase.calls : NO_CALLS);
export const answerIn = (t: Turn): string | null => (t.phase.kind === "answering" ? t.phase.text : null);
export const askingIn = (t: Turn): Asking | null => (t.phase.kind === "asking" ? t.phase : null);

export type Asking = Readonly<{ iteration: number; attempt: number; purpose: Purpose; reserved: Usage; reservedMicros: number | null }>;

/** The idempotency key of a call: the same at every start of it. */
export const toCallKey = (s: Pick<State, "session">, c: Call): CallKey => callKey(s.session, c.proposed.id, c.edition);

/** A name that a tool has told of a thing. */
export type ToldName = Readonly<{ name: string; isTrusted: boolean }>;
export const nameKey = (of: string, id: string): string => `${of}\n${id}`;
/** A person's message here is their own; where others' words come in by the same way, or an agent speaks, nothing is. */
export const isOwnWord = (s: Pick<State, "surface" | "parent">, by: Principal, turn: number): boolean =>
  by.kind === "user" && s.surface !== "webhook" && s.surface !== "mcp" && !(s.parent !== null && turn === 1);

/** The audience of an answer: the person who started the turn, and for a delegate the agent that wanted it. */
export const findRecipient = (s: State): Principal => {
  const above = s.turn?.number === 1 ? s.parent?.lineage.at(-1) : undefined;
  return above === undefined ? actingFor(s) : { kind: "agent", id: above };
};
/** On whose behalf: the person who started the turn, else the one who opened the session. */
export const actingFor = (s: State): Principal => s.turn?.by ?? s.principal;
/** The one that is asked now: the agent's own, or the fallback that the turn has come to. */
export function modelNow(agent: AgentFacts, t: Turn | null): Readonly<{ model: string; prices: Prices | null }> {
  const fallback = t === null || t.fellBack === 0 ? undefined : agent.fallbacks[t.fellBack - 1];
  return fallback ?? agent;
}
export const RECALL_DUE: Turn["recall"] = Object.freeze({ gated: UNDECIDED, done: false });
export const KEEP_DUE: Turn["keep"] = Object.freeze({ gated: UNDECIDED, stage: "due", item: null });
/** Recalled knowledge for the next request: none until it was searched for that one. */
export const knowledgeFor = (t: Turn | null): Turn["knowledge"] => (t?.recall.done === true ? t.knowledge : null);
export const NO_SUMMARY: Turn["summary"] = Object.freeze({
  gated: UNDECIDED,
  attempts: 0,
  tries: Object.freeze({ lost: 0, refused: 0 }),
  fellBack: 0,
  over: false,
});

/** The key of a counter per value of a target. */
export const valueKey = (tool: string, of: string, value: string): string => `${counterForValue(tool, of)}\n${value}`;
/** The same of a total; without a value, of all calls. */
export const totalKey = (tool: string, arg: string, value: string): string => `${counterForTotal(tool, arg)}\n${value}`;
