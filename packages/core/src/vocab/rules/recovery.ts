/** Recovery after a tool's failure, and circuit breakers. Data, so that it can be journalled; a function of the user's may choose. */

import type { CallId } from "../ids.ts";
import type { JsonObject } from "../text/canonical.ts";
import type { Repeat } from "./repeat.ts";

export type Recovery =
  /** Run it again, with the same key, after a wait that doubles and is jittered. Never a call that may not be repeated. */
  | Readonly<{ kind: "retry"; times: number; backoffMs: number; maxBackoffMs: number }>
  /** Another tool in its place, with the same arguments; gated like any call. */
  | Readonly<{ kind: "fallback"; tool: string }>
  /** The last result of the very same call in this session, if it is fresh enough. */
  | Readonly<{ kind: "cached"; maxAgeMs: number }>
  /** The error goes to the model. */
  | Readonly<{ kind: "ask-model" }>
  /** A person decides: run it again, with other arguments perhaps, or go on with the error. */
  | Readonly<{ kind: "escalate" }>
  /** Becomes a dead letter for an operator; the model learns so. */
  | Readonly<{ kind: "dead-letter" }>
  /** The turn ends `failed`. */
  | Readonly<{ kind: "stop" }>;

/** As people write one: a word where there is nothing more to say, and waits that need not be said. */
export type Strategy =
  | Exclude<Recovery, { kind: "retry" }>
  | Readonly<{ kind: "retry"; times?: number; backoffMs?: number; maxBackoffMs?: number }>
  | "retry"
  | "ask-model"
  | "escalate"
  | "dead-letter"
  | "stop";

/** Argument of a function that chooses a recovery. */
export type Failure = Readonly<{
  tool: string;
  call: CallId;
  /** As they ran. */
  args: JsonObject;
  error: string;
  repeat: Repeat;
  /** How often the call has started so far. */
  starts: number;
}>;

/** Asked once for each call that fails; its answer is journalled, and holds for that call. */
export type ChooseRecovery = (failure: Failure) => Strategy | readonly Strategy[];
export type RecoveryDefinition = Strategy | readonly Strategy[] | ChooseRecovery;

/** Tried in order: what fails, or cannot be done, gives way to the next; when none is left, the turn stops. */
export type RecoveryPlan = readonly Recovery[];
export const ASK_MODEL: RecoveryPlan = Object.freeze([Object.freeze({ kind: "ask-model" })]);

/** The longest plan that anybody means. */
const MOST_STRATEGIES = 16;
const RETRY = { times: 3, backoffMs: 500, maxBackoffMs: 10_000 };
const FIELDS: Readonly<Record<Recovery["kind"], readonly string[]>> = {
  retry: ["times", "backoffMs", "maxBackoffMs"],
  fallback: ["tool"],
  cached: ["maxAgeMs"],
  "ask-model": [],
  escalate: [],
  "dead-letter": [],
  stop: [],
};

export type ReadRecoveryPlan = Readonly<{ kind: "plan"; plan: RecoveryPlan } | { kind: "refused"; detail: string }>;

/** The one check of what a definition or a function says is to be done. */
export function readRecoveryPlan(given: unknown): ReadRecoveryPlan {
  const list: readonly unknown[] = Array.isArray(given) ? given : [given];
  if (list.length === 0) return refused("an empty list says nothing: write `stop` or `ask-model`");
  if (list.length > MOST_STRATEGIES) return refused(`${list.length} strategies are more than ${MOST_STRATEGIES}`);
  const plan: Recovery[] = [];
  for (const one of list) {
    const read = readStrategy(one);
    if (typeof read === "string") return refused(read);
    plan.push(Object.freeze(read));
  }
  return { kind: "plan", plan: Object.freeze(plan) };
}
const refused = (detail: string): ReadRecoveryPlan => ({ kind: "refused", detail });

