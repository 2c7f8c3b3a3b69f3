/** The coordinator's tools on a server: its fleet, its session driver, its identities. */

import { type Agent, isFault, listAgentTools, ORCHESTRATOR_MODEL, type Surface } from "@orgate/core";
import { COORDINATOR, type CoordinatorTools } from "../coordinator/tools.ts";
import type { OperationContext } from "../operations/context.ts";
import { openCoordinatorDesk } from "../operations/coordinator/desk.ts";
import type { OperationExecutor } from "../operations/execute.ts";
import { SHELL } from "../project/shell-agent.ts";
import type { Identity } from "./identity/auth.ts";

/** Conversations with the coordinator, and with the shell's agent, are opened at a surface of their own, on whatever server: `policies/coordinator/` and `policies/shell/` join. */
export const DESK_SURFACES: Readonly<Record<string, Surface>> = Object.freeze({ [COORDINATOR]: "coordinator", [SHELL]: "shell" });

/**
 * W-13 the agents through which somebody reaches what the coordinator's tools reach: those that have one of them, and those that may delegate to such an agent,
 * however far away; and conductors (S-18), which have any agent work. Limited access speaks with none of them.
 */
export function findCoordinatorAgents(agents: readonly Agent[], { tools }: Pick<CoordinatorTools, "tools">): readonly string[] {
  const names = new Set(tools.map(({ name }) => name)); // one of the project's own under such a name counts too: rather too many than one too few
  const reaching = agents.filter((one) => listAgentTools(one).some(({ name }) => names.has(name))).map(({ name }) => name);
  const conductors = agents.filter(({ model }) => model === ORCHESTRATOR_MODEL).map(({ name }) => name);
  const found = new Set([COORDINATOR, ...conductors, ...reaching]);
  for (let size = 0; size !== found.size; ) {
    size = found.size;
    for (const { name, delegates } of agents) if (delegates.some((one) => found.has(one))) found.add(name);
  }
  return [...found];
}

export function connectDesk(
  desk: CoordinatorTools,
  { runtime, sessionDriver, once, probes, now }: Pick<OperationContext, "runtime" | "sessionDriver" | "once" | "probes" | "now">,
  operations: Pick<OperationExecutor, "withAccess">,
  identity: Pick<Identity, "mayDo" | "operator">,
): void {
  const open = openCoordinatorDesk({
    runtime,
    sessionDriver,
    operations,
    once,
    now,
    journal: runtime.place.store.journal,
    health: probes.ready,
    access: identity,
    async callerOf({ kind, id }) {
      if (kind !== "user") return null;
      try {
        return await identity.operator(id);
      } catch (error) {
        if (isFault(error)) return null; // their key was withdrawn
        throw error;
      }
    },
  });
  desk.connect(open);
}
