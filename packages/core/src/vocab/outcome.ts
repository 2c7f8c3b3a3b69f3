import type { Json, JsonObject } from "./text/canonical.ts";

/** Why it is unknown whether a call took effect. */
export const UNKNOWN_CAUSES = ["timed-out", "cancelled", "hold-lost", "connection-lost", "killed", "not-reconciled"] as const;
export type UnknownCause = (typeof UNKNOWN_CAUSES)[number];

/** Outcome of a call that started. `failed` only when the tool itself returned or threw it, or when a repeat does no harm. */
export type Outcome =
  | Readonly<{ kind: "done"; output: Json }>
  | Readonly<{ kind: "failed"; error: string }>
  | Readonly<{ kind: "unknown"; cause: UnknownCause; detail: string }>;

/** Proof of one execution, beside its outcome. The digests of tool and action are in the decision that it ran under. */
export type Evidence = Readonly<{
  durationMs: number;
  starts: number;
  /** Evidence from the tool itself: the invocation as built, exit status, SHA-256 of the raw output, an edit's before and after. */
  proof: JsonObject | null;
}>;

/** The text that goes back to the model, exactly one per call id. */
export type Observation = Readonly<{ kind: "result" | "error" | "refusal" | "unknown"; text: string }>;
