/**
 * Loads a project: agents of every format, with the tools, skills, MCP servers and instructions that they name. `loadProject` is the one way to load
 * a project; `loadRunnableProject` adds the policies in force. Commands, server, shell and tests use these two.
 */
import { relative } from "node:path";
import {
  type Agent,
  describeFault,
  equipAgent,
  FaultError,
  isFault,
  NO_RESOURCES,
  type ProjectResources,
  type SkillPrompter,
  type Surface,
  withDefaultModel,
} from "@orgate/core";
import type { AskHidden } from "@orgate/shell/terminal";
import { hiddenPrompt } from "@orgate/shell/terminal";
import type { Config } from "../config/config.ts";
import { withCoordinator } from "../coordinator/agent.ts";
import { type CoordinatorTools, coordinatorTools } from "../coordinator/tools.ts";
import { type FileCache, NO_FILE_CACHE } from "../files/file-cache.ts";
import { fileFault } from "../files/file-fault.ts";
import { faultToProblem } from "../guard/modules.ts";
import type { Env } from "../node/env.ts";
import { openPolicies, type Policies } from "../policies/policies.ts";
import { isUnusableTool } from "../tools/unusable-tool.ts";
import { assertAgentComplete } from "./agent-settings.ts";
import type {
  AgentFormat,
  AgentSource,
  BrokenTool,
  FormatAgent,
  FormatContext,
  ProjectAgent,
  ProjectProblem,
  UnreadPart,
} from "./formats/format.ts";
import { type ClaimedPatterns, chooseFormats, type ProjectFormats } from "./formats/formats.ts";
import { openInputs, throwProblem, toProblemsFault } from "./formats/inputs.ts";
import { type LoadedTools, loadTools, type ToolBox } from "./formats/load-tools.ts";
import { findMissingPorts, type NamedPorts, namesPorts } from "./named-ports.ts";
import { loadBuildPorts, loadPortsModule } from "./ports-module.ts";
import { manifestFormat } from "./project-manifests.ts";
import { type ProjectMcp, projectMcp, serverEquipment } from "./project-mcp.ts";
import { type ProjectSkill, projectSkills, toProjectResources } from "./project-skills.ts";
import { hasShellAgent } from "./shell-agent.ts";
import { openProjectCache } from "./symbi/symbi-cache.ts";
import { loadCodeSkills, moduleTools } from "./tool-box.ts";
import { loadTrust } from "./trust-journal.ts";

export type LoadedProject = Readonly<{
  config: Config;
  agents: readonly ProjectAgent[];
  /** Files that declare schedules and webhooks beside agents. */
  sources: readonly AgentSource[];
  /** Tools of manifests and of the project's own formats; tools of modules are loaded with the agents that name them. */
  tools: ToolBox;
  broken: ReadonlyMap<string, BrokenTool>;
  skills: readonly ProjectSkill[];
  /** Null if no agent names a server. The caller closes its hub. */
  mcp: ProjectMcp | null;
  /** Tools of the coordinator; the server connects them. */
  coordinator: CoordinatorTools;
  /** Names of the tools that Orgate brings: nobody can declare them otherwise. */
  brought: ReadonlySet<string>;
  /** Parts that could not be read, where problems are collected: checks that need them are left out. */
  unread: UnreadParts;
}>;
/** `agents`: there may be more of them. `tools`: some may be missing, or only known by name. */
export type UnreadParts = Readonly<{ agents: boolean; tools: Readonly<{ more: boolean; named: readonly string[] }> }>;
export type CollectProblems = (problems: readonly ProjectProblem[]) => void;

export type ProjectLoadOptions = Readonly<{
  /** `wanted` reads only the skills that agents name. */
  skills?: "wanted" | "all";
  env?: Env;
  /** Asks for the passphrase of the secrets; the terminal of this process unless given. */
  ask?: AskHidden | undefined;
  /** Receives every problem; without it the first one is thrown. Agents that have problems are for further checks only. */
  collect?: CollectProblems | null;
  /** Parsed and compiled files; empty unless given. */
  cache?: FileCache;
}>;

