import type { HeldSession } from "../../store/store.ts";
import { act } from "../access.ts";
import type { OperationContext } from "../context.ts";
import type { OperationHandlers } from "../execute.ts";
import { prometheusText } from "../metrics.ts";
import { json } from "../result.ts";

type Names = "health" | "processes" | "describe" | "whoami" | "metrics" | "prometheus";

export function serverHandlers({
  runtime,
  probes,
  metrics,
  version,
  startedAt,
  now,
  describe,
  whose,
}: OperationContext): Pick<OperationHandlers, Names> {
  return {
    health: async () => {
      const [checks, warnings] = await Promise.all([probes.ready(), probes.warnings()]);
      const ok = checks.every((check) => check.ok);
      const value = { status: ok ? "ok" : "failing", version, uptimeMs: Math.round(now() - startedAt), checks, warnings };
      return { kind: "json", value, isFailing: !ok };
    },
    describe: async () => json(describe()),
    whoami: async ({ caller: { principal, scope } }) =>
      json({ principal, agents: scope.agents, actions: scope.actions, expiresAt: scope.expiresAt }),
    /** W-9 processes are the project's: who may not see it sees none. Sessions are named where their agent may be seen. */
    processes: async ({ may, sees }) => {
      const found = may(act("observe", "project")) ? await runtime.place.store.processes() : [];
      const seen = async ({ session, at }: HeldSession) => {
        const agent = (await whose(session))?.agent ?? null;
        return agent === null || !sees(agent) ? [] : [{ session, agent, at }];
      };
      const processes = found.map(async (one) => ({ ...one, quietest: (await Promise.all(one.quietest.map(seen))).flat() }));
      return json({ at: now(), own: runtime.place.store.slot.writer, processes: await Promise.all(processes) });
    },
    metrics: async (call) => json({ at: now(), metrics: await metrics.shown(call) }),
    prometheus: async (call) => ({
      kind: "text",
      mediaType: "text/plain; version=0.0.4; charset=utf-8",
      text: prometheusText(await metrics.shown(call)),
    }),
  };
}
