/**
 * One process of a measured cluster, started by `processes.ts`: it drives sessions on the database, or inserts bare rows of the same bytes. It says when it is
 * ready, begins when it is told, and reports.
 */
import { createRuntime, sha256, tableGate } from "orgate";
import pg from "pg";
import { checkRun, USER } from "../places.ts";
import { agent, countingModel, PERMIT_ALL } from "../workload.ts";
import clerk from "./agents.ts";

export type MemberTask = Readonly<
  | { kind: "drive"; url: string; schema: string; directory: string; sessions: number; iterations: number }
  | { kind: "park"; url: string; schema: string; directory: string; sessions: number }
  | { kind: "insert"; url: string; table: string; connections: number; rows: number; bytes: number }
>;
export type MemberReport = Readonly<{ began: number; ended: number; cpuUs: number; latenciesMs: readonly number[] }>;

const toCluster = ({ url, schema }: Readonly<{ url: string; schema: string }>) =>
  ({
    ...{
      database: { kind: "text" as const, text: url },
      listen: null,
      schema,
      leaseMs: 10_000,
      poolSize: 4,
      statementMs: 30_000,
      lockMs: 10_000,
      restate: null,
    },
  }) as const;

const AT_ONCE = 100;

const task = JSON.parse(process.argv[2] ?? "") as MemberTask;
const { run, close } = await openTask(task);
process.send?.("ready");
process.on("message", async (rounds: number) => {
  const before = process.cpuUsage();
  const began = Date.now();
  const latenciesMs = await run(rounds);
  const ended = Date.now();
  const { user, system } = process.cpuUsage(before);
  const report: MemberReport = { began, ended, cpuUs: user + system, latenciesMs };
  process.send?.(report);
});
process.on("disconnect", () => void close().then(() => process.exit()));

function openTask(given: MemberTask): Promise<Work> {
  switch (given.kind) {
    case "drive":
      return openDriving(given);
    case "park":
      return openParking(given);
    case "insert":
      return openInserting(given);
  }
}

/** Sessions of the project's own agent, which wait for a person: faster than its server takes them. */
async function openParking({ sessions, directory, ...at }: Extract<MemberTask, { kind: "park" }>): Promise<Work> {
  const gate = tableGate([{ id: "ask", action: "tool:wire", verdict: "ask", say: "wire it?" }, ...PERMIT_ALL], sha256);
  const runtime = await createRuntime({ directory, agents: [clerk], gate, principal: USER, cluster: toCluster(at) });
  return {
    async run() {
      for (let left = sessions; left > 0; left -= AT_ONCE)
        await Promise.all(
          Array.from({ length: Math.min(AT_ONCE, left) }, async () => {
            const { state } = await runtime.run("clerk", "wire").result;
            if (state !== "waiting") throw new Error(`a session is ${state}`);
          }),
        );
      return [];
    },
    close: () => runtime.close(),
  };
}

type Work = Readonly<{ run(rounds: number): Promise<readonly number[]>; close(): Promise<void> }>;

/** The time from one request of a session's model to its next is one iteration: decided, done, observed and durable, twice. */
async function openDriving({ url, schema, directory, sessions, iterations }: Extract<MemberTask, { kind: "drive" }>): Promise<Work> {
  let latencies: number[] = [];
  const runtime = await createRuntime({
    directory,
    agents: [agent],
    gate: tableGate(PERMIT_ALL, sha256),
    principal: USER,
    model: () => {
      const counting = countingModel(iterations);
      let last: number | null = null;
      return {
        ...counting,
        ask: (request, ...rest) => {
          const now = performance.now();
          if (last !== null) latencies.push(now - last);
          last = now;
          return counting.ask(request, ...rest);
        },
      };
    },
    cluster: toCluster({ url, schema }),
  });
  return {
    async run(rounds) {
      latencies = [];
      for (let round = 0; round < rounds; round += 1)
        await Promise.all(Array.from({ length: sessions }, async () => checkRun(await runtime.run("bench", "go").result, iterations)));
      return latencies;
    },
    close: () => runtime.close(),
  };
}

/** As many statements in flight as there are connections; each is a durable transaction. */
async function openInserting({ url, table, connections, rows, bytes }: Extract<MemberTask, { kind: "insert" }>): Promise<Work> {
  const pool = new pg.Pool({ connectionString: url, max: connections });
  const text = "x".repeat(bytes);
  await pool.query(`CREATE TABLE IF NOT EXISTS ${table} (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, text text NOT NULL)`);
  return {
    async run(rounds) {
      const latencies: number[] = [];
      let left = rows * rounds;
      const insert = async (): Promise<void> => {
        for (; left > 0; ) {
          left -= 1;
          const began = performance.now();
          await pool.query(`INSERT INTO ${table} (text) VALUES ($1)`, [text]);
          latencies.push(performance.now() - began);
        }
      };
      await Promise.all(Array.from({ length: connections }, insert));
      return latencies;
    },
    close: () => pool.end(),
  };
}
