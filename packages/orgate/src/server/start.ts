/** The coordinator put together: floor, probes, metrics, routes and sockets around one runtime, on one port. */
import { dirname } from "node:path";
import { type JsonObject, millis, type Principal } from "@orgate/core";
import type { Config } from "../config/config.ts";
import type { OperationContext } from "../operations/context.ts";
import { openDeliveries } from "../operations/deliveries.ts";
import type { OperationHandlers } from "../operations/execute.ts";
import { agentHandlers } from "../operations/handlers/agents.ts";
import { journalHandlers } from "../operations/handlers/journal.ts";
import { knowledgeHandlers } from "../operations/handlers/knowledge.ts";
import { peopleHandlers } from "../operations/handlers/people.ts";
import { policyHandlers } from "../operations/handlers/policies.ts";
import { scheduleHandlers } from "../operations/handlers/schedules.ts";
import { serverHandlers } from "../operations/handlers/server.ts";
import { sessionHandlers } from "../operations/handlers/sessions.ts";
import { webhookHandlers } from "../operations/handlers/webhooks.ts";
import { workHandlers } from "../operations/handlers/work.ts";
import { openHealthChecks } from "../operations/health-checks.ts";
import { type Keys, openIdempotency } from "../operations/idempotency.ts";
import { openLanes } from "../operations/lanes.ts";
import { errorText, type Log, NO_LOG } from "../operations/logs.ts";
import { openMetrics } from "../operations/metrics.ts";
import { cursors } from "../operations/paging.ts";
import { openSessionDriver, type SessionDriver } from "../operations/session-driver.ts";
import { openOwners } from "../operations/visibility.ts";
import type { Runtime } from "../runtime/api.ts";
import { mayNotRunOf } from "../runtime/people/may-run.ts";
import { delegatesOf } from "../runtime/ports/delegates.ts";
import { NODE } from "../runtime/ports/outside.ts";
import type { Webhook } from "../schedules/declaring.ts";
import { openSchedules } from "../schedules/index.ts";
import type { Declared } from "../schedules/store.ts";
import type { HookSecrets } from "../schedules/webhook-secrets.ts";
import { openViewsWorker } from "../store/views-worker.ts";
import { openApiServer } from "./http/api.ts";
import { BOUNDS, type ServerLimits } from "./http/limits.ts";
import { type RunningServer, type ServedPage, type SocketTalks, startServer } from "./http/server.ts";
import type { Access } from "./identity/authentication.ts";
import { webhookPages } from "./webhooks/webhooks.ts";

export type CoordinatorOptions = Readonly<{
  runtime: Runtime;
  access: Access;
  keys: Keys;
  host: string;
  port: number;
  version: string;
  describe(): JsonObject;
  config?: Config | null;
  names?: readonly string[];
  proxies?: readonly string[];
  bounds?: Partial<ServerLimits>;
  log?: Log;
  /** Sessions driven at once. */
  atOnce?: number;
  /** How long a wish may take to become an entry before its sender is told that it waits. */
  waitMs?: number;
  /** Schedules are fired here; without it they are only shown. */
  declares?: Declares;
  /** Beside the API: description, sign-in, console. */
  pages?: readonly ServedPage[];
  /** More routes of the table, and what talks over sockets, once there is a floor to stand on. */
  more?(front: OperationContext): Readonly<{ handlers?: OperationHandlers; talks?: SocketTalks }>;
}>;

/** What the project's files say, on whose word. */
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
    floor: SessionDriver;
    front: OperationContext;
    /** W-29. False: something was still in flight, and the process has to end for it to be given up. */
    leave(how?: Partial<Leaving>): Promise<boolean>;
  }>;