/** A-3 an agent is found by its name, in whichever format it is written; one name is one agent. */
export async function loadProject(config: Config, options: ProjectLoadOptions = {}): Promise<LoadedProject> {
  const { env = process.env, ask = hiddenPrompt() } = options;
  const coordinator = coordinatorTools();
  const shell = hasShellAgent(config) ? (await import("../authoring/tools/agent.ts")).shellAgentSetup(config, env, coordinator) : null;
  const problems = new LoadProblems(config.root, options.collect ?? null);
  const formats = await chooseFormats(config, manifestFormat(config, env, ask));
  const brought = [...coordinator.tools, ...(shell?.tools ?? [])];
  const tools = await loadTools(formats.tools, openInputs(config, "tools", problems.report), brought);
  const files = await loadFormats(formats.agents, openFormatContext(config, { problems, tools, cache: options.cache ?? NO_FILE_CACHE }));
  const equipped = withCoordinator(files.agents, coordinator.middleware, config);
  const agents = refuseDuplicates(shell?.within(equipped) ?? equipped, problems);
  await checkNamedPorts(config, agents, problems);
  const resources = await loadResources(config, agents, { formats, tools, env, skills: options.skills ?? "wanted" });
  const finished: ProjectAgent[] = [];
  for (const one of agents) finished.push(await finishLoaded(one, config, resources.equipment)); // in order: the first problem is the one reported
  const { skills, mcp } = resources;
  const { written, broken } = tools;
  const unread = findUnreadParts(agents, problems.unread);
  const names = new Set(brought.map(({ name }) => name));
  return { config, agents: finished, sources: files.sources, tools: written, broken, skills, mcp, coordinator, brought: names, unread };
}

type Unfinished = FormatAgent & Readonly<{ format: string }>;

/** Problems of a project that is being loaded: the first is thrown, or all are collected. */
class LoadProblems {
  readonly isCollecting: boolean;
  readonly unread: Record<UnreadPart, boolean> = { agents: false, tools: false };
  readonly #root: string;
  readonly #collect: CollectProblems | null;

  constructor(root: string, collect: CollectProblems | null) {
    this.#root = root;
    this.#collect = collect;
    this.isCollecting = collect !== null;
  }

