/** Names of things. Branded strings and numbers, so that a call id cannot stand where a session id belongs. */
declare const brand: unique symbol;
type Branded<T, Name extends string> = T & { readonly [brand]: Name };

/** `s_…`; also the name of the session's stream. */
export type SessionId = Branded<string, "SessionId">;
/** A session's id, or the name of a system stream (`keys`, `policy`, …). */
export type StreamId = SessionId | Branded<string, "StreamId">;
/** Ours, unique in a session: `<iteration>.<position>`. The model's own id may repeat; it stands beside it. */
export type CallId = Branded<string, "CallId">;
/** An action id as journals and the API hold it: a call id, or `model:<iteration>` and the like. `action-id.ts` reads and prints it. */
export type ActionText = Branded<string, "ActionText">;
/** Given to the tool, the same at every start of one call: what makes a repeat recognisable. */
export type CallKey = Branded<string, "CallKey">;
export type ApprovalId = Branded<string, "ApprovalId">;
/** `g_…`: a remembered approval. */
export type GrantId = Branded<string, "GrantId">;
/** `x_…`: a key or a sign-in that stands for a person. */
export type AccessId = Branded<string, "AccessId">;
export type IntentId = Branded<string, "IntentId">;
export type WriterId = Branded<string, "WriterId">;
export type KeyId = Branded<string, "KeyId">;
export type PolicyId = Branded<string, "PolicyId">;
/** `k_…`: something that is known. */
export type KnowledgeId = Branded<string, "KnowledgeId">;
export type Label = Branded<string, "Label">;
/** 64 lower-case hexadecimal digits of SHA-256. */
export type Digest = Branded<string, "Digest">;
/** Position in a stream, from 1. */
export type Seq = Branded<number, "Seq">;
/** Counts the holds of a session, from 1. */
export type Epoch = Branded<number, "Epoch">;
/** Milliseconds since 1970, UTC. */
export type Millis = Branded<number, "Millis">;

export const sessionId = (text: string): SessionId => text as SessionId;
export const streamId = (text: string): StreamId => text as StreamId;
export const callId = (text: string): CallId => text as CallId;
export const actionText = (text: string): ActionText => text as ActionText;
/** `edition` counts the changes of a call: with other arguments, or by another tool, it has another key. */
export const callKey = (session: SessionId, call: CallId, edition = 0): CallKey =>
  `${session}/${call}${edition === 0 ? "" : `~${edition}`}` as CallKey;
export const approvalId = (text: string): ApprovalId => text as ApprovalId;
export const accessId = (text: string): AccessId => text as AccessId;
export const grantId = (text: string): GrantId => text as GrantId;
export const intentId = (text: string): IntentId => text as IntentId;
export const writerId = (text: string): WriterId => text as WriterId;
export const keyId = (text: string): KeyId => text as KeyId;
export const policyId = (text: string): PolicyId => text as PolicyId;
export const knowledgeId = (text: string): KnowledgeId => text as KnowledgeId;
export const label = (text: string): Label => text as Label;
export const digest = (text: string): Digest => text as Digest;
export const seq = (n: number): Seq => n as Seq;
export const epoch = (n: number): Epoch => n as Epoch;
export const millis = (n: number): Millis => n as Millis;

const SESSION = /^s_[0-9a-z]{8,40}$/;
/** The one check of a session id that came from outside. */
export const isSessionId = (text: string): text is SessionId => SESSION.test(text);

/** System streams: what belongs to no session. */
export const KEYS: StreamId = streamId("keys");
export const ERASURES: StreamId = streamId("erasures");
/** Trusted sets: what a person adds to them. What tools learn stands in the sessions that learnt it. */
export const TRUSTED_VALUES: StreamId = streamId("known");
export const GRANTS: StreamId = streamId("grants");
export const HALT: StreamId = streamId("halt");
export const POLICY: StreamId = streamId("policy");
/** Each text of a policy has a stream of its own, named by its digest: a text is stored once, and found without searching. */
export const textStream = (of: Digest): StreamId => streamId(`file:${of}`);
export const isTextStream = (stream: StreamId): boolean => stream.startsWith("file:");
export const TRUST: StreamId = streamId("trust");
/** Keys and sign-ins that stand for people. */
export const ACCESS: StreamId = streamId("access");

/** Stream of the documents that people add to the knowledge store, and of everything forgotten. */
export const KNOWLEDGE: StreamId = streamId("knowledge");

/** The digest before the first entry of every stream and the first commit of every writer. */
export const ZERO: Digest = digest("0".repeat(64));
