// `node scripts/long/symbi-fuzz.ts [COUNT] [SEED]`: the long form of the fuzz of the .symbi language; writes docs/results/symbi-fuzz.md.
import { spawnSync } from "node:child_process";
import { join } from "node:path";

const run = join(import.meta.dirname, "../../packages/symbi/src/fixtures/fuzz-run.ts");
process.exitCode = spawnSync(process.execPath, [run, ...process.argv.slice(2)], { stdio: "inherit" }).status ?? 1;
