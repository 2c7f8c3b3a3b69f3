/** What the routes stand on. */
import type { Agent, JsonObject } from "@orgate/core";
import type { Config } from "../../config.ts";
import type { Runtime } from "../../runtime.ts";
import type { ScheduleDesk } from "../../schedules/desk.ts";
import type { ViewsAside } from "../../views-aside.ts";
import type { Deliveries } from "../deliveries.ts";
import type { Floor } from "../floor.ts";
import type { Lanes } from "../lanes.ts";
import type { Metrics } from "../metrics.ts";
import type { Probes } from "../probes.ts";
import type { Whose } from "../sight.ts";
import type { Cursors } from "./paging.ts";

export type Front = Readonly<{
  runtime: Runtime;
  floor: Floor;
  schedules: ScheduleDesk;
  /** Of webhooks. */
  deliveries: Deliveries;
  probes: Probes;
  metrics: Metrics;
  /** Looked up beside the journal. */
  views: ViewsAside;
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

export const agentOf = ({ runtime }: Pick<Front, "runtime">, name: string): Agent | null =>
  runtime.inspect.agents.find((one) => one.name === name) ?? null;
