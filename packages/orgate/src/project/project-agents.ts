/** The agents of a project: modules and TOML files alike, with the skills and the instructions that the project brings for those who ask. */

import { realpathSync } from "node:fs";
import { relative } from "node:path";
import {
  type Agent,
  describeFault,
  equipAgent,
  FaultError,
  isFault,
  type Journal,
  NO_RESOURCES,
  type ProjectResources,
  type SkillPrompter,
  TRUST,
  withDefaultModel,
} from "@orgate/core";
import { readAllEntries } from "@orgate/core/journal";
import { hiddenPrompt } from "@orgate/shell/terminal";
import type { Compiled, CompiledPolicy, SymbiProblem, UnknownTools } from "@orgate/symbi";
import { isUnusableTool } from "@orgate/toolclad";
import type { Config } from "../config/config.ts";
import { withCoordinator } from "../coordinator/agent.ts";
import { type CoordinatorTools, coordinatorTools } from "../coordinator/tools.ts";
import { type FileCache, NO_FILE_CACHE } from "../files/file-cache.ts";
import { fileFault } from "../files/file-fault.ts";
import { faultToProblem, matchProjectFiles, type OnLoadFault, THROW_FAULT } from "../guard/modules.ts";
import type { AskHidden } from "../identity/secrets.ts";
import type { Env } from "../node/env.ts";
import { openReadOnlyStore } from "../store/open-read-only.ts";
import { loadAgents } from "./agent-modules.ts";
import { loadCodeSkills, loadTomlAgents, loadToolBox } from "./agent-toml.ts";
import { loadBuildPorts } from "./ports-module.ts";
import { type ProjectManifests, projectManifests } from "./project-manifests.ts";
import { type ProjectMcp, projectMcp, serverEquipment } from "./project-mcp.ts";
import { equipmentOf, type ProjectSkill, projectSkills } from "./project-skills.ts";
import { hasShellAgent } from "./shell-agent.ts";
import { type Finished, finishAgent, lacksAny, openDelegates, type SymbiOrigin } from "./symbi/project-symbi.ts";
import { type AgentMemory, agentMemory } from "./symbi/symbi-cache.ts";
import {
  buildAgent,
  isSymbi,
  readSymbiFiles,
  refuseAll,
  type SymbiSource,
  problemAt as symbiProblemAt,
  type UnfitTool,
} from "./symbi/symbi-files.ts";
import { type SymbiInputs, seenBy } from "./symbi/symbi-inputs.ts";
import { foldTrust, type Trusted } from "./trust.ts";

/** `symbi`: where it comes from such a file. */
export type ProjectAgent = Readonly<{
  agent: Agent;
  file: string;
  symbi?: Readonly<{ origin: SymbiOrigin; policies: readonly CompiledPolicy[] }>;
}>;
export type Collect = (problems: readonly SymbiProblem[]) => void;
export type ProjectAgents = Readonly<{
  agents: readonly ProjectAgent[];
  /** The `.symbi` files, with what they declare beside agents. */
  sources: readonly SymbiSource[];
  skills: readonly ProjectSkill[];
  /** Null where no agent names a server. Whoever runs an agent closes it. */
  mcp: ProjectMcp | null;
  /** The coordinator's tools; whoever serves connects them. */
  desk: CoordinatorTools;
  /** What could not be read, where problems are collected: checks that need it are left out. */
  gaps: Gaps;
}>;
/** `agents`: there may be more of them. `tools`: some may be missing, or only known by name. */
export type Gaps = Readonly<{ agents: boolean; tools: UnknownTools }>;

const same = <T>(agents: readonly T[]): readonly T[] => agents;

