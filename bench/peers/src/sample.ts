/**
 * One process, one framework, one workload: `node sample.ts VARIANT WORKLOAD [--quick] [--mid]`. Says one line of JSON per cell on its fourth
 * descriptor, so that what a framework prints is in nobody's way.
 * Rule: X-1.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { zstdDecompressSync } from "node:zlib";
import type { Open, Opened, Usage } from "./adapter.ts";
import { VARIANTS, type Variant } from "./catalogue.ts";
import { MID_RUN, type Plan, planOf, type WorkloadId } from "./plan.ts";
import { memory, resetPeak, writtenBy } from "./process.ts";
import type { Cell, Figures, Told } from "./results.ts";
import { resultOf, tracesOf, workOf } from "./workload.ts";

const say = (told: Told): void => void writeSync(3, `${JSON.stringify(told)}\n`);

function ownUsage(): Usage {
  const { user, system } = process.cpuUsage();
  return { cpuUs: user + system, written: writtenBy("self") };
}

async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(process.env.ORGATE_BENCH_DIR ?? tmpdir(), "orgate-peers-"));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export function bytesUnder(folder: string): number {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
}

async function loops(opened: Opened, runs: number, sessions: number): Promise<string[]> {
  const texts: string[] = [];
  for (let i = 0; i < runs; i += 1) {
    if (sessions === 1) texts.push(await opened.run());
    else texts.push(...(await Promise.all(Array.from({ length: sessions }, () => opened.run()))));
  }
  return texts;
}

const warm = (open: Open, iterations: number, policies: number): Promise<void> =>
  inFolder(async (folder) => {
    const work = workOf(10);
    const opened = await open({ work, folder, policies, pause: null });
    const runs = Math.ceil(iterations / 10);
    const texts = await loops(opened, runs, 1);
    await opened.settle?.();
    work.check(runs, texts);
    await opened.close();
  });

/** What a store takes that has seen one iteration: tables, indexes and a log are there by then. */
const emptyStore = (open: Open): Promise<number> =>
  inFolder(async (folder) => {
    const opened = await open({ work: workOf(1), folder, policies: 1, pause: null });
    await opened.run();
    await opened.settle?.();
    await opened.close();
    return bytesUnder(folder);
  });

type Effort = Readonly<{ runs: number; sessions: number; empty: number }>;
const measure = (open: Open, cell: Cell, { runs, sessions, empty }: Effort): Promise<Figures> =>
  inFolder(async (folder) => {
    const work = workOf(cell.n);
    const opened = await open({ work, folder, policies: cell.policies, pause: null });
    const place = opened.folder ?? folder;
    const base = opened.folder === undefined ? empty : bytesUnder(place);
    const usage = opened.usage ?? ownUsage;
    globalThis.gc?.();
    resetPeak();
    const ours = opened.usage === undefined;
    const rssBefore = ours ? (memory()?.now ?? null) : null;
    const before = usage();
    const began = performance.now();
    const texts = await loops(opened, runs, sessions);
    const wall = performance.now() - began;
    const after = usage();
    const rssPeak = ours ? (memory()?.peak ?? null) : null;
    await opened.settle?.();
    work.check(runs * sessions, texts);
    await opened.close();
    const units = runs * sessions * cell.n;
    const stored = bytesUnder(place);
    return {
      units,
      cpuUs: (after.cpuUs - before.cpuUs) / units,
      wallUs: (wall * 1_000) / units,
      written: after.written === null || before.written === null ? null : (after.written - before.written) / units,
      disk: stored === 0 ? null : (stored - base) / units,
      rssBefore,
      rssPeak,
    };
  });