export async function openCoordinator(options: CoordinatorOptions): Promise<Coordinator> {
  const {
    runtime,
    access,
    keys,
    host,
    port,
    version,
    describe,
    config = null,
    names = [],
    proxies = [],
    pages = [],
    log = NO_LOG,
  } = options;
  const bounds: ServerLimits = { ...BOUNDS, ...options.bounds };
  const now = (): number => Date.now();
  let server: RunningServer | null = null;
  const floor = openSessionDriver({
    runtime,
    atOnce: options.atOnce ?? 256,
    waitMs: options.waitMs ?? 10_000,
    told: (drove) => {
      if (drove.kind === "failed") log("error", "session.not-driven", { session: drove.session, error: errorText(drove.error) });
    },
  });
  const metrics = openMetrics({
    runtime,
    log,
    gauges: () => ({
      orgate_connections: [server?.connections() ?? 0, "Connections."],
      orgate_sockets: [server?.sockets() ?? 0, "WebSockets among them."],
      orgate_sessions_driven: [floor.driving(), "Sessions that are driven here."],
      orgate_sessions_queued: [floor.queued(), "Sessions that wait to be driven here."],
    }),
  });
  const probes = openHealthChecks({ runtime, isLeaving: floor.isLeaving, log });
  const views = openViewsWorker(dirname(runtime.place.keys.dir));
  const gate = runtime.inspect.gate;
  const beginning = delegatesOf(new Map(runtime.inspect.agents.map((agent) => [agent.name, agent])), gate);
  const schedules = openSchedules({
    place: runtime.place,
    gate,
    beginning,
    wake: floor.wake,
    failed: (schedule, error) => log("error", "schedule.failed", { schedule, error: errorText(error) }),
  });
  const front: OperationContext = {
    runtime,
    floor,
    schedules: schedules.desk,
    deliveries: openDeliveries(options.declares?.webhooks ?? [], now),
    probes,
    metrics,
    views,
    lanes: openLanes(),
    version,
    startedAt: now(),
    now,
    describe,
    config,
    cursors: cursors(),
    whose: openOwners(runtime.place.store.journal),
  };
  const more = options.more?.(front) ?? {};
  const webhooks = webhookPages(front.deliveries, {
    journal: runtime.place.store.journal,
    secrets: options.declares?.secrets ?? new Map(),
    beginning,
    mayNotRun: mayNotRunOf(gate),
    newSession: NODE.ids.session,
    wake: floor.wake,
    now: () => millis(now()),
    bounds,
    log,
  });
  const handlers: OperationHandlers = {
    ...serverHandlers(front),
    ...agentHandlers(front),
    ...sessionHandlers(front),
    ...peopleHandlers(front),
    ...workHandlers(front),
    ...scheduleHandlers(front),
    ...webhookHandlers(front),
    ...policyHandlers(front),
    ...journalHandlers(front),
    ...knowledgeHandlers(front),
    ...more.handlers,
  };
  const api = openApiServer({ runtime, access, handlers, once: openIdempotency(keys, now), bounds });
  const closeAll = (): void => {
    metrics.close();
    void views.close();
    keys.close();
  };
  try {
    server = await startServer({
      host,
      port,
      names,
      proxies,
      access,
      api,
      pages: [webhooks, ...pages],
      talks: more.talks ?? {},
      probes,
      bounds,
      log,
      counted: metrics.request,
    });
  } catch (error) {
    floor.stop();
    closeAll();
    throw error;
  }
  await floor.sweep("interrupted");
  if (options.declares !== undefined) {
    await schedules.book.declare(options.declares.schedules, options.declares.by);
    await schedules.clockwork.start();
  }
  const running = server;

  async function leave(how: Partial<Leaving> = {}): Promise<boolean> {
    const { finishMs, landMs, answersMs } = { ...LEAVING, ...how };
    log("info", "server.leaving", { driving: floor.driving() });
    schedules.clockwork.stop(); // what is due from now on is for whoever comes next
    const landed = await floor.leave(finishMs, landMs);
    await running.close(answersMs);
    closeAll();
    log(landed ? "info" : "warn", "server.left", { landed });
    return landed;
  }
  return { ...running, floor, front, leave };
}
