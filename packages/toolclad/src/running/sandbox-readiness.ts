/** Finds out whether this machine has a sandbox; `sandbox-proof.ts` shows that it works. */
import { execFileSync } from "node:child_process";
import { accessSync, constants, existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { systemArgs } from "./sandbox-bubblewrap.ts";
import { findPlace, readStanding } from "./sandbox-cgroups.ts";
import { canStepDown, type LimitEnforcer } from "./sandbox-limits.ts";
import { seccompFilter } from "./sandbox-seccomp.ts";

/** The machine, as far as it matters here. */
export type Machine = Readonly<{
  platform: string;
  arch: string;
  uid: number;
  /** Where programs are looked for. */
  path: string;
  /** Leaves control groups aside: for showing that the other way holds. */
  withoutCgroups: boolean;
}>;

let machine: Machine | null = null;
export function thisMachine(): Machine {
  const { platform, arch } = process;
  machine ??= { platform, arch, uid: process.getuid?.() ?? 0, path: process.env.PATH ?? "", withoutCgroups: false };
  return machine;
}

export type Ready = Readonly<{
  kind: "ready";
  bwrap: string;
  prlimit: string;
  system: readonly string[];
  /** Who could hold the limits, best first. */
  holdings: readonly LimitEnforcer[];
  /** Why not by control groups. */
  without: string | null;
}>;
export type Unusable = Readonly<{ kind: "unusable"; reason: string; hint: string }>;

const BWRAP_OPTIONS = ["--bind-fd", "--ro-bind-fd", "--json-status-fd", "--seccomp", "--size", "--perms"];

export function checkReadiness({ platform, arch, uid, path, withoutCgroups }: Machine): Ready | Unusable {
  const unusable = (reason: string, hint: string): Unusable => ({ kind: "unusable", reason, hint });
  if (platform !== "linux")
    return unusable(
      `there is no sandbox for programs on ${platform}`,
      "run Orgate on Linux, or in a Linux container or virtual machine; all other tools work here",
    );
  if (seccompFilter(arch, false) === null)
    return unusable(`there is no sandbox for programs on ${arch} machines yet`, "x64 and arm64 have one");
  const bwrap = find("bwrap", path);
  if (bwrap === null)
    return unusable(
      "bubblewrap is not installed",
      "install it: `apt install bubblewrap`, `dnf install bubblewrap` or `apk add bubblewrap`",
    );
  const prlimit = find("prlimit", path);
  if (prlimit === null) return unusable("`prlimit` is not installed", "install util-linux (on Alpine: `apk add util-linux-misc`)");
  const missing = BWRAP_OPTIONS.filter((option) => !optionsOf(bwrap).includes(`${option} `));
  if (missing.length > 0)
    return unusable(
      `this bubblewrap is too old: it has no ${missing.join(", ")}`,
      "bring it up to date: 0.10, or what your distribution patched in 2024",
    );
  const found = withoutCgroups ? ({ kind: "none", reason: "control groups are left aside" } as const) : findPlace(readStanding());
  const byUser: readonly LimitEnforcer[] =
    uid !== 0 ? [{ kind: "user", stepDown: false }] : canStepDown() ? [{ kind: "user", stepDown: true }] : [];
  const holdings: readonly LimitEnforcer[] = found.kind === "place" ? [{ kind: "cgroup", place: found.place }, ...byUser] : byUser;
  return { kind: "ready", bwrap, prlimit, system: systemArgs(), holdings, without: found.kind === "none" ? found.reason : null };
}

function find(name: string, path: string): string | null {
  const folders = path.split(delimiter).filter((folder) => folder.startsWith("/"));
  return folders.map((folder) => join(folder, name)).find(isExecutable) ?? null;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return existsSync(path);
  } catch {
    return false;
  }
}

function optionsOf(bwrap: string): string {
  try {
    return execFileSync(bwrap, ["--help"], { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], env: {} });
  } catch {
    return "";
  }
}
