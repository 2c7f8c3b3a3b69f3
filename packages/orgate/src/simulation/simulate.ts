/** Scores a set of policies in domains: every case of each, played one after the other. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Agent } from "@orgate/core";
import type { Groups, Members } from "../config/config.ts";
import { ed25519 } from "../node/crypto.ts";
import { cedarPolicies } from "../policies/policies.ts";
import { createPerson } from "../store/keyring.ts";
import { listCases, type SimulatedCase } from "./cases.ts";
import type { Domain } from "./domain.ts";
import { type PlayedCase, playCase, type Scene } from "./play.ts";
import { openStage } from "./stage.ts";

export type SimulateOptions = Readonly<{
  domains: readonly Domain[];
  /** A folder of policies. */
  policies: string;
  /** Groups of users in which the answering member of staff is. */
  groups: readonly string[];
  /** The name under which the agent of each domain runs. */
  agent: string;
  /** The policies are this project's: they may name its agents and tools, and the attributes that its callers give a subject. */
  project?: Readonly<{ agents: readonly Agent[]; groups: Groups }>;
  chosen?: (domain: Domain, one: SimulatedCase) => boolean;
  onPlayed?: (played: PlayedCase, place: Readonly<{ number: number; of: number }>) => void;
}>;

const STAFF = "staff";

export async function simulate(options: SimulateOptions): Promise<readonly PlayedCase[]> {
  const { domains, chosen = () => true, onPlayed = () => {} } = options;
  const home = mkdtempSync(join(tmpdir(), "orgate-simulation-people-"));
  try {
    const staff = createPerson(home, STAFF, ed25519);
    const scenes = domains.map((domain): readonly [Scene, readonly SimulatedCase[]] => {
      const stage = openStage(domain, options.agent);
      const users: Members = Object.fromEntries(options.groups.map((group) => [group, [STAFF]]));
      const { agents, groups } = options.project ?? { agents: [], groups: { agents: {} } };
      const policies = cedarPolicies({
        ...{ directory: options.policies, agents: castOf(stage.agent, agents), groups: { users, agents: groups.agents } },
        ...{ timezone: domain.zone, subject: options.project?.groups.world?.subject ?? {} },
      });
      const people = { staff, user: createPerson(join(home, domain.domain), domain.user.id, ed25519) };
      return [{ domain, stage, policies, people }, listCases(domain).filter((one) => chosen(domain, one))];
    });
    const of = scenes.reduce((all, [, cases]) => all + cases.length, 0);
    const played: PlayedCase[] = [];
    for (const [scene, cases] of scenes)
      for (const one of cases) {
        const result = await playCase(scene, one);
        played.push(result);
        onPlayed(result, { number: played.length, of });
      }
    return played;
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

/** Of two tools with one name the domain's counts: it plays the project's own, with canned outputs. What is only named is never called. */
function castOf(played: Agent, others: readonly Agent[]): readonly Agent[] {
  const own = new Set(played.tools.map(({ name }) => name));
  const rest = others.map((agent): Agent => ({ ...agent, tools: agent.tools.filter(({ name }) => !own.has(name)) }));
  const namesake = rest.find(({ name }) => name === played.name);
  const first = namesake === undefined ? played : { ...namesake, tools: [...played.tools, ...namesake.tools] };
  return [first, ...rest.filter((agent) => agent !== namesake)];
}
