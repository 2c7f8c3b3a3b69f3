/** What a chaos run attacks: processes of Orgate and the servers below them, and in which ways. */
import type { Postgres } from "../servers/postgres.ts";
import { freePort, type ServerProcess, serverProcess } from "../servers/process.ts";
import { startProxy, type TcpProxy } from "../servers/proxy.ts";
import { crashLoop, cutOff, drainOne, type Fault, freezeOne, killAll, killOne } from "./faults.ts";
import { type ChaosProject, PERSON } from "./project.ts";

export type Deployment = Readonly<{
  /** Addresses of the coordinators. */
  urls: readonly string[];
  /** Every process of Orgate; one that ends by itself is started again, as an orchestrator would. */
  processes: readonly ServerProcess[];
  /** Each of these goes on by itself, so that faults meet. */
  faults: readonly (readonly Fault[])[];
}>;

/** Several `orgate up` on one SQLite project: every one of them serves and drives. */
export async function startEmbedded(project: ChaosProject, folder: string, count: number): Promise<Deployment> {
  const servers = await Promise.all(Array.from({ length: count }, (_, i) => startServer(project, { folder, name: `up${i + 1}` })));
  const processes = servers.map(({ server }) => server);
  return {
    urls: servers.map(({ url }) => url),
    processes,
    faults: [
      [
        killOne("a server", processes, 10),
        killAll("server", processes, 1),
        freezeOne("a server", processes, 2_000, 2),
        drainOne("a server", processes, 1),
      ],
    ],
  };
}

/** Starts what has ended by itself; how many there were. One that cannot start now (its database is away) is tried again the next time. */
export async function revive(processes: readonly ServerProcess[]): Promise<number> {
  const dead = processes.filter((server) => !server.isRunning());
  for (const server of dead) await server.start().catch(() => {});
  return dead.length;
}

export const DATABASE = "ORGATE_DATABASE";
const LEASE_SECONDS = 3;
export const CLUSTER_SETTINGS = `[cluster]
database = { env = "${DATABASE}" }
lease_seconds = ${LEASE_SECONDS}
statement_seconds = 10
lock_seconds = 5
`;
const [COORDINATORS, WORKERS] = [2, 3];

/** Addresses of Restate that stay when a node dies, as a load balancer's would: each connection goes to a node that lives. */
export type RestateLines = Readonly<{ nodes: readonly ServerProcess[]; settings: string }>;

export async function startRestateNodes(): Promise<RestateLines> {
  const { startThreeRestates } = await import("../servers/restate.ts");
  const nodes = await startThreeRestates();
  const line = (of: "ingress" | "admin"): Promise<TcpProxy> =>
    startProxy(() => Number(new URL((nodes.find((node) => node.isRunning()) ?? nodes[0])?.[of] ?? "").port));
  const [ingress, admin] = [await line("ingress"), await line("admin")];
  const settings = `[cluster.restate]\ningress = "http://127.0.0.1:${ingress.port}"\nadmin = "http://127.0.0.1:${admin.port}"\nport = 0\n`;
  return { nodes, settings };
}

export type ClusterServers = Readonly<{ postgres: Postgres; restate: RestateLines | null }>;

/** `envOf`: the environment of one more process, beyond the project's. */
export type Size = Readonly<{ coordinators: number; workers: number; envOf?: () => Promise<Readonly<Record<string, string>>> }>;
export type ClusterProcesses = Readonly<{
  urls: readonly string[];
  serving: readonly ServerProcess[];
  workers: readonly ServerProcess[];
}>;

/** Coordinators that only serve, and workers that drive. */
export async function startProcesses(project: ChaosProject, folder: string, size: Size): Promise<ClusterProcesses> {
  const { coordinators: serve, workers: drive, envOf = async () => ({}) } = size;
  const coordinators = await Promise.all(
    Array.from({ length: serve }, async (_, i) =>
      startServer(project, { folder, name: `coordinator${i + 1}`, more: ["--cluster"], env: await envOf() }),
    ),
  );
  const workers = await Promise.all(
    Array.from({ length: drive }, async (_, i) => startWorker(project, { folder, name: `worker${i + 1}`, env: await envOf() })),
  );
  return { urls: coordinators.map(({ url }) => url), serving: coordinators.map(({ server }) => server), workers };
}

/** A proxy to a database, and its address through it. `port` is asked for each connection: after a fail-over it is another server's. */
export async function openLine(url: string, port: () => number): Promise<Readonly<{ line: TcpProxy; url: string }>> {
  const line = await startProxy(port);
  const through = new URL(url);
  through.port = String(line.port);
  return { line, url: through.href };
}

/** The processes of a cluster, each with a line of its own to PostgreSQL that can be cut. */
export async function startCluster(project: ChaosProject, folder: string, { postgres, restate }: ClusterServers): Promise<Deployment> {
  const lines: TcpProxy[] = [];
  const envOf = async (): Promise<Readonly<Record<string, string>>> => {
    const { line, url } = await openLine(postgres.url(), () => postgres.port);
    lines.push(line);
    return { [DATABASE]: url };
  };
  const { urls, serving, workers } = await startProcesses(project, folder, { coordinators: COORDINATORS, workers: WORKERS, envOf });
  return {
    urls,
    processes: [...serving, ...workers, ...(restate?.nodes ?? [])],
    faults: [
      [killOne("a worker", workers, 4), crashLoop("a worker", workers, 1_500, 4), killAll("worker", workers, 1)],
      [
        killOne("a coordinator", serving, 3),
        killOne("PostgreSQL", [postgres], 2),
        ...(restate === null ? [] : [killOne("a Restate node of three", restate.nodes, 5)]),
        // Longer than its lease: others have taken its sessions when it goes on, and it must notice before its next effect.
        freezeOne("a worker past its lease", workers, 2 * LEASE_SECONDS * 1_000, 2),
        drainOne("a worker", workers, 1),
        ...cutOff("a process from PostgreSQL", lines, 2 * LEASE_SECONDS * 1_000, 4),
      ],
    ],
  };
}

type Placed = Readonly<{ folder: string; name: string; more?: readonly string[]; env?: Readonly<Record<string, string>> }>;

async function startServer(
  project: ChaosProject,
  { folder, name, more = [], env = {} }: Placed,
): Promise<Readonly<{ url: string; server: ServerProcess }>> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const server = serverProcess({
    ...programOf(project, ["up", "--port", String(port), "--as", PERSON, ...more], env),
    name,
    folder,
    isReady: async () => (await fetch(`${url}/livez`)).ok,
  });
  await startPatiently(server);
  return { url, server };
}

/** On a busy machine a lease can run out while its process begins: an orchestrator starts it again. */
async function startPatiently(server: ServerProcess): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await server.start();
    } catch (error) {
      if (tries === 5) throw error;
    }
  }
}

/** A worker serves nobody: it is ready when it says so. */
async function startWorker(project: ChaosProject, { folder, name, more = [], env = {} }: Placed): Promise<ServerProcess> {
  const worker = serverProcess({
    ...programOf(project, ["worker", "--as", PERSON, ...more], env),
    name,
    folder,
    isReady: async () => true,
  });
  await startPatiently(worker);
  return worker;
}

const programOf = ({ argv, env: own }: ChaosProject, args: readonly string[], env: Readonly<Record<string, string>>) => ({
  program: process.execPath,
  args: argv(args),
  env: { ...own, ...env },
  asSelf: true,
});
