/** Whom a policy can speak about. */
import { knownOf } from "../ask.ts";
import type { PolicyJson } from "./engine.ts";
import { holds } from "./slice.ts";
import type { Cast } from "./vocabulary.ts";

/** The agents for whom its scope holds, by themselves or as members of a group: it can decide for no other. */
export function agentsFor(cast: Cast): (policy: Pick<PolicyJson, "principal">) => readonly string[] {
  const known = knownOf(cast);
  const agents = cast.agents.map(({ name }) => known.agent(name));
  return ({ principal }) => agents.filter((agent) => holds(principal, agent)).map(({ uid }) => uid.id);
}
