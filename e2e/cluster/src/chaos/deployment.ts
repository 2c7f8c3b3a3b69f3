/** What a chaos run attacks: processes of Orgate, and the servers below them, each of which can be killed. */
import { join } from "node:path";
import { freePort, type ServerProcess, serverProcess } from "../servers/process.ts";
import { type ChaosProject, PERSON } from "./project.ts";

export type Deployment = Readonly<{
  /** Addresses of the coordinators. */
  urls: readonly string[];
  /** Processes that only serve, and those that drive sessions; in an embedded project they are the same. */
  coordinators: readonly ServerProcess[];
  workers: readonly ServerProcess[];
}>;

const SERVERS = 3;

/** Several `orgate up` on one SQLite project: every one of them serves and drives. */
export async function startEmbedded(project: ChaosProject, folder: string): Promise<Deployment> {
  const servers = await Promise.all(Array.from({ length: SERVERS }, (_, i) => startServer(project, folder, `up${i + 1}`, [])));
  return { urls: servers.map(({ url }) => url), coordinators: [], workers: servers.map(({ server }) => server) };
}

async function startServer(
  { root, env, argv }: ChaosProject,
  folder: string,
  name: string,
  more: readonly string[],
): Promise<Readonly<{ url: string; server: ServerProcess }>> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const server = serverProcess({
    name,
    program: process.execPath,
    args: argv(["up", "--port", String(port), "--as", PERSON, ...more]),
    folder,
    env: { ...env, HOME: join(root, "..") },
    asSelf: true,
    isReady: async () => (await fetch(`${url}/livez`)).ok,
  });
  await server.start();
  return { url, server };
}
