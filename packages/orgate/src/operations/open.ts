/** Everything that operations need around one runtime, and all handlers: the server puts transports in front of it, `orgate call` uses it as it is. */
import { dirname } from "node:path";
import type { JsonObject } from "@orgate/core";
import type { Config } from "../config/config.ts";
import type { Runtime } from "../runtime/api.ts";
import { makeDelegateFinder } from "../runtime/ports/delegates.ts";
import type { Webhook } from "../schedules/declaring.ts";
import { openSchedules } from "../schedules/index.ts";
import type { SchedulerPorts } from "../schedules/scheduler.ts";
import type { Telling } from "../store/store.ts";
import { openViewsWorker } from "../store/threads/views-worker.ts";
import type { OperationContext } from "./context.ts";
import { openDeliveries } from "./deliveries.ts";
import { openSummons, type Summons } from "./driving/restate/summons.ts";
import type { OperationChecks, OperationHandlers } from "./execute.ts";
import { agentChecks, agentHandlers } from "./handlers/agents.ts";
import { journalHandlers } from "./handlers/journal.ts";
import { knowledgeHandlers } from "./handlers/knowledge.ts";
import { peopleHandlers } from "./handlers/people.ts";
import { policyHandlers } from "./handlers/policies.ts";
import { scheduleHandlers } from "./handlers/schedules.ts";
import { serverHandlers } from "./handlers/server.ts";
import { sessionHandlers } from "./handlers/sessions.ts";
import { webhookHandlers } from "./handlers/webhooks.ts";
import { workHandlers } from "./handlers/work.ts";
import { openHealthChecks } from "./health-checks.ts";
import { Idempotency } from "./idempotency.ts";
import { openLanes } from "./lanes.ts";
import { errorText, type Log } from "./logs.ts";
import { openMetrics } from "./metrics.ts";
import { cursors } from "./paging.ts";
import { type DriverRole, openSessionDriver } from "./session-driver.ts";
import { openOwners } from "./visibility.ts";

export type OperationsOptions = Readonly<{
  runtime: Runtime;
  version: string;
  describe(): JsonObject;
  config: Config | null;
  log: Log;
  role?: DriverRole | undefined;
  /** Sessions driven at once. */
  atOnce?: number | undefined;
  /** How long an intent may take to become an entry before its sender learns that it waits. */
  waitMs?: number | undefined;
  /** Restate was asked for a driver in vain. */
  unanswered?: (() => void) | undefined;
  webhooks?: readonly Webhook[] | undefined;
  /** Gauges of the transport. */
  gauges?: (() => Readonly<Record<string, readonly [number, string]>>) | undefined;
}>;

export type OpenOperations = Readonly<{
  context: OperationContext;
  handlers: OperationHandlers;
  checks: OperationChecks;
  schedules: ReturnType<typeof openSchedules>;
  /** How this process does, for the others: see `Store.play`. */
  told(): Telling | null;
  close(): void;
}>;

export function openOperations(options: OperationsOptions): OpenOperations {
  const { runtime, version, describe, config, log } = options;
  const now = (): number => Date.now();
  const role = options.role ?? "server";
  const summons = openSummons(role === "server" ? null : (config?.journal.cluster ?? null), (session, error) =>
    log("warn", "restate.not-asked", { session, error: errorText(error) }),
  );
  const sessionDriver = openSessionDriver({
    runtime,
    role,
    atOnce: options.atOnce ?? 256,
    waitMs: options.waitMs ?? 10_000,
    summon: summons?.summon ?? null,
    unanswered: () => options.unanswered?.(),
    report: (drove) => {
      if (drove.kind === "failed") log("error", "session.not-driven", { session: drove.session, error: errorText(drove.error) });
    },
  });
  const metrics = openMetrics({
    runtime,
    log,
    gauges: () => ({
      ...options.gauges?.(),
      orgate_sessions_driven: [sessionDriver.driving(), "Sessions that are driven here."],
      orgate_sessions_queued: [sessionDriver.queued(), "Sessions that wait to be driven here."],
    }),
  });
  const gate = runtime.inspect.gate;
  const schedules = openSchedules({
    place: runtime.place,
    gate,
    findSessionStart: makeDelegateFinder(new Map(runtime.inspect.agents.map((agent) => [agent.name, agent])), gate),
    wake: (session) => sessionDriver.wake(session),
    ...(summons === null ? {} : { alarm: summonedAlarm(summons) }),
    failed: (schedule, error) => log("error", "schedule.failed", { schedule, error: errorText(error) }),
  });
  const views = openViewsWorker({ directory: dirname(runtime.place.keys.dir), cluster: config?.journal.cluster ?? null });
  const context: OperationContext = {
    runtime,
    sessionDriver,
    once: new Idempotency(runtime.place.store.requests, now),
    schedules: schedules.desk,
    deliveries: openDeliveries(options.webhooks ?? [], now),
    probes: openHealthChecks({ runtime, isLeaving: () => sessionDriver.isLeaving(), log }),
    metrics,
    views,
    lanes: openLanes(),
    version,
    startedAt: now(),
    now,
    describe,
    config,
    cursors: cursors(runtime.place.keys.blobKey),
    whose: openOwners(runtime.place.store.journal),
  };
  const close = (): void => {
    metrics.close();
    void views.close();
  };
  const told = (): Telling | null => {
    const own = metrics.told();
    return own === null ? null : { driven: sessionDriver.driving(), queued: sessionDriver.queued(), ...own };
  };
  return { context, handlers: handlersIn(context), checks: agentChecks(context), schedules, told, close };
}

/** Restate wakes one worker for all at the due time. If it is not heard of, every worker looks a little later. */
const summonedAlarm =
  ({ fireAt }: Summons): SchedulerPorts["alarm"] =>
  (ms, then) => {
    fireAt(Date.now() + Math.ceil(ms));
    const timer = setTimeout(then, ms + UNHEARD_MS).unref();
    return () => clearTimeout(timer);
  };
const UNHEARD_MS = 20_000;

const handlersIn = (context: OperationContext): OperationHandlers => ({
  ...serverHandlers(context),
  ...agentHandlers(context),
  ...sessionHandlers(context),
  ...peopleHandlers(context),
  ...workHandlers(context),
  ...scheduleHandlers(context),
  ...webhookHandlers(context),
  ...policyHandlers(context),
  ...journalHandlers(context),
  ...knowledgeHandlers(context),
});
