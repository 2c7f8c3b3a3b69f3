/** What anybody other than the holder wants of a session: a row in the inbox, which the holder turns into an event. */
import { canonical, type Json } from "./canonical.ts";
import type { ApprovalId, CallId, Digest, IntentId, KeyId, Millis, SessionId } from "./ids.ts";
import type { Outcome } from "./outcome.ts";
import type { Principal } from "./principal.ts";

export type Wish =
  /** Start a turn, when the session has none. */
  | Readonly<{ kind: "say"; text: string }>
  | Readonly<{ kind: "steer"; text: string }>
  | Readonly<{ kind: "cancel"; reason: string }>
  /** Bound to the question's id and to the digest of the action that was on screen. */
  | Readonly<{ kind: "answer"; approval: ApprovalId; digest: Digest; answer: Answer }>
  /** The runtime's own: an outcome that arrived after its call was given up as unknown. */
  | Readonly<{ kind: "late"; call: CallId; outcome: Outcome }>;

export type Answer = Readonly<{ kind: "approve" } | { kind: "deny"; reason: string }>;

/** `id` makes it idempotent: the same id twice is one wish. `signature` is over `intentText`, by the key `key` of `by`. */
export type Intent = Readonly<{
  id: IntentId;
  session: SessionId;
  at: Millis;
  by: Principal;
  key: KeyId | null;
  wish: Wish;
  signature: string | null;
}>;

/** What a person signs. */
export function intentText(intent: Omit<Intent, "signature">): string {
  const { id, session, at, by, key, wish } = intent;
  return `orgate-intent-1\n${canonical({ id, session, at, by, key, wish } as unknown as Json)}`;
}
