/** Events of the streams that belong to no session: keys, policies, access, knowledge, grants, halts, schedules. The rules for changing them are in `event.ts`. */
import type { Ending } from "../ending.ts";
import type {
  AccessId,
  Digest,
  GrantId,
  IntentId,
  KeyId,
  KnowledgeId,
  Label,
  Millis,
  PolicyId,
  Seq,
  SessionId,
  StreamId,
  WriterId,
} from "../ids.ts";
import type { GrantScope } from "../intent.ts";
import type { AddedDocument, KnowledgeKind, Scope } from "../knowledge.ts";
import type { Principal } from "../principal.ts";
import type { FiredWhy, ScheduleSpec, SkippedWhy } from "../rules/schedule.ts";
import type { Targets } from "../targets.ts";
import type { Resource } from "../tool.ts";

/** Of the streams that belong to no session. */
export type SystemEvent =
  | Readonly<{ kind: "key.certified"; key: KeyId; of: KeyHolder; publicKey: string; by: KeyId; signature: string }>
  | Readonly<{ kind: "key.rotated"; from: KeyId; to: KeyId; publicKey: string; byOld: string; byNew: string }>
  | Readonly<{ kind: "key.withdrawn"; key: KeyId; by: Principal; reason: string }>
  | Readonly<{ kind: "content.erased"; stream: StreamId; first: Seq; last: Seq; by: Principal; reason: string }>
  /** The set in force is another than the one that was recorded last. `digest` is what sessions name. */
  | Readonly<{ kind: "policy.loaded"; digest: Digest; files: readonly FileDigest[]; texts: boolean; by: Principal }>
  /** The files of `policies/` were replaced, all at once. `files` and `before` are the digests of the two lists of files. */
  | Readonly<{
      kind: "policy.applied";
      files: Digest;
      before: Digest;
      changes: readonly FileChange[];
      reason: string;
      texts: boolean;
      by: Principal;
    }>
  /** One text that sets are made of, the only entry of its stream `file:DIGEST`. Stored before the first entry that names it. */
  | Readonly<{ kind: "policy.stored"; digest: Digest; text: string }>
  /** A set that was not taken; the one before it went on. `files` is null when they could not be read. */
  | Readonly<{ kind: "policy.refused"; during: "reload" | "apply"; files: Digest | null; problems: readonly string[]; by: Principal }>
  /** Trust in a resource of the project (`AGENTS.md`, a skill, an MCP server), as long as it has this digest. */
  | Readonly<{ kind: "trust.given"; subject: string; digest: Digest; by: Principal }>
  | Readonly<{ kind: "trust.withdrawn"; subject: string; by: Principal; reason: string }>
  /** A key or a sign-in that stands for a person; of its secret only `check` is kept, a memory-hard hash. `from` is what it was got with. */
  | Readonly<{
      kind: "access.given";
      access: AccessId;
      means: AccessMeans;
      person: string;
      check: string;
      /** Limited to these agents and actions; null: whatever the policies let the person do. */
      agents: readonly string[] | null;
      actions: readonly string[] | null;
      until: Millis | null;
      note: string;
      from: AccessId | null;
      by: Principal;
    }>
  | Readonly<{ kind: "access.revoked"; access: AccessId; by: Principal; reason: string }>
  /** Trusted sets of the project: what a person adds to them and takes out. */
  | Readonly<{ kind: "known.added"; set: string; value: string; by: Principal; why: string }>
  | Readonly<{ kind: "known.removed"; set: string; value: string; by: Principal; why: string }>
  /** Documents that a person has put into the store of knowledge; `documents` of an import is the file. */
  | Readonly<{
      kind: "knowledge.added";
      how: "add" | "import";
      scope: Scope | null;
      agent: string | null;
      labels: readonly Label[];
      documents: readonly AddedDocument[];
      by: Principal;
    }>
  /** A tombstone: what it said is gone from the store, and does not come back under this id. `erased`: what the journal had of it goes too. */
  | Readonly<{
      kind: "knowledge.forgotten";
      items: readonly Readonly<{ id: KnowledgeId; kind: KnowledgeKind }>[];
      erased: boolean;
      by: Principal;
      reason: string;
    }>
  | Readonly<{ kind: "grant.given"; grant: GrantId; by: Principal } & GrantFacts>
  | Readonly<{ kind: "grant.revoked"; grant: GrantId; by: Principal; reason: string }>
  /** On a stream of its own, `breaker:NAME`; `until` is when an open one lets the first probe through. */
  | Readonly<{
      kind: "breaker.changed";
      breaker: string;
      to: "closed" | "open" | "half-open";
      failures: number;
      until: Millis | null;
      by: Principal;
      reason: string;
    }>
  /** `scope` is `all`, `agent:NAME` or `tool:NAME`. */
  | Readonly<{ kind: "work.halted"; scope: string; by: Principal; reason: string }>
  | Readonly<{ kind: "work.resumed"; scope: string; by: Principal; reason: string }>
  /** On a stream of its own, `schedule:NAME`, like all that follows. `from` is the file it stands in; null: a person added it. `carried`: how it stood. */
  | Readonly<{
      kind: "schedule.declared";
      schedule: string;
      spec: ScheduleSpec;
      from: string | null;
      by: Principal;
      /** New, or at other times than before: due times after this count. An entry's own time never goes back; clocks do. */
      after: Millis;
      carried: ScheduleStanding | null;
    }>
  | Readonly<{ kind: "schedule.removed"; schedule: string; by: Principal; reason: string }>
  | Readonly<{ kind: "schedule.paused"; schedule: string; by: Principal; reason: string }>
  | Readonly<{ kind: "schedule.resumed"; schedule: string; by: Principal; reason: string; after: Millis }>
  /** In the commit that opens the session and starts its turn, or that puts the word into the inbox of the one there is: once, or not at all. */
  | Readonly<{ kind: "schedule.fired"; schedule: string } & Firing & { why: FiredWhy; by: Principal }>
  /** It is due while the one before it is not over, and waits for it. */
  | Readonly<{ kind: "schedule.queued"; schedule: string; dueAt: Millis }>
  /** Due times that were let go by, from the first to the last; `count` stops at a thousand. */
  | Readonly<{ kind: "schedule.skipped"; schedule: string; first: Millis; last: Millis; count: number; why: SkippedWhy; detail: string }>
  /** The turn that a firing began is over; `ending` null: its session cannot be read. `result`: it is done, tried again at `retryAt`, or a failed firing. */
  | Readonly<{
      kind: "schedule.ended";
      schedule: string;
      dueAt: Millis;
      attempt: number;
      session: SessionId;
      ending: Ending | null;
      result: "done" | "retry" | "set-aside";
      retryAt: Millis | null;
    }>
  /** It has failed too often in a row: nothing of it is fired until a person resumes it. */
  | Readonly<{ kind: "schedule.stopped"; schedule: string; failures: number; session: SessionId | null; reason: string }>;

