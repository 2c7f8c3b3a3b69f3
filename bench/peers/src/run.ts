/**
 * `npm run bench:peers`: installs what is measured, measures it, writes docs/benchmarks.
 *   -- --samples 5 --only W1,W3 --peers orgate,pi --quick --json --resume --out DIR --page
 * `--quick` (one round, small sizes) is for trying things and writes nothing unless told where. `--page` only writes the page again.
 *
 * Every cell has a process of its own per round; in a round all take their turn, and the order turns with the round
 * A run that was broken off is taken up with `--resume`, and only where it measures the same
 */
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, cpus, loadavg, release, tmpdir, totalmem, type } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { VARIANTS } from "./catalogue.ts";
import type { CrashRow } from "./crash-row.ts";
import { install } from "./install.ts";
import { pageOf } from "./page.ts";
import { PATIENCE_MS, WORKLOADS, type WorkloadId } from "./plan.ts";
import { cpuUsOf } from "./process.ts";
import { decodeResults, type Results, type Sample, type Told } from "./results.ts";
import { STARTS, sampleStart, sizeOf, versionOf } from "./starts.ts";

const HERE = join(import.meta.dirname, "..");
const ROOT = join(HERE, "..", "..");

/** The crash matrix has a program of its own; it writes crash.json beside the results. */
const CRASH: readonly string[] = ["W5", "W6"];

type Task = Readonly<{ workload: WorkloadId; variant: string; round: number; mid: boolean }>;
type Options = Readonly<{ samples: number; only: readonly WorkloadId[]; peers: readonly string[] | null; quick: boolean }>;

/** Patience is counted in CPU time, so that a busy machine ends nobody; in wall time it is so many times as long. */
const BUSY_MACHINE = 5;

/** Nobody reports to anybody while it is measured. */
const QUIET: NodeJS.ProcessEnv = {
  NODE_ENV: "production",
  LANGSMITH_TRACING: "false",
  LANGCHAIN_TRACING_V2: "false",
  MASTRA_TELEMETRY_DISABLED: "1",
  OPENAI_AGENTS_DISABLE_TRACING: "1",
  OTEL_SDK_DISABLED: "true",
  EVE_TELEMETRY_DISABLED: "1",
  VOLTAGENT_TELEMETRY_DISABLED: "true",
  DO_NOT_TRACK: "1",
};

const key = ({ workload, variant, round, mid }: Task): string => `${workload} ${variant} ${round + 1}${mid ? " mid-run" : ""}`;

export function tasksOf({ samples, only, peers, quick }: Options): readonly Task[] {
  const rounds = quick ? 1 : samples;
  const tasks: Task[] = [];
  for (let round = 0; round < rounds; round += 1)
    for (const workload of WORKLOADS.filter((w) => only.includes(w))) {
      const all = workload === "W4" ? STARTS : VARIANTS.filter((v) => v.in.includes(workload));
      const chosen = all.filter(({ peer }) => peers === null || peers.includes(peer)).map(({ id }) => id);
      const turned = chosen.map((_, i) => chosen[(i + round) % chosen.length] ?? "");
      tasks.push(...turned.map((variant) => ({ workload, variant, round, mid: false })));
      if (workload === "W2" && round === 0) tasks.push(...chosen.map((variant) => ({ workload, variant, round, mid: true })));
    }
  return tasks;
}

/** What a run that was broken off has left: all that it has no sample of, and what failed. */
export function leftOf(tasks: readonly Task[], { samples }: Pick<Results, "samples">): readonly Task[] {
  const known = new Set(samples.filter(({ failure }) => failure === null).map(key));
  return tasks.filter((task) => !known.has(key(task)));
}

/** Throws where the two would not measure the same. */
export function takenUp(before: Results, now: Results): Results {
  if (before.digest !== now.digest || before.quick !== now.quick)
    throw new Error("what would be measured now is not what results.json holds: run without --resume");
  const samples = before.samples.filter(({ failure }) => failure === null);
  return { ...before, samples, rounds: Math.max(before.rounds, now.rounds), complete: false };
}

async function perform(task: Task, quick: boolean, env: NodeJS.ProcessEnv): Promise<Sample> {
  const began = performance.now();
  const { told, failure } = task.workload === "W4" ? startTold(task, env) : await childTold(task, quick, env);
  const { workload, variant, round, mid } = task;
  return { workload, variant, round, mid, told, failure, seconds: Math.round((performance.now() - began) / 100) / 10 };
}

type Outcome = Readonly<{ told: readonly Told[]; failure: string | null }>;

function startTold({ variant, round }: Task, env: NodeJS.ProcessEnv): Outcome {
  const start = STARTS.find(({ id }) => id === variant);
  if (start === undefined) return { told: [], failure: "there is no such start" };
  try {
    if (round === 0) sampleStart(start, env); // fills the page cache
    return { told: [sampleStart(start, env)], failure: null };
  } catch (error) {
    return { told: [], failure: error instanceof Error ? error.message : String(error) };
  }
}

