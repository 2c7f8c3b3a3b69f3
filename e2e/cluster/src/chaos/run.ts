/**
 * Chaos with real processes: `npm run cluster:chaos -- --kills 40 --sessions 200 --seed 7`. Sessions of every kind are opened while processes are killed,
 * stopped and cut off; then everything is left in peace until it has ended, and the judge compares the journal with what happened. `--cluster` runs
 * workers and coordinators on PostgreSQL instead of servers on SQLite, `--restate` also three Restate nodes that ask them to drive. With `--broken NAME` a build that breaks a promise runs instead, and the command
 * succeeds if the judge finds it out.
 */
import { writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { seeded } from "@orgate/e2e/seeded";
import { openClients } from "./clients.ts";
import { CLUSTER_SETTINGS, DATABASE, type Deployment, revive, startCluster, startEmbedded, startRestateNodes } from "./deployment.ts";
import { type Fault, pickFault } from "./faults.ts";
import { judge, type Verdict } from "./judge.ts";
import { SCHEDULE } from "./project.ts";
import { gatherEvidence, openWorld, type World, waitForPeace } from "./world.ts";

export type ChaosOptions = Readonly<{
  seed: number;
  sessions: number;
  kills: number;
  cluster: boolean;
  /** With three Restate nodes that ask workers to drive. */
  restate: boolean;
  broken: string | null;
  say(line: string): void;
}>;

const SERVERS = 3;
/** Jobs that are opened before the first kill. */
const AHEAD = 20;
/** Everything that was left in peace ends within this. */
const PEACE_MS = 180_000;

export async function runChaos(options: ChaosOptions): Promise<Verdict> {
  const began = performance.now();
  const since = (): string => `${Math.round((performance.now() - began) / 1_000)} s`;
  const { world, deployment } = await deploy(options);
  const { folder, outside, project, token } = world;
  const clients = openClients(deployment.urls, token);
  options.say(`everything runs after ${since()}`);
  await storm(options, deployment, clients);
  options.say(`the storm is over after ${since()}`);
  await clients.pauseSchedule(SCHEDULE);
  const left = await waitForPeace(clients, PEACE_MS, () => revive(deployment.processes));
  options.say(`nothing runs any more after ${since()}`);
  await clients.end();
  for (const server of deployment.processes) await server.stop();
  const evidence = await gatherEvidence(folder, project, outside);
  await outside.end();
  const { violations, counts } = judge({ ...evidence, acknowledged: clients.acknowledged });
  if (violations.length + left.length > 0) for (const line of lastErrors(deployment)) options.say(line);
  return { violations: [...left.map((line) => `L-4 left in peace for ${PEACE_MS / 1_000} s, ${line}`), ...violations], counts };
}

async function deploy({ seed, broken, cluster, restate }: ChaosOptions): Promise<Readonly<{ world: World; deployment: Deployment }>> {
  if (!cluster) {
    const world = await openWorld({ seed, broken });
    return { world, deployment: await startEmbedded(world.project, world.folder, SERVERS) };
  }
  const { startPostgres } = await import("../servers/postgres.ts"); // not installed where nobody needs it
  const postgres = await startPostgres();
  const lines = restate ? await startRestateNodes() : null;
  const settings = `${CLUSTER_SETTINGS}${lines?.settings ?? ""}`;
  const world = await openWorld({ seed, broken, settings, env: { [DATABASE]: postgres.url() } });
  return { world, deployment: await startCluster(world.project, world.folder, { postgres, restate: lines }) };
}

/** Why processes ended or could not go on, as they said it. */
const lastErrors = ({ processes }: Deployment): readonly string[] => [
  ...new Set(
    processes.flatMap((server) =>
      server
        .log()
        .split("\n")
        .filter((line) => line.startsWith("error:") || line.includes('"level":"error"'))
        .slice(-2),
    ),
  ),
];

async function storm(options: ChaosOptions, { faults, processes }: Deployment, clients: ReturnType<typeof openClients>): Promise<void> {
  const { seed, sessions, kills, say } = options;
  const done = new Map<string, number>();
  let [killed, revived, storming] = [0, 0, true];
  const everyFault = async (lane: readonly Fault[], n: number): Promise<void> => {
    const own = seeded(seed + n);
    while (killed < kills) {
      const fault = pickFault(lane, own);
      const more = await fault.run(own);
      killed += more;
      done.set(fault.name, (done.get(fault.name) ?? 0) + 1);
      await sleep(own.between(0, 700));
      revived += await revive(processes);
    }
    storming = false;
  };
  /** In step with the kills, so that there is work at every one of them: a job more whenever its share of the kills is done. */
  const everyJob = async (): Promise<void> => {
    for (let job = 1; job <= sessions; ) {
      if (storming && job > AHEAD + (sessions * killed) / kills) await sleep(50);
      else await clients.openJob(String(job++));
    }
  };
  const everyAnswer = async (): Promise<void> => {
    while (storming) {
      await clients.approveAll();
      await sleep(400);
    }
  };
  await Promise.all([...faults.map(everyFault), everyJob(), everyAnswer()]);
  const told = [...done].map(([name, times]) => `${name}: ${times}`).join(" · ");
  say(`${sessions} jobs; ${told} (${killed} processes killed with -9, ${revived} ended by themselves)`);
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      seed: { type: "string" },
      sessions: { type: "string", default: "200" },
      kills: { type: "string", default: "40" },
      cluster: { type: "boolean", default: false },
      restate: { type: "boolean", default: false },
      broken: { type: "string" },
      write: { type: "string" },
    },
  });
  const { restate, broken = null } = values;
  const cluster = values.cluster || restate;
  const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
  const told: string[] = [];
  const say = (line: string): void => {
    console.log(line);
    told.push(line);
  };
  const began = performance.now();
  say(
    `chaos on ${restate ? "PostgreSQL and three Restate nodes" : cluster ? "PostgreSQL" : "SQLite"}${broken === null ? "" : `, broken build \`${broken}\``}, seed ${seed}`,
  );
  const { violations, counts } = await runChaos({
    ...{ seed, sessions: Number(values.sessions), kills: Number(values.kills), cluster, restate, broken, say },
  });
  for (const [name, count] of Object.entries(counts)) say(`${name}: ${count}`);
  for (const violation of violations.slice(0, 50)) say(`VIOLATION ${violation}`);
  say(`${violations.length} violations in ${Math.round((performance.now() - began) / 1_000)} s`);
  if (values.write !== undefined) writeFileSync(values.write, `${told.join("\n")}\n`);
  // A broken build that passes means that this suite sees nothing.
  process.exit((violations.length === 0) === (broken === null) ? 0 : 1);
}
