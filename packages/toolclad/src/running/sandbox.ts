/**
 * Programs of tools, in a sandbox or not at all.
 *
 * T-17 argv goes to the program as it is; there is no shell between.
 * T-27 tier `process`: no network unless scoped, a read-only system, a temporary folder of its own, no user and no capability of ours,
 *     a clean environment, no process but its own; what the contract grants, and nothing else.
 * T-27 what is protected is never written and keys are never seen, whatever is granted.
 * T-29 nothing falls back to no sandbox by itself. Tier `none` is run as it is asked for: the policies decide about it (T-29).
 * Rule: T-28.
 */

import { closeSync, mkdtempSync, openSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { isAbsolute, join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { errorMessage } from "@orgate/core/vocab";
import type { InvocationResult, ProcessInvocation, RunOptions } from "../contract/running.ts";
import { PROGRAM_PATH } from "./program-path.ts";
import type { ResolveHost } from "./resolve-host.ts";
import {
  closeAll,
  FIXED,
  HOSTS,
  isAtOrBelow,
  isOfSystem,
  type Mount,
  mountArgs,
  mountsFor,
  NO_PROTECTION,
  type Objection,
  ownFolders,
  type Protection,
  SYSTEM_GROUPS,
  USERS,
} from "./sandbox-bubblewrap.ts";
import { endAll, endGroup, waitUntilGone } from "./sandbox-ending.ts";
import { type EnforcedLimits, enforceLimits, type LimitEnforcer } from "./sandbox-limits.ts";
import { type Gateway, openGateway } from "./sandbox-network.ts";
import { findSandboxProgram } from "./sandbox-program.ts";
import { type Proven, prove } from "./sandbox-proof.ts";
import { checkReadiness, type Machine, type Ready, thisMachine } from "./sandbox-readiness.ts";
import { seccompFilter } from "./sandbox-seccomp.ts";
import { type Start, supervise, type Watched } from "./supervise.ts";

export type SandboxOptions = Readonly<{
  protection?: Protection;
  /** Null: no program runs without a sandbox here, whatever the policies permit. */
  machine?: Machine;
  resolve?: ResolveHost;
}>;

export type Sandbox = Readonly<{
  run(invocation: ProcessInvocation, options: RunOptions): Promise<InvocationResult>;
  /** Whether programs can be run here, who holds which limit, and why not. */
  standing(): Promise<Proven>;
}>;

const LOOK_EVERY_MS = 100;

export function sandbox({ protection = NO_PROTECTION, machine = thisMachine(), resolve }: SandboxOptions = {}): Sandbox {
  let proven: Promise<Proven> | null = null;
  const standing = (): Promise<Proven> => {
    proven ??= provenHere(machine);
    return proven;
  };

  async function run(invocation: ProcessInvocation, options: RunOptions): Promise<InvocationResult> {
    const tier: string = invocation.tier;
    if (tier !== "none" && tier !== "process") return refused(otherTier(tier));
    if (options.signal.aborted)
      return refused({ reason: "it was stopped before it started", hint: "start it again, if it is still wanted" });
    if (tier === "none") return bare(invocation, options);
    const shown = await standing();
    if (shown.kind === "unusable") return refused(shown);
    return boxed(invocation, options, {
      ready: shown.ready,
      holding: shown.holding,
      protection,
      ...(resolve === undefined ? {} : { resolve }),
    });
  }
  return { run, standing };
}

/** Shown once for a process; the tests of one machine are those of all its projects. */
const shownOn = new WeakMap<Machine, Promise<Proven>>();
function provenHere(machine: Machine): Promise<Proven> {
  const shown = shownOn.get(machine) ?? proveOn(machine);
  shownOn.set(machine, shown);
  return shown;
}

async function proveOn(machine: Machine): Promise<Proven> {
  const here = checkReadiness(machine);
  if (here.kind === "unusable") return here;
  const quiet = { signal: new AbortController().signal, onOutput: () => {} };
  return prove(here, {
    inside: (invocation, holding) => boxed(invocation, quiet, { ready: here, holding, protection: NO_PROTECTION }),
    outside: (invocation) => bare(invocation, quiet),
  });
}

const refused = ({ reason, hint }: Objection): InvocationResult => ({ kind: "refused", reason, hint });

function otherTier(tier: string): Objection {
  const known: Readonly<Record<string, string>> = {
    docker: "run it inside a container yourself: a program of your own that calls `docker run`, as a tool of tier `none`",
    gvisor: "run it with `runsc` yourself, as a tool of tier `none`",
    firecracker: "run it in a virtual machine yourself, as a tool of tier `none`",
    e2b: "call that service with an HTTP tool",
  };
  const hint = known[tier] ?? "there are `process` and `none`";
  return { reason: `there is no sandbox tier \`${tier}\` here`, hint: `use \`process\`; or ${hint}` };
}

/** T-28 for a program without a sandbox: its process group. What leaves the group on purpose is beyond reach, one reason more to permit it with care. */
async function bare(invocation: ProcessInvocation, options: RunOptions): Promise<InvocationResult> {
  const [file = "", ...args] = invocation.argv;
  const start: Start = {
    file,
    args,
    env: { PATH: process.env.PATH ?? PROGRAM_PATH, ...invocation.env },
    cwd: invocation.cwd ?? tmpdir(),
    more: [],
    detached: true,
  };
  const watched = await supervise(start, {
    ...watchingOf(invocation, options),
    started: () => {},
    end: endGroup,
    look: null,
  });
  return watched.kind === "over"
    ? ranOf(watched, invocation, null)
    : refused({ reason: watched.reason, hint: "see that the program is there" });
}

const watchingOf = ({ stdin, limits }: ProcessInvocation, { signal, onOutput }: RunOptions) => ({
  stdin,
  timeMs: limits.timeMs,
  outputBytes: limits.outputBytes,
  signal,
  onOutput,
});

type Box = Readonly<{ ready: Ready; holding: LimitEnforcer; protection: Protection; resolve?: ResolveHost }>;

/** Of the child: its own arguments come through one pipe, so that no secret of the environment stands in a list of processes. */
const [ARGS_FD, STATUS_FD, FILTER_FD, USERS_FD, GROUPS_FD, HOSTS_FD, FIRST_MOUNT_FD] = [3, 4, 5, 6, 7, 8, 9];

async function boxed(invocation: ProcessInvocation, options: RunOptions, box: Box): Promise<InvocationResult> {
  const gateway = await gatewayFor(invocation, box);
  if (gateway !== null && "reason" in gateway) return refused(gateway);
  let mounts: readonly Mount[] = [];
  const files: number[] = [];
  let held: EnforcedLimits | null = null;
  try {
    const found = mountsFor([...invocation.paths, ...(gateway?.paths ?? [])], box.protection);
    if ("reason" in found) return refused(found);
    mounts = found;
    const cwd = invocation.cwd ?? "/tmp";
    const objection = checkCwd(cwd, mounts);
    if (objection !== null) return refused(objection);
    const program = findSandboxProgram(invocation.argv[0] ?? "", cwd, mounts);
    if (program.kind === "none") return refused(program);
    const room = gateway === null ? invocation.limits : gateway.widened(invocation.limits);
    held = enforceLimits(box.holding, room, box.ready, FIRST_MOUNT_FD + mounts.length);
    const constants = constantsFor(box.holding.kind === "user");
    for (const text of [constants.filter, constants.users, constants.groups, constants.hosts])
      files.push(openSync(`/proc/self/fd/${text}`, "r"));
    const argv = [...held.inside, ...(gateway?.before ?? []), program.path, ...invocation.argv.slice(1)];
    const own = ownArgs(invocation, mounts, cwd, { system: box.ready.system, memoryBytes: room.memoryBytes, env: gateway?.env ?? {} });
    return await launched({ invocation, options, held, argv, own, handed: [...files, ...mounts.flatMap(fdOf)], bwrap: box.ready.bwrap });
  } catch (error) {
    return refused({
      reason: `the sandbox could not be made: ${errorMessage(error)}`,
      hint: "`orgate doctor` says what works here",
    });
  } finally {
    closeAll(mounts);
    for (const fd of files) closeSync(fd);
    held?.remove();
    gateway?.close();
  }
}

const fdOf = (mount: Mount): readonly number[] => (mount.access === "hidden" ? [] : [mount.fd]);

async function gatewayFor({ network }: ProcessInvocation, { resolve }: Box): Promise<Gateway | Objection | null> {
  return network === null || network.length === 0 ? null : openGateway(network, resolve);
}

function checkCwd(cwd: string, mounts: readonly Mount[]): Objection | null {
  if (cwd === "/tmp" || isOfSystem(cwd) || (isAbsolute(cwd) && mounts.some((m) => m.access !== "hidden" && isAtOrBelow(cwd, m.at))))
    return null;
  return { reason: `\`${cwd}\` is not among what the program may see`, hint: "grant the folder that it works in" };
}

type Surroundings = Readonly<{ system: readonly string[]; memoryBytes: number; env: Readonly<Record<string, string>> }>;

function ownArgs(
  invocation: ProcessInvocation,
  mounts: readonly Mount[],
  cwd: string,
  { system, memoryBytes, env }: Surroundings,
): readonly string[] {
  const environment = { PATH: PROGRAM_PATH, HOME: "/tmp", TMPDIR: "/tmp", LANG: "C.UTF-8", USER: "tool", ...env, ...invocation.env };
  const numbers = new Map(mounts.flatMap(fdOf).map((fd, i) => [fd, FIRST_MOUNT_FD + i]));
  return [
    ...FIXED,
    ...["--json-status-fd", String(STATUS_FD), "--seccomp", String(FILTER_FD)],
    ...system,
    ...["--perms", "0444", "--file", String(USERS_FD), "/etc/passwd"],
    ...["--perms", "0444", "--file", String(GROUPS_FD), "/etc/group"],
    ...["--perms", "0444", "--file", String(HOSTS_FD), "/etc/hosts"],
    ...ownFolders(memoryBytes),
    ...mountArgs(mounts, (fd) => numbers.get(fd) ?? -1),
    ...["--remount-ro", "/", "--chdir", cwd],
    ...Object.entries(environment).flatMap(([name, value]) => ["--setenv", name, value]),
  ];
}

type Launch = Readonly<{
  invocation: ProcessInvocation;
  options: RunOptions;
  held: EnforcedLimits;
  argv: readonly string[];
  own: readonly string[];
  handed: readonly number[];
  bwrap: string;
}>;

async function launched({ invocation, options, held, argv, own, handed, bwrap }: Launch): Promise<InvocationResult> {
  if ([...own, ...argv].some((text) => text.includes("\0")))
    return refused({ reason: "an argument holds a character that none can hold", hint: "leave out NUL" });
  const [file = "", ...args] = [...held.before, bwrap, "--args", String(ARGS_FD), "--", ...argv];
  const status = { text: "", first: null as number | null };
  const watched = await supervise(
    { file, args, env: {}, cwd: "/", more: ["pipe", "pipe", ...handed], detached: false },
    {
      ...watchingOf(invocation, options),
      started(child) {
        const [toChild, fromChild] = [child.stdio[ARGS_FD] as Writable, child.stdio[STATUS_FD] as Readable];
        toChild.on("error", () => {}); // it ended before it read them: its status says so
        toChild.end(own.map((arg) => `${arg}\0`).join(""));
        fromChild.on("data", (chunk: Buffer) => {
          status.text += chunk.toString();
          status.first ??= Number(/"child-pid"\s*:\s*(\d+)/.exec(status.text)?.[1] ?? Number.NaN) || null;
        });
      },
      end: endAll,
      look: { everyMs: LOOK_EVERY_MS, at: () => (held.isOver(status.first) ? "memory" : null) },
    },
  );
  if (watched.kind === "not-started") return refused({ reason: watched.reason, hint: "`orgate doctor` says what works here" });
  if (status.first !== null) await waitUntilGone(status.first);
  const exit = /"exit-code"\s*:\s*(\d+)/.exec(status.text)?.[1];
  const strikes = held.strikes();
  if (exit === undefined && watched.endedBy === null && strikes.memory === 0)
    return refused({
      reason: `the sandbox could not be made: ${watched.stderr.trim().split("\n").at(-1) ?? ""}`,
      hint: "`orgate doctor` says what works here",
    });
  return ranOf(watched, invocation, strikes);
}

function ranOf(
  watched: Extract<Watched, { kind: "over" }>,
  { limits }: ProcessInvocation,
  strikes: ReturnType<EnforcedLimits["strikes"]> | null,
): InvocationResult {
  const { code, signal, stdout, stderr, truncated, durationMs, endedBy } = watched;
  const stopped = (by: Extract<InvocationResult, { kind: "stopped" }>["by"], detail: string): InvocationResult => ({
    kind: "stopped",
    by,
    detail,
    stdout,
    stderr,
    durationMs,
  });
  switch (endedBy) {
    case "time":
      return stopped("time", `not done after ${limits.timeMs} ms`);
    case "output":
      return stopped("output", `it wrote more than ten times its ${limits.outputBytes} bytes`);
    case "signal":
      return stopped("signal", "it was told to stop");
    case "memory":
      return stopped("memory", `it used more than its ${limits.memoryBytes} bytes`);
    case null:
      break;
  }
  if (strikes !== null && strikes.memory > 0) return stopped("memory", `it used more than its ${limits.memoryBytes} bytes`);
  if (strikes !== null && strikes.processes > 0 && code !== 0)
    return stopped("processes", `it wanted more than its ${limits.processes} processes`);
  return { kind: "exited", code, signal, stdout, stderr, truncated, durationMs };
}

/** Files without a name that hold constant content; each child reads them again. */
type Constants = Readonly<{ filter: number; users: number; groups: number; hosts: number }>;
const constantsBy = new Map<boolean, Constants>();

function constantsFor(countsByProcess: boolean): Constants {
  const found = constantsBy.get(countsByProcess);
  if (found !== undefined) return found;
  const filter = seccompFilter(process.arch, countsByProcess);
  if (filter === null) throw new Error(`no filter for ${process.arch}`);
  const folder = mkdtempSync(join(tmpdir(), "orgate-sandbox-"));
  const kept = (name: string, content: string | Uint8Array): number => {
    const path = join(folder, name);
    writeFileSync(path, content, { mode: 0o600 });
    const fd = openSync(path, "r");
    unlinkSync(path);
    return fd;
  };
  const made = { filter: kept("f", filter), users: kept("u", USERS), groups: kept("g", SYSTEM_GROUPS), hosts: kept("h", HOSTS) };
  rmSync(folder, { recursive: true });
  constantsBy.set(countsByProcess, made);
  return made;
}
