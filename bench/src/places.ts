/** Runtimes of their own, in folders that are gone afterwards. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime, type Principal, type Runtime, type RuntimeOptions, sha256, tableGate } from "orgate";
import { agent, countingModel, PERMIT_ALL } from "./workload.ts";

export const USER: Principal = { kind: "user", id: "bench" };

/** ORGATE_BENCH_DIR: another disk than that of the temporary folder. */
export function temporaryFolder(): string {
  return mkdtempSync(join(process.env.ORGATE_BENCH_DIR ?? tmpdir(), "orgate-bench-"));
}

export async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = temporaryFolder();
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export type Bench = Readonly<{
  directory: string;
  runtime: Runtime;
  /** One session of so many iterations; throws unless it went through all of them. */
  session(iterations: number): Promise<void>;
}>;

export async function openBench(directory: string, options: Pick<RuntimeOptions, "powerCut" | "thread">): Promise<Bench> {
  let due = 0; // asked for once per run, when the run is set up
  const runtime = await createRuntime({
    directory,
    agents: [agent],
    gate: tableGate(PERMIT_ALL, sha256),
    principal: USER,
    model: () => countingModel(due),
    ...options,
  });
  return {
    directory,
    runtime,
    async session(iterations) {
      due = iterations;
      checkRun(await runtime.run("bench", "go").result, iterations);
    },
  };
}

export function checkRun(result: { readonly ending: string | null; readonly calls: number }, iterations: number): void {
  if (result.ending !== "completed" || result.calls !== iterations)
    throw new Error(`a run of ${iterations} iterations made ${result.calls} calls and ended ${result.ending}`);
}
