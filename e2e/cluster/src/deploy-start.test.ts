/**
 * What `deploy/` starts, started: the commands of its compose file and manifests on its `orgate.toml`, each with a folder of its own that has only the keys of
 * the secret, as containers on different machines have.
 */
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { startPostgres } from "./servers/postgres.ts";
import { freePort, ownFolder, type ServerProcess, serverProcess } from "./servers/process.ts";

const ROOT = join(import.meta.dirname, "..", "..", "..");
const ORGATE = join(ROOT, "packages", "orgate", "bin", "orgate.js");
const read = (...path: readonly string[]): string => readFileSync(join(ROOT, "deploy", ...path), "utf8");

type Composed = Readonly<{ services: Readonly<Record<string, Readonly<{ command?: readonly string[] }>>> }>;
const composed = (name: string): readonly string[] => {
  const file: Composed = parse(read("compose.yaml"), { merge: true });
  return file.services[name]?.command ?? [];
};
const deployed = (file: string): readonly string[] => {
  const [deployment] = parseAllDocuments(read("kubernetes", file)).map((document) => document.toJS());
  return deployment.spec.template.spec.containers[0].args;
};

/** The project as its image has it; the folder of keys is the one that a container has for itself. */
function place(name: string, database: string, keys: string | null) {
  const folder = ownFolder(name);
  const own = join(folder, "own");
  const project = join(folder, "project");
  for (const at of [own, join(project, "agents"), join(project, "policies")]) mkdirSync(at, { recursive: true });
  writeFileSync(join(project, "orgate.toml"), read("project", "orgate.toml").replace('"/var/lib/orgate"', JSON.stringify(own)));
  writeFileSync(join(project, "agents", "echo.agent.toml"), 'name = "echo"\nmodel = "offline/echo"\ninstructions = "say it"\n');
  writeFileSync(join(project, "policies", "all.cedar"), '@id("all")\npermit(principal, action, resource);\n');
  if (keys !== null) cpSync(keys, join(own, "keys"), { recursive: true });
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

test("the compose file's commands, with its orgate.toml and the two keys of the secret, are a cluster in which a session runs", async () => {
  const postgres = await startPostgres();
  const operator = place("operator", postgres.url(), null);
  operator.orgate(["keys", "create", "ops"]);
  const { token } = JSON.parse(operator.orgate(["keys", "create", "ops", "--api", "--json"]));
  const secret = ownFolder("secret");
  for (const key of ["root.key", "blobs.key"]) cpSync(join(operator.own, "keys", key), join(secret, key));

  const urls: string[] = [];
  for (const name of ["coordinator-1", "coordinator-2"]) {
    const port = await freePort(); // containers have an address each, and one port
    const url = `http://127.0.0.1:${port}`;
    const command = composed(name).map((word) => (word === "0.0.0.0" ? "127.0.0.1" : word));
    await place(name, postgres.url(), secret).start([...command, "--port", String(port)], async () => (await fetch(`${url}/readyz`)).ok);
    urls.push(url);
  }
  for (const name of ["worker-1", "worker-2"])
    await place(name, postgres.url(), secret).start(composed(name), async (log) => log.includes("drives sessions of example"));

  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json", "idempotency-key": "a-key-of-the-deployment" };
  const body = JSON.stringify({ input: "hello", waitMs: 20_000 });
  const results = [];
  for (const url of urls) results.push(await (await fetch(`${url}/api/v1/agents/echo/execute`, { method: "POST", headers, body })).json());
  expect(results[0]).toMatchObject({ ending: "completed" });
  expect(results[1]).toEqual(results[0]);
  expect(operator.orgate(["journal", "verify"])).toContain("verified");
  expect([deployed("coordinator.yaml"), deployed("worker.yaml")]).toEqual([composed("coordinator-1"), composed("worker-1")]);
}, 180_000);
