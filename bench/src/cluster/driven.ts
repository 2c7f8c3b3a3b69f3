/**
 * The command line's own workers: sessions are opened, and later messages sent, through a server that drives nothing, and 1, 2, 4 processes of `orgate worker`
 * drive them. Which worker drives what is decided as in a team's cluster: takings of sessions in vain are counted in the database.
 */
import { loadavg } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { installServers } from "../../../e2e/cluster/src/install.ts";
import { type Postgres, startPostgres } from "../../../e2e/cluster/src/servers/postgres.ts";
import type { ServerProcess } from "../../../e2e/cluster/src/servers/process.ts";
import { spread } from "../measure.ts";
import { inFolder } from "../places.ts";
import { digits, type Line, type Report } from "../report.ts";
import { cpuOfTree } from "./processes.ts";
import { type MeasuredProject, openProject, SCHEMA } from "./project.ts";

type Size = Readonly<{ rounds: number; sessions: number; iterations: number; workers: readonly number[] }>;

/** A backend tells its counts of function calls when it has been idle for ten seconds, at the latest. */
const TOLD_MS = 11_000;
const LOOK_MS = 250;

export const clusterDriven = ({ rounds, sessions, iterations, workers }: Size): Promise<Report> =>
  inFolder(async (folder) => {
    installServers((line) => console.error(line));
    const postgres = await startPostgres({ settings: { track_functions: "pl" } });
    const project = await openProject(folder, postgres.url());
    const database = new pg.Client({ connectionString: postgres.url() });
    try {
      await database.connect();
      const opened = await openSessions(project, sessions);
      const running: ServerProcess[] = [];
      const lines: Line[] = [];
      for (const count of workers) {
        while (running.length < count) running.push(await project.worker());
        await round({ project, database, opened, iterations: 2 }); // what a new worker loads and compiles
        lines.push(await measure({ project, postgres, database, opened, iterations, running, rounds }));
      }
      return {
        name: "cluster-driven",
        title: `orgate worker on PostgreSQL: ${sessions} sessions, messages through a server's API, ${iterations} iterations a message`,
        unit: "µs/iteration",
        by: "wall",
        lines,
        aims: [],
        notes: [
          "CPU is that of workers and PostgreSQL; the server that takes the messages is named apart. Latency is from one request of a session's model to its next",
          "in vain: takings of a session that another process had; claims: questions to the database what is due",
          `track_functions is on; load of the machine at the end: ${loadavg().map(digits).join(" ")}`,
        ],
      };
    } finally {
      await database.end();
      await project.close();
      await postgres.stop();
    }
  });

async function openSessions(project: MeasuredProject, count: number): Promise<readonly string[]> {
  const opened: string[] = [];
  while (opened.length < count) opened.push((await project.ask<{ session: string }>("POST", "/sessions", { agent: "counter" })).session);
  return opened;
}

type Driven = Readonly<{ project: MeasuredProject; database: pg.Client; opened: readonly string[]; iterations: number }>;
type Asked = Readonly<{ session: string; at: number }>;
type Round = Readonly<{ began: number; ended: number; latencies: readonly number[]; starts: readonly number[] }>;

/** A message to each session, and all their turns. */
async function round({ project, database, opened, iterations }: Driven): Promise<Round> {
  const last = await lastPosition(database);
  const sent = new Map<string, number>();
  await Promise.all(
    opened.map(async (session) => {
      sent.set(session, Date.now());
      await project.ask("POST", `/sessions/${session}/turns`, { text: `count ${iterations}` });
    }),
  );
  const began = Math.min(...sent.values());
  while ((await countOf(database, last, "turn.ended")) < opened.length) await sleep(LOOK_MS);
  const asked = await requestsAfter(database, last);
  const latencies = asked.flatMap(({ session, at }, i) => (asked[i - 1]?.session === session ? [at - (asked[i - 1]?.at ?? 0)] : []));
  const starts = asked.flatMap(({ session, at }, i) => (asked[i - 1]?.session === session ? [] : [at - (sent.get(session) ?? 0)]));
  return { began, ended: await lastTime(database), latencies, starts };
}

type Measuring = Driven & Readonly<{ postgres: Postgres; running: readonly ServerProcess[]; rounds: number }>;

