/**
 * A model call has failed: the same model again, now or later; another one; or nobody. What is chosen is in `model.failed` (`dueAt`), the rest is folded.
 * M-7 what passes by itself is asked again, after a wait that doubles and is spread, or the one the provider asks for: never sooner, and never beyond
 *     what the turn has left. M-7 what was refused before anything was said is asked again up to `retry.times` times; what broke off, or was in flight when its
 *     process ended, twice (rule 5). M-8 then the fallbacks, in order, each decided for itself; a turn stays with the one that it has come to.
 */
import { type JournalEvent, type Millis, millis, type Purpose } from "../../vocab/index.ts";
import { backoff } from "../calls/backoff.ts";
import { MAX_ATTEMPTS, remainingMs } from "../limits/budgets.ts";
import type { Ports } from "../ports.ts";
import type { State, Turn } from "../state.ts";

type At = Readonly<{ p: Pick<Ports, "modelRetry" | "hash">; s: State; t: Turn; now: Millis }>;
type ModelFailed = Extract<JournalEvent, { kind: "model.failed" }>;
/** The facts of a failure, before a retry is chosen. */
export type Failed = Pick<ModelFailed, "error" | "broke" | "again" | "transient" | "status" | "retryAfterMs">;

// ── which model ──

/** The one that is asked now, as the fold knows it (`modelNow`), and as it can be asked. */
export const currentModel = (p: Pick<Ports, "model" | "fallbacks">, t: Turn): Ports["model"] =>
  t.fellBack === 0 ? p.model : (p.fallbacks[t.fellBack - 1] ?? p.model);

// ── what is chosen: the driver's part ──

/** When the same model is asked again; null when it is not. */
export function retryAt({ p: { modelRetry, hash }, s, t, now }: At, failed: Failed, purpose: Purpose): Millis | null {
  if (!failed.again && !failed.transient) return null;
  const { lost, refused } = triesAfter(purpose === "summary" ? t.summary.tries : t.tries, failed);
  if (lost >= MAX_ATTEMPTS || refused > modelRetry.times) return null;
  const waitMs = failed.transient ? waitFor(failed, backoff({ kind: "retry", ...modelRetry }, lost + refused, hash, keyOf(s, t))) : 0;
  return waitMs > 0 && waitMs >= remainingMs(s, t, now) ? null : millis(now + waitMs);
}

/** Never sooner than the provider asks for, and a little later: every client got the same answer. */
const waitFor = ({ retryAfterMs }: Failed, own: number): number => (retryAfterMs === null ? own : retryAfterMs + Math.round(own / 4));

/** Of this reply, by this model. */
const keyOf = (s: State, t: Turn): string => `${s.session}/${t.number}.${t.iterations}.${t.fellBack}`;

export const NO_TRIES: Turn["tries"] = Object.freeze({ lost: 0, refused: 0 });
/** Refused for the moment, and nothing was said: not counted among the lost. */
const isRefusal = ({ broke, transient }: Pick<Failed, "broke" | "transient">): boolean => transient && !broke;
export const triesAfter = (tries: Turn["tries"], failed: Pick<Failed, "broke" | "transient">): Turn["tries"] =>
  isRefusal(failed) ? { ...tries, refused: tries.refused + 1 } : { ...tries, lost: tries.lost + 1 };

/**
 * A bad request is bad everywhere. An unreachable host, a refused key, a missing model, a used-up quota, an overload, a request that is too large
 * or of a kind it does not take are one provider's own.
 */
export const mayDoElsewhere = ({ again, transient, status, broke }: ModelFailed): boolean =>
  again || transient || (status === null ? !broke : ELSEWHERE.has(status) || status >= 500);
const ELSEWHERE: ReadonlySet<number> = new Set([401, 402, 403, 404, 410, 413, 415, 429]);

/** The model is left alone until its time has come. */
export const isModelResting = (t: Turn, now: Millis): boolean => t.modelDue !== null && now < t.modelDue;
