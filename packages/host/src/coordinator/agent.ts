/**
 * The coordinator among a project's agents: a file like any other's (`agents/coordinator.toml`), with limits that the project may change and, unless it names
 * some, all the others to delegate to.
 *
 * W148 an agent named `coordinator` has 10 iterations, 50,000 tokens and 120 s for a turn unless its file says otherwise, and what `[coordinator]` in
 *      `orgate.toml` says before both. It delegates to the others only as far as its operators may run them.
 */
import { type Agent, defineAgent, describe, FaultError, type Middleware } from "@orgate/core";
import type { Config } from "../config.ts";
import { fileBad } from "../project-modules.ts";
import { COORDINATOR } from "./tools.ts";

type Found = Readonly<{ agent: Agent; file: string }>;
const LIMITS = { iterations: 10, tokens: 50_000, turnMs: 120_000 } as const;

export function withCoordinator(agents: readonly Found[], middleware: Middleware, config: Pick<Config, "coordinator">): readonly Found[] {
  const others = agents.map(({ agent }) => agent.name).filter((name) => name !== COORDINATOR);
  return agents.map((found) => {
    if (found.agent.name !== COORDINATOR) return found;
    const { definition } = found.agent;
    const { delegates = [], limits = {} } = definition;
    try {
      const agent = defineAgent({
        ...definition,
        delegates: delegates.length === 0 ? others : delegates,
        limits: { ...LIMITS, ...limits, ...config.coordinator },
        middleware: [...(definition.middleware ?? []), middleware],
      });
      return { ...found, agent };
    } catch (error) {
      if (!(error instanceof FaultError)) throw error;
      const { message, hint } = describe(error.fault);
      throw fileBad(found.file, null, message, hint, error);
    }
  });
}
