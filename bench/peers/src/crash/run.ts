/**
 * W5 and W6: every framework, every case, killed and taken up again.
 *   node bench/peers/src/crash/run.ts [--peers a,b] [--cases a,b] [--runs 3] [--jobs 3] [--json]
 * A run of the whole matrix writes docs/benchmarks/crash.json; a part of it only prints.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { CrashRow } from "../crash-row.ts";
import { CASES, type Case } from "./cases.ts";
import { drivers, type Peer, versionOf } from "./drivers.ts";
import { type Finding, noteOf } from "./judge.ts";
import { control, crash } from "./matrix.ts";
import { openStand, type Stand } from "./stand.ts";

const OUT = join(import.meta.dirname, "../../../../docs/benchmarks/crash.json");
const TOTAL_MS = 600_000;

const { values } = parseArgs({
  options: {
    peers: { type: "string" },
    cases: { type: "string" },
    runs: { type: "string", default: "3" },
    jobs: { type: "string", default: "3" },
    json: { type: "boolean", default: false },
  },
});

/** All of them, or those that are named; a name that nobody has is an error. */
function pick<T extends { readonly name: string }>(all: readonly T[], names: string | undefined): readonly T[] {
  if (names === undefined) return all;
  return names.split(",").map((name) => {
    const found = all.find((one) => one.name === name);
    if (found === undefined) throw new Error(`there is no \`${name}\`: ${all.map((one) => one.name).join(", ")}`);
    return found;
  });
}

async function measure(stand: Stand, peer: Peer, crashed: Case, runs: number): Promise<CrashRow> {
  await control(stand, peer.name, crashed);
  const findings: Finding[] = [];
  for (let i = 0; i < runs; i += 1) findings.push(await crash(stand, peer.name, crashed));
  const most = (of: (f: Finding) => number): number => Math.max(...findings.map(of));
  return {
    peer: peer.title,
    version: versionOf(peer),
    case: crashed.point,
    workload: crashed.workload,
    lost: findings.some(({ lost }) => lost),
    effectsDoubled: most((f) => f.effectsDoubled),
    callsRepeated: most((f) => f.callsRepeated),
    note: noteOf(findings, peer.remark?.(crashed) ?? null),
    runs,
  };
}

const peers = pick(drivers, values.peers);
const cases = pick(CASES, values.cases);
const runs = Number(values.runs);
const say = (text: string): void => void process.stderr.write(`${text}\n`);

const stand = await openStand();
const bound = setTimeout(() => {
  say(`the matrix took longer than ${TOTAL_MS / 60_000} minutes and was ended`);
  process.exit(1);
}, TOTAL_MS);
bound.unref();

for (const { prepare } of peers) if (prepare !== undefined) stand.addEnv(prepare(stand.scratch));
const began = performance.now();
const rows: CrashRow[] = [];
const failures: string[] = [];
// Interleaved by case, so that a busy minute of the machine does not fall on one framework alone.
const queue = cases.flatMap((crashed) => peers.map((peer) => ({ peer, crashed })));
async function work(): Promise<void> {
  for (let job = queue.shift(); job !== undefined; job = queue.shift()) {
    const { peer, crashed } = job;
    try {
      const row = await measure(stand, peer, crashed, runs);
      rows.push(row);
      say(
        `${crashed.name.padEnd(9)} ${row.peer.padEnd(42)} lost ${row.lost}  doubled ${row.effectsDoubled}  repeated ${row.callsRepeated}  ${row.note}`,
      );
    } catch (error) {
      failures.push(`${crashed.name}, ${peer.title}: ${error instanceof Error ? error.message : String(error)}`);
      say(`${crashed.name.padEnd(9)} ${peer.title.padEnd(42)} FAILED ${failures.at(-1)}`);
    }
  }
}
await Promise.all(Array.from({ length: Number(values.jobs) }, work));
await stand.close();
clearTimeout(bound);

const place = (row: CrashRow): number =>
  peers.findIndex(({ title }) => title === row.peer) * CASES.length +
  CASES.findIndex(({ point, workload }) => point === row.case && workload === row.workload);
rows.sort((a, b) => place(a) - place(b));
if (values.json) console.log(JSON.stringify(rows, null, 2));
say(`${rows.length} cells of ${runs} runs in ${Math.round((performance.now() - began) / 1_000)} s`);
if (failures.length > 0) {
  say(`${failures.length} cell(s) prove nothing:\n${failures.join("\n")}`);
  process.exitCode = 1;
} else if (values.peers === undefined && values.cases === undefined) {
  mkdirSync(join(OUT, ".."), { recursive: true });
  writeFileSync(OUT, `${JSON.stringify(rows, null, 2)}\n`);
}
