/** The long form of the fuzz of contracts: node scripts/long/fuzz.ts [--cases 10000000] [--seed N] [--write]. `--write` makes docs/results/contract-fuzz.md. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";

const run = join(import.meta.dirname, "../../packages/orgate/src/runtime/fixtures/contract-fuzz-run.ts");
process.exitCode = spawnSync(process.execPath, [run, ...process.argv.slice(2)], { stdio: "inherit" }).status ?? 1;
