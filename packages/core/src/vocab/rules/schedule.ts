/** What starts turns without a person at the keyboard: schedules and webhooks, and where a session of theirs comes from. */
import type { Digest, Millis } from "../ids.ts";

/** A schedule as it is in force: whose it is, and when, are settled. It stands in `orgate.toml`, beside an agent, in a `.symbi` file, or a person added it. */
export type ScheduleSpec = Readonly<{
  agent: string;
  /** What is said to the agent: the owner's own words. */
  input: string;
  when: ScheduleTime;
  /** On whose behalf: a person. */
  owner: string;
  /** Done after its first firing; one with `at` always is. */
  oneShot: boolean;
  /** Each firing is so much later at the most; by its name and due time, so that it is the same everywhere. */
  jitterMs: number;
  /** What happens when one is due while the one before it is not over. */
  overlap: Overlap;
  /** With `parallel`: so many at once. */
  atOnce: number;
  /** What happens to due times at which nobody served the project. */
  missed: Missed;
  /** With `all`: so many of the latest. */
  mostMissed: number;
  /** Later than this is missed. */
  graceMs: number;
  /** A session for each firing, or one for all of them. */
  session: "fresh" | "shared";
  /** How often a firing whose turn failed is tried again before it is set aside. */
  retries: number;
  /** Set aside so often in a row, it stops until a person resumes it; 0: never. */
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

/** What the names of the intents begin with by which it fires in a session that all its firings share. */
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
