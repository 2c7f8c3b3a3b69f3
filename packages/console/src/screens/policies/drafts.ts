/**
 * Drafts of policies, kept in this tab until they are applied or thrown away: whoever looks something up elsewhere, or loads the page again, finds them.
 * O-7 a draft is never lost by leaving it; whoever signs out leaves none to the next person at the screen.
 */

import { useCell } from "../../state/cell.ts";
import { type UnsentTexts, unsentTexts } from "../../state/unsent.ts";

/** `base`: what the file said when it was begun. */
export type PolicyDraft = Readonly<{ text: string; base: string }>;

const nameOf = (path: string): string => `policy.${path}`;

export function openDrafts(kept: UnsentTexts) {
  return {
    of: (path: string): PolicyDraft | null => readKept(kept.of(nameOf(path))),
    /** What is as it was is no draft. */
    keep: (path: string, { text, base }: PolicyDraft): void =>
      text === base ? kept.drop(nameOf(path)) : kept.keep(nameOf(path), JSON.stringify([text, base])),
    drop: (path: string): void => kept.drop(nameOf(path)),
  };
}

function readKept(stored: string | null): PolicyDraft | null {
  try {
    const read: unknown = JSON.parse(stored ?? "null");
    if (!Array.isArray(read)) return null;
    const [text, base]: readonly unknown[] = read;
    return typeof text === "string" && typeof base === "string" ? { text, base } : null;
  } catch {
    return null;
  }
}

export const drafts = openDrafts(unsentTexts);
/** Whether there is one of a file. */
export function useDraft(path: string): boolean {
  useCell(unsentTexts.changes);
  return drafts.of(path) !== null;
}
