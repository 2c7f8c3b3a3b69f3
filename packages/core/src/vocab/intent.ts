/** What anybody other than the holder wants of a session: a row in the inbox, which the holder turns into an event. */
import type { Attachment } from "./attachment.ts";
import type { Ending } from "./ending.ts";
import type { ApprovalId, CallId, Digest, IntentId, KeyId, Label, Millis, SessionId } from "./ids.ts";
import type { Outcome } from "./outcome.ts";
import type { Principal } from "./principal.ts";
import type { Reservation } from "./rules/budget.ts";
import { type Json, type JsonObject, toCanonicalJson } from "./text/canonical.ts";

export type IntentBody =
  /** Start a turn, when the session has none. */
  | Readonly<{ kind: "say" } & IntentMessage>
  | Readonly<{ kind: "steer" } & IntentMessage>
  /** For when the turn has ended: it then starts the next one, each in its turn. */
  | Readonly<{ kind: "follow-up" } & IntentMessage>
  | Readonly<{ kind: "cancel"; reason: string }>
  /** The turn, and what was said to follow it. */
  | Readonly<{ kind: "cancel-all"; reason: string }>
  /** Bound to the question's id and to the digest of the action that was on screen. */
  | Readonly<{ kind: "answer"; approval: ApprovalId; digest: Digest; answer: Answer }>
  /** What became of a call that nobody could tell of. */
  | Readonly<{ kind: "resolve"; call: CallId; as: Resolution; note: string }>
  /** A call that was set aside has been seen to. */
  | Readonly<{ kind: "dismiss"; call: CallId; note: string }>
  /** What the session has seen does not count as this any more. */
  | Readonly<{ kind: "unlabel"; labels: readonly Label[]; why: string }>
  /** The conversation begins anew, in the same session: what was said is shown to the model no more. */
  | Readonly<{ kind: "clear" }>
  /** What is shown of it is brought down to so many tokens; null: to half of what may be. */
  | Readonly<{ kind: "compact"; tokens: number | null }>
  /** One of those that its agent names: the turns from the next one on begin with it. */
  | Readonly<{ kind: "choose-model"; model: string }>
  /** A row of the inbox that nobody can read: it is refused like any other, and blocks nothing. */
  | Readonly<{ kind: "unreadable"; detail: string }>
  /** The runtime's own: a delegate's turn has ended. Written in the transaction that ends it. */
  | Readonly<{
      kind: "child-ended";
      call: CallId;
      child: SessionId;
      ending: Ending;
      output: string | null;
      detail: string | null;
      labels: readonly Label[];
      used: Reservation;
      /** Tokens of `used` that were reserved for model calls which were cut off; 0 where a process of before does not say. */
      lost?: number;
    }>
  /** The runtime's own: an outcome that arrived after its call was given up as unknown. */
  | Readonly<{ kind: "late"; call: CallId; outcome: Outcome }>;

/** What a person needs to be let do to a session for this; null: it is decided by something else than the session, or is the runtime's own. */
export function toSessionAct(kind: IntentBody["kind"]): "say" | "steer" | "cancel" | null {
  switch (kind) {
    case "say":
    case "follow-up":
      return "say";
    case "steer":
    case "clear":
    case "compact":
    case "choose-model":
      return "steer";
    case "cancel":
    case "cancel-all":
      return "cancel";
    case "answer":
    case "resolve":
    case "dismiss":
    case "unlabel":
    case "unreadable":
    case "child-ended":
    case "late":
      return null;
  }
}

/** Without files the field is left out: what a person signed before there were any still is what was signed. */
export type IntentMessage = Readonly<{ text: string; files?: readonly Attachment[] }>;

/** `reconcile` asks the tool; the others are a person's word. */
export type Resolution = "happened" | "did-not-happen" | "abandon" | "reconcile";

export type Answer = Readonly<
  | { kind: "approve" }
  | { kind: "deny"; reason: string }
  /** The requester no longer wants it. */
  | { kind: "withdraw"; reason: string }
  /** Approved with these arguments in place of the proposed ones. */
  | { kind: "edit"; args: JsonObject }
  /** Approved, and remembered: no wider than the policy that asks lets it be. */
  | { kind: "grant"; grant: GrantRequest }
>;

/** A no, whoever says it: it ends the approval request at once. */
export const isRefusal = (answer: Answer): answer is Extract<Answer, { kind: "deny" | "withdraw" }> =>
  answer.kind === "deny" || answer.kind === "withdraw";
/** What a person may wish of a turn whose agent is gone: it runs nothing. */
export const canEndWithoutAgent = (wish: IntentBody): boolean =>
  wish.kind === "cancel" || wish.kind === "cancel-all" || (wish.kind === "answer" && isRefusal(wish.answer));
/** What a person does by it, as the policies call it. */
export const toAnswerAct = ({ kind }: Answer): "approve" | "deny" | "withdraw" =>
  kind === "deny" || kind === "withdraw" ? kind : "approve";

/** This very action, this tool on this resource, or this tool; for the turn, the session, or until a time. */
export type GrantRequest = Readonly<{ scope: GrantScope; until: "turn" | "session" | Millis }>;
export type GrantScope = "digest" | "resource" | "tool";

/** `id` makes it idempotent: the same id twice is one wish. `signature` is over `intentText`, by the key `key` of `by`. */
export type Intent = Readonly<{
  id: IntentId;
  session: SessionId;
  at: Millis;
  by: Principal;
  key: KeyId | null;
  wish: IntentBody;
  signature: string | null;
}>;

/** What a person signs. */
export function intentText(intent: Omit<Intent, "signature">): string {
  const { id, session, at, by, key, wish } = intent;
  return `orgate-intent-1\n${toCanonicalJson({ id, session, at, by, key, wish } as unknown as Json)}`;
}
