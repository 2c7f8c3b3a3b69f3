/**
 * `npm run bench`: every benchmark with its floor beside it, in one run.
 * node bench/src/run.ts [--only NAME] [--json] [--quick]
 */
import { loadavg } from "node:os";
import { parseArgs } from "node:util";
import { clusterDriven } from "./cluster/driven.ts";
import { clusterLoop } from "./cluster/loop.ts";
import { clusterWake } from "./cluster/wake.ts";
import { growth } from "./growth/growth.ts";
import type { Effort } from "./measure.ts";
import { type Report, toText } from "./report.ts";
import { concurrent, thousand } from "./suites/concurrent.ts";
import { consoleSession } from "./suites/console.ts";
import { contracts } from "./suites/contracts.ts";
import { chatRoundTrip, fanOut, reads } from "./suites/coordinator.ts";
import { gateCold, gateHits, gateLoop, gateMillion, gateMix } from "./suites/gate.ts";
import { mcpCalls } from "./suites/mcp.ts";
import { memoryLoop } from "./suites/memory-loop.ts";
import { middlewareLoop } from "./suites/middleware-loop.ts";
import { modelCalls, modelStreams } from "./suites/models.ts";
import { resume } from "./suites/resume.ts";
import { sandboxed } from "./suites/sandbox.ts";
import { manySchedules } from "./suites/schedules.ts";
import { shell } from "./suites/shell.ts";
import { sqliteFull, sqliteOff } from "./suites/sqlite-loop.ts";
import { start } from "./suites/start.ts";
import { symbiAgents, symbiStart } from "./suites/symbi.ts";
import { trimming } from "./suites/trimming.ts";
import { turns } from "./suites/turns.ts";
import { verifying } from "./suites/verify.ts";

const { values } = parseArgs({
  options: { only: { type: "string" }, json: { type: "boolean", default: false }, quick: { type: "boolean", default: false } },
});
const { quick, json, only } = values;
const effort: Effort = quick ? { rounds: 3, warmUps: 1 } : { rounds: 9, warmUps: 2 };
const iterations = 1_000;

const BENCHMARKS: Readonly<Record<string, () => Promise<Report>>> = {
  "memory-loop": () => memoryLoop({ effort, iterations }),
  middleware: () => middlewareLoop({ effort, iterations }),
  trimming: () => trimming({ effort }),
  "sqlite-off": () => sqliteOff({ effort, iterations }),
  "sqlite-full": () => sqliteFull({ effort, iterations }),
  "gate-cold": () => gateCold({ effort, decisions: quick ? 500 : 2_000 }),
  "gate-hits": () => gateHits({ effort, decisions: quick ? 20_000 : 200_000 }),
  "gate-mix": () => gateMix({ decisions: quick ? 5_000 : 50_000 }),
  "gate-million": () => gateMillion({ decisions: quick ? 50_000 : 1_000_000 }),
  "gate-loop": () => gateLoop({ effort, iterations }),
  contracts: () => contracts({ effort, calls: quick ? 5_000 : 50_000 }),
  concurrent: () => concurrent({ effort: quick ? effort : { rounds: 5, warmUps: 1 }, sessions: quick ? 20 : 100 }),
  thousand: () => thousand({ rounds: quick ? 1 : 3, sessions: quick ? 200 : 1_000 }),
  models: () => modelCalls({ effort, calls: quick ? 50 : 200 }),
  "model-streams": () => modelStreams({ rounds: quick ? 1 : 3, streams: 500 }),
  mcp: () => mcpCalls({ effort, calls: quick ? 200 : 1_000 }),
  sandbox: () => sandboxed({ effort, runs: quick ? 10 : 50 }),
  "fan-out": () => fanOut({ subscribers: quick ? 100 : 1_000, entries: quick ? 50 : 200, perSecond: 20, rounds: quick ? 1 : 3 }),
  chat: () => chatRoundTrip({ turns: quick ? 20 : 200, rounds: 1 }),
  reads: () => reads({ requests: quick ? 500 : 5_000, atOnce: 32, rounds: quick ? 2 : 5 }),
  resume: () => resume({ effort, events: quick ? 2_000 : 10_000 }),
  turns: () => turns({ turns: quick ? 500 : 2_000 }),
  verify: () => verifying({ effort, entries: quick ? 2_000 : 10_000 }),
  growth: () => growth({ effort: quick ? effort : { rounds: 5, warmUps: 1 }, small: quick ? 50 : 170, large: quick ? 500 : 20_000 }),
  console: () => consoleSession({ rounds: quick ? 2 : 7 }),
  symbi: () => symbiAgents({ effort, agents: quick ? 100 : 1_000 }),
  "symbi-start": () => symbiStart({ rounds: quick ? 2 : 7 }),
  schedules: () => manySchedules({ rounds: quick ? 1 : 3, schedules: quick ? 1_000 : 10_000 }),
  start: () => start({ rounds: quick ? 2 : 7 }),
  "cluster-loop": () =>
    clusterLoop(
      quick
        ? { rounds: 1, sessions: 10, iterations: 10, workers: [1, 2], steps: true }
        : { rounds: 3, sessions: 50, iterations: 10, workers: [1, 2, 4], steps: true },
    ),
  "cluster-driven": () =>
    clusterDriven(
      quick
        ? { rounds: 1, sessions: 10, iterations: 10, workers: [1, 2] }
        : { rounds: 3, sessions: 50, iterations: 20, workers: [1, 2, 4] },
    ),
  "cluster-wake": () =>
    clusterWake(quick ? { parked: 50, approvals: 20, held: 3, kills: 1 } : { parked: 10_000, approvals: 100, held: 10, kills: 2 }),
  shell: () => shell({ rounds: quick ? 2 : 7, keys: quick ? 50 : 300 }),
};

/** Some are asked for together. */
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  symbi: ["symbi", "symbi-start"],
  models: ["models", "model-streams"],
  cluster: ["cluster-loop", "cluster-driven", "cluster-wake"],
  coordinator: ["fan-out", "chat", "reads"],
};
/** Those that need servers of `e2e/cluster` run when they are asked for. */
const isAlone = (name: string): boolean => !name.startsWith("cluster");
const chosen = only === undefined ? Object.keys(BENCHMARKS).filter(isAlone) : (GROUPS[only] ?? [only]);
const unknown = chosen.find((name) => BENCHMARKS[name] === undefined);
if (unknown !== undefined) {
  console.error(`there is no benchmark \`${unknown}\`: use one of ${Object.keys(BENCHMARKS).join(", ")}`);
  process.exitCode = 1;
} else {
  const reports: Report[] = [];
  if (!json)
    console.log(
      `Node ${process.version}, load ${loadavg()
        .map((l) => l.toFixed(1))
        .join(" ")}; median [least–most] of the rounds`,
    );
  for (const name of chosen) {
    const report = await BENCHMARKS[name]?.();
    if (report === undefined) continue;
    reports.push(report);
    if (!json) console.log(toText(report));
  }
  if (json) console.log(JSON.stringify({ node: process.version, load: loadavg(), quick, reports }, null, 2));
}
