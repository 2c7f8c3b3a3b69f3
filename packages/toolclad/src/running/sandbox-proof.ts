/**
 * T-28 each limit is shown in force before the first program runs: something that uses twice as much is stopped inside, and finishes outside.
 * Without the second half the first would prove nothing.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { InvocationResult, ProcessInvocation, ProcessLimits } from "../contract/running.ts";
import type { LimitEnforcer } from "./sandbox-limits.ts";
import type { Ready, Unusable } from "./sandbox-readiness.ts";

export type Limit = Exclude<keyof ProcessLimits, "outputBytes">;
export type Proven = Readonly<{ kind: "usable"; ready: Ready; holding: LimitEnforcer; limits: readonly Limit[] }> | Unusable;

type Runs = Readonly<{
  inside(invocation: ProcessInvocation, holding: LimitEnforcer): Promise<InvocationResult>;
  outside(invocation: ProcessInvocation): Promise<InvocationResult>;
}>;

const MIB = 1_048_576;
const WIDE: ProcessLimits = {
  memoryBytes: 256 * MIB,
  processes: 64,
  fileBytes: 64 * MIB,
  openFiles: 256,
  timeMs: 20_000,
  outputBytes: 10_000,
};

/** A limit, and a program that uses twice as much of it. */
type Trial = Readonly<{ limit: Limit; at: number; argv(folder: string): readonly string[] }>;

const CHILDREN = "i=0; while [ $i -lt 16 ]; do sleep 20 & i=$((i+1)); done; kill -9 $(jobs -p) 2>/dev/null; exit 0";
const TRIALS: readonly Trial[] = [
  { limit: "memoryBytes", at: 32 * MIB, argv: () => ["dd", "if=/dev/zero", "of=/dev/null", "bs=64M", "count=1"] },
  { limit: "processes", at: 8, argv: () => ["sh", "-c", CHILDREN] },
  { limit: "fileBytes", at: MIB, argv: (folder) => ["dd", "if=/dev/zero", `of=${folder}/file`, "bs=1M", "count=2"] },
  // few are set inside, many before the sandbox is made
  { limit: "openFiles", at: 16, argv: () => ["tee", ...Array.from({ length: 32 }, () => "/dev/null")] },
  { limit: "openFiles", at: 64, argv: () => ["tee", ...Array.from({ length: 128 }, () => "/dev/null")] },
  { limit: "timeMs", at: 50, argv: () => ["sleep", "0.1"] },
];

export async function prove(ready: Ready, runs: Runs): Promise<Proven> {
  const failures: string[] = [];
  for (const holding of ready.holdings) {
    const works = await runs.inside(plain(["true"], WIDE), holding);
    if (!isDone(works)) {
      failures.push(
        `${describeEnforcer(holding)}: ${works.kind === "refused" ? works.reason : `a program that does nothing: ${told(works)}`}`,
      );
      continue;
    }
    const objections = (await Promise.all(TRIALS.map((trial) => shown(trial, holding, runs)))).filter((one) => one !== null);
    if (objections.length === 0) return { kind: "usable", ready, holding, limits: [...new Set(TRIALS.map(({ limit }) => limit))] };
    failures.push(`${describeEnforcer(holding)}: ${objections.join(", ")}`);
  }
  if (failures.length === 0)
    return { kind: "unusable", reason: `nobody can hold limits here: ${ready.without ?? "no way is known"}`, hint: HOW };
  return { kind: "unusable", reason: `a limit could not be shown in force (${failures.join("; ")})`, hint: HOW };
}

const HOW =
  "let this user make control groups for memory and pids (systemd: `Delegate=yes`, or `systemd-run --user --scope -p Delegate=yes`), run as a user who is not root, and let it make user namespaces";

async function shown({ limit, at, argv }: Trial, holding: LimitEnforcer, runs: Runs): Promise<string | null> {
  const folder = mkdtempSync(join(tmpdir(), "orgate-proof-"));
  try {
    const [inside, outside] = await Promise.all([
      runs.inside(plain(argv("/tmp"), { ...WIDE, [limit]: at }), holding),
      runs.outside(plain(argv(folder), WIDE)),
    ]);
    if (isDone(inside)) return `${limit} is not in force`;
    if (inside.kind === "refused") return `${limit}: ${inside.reason}`;
    return isDone(outside) ? null : `${limit}: its program does not finish outside either (${told(outside)})`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const isDone = (ran: InvocationResult): boolean => ran.kind === "exited" && ran.code === 0;
const told = (ran: InvocationResult): string =>
  ran.kind === "exited"
    ? `exit ${ran.code ?? ran.signal} ${ran.stderr.trim().slice(0, 200)}`
    : ran.kind === "stopped"
      ? ran.detail
      : ran.kind;

export function describeEnforcer(holding: LimitEnforcer): string {
  if (holding.kind === "cgroup") return `control groups ${holding.place.kind}`;
  return holding.stepDown ? "limits of the user nobody" : "limits of this user";
}

const plain = (argv: readonly string[], limits: ProcessLimits): ProcessInvocation => ({
  kind: "process",
  argv,
  cwd: null,
  env: {},
  stdin: null,
  network: null,
  paths: [],
  tier: "process",
  limits,
});
