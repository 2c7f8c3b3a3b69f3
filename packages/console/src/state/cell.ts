/** A value that can be watched. All state of the console lives in cells, folds of journal entries included. */
import { useSyncExternalStore } from "react";

export type Watched<T> = Readonly<{ get(): T; watch(seen: () => void): () => void }>;
export type Cell<T> = Watched<T> & Readonly<{ set(value: T): void; change(by: (value: T) => T): void }>;

export function cell<T>(first: T): Cell<T> {
  const watchers = new Set<() => void>();
  let value = first;
  const set = (next: T): void => {
    if (Object.is(next, value)) return;
    value = next;
    for (const seen of [...watchers]) seen();
  };
  return {
    get: () => value,
    set,
    change: (by) => set(by(value)),
    watch(seen) {
      watchers.add(seen);
      return () => watchers.delete(seen);
    },
  };
}

export const useCell = <T>(watched: Watched<T>): T => useSyncExternalStore(watched.watch, watched.get, watched.get);
