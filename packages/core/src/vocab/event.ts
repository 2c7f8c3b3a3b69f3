/**
 * The journal's closed list of things that happened, format version 1. Adding a kind breaks every switch that must handle it.
 * A published kind never changes its meaning: a new version gets an upcaster (`journal/codec.ts`), and stored bytes stay as they are.
 */
import type { Json, JsonObject } from "./canonical.ts";
import type { Ending } from "./ending.ts";
import type {
  ActionId,
  ApprovalId,
  CallId,
  CallKey,
  Digest,
  Epoch,
  GrantId,
  IntentId,
  KeyId,
  Label,
  Millis,
  PolicyId,
  Seq,
  SessionId,
  StreamId,
  WriterId,
} from "./ids.ts";
import type { Answer, GrantScope, Resolution } from "./intent.ts";
import type { Limits } from "./limits.ts";
import type { Evidence, Outcome } from "./outcome.ts";
import type { Principal, Surface } from "./principal.ts";
import type { Finish, Part, Usage } from "./proposal.ts";
import type { Reconciled, Repeat, Resource } from "./tool.ts";
import type { Action, Ask, Verdict } from "./verdict.ts";

/** What a session runs on. Resume compares it: an edited agent strands nothing, and the change is on record. */
export type AgentFacts = Readonly<{
  name: string;
  digest: Digest;
  instructions: string;
  model: string;
  policies: Digest;
  tools: Digest;
  /** What instructions and tool descriptions add to every request. */
  overheadTokens: number;
}>;

export type SessionEvent =
  | Readonly<{
      kind: "session.opened";
      agent: AgentFacts;
      principal: Principal;
      surface: Surface;
      labels: readonly Label[];
      history: readonly Said[];
    }>
  | Readonly<{ kind: "agent.changed"; agent: AgentFacts }>
  | Readonly<{ kind: "hold.taken"; epoch: Epoch; writer: WriterId }>
  | Readonly<{ kind: "turn.started"; turn: number; input: string; by: Principal; limits: Limits; intent: IntentId | null }>
  | Readonly<{ kind: "model.asked"; iteration: number; attempt: number; model: string; request: Digest; reserved: Usage }>
  | Readonly<{
      kind: "model.replied";
      iteration: number;
      attempt: number;
      parts: readonly Part[];
      finish: Finish;
      usage: Usage;
      model: string;
      meta: Json;
    }>
  | Readonly<{ kind: "model.failed"; iteration: number; attempt: number; error: string; broke: boolean; again: boolean }>
  | Readonly<{
      kind: "gate.decided";
      id: ActionId;
      action: Action;
      digest: Digest;
      slice: Digest;
      verdict: Verdict;
      read: JsonObject;
      shadow: Verdict | null;
    }>
  /** `again`: why an answer that was given before does not count any more. */
  | Readonly<{
      kind: "approval.asked";
      approval: ApprovalId;
      action: ActionId;
      digest: Digest;
      asks: readonly Ask[];
      expiresAt: Millis | null;
      again: string | null;
    }>
  /** `counts` are the policies whose question this person may answer; `digest` is what the answer is good for. */
  | Readonly<{
      kind: "approval.answered";
      approval: ApprovalId;
      by: Principal;
      answer: Answer;
      counts: readonly PolicyId[];
      digest: Digest;
      /** What it will touch, once edited; null when that has not changed. */
      about: Resource | null;
      intent: IntentId;
    }>
  | Readonly<{ kind: "approval.expired"; approval: ApprovalId; result: "deny" | "halt" }>
  | Readonly<{ kind: "approval.consumed"; approval: ApprovalId; action: ActionId }>
  | Readonly<{ kind: "grant.used"; grant: GrantId; action: ActionId }>
  | Readonly<{ kind: "act.started"; call: CallId; key: CallKey; digest: Digest; epoch: Epoch; start: number; repeat: Repeat }>
  /** A `reconcile` tool was asked what became of a call whose hold was lost. */
  | Readonly<{ kind: "recovery.applied"; call: CallId; found: Reconciled["kind"]; detail: string }>
  | Readonly<{ kind: "act.ended"; call: CallId; outcome: Outcome; evidence: Evidence; endsTurn: boolean }>
  | Readonly<{ kind: "act.late"; call: CallId; outcome: Outcome; intent: IntentId }>
  | Readonly<{ kind: "labels.added"; labels: readonly Label[]; from: CallId | null }>
  | Readonly<{ kind: "note"; from: string; call: CallId | null; name: string; value: Json }>
  | Readonly<{ kind: "input.steered"; text: string; by: Principal; intent: IntentId }>
  | Readonly<{ kind: "turn.cancel-asked"; by: Principal; reason: string; intent: IntentId | null }>
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
  /** A person wants the tool asked what became of the call. */
  | Readonly<{ kind: "unknown.reconcile-asked"; call: CallId; by: Principal; intent: IntentId }>
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
      iterations: number;
      calls: number;
      activeMs: number;
    }>;

