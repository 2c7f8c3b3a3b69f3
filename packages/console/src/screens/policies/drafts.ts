/**
 * Drafts of policies, kept in this tab until they are applied or thrown away: whoever looks something up elsewhere, or loads the page again, finds them.
 * O99 a draft is never lost by leaving it; whoever signs out leaves none to the next person at the screen.
 */
import { type Words, words } from "../../app/words.ts";
import { useCell } from "../../link/cell.ts";

/** `base`: what the file said when it was begun. */
export type Kept = Readonly<{ text: string; base: string }>;

const nameOf = (path: string): string => `policy.${path}`;

export function draftsAmong(kept: Words) {
  return {
    of: (path: string): Kept | null => readKept(kept.of(nameOf(path))),
    /** What is as it was is no draft. */
    keep: (path: string, { text, base }: Kept): void =>
      text === base ? kept.drop(nameOf(path)) : kept.keep(nameOf(path), JSON.stringify([text, base])),
    drop: (path: string): void => kept.drop(nameOf(path)),
  };
}

function readKept(stored: string | null): Kept | null {
  try {
    const read: unknown = JSON.parse(stored ?? "null");
    if (!Array.isArray(read)) return null;
    const [text, base]: readonly unknown[] = read;
    return typeof text === "string" && typeof base === "string" ? { text, base } : null;
  } catch {
    return null;
  }
}

export const drafts = draftsAmong(words);
/** Whether there is one of a file. */
export function useDraft(path: string): boolean {
  useCell(words.changes);
  return drafts.of(path) !== null;
}