/** A-3 an agent is found by its name, whichever way it is written; one name is one agent. Only the skills that are named are read, unless all are asked for. */
export async function loadProjectAgents(
  config: Config,
  which: "wanted" | "all" = "wanted",
  env: Env = process.env,
  ask: AskHidden = hiddenPrompt(),
  /** Told of all that is wrong, instead of the first thing being thrown; agents that have problems are for further checks only. */
  collect: Collect | null = null,
  /** Of what its files were found to say; nothing unless given. */
  remembered: FileCache = NO_FILE_CACHE,
): Promise<ProjectAgents> {
  const memory = agentMemory(remembered);
  const isToml = (pattern: string): boolean => pattern.endsWith(".toml");
  const lost = { agents: false, tools: false };
  const losing =
    (what: keyof typeof lost): OnLoadFault =>
    (fault) => {
      trouble(fault);
      lost[what] = true;
    };
  const trouble: OnLoadFault = collect === null ? THROW_FAULT : (fault) => collect([faultToProblem(fault, config.root)]);
  const modules = await loadAgents(
    config.root,
    config.agents.filter((p) => !isToml(p) && !isSymbi(p)),
    losing("agents"),
  );
  const manifests = manifestsOf(config, env, ask);
  const desk = coordinatorTools();
  const shell = hasShellAgent(config) ? (await import("../authoring/tools/agent.ts")).shellAgentSetup(config, env, desk) : null;
  const spare = [...desk.tools, ...(shell?.tools ?? [])];
  const tomlFiles = config.agents.filter(isToml);
  const tomls = await loadTomlAgents(
    config.root,
    tomlFiles,
    config.tools,
    config.prices,
    manifests.tools,
    spare,
    manifests.broken,
    (fault) => (fault.fault.kind === "file-bad" && fault.fault.file.endsWith(".toml") ? trouble : losing("tools"))(fault),
  );
  if (tomls.length < matchProjectFiles(realpathSync(config.root), tomlFiles, "agents").length) lost.agents = true;
  const loadBox = () => loadToolBox(config.root, config.tools, manifests.tools, spare, losing("tools"));
  const symbi = await symbiAgents(config, loadBox, manifests.broken, collect, memory, lost);
  const { agents: symbis, origins, sources, finish } = symbi;
  const unfit = new Map([...tomls, ...symbis].map(({ agent, unfit: tools }) => [agent.name, tools]));
  const byName = new Map<string, ProjectAgent>();
  for (const { agent, file } of (shell?.within ?? same)(withCoordinator([...modules, ...tomls, ...symbis], desk.middleware, config))) {
    const other = byName.get(agent.name);
    if (other !== undefined) {
      const [here, there] = [placeOf(agent.name, file), placeOf(agent.name, other.file)];
      const where = `${other.file}${there === null ? "" : `:${there.line}`}`;
      trouble(fileFault({ file, at: here, detail: `agent \`${agent.name}\` is already defined in ${where}`, hint: "rename one of them" }));
    } else byName.set(agent.name, { agent, file });
  }
  const sorted = [...byName.values()].sort((a, b) => (a.agent.name < b.agent.name ? -1 : 1));
  const wanted = new Set(sorted.flatMap(({ agent }) => agent.missing.map(({ skill }) => skill)));
  const asking = sorted.some(({ agent }) => agent.definition.projectInstructions === true);
  const skillPrompter = await skillPrompterFor(sorted, config);
  const isUnfit = [...unfit.values()].some((tools) => tools.length > 0);
  const isBuiltAgain = isUnfit || skillPrompter !== null || Object.keys(config.prices).length > 0;
  const linking = manifests.servers.length > 0 || sorted.some(({ agent }) => agent.missingServers.length > 0);
  if (which === "wanted" && wanted.size === 0 && !asking && !linking)
    return {
      agents: await all((one) => finished(one, isBuiltAgain ? { ...NO_RESOURCES, prices: config.prices, skillPrompter } : null)),
      sources,
      skills: [],
      mcp: null,
      desk,
      gaps: gapsLeft(),
    };
  const code = which === "wanted" && wanted.size === 0 ? [] : await loadCodeSkills(config.root, config.tools);
  const trusted = await trustIn(config.journal.directory);
  const skills = projectSkills(config, trusted, code, which === "wanted" ? wanted : null);
  const mcp = linking ? projectMcp(config, trusted, env) : null;
  if (mcp !== null) manifests.connect((invocation, options) => mcp.hub.run(invocation, options));
  const { servers, unusableServers } = mcp === null ? NO_RESOURCES : serverEquipment(mcp);
  const equipment = { ...equipmentOf(config, trusted, skills, { servers, unusableServers }), prices: config.prices, skillPrompter };
  return { agents: await all((one) => finished(one, equipment)), sources, skills, mcp, desk, gaps: gapsLeft() };

  function gapsLeft(): Gaps {
    const names = sorted.flatMap(({ agent }) => agent.tools.filter(isUnusableTool).map(({ name }) => name));
    const isLacking = sorted.some(({ agent }) => agent.missing.length + agent.missingServers.length > 0);
    return { agents: lost.agents, tools: { more: lost.agents || lost.tools || isLacking, named: [...new Set(names)] } };
  }

  /** Of an agent in a `.symbi` file. */
  function placeOf(name: string, file: string): Readonly<{ line: number; column: number }> | null {
    const origin = origins.get(name);
    return origin?.source.path === file ? symbiProblemAt(origin.source.symbi, origin.draft.at, "", "") : null;
  }

  /** One after the other: the first that is wrong is the one that is told. */
  async function all(finishing: (one: ProjectAgent) => Promise<ProjectAgent>): Promise<readonly ProjectAgent[]> {
    const found: ProjectAgent[] = [];
    for (const one of sorted) found.push(await finishing(one));
    return found;
  }

  /** With all that it has, and what its own file says of it. */
  async function finished(one: ProjectAgent, equipment: ProjectResources | null): Promise<ProjectAgent> {
    const made = await complete(one, equipment);
    return { ...made, agent: placed(one.file, () => withDefaultModel(made.agent, config.models.default)) };
  }

  async function complete(one: ProjectAgent, equipment: ProjectResources | null): Promise<ProjectAgent> {
    const agent = equipment === null ? one.agent : equipped(one, equipment);
    const origin = origins.get(agent.name);
    if (origin === undefined || finish === null) return { ...one, agent };
    const made = await finish(agent, origin);
    if (made.kind === "agent") return { ...one, agent: made.agent, symbi: { origin, policies: made.policies } };
    if (collect === null) throw refuseAll(origin.source.path, made.problems);
    collect(made.problems);
    return { ...one, agent, symbi: { origin, policies: [] } };
  }

  function equipped({ agent, file }: ProjectAgent, equipment: ProjectResources): Agent {
    const missingTools = (unfit.get(agent.name) ?? []).map(({ tool, file: at, line, column, detail, hint }) => ({
      tool,
      detail: `${relative(config.root, at)}:${line}:${column} ${detail}`,
      hint,
    }));
    return placed(file, () => equipAgent(agent, { ...equipment, missingTools }));
  }

  function placed(file: string, make: () => Agent): Agent {
    try {
      return make();
    } catch (error) {
      if (!(error instanceof FaultError)) throw error;
      const { message, hint } = describeFault(error.fault);
      throw fileFault({ file, detail: message, hint }, error);
    }
  }
}

