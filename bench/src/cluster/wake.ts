/** A cluster of real processes on PostgreSQL: what parked sessions cost, how soon an approval wakes one, how soon a killed worker's turns go on. */
import { rmSync, writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { installServers } from "../../../e2e/cluster/src/install.ts";
import { startPostgres } from "../../../e2e/cluster/src/servers/postgres.ts";
import type { ServerProcess } from "../../../e2e/cluster/src/servers/process.ts";
import { spread } from "../measure.ts";
import { inFolder } from "../places.ts";
import { digits, type Line, type Report } from "../report.ts";
import { cpuOfTree, residentMb } from "./processes.ts";
import { type MeasuredProject, openProject } from "./project.ts";

type Size = Readonly<{ parked: number; approvals: number; held: number; kills: number }>;
const AIMS = { wakeP99Ms: 150, resumeMs: 3_000 } as const;
const IDLE_MS = 5_000;

export const clusterWake = ({ parked, approvals, held, kills }: Size): Promise<Report> =>
  inFolder(async (folder) => {
    installServers((line) => console.error(line));
    const postgres = await startPostgres();
    const project = await openProject(folder, postgres.url());
    try {
      let worker = await project.worker();
      const empty = await idle(worker, postgres);
      await project.park(parked);
      await worker.kill();
      worker = await project.worker();
      const full = await idle(worker, postgres);
      const wakes = await approveAll(project, await openSome(project, approvals));
      const resumed: number[] = [];
      for (let i = 0; i < kills; i += 1) {
        const { ms, next } = await killOne(project, worker, held);
        resumed.push(...ms);
        worker = next;
      }
      const [p50, p99] = [at(wakes, 0.5), at(wakes, 0.99)];
      const slowest = Math.max(...resumed);
      return {
        name: "cluster-wake",
        title: `a server and workers on PostgreSQL, default settings, ${parked} parked sessions`,
        unit: "µs",
        by: "wall",
        lines: [
          toLine(`an approval, sent until its call starts (n=${wakes.length})`, wakes, `p50 ${digits(p50)} ms, p99 ${digits(p99)} ms`),
          toLine(`a worker's death until another holds its session (n=${resumed.length})`, resumed, `slowest ${digits(slowest / 1_000)} s`),
        ],
        aims: [
          {
            what: "wake-up of an approval, p99",
            want: `at most ${AIMS.wakeP99Ms} ms`,
            got: `${digits(p99)} ms`,
            met: p99 <= AIMS.wakeP99Ms,
          },
          { what: "resume after a killed worker", want: "at most 3 s", got: `${digits(slowest / 1_000)} s`, met: slowest <= AIMS.resumeMs },
        ],
        notes: [
          `an idle worker: ${idleText(empty)} with nothing parked; ${idleText(full)} with ${parked} parked`,
          `load of the machine at the end: ${loadavg().map(digits).join(" ")}`,
        ],
      };
    } finally {
      await project.close();
      await postgres.stop();
    }
  });

const at = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) * share)] ?? Number.NaN;
const toLine = (label: string, ms: readonly number[], more: string): Line => ({
  ...{ label, cpu: null, wall: spread(ms.map((one) => one * 1_000)), ratio: null, more },
});

type Idle = Readonly<{ mb: number; cpuMs: number; databaseMs: number }>;
const idleText = ({ mb, cpuMs, databaseMs }: Idle): string =>
  `${digits(mb)} MB resident, ${digits(cpuMs)} ms of CPU a second, PostgreSQL ${digits(databaseMs)} ms`;

async function idle(worker: ServerProcess, postgres: ServerProcess): Promise<Idle> {
  await sleep(2_000); // what a start leaves behind
  const pids = [worker.pid() ?? 0, postgres.pid() ?? 0] as const;
  const before = pids.map(cpuOfTree);
  await sleep(IDLE_MS);
  const [own = 0, database = 0] = pids.map((pid, i) => (cpuOfTree(pid) - (before[i] ?? 0)) / IDLE_MS);
  return { mb: residentMb(pids[0]), cpuMs: own, databaseMs: database };
}

type Happened = Readonly<{ at: number; event: Readonly<{ kind: string; approval?: string; digest?: string }> }>;
type Events = Readonly<{ entries: readonly Happened[] }>;

/** Sessions whose approval a worker itself has asked for, as in practice. */
async function openSome(project: MeasuredProject, count: number): Promise<readonly string[]> {
  const opened: string[] = [];
  for (let i = 0; i < count; i += 1)
    opened.push((await project.ask<{ session: string }>("POST", "/agents/clerk/execute", { input: "wire", waitMs: 0 })).session);
  return opened;
}

/** All processes are of one machine and read one clock. */
async function approveAll(project: MeasuredProject, sessions: readonly string[]): Promise<readonly number[]> {
  const waits: number[] = [];
  for (const session of sessions) {
    const { event } = await eventOf(project, session, "approval.asked", 0);
    const began = Date.now();
    await project.ask("POST", `/approvals/${event.approval}/answer`, { digest: event.digest, answer: { kind: "approve" } });
    waits.push((await eventOf(project, session, "act.started", began)).at - began);
  }
  return waits;
}

async function eventOf(project: MeasuredProject, session: string, kind: string, after: number): Promise<Happened> {
  for (;;) {
    const { entries } = await project.ask<Events>("GET", `/sessions/${session}/events?limit=500`);
    const found = entries.find((entry) => entry.event.kind === kind && entry.at >= after);
    if (found !== undefined) return found;
    await sleep(50);
  }
}

/** A second worker stands by while the first dies with turns in its hands. */
async function killOne(
  project: MeasuredProject,
  worker: ServerProcess,
  count: number,
): Promise<Readonly<{ ms: readonly number[]; next: ServerProcess }>> {
  rmSync(project.go, { force: true });
  const opened: string[] = [];
  for (let i = 0; i < count; i += 1)
    opened.push((await project.ask<{ session: string }>("POST", "/agents/clerk/execute", { input: "hold", waitMs: 0 })).session);
  for (const session of opened) await eventOf(project, session, "act.started", 0);
  const next = await project.worker();
  const died = Date.now();
  await worker.kill();
  const ms: number[] = [];
  for (const session of opened) ms.push((await eventOf(project, session, "hold.taken", died)).at - died);
  writeFileSync(project.go, "");
  for (const session of opened) await eventOf(project, session, "turn.ended", 0);
  return { ms, next };
}
