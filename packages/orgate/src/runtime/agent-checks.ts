/** Checks of agents that are made before anything is opened or run. */
import { type Agent, checkLimits, FaultError, type Gate, type Limits, refuseUnpricedLimit } from "@orgate/core";
import { sha256 } from "../node/crypto.ts";
import { isPolicies } from "../policies/policies.ts";

export function indexAgents(agents: readonly Agent[]): ReadonlyMap<string, Agent> {
  const map = new Map<string, Agent>();
  for (const agent of agents) {
    if (map.has(agent.name))
      throw new FaultError({
        kind: "agent-invalid",
        where: `agent \`${agent.name}\``,
        detail: "two agents have this name",
        hint: "rename one of them",
      });
    map.set(agent.name, agent);
  }
  return map;
}

/** A name that is nobody's would be refused each time that the model calls it: better said before anything runs. */
export function checkDelegates(agents: ReadonlyMap<string, Agent>): void {
  for (const { name, delegates } of agents.values()) {
    const unknown = delegates.find((one) => !agents.has(one));
    if (unknown === undefined) continue;
    const hint = `known agents: ${[...agents.keys()].join(", ")}`;
    throw new FaultError({
      kind: "agent-invalid",
      where: `agent \`${name}\``,
      detail: `there is no agent \`${unknown}\` to delegate to`,
      hint,
    });
  }
}

/** Y-4 what an agent's own file says of policies is decided by the gate, or the agent is not run. */
export function checkOwnPolicies(agents: readonly Agent[], gate: Gate): void {
  const read = new Set(isPolicies(gate) ? gate.current().files.map(({ digest }) => digest) : []);
  const stranger = agents.find(({ policies }) => policies.some(({ text }) => !read.has(sha256(text))));
  if (stranger === undefined) return;
  throw new FaultError({
    kind: "agent-invalid",
    where: `agent \`${stranger.name}\``,
    detail: "its own file has policies, and the gate does not read them",
    hint: "make the gate with cedarPolicies, and give it the same agents",
  });
}

/** Limits that make no sense together are refused before anything runs, wherever they come from. */
export function resolveLimits(agent: Agent, given: Partial<Limits> | undefined): Limits {
  if (given === undefined) return agent.limits;
  const limits = checkLimits({ ...agent.limits, ...given }, `the limits of this run of \`${agent.name}\``);
  if ("kind" in limits) throw new FaultError(limits);
  const unpriced = refuseUnpricedLimit(limits, agent, `the limits of this run of \`${agent.name}\``); // B-5
  if (unpriced !== null) throw new FaultError(unpriced);
  return limits;
}
