/** Events of a session's own stream. The rules for changing them are in `event.ts`. */
import type { Attachment } from "../attachment.ts";
import type { ContextPlan } from "../context.ts";
import type { Ending } from "../ending.ts";
import type {
  ActionText,
  ApprovalId,
  CallId,
  Digest,
  Epoch,
  GrantId,
  IntentId,
  KnowledgeId,
  Label,
  Millis,
  PolicyId,
  Seq,
  SessionId,
  WriterId,
} from "../ids.ts";
import type { Answer, Resolution } from "../intent.ts";
import type { KnowledgeSettings, RecalledItem, Scope } from "../knowledge.ts";
import type { Evidence, Outcome } from "../outcome.ts";
import type { CheckedOutput, OutputSpec } from "../output.ts";
import type { Principal, Surface } from "../principal.ts";
import type { Finish, Part, Usage } from "../proposal.ts";
import type { Prices, Reservation } from "../rules/budget.ts";
import type { PowerCut } from "../rules/durability.ts";
import type { Limits } from "../rules/limits.ts";
import type { Change, Stage } from "../rules/middleware.ts";
import type { RecordRule, SkippedRecord, Subject, ThingRecord } from "../rules/records.ts";
import type { Recovery } from "../rules/recovery.ts";
import type { Repeat } from "../rules/repeat.ts";
import type { Origin } from "../rules/schedule.ts";
import type { CountedAmount, Targets } from "../targets.ts";
import type { Json, JsonObject } from "../text/canonical.ts";
import type { NamedThing, Reconciled, Resource, Tool } from "../tool.ts";
import type { Action, Ask, BegunAction, Verdict } from "../verdict.ts";

/** The agent that a session runs on. Resume compares it: an edited agent strands nothing, and the change is on record. */
export type AgentFacts = Readonly<{
  name: string;
  digest: Digest;
  instructions: string;
  model: string;
  policies: Digest;
  tools: Digest;
  /** Tokens that instructions and tool descriptions add to every request. */
  overheadTokens: number;
  /** Tokenizer: `estimate`, or the name of one. */
  tokenizer: string;
  context: ContextPlan;
  prices: Prices | null;
  /** Asked in its model's place, in order, when that one cannot be had. */
  fallbacks: readonly Fallback[];
  /** Micros one start of a tool may cost at the most, by its name; tools that cost nothing are not named. */
  charges: Readonly<Record<string, number>>;
  /** How it uses knowledge; null: not at all. */
  knowledge: KnowledgeSettings | null;
}>;

export type Fallback = Readonly<{ model: string; prices: Prices | null }>;

/** Of a session that another one delegated to. */
export type Parent = Readonly<{
  session: SessionId;
  call: CallId;
  /** 1 for a delegate of a session that has no parent. */
  depth: number;
  /** The agents above it, the first one first. */
  lineage: readonly string[];
  /** No delegate below may be at a greater depth: the least that any of the agents above allows. */
  deepest: number;
  /** Everybody whose words the parent's turn followed: none of them is a stranger to what the delegate asks for. */
  speakers: readonly string[];
}>;

type DecisionOn<A> = Readonly<{
  id: ActionText;
  action: A;
  digest: Digest;
  slice: Digest;
  verdict: Verdict;
  read: JsonObject;
  shadow: Verdict | null;
}>;
/** A decision as part of what it allows. */
export type InnerDecision = DecisionOn<BegunAction>;

