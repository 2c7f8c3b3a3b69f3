/** What the gate says of one action. Reasons always; nothing but `allow` yields a permit. */
import type { JsonObject } from "./canonical.ts";
import type { ApprovalId, CallId, Digest, Label, PolicyId } from "./ids.ts";
import type { Principal, Surface } from "./principal.ts";
import type { Effect, Resource } from "./tool.ts";

/** What is decided on. `args` is the validated form, what will run; null only for a call refused by its contract. */
export type Action =
  | Readonly<{
      kind: "call";
      call: CallId;
      tool: string;
      toolDigest: Digest | null;
      effects: readonly Effect[];
      args: JsonObject | null;
      resource: Resource;
    }>
  | Readonly<{ kind: "model"; model: string }>
  | Readonly<{ kind: "respond"; to: Principal }>;

/** What the gate is told beside the action: identities, labels, counters. No prose (rule 7). */
export type Facts = Readonly<{
  agent: string;
  onBehalfOf: Principal;
  surface: Surface;
  labels: readonly Label[];
  /** Calls of this tool decided `allow` so far, this one not counted; zero for other actions. */
  calls: Readonly<{ turn: number; session: number }>;
}>;

export type PolicyFault = Readonly<{ policy: PolicyId | null; message: string }>;

/** One question for a person; `policy` is who wants it asked. */
export type Ask = Readonly<{ policy: PolicyId; question: string }>;

export type Verdict =
  /** `approval` names the answered question that turned an `ask` into this. */
  | Readonly<{ kind: "allow"; because: readonly PolicyId[]; approval: ApprovalId | null }>
  | Readonly<{ kind: "deny"; by: DeniedBy; because: readonly PolicyId[]; faults: readonly PolicyFault[]; reason: string }>
  | Readonly<{ kind: "ask"; because: readonly PolicyId[]; asks: readonly [Ask, ...Ask[]] }>;

/** `contract`: unknown tool, arguments that are not JSON or do not fit the schema. */
export type DeniedBy = "contract" | "policy" | "person";

/** A verdict with what it stands on: the digest of the policies that could decide it, and what they read. */
export type Decision = Readonly<{ verdict: Verdict; slice: Digest; read: JsonObject }>;

/** Rule 4: asked by the runtime itself, whatever the policies permit. */
export const UNKNOWN_OPEN: PolicyId = "orgate:unknown-open" as PolicyId;
