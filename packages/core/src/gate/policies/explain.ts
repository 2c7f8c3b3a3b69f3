/**
 * Which part each policy had in a decision.
 * G-19 a policy's own satisfaction is evaluated by itself: a permit that matched and lost to a forbid did match.
 */
import type { Verdict } from "../../vocab/index.ts";
import type { Engine, EngineQuestion, PolicyJson } from "./engine.ts";
import type { LoadedPolicy } from "./loaded-policy.ts";

/** Of one policy, for one question: whether its scope and conditions hold; null when it errs. */
export type PolicyMatch = Readonly<{ policy: string; holds: boolean | null }>;

export type PolicyPart = Readonly<{
  /** `overridden`: it matched, and something else decided. `not asked`: no policy was evaluated. */
  part: "decided" | "overridden" | "erred" | "did not apply" | "not asked";
  /** The policy that decided instead. */
  by: readonly string[];
}>;

/** As a permit that stands alone: allowed exactly where it is satisfied. */
export function holdsAlone(json: PolicyJson, question: EngineQuestion, engine: Pick<Engine, "keep" | "decide">): boolean | null {
  const kept = engine.keep({ alone: { ...json, effect: "permit" } });
  const answer = kept.type === "failure" ? kept : engine.decide(kept.kept, question);
  if (answer.type === "failure" || answer.response.diagnostics.errors.length > 0) return null;
  return answer.response.decision === "allow";
}

export function toPolicyPart(
  policy: LoadedPolicy,
  verdict: Verdict,
  held: readonly PolicyMatch[],
  considered: readonly LoadedPolicy[],
): PolicyPart {
  const own = held.filter((one) => one.policy === policy.id);
  if (own.length === 0) return { part: "not asked", by: [] };
  if (own.some(({ holds }) => holds === null)) return { part: "erred", by: [] };
  if (!own.some(({ holds }) => holds === true)) return { part: "did not apply", by: [] };
  const deciding = decidingOf(verdict, considered);
  return deciding.includes(policy.id) ? { part: "decided", by: [] } : { part: "overridden", by: deciding };
}

/** A denial is decided by the policy that erred, else by its forbids: the permits reported with an error were not enough. */
function decidingOf(verdict: Verdict, considered: readonly LoadedPolicy[]): readonly string[] {
  if (verdict.kind !== "deny") return verdict.because;
  const erred = verdict.faults.flatMap(({ policy }) => policy ?? []);
  const forbids = new Set(considered.filter(({ json }) => json.effect === "forbid").map(({ id }) => id));
  return [...erred, ...verdict.because.filter((id) => forbids.has(id))];
}
