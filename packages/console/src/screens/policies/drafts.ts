/**
 * Drafts of policies, kept in this tab until they are applied or thrown away: whoever looks something up elsewhere, or loads the page again, finds them.
 * O99 a draft is never lost by leaving it; whoever signs out leaves none to the next person at the screen.
 */
import { cell, useCell } from "../../link/cell.ts";

/** `base`: what the file said when it was begun. */
export type Kept = Readonly<{ text: string; base: string }>;
type Keeps = Pick<Storage, "getItem" | "setItem" | "removeItem" | "key" | "length">;

const PREFIX = "orgate.draft.";

export function draftsIn(storage: () => Keeps) {
  const here = new Map<string, Kept | null>(); // a browser may refuse to keep anything: then it holds until the page is closed
  const count = cell(0);
  const set = (path: string, kept: Kept | null): void => {
    here.set(path, kept);
    try {
      if (kept === null) storage().removeItem(PREFIX + path);
      else storage().setItem(PREFIX + path, JSON.stringify([kept.text, kept.base]));
    } catch {
      // kept until the page is closed
    }
    count.change((n) => n + 1);
  };
  const of = (path: string): Kept | null => {
    const known = here.get(path);
    if (known !== undefined) return known;
    try {
      return readKept(storage().getItem(PREFIX + path));
    } catch {
      return null;
    }
  };
  return {
    of,
    /** What is as it was is no draft. */
    keep: (path: string, kept: Kept): void => set(path, kept.text === kept.base ? null : kept),
    drop: (path: string): void => set(path, null),
    clear: (): void => {
      for (const path of [...here.keys(), ...pathsIn(storage)]) set(path, null);
    },
    changes: count,
  };
}

function pathsIn(storage: () => Keeps): readonly string[] {
  try {
    const at = storage();
    return Array.from({ length: at.length }, (_, i) => at.key(i) ?? "").flatMap((name) =>
      name.startsWith(PREFIX) ? [name.slice(PREFIX.length)] : [],
    );
  } catch {
    return [];
  }
}

function readKept(stored: string | null): Kept | null {
  const read: unknown = JSON.parse(stored ?? "null");
  if (!Array.isArray(read)) return null;
  const [text, base]: readonly unknown[] = read;
  return typeof text === "string" && typeof base === "string" ? { text, base } : null;
}

export const drafts = draftsIn(() => sessionStorage);
/** Whether there is one of a file. */
export function useDraft(path: string): boolean {
  useCell(drafts.changes);
  return drafts.of(path) !== null;
}
