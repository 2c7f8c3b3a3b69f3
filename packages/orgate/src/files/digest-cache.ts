/** Results by the digest of everything they were made from. A cache and never the truth: a lost or damaged file costs time alone. */
import { renameSync, rmSync, writeFileSync } from "node:fs";

export type DigestCache<T> = Readonly<{
  /** The result as it was kept; null where none is known. */
  find(digest: string): T | null;
  keep(digest: string, value: T): void;
  /** Writes the file if results were added. */
  save(): void;
}>;

export const emptyCache = <T>(): DigestCache<T> => ({ find: () => null, keep: () => {}, save: () => {} });

/** `known`: the file's results. Above `most`, those that nobody asked for this time are dropped first. */
export function digestCache<T>({
  known,
  most,
  write,
}: Readonly<{ known: Map<string, T>; most: number; write(kept: ReadonlyMap<string, T>): void }>): DigestCache<T> {
  const used = new Map<string, T>();
  let isNew = false;
  return {
    find(digest) {
      const found = known.get(digest) ?? null;
      if (found !== null) used.set(digest, found);
      return found;
    },
    keep(digest, value) {
      known.set(digest, value);
      used.set(digest, value);
      isNew = true;
    },
    save() {
      if (!isNew) return;
      isNew = false;
      write(known.size > most ? used : known);
    },
  };
}

/** Whole or not at all, since others read it at the same time. A disk that takes no file is passed over. */
export function replaceCacheFile(file: string, text: string): void {
  const draft = `${file}.${process.pid}`;
  try {
    writeFileSync(draft, text, { mode: 0o600 });
    renameSync(draft, file);
  } catch {
    removeDraft(draft);
  }
}

function removeDraft(draft: string): void {
  try {
    rmSync(draft, { force: true });
  } catch {
    // not even the folder is there
  }
}
