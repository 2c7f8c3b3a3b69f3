/**
 * Replaces the files of `policies/`, all at once.
 *
 * G-16 a folder of policies is exchanged as a whole: a reader finds the old set, none for a moment (and then goes on with what it
 *     has), or the new one; never a mixture. A change that was cut short is undone before the next.
 */
import { closeSync, cpSync, existsSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { FaultError } from "@orgate/core";

const NEXT = ".policies.next";
const BEFORE = ".policies.before";

export type NewFile = Readonly<{ below: string; text: string }>;

/** Where a change was cut short between its two steps, the folder of before is put back. */
export function undoPartialSwap(root: string): void {
  const [policies, before] = [join(root, "policies"), join(root, BEFORE)];
  if (!existsSync(policies) && existsSync(before)) renameSync(before, policies);
}

/** Somebody is at it, or was killed at it. `policies`: the folder itself. */
export const isSwapPending = (policies: string): boolean => [NEXT, BEFORE].some((name) => existsSync(join(dirname(policies), name)));

export type StagedPolicies = Readonly<{
  /** Puts them in place. */
  swap(): void;
  /** Leaves everything as it was. */
  drop(): void;
}>;

/** Written beside `policies/`, whole and durable; nobody else can do so meanwhile. What is no policy and no table (a README) stays. */
export function stagePolicies(root: string, files: readonly NewFile[]): StagedPolicies {
  const [policies, next, before] = [join(root, "policies"), join(root, NEXT), join(root, BEFORE)];
  undoPartialSwap(root);
  claim(next);
  const drop = (): void => rmSync(next, { recursive: true, force: true });
  try {
    if (existsSync(policies)) cpSync(policies, next, { recursive: true, filter: (path) => !/\.(cedar|cases\.json)$/.test(path) });
    for (const { below, text } of files) writeDurably(join(next, below), text);
  } catch (error) {
    drop();
    throw error;
  }
  const swap = (): void => {
    rmSync(before, { recursive: true, force: true });
    if (existsSync(policies)) renameSync(policies, before);
    renameSync(next, policies);
    rmSync(before, { recursive: true, force: true });
    syncFolder(root);
  };
  return { swap, drop };
}

function claim(next: string): void {
  try {
    mkdirSync(next);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
    throw new FaultError(
      {
        kind: "file-bad",
        file: next,
        line: null,
        column: null,
        detail: "policies are being applied, or that was cut short",
        hint: "wait for it; if nobody applies policies now, remove this folder",
      },
      error,
    );
  }
}

function writeDurably(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  const fd = openSync(file, "wx");
  try {
    writeSync(fd, text);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

function syncFolder(folder: string): void {
  if (process.platform === "win32") return; // directories cannot be opened there
  const fd = openSync(folder, "r");
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
