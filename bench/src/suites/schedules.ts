/** Many schedules: what it costs to put them on record, to start with them, to wait for what is due, and to look one up. Whole processes, as people run them. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { spread } from "../measure.ts";
import { inFolder } from "../places.ts";
import { digits, type Line, type Report } from "../report.ts";

const ORGATE = fileURLToPath(new URL("../../../packages/orgate/bin/orgate.js", import.meta.url));
const ZONES = ["UTC", "Europe/Berlin", "America/New_York"];
/** A file may be 256 KiB. */
const IN_A_FILE = 1_000;
const IDLE_MS = 5_000;

/** None of them is due soon: what waits is what is measured. */
function write(project: string, schedules: number): void {
  const hour = (new Date().getUTCHours() + 12) % 24;
  for (let from = 0; from < schedules; from += IN_A_FILE) {
    const worker = from / IN_A_FILE;
    const own = Array.from({ length: Math.min(IN_A_FILE, schedules - from) }, (_, i) => {
      const n = from + i;
      return `[schedules.s${n}]\ncron = "${n % 60} ${hour} ${(Math.floor(n / 60) % 28) + 1} * *"\ntimezone = "${ZONES[n % 3]}"\n`;
    });
    const agent = `name = "worker${worker}"\nmodel = "offline/echo"\ninstructions = "Wait."\n`;
    writeFileSync(join(project, "agents", `worker${worker}.toml`), agent + own.join(""));
  }
}

type Served = Readonly<{ wall: number; cpu: number; rss: number; idle: number }>;

/** From its start until it answers; then a while in which nothing is due. */
async function served(project: string, env: NodeJS.ProcessEnv): Promise<Served> {
  const began = performance.now();
  const server: ChildProcess = spawn(process.execPath, [ORGATE, "up", "--port", "0", "--json"], {
    cwd: project,
    env,
    stdio: ["ignore", "pipe", "ignore"],
  });
  if (server.stdout === null || server.pid === undefined) throw new Error("no server");
  await once(server.stdout, "data");
  const [wall, cpu] = [performance.now() - began, cpuOf(server.pid)];
  await sleep(IDLE_MS); // views and the like settle
  const before = cpuOf(server.pid);
  await sleep(IDLE_MS);
  const idle = cpuOf(server.pid) - before;
  const rss = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, "utf8"))?.[1]) / 1_024;
  server.kill("SIGKILL");
  await once(server, "exit");
  return { wall, cpu, rss, idle };
}

/** Of all its threads, in milliseconds. */
function cpuOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

const lineOf = (label: string, all: readonly Served[]): Line => {
  const [last] = all.slice(-1);
  return {
    label,
    cpu: spread(all.map(({ cpu }) => cpu)),
    wall: spread(all.map(({ wall }) => wall)),
    ratio: null,
    more: `${digits(last?.rss ?? Number.NaN)} MiB, ${digits(last?.idle ?? Number.NaN)} ms of CPU in ${IDLE_MS / 1_000} s of waiting`,
  };
};

export const manySchedules = ({ rounds, schedules }: { readonly rounds: number; readonly schedules: number }): Promise<Report> =>
  inFolder(async (folder) => {
    const env = { PATH: process.env["PATH"], ORGATE_HOME: join(folder, "home"), NODE_COMPILE_CACHE: join(folder, "cache") };
    const run = (cwd: string, ...args: readonly string[]) => {
      const { status, stdout, stderr } = spawnSync(process.execPath, [ORGATE, ...args], { cwd, env, encoding: "utf8", maxBuffer: 2 ** 26 });
      if (status !== 0) throw new Error(stderr);
      return stdout;
    };
    mkdirSync(folder, { recursive: true });
    run(folder, "init", "p", "--profile", "minimal", "--yes");
    const project = join(folder, "p");
    const several = async (): Promise<readonly Served[]> => {
      const all: Served[] = [];
      for (let round = 0; round < rounds; round += 1) all.push(await served(project, env));
      return all;
    };
    await served(project, env); // fills caches
    const none = await several();
    write(project, schedules);
    const first = [await served(project, env)];
    const again = await several();
    const began = performance.now();
    const listed: unknown = JSON.parse(run(project, "schedules", "list", "--json"));
    const list = performance.now() - began;
    if (!Array.isArray(listed) || listed.length !== schedules) throw new Error("they are not all on record");
    return {
      name: "schedules",
      title: `orgate up, with ${schedules} schedules of which none is due`,
      unit: "ms until it answers",
      by: "cpu",
      lines: [lineOf("none (floor)", none), lineOf("declared for the first time", first), lineOf("started again", again)],
      aims: [],
      notes: [`orgate schedules list --json: ${digits(list)} ms`],
    };
  });
