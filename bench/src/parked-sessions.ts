/**
 * What parked sessions cost a process (rule 10): so many wait for a person, in a journal of their own; then a process opens it and serves. Run with
 * --expose-gc.  node --expose-gc bench/src/parked-sessions.ts [SESSIONS]
 */

import { openLarge } from "./growth/large-journal.ts";
import { serve } from "./growth/operations.ts";
import { recordStatements, totalOf } from "./growth/statements.ts";
import { bytesInUse } from "./measure.ts";
import { inFolder } from "./places.ts";

const most = Number(process.argv[2] ?? 10_000);
const AT_ONCE = 500;
const IDLE_MS = 5_000;

async function park(folder: string, sessions: number): Promise<void> {
  const runtime = await openLarge(folder);
  for (let left = sessions; left > 0; left -= AT_ONCE) {
    const runs = Array.from({ length: Math.min(AT_ONCE, left) }, () => runtime.run("bench", "go", { labels: ["careful"] }).result);
    for (const { state } of await Promise.all(runs)) if (state !== "waiting") throw new Error(`a session is ${state}`);
  }
  await runtime.close();
}

async function served(folder: string): Promise<object> {
  const before = await bytesInUse();
  const server = await serve(folder);
  const bytes = (await bytesInUse()) - before;
  const timers = process.getActiveResourcesInfo().length;
  const cpu = process.cpuUsage();
  await new Promise((turn) => setTimeout(turn, IDLE_MS));
  const { user, system } = process.cpuUsage(cpu);
  const began = process.cpuUsage();
  const { calls, rows } = totalOf(await recordStatements(() => server.sweep()));
  const swept = process.cpuUsage(began);
  await server.close();
  return {
    bytes,
    timers,
    idleCpuMsPerSecond: (user + system) / IDLE_MS,
    sweep: { calls, rows, cpuMs: (swept.user + swept.system) / 1_000 },
  };
}

await bytesInUse(); // says at once when it cannot
for (const sessions of [10, most, 10, most])
  await inFolder(async (folder) => {
    await park(folder, sessions);
    console.log(JSON.stringify({ parked: sessions, ...(await served(folder)) }));
  });
