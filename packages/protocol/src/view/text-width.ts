/** How much room a text takes, and how it is made to fit. */
import { countNoun } from "@orgate/core/text";

export { countNoun };

/** The words that a search is for: each must occur, in any case of letters. */
export const searchWords = (text: string): readonly string[] => text.toLowerCase().split(/\s+/).filter(Boolean);
export const hasWords = (text: string, words: readonly string[]): boolean => {
  const lower = text.toLowerCase();
  return words.every((word) => lower.includes(word));
};

/** At most `most` columns, with a mark where something was left out. */
export function shorten(text: string, most: number): string {
  let kept = "";
  let used = 0;
  for (const c of text) {
    used += textWidth(c);
    if (used > most) return `${kept}…`;
    if (used < most) kept += c;
  }
  return text;
}

const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;
const NARROWEST = /\p{Mn}|\p{Me}|\u200d/u;

/** Columns on a terminal. */
export function textWidth(text: string): number {
  let columns = 0;
  for (const c of text) columns += NARROWEST.test(c) ? 0 : WIDE.test(c) ? 2 : 1;
  return columns;
}

/** `3 s`, `5 min`, `2 h`, `4 d`: how long ago, or how long. */
export function ageText(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}

export const durationText = (ms: number): string => (ms < 1_000 ? `${ms} ms` : `${(ms / 1_000).toFixed(1)} s`);
/** Size of a policy set. V-6 every screen, command and entry counts it alike, and says what it counts. */
export type SetCounts = Readonly<{ policies: number; tables: number; agents: number }>;

/** By the paths of its files: `cli/base.cedar`, `base.cases.json`, `agents/clerk.symbi#clerk`. */
export function countSet(paths: readonly string[]): SetCounts {
  const own = new Set(paths.flatMap((path) => (path.includes("#") ? [path.replace(/#audit$/, "")] : [])));
  const tables = paths.filter((path) => path.endsWith(".cases.json")).length;
  return { policies: paths.filter((path) => path.endsWith(".cedar")).length, tables, agents: own.size };
}

export const setText = ({ policies, tables, agents }: SetCounts): string =>
  [
    countNoun(policies, "policy file"),
    ...(tables === 0 ? [] : [countNoun(tables, "decision table")]),
    ...(agents === 0 ? [] : [`rules of ${countNoun(agents, "agent")}`]),
  ].join(", ");