/** Of the streams that belong to no session. */
export type SystemEvent =
  | Readonly<{ kind: "key.certified"; key: KeyId; of: KeyHolder; publicKey: string; by: KeyId; signature: string }>
  | Readonly<{ kind: "key.rotated"; from: KeyId; to: KeyId; publicKey: string; byOld: string; byNew: string }>
  | Readonly<{ kind: "key.withdrawn"; key: KeyId; by: Principal; reason: string }>
  | Readonly<{ kind: "content.erased"; stream: StreamId; first: Seq; last: Seq; by: Principal; reason: string }>
  /** The set in force is another than the one that was recorded last. `digest` is what sessions name. */
  | Readonly<{ kind: "policy.loaded"; digest: Digest; files: readonly FileDigest[]; by: Principal }>
  /** The files of `policies/` were replaced, all at once. */
  | Readonly<{ kind: "policy.applied"; files: Digest; before: Digest; changes: readonly FileChange[]; by: Principal }>
  /** A set that was not taken; the one before it went on. `files` is null when they could not be read. */
  | Readonly<{ kind: "policy.refused"; during: "reload" | "apply"; files: Digest | null; problems: readonly string[]; by: Principal }>
  /** What a project brings along (`AGENTS.md`, a skill, an MCP server) may be used, as long as it has this digest. */
  | Readonly<{ kind: "trust.given"; subject: string; digest: Digest; by: Principal }>
  | Readonly<{ kind: "trust.withdrawn"; subject: string; by: Principal; reason: string }>
  | Readonly<{ kind: "grant.given"; grant: GrantId; by: Principal } & GrantFacts>
  | Readonly<{ kind: "grant.revoked"; grant: GrantId; by: Principal; reason: string }>
  /** `scope` is `all`, `agent:NAME` or `tool:NAME`. */
  | Readonly<{ kind: "work.halted"; scope: string; by: Principal; reason: string }>
  | Readonly<{ kind: "work.resumed"; scope: string; by: Principal; reason: string }>;

/** What a grant is good for: these policies' questions, about this, for this agent on this person's behalf, as the policies stood. */
export type GrantFacts = Readonly<{
  agent: string;
  onBehalfOf: Principal;
  tool: string;
  /** As it was defined when the answer was given: another definition is another tool. */
  toolDigest: Digest | null;
  scope: GrantScope;
  resource: Resource;
  digest: Digest;
  slice: Digest;
  policies: readonly PolicyId[];
  /** Null for both: wherever this agent works for this person. */
  session: SessionId | null;
  turn: number | null;
  until: Millis | null;
}>;

/** A path below `policies/`, and its text's digest. */
export type FileDigest = Readonly<{ path: string; digest: Digest }>;
export type FileChange = Readonly<{ path: string; change: "added" | "changed" | "removed" }>;

export type KeyHolder = Readonly<{ kind: "root" } | { kind: "writer"; writer: WriterId } | { kind: "person"; name: string }>;

export type JournalEvent = SessionEvent | SystemEvent;
export type EventKind = JournalEvent["kind"];
export type Decided = Extract<JournalEvent, { kind: "gate.decided" }>;

/** Imported history: what was said before this session, validated when it opens. */
export type Said = Readonly<{ role: "user" | "assistant"; text: string }>;

/** An event with the time its writer gave it. */
export type Stamped = Readonly<{ at: Millis; event: JournalEvent }>;

/** An event in its place. */
export type Entry = Readonly<{ stream: StreamId; seq: Seq; at: Millis; event: JournalEvent }>;

export const isSessionStream = (stream: StreamId): stream is SessionId => stream.startsWith("s_");
