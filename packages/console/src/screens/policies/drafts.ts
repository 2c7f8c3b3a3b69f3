/**
 * Policy drafts, kept in this tab until they are applied or discarded, across navigation and reloads.
 * O-7 leaving a draft never loses it; signing out deletes all drafts.
 */

import { useCell } from "../../state/cell.ts";
import { type UnsentTexts, unsentTexts } from "../../state/unsent.ts";

/** `base`: the file's text when the draft was started. */
export type PolicyDraft = Readonly<{ text: string; base: string }>;

const nameOf = (path: string): string => `policy.${path}`;

export function openDrafts(kept: UnsentTexts) {
  return {
    of: (path: string): PolicyDraft | null => readKept(kept.of(nameOf(path))),
    /** A text equal to its base is no draft. */
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
/** Whether a file has a draft. */
export function useDraft(path: string): boolean {
  useCell(unsentTexts.changes);
  return drafts.of(path) !== null;
}
