/**
 * Chaos with real processes: `npm run cluster:chaos -- --kills 40 --sessions 200 --seed 7`. Sessions of every kind are opened while processes are killed,
 * stopped and cut off; then everything is left in peace until it has ended, and the judge compares the journal with what happened.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { seeded } from "@orgate/e2e/seeded";
import { ed25519 } from "orgate";
import { ownFolder } from "../servers/process.ts";
import { openClients } from "./clients.ts";
import { startEmbedded } from "./deployment.ts";
import { drainOne, type Fault, freezeOne, killAll, killOne, pickFault } from "./faults.ts";
import { judge, type Verdict } from "./judge.ts";
import { openOutside } from "./outside.ts";
import { makeProject, PERSON, SCHEDULE } from "./project.ts";

export type ChaosOptions = Readonly<{
  seed: number;
  sessions: number;
  kills: number;
  broken: string | null;
  say(line: string): void;
}>;

/** Everything that was left in peace ends within this. */
const PEACE_MS = 180_000;

export async function runChaos({ seed, sessions, kills, broken, say }: ChaosOptions): Promise<Verdict> {
  const folder = ownFolder("chaos");
  const random = seeded(seed);
  const outside = await openOutside(seed, join(folder, "outside.jsonl"));
  const project = makeProject({ folder, outside: outside.url, settings: "", broken });
  project.orgate(["keys", "create", PERSON]);
  const { token } = JSON.parse(project.orgate(["keys", "create", PERSON, "--api", "--json"]));
  const { urls, coordinators, workers } = await startEmbedded(project, folder);
  const clients = openClients(urls, token);
  const faults: readonly Fault[] = [
    killOne("a server", workers, 10),
    killAll("server", workers, 1),
    freezeOne("a server", workers, 2_000, 2),
    drainOne("a server", workers, 1),
  ];
  const done = new Map<string, number>();
  let killed = 0;
  let storming = true;
  const everyFault = async (): Promise<void> => {
    while (killed < kills) {
      const fault = pickFault(faults, random);
      await fault.run(random);
      killed += fault.kills;
      done.set(fault.name, (done.get(fault.name) ?? 0) + 1);
      await sleep(random.between(100, 900));
    }
    storming = false;
  };
  /** As many at a time as keeps the servers busy until the last kill; at least the number that was asked for. */
  const everyJob = async (): Promise<number> => {
    let opened = 0;
    while (opened < sessions || storming) {
      opened += 1;
      await clients.openJob(String(opened));
      await sleep(opened < sessions && killed / kills > opened / sessions ? 0 : 150);
    }
    return opened;
  };
  const everyAnswer = async (): Promise<void> => {
    while (storming) {
      await clients.approveAll();
      await sleep(400);
    }
  };
  const [, opened] = await Promise.all([everyFault(), everyJob(), everyAnswer()]);
  say(`${opened} jobs opened; ${[...done].map(([name, times]) => `${name}: ${times}`).join(" · ")} (${killed} processes killed with -9)`);
  await clients.pauseSchedule(SCHEDULE);
  const left = await peace(clients);
  await clients.end();
  for (const server of [...coordinators, ...workers]) await server.stop();
  const file = join(folder, "journal.jsonl");
  project.orgate(["journal", "export", "--out", file]);
  project.orgate(["journal", "verify"]);
  const root = ed25519.read(readFileSync(join(project.root, ".orgate", "keys", "root.key"), "utf8"))?.publicKey ?? "";
  const evidence = { journal: readFileSync(file, "utf8"), root, effects: outside.effects(), requests: outside.requests() };
  await outside.end();
  const { violations, counts } = judge({ ...evidence, acknowledged: clients.acknowledged });
  return { violations: [...left.map((line) => `L-4 left in peace for ${PEACE_MS / 1_000} s, ${line}`), ...violations], counts };
}

/** Answers what waits for people until nothing runs; what still does then. */
async function peace(clients: ReturnType<typeof openClients>): Promise<readonly string[]> {
  let left: readonly string[] = [];
  let quiet = 0;
  for (const until = performance.now() + PEACE_MS; performance.now() < until; await sleep(300)) {
    await clients.approveAll();
    left = (await clients.unfinished()) ?? ["no coordinator answers"];
    quiet = left.length === 0 ? quiet + 1 : 0;
    if (quiet === 3) return [];
  }
  return left;
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      seed: { type: "string" },
      sessions: { type: "string", default: "200" },
      kills: { type: "string", default: "40" },
      broken: { type: "string" },
      write: { type: "string" },
    },
  });
  const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
  const told: string[] = [];
  const say = (line: string): void => {
    console.log(line);
    told.push(line);
  };
  const began = performance.now();
  say(`chaos, embedded, seed ${seed}`);
  const { violations, counts } = await runChaos({
    ...{ seed, sessions: Number(values.sessions), kills: Number(values.kills), broken: values.broken ?? null, say },
  });
  for (const [name, count] of Object.entries(counts)) say(`${name}: ${count}`);
  for (const violation of violations.slice(0, 50)) say(`VIOLATION ${violation}`);
  say(`${violations.length} violations in ${Math.round((performance.now() - began) / 1_000)} s`);
  if (values.write !== undefined) writeFileSync(values.write, `${told.join("\n")}\n`);
  process.exit(violations.length === 0 ? 0 : 1);
}