/** Decisions like those of the loop, and nothing else. */
const decide = (open: Open, policies: number, { decisions, warmUp }: Plan): Promise<Figures | null> =>
  inFolder(async (folder) => {
    const opened = await open({ work: workOf(10), folder, policies, pause: null });
    if (opened.decide === undefined) return null;
    await opened.decide(warmUp);
    globalThis.gc?.();
    const before = ownUsage();
    const began = performance.now();
    await opened.decide(decisions);
    const wall = performance.now() - began;
    const cpuUs = (ownUsage().cpuUs - before.cpuUs) / decisions;
    await opened.close();
    return { units: decisions, cpuUs, wallUs: (wall * 1_000) / decisions, written: null, disk: null, rssBefore: null, rssPeak: null };
  });

/** At the beginning of call N/2 the results before it are finished: how many are in the files? */
const midRun = (open: Open): Promise<Told> =>
  inFolder(async (folder) => {
    const half = MID_RUN / 2;
    const place: { folder: string } = { folder };
    let found: number | null = null;
    const look = (): void => {
      found = foundIn(place.folder, half - 1);
    };
    const work = workOf(MID_RUN, (n) => {
      if (n === half) look();
    });
    const opened = await open({ work, folder, policies: 1, pause: { at: half, look } });
    place.folder = opened.folder ?? folder;
    const texts = await loops(opened, 1, 1);
    await opened.settle?.();
    work.check(1, texts);
    await opened.close();
    if (found === null) throw new Error("the run never came half-way");
    return { kind: "mid-run", what: "mid-run", n: MID_RUN, policies: 1, finished: half - 1, found };
  });

export function foundIn(folder: string, results: number): number {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const text = files.map(({ parentPath, name }) => unpacked(readFileSync(join(parentPath, name), "latin1"))).join("\n");
  let found = 0;
  for (let n = 1; n <= results; n += 1) if (tracesOf(n).some((trace) => text.includes(trace))) found += 1;
  return found;
}

/** eve's world keeps values as `zstd` and a frame, in base64 in its JSON. */
function unpacked(text: string): string {
  const frames = [...text.matchAll(/enN0ZCi1L[A-Za-z0-9+/]+=*/g)];
  return [text, ...frames.map(([found]) => zstdDecompressSync(Buffer.from(found, "base64").subarray(4)).toString("latin1"))].join("\n");
}

async function sample(
  { in: takesPart, skip = {}, decisionsOnly, ungated, load }: Variant,
  workload: Exclude<WorkloadId, "W4">,
  quick: boolean,
): Promise<void> {
  if (!takesPart.includes(workload)) throw new Error(`it takes no part in ${workload}`);
  const open = await load();
  const plan = planOf(workload, quick);
  resultOf(1); // the pool of words is made before anything is measured
  for (const policies of ungated ? plan.policies.slice(0, 1) : plan.policies) {
    if (workload === "W7" && !ungated) {
      const figures = await decide(open, policies, plan);
      if (figures !== null) say({ kind: "figures", what: "decision", n: 1, policies, ...figures });
      if (decisionsOnly) continue;
    }
    await warm(open, plan.warmUp, policies);
    const empty = workload === "W2" ? await emptyStore(open) : 0;
    for (const { n, runs } of plan.sizes) {
      if (skip[`${workload}:${n}`] !== undefined) continue;
      const cell = { what: "loop", n, policies } as const;
      say({ kind: "figures", ...cell, ...(await measure(open, cell, { runs, sessions: plan.sessions, empty })) });
    }
  }
}

if (import.meta.main) {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { quick: { type: "boolean", default: false }, mid: { type: "boolean", default: false } },
  });
  const [id, workload] = positionals;
  const variant = VARIANTS.find((v) => v.id === id);
  if (variant === undefined) throw new Error(`there is no variant \`${id}\``);
  if (workload !== "W1" && workload !== "W2" && workload !== "W3" && workload !== "W7")
    throw new Error(`there is no workload \`${workload}\``);
  process.on("SIGTERM", () => process.exit(1)); // `exit` is what a server started here is ended by
  if (values.mid) say(await midRun(await variant.load()));
  else await sample(variant, workload, values.quick);
  process.exit(0); // some frameworks keep timers
}
