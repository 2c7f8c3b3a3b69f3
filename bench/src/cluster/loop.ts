/**
 * Workers on PostgreSQL: durable iterations a second with 1, 2 and 4 processes, beside bare inserts of the same bytes and bare steps of Restate in the same run.
 * Needs the servers of `e2e/cluster` (`npm run cluster:contracts` installs them).
 */
import { loadavg } from "node:os";
import { installServers } from "../../../e2e/cluster/src/install.ts";
import { type Postgres, startPostgres } from "../../../e2e/cluster/src/servers/postgres.ts";
import { spread } from "../measure.ts";
import { inFolder } from "../places.ts";
import { digits, type Line, type Report } from "../report.ts";
import type { MemberReport, MemberTask } from "./member.ts";
import { cpuOfTree, openMembers } from "./processes.ts";

type Size = Readonly<{ rounds: number; sessions: number; iterations: number; workers: readonly number[]; steps: boolean }>;

export const clusterLoop = ({ rounds, sessions, iterations, workers, steps }: Size): Promise<Report> =>
  inFolder(async (folder) => {
    installServers((line) => console.error(line));
    const postgres = await startPostgres();
    const lines: Line[] = [];
    const notes: string[] = [];
    try {
      const url = postgres.url();
      let [bytes, appends] = [1_000, 2];
      for (const count of workers) {
        const schema = `bench_${count}`;
        const tasks = Array.from(
          { length: count },
          (): MemberTask => ({ kind: "drive", url, schema, directory: `${folder}/${schema}`, sessions, iterations }),
        );
        const measured = await measure(postgres, tasks, { rounds, units: count * sessions * iterations });
        const stored = await storedIn(postgres, schema);
        const all = measured.iterations * (1 + 1 / rounds); // with the warm-up
        [bytes, appends] = [Math.round(stored.bytes / stored.appends), stored.appends / all];
        lines.push(toLine(`${count} worker${count === 1 ? "" : "s"}, ${count * sessions} sessions`, measured));
        notes.push(
          `${count} worker${count === 1 ? "" : "s"}: ${digits(stored.bytes / all)} B of journal an iteration, ${digits(measured.walBytes / measured.iterations)} B of WAL, ${digits(stored.appends / stored.commits)} appends a commit`,
        );
      }
      for (const count of workers) {
        const tasks = Array.from(
          { length: count },
          (): MemberTask => ({
            kind: "insert",
            url,
            table: "bare",
            connections: 4,
            rows: Math.round(sessions * iterations * appends),
            bytes,
          }),
        );
        const measured = await measure(postgres, tasks, { rounds, units: count * sessions * iterations });
        lines.push(toLine(`bare inserts: ${count} × 4 connections, ${digits(appends)} rows of ${bytes} B each`, measured));
      }
    } finally {
      await postgres.stop();
    }
    if (steps) lines.push(await restateSteps(sessions, iterations * rounds));
    const [floor] = lines.filter(({ label }) => label.startsWith("bare inserts"));
    return {
      name: "cluster",
      title: `workers on PostgreSQL, ${sessions} sessions each, ${iterations} iterations a session`,
      unit: "µs/iteration",
      by: "wall",
      lines: lines.map((line) => ({
        ...line,
        ratio: line === floor || floor === undefined ? null : (line.wall?.median ?? 0) / (floor.wall?.median ?? 1),
      })),
      aims: [],
      notes: [
        ...notes,
        "CPU is that of the workers and of PostgreSQL together; latency is from one request of a session's model to its next, under this load",
        `fsync and synchronous_commit are on; load of the machine at the end: ${loadavg().map(digits).join(" ")}`,
      ],
    };
  });

type Measured = Readonly<{
  iterations: number;
  cpu: number[];
  wall: number[];
  latencies: readonly number[];
  walBytes: number;
  ownCpu: number;
  databaseCpu: number;
}>;

async function measure(
  postgres: Postgres,
  tasks: readonly MemberTask[],
  { rounds, units }: Readonly<{ rounds: number; units: number }>,
): Promise<Measured> {
  const members = await openMembers(tasks);
  const pid = postgres.pid() ?? 0;
  try {
    await members.run(1); // warm-up
    const [cpu, wall, latencies]: [number[], number[], number[]] = [[], [], []];
    let [ownCpu, databaseCpu] = [0, 0];
    const wal = await walOf(postgres);
    for (let round = 0; round < rounds; round += 1) {
      const before = cpuOfTree(pid);
      const reports: readonly MemberReport[] = await members.run(1);
      const used = cpuOfTree(pid) - before;
      const own = reports.reduce((sum, { cpuUs }) => sum + cpuUs, 0);
      const took = Math.max(...reports.map(({ ended }) => ended)) - Math.min(...reports.map(({ began }) => began));
      cpu.push((own + used) / units);
      wall.push((took * 1_000) / units);
      ownCpu += own;
      databaseCpu += used;
      for (const report of reports) latencies.push(...report.latenciesMs);
    }
    const iterations = units * rounds;
    const walBytes = (await walOf(postgres)) - wal;
    return { iterations, cpu, wall, latencies, walBytes, ownCpu: ownCpu / iterations, databaseCpu: databaseCpu / iterations };
  } finally {
    await members.close();
  }
}

function toLine(label: string, { cpu, wall, latencies, ownCpu, databaseCpu }: Measured): Line {
  const sorted = latencies.toSorted((a, b) => a - b);
  const at = (share: number): string => digits(sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN);
  const each = `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms; CPU ${digits(ownCpu)} own + ${digits(databaseCpu)} PostgreSQL`;
  return { label, cpu: spread(cpu), wall: spread(wall), ratio: null, more: `${digits(1e6 / spread(wall).median)} iterations/s, ${each}` };
}

const walOf = async (postgres: Postgres): Promise<number> =>
  Number((await postgres.query<{ at: string }>("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') AS at"))[0]?.at);

/** What the journal's own rows hold, in the database of the laboratory. */
async function storedIn(postgres: Postgres, schema: string): Promise<Readonly<{ bytes: number; appends: number; commits: number }>> {
  const { default: pg } = await import("pg");
  const client = new pg.Client({ connectionString: postgres.url() });
  await client.connect();
  const { rows } = await client.query(
    `SELECT (SELECT coalesce(sum(octet_length(body) + octet_length(hash) + octet_length(mac)), 0) FROM "${schema}".appends) AS bytes,
       (SELECT count(*) FROM "${schema}".appends) AS appends, (SELECT sum(batch) FROM "${schema}".writers) AS commits`,
  );
  await client.end();
  return { bytes: Number(rows[0]?.bytes), appends: Number(rows[0]?.appends), commits: Number(rows[0]?.commits) };
}

/** Two durable steps stand for an iteration, as our two commits do. */
async function restateSteps(sessions: number, iterations: number): Promise<Line> {
  const { measureSteps } = await import("../../../e2e/cluster/src/servers/restate-steps.ts");
  const { wallMs, cpuUs } = await measureSteps({ sessions, steps: 2 * iterations, cpuOf: cpuOfTree });
  const units = sessions * iterations;
  const [wall, cpu] = [(wallMs * 1_000) / units, cpuUs / units];
  return {
    label: `bare Restate: ${sessions} invocations, two steps an iteration`,
    cpu: spread([cpu]),
    wall: spread([wall]),
    ratio: null,
    more: `${digits(1e6 / wall)} iterations/s; CPU of the handler's process and the server`,
  };
}