  readonly report: FormatContext["report"] = (problem, unread) => {
    if (this.#collect === null) throwProblem(problem);
    this.#collect?.([faultToProblem(problem instanceof FaultError ? problem : fileFault(problem), this.#root)]);
    if (unread !== undefined) this.markUnread(unread);
  };
  readonly refuse: FormatContext["refuse"] = (path, problems, cause) => {
    if (this.#collect === null) throw toProblemsFault(path, problems, cause);
    this.#collect(problems);
  };
  readonly collect = (problems: readonly ProjectProblem[]): void => this.#collect?.(problems);
  readonly markUnread = (what: UnreadPart): void => {
    this.unread[what] = true;
  };
}

type ContextParts = Readonly<{ problems: LoadProblems; tools: LoadedTools; cache: FileCache }>;

function openFormatContext(config: Config, { problems, tools, cache }: ContextParts): FormatContext {
  const { report, refuse, collect, markUnread, isCollecting, unread } = problems;
  return {
    ...openInputs(config, "agents", report),
    groups: config.groups,
    cache,
    isCollecting,
    refuse,
    collect,
    markUnread,
    async tools() {
      const box = await tools.box();
      return { box, broken: tools.broken, prices: config.prices, isIncomplete: unread.tools };
    },
  };
}

async function loadFormats(
  formats: ClaimedPatterns<AgentFormat>,
  context: FormatContext,
): Promise<Readonly<{ agents: readonly Unfinished[]; sources: readonly AgentSource[] }>> {
  const agents: Unfinished[] = [];
  const sources: AgentSource[] = [];
  for (const [format, patterns] of formats) {
    const files = await format.load(patterns, context);
    agents.push(...files.agents.map((one) => ({ ...one, format: format.name })));
    sources.push(...(files.sources ?? []));
  }
  return { agents, sources };
}

/** The `[ports]` module is loaded only if an agent names a port of it. */
async function checkNamedPorts(config: Config, agents: readonly Unfinished[], { report }: LoadProblems): Promise<void> {
  const named = agents.filter(({ agent }) => namesPorts(agent));
  if (named.length === 0) return;
  const ports: NamedPorts = (await loadPortsModule(config))?.given ?? {};
  for (const { agent, file, locate } of named)
    for (const { setting, detail, hint } of findMissingPorts(agent, ports)) report({ file, at: locate?.(setting) ?? null, detail, hint });
}

/** Sorted by name. */
function refuseDuplicates(agents: readonly Unfinished[], { report }: LoadProblems): readonly Unfinished[] {
  const byName = new Map<string, Unfinished>();
  for (const one of agents) {
    const { agent, file, at = null } = one;
    const other = byName.get(agent.name);
    if (other === undefined) byName.set(agent.name, one);
    else {
      const where = `${other.file}${other.at === undefined ? "" : `:${other.at.line}`}`;
      report(fileFault({ file, at, detail: `agent \`${agent.name}\` is already defined in ${where}`, hint: "rename one of them" }));
    }
  }
  return [...byName.values()].sort((a, b) => (a.agent.name < b.agent.name ? -1 : 1));
}

function findUnreadParts(agents: readonly Unfinished[], lost: LoadProblems["unread"]): UnreadParts {
  const names = agents.flatMap(({ agent }) => agent.tools.filter(isUnusableTool).map(({ name }) => name));
  const isLacking = agents.some(({ agent }) => agent.missing.length + agent.missingServers.length > 0);
  return { agents: lost.agents, tools: { more: lost.agents || lost.tools || isLacking, named: [...new Set(names)] } };
}

type Resources = Readonly<{ equipment: ProjectResources | null; skills: readonly ProjectSkill[]; mcp: ProjectMcp | null }>;

/** Skills, instructions and MCP servers that agents name; nothing is read or linked that no agent names. */
async function loadResources(
  config: Config,
  agents: readonly Unfinished[],
  { formats, tools, env, skills: which }: Readonly<{ formats: ProjectFormats; tools: LoadedTools; env: Env; skills: "wanted" | "all" }>,
): Promise<Resources> {
  const { prices } = config;
  const wanted = new Set(agents.flatMap(({ agent }) => agent.missing.map(({ skill }) => skill)));
  const isInstructed = agents.some(({ agent }) => agent.definition.projectInstructions === true);
  const isLinked = tools.servers.length > 0 || agents.some(({ agent }) => agent.missingServers.length > 0);
  const skillPrompter = await loadSkillPrompter(config, agents);
  if (which === "wanted" && wanted.size === 0 && !isInstructed && !isLinked) {
    const isEquipped = skillPrompter !== null || Object.keys(prices).length > 0 || agents.some(({ unfit = [] }) => unfit.length > 0);
    return { equipment: isEquipped ? { ...NO_RESOURCES, prices, skillPrompter } : null, skills: [], mcp: null };
  }
  const code = which === "wanted" && wanted.size === 0 ? [] : await loadCodeSkills(listToolModules(config, formats));
  const trusted = await loadTrust(config.journal);
  const skills = projectSkills(config, trusted, code, which === "wanted" ? wanted : null);
  const mcp = isLinked ? projectMcp(config, trusted, env) : null;
  if (mcp !== null) tools.connect((invocation, options) => mcp.hub.run(invocation, options));
  const { servers, unusableServers } = mcp === null ? NO_RESOURCES : serverEquipment(mcp);
  const equipment = { ...toProjectResources(config, trusted, skills, { servers, unusableServers }), prices, skillPrompter };
  return { equipment, skills, mcp };
}

function listToolModules(config: Config, { tools }: ProjectFormats): Parameters<typeof loadCodeSkills>[0] {
  const { root, listFiles } = openInputs(config, "tools", throwProblem);
  return { root, files: listFiles(tools.get(moduleTools) ?? []) };
}

/** Of the project's ports module, which is loaded only where an agent has skills. */
async function loadSkillPrompter(config: Config, agents: readonly Unfinished[]): Promise<SkillPrompter | null> {
  const hasSkills = agents.some(({ agent }) => (agent.definition.skills ?? []).length > 0);
  return hasSkills ? ((await loadBuildPorts(config)).skillPrompter ?? null) : null;
}

/** Adds the resources that the agent names, the policies and labels of its own file, and the project's default model. */
async function finishLoaded(one: Unfinished, config: Config, equipment: ProjectResources | null): Promise<ProjectAgent> {
  const { file, format, locate, about, isUnfitReported } = one;
  const missingTools = (one.unfit ?? []).map(({ tool, file: at, line, column, detail, hint }) => ({
    tool,
    detail: `${relative(config.root, at)}:${line}:${column} ${detail}`,
    hint,
  }));
  const equipped = equipment === null ? one.agent : withFile(file, () => equipAgent(one.agent, { ...equipment, missingTools }));
  const { agent, ...own } = (await one.finish?.(equipped)) ?? { agent: equipped };
  return {
    ...own,
    agent: withFile(file, () => withDefaultModel(agent, config.models.default)),
    file,
    format,
    ...(locate === undefined ? {} : { locate }),
    ...(about === undefined ? {} : { about }),
    ...(isUnfitReported === undefined ? {} : { isUnfitReported }),
  };
}

function withFile(file: string, make: () => Agent): Agent {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof FaultError)) throw error;
    const { message, hint } = describeFault(error.fault);
    throw fileFault({ file, detail: message, hint }, error);
  }
}

