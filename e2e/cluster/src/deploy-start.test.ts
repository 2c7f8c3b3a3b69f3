/**
 * What `deploy/` starts, started: the commands of its compose file and manifests on its `orgate.toml`, each with a folder of its own that has only the keys of
 * the secret, as containers on different machines have.
 */
import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { userInfo } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { startPostgres } from "./servers/postgres.ts";
import { freePort, ownFolder, type ServerProcess, serverProcess } from "./servers/process.ts";
import { type Restate, startRestate } from "./servers/restate.ts";

const ROOT = join(import.meta.dirname, "..", "..", "..");
const ORGATE = join(ROOT, "packages", "orgate", "bin", "orgate.js");
const read = (...path: readonly string[]): string => readFileSync(join(ROOT, "deploy", ...path), "utf8");

type Service = Readonly<{ command?: readonly string[]; entrypoint?: readonly string[] }>;
const composed = (name: string): Service => {
  const file: Readonly<{ services: Readonly<Record<string, Service>> }> = parse(read("compose.yaml"), { merge: true });
  return file.services[name] ?? {};
};
type Pod = Readonly<{
  containers: readonly Readonly<{ args: readonly string[] }>[];
  initContainers: readonly Readonly<{ command: readonly string[] }>[];
}>;
const podOf = (file: string): Pod => {
  const [deployment] = parseAllDocuments(read("kubernetes", file)).map((document) => document.toJS());
  return deployment.spec.template.spec;
};

/** Runs a container's command with folders of this machine in place of its volumes. Only root can give files to another user. */
function runInContainer(command: readonly string[], volumes: Readonly<Record<string, string>>): void {
  const { uid, gid } = userInfo();
  const placed = command.map((word) =>
    Object.entries(volumes)
      .reduce((text, [at, folder]) => text.replaceAll(at, folder), word)
      .replaceAll("$$", "$") // Compose's way to write it
      .replaceAll("-o 10001 -g 10001", `-o ${uid} -g ${gid}`),
  );
  const [program = "", ...args] = placed;
  const ran = spawnSync(program, args, { encoding: "utf8" });
  if (ran.status !== 0) throw new Error(`${placed.join(" ")}: ${ran.stderr}`);
}

/** A secret as kubelet mounts it: links to a folder that it replaces as a whole, readable for the pod's group. */
function mountSecret(keys: string): string {
  const secret = ownFolder("secret");
  mkdirSync(join(secret, "..2026_11_19"));
  symlinkSync("..2026_11_19", join(secret, "..data"));
  for (const key of ["root.key", "blobs.key"]) {
    cpSync(join(keys, key), join(secret, "..2026_11_19", key));
    chmodSync(join(secret, "..2026_11_19", key), 0o440);
    symlinkSync(join("..data", key), join(secret, key));
  }
  return secret;
}

/** `volumes`: the folder that has one for each process. */
type Cluster = Readonly<{ database: string; restate: Restate | null; volumes: string }>;

