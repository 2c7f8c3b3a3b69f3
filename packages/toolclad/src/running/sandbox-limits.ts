/**
 * Who holds a limit. Control groups count a whole tree of processes, whatever their user. Where there are none, the kernel's limits per
 * process and user do, but only for a user who is not root: root is not bound by them, so it steps down to `nobody` first.
 */
import { existsSync, readFileSync } from "node:fs";
import type { ProcessLimits } from "../contract/running.ts";
import { type Cgroup, type CgroupPlace, makeCgroup } from "./sandbox-cgroups.ts";

export type LimitEnforcer = Readonly<{ kind: "cgroup"; place: CgroupPlace } | { kind: "user"; stepDown: boolean }>;

/** Bubblewrap itself: one process outside, one that is the first inside. */
const OWN_PROCESSES = 2;
const NOBODY = 65_534;

export type EnforcedLimits = Readonly<{
  /** Before bubblewrap. */
  before: readonly string[];
  /** Before the program, inside. */
  inside: readonly string[];
  /** Checked from time to time. A group in which one process was ended for its memory is no program any more; without groups, nobody else sees the sum. */
  isOver(first: number | null): boolean;
  strikes(): Readonly<{ memory: number; processes: number }>;
  remove(): void;
}>;

/** Fixed scripts: what they are given are arguments, never words of them. */
const JOIN = 'until [ "$1" = -- ]; do echo 0 >"$1" || exit 125; shift; done; shift; exec "$@"';
const LIMIT = `ulimit -c 0 && ulimit -f "$1" && ulimit -n "$2" || exit 125; shift 2; ${JOIN}`;
/** The unit in which a shell counts file sizes. */
const BLOCK = 512;
/** Bubblewrap itself opens and writes this much beside what it is handed: a limit below it is for the program alone. */
const OWN = { openFiles: 32, fileBytes: 4_096 };

/** `handed`: how many open files bubblewrap is given. */
export function enforceLimits(
  holding: LimitEnforcer,
  limits: ProcessLimits,
  tools: Readonly<{ prlimit: string }>,
  handed: number,
): EnforcedLimits {
  const common = [tools.prlimit, `--fsize=${limits.fileBytes}`, `--nofile=${limits.openFiles}`, "--core=0"];
  if (holding.kind === "cgroup") {
    const group: Cgroup = makeCgroup(holding.place, { memoryBytes: limits.memoryBytes, processes: limits.processes + OWN_PROCESSES });
    // the shell that joins the group can set the others too: one program less to start for each call
    const isRoomy = limits.openFiles >= handed + OWN.openFiles && limits.fileBytes >= OWN.fileBytes;
    const own = isRoomy ? [LIMIT, "sh", String(Math.floor(limits.fileBytes / BLOCK)), String(limits.openFiles)] : [JOIN, "sh"];
    return {
      before: ["/bin/sh", "-c", ...own, ...group.joins, "--"],
      inside: isRoomy ? [] : [...common, "--"],
      isOver: () => group.strikes().memory > 0,
      strikes: group.strikes,
      remove: group.remove,
    };
  }
  // the first process inside counts too; the one outside belongs to another user's count
  const own = [`--nproc=${limits.processes + OWN_PROCESSES - 1}`, `--data=${limits.memoryBytes}`];
  return {
    before: holding.stepDown ? [SETPRIV, `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups", "--"] : [],
    inside: [...common, ...own, "--"],
    isOver: (first) => first !== null && memoryBelow(first) > limits.memoryBytes,
    strikes: () => ({ memory: 0, processes: 0 }),
    remove: () => {},
  };
}

export const SETPRIV = "/usr/bin/setpriv";
export const canStepDown = (): boolean => existsSync(SETPRIV);

/** Memory of a process and all below it; 0 when it is gone. */
function memoryBelow(pid: number): number {
  const own = Number(/^VmRSS:\s+(\d+) kB$/m.exec(textOf(`/proc/${pid}/status`))?.[1] ?? 0) * 1024;
  const children = textOf(`/proc/${pid}/task/${pid}/children`)
    .split(" ")
    .filter((child) => child.trim() !== "");
  return children.reduce((sum, child) => sum + memoryBelow(Number(child)), own);
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
