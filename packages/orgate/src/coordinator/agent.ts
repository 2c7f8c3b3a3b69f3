/**
 * The coordinator among a project's agents: its file is like any other (`agents/coordinator.toml`); the project may change its limits, and it delegates to
 * all other agents unless it names some.
 *
 * S-18 the orchestrator, an agent on the model `conductor/plan`, has all others to delegate to unless it names some: not the coordinator nor the shell, which act for the person who speaks to them.
 * W-37 an agent named `coordinator` has 10 iterations, 50,000 tokens and 120 s for a turn unless its file says otherwise, and what `[coordinator]` in
 *      `orgate.toml` says before both. It delegates to the others only as far as its operators may run them.
 */

import { type Agent, defineAgent, describeFault, FaultError, type Middleware, ORCHESTRATOR, ORCHESTRATOR_MODEL } from "@orgate/core";
import type { Config } from "../config/config.ts";
import { fileFault } from "../files/file-fault.ts";
import { COORDINATOR } from "./tools.ts";

type Found = Readonly<{ agent: Agent; file: string }>;
const LIMITS = { iterations: 10, tokens: 50_000, turnMs: 120_000 } as const;

export function withCoordinator<A extends Found>(
  agents: readonly A[],
  middleware: Middleware,
  config: Pick<Config, "coordinator">,
): readonly A[] {
  const others = agents.map(({ agent }) => agent.name).filter((name) => name !== COORDINATOR && name !== ORCHESTRATOR);
  return agents.map((found) => {
    if (found.agent.model === ORCHESTRATOR_MODEL) return toOrchestrator(found, others);
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
      const { message, hint } = describeFault(error.fault);
      throw fileFault({ file: found.file, detail: message, hint }, error);
    }
  });
}

const toOrchestrator = <A extends Found>(found: A, others: readonly string[]): A => {
  const { definition } = found.agent;
  const members = others.filter((name) => name !== found.agent.name && name !== SHELL);
  return definition.delegates?.length ? found : { ...found, agent: defineAgent({ ...definition, delegates: members }) };
};
const SHELL = "shell";
