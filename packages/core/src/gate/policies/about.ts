/** Whom a policy can speak about. */
import { createDirectory } from "../ask.ts";
import type { PolicyJson } from "./engine.ts";
import { scopeHolds } from "./slice.ts";
import type { PolicyWorld } from "./vocabulary.ts";

/** The agents for whom its scope holds, by themselves or as members of a group: it can decide for no other. */
export function findCoveredAgents(cast: PolicyWorld): (policy: Pick<PolicyJson, "principal">) => readonly string[] {
  const known = createDirectory(cast);
  const agents = cast.agents.map(({ name }) => known.agent(name));
  return ({ principal }) => agents.filter((agent) => scopeHolds(principal, agent)).map(({ uid }) => uid.id);
}
