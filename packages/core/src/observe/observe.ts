/** 4. Observe: the outcome of a call, as one text for the model. One per call id, on every path; never more than the limit, and it says what was cut. */
import { type Observation, type Outcome, outputText, type Verdict } from "../vocab/index.ts";

export function observeOutcome(tool: string, outcome: Outcome, limit: number): Observation {
  switch (outcome.kind) {
    case "done":
      return { kind: "result", text: cut(outputText(outcome.output), limit) };
    case "failed":
      return { kind: "error", text: cut(`[failed] ${tool}: ${outcome.error}`, limit) };
    case "unknown":
      return {
        kind: "unknown",
        text: `[unknown] ${tool}: nobody can tell whether this took effect (${outcome.cause}: ${cut(outcome.detail, limit)}). An operator can resolve it. Do not assume either way, and do not repeat it.`,
      };
  }
}

export function observeRefusal(tool: string, verdict: Extract<Verdict, { kind: "deny" }>): Observation {
  const by = DENIED[verdict.by] ?? "denied by policy";
  const policies = verdict.because.length > 0 ? ` (${verdict.because.join(", ")})` : "";
  return { kind: "refusal", text: `[${by}] ${tool}${policies}: ${verdict.reason}` };
}

const DENIED: Readonly<Partial<Record<Extract<Verdict, { kind: "deny" }>["by"], string>>> = {
  contract: "not run",
  breaker: "not run",
  person: "denied by a person",
  middleware: "denied by middleware",
};

/** A call that had not started when its turn ended. */
export const observeUnstarted = (tool: string, ending: string): Observation => ({
  kind: "refusal",
  text: `[not run] ${tool}: the turn ended first (${ending})`,
});

/** By characters, never inside one: a cut surrogate pair would be another text. */
export function cut(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const end = isHighSurrogate(text, limit - 1) ? limit - 1 : limit;
  return `${text.slice(0, end)}\n[cut: ${text.length - end} of ${text.length} characters left out; the journal has all of it]`;
}

const isHighSurrogate = (text: string, at: number): boolean => (text.charCodeAt(at) & 0xfc00) === 0xd800;
