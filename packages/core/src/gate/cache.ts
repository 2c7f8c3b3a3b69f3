/** Remembers the newest: two halves, and when the young one is full the old one is forgotten. What is used moves to the young one. */
export type Cache<T> = Readonly<{ get(key: string): T | undefined; set(key: string, value: T): void }>;

export function createCache<T>(size: number): Cache<T> {
  let young = new Map<string, T>();
  let old = new Map<string, T>();
  const half = Math.floor(size / 2);
  function set(key: string, value: T): void {
    if (half === 0) return;
    if (young.size >= half) {
      old = young;
      young = new Map();
    }
    young.set(key, value);
  }
  return {
    get(key) {
      const found = young.get(key);
      if (found !== undefined) return found;
      const older = old.get(key);
      if (older !== undefined) set(key, older);
      return older;
    },
    set,
  };
}
