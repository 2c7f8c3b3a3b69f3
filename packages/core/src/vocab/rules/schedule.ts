/** Schedules and webhooks start turns without a person at the keyboard; and the origin of their sessions. */
import type { Digest, Millis } from "../ids.ts";

/** A schedule as it is in force: whose it is, and when, are settled. It stands in `orgate.toml`, beside an agent, in a `.symbi` file, or a person added it. */
export type ScheduleSpec = Readonly<{
  agent: string;
  /** Input for the agent, in the owner's own words. */
  input: string;
  when: ScheduleTime;
  /** On whose behalf: a person. */
  owner: string;
  /** Done after its first firing; one with `at` always is. */
  oneShot: boolean;
  /** Longest random delay of a firing; derived from its name and due time, so that it is the same everywhere. */
  jitterMs: number;
  /** Rule for a firing that is due before the one before it has ended. */
  overlap: Overlap;
  /** With `parallel`: most at once. */
  atOnce: number;
  /** Rule for due times at which no server ran. */
  missed: Missed;
  /** With `all`: most of the latest. */
  mostMissed: number;
  /** Later than this is missed. */
  graceMs: number;
  /** A session for each firing, or one for all of them. */
  session: "fresh" | "shared";
  /** How often a firing whose turn failed is tried again before it counts as failed. */
  retries: number;
  /** Number of failed firings in a row after which it stops until a person resumes it; 0: never. */
  failures: number;
  /** Off, it is known and nothing of it is fired. */
  enabled: boolean;
}>;
export type ScheduleTime = Readonly<{ kind: "cron"; cron: string; timezone: string } | { kind: "at"; at: Millis }>;

export type Overlap = "skip" | "queue" | "parallel";
export type Missed = "skip" | "once" | "all";

export const SCHEDULE_DEFAULTS = Object.freeze({
  input: "It is time.",
  oneShot: false,
  jitterMs: 0,
  overlap: "skip",
  atOnce: 10,
  missed: "once",
  mostMissed: 10,
  graceMs: 60_000,
  session: "fresh",
  retries: 3,
  failures: 5,
  enabled: true,
} as const satisfies Partial<ScheduleSpec>);

/** Also the name of its stream, `schedule:NAME`. */
export const SCHEDULE_NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** Prefix of the intent ids by which a schedule fires in a session that all its firings share. */
export const firingPrefix = (schedule: string): string => `schedule-${schedule}-`;

/** Why a firing happened: at its time, late, from the queue, again after a failure, or because a person asked. */
export type FiredWhy = "due" | "missed" | "queued" | "retry" | "asked";
export type SkippedWhy = "missed" | "overlap" | "queue-full" | "not-permitted" | "halted" | "agent-missing";

/** Who sends a webhook, which says how it is signed. `custom`: HMAC-SHA256 in a header of its own. */
export type WebhookProvider = "github" | "stripe" | "slack" | "custom";

/** Where a session that no person opened comes from. `key` makes a delivery one, whatever it is called. */
export type Origin =
  | Readonly<{ kind: "schedule"; schedule: string; dueAt: Millis; attempt: number }>
  | Readonly<{ kind: "webhook"; webhook: string; provider: WebhookProvider; delivery: string; key: Digest }>;
