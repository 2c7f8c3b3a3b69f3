/**
 * eve: `eve build` and `eve start` with its bundled local world, docs/reference/cli.md and docs/channels/eve.mdx of the package; the model is an object in
 * its own process, as docs/evals/overview.mdx has it. The app lies in ../../eve/loop. One server does the whole of a sample: what is counted
 * is that process and its children, not the client here that follows the session's stream.
 */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { Open, Usage } from "../adapter.ts";
import { cpuUsOf, statOf, writtenBy } from "../process.ts";
import { PROMPT } from "../workload.ts";

const EVE = join(import.meta.dirname, "../../eve");
const BIN = join(EVE, "node_modules/eve/bin/eve.js");
const SOURCES = join(import.meta.dirname, "..");
const WAIT_MS = 60_000;
const BUILD_MS = 300_000;
const QUIET = { EVE_TELEMETRY_DISABLED: "1", NODE_ENV: "production" };

type Server = Readonly<{ pid: number; url: string; app: string; desk: string }>;
let running: Promise<Server> | null = null;

/** With its dependencies beside it; the same for every sample, so built once and kept. */
function build(): string {
  const app = join(process.env.BENCH_EVE_APP ?? mkdtempSync(join(tmpdir(), "orgate-eve-")), "app");
  if (existsSync(join(app, ".output"))) return app;
  mkdirSync(app, { recursive: true });
  cpSync(join(EVE, "loop", "agent"), join(app, "agent"), { recursive: true });
  cpSync(join(EVE, "package.json"), join(app, "package.json"));
  for (const shared of ["workload.ts", "ai-model.ts"]) cpSync(join(SOURCES, shared), join(app, "agent", "lib", shared));
  if (!existsSync(join(app, "node_modules"))) symlinkSync(join(EVE, "node_modules"), join(app, "node_modules"));
  const built = spawnSync(process.execPath, [BIN, "build"], {
    cwd: app,
    encoding: "utf8",
    timeout: BUILD_MS,
    env: { ...process.env, ...QUIET },
  });
  if (!existsSync(join(app, ".output")))
    throw new Error(
      `eve could not be built (${built.error?.message ?? built.status}): ${built.stderr.replaceAll("\n", " ")}`.slice(0, 500),
    );
  return app;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  if (address === null || typeof address === "string") throw new Error("there is no free port");
  return address.port;
}

/** In a copy of the app: its store lies in its folder. */
async function start(pauseAt: number | null): Promise<Server> {
  const built = build();
  const folder = mkdtempSync(join(process.env.ORGATE_BENCH_DIR ?? tmpdir(), "orgate-eve-"));
  const [app, desk] = [join(folder, "app"), join(folder, "desk")];
  mkdirSync(app);
  mkdirSync(desk);
  for (const part of ["agent", "package.json", ".output"]) cpSync(join(built, part), join(app, part), { recursive: true });
  symlinkSync(join(EVE, "node_modules"), join(app, "node_modules"));
  writeFileSync(join(desk, "iterations"), "0");
  const port = await freePort();
  const env = { ...process.env, ...QUIET, BENCH_DESK: desk, BENCH_PAUSE_AT: String(pauseAt) };
  const child = spawn(process.execPath, [BIN, "start", "--host", "127.0.0.1", "--port", String(port)], { cwd: app, stdio: "ignore", env });
  const { pid } = child;
  if (pid === undefined) throw new Error("eve could not be started");
  process.once("exit", () => {
    for (const member of family(pid)) process.kill(member, "SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  });
  const url = `http://127.0.0.1:${port}/eve/v1`;
  for (const deadline = performance.now() + WAIT_MS; performance.now() < deadline; await sleep(50)) {
    const up = await fetch(`${url}/health`).catch(() => null);
    if (up?.ok) return { pid, url, app, desk };
  }
  throw new Error("eve's server did not come up");
}

/** The server and all that it started. */
function family(pid: number): readonly number[] {
  const parents = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => ({ pid: Number(name), parent: Number(statOf(Number(name))[1] ?? 0) }));
  const found = [pid];
  for (const member of found) found.push(...parents.filter(({ parent }) => parent === member).map((p) => p.pid));
  return found;
}
function usageOf(pid: number): Usage {
  let [cpuUs, written] = [0, 0];
  for (const member of family(pid)) {
    cpuUs += cpuUsOf(member);
    written += writtenBy(member) ?? 0;
  }
  return { cpuUs, written };
}

const TURNING = /"type":\s*"(?:message\.completed|session\.(?:waiting|completed|failed)|turn\.failed)"/;

async function linesOf(url: string): Promise<AsyncIterable<string>> {
  const { body } = await fetch(url);
  if (body === null) throw new Error("eve's stream is empty");
  return createInterface({ input: Readable.from(body) });
}

async function session(url: string): Promise<string> {
  const headers = { "content-type": "application/json" };
  const opened = await fetch(`${url}/session`, { method: "POST", headers, body: JSON.stringify({ message: PROMPT }) });
  if (!opened.ok) throw new Error(`eve says ${opened.status}: ${await opened.text()}`);
  const { sessionId } = (await opened.json()) as { sessionId: string };
  let text = "";
  for await (const line of await linesOf(`${url}/session/${sessionId}/stream`)) {
    if (!TURNING.test(line)) continue; // most lines carry a whole result: only those that end something are parsed
    const { type, data } = JSON.parse(line) as { type: string; data?: { message?: unknown } };
    if (type === "message.completed" && typeof data?.message === "string") text = data.message;
    if (type === "session.waiting" || type === "session.completed") return text;
    if (type === "turn.failed" || type === "session.failed") throw new Error(`eve says ${type}: ${JSON.stringify(data).slice(0, 300)}`);
  }
  throw new Error("eve's stream ended");
}

export const eve: Open = async ({ work, pause }) => {
  running ??= start(pause?.at ?? null);
  const { pid, url, app, desk } = await running;
  const server = family(pid).at(-1) ?? pid; // `eve start` may only be the parent of the one that serves
  /** What it has counted since it was last asked; from then on so many iterations are due. */
  async function counts(): Promise<Readonly<{ asked: number; effects: number }>> {
    rmSync(join(desk, "counts"), { force: true });
    process.kill(server, "SIGUSR2");
    for (const deadline = performance.now() + WAIT_MS; performance.now() < deadline; await sleep(5))
      if (existsSync(join(desk, "counts"))) {
        const text = readFileSync(join(desk, "counts"), "utf8");
        if (text.endsWith("}")) return JSON.parse(text);
      }
    throw new Error("eve's server does not tell its counts");
  }
  async function lookWhenPaused(look: () => void): Promise<void> {
    while (!existsSync(join(desk, "paused"))) await sleep(10);
    look();
    writeFileSync(join(desk, "go-on"), "");
  }
  writeFileSync(join(desk, "iterations"), String(work.iterations));
  await counts();
  return {
    folder: app,
    async run() {
      if (pause !== null) void lookWhenPaused(pause.look);
      return session(url);
    },
    usage: () => usageOf(pid),
    async settle() {
      const { asked, effects } = await counts();
      work.tally(asked, effects);
    },
    close: async () => {},
  };
};