export type SessionEvent =
  | Readonly<{
      kind: "session.opened";
      agent: AgentFacts;
      principal: Principal;
      surface: Surface;
      labels: readonly Label[];
      history: readonly HistoryMessage[];
      /** The caller's own name for it: unique in the project. */
      external: string | null;
      parent: Parent | null;
      /** The schedule or the delivery that opened it. */
      origin: Origin | null;
      /** Whom it serves, where its caller has said so. */
      subject?: Subject;
    }>
  /** Only its history comes along: calls that were open there become unknown, approval requests and grants are withdrawn. */
  | Readonly<{ kind: "session.forked"; from: SessionId; at: Seq; unknown: readonly CallId[] }>
  | Readonly<{ kind: "agent.changed"; agent: AgentFacts }>
  /** `powerCut`: what a power cut may take back of what this process writes. */
  | Readonly<{ kind: "hold.taken"; epoch: Epoch; writer: WriterId; powerCut: PowerCut }>
  | Readonly<{
      kind: "turn.started";
      turn: number;
      input: string;
      files: readonly Attachment[];
      by: Principal;
      limits: Limits;
      intent: IntentId | null;
    }>
  /** `purpose`: a reply to go on from, or a summary of what no longer fits. Micros are null where no price is known. */
  | Readonly<{
      kind: "model.asked";
      iteration: number;
      attempt: number;
      model: string;
      purpose: Purpose;
      request: Digest;
      reserved: Usage;
      reservedMicros: number | null;
      decisions: readonly InnerDecision[];
    }>
  | Readonly<{
      kind: "model.replied";
      iteration: number;
      attempt: number;
      purpose: Purpose;
      parts: readonly Part[];
      finish: Finish;
      usage: Usage;
      micros: number | null;
      model: string;
      meta: Json;
    }>
  | Readonly<{
      kind: "model.failed";
      iteration: number;
      attempt: number;
      purpose: Purpose;
      error: string;
      broke: boolean;
      again: boolean;
      model: string;
      /** It passes by itself. */
      transient: boolean;
      /** The provider's HTTP status and its requested delay, where it answered. */
      status: number | null;
      retryAfterMs: number | null;
      /** When the same model is asked again; null when it is not. */
      dueAt: Millis | null;
    }>
  /** Leave that begins in the same commit is part of the event that announces it (`decisions.ts`). */
  | (Readonly<{ kind: "gate.decided" }> & DecisionOn<Action>)
  /** `again`: why an answer that was given before does not count any more. */
  | Readonly<{
      kind: "approval.asked";
      approval: ApprovalId;
      action: ActionText;
      digest: Digest;
      asks: readonly Ask[];
      expiresAt: Millis | null;
      again: string | null;
      /** Of a call: the values of its targets. Absent: more than can be shown. */
      targets?: Targets;
      /** Shown with it: the session's labels, and whom it serves (null: nobody). Absent in older requests: the entries before them say it. */
      labels?: readonly Label[];
      subject?: string | null;
    }>
  /** `counts` are the policies whose question this person may answer; `digest` is what the answer is good for. */
  | Readonly<{
      kind: "approval.answered";
      approval: ApprovalId;
      by: Principal;
      answer: Answer;
      counts: readonly PolicyId[];
      digest: Digest;
      /** The resource after the edit; null when that has not changed. */
      about: Resource | null;
      intent: IntentId;
    }>
  | Readonly<{ kind: "approval.expired"; approval: ApprovalId; result: "deny" | "halt" }>
  | Readonly<{ kind: "approval.consumed"; approval: ApprovalId; action: ActionText }>
  | Readonly<{ kind: "grant.used"; grant: GrantId; action: ActionText }>
  | Readonly<{
      kind: "act.started";
      call: CallId;
      epoch: Epoch;
      start: number;
      /** Which tool under this call's id: 0 is the one that was asked for. Part of the call's idempotency key (`callKey`). */
      edition: number;
      repeat: Repeat;
      tool: string;
      /** Of the arguments that are targets, by name: the digest of each value; and of all targets of one kind, by `kind:KIND`. What is counted per value is counted by these. */
      values: Readonly<Record<string, readonly Digest[]>>;
      /** Of the arguments that are numbers, by name: what joins their totals. Absent: the tool marks none. */
      amounts?: Readonly<Record<string, CountedAmount>> | undefined;
      /** Made right before it, in order: the decision that allows it, and those about calls that were decided with it. */
      decisions: readonly InnerDecision[];
    }>
  /**
   * One recovery step for a call that failed or whose lease was lost. `reconcile`: its tool was asked for the call's outcome, and `found` is the answer.
   * `plan` is this strategy and those that are tried should it fail; `tries` counts how often it was applied to this call, `step` is its
   * place in the list.
   */
  | Readonly<{
      kind: "recovery.applied";
      call: CallId;
      strategy: Recovery["kind"] | "reconcile";
      found: Reconciled["kind"] | null;
      detail: string;
      plan: readonly Recovery[];
      step: number;
      tries: number;
      /** When a retry is due. */
      dueAt: Millis | null;
      /** The tool that stands in. */
      tool: string | null;
      /** The result that stands in, and the entry it comes from. */
      output: Json;
      from: Seq | null;
    }>
  | Readonly<{ kind: "budget.reserved"; call: CallId; amount: Reservation }>
  | Readonly<{ kind: "budget.settled"; call: CallId; amount: Reservation }>
  /** From now on the model sees the entries `first` to `last` in another form; they stay in the journal. */
  | Readonly<{
      kind: "context.compacted";
      how: CompactionKind;
      first: Seq;
      last: Seq;
      /** Number of messages, from the conversation's start, that are older than the part shown whole. */
      upTo: number;
      summary: string | null;
      model: string | null;
      before: number;
      after: number;
    }>
  /** Required output of the turn that has just started. */
  | Readonly<{ kind: "output.asked"; output: OutputSpec }>
  /** An answer was checked: by the schema it was asked for with (`own`), or by its JSON Schema where that is all there is (`journal`). */
  | Readonly<{ kind: "output.checked"; iteration: number; by: "own" | "journal"; result: CheckedOutput }>
  /** Calls that a reply seems to make in words are not in the one form there is: none of them counts. Right before the reply. */
  | Readonly<{ kind: "calls.misread"; iteration: number; detail: string }>
  | Readonly<{ kind: "middleware.applied"; middleware: string; stage: Stage; call: CallId | null; change: Change }>
  | Readonly<{ kind: "middleware.failed"; middleware: string; stage: Stage; call: CallId | null; error: string }>
  /** In the commit that opens the child's own stream. */
  | Readonly<{ kind: "child.opened"; call: CallId; child: SessionId; agent: string; allotment: Reservation }>
  | Readonly<{
      kind: "child.ended";
      call: CallId;
      child: SessionId;
      ending: Ending;
      output: string | null;
      detail: string | null;
      used: Reservation;
      /** Tokens of `used` that were reserved for model calls which were cut off: nobody knows how many of them were used. */
      lost: number;
      intent: IntentId;
    }>
  /** `recovering`: it failed, and `recovery.applied` says what is done about it; until then it is not settled. */
  | Readonly<{ kind: "act.ended"; call: CallId; outcome: Outcome; evidence: Evidence; endsTurn: boolean; recovering: boolean }>
  | Readonly<{ kind: "act.late"; call: CallId; outcome: Outcome; intent: IntentId }>
  | Readonly<{ kind: "labels.added"; labels: readonly Label[]; from: CallId | null }>
  /** A person's word: what the session has seen does not count as this any more. */
  | Readonly<{ kind: "labels.removed"; labels: readonly Label[]; by: Principal; why: string; intent: IntentId }>
  /** A call is done, and its tool says that these values are known from now on. In the commit of its ending. */
  | Readonly<{ kind: "known.learned"; call: CallId; set: string; values: readonly string[] }>
  /**
   * What a trusted tool's output says about things of one type, and which items of it made no record; or what ends because nobody knows what a
   * call did. In the commit of its ending.
   * `establishes`: the one record is whom the session serves from now on.
   */
  | Readonly<{
      kind: "known.recorded";
      call: CallId;
      type: string;
      set: RecordRule["set"];
      maxAgeSeconds: number | null;
      establishes: RecordRule["establishes"];
      records: readonly ThingRecord[];
      skipped: readonly SkippedRecord[];
    }>
  /** Names of things by their ids, as a tool's own output gives them. `trusted`: its output is nobody's text but the project's own. */
  | Readonly<{ kind: "names.told"; call: CallId; of: string; names: readonly NamedThing[]; trusted?: true }>
  /** Taken out of what the model is shown of this call, before it saw it; the outcome itself is journalled whole. */
  | Readonly<{ kind: "text.cleaned"; call: CallId; invisible: number; hidden: number; markup: Tool["markup"] }>
  /**
   * Memories recalled for the next request; they replace the earlier ones. Empty: none. `omitted`: found, and
   * there was no room for it. `error`: the recall failed, wholly or in part; the turn goes on without it.
   */
  | Readonly<{
      kind: "knowledge.recalled";
      iteration: number;
      items: readonly RecalledItem[];
      tokens: number;
      omitted: number;
      error: string | null;
    }>
  /** A turn's result is about to be remembered under this id, which is the same however often it is tried. `content` is the text's digest. */
  | Readonly<{ kind: "knowledge.keeping"; turn: number; item: KnowledgeId; scope: Scope; key: string; content: Digest }>
  | Readonly<{ kind: "knowledge.kept"; turn: number; item: KnowledgeId; error: string | null }>
  | Readonly<{ kind: "note"; from: string; call: CallId | null; name: string; value: Json }>
  | Readonly<{ kind: "input.steered"; text: string; files: readonly Attachment[]; by: Principal; intent: IntentId }>
  /** For when the turn has ended: it then starts the next one. */
  | Readonly<{ kind: "input.queued"; text: string; files: readonly Attachment[]; by: Principal; intent: IntentId }>
  /** The model no longer sees the conversation up to here, `before` tokens of it. It stays in the journal, and so do labels, grants and counts. */
  | Readonly<{ kind: "context.cleared"; before: number; by: Principal; intent: IntentId }>
  /** A person wants at most this many tokens of the conversation shown; the change follows, at once or before the next request. */
  | Readonly<{ kind: "context.compact-asked"; tokens: number; by: Principal; intent: IntentId }>
  /** The turns from the next one on begin with this one of the agent's models. */
  | Readonly<{ kind: "model.chosen"; model: string; by: Principal; intent: IntentId | null }>
  /** `all`: what was said to follow the turn is dropped too. */
  | Readonly<{ kind: "turn.cancel-asked"; by: Principal; reason: string; all: boolean; intent: IntentId | null }>
  /** Work was halted while this turn ran. */
  | Readonly<{ kind: "turn.halted"; scope: string; by: Principal; reason: string }>
  | Readonly<{
      kind: "unknown.resolved";
      call: CallId;
      as: Exclude<Resolution, "reconcile">;
      by: Principal;
      note: string;
      intent: IntentId;
    }>
  /** A person wants the tool asked for the call's outcome. */
  | Readonly<{ kind: "unknown.reconcile-asked"; call: CallId; by: Principal; intent: IntentId }>
  /** A person has settled a dead letter. */
  | Readonly<{ kind: "dead-letter.dismissed"; call: CallId; by: Principal; note: string; intent: IntentId }>
  | Readonly<{ kind: "intent.refused"; intent: IntentId; by: Principal; wish: string; reason: string }>
  | Readonly<{ kind: "session.closed"; by: Principal; reason: string }>
  | Readonly<{
      kind: "turn.ended";
      turn: number;
      ending: Ending;
      output: string | null;
      detail: string | null;
      usage: Usage;
      /** Reserved for calls whose reply was lost; counted as used. */
      lost: Usage;
      /** Lost replies, tools and delegates included; null where no price is known. */
      micros: number | null;
      iterations: number;
      calls: number;
      activeMs: number;
    }>;

