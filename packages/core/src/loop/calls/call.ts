/** One call of a reply: where it stands with the gate and with people, whether it runs, and how it is recovered. Part of the session's state. */

import type { Vote } from "../../gate/approvals.ts";
import type {
  ActionId,
  ActionText,
  Answer,
  ApprovalId,
  Ask,
  Digest,
  Epoch,
  GateDecided,
  JsonObject,
  Label,
  Millis,
  Outcome,
  ProposedCall,
  RecoveryPlan,
  Repeat,
  Resource,
  Seq,
  SessionId,
  Targets,
  Tool,
  Verdict,
} from "../../vocab/index.ts";

/** Where one action stands with the gate. */
export type Gated =
  | { readonly kind: "undecided" /** An answered question to decide again with. */; readonly answered: Answered | null }
  | { readonly kind: "allowed"; readonly decided: GateDecided }
  | { readonly kind: "denied"; readonly verdict: Extract<Verdict, { kind: "deny" }> }
  /** A person must be asked; the question comes next. `again`: why an earlier answer does not count. */
  | { readonly kind: "to-ask"; readonly decided: GateDecided; readonly asks: readonly Ask[]; readonly again: string | null }
  /** Decided again when something changed since (`seen`), or at `due`, which then denies it. */
  | { readonly kind: "deferred"; readonly decided: GateDecided; readonly due: Millis; readonly seen: number }
  | { readonly kind: "asked"; readonly approval: ApprovalId };

/** Put to people; `votes` are those who said yes so far, `answer` is set once it is settled. */
export type ApprovalQuestion = Readonly<{
  expiresAt: Millis | null;
  onExpiry: "deny" | "halt";
  votes: readonly Vote[];
  approval: ApprovalId;
  action: ActionText;
  digest: Digest;
  slice: Digest;
  asks: readonly Ask[];
  /** The resource that it touches: a grant may be given for it. */
  about: Resource;
  /** Shown with the request: the call's targets, and the session's labels at that moment. */
  targets: Targets | null;
  labels: readonly Label[];
  /** Whom the session served at that moment; null: nobody. */
  subject: string | null;
  toolDigest: Digest | null;
  answer: Answer | null;
  /** Of the answer that settled it. */
  answeredAt: Millis | null;
}>;

/** An answer counts for this digest under these policies, while the session serves whom it served. */
export type Answered = Pick<ApprovalQuestion, "approval" | "digest" | "slice" | "asks" | "answeredAt" | "subject">;

export type Call = {
  readonly proposed: ProposedCall;
  /** The entry of its proposal, its refusal or its outcome: of the last of these. */
  entry: Seq;
  gated: Gated;
  run: RunningCall;
  /** Arguments that stand in place of the proposed ones, and whether a policy put them there. */
  edited: JsonObject | null;
  modified: boolean;
  /** Why middleware does not let it be. */
  blocked: string | null;
  /** The text that middleware shows the model in place of its result. */
  shown: string | null;
  /** How its text is sanitised before the model sees it; null: not at all. */
  cleaned: Tool["markup"] | null;
  /** The answer that was used up to start it: still good for this very call, should its process be lost. */
  usedAnswer: Answered | null;
  /** It was counted among the calls that do the same. */
  noticed: boolean;
  /** How often it has started, or its tool was asked whether it happened; above 0 it may have had an effect. */
  starts: number;
  /** As declared when it first started. */
  repeat: Repeat | null;
  /** The session that does it, of a delegation that has started. `since` is how long the turn had been active then. */
  child: { readonly session: SessionId; readonly agent: string; readonly since: number } | null;
  /** The tool that runs in place of the one that was asked for. */
  standIn: string | null;
  /** Goes up when it is to run as something else, by another tool or with other arguments: its key then is another. */
  edition: number;
  /** Starts that a failure led to: no lost process is to blame for them. */
  retries: number;
  /** Its recovery; null until it fails. */
  mending: Mending | null;
};

export type Mending = Readonly<{
  /**
   * `choose`: a strategy is to be picked, the last one once more perhaps. `next`: the last one is of no more use. `again`: it runs once more.
   * `ask-tool`: its tool is asked first whether it happened. `person`: one of them decides.
   */
  stage: "choose" | "next" | "again" | "ask-tool" | "person";
  /** The strategy that was applied and those after it; null before the first. */
  plan: RecoveryPlan | null;
  step: number;
  tries: number;
  /** When it may run again. */
  dueAt: Millis | null;
  error: string;
  /** The text that middleware shows the model in place of the error. */
  shown: string | null;
  /** The digest of the call that failed first. */
  digest: Digest;
  /** The call as it failed: what it is again when a stand-in is not let run. */
  as: Readonly<Pick<Call, "standIn" | "edition" | "starts" | "retries" | "repeat" | "usedAnswer" | "edited" | "modified">>;
}>;

export type RunningCall =
  | { readonly kind: "not-started" }
  | { readonly kind: "running"; readonly decided: GateDecided; readonly epoch: Epoch }
  /** Its hold was lost while it ran: run again, ask the tool, or give up, by `repeat`. */
  | { readonly kind: "lost"; readonly decided: GateDecided }
  /** Its tool failed, and something is done about it. */
  | { readonly kind: "failed"; readonly decided: GateDecided }
  /** The model sees `note` beside the outcome. */
  | { readonly kind: "ended"; readonly outcome: Outcome; readonly endsTurn: boolean; readonly note: string | null };

export const UNDECIDED: Gated = Object.freeze({ kind: "undecided", answered: null });

export const toActionId = (c: Call): ActionId => ({ kind: "call", call: c.proposed.id });
/** The tool that runs: the one that was asked for, or its fallback. */
export const runningTool = (c: Call): string => c.standIn ?? c.proposed.tool;
export const asProposedToRun = (c: Call): ProposedCall => (c.standIn === null ? c.proposed : { ...c.proposed, tool: c.standIn });

/** Settled: it has its one observation. */
export const isSettled = (c: Call): boolean => c.run.kind === "ended" || (c.gated.kind === "denied" && c.run.kind === "not-started");
/** A delegate is at work on it, here, elsewhere, or waiting for a person: its session says. */
export const isDelegated = (c: Call): c is Call & { readonly child: NonNullable<Call["child"]> } =>
  c.child !== null && c.run.kind === "running";

const STRICTNESS: Readonly<Record<Repeat, number>> = { read: 0, idempotent: 1, reconcile: 2, once: 3 };
/** A tool edited to be repeatable does not make a call repeatable that had started before. */
export const stricter = (a: Repeat, b: Repeat): Repeat => (STRICTNESS[a] >= STRICTNESS[b] ? a : b);
