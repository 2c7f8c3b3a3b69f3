/** Compares two policy sets, file by file. */
import { escapeHidden, escapeHiddenLines } from "@orgate/core/vocab";
import type { OperationOutput } from "@orgate/protocol";
import { diffLines, type EditView, withContext } from "@orgate/protocol/view";

export type PolicyFiles = OperationOutput<"policyFiles">;
export type PolicyFile = PolicyFiles["files"][number];
export type PolicyText = Readonly<{ path: string; text: string }>;

/** One edit per file that differs, sorted by path. A file that only one set has is shown whole. */
export function editsBetween(before: readonly PolicyText[], after: readonly PolicyText[]): readonly EditView[] {
  const [old, next] = [before, after].map((files) => new Map(files.map(({ path, text }) => [path, text])));
  const paths = [...new Set([...before, ...after].map(({ path }) => path))].sort();
  return paths.flatMap((path): readonly EditView[] => {
    const [was, is] = [old?.get(path), next?.get(path)];
    if (was === is) return [];
    return [editBetween(path, was ?? "", is ?? "")];
  });
}

/** Files that can be applied. Rules in agents' own files change with their agents. */
export const listAppliable = <T extends PolicyText>(files: readonly T[]): readonly T[] =>
  files.filter(({ path }) => /\.(?:cedar|cases\.json)$/.test(path));

/** The change from one text of a file to another, with hidden characters escaped. */
export function editBetween(path: string, before: string, after: string): EditView {
  const lines = diffLines(before, after);
  const count = (kind: "added" | "removed"): number => lines.filter((line) => line.kind === kind).length;
  return {
    path: escapeHidden(path),
    added: count("added"),
    removed: count("removed"),
    whole: true,
    lines: withContext(lines, 3).map((one) => (one === null ? null : { ...one, text: escapeHiddenLines(one.text) })),
    newly: [],
  };
}