/** Of the project's ports module, which is loaded only where an agent has skills. */
async function skillPrompterFor(agents: readonly ProjectAgent[], config: Config): Promise<SkillPrompter | null> {
  const hasSkills = agents.some(({ agent }) => (agent.definition.skills ?? []).length > 0);
  return hasSkills ? ((await loadBuildPorts(config)).skillPrompter ?? null) : null;
}

const NOTHING_MADE: Compiled = { kind: "compiled", policies: [], files: [] };

async function compiled(origin: SymbiOrigin, seen: SymbiInputs, memory: AgentMemory): Promise<Compiled> {
  const known = memory.compiled(origin, seen);
  if (known !== null) return known;
  const made = (await import("./symbi/symbi-compile.ts")).compileAgent(origin, seen);
  if (made.kind === "compiled") memory.keepCompiled(origin, seen, made);
  return made;
}

type SymbiAgents = Readonly<{
  agents: readonly Readonly<{ agent: Agent; file: string; unfit: readonly UnfitTool[] }>[];
  origins: ReadonlyMap<string, SymbiOrigin>;
  sources: readonly SymbiSource[];
  /** Null where there is no such agent: what compiles them is not loaded then. */
  finish: ((agent: Agent, origin: SymbiOrigin) => Promise<Finished>) | null;
}>;

