/** The work inside the server's process. How many iterations are due is told by a file; counts are written to another when SIGUSR2 asks for them. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { type Work, workOf } from "./workload.ts";

const desk = process.env.BENCH_DESK ?? "";

type Shared = { benchWork?: Work };
const shared: Shared = globalThis;

/** One per process, however often the bundler has put this file into its output. */
function open(): Work {
  if (shared.benchWork !== undefined) return shared.benchWork;
  const due = () => Number(readFileSync(`${desk}/iterations`, "utf8"));
  let [iterations, asked, effects] = [0, 0, 0];
  const reread = () => {
    iterations = due();
    [asked, effects] = [0, 0];
  };
  if (existsSync(`${desk}/iterations`)) reread();
  process.on("SIGUSR2", () => {
    writeFileSync(`${desk}/counts`, JSON.stringify({ asked, effects }));
    reread();
  });
  const inner = (): Work => workOf(iterations);
  shared.benchWork = {
    get iterations() {
      return iterations;
    },
    ask(newest) {
      asked += 1;
      return inner().ask(newest);
    },
    effect(args) {
      effects += 1;
      return inner().effect(args);
    },
    tally: () => {},
    check: () => {},
  };
  return shared.benchWork;
}

export const work: Work = open();

/** The mid-run check: stands still until whoever looks has looked. */
export async function pauseAt(n: number): Promise<void> {
  if (process.env.BENCH_PAUSE_AT !== String(n)) return;
  writeFileSync(`${desk}/paused`, "");
  while (!existsSync(`${desk}/go-on`)) await sleep(10);
}
