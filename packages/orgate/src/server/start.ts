import { type JsonObject, millis, type Principal } from "@orgate/core";
import type { Config } from "../config/config.ts";
import type { OperationContext } from "../operations/context.ts";
import { OperationExecutor, type OperationHandlers } from "../operations/execute.ts";
import { type Log, NO_LOG } from "../operations/logs.ts";
import { openOperations } from "../operations/open.ts";
import type { DriverRole, SessionDriver } from "../operations/session-driver.ts";
import type { Runtime } from "../runtime/api.ts";
import { createRunCheck } from "../runtime/people/may-run.ts";
import { makeDelegateFinder } from "../runtime/ports/delegates.ts";
import { NODE } from "../runtime/ports/outside.ts";
import type { Webhook } from "../schedules/declaring.ts";
import type { Declared } from "../schedules/store.ts";
import type { HookSecrets } from "../schedules/webhook-secrets.ts";
import { openApiServer } from "./http/api.ts";
import { SERVER_LIMITS, type ServerLimits } from "./http/limits.ts";
import { type RunningServer, type ServedPage, startServer } from "./http/server.ts";
import type { SocketProtocols } from "./http/socket-connections.ts";
import { type Access, refuseOnError } from "./identity/authentication.ts";
import { webhookPages } from "./webhooks/webhooks.ts";

export type CoordinatorOptions = Readonly<{
  runtime: Runtime;
  access: Access;
  host: string;
  port: number;
  version: string;
  describe(): JsonObject;
  config?: Config | null;
  names?: readonly string[];
  proxies?: readonly string[];
  bounds?: Partial<ServerLimits>;
  log?: Log;
  /** A coordinator of a cluster leaves driving and firing to workers. */
  role?: Exclude<DriverRole, "worker">;
  /** Sessions driven at once. */
  atOnce?: number;
  /** How long an intent may take to become an entry before its sender learns that it waits. */
  waitMs?: number;
  /** Schedules are fired here; without it they are only shown. */
  declares?: Declares;
  /** Beside the API: description, sign-in, console. */
  pages?: readonly ServedPage[];
  /** More operations, and the sockets, which call operations. */
  more?(front: OperationContext, operations: OperationExecutor): Readonly<{ handlers?: OperationHandlers; talks?: SocketProtocols }>;
}>;

/** Declarations of the project's files, and the person they run as. */
export type Declares = Readonly<{
  schedules: readonly Declared[];
  webhooks: readonly Webhook[];
  /** Of webhooks, by their names. */
  secrets: HookSecrets;
  by: Principal;
}>;

export type Leaving = Readonly<{ finishMs: number; landMs: number; answersMs: number }>;
export const LEAVING: Leaving = Object.freeze({ finishMs: 10_000, landMs: 5_000, answersMs: 2_000 });

export type Coordinator = RunningServer &
  Readonly<{
    sessionDriver: SessionDriver;
    front: OperationContext;
    /** W-29. False: something was still in flight, and the process has to end for it to be given up. */
    leave(how?: Partial<Leaving>): Promise<boolean>;
  }>;

export async function openCoordinator(options: CoordinatorOptions): Promise<Coordinator> {
  const { runtime, access, version, describe, config = null, names = [], proxies = [], pages = [], log = NO_LOG } = options;
  const bounds: ServerLimits = { ...SERVER_LIMITS, ...options.bounds };
  let server: RunningServer | null = null;
  const operations = openOperations({
    runtime,
    version,
    describe,
    config,
    log,
    role: options.role,
    atOnce: options.atOnce,
    waitMs: options.waitMs,
    webhooks: options.declares?.webhooks,
    gauges: () => ({
      orgate_connections: [server?.connections() ?? 0, "Connections."],
      orgate_sockets: [server?.sockets() ?? 0, "WebSockets among them."],
    }),
  });
  await runtime.place.store.play(options.role ?? "server", operations.told);
  const { context: front, schedules } = operations;
  const { sessionDriver, metrics, probes } = front;
  const executor = new OperationExecutor({
    runtime,
    access: refuseOnError(access),
    handlers: operations.handlers,
    checks: operations.checks,
    once: front.once,
  });
  const more = options.more?.(front, executor) ?? {};
  executor.offer(more.handlers ?? {});
  const webhooks = openWebhookPages(front, options, bounds);
  const api = openApiServer({ operations: executor, access: refuseOnError(access), bounds });
  try {
    server = await startServer({
      host: options.host,
      port: options.port,
      names,
      proxies,
      access,
      api,
      pages: [webhooks, ...pages],
      protocols: more.talks ?? {},
      probes,
      limits: bounds,
      log,
      counted: metrics.request,
    });
  } catch (error) {
    sessionDriver.stop();
    operations.close();
    throw error;
  }
  await sessionDriver.sweep("interrupted");
  if (options.declares !== undefined) {
    await schedules.store.declare(options.declares.schedules, options.declares.by);
    if (options.role !== "coordinator") await schedules.scheduler.start();
  }
  const running = server;

  async function leave(how: Partial<Leaving> = {}): Promise<boolean> {
    const { finishMs, landMs, answersMs } = { ...LEAVING, ...how };
    log("info", "server.leaving", { driving: sessionDriver.driving() });
    schedules.scheduler.stop(); // what is due from now on is for the next server
    const landed = await sessionDriver.leave(finishMs, landMs);
    await running.close(answersMs);
    operations.close();
    log(landed ? "info" : "warn", "server.left", { landed });
    return landed;
  }
  return { ...running, sessionDriver, front, leave };
}

function openWebhookPages(
  { deliveries, runtime, sessionDriver, now }: OperationContext,
  { declares, log = NO_LOG }: CoordinatorOptions,
  bounds: ServerLimits,
): ServedPage {
  const { gate, agents } = runtime.inspect;
  return webhookPages(deliveries, {
    journal: runtime.place.store.journal,
    secrets: declares?.secrets ?? new Map(),
    findSessionStart: makeDelegateFinder(new Map(agents.map((agent) => [agent.name, agent])), gate),
    mayNotRun: createRunCheck(gate),
    newSession: NODE.ids.session,
    wake: (session) => sessionDriver.wake(session),
    now: () => millis(now()),
    bounds,
    log,
  });
}
