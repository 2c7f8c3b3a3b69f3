import type { OperationContext } from "../context.ts";
import type { OperationHandlers } from "../execute.ts";
import { prometheusText } from "../metrics.ts";
import { json } from "../result.ts";

type Names = "health" | "describe" | "whoami" | "metrics" | "prometheus";

export function serverHandlers({ probes, metrics, version, startedAt, now, describe }: OperationContext): Pick<OperationHandlers, Names> {
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
    metrics: async (call) => json({ at: now(), metrics: await metrics.shown(call) }),
    prometheus: async (call) => ({
      kind: "text",
      mediaType: "text/plain; version=0.0.4; charset=utf-8",
      text: prometheusText(await metrics.shown(call)),
    }),
  };
}
