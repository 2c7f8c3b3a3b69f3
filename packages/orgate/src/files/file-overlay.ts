/** Files as they would be: what loads a project reads these in place of what lies there, so that a change is tried by the very code that will read it. */
import { join, matchesGlob } from "node:path";

/** `path` is below the project's folder, with forward slashes. */
export type Draft = Readonly<{ path: string; text: string }>;

/** Where they would lie, of those that these patterns name. */
export const matchDrafts = (folder: string, patterns: readonly string[], drafts: readonly Draft[]): readonly string[] =>
  drafts.filter(({ path }) => patterns.some((pattern) => matchesGlob(path, pattern))).map(({ path }) => join(folder, path));

export const findDraft = (file: string, folder: string, drafts: readonly Draft[]): string | null =>
  drafts.find(({ path }) => join(folder, path) === file)?.text ?? null;

/** Those below one folder of the project, by their path there. */
export const listDraftsBelow = (folder: string, drafts: readonly Draft[]): readonly Draft[] =>
  drafts.flatMap(({ path, text }) => (path.startsWith(`${folder}/`) ? [{ path: path.slice(folder.length + 1), text }] : []));