function readStrategy(given: unknown): Recovery | string {
  const fields: Readonly<Record<string, unknown>> =
    typeof given === "string" ? { kind: given } : typeof given === "object" && given !== null ? { ...given } : {};
  const kind = KINDS.find((known) => known === fields["kind"]);
  if (kind === undefined) return `\`${shown(fields["kind"] ?? given)}\` is no strategy: the strategies are ${KINDS.join(", ")}`;
  const stray = Object.keys(fields).find((name) => name !== "kind" && !FIELDS[kind].includes(name));
  if (stray !== undefined) return `\`${kind}\` has no field \`${stray}\``;
  const whole = (name: string, least: number, otherwise?: number): number | string => {
    const value = fields[name] ?? otherwise;
    return typeof value === "number" && Number.isSafeInteger(value) && value >= least
      ? value
      : `\`${kind}.${name}\` must be a whole number of at least ${least}`;
  };
  switch (kind) {
    case "retry": {
      const times = whole("times", 1, RETRY.times);
      const backoffMs = whole("backoffMs", 0, RETRY.backoffMs);
      const maxBackoffMs = whole("maxBackoffMs", 0, Math.max(RETRY.maxBackoffMs, typeof backoffMs === "number" ? backoffMs : 0));
      if (typeof times === "string") return times;
      if (typeof backoffMs === "string") return backoffMs;
      return typeof maxBackoffMs === "string" ? maxBackoffMs : { kind, times, backoffMs, maxBackoffMs };
    }
    case "fallback": {
      const { tool } = fields;
      return typeof tool === "string" && tool !== "" ? { kind, tool } : "`fallback.tool` must name another tool of the agent's";
    }
    case "cached": {
      const maxAgeMs = whole("maxAgeMs", 1);
      return typeof maxAgeMs === "string" ? maxAgeMs : { kind, maxAgeMs };
    }
    case "ask-model":
    case "escalate":
    case "dead-letter":
    case "stop":
      return { kind };
  }
}
const KINDS: readonly Recovery["kind"][] = ["retry", "fallback", "cached", "ask-model", "escalate", "dead-letter", "stop"];

function shown(value: unknown): string {
  const text = typeof value === "string" ? value : String(JSON.stringify(value));
  return text.slice(0, 60).toWellFormed();
}

/** When a tool, a model or a server is left alone after it kept failing, and when it is tried again. */
export type BreakerSettings = Readonly<{
  /** Number of failures in a row that open it. */
  failures: number;
  /** How long it stays open before it lets the first call through again. */
  openMs: number;
  /** Number of calls that may try at a time while it is half-open, and number that have to succeed before it closes. */
  probes: number;
}>;
const SETTING = /^(model:.+)#[0-9a-f]{8}$/;
/** `model:PROVIDER/NAME` of a breaker that counts for one address and key only; every other name as it is. */
export const breakerSubject = (breaker: string): string => SETTING.exec(breaker)?.[1] ?? breaker;

export const DEFAULT_BREAKER: BreakerSettings = Object.freeze({ failures: 5, openMs: 30_000, probes: 2 });

/** `around` is what holds where nothing is said. A text says what is wrong. */
export function readBreaker(given: unknown, around: BreakerSettings = DEFAULT_BREAKER): BreakerSettings | string {
  if (typeof given !== "object" || given === null || Array.isArray(given)) return "`breaker` must say failures, openMs or probes";
  for (const [name, value] of Object.entries(given)) {
    if (!(name in DEFAULT_BREAKER))
      return `\`breaker\` has no field \`${name}\`: the fields are ${Object.keys(DEFAULT_BREAKER).join(", ")}`;
    if (!(typeof value === "number" && Number.isSafeInteger(value) && value >= 1))
      return `\`breaker.${name}\` must be a whole number of at least 1`;
  }
  return Object.freeze({ ...around, ...given });
}

/** How often a model that refused for the moment is asked again, and how long it is left alone: doubling from `backoffMs`, spread, up to `maxBackoffMs`. */
export type ModelRetry = Readonly<{ times: number; backoffMs: number; maxBackoffMs: number }>;
export const DEFAULT_MODEL_RETRY: ModelRetry = Object.freeze({ times: 4, backoffMs: 1_000, maxBackoffMs: 30_000 });
const MOST_RETRIES = 20;

/** A text says what is wrong. */
export function readModelRetry(given: unknown): ModelRetry | string {
  if (typeof given !== "object" || given === null || Array.isArray(given)) return "`retry` must say times, backoffMs or maxBackoffMs";
  for (const [name, value] of Object.entries(given)) {
    if (!(name in DEFAULT_MODEL_RETRY))
      return `\`retry\` has no field \`${name}\`: the fields are ${Object.keys(DEFAULT_MODEL_RETRY).join(", ")}`;
    if (!(typeof value === "number" && Number.isSafeInteger(value) && value >= 0)) return `\`retry.${name}\` must be a whole number`;
  }
  const retry: ModelRetry = { ...DEFAULT_MODEL_RETRY, ...given };
  return retry.times > MOST_RETRIES ? `\`retry.times\` must be at most ${MOST_RETRIES}` : Object.freeze(retry);
}