/** The lines of `orgate.toml` about Restate without what comments them out. */
function withRestate(settings: string, { ingress, admin }: Restate): string {
  const at = settings.indexOf("# [cluster.restate]");
  const [block = ""] = settings.slice(at).split("\n\n");
  const lines = block.replaceAll(/^# /gm, "").replace("http://restate:8080", ingress).replace("http://restate:9070", admin);
  const own = lines.replace(/^endpoint = .*\n/m, "").replace("0.0.0.0", "127.0.0.1"); // nothing distributes requests here
  return settings.replace(block, `${own}\nport = 0`);
}

/** The project as its image has it; the folder of keys is the one that a container has for itself. */
function place(name: string, { database, restate, volumes }: Cluster) {
  const folder = ownFolder(name);
  const own = join(volumes, name);
  const project = join(folder, "project");
  for (const at of [own, join(project, "agents"), join(project, "policies")]) mkdirSync(at, { recursive: true });
  const settings = read("project", "orgate.toml").replace('"/var/lib/orgate"', JSON.stringify(own));
  writeFileSync(join(project, "orgate.toml"), restate === null ? settings : withRestate(settings, restate));
  writeFileSync(join(project, "agents", "echo.agent.toml"), 'name = "echo"\nmodel = "offline/echo"\ninstructions = "say it"\n');
  writeFileSync(join(project, "policies", "all.cedar"), '@id("all")\npermit(principal, action, resource);\n');
  const env = { ORGATE_HOME: join(own, "home"), ORGATE_USER: "", ORGATE_DATABASE: database, ORGATE_LISTEN: database };
  const orgate = (args: readonly string[]): string => {
    const ran = spawnSync(process.execPath, [ORGATE, ...args, "--project", project], { env: { ...process.env, ...env }, encoding: "utf8" });
    if (ran.status !== 0) throw new Error(`orgate ${args.join(" ")}: ${ran.stderr}`);
    return ran.stdout;
  };
  const start = async (args: readonly string[], isReady: (log: string) => Promise<boolean>): Promise<ServerProcess> => {
    const server: ServerProcess = serverProcess({
      ...{ name, folder, env, program: process.execPath, args: [ORGATE, ...args, "--project", project], asSelf: true },
      isReady: () => isReady(server.log()),
    });
    await server.start();
    return server;
  };
  return { own, orgate, start };
}

const COORDINATORS = ["coordinator-1", "coordinator-2"] as const;
const WORKERS = ["worker-1", "worker-2"] as const;
type Places = Readonly<{ operator: ReturnType<typeof place>; all: ReadonlyMap<string, ReturnType<typeof place>> }>;

/** Each process with a folder of its own, and the operator who made the keys. */
function placeAll(servers: Pick<Cluster, "database" | "restate">): Places {
  const cluster = { ...servers, volumes: ownFolder("volumes") };
  const operator = place("operator", cluster);
  operator.orgate(["keys", "create", "ops"]);
  return { operator, all: new Map([...COORDINATORS, ...WORKERS].map((name) => [name, place(name, cluster)])) };
}

async function runSession({ operator, all }: Places): Promise<readonly ServerProcess[]> {
  const { token } = JSON.parse(operator.orgate(["keys", "create", "ops", "--api", "--json"]));
  const servers: ServerProcess[] = [];
  const urls: string[] = [];
  for (const name of COORDINATORS) {
    const port = await freePort(); // containers have an address each, and one port
    const url = `http://127.0.0.1:${port}`;
    const command = (composed(name).command ?? []).map((word) => (word === "0.0.0.0" ? "127.0.0.1" : word));
    const server = await all.get(name)?.start([...command, "--port", String(port)], async () => (await fetch(`${url}/readyz`)).ok);
    if (server !== undefined) servers.push(server);
    urls.push(url);
  }
  for (const name of WORKERS) {
    const server = await all.get(name)?.start(composed(name).command ?? [], async (log) => log.includes("drives sessions of example"));
    if (server !== undefined) servers.push(server);
  }
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json", "idempotency-key": "a-key-of-the-deployment" };
  const body = JSON.stringify({ input: "hello", waitMs: 20_000 });
  const results = [];
  for (const url of urls) results.push(await (await fetch(`${url}/api/v1/agents/echo/execute`, { method: "POST", headers, body })).json());
  expect(results[0]).toMatchObject({ ending: "completed" });
  expect(results[1]).toEqual(results[0]);
  expect(operator.orgate(["journal", "verify"])).toContain("verified");
  return servers;
}

const giveKeys = ({ operator }: Places): void => {
  const { entrypoint = [], command = [] } = composed("keys");
  runInContainer([...entrypoint, ...command], { "/own/": `${dirname(operator.own)}/` });
};

test("the compose file's commands give each process its keys, and are a cluster in which a session runs", async () => {
  const postgres = await startPostgres();
  const places = placeAll({ database: postgres.url(), restate: null });
  giveKeys(places);
  for (const server of await runSession(places)) await server.stop();
  await postgres.stop();
}, 180_000);

test("with its lines about Restate the workers are registered there, and a session runs", async () => {
  const [postgres, restate] = [await startPostgres(), await startRestate()];
  const places = placeAll({ database: postgres.url(), restate });
  giveKeys(places);
  const servers = await runSession(places);
  const { services } = (await (await fetch(`${restate.admin}/services`)).json()) as { services: readonly { name: string }[] };
  expect(services.map(({ name }) => name)).toContain("orgate-example");
  for (const server of servers) await server.stop();
  await restate.stop();
  await postgres.stop();
}, 180_000);

test("the init container of a pod makes keys that its process takes, of a secret as it is mounted; its command is that of the compose file", async () => {
  const postgres = await startPostgres();
  const { operator, all } = placeAll({ database: postgres.url(), restate: null });
  const secret = mountSecret(join(operator.own, "keys"));
  for (const [file, names] of [
    ["coordinator.yaml", COORDINATORS],
    ["worker.yaml", WORKERS],
  ] as const) {
    const { containers, initContainers } = podOf(file);
    for (const name of names) {
      const own = all.get(name)?.own ?? "";
      runInContainer(initContainers[0]?.command ?? [], { "/secrets/keys": secret, "/var/lib/orgate": own });
      expect(containers[0]?.args).toEqual(composed(name).command);
    }
  }
  for (const server of await runSession({ operator, all })) await server.stop();
  await postgres.stop();
}, 180_000);
