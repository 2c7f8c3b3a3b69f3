/** A project on PostgreSQL, with a server that only serves and workers: the command line's own processes, as a team would start them. */
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort, type ServerProcess, serverProcess } from "../../../e2e/cluster/src/servers/process.ts";
import { openMembers } from "./processes.ts";

const ORGATE = join(import.meta.dirname, "..", "..", "..", "packages", "orgate", "bin", "orgate.js");
const POLICIES = `@id("think")
permit(principal is Agent, action in [Action::"model", Action::"respond", Action::"tool:hold", Action::"tool:step"], resource);
@id("wiring")
@ask("wire it?")
permit(principal is Agent, action == Action::"tool:wire", resource);
@id("people")
permit(principal is User, action, resource);
`;

export const SCHEMA = "bench_project";
/** Each may send 50 requests a second. */
const CALLERS = 6;

export type MeasuredProject = Readonly<{
  /** The file that ends tools that hold on. */
  go: string;
  worker(): Promise<ServerProcess>;
  /** The server, which drives nothing. */
  server: ServerProcess;
  /** Opens so many sessions that wait for a person. */
  park(sessions: number): Promise<void>;
  /** An operation of the server, by path. */
  ask<T>(method: "GET" | "POST", path: string, body?: unknown): Promise<T>;
  close(): Promise<void>;
}>;

export async function openProject(folder: string, url: string): Promise<MeasuredProject> {
  const root = join(folder, "project");
  const go = join(folder, "go");
  for (const [file, text] of Object.entries({
    "orgate.toml": `[project]\nname = "bench"\n[cluster]\ndatabase = { env = "ORGATE_DATABASE" }\nschema = "${SCHEMA}"\n`,
    "policies/bench.cedar": POLICIES,
    "agents/counter.ts": `export { counter as default } from ${JSON.stringify(join(import.meta.dirname, "agents.ts"))};\n`,
    "agents/clerk.ts": `export { default } from ${JSON.stringify(join(import.meta.dirname, "agents.ts"))};\n`,
  })) {
    mkdirSync(join(root, file, ".."), { recursive: true });
    writeFileSync(join(root, file), text);
  }
  const env = {
    ...{ ORGATE_HOME: join(folder, "home"), ORGATE_USER: "ana", ORGATE_DATABASE: url, ORGATE_BENCH_GO: go },
    NODE_COMPILE_CACHE: join(folder, "compiled"),
  };
  const argv = (...args: readonly string[]): readonly string[] => [ORGATE, ...args, "--project", root];
  const run = (...args: readonly string[]): string => {
    const ran = spawnSync(process.execPath, argv(...args), { env: { ...process.env, ...env }, encoding: "utf8" });
    if (ran.status !== 0) throw new Error(`orgate ${args.join(" ")} ended (${ran.status}): ${ran.stderr}`);
    return ran.stdout;
  };
  const started: ServerProcess[] = [];
  const begin = async (name: string, args: readonly string[], isReady: () => Promise<boolean>): Promise<ServerProcess> => {
    const one = serverProcess({ name, program: process.execPath, args: argv(...args), env, folder, isReady, asSelf: true });
    started.push(one);
    await one.start();
    return one;
  };
  run("keys", "create", "ana");
  const port = await freePort();
  const base = `http://127.0.0.1:${port}`;
  const server = await begin("server", ["up", "--cluster", "--port", String(port), "--as", "ana"], async () => (await fetch(`${base}/livez`)).ok);
  const tokenOf = (name: string): string =>
    (JSON.parse(run("keys", "create", name, "--api", "--as", "ana", "--json")) as { token: string }).token;
  const tokens = [tokenOf("ana")];
  for (let i = 1; i < CALLERS; i += 1) {
    run("keys", "create", `caller${i}`);
    tokens.push(tokenOf(`caller${i}`));
  }
  let turn = 0;
  const ask: MeasuredProject["ask"] = async (method, path, body) => {
    for (;;) {
      const token = tokens[turn++ % tokens.length];
      const answer = await fetch(`${base}/api/v1${path}`, {
        method,
        headers: {
          ...{ authorization: `Bearer ${token}`, "content-type": "application/json" },
          ...(method === "POST" ? { "idempotency-key": crypto.randomUUID() } : {}),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      if (answer.ok) return answer.json() as never;
      if (answer.status !== 429) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  };
  const isListed = async (pid: number): Promise<boolean> =>
    (await ask<{ processes: readonly Readonly<{ place: string }>[] }>("GET", "/processes")).processes.some(({ place }) =>
      place.startsWith(`process ${pid} `),
    );
  return {
    ...{ go, ask, server },
    async park(sessions) {
      const members = await openMembers([{ kind: "park", url, schema: SCHEMA, directory: join(root, ".orgate"), sessions }]);
      await members.run(1);
      await members.close();
    },
    async worker() {
      const at = started.length;
      return begin(`worker${at}`, ["worker", "--as", "ana"], () => isListed(started[at]?.pid() ?? 0)); // a killed one is listed for a while, too
    },
    async close() {
      for (const one of started.reverse()) await one.kill();
    },
  };
}
