/** Everything that handlers of operations share. */
import type { Agent, JsonObject } from "@orgate/core";
import type { Config } from "../config/config.ts";
import type { Runtime } from "../runtime/api.ts";
import type { ProjectSchedules } from "../schedules/project-schedules.ts";
import type { ViewsWorker } from "../store/threads/views-worker.ts";
import type { Deliveries } from "./deliveries.ts";
import type { HealthChecks } from "./health-checks.ts";
import type { Idempotency } from "./idempotency.ts";
import type { Lanes } from "./lanes.ts";
import type { Metrics } from "./metrics.ts";
import type { Cursors } from "./paging.ts";
import type { SessionDriver } from "./session-driver.ts";
import type { Whose } from "./visibility.ts";

export type OperationContext = Readonly<{
  runtime: Runtime;
  sessionDriver: SessionDriver;
  once: Idempotency;
  schedules: ProjectSchedules;
  /** Of webhooks. */
  deliveries: Deliveries;
  probes: HealthChecks;
  metrics: Metrics;
  views: ViewsWorker;
  /** Limits long work per caller. */
  lanes: Lanes;
  version: string;
  startedAt: number;
  now(): number;
  /** Describes the API as OpenAPI. */
  describe(): JsonObject;
  /** Null where a program built the runtime, without project files. */
  config: Config | null;
  cursors: Cursors;
  /** Finds on whose behalf a session runs. */
  whose: Whose;
}>;

export const findAgent = ({ runtime }: Pick<OperationContext, "runtime">, name: string): Agent | null =>
  runtime.inspect.agents.find((one) => one.name === name) ?? null;
