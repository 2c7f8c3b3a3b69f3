/** The agents of a project: modules and TOML files alike, with the skills and the instructions that the project brings for those who ask. */
import { relative } from "node:path";
import {
  type Agent,
  describe,
  type Entry,
  type Equipment,
  equipAgent,
  FaultError,
  isFault,
  type Journal,
  NO_EQUIPMENT,
  seq,
  TRUST,
} from "@orgate/core";
import { foldTrust, hiddenPrompt, loadAgents, loadCodeSkills, loadTomlAgents, openLook, type Trusted } from "./compose.ts";
import type { Config } from "./config.ts";
import { withCoordinator } from "./coordinator/agent.ts";
import { type CoordinatorTools, coordinatorTools } from "./coordinator/tools.ts";
import { type ProjectManifests, projectManifests } from "./project-manifests.ts";
import { type ProjectMcp, projectMcp, serverEquipment } from "./project-mcp.ts";
import { fileBad } from "./project-modules.ts";
import { equipmentOf, type ProjectSkill, projectSkills } from "./project-skills.ts";
import type { AskHidden, Env } from "./secrets.ts";

export type ProjectAgent = Readonly<{ agent: Agent; file: string }>;
export type ProjectAgents = Readonly<{
  agents: readonly ProjectAgent[];
  skills: readonly ProjectSkill[];
  /** Null where no agent names a server. Whoever runs an agent closes it. */
  mcp: ProjectMcp | null;
  /** The coordinator's tools; whoever serves connects them. */
  desk: CoordinatorTools;
}>;

/** A23 an agent is found by its name, whichever way it is written; one name is one agent. Only the skills that are named are read, unless all are asked for. */
export async function loadProjectAgents(
  config: Config,
  which: "wanted" | "all" = "wanted",
  env: Env = process.env,
  ask: AskHidden = hiddenPrompt(),
): Promise<ProjectAgents> {
  const isToml = (pattern: string): boolean => pattern.endsWith(".toml");
  const modules = await loadAgents(
    config.root,
    config.agents.filter((p) => !isToml(p)),
  );
  const manifests = manifestsOf(config, env, ask);
  const desk = coordinatorTools();
  const tomlFiles = config.agents.filter(isToml);
  const tomls = await loadTomlAgents(config.root, tomlFiles, config.tools, config.prices, manifests.tools, desk.tools, manifests.broken);
  const unfit = new Map(tomls.map(({ agent, unfit: tools }) => [agent.name, tools]));
  const byName = new Map<string, ProjectAgent>();
  for (const { agent, file } of withCoordinator([...modules, ...tomls], desk.middleware, config)) {
    const other = byName.get(agent.name);
    if (other !== undefined) throw fileBad(file, null, `agent \`${agent.name}\` is already defined in ${other.file}`, "rename one of them");
    byName.set(agent.name, { agent, file });
  }
  const sorted = [...byName.values()].sort((a, b) => (a.agent.name < b.agent.name ? -1 : 1));
  const wanted = new Set(sorted.flatMap(({ agent }) => agent.missing.map(({ skill }) => skill)));
  const asking = sorted.some(({ agent }) => agent.definition.projectInstructions === true);
  const isPriced = Object.keys(config.prices).length > 0;
  const isUnfit = tomls.some(({ unfit: tools }) => tools.length > 0);
  const linking = manifests.servers.length > 0 || sorted.some(({ agent }) => agent.missingServers.length > 0);
  if (which === "wanted" && wanted.size === 0 && !asking && !linking)
    return {
      agents:
        isPriced || isUnfit ? sorted.map((one) => ({ ...one, agent: equipped(one, { ...NO_EQUIPMENT, prices: config.prices }) })) : sorted,
      skills: [],
      mcp: null,
      desk,
    };
  const code = which === "wanted" && wanted.size === 0 ? [] : await loadCodeSkills(config.root, config.tools);
  const trusted = await trustIn(config.journal.directory);
  const skills = projectSkills(config, trusted, code, which === "wanted" ? wanted : null);
  const mcp = linking ? projectMcp(config, trusted, env) : null;
  if (mcp !== null) manifests.connect((invocation, options) => mcp.hub.run(invocation, options));
  const { servers, unusableServers } = mcp === null ? NO_EQUIPMENT : serverEquipment(mcp);
  const equipment = { ...equipmentOf(config, trusted, skills, { servers, unusableServers }), prices: config.prices };
  return { agents: sorted.map((one) => ({ ...one, agent: equipped(one, equipment) })), skills, mcp, desk };

  function equipped({ agent, file }: ProjectAgent, equipment: Equipment): Agent {
    try {
      const missingTools = (unfit.get(agent.name) ?? []).map(({ tool, file: at, line, column, detail, hint }) => ({
        tool,
        detail: `${relative(config.root, at)}:${line}:${column} ${detail}`,
        hint,
      }));
      return equipAgent(agent, { ...equipment, missingTools });
    } catch (error) {
      if (!(error instanceof FaultError)) throw error;
      const { message, hint } = describe(error.fault);
      throw fileBad(file, null, message, hint, error);
    }
  }
}

export const manifestsOf = (config: Config, env: Env, ask: AskHidden): ProjectManifests =>
  projectManifests({ root: config.root, tools: config.tools, directory: config.journal.directory, env, ask });

/** What is trusted, by the journal; nothing where there is no journal yet. */
export async function trustIn(directory: string): Promise<Trusted> {
  try {
    const look = openLook(directory);
    try {
      return await readTrust(look.journal);
    } finally {
      await look.close();
    }
  } catch (error) {
    if (isFault(error, "journal-unreadable")) return new Map();
    throw error;
  }
}

export async function readTrust(journal: Pick<Journal, "read">): Promise<Trusted> {
  const all: Entry[] = [];
  for (;;) {
    const page = await journal.read(TRUST, all.at(-1)?.seq ?? seq(0), 500);
    all.push(...page);
    if (page.length < 500) return foldTrust(all);
  }
}
