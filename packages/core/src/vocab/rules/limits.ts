import type { Fault } from "../fault.ts";

/** Limits of one turn. Each has an ending of its own; a limit of N iterations means N model calls. */
export type Limits = Readonly<{
  iterations: number;
  /** Summed over all calls of the turn, prompts included. */
  tokens: number;
  /** Money, in hundredths of the currency that the agent's prices are in; null: no limit. */
  cents: number | null;
  /** Only time in which a holder drives counts. */
  turnMs: number;
  toolMs: number;
  toolsAtOnce: number;
  /** Tool calls that may start in one turn. */
  calls: number;
  contextTokens: number;
  outputTokens: number;
  temperature: number;
  /** This many replies in a row with every call refused end the turn `denied`. */
  refusedInARow: number;
  /** Characters of one result that the model is shown; the journal keeps all of it. */
  observationChars: number;
}>;

export const DEFAULT_LIMITS: Limits = Object.freeze({
  iterations: 25,
  tokens: 100_000,
  cents: null,
  turnMs: 300_000,
  toolMs: 30_000,
  toolsAtOnce: 5,
  calls: 200,
  contextTokens: 32_000,
  outputTokens: 16_384,
  temperature: 0.3,
  refusedInARow: 3,
  observationChars: 24_000,
});

/** Bounds that make no sense together are refused before anything runs. */
export function checkLimits(given: Partial<Limits>, where: string): Limits | Fault {
  const limits: Limits = { ...DEFAULT_LIMITS, ...given };
  for (const [name, value] of Object.entries(limits)) {
    if (!(name in DEFAULT_LIMITS))
      return bad(where, `unknown limit \`${name}\``, `known limits: ${Object.keys(DEFAULT_LIMITS).join(", ")}`);
    if (name === "cents" && value === null) continue;
    const ok = typeof value === "number" && (name === "temperature" ? value >= 0 && value <= 2 : Number.isSafeInteger(value) && value >= 1);
    if (!ok) return bad(where, `limit \`${name}\` is ${value}`, name === "temperature" ? "use 0 to 2" : "use a whole number of at least 1");
  }
  if (limits.contextTokens >= limits.tokens) {
    const detail = `contextTokens (${limits.contextTokens}) is not smaller than tokens (${limits.tokens}): each turn would end after one call`;
    return bad(where, detail, "lower contextTokens or raise tokens");
  }
  return limits;
}

const bad = (where: string, detail: string, hint: string): Fault => ({ kind: "agent-invalid", where, detail, hint });
