/** Calls `act` once when the signal aborts, at once if it has already. The result stops listening: listeners must not pile up on a signal that outlives the work. */
export function onAbort(signal: AbortSignal, act: () => void): () => void {
  if (signal.aborted) {
    act();
    return () => {};
  }
  signal.addEventListener("abort", act, { once: true });
  return () => signal.removeEventListener("abort", act);
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