/** `window`: the oldest units are shown no more, `mask`: their results are one line each, `summarise`: a summary stands for them. */
export type CompactionKind = "window" | "mask" | "summarise";

export type Purpose = "reply" | "summary";

/** A message from before this session, imported or forked; validated when it opens. Every call is answered once, in order, before anything else is said. */
export type HistoryMessage =
  | Readonly<{ role: "user"; text: string; files?: readonly Attachment[] }>
  | Readonly<{ role: "assistant"; text: string; calls?: readonly HistoryCall[] }>
  | Readonly<{ role: "tool"; id: string; text: string; isError: boolean }>
  /** The runtime's own word, brought along by a fork; nobody imports one. */
  | Readonly<{ role: "note"; text: string }>;
/** `text` is the arguments as JSON text. */
export type HistoryCall = Readonly<{ id: string; tool: string; text: string }>;

/** Answer of a `reconcile` tool about a call. */
export const reconciledEvent = (
  call: CallId,
  found: Reconciled["kind"],
  detail: string,
): Extract<SessionEvent, { kind: "recovery.applied" }> => ({
  kind: "recovery.applied",
  call,
  strategy: "reconcile",
  found,
  detail,
  plan: [],
  step: 0,
  tries: 1,
  dueAt: null,
  tool: null,
  output: null,
  from: null,
});
