/** What the routes stand on. */
import type { Agent, JsonObject } from "@orgate/core";
import type { Config } from "../../config/config.ts";
import type { Runtime } from "../../runtime/api.ts";
import type { ScheduleDesk } from "../../schedules/operations.ts";
import type { ViewsWorker } from "../../store/views-worker.ts";
import type { HealthChecks } from "../http/health-checks.ts";
import type { Lanes } from "../http/lanes.ts";
import type { Metrics } from "../http/metrics.ts";
import type { Whose } from "../live/visibility.ts";
import type { Floor } from "../session-driver.ts";
import type { Deliveries } from "../webhooks/deliveries.ts";
import type { Cursors } from "./paging.ts";

export type Front = Readonly<{
  runtime: Runtime;
  floor: Floor;
  schedules: ScheduleDesk;
  /** Of webhooks. */
  deliveries: Deliveries;
  probes: HealthChecks;
  metrics: Metrics;
  /** Looked up beside the journal. */
  views: ViewsWorker;
  /** Long work, so much at once for each caller. */
  lanes: Lanes;
  version: string;
  startedAt: number;
  now(): number;
  /** The API's description, as OpenAPI. */
  describe(): JsonObject;
  /** The project's own files; null where the runtime was put together in code. */
  config: Config | null;
  cursors: Cursors;
  /** On whose behalf a session runs. */
  whose: Whose;
}>;

export const agentNamed = ({ runtime }: Pick<Front, "runtime">, name: string): Agent | null =>
  runtime.inspect.agents.find((one) => one.name === name) ?? null;