async function childTold({ variant, workload, mid }: Task, quick: boolean, env: NodeJS.ProcessEnv): Promise<Outcome> {
  const flags = [...(quick ? ["--quick"] : []), ...(mid ? ["--mid"] : [])];
  const args = ["--expose-gc", "--max-old-space-size=8192", join(HERE, "src", "sample.ts"), variant, workload, ...flags];
  const child = spawn(process.execPath, args, { cwd: HERE, env, stdio: ["ignore", "ignore", "pipe", "pipe"] });
  const told: Told[] = [];
  let [complaint, late] = ["", false];
  const giveUp = (): void => {
    late = true;
    child.kill("SIGTERM"); // one that has started a server takes it along; one that is too busy to hear it is ended a little later
    setTimeout(() => child.kill("SIGKILL"), 5_000).unref();
  };
  let since = { at: performance.now(), cpuUs: 0 };
  const watch = setInterval(() => {
    const [wall, cpu] = [performance.now() - since.at, (cpuUsOf(child.pid ?? 0) - since.cpuUs) / 1_000];
    if (!late && (cpu > PATIENCE_MS || wall > PATIENCE_MS * BUSY_MACHINE)) giveUp();
  }, 1_000);
  child.stderr?.on("data", (text) => {
    complaint = `${complaint}${text}`.slice(-4_000);
  });
  const report = child.stdio[3];
  if (report === null || report === undefined || !("read" in report)) throw new Error("the child has no fourth descriptor");
  const lines = createInterface({ input: report });
  lines.on("line", (line) => {
    told.push(JSON.parse(line));
    since = { at: performance.now(), cpuUs: cpuUsOf(child.pid ?? 0) };
  });
  const [code] = await Promise.all([
    new Promise<number | null>((done) => child.on("close", done)),
    new Promise<void>((done) => lines.on("close", done)),
  ]);
  clearInterval(watch);
  if (late) return { told, failure: `over ${PATIENCE_MS / 1_000} s` };
  return { told, failure: code === 0 ? null : reasonIn(complaint, code) };
}

const reasonIn = (complaint: string, code: number | null): string =>
  /^(?:\w*Error|Uncaught)[^\n]*: ([^\n]*)/m.exec(complaint)?.[1]?.slice(0, 300) ??
  `exit ${code}: ${complaint.trim().split("\n").at(-1)?.slice(0, 300) ?? ""}`;

function digestNow(): string {
  const hash = createHash("sha256").update(process.version);
  for (const folder of [".", "voltagent", "strands", "eve"]) hash.update(readFileSync(join(HERE, folder, "package-lock.json")));
  hash.update(readFileSync(join(HERE, "node_modules", "orgate", ".bench-stamp")));
  for (const file of ["plan.ts", "workload.ts", "policies.ts"]) hash.update(readFileSync(join(HERE, "src", file)));
  return hash.digest("hex").slice(0, 16);
}

/** As git names it; "unknown" outside a checkout. */
function commitNow(): string {
  const git = (...args: readonly string[]): string => spawnSync("git", args, { cwd: ROOT, encoding: "utf8" }).stdout?.trim() ?? "";
  const commit = git("rev-parse", "--short=10", "HEAD");
  return commit === "" ? "unknown" : `${commit}${git("status", "--porcelain", "--untracked-files=no") === "" ? "" : "+"}`;
}

function fresh({ samples, quick }: Options): Results {
  const [load = 0] = loadavg();
  const names = [...new Set([...VARIANTS.map((v) => v.package), "@voltagent/libsql", "@mastra/libsql", "better-sqlite3"])];
  return {
    format: 1,
    complete: false,
    quick,
    date: new Date().toISOString().slice(0, 10),
    rounds: quick ? 1 : samples,
    machine: {
      cpu: cpus()[0]?.model.trim() ?? "unknown",
      cores: availableParallelism(),
      memoryGb: Math.round(totalmem() / 2 ** 30),
      system: `${type()} ${release().split("-")[0]}`,
      node: process.version,
    },
    load: { first: load, most: load },
    versions: Object.fromEntries(names.toSorted().map((name) => [name, versionOf(name)])),
    digest: digestNow(),
    commit: commitNow(),
    sizes: [],
    samples: [],
  };
}

/** Seconds left: what each has taken so far, or the mean of all. */
function secondsLeft(tasks: readonly Task[], done: readonly Sample[]): number {
  const taken = new Map<string, number>();
  for (const { workload, variant, seconds } of done)
    taken.set(`${workload} ${variant}`, Math.max(seconds, taken.get(`${workload} ${variant}`) ?? 0));
  const mean = done.reduce((sum, s) => sum + s.seconds, 0) / Math.max(1, done.length);
  return tasks.reduce((sum, { workload, variant, mid }) => sum + (mid ? 2 : (taken.get(`${workload} ${variant}`) ?? mean)), 0);
}

