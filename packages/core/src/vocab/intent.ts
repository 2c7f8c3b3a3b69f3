/** Intents: requests to a session from anybody but its holder. Each is a row in the inbox, which the holder turns into an event. */
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
  /** The real outcome of a call whose outcome was unknown. */
  | Readonly<{ kind: "resolve"; call: CallId; as: Resolution; note: string }>
  /** A dead letter has been settled. */
  | Readonly<{ kind: "dismiss"; call: CallId; note: string }>
  /** Removes labels from the session. */
  | Readonly<{ kind: "unlabel"; labels: readonly Label[]; why: string }>
  /** Clears the conversation, in the same session: the model no longer sees what was said. */
  | Readonly<{ kind: "clear" }>
  /** Compacts the conversation to at most this many tokens; null: to half of the limit. */
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

/** The session act that policies must permit for this intent; null: something else than the session decides it, or only the runtime sends it. */
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

/** A denial, by any person: it ends the approval request at once. */
export const isRefusal = (answer: Answer): answer is Extract<Answer, { kind: "deny" | "withdraw" }> =>
  answer.kind === "deny" || answer.kind === "withdraw";
/** Intents that can end a turn whose agent no longer exists: they run nothing. */
export const canEndWithoutAgent = (wish: IntentBody): boolean =>
  wish.kind === "cancel" || wish.kind === "cancel-all" || (wish.kind === "answer" && isRefusal(wish.answer));
/** The act of this answer, in the policies' vocabulary. */
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

/** The text that a person signs. */
export function intentText(intent: Omit<Intent, "signature">): string {
  const { id, session, at, by, key, wish } = intent;
  return `orgate-intent-1\n${toCanonicalJson({ id, session, at, by, key, wish } as unknown as Json)}`;
}
