/** Calls `act` once when the signal aborts, at once if it has already. The result stops listening: listeners must not pile up on a signal that outlives the work. */
export function onAbort(signal: AbortSignal, act: () => void): () => void {
  if (signal.aborted) {
    act();
    return () => {};
  }
  const acts = listening.get(signal) ?? listenTo(signal);
  acts.add(act);
  return () => acts.delete(act);
}

/** One listener for each signal: a turn's signal is waited on with every call of a model or a tool, and a listener costs more than the wait. */
const listening = new WeakMap<AbortSignal, Set<() => void>>();
function listenTo(signal: AbortSignal): Set<() => void> {
  const acts = new Set<() => void>();
  listening.set(signal, acts);
  signal.addEventListener(
    "abort",
    () => {
      for (const act of acts) act();
      acts.clear();
    },
    { once: true },
  );
  return acts;
}

/** The result of `work`, or a rejection as soon as the signal aborts: work that ignores its signal is not waited for. */
export async function untilAborted<T>(
  signal: AbortSignal,
  work: () => PromiseLike<T>,
  reason: () => unknown = () => signal.reason,
): Promise<T> {
  if (signal.aborted) throw reason();
  let stopListening = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    stopListening = onAbort(signal, () => reject(reason()));
  });
  try {
    return await Promise.race([Promise.resolve().then(work), aborted]);
  } finally {
    stopListening();
  }
}