/** `attempt` counts from 1. `intent`: what was put into the inbox of a session that all firings share. */
export type Firing = Readonly<{ dueAt: Millis; attempt: number; session: SessionId; intent: IntentId | null }>;

/** State of a schedule, folded from its events. */
export type ScheduleStanding = Readonly<{
  state: "active" | "paused" | "stopped" | "done" | "removed";
  /** The last due time that was fired, queued or skipped: only later ones are still to come. */
  through: Millis;
  /** Due, and waiting for the one before. */
  queue: readonly Millis[];
  /** Fired, and not over. */
  open: readonly Firing[];
  /** Failed, and to be tried again. */
  retry: readonly Readonly<{ dueAt: Millis; attempt: number; at: Millis }>[];
  /** Failed firings, newest first, at most as many as are worth showing. */
  setAside: readonly Readonly<{ dueAt: Millis; session: SessionId }>[];
  /** Failed firings in a row. */
  failures: number;
  /** The session that all firings share, where they do. */
  shared: SessionId | null;
  fired: number;
  last: Readonly<{ at: Millis; dueAt: Millis; session: SessionId; ending: Ending | null }> | null;
  declaredAt: Millis;
}>;

/** Scope of a grant: these policies' approval requests, about this, for this agent on this person's behalf, as the policies stood. */
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
  /** Targets as the approver saw them (`coverage.ts`). Absent in older grants: they cover the very same call only. */
  targets?: Targets | null;
  labels?: readonly Label[];
  survives?: readonly Label[];
  /** Whom the session served when it was asked; null: nobody. Absent in older grants: they cover what is done for nobody. */
  subject?: string | null;
}>;

/** A path below `policies/`, or `FILE#AGENT` for the rules of an agent's own file; and its text's digest. `texts: true` of an entry: all its texts are stored. */
export type FileDigest = Readonly<{ path: string; digest: Digest }>;
export type FileChange = Readonly<{ path: string; change: "added" | "changed" | "removed" }>;

export type KeyHolder = Readonly<{ kind: "root" } | { kind: "writer"; writer: WriterId } | { kind: "person"; name: string }>;

/** `key`: for programs. `link`: good once, to sign in with. `sign-in`: a browser's. */
export type AccessMeans = "key" | "link" | "sign-in";
