/**
 * Fields that kinds of an older version lack, filled in when they are read. Stored bytes stay as they are, so what was hashed still is.
 * J-10 one step per version; a journal of every version that was ever landed is a fixture, and is folded by the tests.
 */
import type { EventKind, JsonObject } from "../vocab/index.ts";

/** From one version of a payload to the next. In memory only: stored bytes stay as they are. */
export type Upcast = (payload: JsonObject) => JsonObject;
/** Per kind, what leads from version 1 to 2, from 2 to 3, … A kind's own version is one more than it has steps. */
export type Upcasts = Readonly<Partial<Record<EventKind, readonly Upcast[]>>>;

/** Before tokenizers, context plans and prices: estimated, the oldest units go first, no price is known. */
const withFacts: Upcast = (p) => ({
  ...p,
  agent: { ...(p["agent"] as JsonObject), tokenizer: "estimate", context: { kind: "window" }, prices: null, charges: {} },
});

/** Before there were others to ask in the model's place. */
const withFallbacks: Upcast = (p) => ({ ...p, agent: { ...(p["agent"] as JsonObject), fallbacks: [] } });

/** Before a provider's cache had prices of its own: what is left out costs what other input does. */
const withCachePrices: Upcast = (p) => p;

/** Before agents had knowledge. */
const withoutKnowledge: Upcast = (p) => ({ ...p, agent: { ...(p["agent"] as JsonObject), knowledge: null } });

/** Before cached and thinking tokens were counted separately. */
const wholeUsage =
  (...fields: readonly string[]): Upcast =>
  (p) => ({ ...p, ...Object.fromEntries(fields.map((field) => [field, { ...(p[field] as JsonObject), cached: 0, reasoning: 0 }])) });

/** Before files were parts of messages. */
const withoutFiles: Upcast = (p) => ({ ...p, files: [] });
const nothingWithheld: Upcast = (p) => {
  const change = p["change"] as JsonObject;
  return change["kind"] === "input" ? { ...p, change: { ...change, files: [] } } : p;
};

/** Before schedules and webhooks opened sessions. */
const noOrigin: Upcast = (p) => ({ ...p, origin: null });

export const UPCASTS: Upcasts = {
  "session.opened": [
    (p) => ({ ...withFacts(p), external: null, parent: null }),
    withFallbacks,
    withCachePrices,
    (p) => withoutKnowledge(noOrigin(p)),
  ], // and before files of what was said: an older reader would leave them out without a word
  "agent.changed": [withFacts, withFallbacks, withCachePrices, withoutKnowledge],
  "turn.started": [(p) => ({ ...p, limits: { ...(p["limits"] as JsonObject), cents: null } }), withoutFiles],
  "input.steered": [withoutFiles],
  "input.queued": [withoutFiles],
  "middleware.applied": [nothingWithheld],
  "model.asked": [(p) => ({ ...p, purpose: "reply", reservedMicros: null }), wholeUsage("reserved")],
  "model.replied": [(p) => ({ ...p, purpose: "reply", micros: null }), wholeUsage("usage")],
  "model.failed": [
    (p) => ({ ...p, purpose: "reply" }),
    /** Before there were waits: at once. */
    (p) => ({ ...p, model: null, transient: false, status: null, retryAfterMs: null, dueAt: p["again"] === true ? 0 : null }),
  ],
  /** Before calls were counted over hours and days: the tool is in the decision. */
  "act.started": [(p) => ({ ...p, tool: "", values: {} })],
  "recovery.applied": [
    (p) => ({ ...p, strategy: "reconcile", plan: [], step: 0, tries: 1, dueAt: null, tool: null, output: null, from: null }),
  ],
  /** Before strategies every failure went to the model at once. */
  "act.ended": [
    (p) => ({ ...p, recovering: false }),
    /** Before tools showed proof of their own. */
    (p) => ({ ...p, evidence: { ...(p["evidence"] as JsonObject), proof: null } }),
  ],
  /** Before the texts of policies were stored, and a reason was asked for. */
  "policy.loaded": [(p) => ({ ...p, texts: false })],
  "policy.applied": [(p) => ({ ...p, texts: false, reason: "" })],
  /** Before a sub-agent's lost tokens were counted separately. */
  "child.ended": [(p) => ({ ...p, lost: 0 })],
  "turn.cancel-asked": [(p) => ({ ...p, all: false })],
  "turn.ended": [(p) => ({ ...p, micros: null }), wholeUsage("usage", "lost")],
};