async function measure({ postgres, running, rounds, ...driven }: Measuring): Promise<Line> {
  const { project, database, opened, iterations } = driven;
  const units = opened.length * (iterations + 1);
  const cpuNow = () => [running, [postgres], [project.server]].map((some) => some.reduce((sum, one) => sum + cpuOfTree(one.pid() ?? 0), 0));
  const [cpu, wall, latencies, starts]: [number[], number[], number[], number[]] = [[], [], [], []];
  const parts = [0, 0, 0];
  await sleep(TOLD_MS);
  const before = await callsOf(database);
  for (let i = 0; i < rounds; i += 1) {
    const used = cpuNow();
    const one = await round(driven);
    const [own = 0, base = 0, server = 0] = cpuNow().map((now, part) => (now - (used[part] ?? 0)) / units);
    [own, base, server].forEach((us, part) => {
      parts[part] = (parts[part] ?? 0) + us / rounds;
    });
    cpu.push(own + base);
    wall.push(((one.ended - one.began) * 1_000) / units);
    latencies.push(...one.latencies);
    starts.push(...one.starts);
  }
  await sleep(TOLD_MS);
  const after = await callsOf(database);
  const turns = opened.length * rounds;
  const vain = after.takings - before.takings - (after.taken - before.taken);
  const at = (all: readonly number[], share: number): string => digits(all.toSorted((a, b) => a - b)[Math.floor((all.length - 1) * share)] ?? Number.NaN);
  const [own = 0, base = 0, server = 0] = parts;
  return {
    label: `${running.length} worker${running.length === 1 ? "" : "s"}`,
    ...{ cpu: spread(cpu), wall: spread(wall), ratio: null },
    more: [
      `${digits(1e6 / spread(wall).median)} iterations/s, p50 ${at(latencies, 0.5)} ms, p99 ${at(latencies, 0.99)} ms`,
      `a message until its first request p50 ${at(starts, 0.5)} ms, p99 ${at(starts, 0.99)} ms`,
      `CPU ${digits(own)} workers + ${digits(base)} PostgreSQL (server ${digits(server)})`,
      `a turn: ${digits(vain / turns)} takings in vain, ${digits((after.claims - before.claims) / turns)} claims`,
    ].join("; "),
  };
}

// ─ what the database knows; an append is its entries, a line each: kind, time, hashes, what it says

const numberOf = async (database: pg.Client, sql: string, values: readonly unknown[] = []): Promise<number> =>
  Number((await database.query<{ n: string }>(sql, [...values])).rows[0]?.n ?? 0);

const has = (kind: string): string => `E'\\n' || a.body LIKE E'%\\n${kind} %'`;
const lastPosition = (database: pg.Client): Promise<number> => numberOf(database, `SELECT coalesce(max(id), 0) AS n FROM "${SCHEMA}".appends`);
const lastTime = (database: pg.Client): Promise<number> =>
  numberOf(database, `SELECT max(at) AS n FROM "${SCHEMA}".streams WHERE stream LIKE 's\\_%'`);
const countOf = (database: pg.Client, after: number, kind: string): Promise<number> =>
  numberOf(database, `SELECT count(*) AS n FROM "${SCHEMA}".appends AS a WHERE id > $1 AND ${has(kind)}`, [after]);

/** By session, in order. */
async function requestsAfter(database: pg.Client, after: number): Promise<readonly Asked[]> {
  const { rows } = await database.query<{ session: string; body: string }>(
    `SELECT s.stream AS session, a.body FROM "${SCHEMA}".appends AS a JOIN "${SCHEMA}".streams AS s ON s.no = a.stream
     WHERE a.id > $1 AND ${has("model.asked")} ORDER BY s.stream, a.id`,
    [after],
  );
  return rows.flatMap(({ session, body }) =>
    [...body.matchAll(/^model\.asked (\d+) /gm)].map(([, at]) => ({ session, at: Number(at) })),
  );
}

type Calls = Readonly<{ takings: number; taken: number; claims: number }>;

/** A session's epoch counts how often it was taken. */
async function callsOf(database: pg.Client): Promise<Calls> {
  const calls = (name: string): Promise<number> =>
    numberOf(database, "SELECT coalesce(sum(calls), 0) AS n FROM pg_stat_user_functions WHERE schemaname = $1 AND funcname = $2", [SCHEMA, name]);
  const taken = await numberOf(database, `SELECT sum(epoch) AS n FROM "${SCHEMA}".streams`);
  return { takings: await calls("take_session"), taken, claims: await calls("claim_sessions") };
}
