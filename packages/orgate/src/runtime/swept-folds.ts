/**
 * The folds that one process keeps between turns (L-23). A session that nobody took up for five minutes leaves nothing behind: one timer looks after all
 * folds, stops while nothing is cached, and keeps no process alive.
 */
import { type BoundedFolds, DEFAULT_FOLD_LIMITS, type FoldLimits, foldCache, type Journal } from "@orgate/core";

const LOOKS = 5; // within the time that an idle fold is kept

export function createSweptFolds(
  journal: Pick<Journal, "hashAt" | "streams">,
  elapsed: () => number,
  limits: FoldLimits = DEFAULT_FOLD_LIMITS,
): BoundedFolds {
  const folds = foldCache({ journal, elapsed }, limits);
  let timer: NodeJS.Timeout | null = null;
  const look = (): void => {
    timer = folds.sweep() ? arm() : null;
  };
  const arm = (): NodeJS.Timeout => setTimeout(look, Math.max(1, limits.idleMs / LOOKS)).unref();
  return {
    ...folds,
    put(fold) {
      folds.put(fold);
      if (folds.size().sessions > 0) timer ??= arm();
    },
    clear() {
      if (timer !== null) clearTimeout(timer);
      timer = null;
      folds.clear();
    },
  };
}
