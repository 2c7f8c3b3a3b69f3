import {
  type Agent,
  agentFacts,
  type Counters,
  type Gate,
  listAgentTools,
  type Ports,
  toOutputSpec,
  toolbox,
  withDigest,
} from "@orgate/core";
import { tokenizers } from "../../models/tokenizers.ts";
import { sha256 } from "../../node/crypto.ts";

/** The other agents of the runtime: how one of them is found, and driven for the agent that delegates to it. */
export type Family = Pick<Ports["children"], "find" | "drive">;

/** Facts and limits of an agent, for those that delegate to it. */
export function makeDelegateFinder(agents: ReadonlyMap<string, Agent>, gate: Gate, counters: Counters = tokenizers): Family["find"] {
  const known = new Map<string, Readonly<{ under: Gate["digest"]; delegate: ReturnType<Family["find"]> }>>();
  return (name) => {
    const found = known.get(name);
    const agent = agents.get(name);
    if (agent === undefined || agent.missing.length + agent.missingServers.length + agent.missingTools.length > 0) return null; // without what it names it is not run
    if (found?.under === gate.digest) return found.delegate;
    const delegate = {
      facts: agentFacts(agent, { gate, tools: toolbox(listAgentTools(agent), sha256), hash: sha256, counters }),
      limits: agent.limits,
      output: agent.output === null ? null : toOutputSpec(withDigest(agent.output, sha256)),
    };
    known.set(name, { under: gate.digest, delegate });
    return delegate;
  };
}