/** All files or none (A-3). Tools are loaded only where there is an agent that could name them. */
async function symbiAgents(
  config: Config,
  loadBox: () => Promise<ToolBox>,
  broken: ProjectManifests["broken"],
  collect: Collect | null,
  memory: AgentMemory,
  lost: { agents: boolean; readonly tools: boolean },
): Promise<SymbiAgents> {
  const refuse = (path: string, problems: readonly [SymbiProblem, ...SymbiProblem[]], cause?: unknown): void => {
    if (collect === null) throw refuseAll(path, problems, cause);
    collect(problems);
  };
  const torn = new Set<SymbiSource>();
  const reads = await readSymbiFiles(config.root, config.agents.filter(isSymbi), config.drafts, memory);
  const sources = reads.flatMap((read) => {
    if (read.kind === "source") return [read.source];
    refuse(read.path, read.problems);
    if (!read.isWhole) lost.agents = true;
    if (read.part !== null && !read.isWhole) torn.add(read.part);
    return read.part === null ? [] : [read.part];
  });
  const drafts = sources.flatMap((source) => source.symbi.agents.map((draft) => ({ source, draft })));
  if (drafts.length === 0) return { agents: [], origins: new Map(), sources, finish: null };
  const box = await loadBox();
  const origins = new Map<string, SymbiOrigin>();
  const agents = drafts.flatMap((origin) => {
    const { source, draft } = origin;
    const other = origins.get(draft.name);
    if (other !== undefined) {
      const there = symbiProblemAt(other.source.symbi, other.draft.at, "", "");
      const detail = `agent \`${draft.name}\` is already defined in ${there.file}:${there.line}`;
      refuse(source.path, [symbiProblemAt(source.symbi, draft.at, detail, "rename one of them")]);
      return [];
    }
    origins.set(draft.name, origin);
    const built = buildAgent(source, draft, { box, broken, prices: config.prices, lacks: lost.tools });
    if (built.kind === "problems") refuse(source.path, built.problems, built.cause);
    const { agent, unfit } = built;
    collect?.(
      unfit.map(({ tool, at, file, line, detail, hint }) =>
        symbiProblemAt(
          source.symbi,
          at,
          `tool \`${tool}\` cannot be used: ${detail}`,
          `mend ${relative(config.root, file)}:${line}: ${hint}`,
        ),
      ),
    );
    if (agent === null) lost.agents = true;
    return agent === null ? [] : [{ agent, file: source.path, unfit }];
  });
  for (const { origin, problem } of openDelegates(origins)) refuse(origin.source.path, [problem]);
  return { agents, origins, sources, finish };

  async function finish(agent: Agent, origin: SymbiOrigin): Promise<Finished> {
    const unknown = collect === null ? null : unknownTo(agent, origin);
    if (unknown !== null) {
      const part = (await import("./symbi/symbi-compile.ts")).compileAgent(origin, seenBy(agent, config.groups), unknown);
      if (part.kind === "problems") return part;
      if (!lacksAny(agent)) return { kind: "agent", agent, policies: [] };
    }
    const made = lacksAny(agent) ? NOTHING_MADE : await compiled(origin, seenBy(agent, config.groups), memory);
    return finishAgent(agent, origin, () => made);
  }

  /** Null where all its tools are known. */
  function unknownTo(agent: Agent, { source, draft: { tools, delegates, definition } }: SymbiOrigin): UnknownTools | null {
    const isSilent = tools.length + delegates.length + (definition.skills?.length ?? 0) + (definition.mcp?.length ?? 0) === 0;
    const more = agent.missing.length + agent.missingServers.length > 0 || (torn.has(source) && isSilent);
    const named = agent.tools.filter(isUnusableTool).map(({ name }) => name);
    return more || named.length > 0 || lacksAny(agent) ? { more, named } : null;
  }
}
type ToolBox = Awaited<ReturnType<typeof loadToolBox>>;

export const manifestsOf = (config: Config, env: Env, ask: AskHidden): ProjectManifests =>
  projectManifests({
    root: config.root,
    tools: config.tools,
    directory: config.journal.directory,
    env,
    ask,
    ports: () => loadBuildPorts(config),
    ...(config.drafts === undefined ? {} : { drafts: config.drafts }),
  });

/** What is trusted, by the journal; nothing where there is no journal yet. */
export async function trustIn(directory: string): Promise<Trusted> {
  try {
    const look = openReadOnlyStore(directory);
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
  return foldTrust(await readAllEntries(journal, TRUST));
}
