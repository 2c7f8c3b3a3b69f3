/**
 * `orgate worker`: drives sessions and fires schedules of a project until it is stopped. It serves nobody and keeps nothing: what it does not finish, another does.
 * W-29 the first SIGTERM or SIGINT lets turns finish or parks them; the second leaves at once, which loses nothing (rule 3).
 * J-3 a worker that can write nothing any more says why and ends: whoever runs it starts another.
 */
import { hostname } from "node:os";
import { usageFault } from "@orgate/core/vocab";
import { EXIT, type Given, type RunCommand, type Screen } from "@orgate/shell/terminal";
import { loadRunners } from "@orgate/toolclad/running";
import type { ClusterConfig } from "../../../config/cluster-schema.ts";
import { version } from "../../../node/version.ts";
import { type RestateEndpoint, serveRestate } from "../../../operations/driving/restate/endpoint.ts";
import { errorText } from "../../../operations/logs.ts";
import { openOperations } from "../../../operations/open.ts";
import { loadRunnableProject } from "../../../project/load.ts";
import { LEAVING } from "../../../server/start.ts";
import { findLocalWorkers } from "../../../store/open-cluster.ts";
import { certifyIfNeeded, findCaller, openGivenProject } from "./project.ts";
import { declaredIn, openProjectRuntime } from "./serving.ts";
import { logOf, untilTold } from "./up.ts";

export const worker: RunCommand = async (given, screen) => {
  const config = openGivenProject(given);
  if (given.flag("alive")) return findLife(given, screen, config.journal.cluster);
  const log = logOf(given, screen);
  const loaded = await loadRunnableProject(config, { env: given.env, surface: "api" });
  const person = findCaller(given, screen);
  await loadRunners();
  const runtime = await openProjectRuntime(given, screen, loaded, person);
  let landed = true;
  let endpoint: RestateEndpoint | null = null;
  try {
    await certifyIfNeeded(given, screen, runtime.place, person);
    const { turnsAtOnce } = config.server;
    const operations = openOperations({
      runtime,
      version: version(),
      describe: () => ({}),
      config,
      log,
      role: "worker",
      atOnce: turnsAtOnce,
      unanswered: () => endpoint?.register(),
    });
    await runtime.place.store.play("worker", operations.told);
    const { sessionDriver } = operations.context;
    const { store, scheduler } = operations.schedules;
    await store.declare(declaredIn(loaded, person.name).schedules, { kind: "user", id: person.name });
    const { cluster } = config.journal;
    endpoint =
      cluster === null || cluster.restate === null
        ? null
        : await serveRestate(cluster.restate, cluster.schema, {
            ...sessionDriver.advancing,
            fire: () => (sessionDriver.isLeaving() ? Promise.resolve() : scheduler.settle()), // otherwise others look a little later
            failed: (error) => log("warn", "restate.not-registered", { error: errorText(error) }),
          });
    await scheduler.start();
    await sessionDriver.sweep("interrupted");
    const { writer } = runtime.place.store.slot;
    screen.line(
      given.json
        ? JSON.stringify({ worker: writer, pid: process.pid, restate: endpoint?.url ?? null })
        : `worker ${writer} drives sessions of ${config.name}`,
    );
    landed = await untilTold(log, runtime.place.store.stopped, async () => {
      log("info", "worker.leaving", { driving: sessionDriver.driving() });
      scheduler.stop(); // what is due from now on is for another worker
      return sessionDriver.leave(LEAVING.finishMs, LEAVING.landMs);
    });
    await endpoint?.close();
    operations.close();
  } finally {
    await loaded.project.mcp?.hub.close();
    if (landed) await runtime.close();
  }
  if (!landed) process.exit(EXIT.failure); // what is in flight ends with the process: its sessions are taken over, as after a crash
  return EXIT.success;
};

/** Longer than a process goes without renewing its lease while it is well; a lease that has run out does not count at all. */
const LATELY_MS = 10_000;

/** For a probe, which runs where the worker does: its host is the lease's, and its pid that of a process here. Nothing is written, and no key is needed. */
async function findLife(given: Given, screen: Screen, cluster: ClusterConfig | null): Promise<number> {
  if (cluster === null)
    throw usageFault(
      "this project has no `[cluster]`, so its processes have no leases",
      "run it in a project whose `orgate.toml` has `[cluster]`",
    );
  const found = (await findLocalWorkers(cluster)).filter(({ pid }) => isProcess(pid));
  const [last] = found;
  const isAlive = last !== undefined && last.heardMs <= LATELY_MS;
  const said =
    last === undefined
      ? `no worker on ${hostname()} has a lease`
      : `worker ${last.writer} (process ${last.pid} on ${hostname()}) renewed its lease ${(last.heardMs / 1_000).toFixed(1)} s ago`;
  if (given.json) screen.line(JSON.stringify({ alive: isAlive, worker: last?.writer ?? null, heardMs: last?.heardMs ?? null }));
  else if (isAlive) screen.line(said);
  else screen.aside(said);
  return isAlive ? EXIT.success : EXIT.failure;
}

function isProcess(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
