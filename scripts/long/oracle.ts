/** The long form of the gate's oracle: node scripts/long/oracle.ts [--cases 100000] [--seed N] [--write]. `--write` makes docs/results/gate-oracle.md. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";

const run = join(import.meta.dirname, "../../packages/orgate/src/runtime/fixtures/gate-oracle-run.ts");
process.exitCode = spawnSync(process.execPath, [run, ...process.argv.slice(2)], { stdio: "inherit" }).status ?? 1;