const clock = (seconds: number): string => `${Math.floor(seconds / 60)}:${String(Math.round(seconds % 60)).padStart(2, "0")}`;

function checkTypes(): void {
  const tsc = join(ROOT, "node_modules", "typescript", "bin", "tsc");
  const { status, stdout } = spawnSync(process.execPath, [tsc, "-p", HERE], { encoding: "utf8" });
  if (status !== 0) throw new Error(`bench/peers does not type-check:\n${stdout}`);
}

export function readCrashes(out: string): readonly CrashRow[] {
  const file = join(out, "crash.json");
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : [];
}

function writePage(out: string, results: Results): void {
  for (const [name, text] of Object.entries(pageOf(results, readCrashes(out)))) writeFileSync(join(out, name), text);
}

async function crashMatrix(say: (line: string) => void): Promise<void> {
  say("the crash matrix, W5 and W6");
  const child = spawn(process.execPath, [join(HERE, "src", "crash", "run.ts")], { stdio: ["ignore", "ignore", "inherit"] });
  const code = await new Promise((done) => child.on("close", done));
  if (code !== 0) say("the crash matrix is not complete: crash.json is as it was before");
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      samples: { type: "string", default: "5" },
      only: { type: "string", default: [...WORKLOADS, ...CRASH].join(",") },
      peers: { type: "string" },
      quick: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      resume: { type: "boolean", default: false },
      page: { type: "boolean", default: false },
      out: { type: "string" },
    },
  });
  const say = (line: string): void => console.error(line);
  const scratch = mkdtempSync(join(tmpdir(), "orgate-bench-"));
  const asked = values.out === undefined ? null : resolve(process.env.INIT_CWD ?? process.cwd(), values.out);
  const out = asked ?? (values.quick ? scratch : join(ROOT, "docs", "benchmarks"));
  mkdirSync(out, { recursive: true });
  const file = join(out, "results.json");
  if (values.page) return writePage(out, decodeResults(readFileSync(file, "utf8")));

  const names = values.only.split(",");
  const odd = names.find((name) => !CRASH.includes(name) && !WORKLOADS.some((w) => w === name));
  if (odd !== undefined) throw new Error(`there is no workload \`${odd}\`: ${[...WORKLOADS, ...CRASH].toSorted().join(", ")}`);
  const only = WORKLOADS.filter((workload) => names.includes(workload));
  const options: Options = { samples: Number(values.samples), only, peers: values.peers?.split(",") ?? null, quick: values.quick };
  install(say, options.peers);
  if (!values.quick) checkTypes();
  let results = fresh(options);
  if (values.resume && existsSync(file)) results = takenUp(decodeResults(readFileSync(file, "utf8")), results);
  const env: NodeJS.ProcessEnv = { ...process.env, ...QUIET, BENCH_EVE_APP: join(scratch, "eve") };
  const tasks = leftOf(tasksOf(options), results);
  const began = performance.now();
  try {
    for (const [i, task] of tasks.entries()) {
      const left = secondsLeft(tasks.slice(i), results.samples);
      const at = `[${i + 1}/${tasks.length}] ${key(task)}`;
      say(`${at.padEnd(44)} ${clock((performance.now() - began) / 1_000)} gone, about ${clock(left)} left`);
      const sample = await perform(task, options.quick, env);
      if (sample.failure !== null) say(`  ${sample.variant}: ${sample.failure}`);
      const [load = 0] = loadavg();
      results = { ...results, samples: [...results.samples, sample], load: { ...results.load, most: Math.max(results.load.most, load) } };
      writeFileSync(file, `${JSON.stringify(results)}\n`);
    }
    const sized = only.includes("W4")
      ? STARTS.filter(({ installs, peer }) => installs.length > 0 && (options.peers?.includes(peer) ?? true))
      : [];
    results = { ...results, complete: true, sizes: sized.length > 0 ? sized.map(sizeOf) : results.sizes };
    writeFileSync(file, `${JSON.stringify(results)}\n`);
    const crashes = !values.quick && values.peers === undefined && asked === null && CRASH.some((name) => names.includes(name));
    if (crashes) await crashMatrix(say);
    writePage(out, results);
    if (values.json) console.log(JSON.stringify(results));
    else console.log(readFileSync(join(out, "README.md"), "utf8"));
    say(
      `${results.samples.length} samples in ${clock((performance.now() - began) / 1_000)}${out === scratch ? "; a quick run writes nothing" : ""}`,
    );
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

if (import.meta.main) await main();
