/**
 * Schedules and webhooks that a file of agents declares, checked as far as the file alone allows. The caller checks the
 * rest: whether the agent exists, whether a cron expression or a time zone is valid, whether a secret is available.
 */
import type { Json } from "../text/canonical.ts";

/** In its file: 1 is the first. */
export type SourcePlace = Readonly<{ file: string; line: number; column: number }>;

export type ScheduleDeclaration = Readonly<{
  name: string;
  /** Of the agent whose session each firing is a turn of. */
  agent: string;
  /** Input of the agent at each firing. */
  input: string;
  when:
    | Readonly<{ kind: "cron"; expression: string }>
    /** As written: an instant of RFC 3339, or a local time of the zone. */
    | Readonly<{ kind: "at"; at: string }>;
  /** IANA; `UTC` unless said. */
  timezone: string;
  /** A cron expression that is done after its first firing; `at` always is. */
  oneShot: boolean;
  /** Each firing is put off by up to this; 0: none. */
  jitterMs: number;
  /** When the turn before is still going on: leave this one out, or let it follow. */
  overlap: "skip" | "queue";
  /** Due times while nothing ran: left out, made up for once, or each. */
  missed: "skip" | "once" | "all";
  /** All firings in one session, or each in its own. */
  session: "shared" | "fresh";
  /** How often a firing whose turn failed is tried again before it becomes a failed delivery. */
  retries: number;
  enabled: boolean;
  place: SourcePlace;
}>;

export const WEBHOOK_PROVIDERS = ["github", "stripe", "slack", "custom"] as const;
export type DeclaredProvider = (typeof WEBHOOK_PROVIDERS)[number];

export type WebhookDeclaration = Readonly<{
  name: string;
  agent: string;
  /** Begins with `/`. */
  path: string;
  provider: DeclaredProvider;
  /** Names of the secrets any of which may sign a delivery, as `vault://NAME` or `$NAME` gave them; never the secrets themselves. */
  secrets: readonly Readonly<{ kind: "secret" | "env"; name: string }>[];
  /** Deliveries that do not fit are answered and not processed; null: all are. */
  filter: WebhookFilter | null;
  /** Text before the delivery's body in the turn's input; null: nothing. */
  input: string | null;
  /** How old a signed delivery may be. */
  replayWindowMs: number;
  maxBytes: number;
  place: SourcePlace;
}>;

/** `path` is a JSON path of names and places: `$.action`, `$.commits[0].id`. */
export type WebhookFilter = Readonly<{
  path: string;
  test: Readonly<{ kind: "equals"; value: Json } | { kind: "contains"; text: string }>;
}>;
