/** Orgate's processes at work on a PostgreSQL that something happens to, clients that remember what they were shown, and the judge afterwards. */
import { setTimeout as sleep } from "node:timers/promises";
import { type Clients, openClients } from "../chaos/clients.ts";
import { CLUSTER_SETTINGS, type ClusterProcesses, DATABASE, openLine, revive, type Size, startProcesses } from "../chaos/deployment.ts";
import { type Acknowledged, judge, type Verdict } from "../chaos/judge.ts";
import { SCHEDULE } from "../chaos/project.ts";
import { gatherEvidence, openWorld, type World, waitForPeace } from "../chaos/world.ts";
import type { ServerProcess } from "../servers/process.ts";

/** `url`: how commands of this process reach the database; processes of the drill too, unless `size` says otherwise. */
export type DrillOptions = Readonly<{
  seed: number;
  url: string;
  settings?: string;
  env?: Readonly<Record<string, string>>;
  size?: Partial<Size>;
}>;
export type Drill = World &
  Readonly<{
    processes: readonly ServerProcess[];
    cluster: ClusterProcesses;
    clients: Clients;
    /** Opens jobs of these numbers. */
    open(first: number, last: number): Promise<void>;
    /** Waits until clients were shown so many entries more. */
    shown(more: number): Promise<void>;
    /** What clients were told so far. */
    told(): Acknowledged;
    /** Starts what has ended, as an orchestrator would. */
    revive(): Promise<unknown>;
    /** Answers, starts what has ended, and waits until nothing is left to do; what still is after `ms`. */
    settle(ms: number): Promise<readonly string[]>;
    /** Ends clients and processes and judges; `told`: by what clients were told until then. */
    end(told?: Acknowledged, env?: Readonly<Record<string, string>>): Promise<Verdict>;
    /** After a test, however it went. */
    close(): Promise<void>;
  }>;

const SIZE: Size = { coordinators: 1, workers: 2 };

export async function openDrill({ seed, url, settings = CLUSTER_SETTINGS, env = {}, size = {} }: DrillOptions): Promise<Drill> {
  const world = await openWorld({ seed, settings, env: { [DATABASE]: url, ...env } });
  const { folder, project, outside, token } = world;
  const cluster = await startProcesses(project, folder, { ...SIZE, ...size });
  const processes = [...cluster.serving, ...cluster.workers];
  const clients = openClients(cluster.urls, token);
  const { entries, jobs, answers } = clients.acknowledged;
  const kill = (): Promise<unknown> => Promise.all(processes.map((server) => server.kill()));
  return {
    ...{ ...world, cluster, processes, clients },
    async open(first, last) {
      for (let job = first; job <= last; job += 1) await clients.openJob(String(job));
    },
    async shown(more) {
      const enough = entries.size + more;
      while (entries.size < enough) await sleep(20);
    },
    told: () => ({ entries: new Map(entries), jobs: new Map(jobs), answers: new Set(answers) }),
    revive: () => revive(processes),
    async settle(ms) {
      await revive(processes);
      await clients.pauseSchedule(SCHEDULE);
      return waitForPeace(clients, ms, () => revive(processes));
    },
    async end(told = clients.acknowledged, own = {}) {
      await clients.end();
      await Promise.all(processes.map((server) => server.stop()));
      return judge({ ...(await gatherEvidence(folder, project, outside, own)), acknowledged: told });
    },
    async close() {
      await clients.end();
      await kill();
      await outside.end();
    },
  };
}

/** A line of its own for each process to a server that may be another one later. */
export function linesTo(url: string, port: () => number): NonNullable<Size["envOf"]> {
  return async () => ({ [DATABASE]: (await openLine(url, port)).url });
}

/** Why processes ended or could not go on, as they said it; not what they answered to single requests. */
export const complaintsOf = (processes: readonly ServerProcess[]): readonly string[] => [
  ...new Set(
    processes.flatMap((server) =>
      server
        .log()
        .split("\n")
        .filter((line) => line.startsWith("error:") || (line.includes('"level":"error"') && !line.includes('"what":"request.failed"'))),
    ),
  ),
];
