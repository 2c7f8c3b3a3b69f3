/** One lie per fact that policies read, each against the tests that must notice it: node scripts/long/mutants.ts [--only TEXT]. Fails when one is not noticed. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { MUTANTS } from "./mutants/list.ts";

const ROOT = join(import.meta.dirname, "../..");
const { values } = parseArgs({ options: { only: { type: "string", default: "" } } });
const chosen = MUTANTS.filter(({ lie }) => lie.includes(values.only));
let survived = 0;
for (const { lie, tests } of chosen) {
  const args = ["vitest", "run", "--config", "scripts/long/mutants/vitest.config.ts", "--bail", "1", ...tests];
  const run = spawnSync("npx", args, { cwd: ROOT, encoding: "utf8", env: { ...process.env, ORGATE_MUTANT: lie } });
  const said = stripColours(run.stderr);
  const isSlow = /Test timed out in/.test(said); // a busy machine is no proof: the lie was not what failed
  const noticed = isSlow ? null : (/FAIL\s.*? > (.*)/.exec(said)?.[1] ?? null);
  if (noticed === null) survived += 1;
  console.log(
    noticed === null
      ? `${isSlow ? "TIMED OUT" : "SURVIVED"}  ${lie}${run.status === 0 ? "" : `\n${run.stderr.slice(-2_000)}`}`
      : `noticed   ${lie}: ${noticed}`,
  );
}
console.log(`${chosen.length} lies, ${survived} not noticed`);
process.exitCode = chosen.length === 0 || survived > 0 ? 1 : 0;

function stripColours(text: string): string {
  return text.replace(/\u001b\[[0-9;]*m/g, "");
}
