/**
 * Changes of the policy set: the differences that a candidate makes, whether the person may make them, and the change itself. The command line and the server both use it.
 *
 * G-16 a candidate that does not load, or that the person may not apply by the policies in force, changes nothing, and the refusal is journalled.
 *     It is read once: what was checked is what is put in place, whatever happens to the folder meanwhile.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import { type Digest, FaultError, type FileChange, type Principal } from "@orgate/core";
import { refusalFor } from "@orgate/core/gate";
import type { PolicyProblem } from "./policies.ts";
import { digestFolder } from "./policy-digests.ts";
import { type PolicyFolder, type PolicyFolderPath, type ReadFolder, readPolicyFolder } from "./policy-files.ts";
import { type LoadedFolder, loadOrThrow, type PolicyOptions, tryLoadRead } from "./policy-load.ts";
import { recordApplied, recordRefused } from "./policy-record.ts";
import { stagePolicies, undoPartialSwap } from "./policy-swap.ts";

type Candidate = Readonly<{ place: PolicyFolderPath; read: ReadFolder }>;
export type PlannedChange = Readonly<{
  kind: "change";
  now: PolicyFolder;
  next: PolicyFolder;
  changes: readonly FileChange[];
  files: Digest;
  /** As sessions and `policy.loaded` name the set that they make. */
  set: Digest;
}>;
export type PolicyPlan = Readonly<
  | PlannedChange
  | { kind: "refused"; problems: readonly [PolicyProblem, ...PolicyProblem[]] }
  | { kind: "denied"; problems: readonly [PolicyProblem, ...PolicyProblem[]] }
>;
type Where = Parameters<typeof recordApplied>[0];

/** Checked with its decision tables, and decided as `edit-policy` by the policies in force. A refusal is journalled before this returns. */
export async function planChange(
  where: Where,
  options: PolicyOptions,
  { place, read }: Candidate,
  { by, user }: Readonly<{ by: Principal; user: string }>,
): Promise<PolicyPlan> {
  undoPartialSwap(options.place.within);
  const present = readPolicyFolder(options.place);
  const inForce = loadOrThrow(tryLoadRead(present, options)); // by these it is decided who may
  const loading = tryLoadRead(read, { ...options, place });
  if (loading.kind === "refused") {
    await recordRefused(where, by, { problems: loading.problems, files: loading.files });
    return { kind: "refused", problems: loading.problems };
  }
  const { digest: set } = loadOrThrow(loading);
  const [now, next] = [folderOrThrow(present), folderOrThrow(read)];
  const { filesDigest: files } = digestFolder(next);
  const changes = changesBetween(now, next);
  const denied = findDenial(inForce, user, listChangedSurfaces(changes));
  if (denied === null) return { kind: "change", now, next, changes, files, set };
  const problems: readonly [PolicyProblem] = [{ file: place.label, line: 1, column: 1, ...denied }];
  await recordRefused(where, by, { problems, files });
  return { kind: "denied", problems };
}

/** Journalled with the texts of both sets, then put in place, all at once. `show` is called once nobody else can change them meanwhile. */
export async function applyChange(
  where: Where,
  root: string,
  { now, next, changes }: PlannedChange,
  { by, reason, show = () => {} }: Readonly<{ by: Principal; reason: string; show?: () => void }>,
): Promise<void> {
  const [before, after] = [digestFolder(now).sources, digestFolder(next).sources];
  const staged = stagePolicies(
    root,
    after.map(({ path, text }) => ({ below: path, text })),
  );
  try {
    show();
    await recordApplied(where, by, { before, after, changes, reason });
    staged.swap();
  } finally {
    staged.drop();
  }
}

/** Files as a folder that is read like any other, and gone afterwards. */
export function readFiles(files: readonly Readonly<{ path: string; text: string }>[], label: string): Candidate {
  const folder = mkdtempSync(join(tmpdir(), "orgate-policies-"));
  try {
    for (const { path, text } of files) {
      if (isAbsolute(path) || path.split(/[\\/]/).includes("..") || path.includes("\0"))
        throw new FaultError({
          kind: "usage",
          detail: `\`${path}\` is no path below the policies`,
          hint: "name files as they lie below `policies/`",
        });
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text, { mode: 0o600 });
    }
    const place = { folder, label, within: folder };
    return { place, read: readPolicyFolder(place) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export function folderOrThrow(read: ReadFolder): PolicyFolder {
  if (read.kind === "folder") return read.folder;
  throw new FaultError({ kind: "policies-refused", problems: read.problems });
}

export const listFileTexts = ({ policies, tables }: PolicyFolder): ReadonlyMap<string, string> =>
  new Map([...policies, ...tables].map(({ below, text }) => [below, text]));

export function changesBetween(before: PolicyFolder, after: PolicyFolder): readonly FileChange[] {
  const [old, next] = [listFileTexts(before), listFileTexts(after)];
  return [...new Set([...old.keys(), ...next.keys()])].sort().flatMap((path): readonly FileChange[] => {
    if (!old.has(path)) return [{ path, change: "added" }];
    if (!next.has(path)) return [{ path, change: "removed" }];
    return old.get(path) === next.get(path) ? [] : [{ path, change: "changed" }];
  });
}

/** `PolicySet::"cli"` for the files of a surface, `PolicySet::"every"` for those of all. */
export function listChangedSurfaces(changes: readonly FileChange[]): readonly string[] {
  const surfaces = changes.map(({ path }) => {
    const folders = path.split("/").slice(0, -1);
    return (folders[0] === "shadow" ? folders[1] : folders[0]) ?? "every";
  });
  return [...new Set(surfaces)].sort();
}

export function findDenial(
  inForce: LoadedFolder,
  user: string,
  surfaces: readonly string[],
): Pick<PolicyProblem, "detail" | "hint"> | null {
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
