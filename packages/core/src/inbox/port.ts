/**
 * The inbox: everybody else's wishes for a session. The holder drains it into events, between moves and while calls run.
 * I-2 an intent leaves the inbox in the transaction that appends the event it became, so a crash neither loses nor doubles it.
 * Rule: I-1.
 */
import type { Intent, IntentId, Millis, SessionId } from "../vocab/index.ts";

/** When it was put: what decides whether an answer came in time. */
export type Arrived = Readonly<{ intent: Intent; arrivedAt: Millis }>;

export type Inbox = Readonly<{
  /** Durable before it resolves. */
  put(intent: Intent): Promise<"new" | "known">;
  /** In order of arrival. */
  pending(session: SessionId): Promise<readonly Arrived[]>;
  state(id: IntentId): Promise<"absent" | "pending" | "taken">;
  /** Calls back when something may have arrived for the session (at most 100 ms late); returns the way to stop. Only drivers watch. */
  watch(session: SessionId, arrived: () => void): () => void;
}>;
