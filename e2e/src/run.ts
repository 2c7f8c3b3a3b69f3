/**
 * End to end, with real processes: `npm run e2e`, `npm run e2e -- --long`. `--seed N` repeats a run's random choices, `--only TEXT` runs the
 * suites whose name holds it. The long form leaves its result in docs/results/e2e.txt.
 */
import { writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { consoleFlows, consoleWatch } from "./console/suites.ts";
import { openStand } from "./stand/stand.ts";
import type { Suite } from "./suite.ts";
import { answerCrashes } from "./suites/answer-crashes.ts";
import { answers } from "./suites/answers.ts";
import { brokenBuilds } from "./suites/broken-builds.ts";
import { delegates } from "./suites/delegates.ts";
import { diskFull } from "./suites/disk-full.ts";
import { failures } from "./suites/failures.ts";
import { freshProject } from "./suites/fresh-project.ts";
import { halts } from "./suites/halts.ts";
import { killPoints } from "./suites/kill-points.ts";
import { neighbours } from "./suites/neighbours.ts";
import { parkedSessions } from "./suites/parked.ts";
import { randomKills } from "./suites/random-kills.ts";
import { seals } from "./suites/seals.ts";
import { served } from "./suites/served.ts";
import { stopped } from "./suites/stopped-holder.ts";

const SUITES: readonly Suite[] = [
  killPoints,
  seals,
  randomKills,
  brokenBuilds,
  stopped,
  neighbours,
  diskFull,
  answers,
  answerCrashes,
  halts,
  failures,
  parkedSessions,
  delegates,
  served,
  freshProject,
  consoleFlows,
  consoleWatch,
];

/** These keep both cores busy by themselves; the others mostly wait, one process at a time. */
const BUSY: ReadonlySet<Suite> = new Set([killPoints, seals, randomKills, brokenBuilds, answerCrashes]);

const { values } = parseArgs({
  options: { long: { type: "boolean", default: false }, seed: { type: "string" }, only: { type: "string", default: "" } },
});
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
if (!Number.isSafeInteger(seed)) throw new Error("--seed takes a whole number");
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130)); // so that the stand is cleaned up

/** Every child has a limit of its own; this one catches everything else. */
const MOST_MINUTES = values.long ? 60 : 14;
setTimeout(() => {
  console.error(`still not done after ${MOST_MINUTES} minutes`);
  process.exit(1);
}, MOST_MINUTES * 60_000).unref();

const told: string[] = [];
const say = (text: string): void => {
  console.log(text);
  told.push(text);
};
const seconds = (from: number): string => `${((performance.now() - from) / 1_000).toFixed(1)} s`;

const began = performance.now();
let passed = 0;
let failed = 0;
say(`e2e, ${values.long ? "long" : "short"} form, seed ${seed}, ${cpus().length} cores, node ${process.version}`);
const stand = await openStand();
const wanted = SUITES.filter(({ name }) => name.includes(values.only));
if (wanted.length === 0) {
  console.error(`no suite is called like \`${values.only}\`; there are:\n${SUITES.map(({ name }) => `  ${name}`).join("\n")}`);
  process.exit(2);
}
try {
  // The long form runs suites one by one, so that nothing disturbs its measurements. The short form uses the cores while a suite waits.
  if (values.long) for (const suite of wanted) await runSuite(suite);
  else {
    const tracks = [wanted.filter((suite) => BUSY.has(suite)), wanted.filter((suite) => !BUSY.has(suite))] as const;
    await Promise.all([runTrack(tracks[0], tracks[1]), runTrack(tracks[1], tracks[0])]);
  }
} finally {
  const processes = stand.started();
  await stand.close();
  say(`\n${processes} processes in ${seconds(began)}`);
}

/** Runs its own suites first, then those that the other track has not started. */
async function runTrack(own: Suite[], other: Suite[]): Promise<void> {
  for (let suite = own.shift() ?? other.pop(); suite !== undefined; suite = own.shift() ?? other.pop()) await runSuite(suite);
}

/** Two suites run at a time, so the output of each is printed in one piece. */
async function runSuite(suite: Suite): Promise<void> {
  const from = performance.now();
  const lines = [`\n${suite.name}`];
  const count = { passed: 0, failed: 0 };
  const judge = async (name: string, find: () => Promise<readonly string[]>): Promise<void> => {
    const found = await find().catch((error: unknown) => [error instanceof Error ? error.message : String(error)]);
    count[found.length === 0 ? "passed" : "failed"] += 1;
    if (found.length > 0) lines.push(`  FAILED ${name}\n${found.map((f) => `    ${f}`).join("\n")}`);
  };
  const bench = { stand, seed, long: values.long, judge, say: (text: string) => void lines.push(`  ${text}`) };
  await suite.run(bench).catch((error: unknown) => judge(suite.name, () => Promise.reject(error)));
  passed += count.passed;
  failed += count.failed;
  say([...lines, `  ${count.passed} passed, ${count.failed} failed in ${seconds(from)}`].join("\n"));
}
say(`${passed} passed, ${failed} failed`);
if (values.long && values.only === "") writeFileSync(join(import.meta.dirname, "../../docs/results/e2e.txt"), `${told.join("\n")}\n`);
process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