// ── with policies ──

/** A project that can run: everything that can be wrong with it has been checked, nothing is open for writing yet. */
export type RunnableProject = Readonly<{
  config: Config;
  project: LoadedProject;
  agents: readonly Agent[];
  gate: Policies;
  surface: Surface;
}>;

export type RunnableOptions = Readonly<{
  env: Env;
  surface: Surface;
  /** The one agent that will run: Cedar checks its own file and those of its delegates, and no others (Y-15). */
  running?: string | null;
  ask?: AskHidden | undefined;
}>;

export async function loadRunnableProject(
  config: Config,
  { env, surface, running = null, ask }: RunnableOptions,
): Promise<RunnableProject> {
  const cache = openProjectCache(config, env);
  const project = await loadProject(config, { env, ask, cache });
  const agents = project.agents.map(({ agent }) => agent);
  const only = running === null ? undefined : withDelegates(running, agents);
  const gate = openProjectPolicies({ config, agents, surface, cache, only });
  cache.save();
  return { config, project, agents, gate, surface };
}

type PolicyParts = Readonly<{
  config: Config;
  agents: readonly Agent[];
  surface: Surface;
  cache: FileCache;
  only: ReadonlySet<string> | undefined;
}>;

/** A policy about a tool that is missing does not load: then the missing tool is the fault to report, not the policy. */
function openProjectPolicies({ config, agents, surface, cache, only }: PolicyParts): Policies {
  try {
    return openPolicies(config, agents, surface, { only, remembered: cache });
  } catch (error) {
    if (isFault(error, "policies-refused"))
      agents.filter((a) => a.missingServers.length + a.missingTools.length > 0).forEach(assertAgentComplete);
    throw error;
  }
}

/** The agent and all agents that it can reach by delegation. */
function withDelegates(name: string, agents: readonly Agent[]): ReadonlySet<string> {
  const found = new Set<string>();
  const left = [name];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if (found.has(next)) continue;
    found.add(next);
    left.push(...(agents.find((agent) => agent.name === next)?.delegates ?? []));
  }
  return found;
}
