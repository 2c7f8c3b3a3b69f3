/** What a candidate set of policies changes, and whether somebody may change that. The command line and the server both ask here. */
import { FaultError, type FileChange } from "@orgate/core";
import { refusalFor } from "@orgate/core/gate";
import type { PolicyFolder, ReadFolder } from "./compose.ts";
import type { LoadedFolder, PolicyProblem } from "./policies.ts";

export function folderOf(read: ReadFolder): PolicyFolder {
  if (read.kind === "folder") return read.folder;
  throw new FaultError({ kind: "policies-refused", problems: read.problems });
}

export const textsOf = ({ policies, tables }: PolicyFolder): ReadonlyMap<string, string> =>
  new Map([...policies, ...tables].map(({ below, text }) => [below, text]));

export function changesBetween(before: PolicyFolder, after: PolicyFolder): readonly FileChange[] {
  const [old, next] = [textsOf(before), textsOf(after)];
  return [...new Set([...old.keys(), ...next.keys()])].sort().flatMap((path): readonly FileChange[] => {
    if (!old.has(path)) return [{ path, change: "added" }];
    if (!next.has(path)) return [{ path, change: "removed" }];
    return old.get(path) === next.get(path) ? [] : [{ path, change: "changed" }];
  });
}

/** `PolicySet::"cli"` for the files of a surface, `PolicySet::"every"` for those of all. */
export function surfacesOf(changes: readonly FileChange[]): readonly string[] {
  const surfaces = changes.map(({ path }) => {
    const folders = path.split("/").slice(0, -1);
    return (folders[0] === "shadow" ? folders[1] : folders[0]) ?? "every";
  });
  return [...new Set(surfaces)].sort();
}

export function deniedFor(inForce: LoadedFolder, user: string, surfaces: readonly string[]): Pick<PolicyProblem, "detail" | "hint"> | null {
  for (const surface of surfaces) {
    const why = refusalFor(inForce.gateFor("cli"), user, { kind: "edit-policy", surface });
    if (why === null) continue;
    return {
      detail: `\`${user}\` may not edit policies: ${why}`,
      hint: 'a permit for Action::"edit-policy" in the policies in force says who may',
    };
  }
  return null;
}
