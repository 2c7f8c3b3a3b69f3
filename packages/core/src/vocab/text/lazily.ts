/**
 * Makes a value at its first use and keeps it. For what is dear to make and not needed by every process: building the schemas of all decoders
 * took a quarter of what an import of `orgate` took.
 */
export function lazily<T extends object>(make: () => T): () => T {
  let made: T | null = null;
  return () => {
    made ??= make();
    return made;
  };
}
