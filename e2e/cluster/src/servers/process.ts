/** A server as a real process: started with a log of its own, asked whether it is ready, stopped, killed, stopped in its tracks, started again. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, closeSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** PostgreSQL refuses to run as root, and nothing here needs to: root's processes become `nobody`'s. */
const NOBODY = 65_534;
export const ordinaryUser: Readonly<{ uid: number; gid: number }> | null = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : null;

/** What is left to do when this process ends, however it ends. */
const leftovers: (() => void)[] = [];
process.once("exit", () => {
  for (const clean of leftovers.reverse()) clean(); // processes before the folders they write into
});

// A signal ends a process without `exit`.
for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => process.exit(1));

/** A folder of that user, deleted when this process ends. */
export function ownFolder(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `orgate-lab-${name}-`));
  if (ordinaryUser !== null) chownSync(folder, ordinaryUser.uid, ordinaryUser.gid);
  leftovers.push(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}

/** A port of the loopback interface that nobody used a moment ago. It is kept over restarts, so that clients find their server again. */
export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, "close");
  return port;
}

export type Recipe = Readonly<{
  name: string;
  program: string;
  args: readonly string[];
  env?: Readonly<Record<string, string>>;
  /** Working folder and place of the log. */
  folder: string;
  /** Throws or returns false while the server does not answer yet. */
  isReady(): Promise<boolean>;
  /** Signal of an orderly stop. */
  stopSignal?: NodeJS.Signals;
  /** Runs as the user of this process, root included: for programs that own files of this user. */
  asSelf?: boolean;
}>;

export type ServerProcess = Readonly<{
  /** Starts it again after `stop` or `kill`, and waits until it answers. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** kill -9 of the server and of every process that it started: what a machine's loss of power does, but for the disk's cache. */
  kill(): Promise<void>;
  /** SIGSTOP and SIGCONT of the server's first process: alive for the kernel, silent for everybody else. */
  freeze(): void;
  thaw(): void;
  isRunning(): boolean;
  pid(): number | null;
  log(): string;
}>;

const READY_MS = 60_000;

export function serverProcess(recipe: Recipe): ServerProcess {
  const logFile = join(recipe.folder, `${recipe.name}.log`);
  let child: ChildProcess | null = null;
  const log = (): string => readFileSync(logFile, "utf8");
  const isRunning = (): boolean => child !== null && child.exitCode === null && child.signalCode === null;
  const killNow = (): void => {
    if (child?.pid === undefined || !isRunning()) return;
    for (const pid of [...descendants(child.pid), child.pid]) signal(pid, "SIGKILL");
  };
  leftovers.push(killNow);
  const gone = async (): Promise<void> => {
    if (child !== null && child.exitCode === null && child.signalCode === null) await once(child, "exit");
    child = null;
  };
  return {
    async start() {
      if (isRunning()) throw new Error(`${recipe.name} is running already`);
      const out = openSync(logFile, "a", 0o644);
      const started = spawn(recipe.program, [...recipe.args], {
        cwd: recipe.folder,
        env: { PATH: process.env.PATH ?? "", LC_ALL: "C", TZ: "UTC", ...recipe.env },
        stdio: ["ignore", out, out],
        ...(recipe.asSelf ? null : ordinaryUser),
      });
      closeSync(out);
      child = started;
      let failure = "";
      started.once("error", (error) => {
        failure = error.message;
      });
      for (const until = performance.now() + READY_MS; ; await sleep(25)) {
        if (failure !== "" || started.exitCode !== null || started.signalCode !== null) {
          child = null;
          throw new Error(`${recipe.name} ended before it was ready: ${failure}\n${log().slice(-2_000)}`);
        }
        if (await recipe.isReady().catch(() => false)) return;
        if (performance.now() > until) throw new Error(`${recipe.name} is not ready after ${READY_MS} ms\n${log().slice(-2_000)}`);
      }
    },
    async stop() {
      child?.kill(recipe.stopSignal ?? "SIGTERM");
      await gone();
    },
    async kill() {
      killNow();
      await gone();
    },
    freeze: () => void child?.kill("SIGSTOP"),
    thaw: () => void child?.kill("SIGCONT"),
    isRunning,
    pid: () => child?.pid ?? null,
    log,
  };
}

/** By /proc: PostgreSQL's processes are their own group leaders, so killing a group would leave them. */
function descendants(pid: number): readonly number[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "utf8");
      parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(")") + 4).split(" ")[0]));
    } catch {} // it has ended since
  }
  const children = (of: number): readonly number[] =>
    [...parents].flatMap(([child, parent]) => (parent === of ? [child, ...children(child)] : []));
  return children(pid);
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {} // it has ended since
}
