/**
 * Loads a folder of policies: reads it, checks it with its decision tables, builds the gates of each surface.
 *
 * G-14 a decision table is run whenever its set loads, but for cases that the same policies are known to have decided so before (G-37); a case that is decided
 *     otherwise refuses the set, and is named with what was decided.
 * Rules: G-1, G-9, G-15, G-17.
 */
import {
  type Agent,
  type Digest,
  digestJson,
  FaultError,
  type FileDigest,
  type JsonObject,
  knowledgeTools,
  type Surface,
  type Tool,
  toolFacts,
} from "@orgate/core";
import {
  type CedarGate,
  cedarGate,
  type Engine,
  findDoubt,
  findStranger,
  type LoadedPolicy,
  loadPolicies,
  type PolicyProblem,
  type PolicySet,
  type PolicyWorld,
} from "@orgate/core/gate";
import type { Groups } from "../config/config.ts";
import { type CheckedCache, NO_CHECKED_CACHE } from "../files/checked-cache.ts";
import { sha256 } from "../node/crypto.ts";
import { isUnusableTool } from "../tools/unusable-tool.ts";
import { cedarEngine } from "./cedar-engine.ts";
import { cachingEngine, NO_POLICY_CACHE, type PolicyTextCache, runCaseCached } from "./policy-cache.ts";
import { digestFolder, type SetFile } from "./policy-digests.ts";
import { type FoundTable, type PolicyFolder, type PolicyFolderPath, type ReadFolder, readPolicyFolder } from "./policy-files.ts";

export const NO_GROUPS: Groups = { agents: {}, users: {} };

export type PolicyOptions = Readonly<{
  place: PolicyFolderPath;
  agents: readonly Agent[];
  groups: Groups;
  /** Where the person acts who approves, resolves, edits: the set that decides it. */
  surface: Surface;
  /** Agents that are run here, those they may delegate to among them; all of them unless said. What the files of others say is left aside (Y-15). */
  only?: ReadonlySet<string>;
  /** Agents and tools that could not be read: only problems that hold anyway are reported, and no decision table is run. */
  unread?: Readonly<{ agents: boolean; tools: NonNullable<PolicyWorld["unknown"]> }>;
  /** Sets that passed before; none unless given. */
  checked?: CheckedCache;
  /** Texts that were parsed before; none unless given. */
  read?: PolicyTextCache;
}>;

/** A case as it was decided. */
export type CaseReport = Readonly<{ file: string; line: number; column: number; name: string; passed: boolean; detail: string }>;

/** Everything that there is to say about a set, in force or not. */
export type PolicyReport = Readonly<{
  problems: readonly PolicyProblem[];
  warnings: readonly PolicyProblem[];
  cases: readonly CaseReport[];
  /** Arguments that Cedar cannot type, so no policy can read them. */
  untyped: readonly Readonly<{ tool: string; path: string; why: string }>[];
}>;

export type LoadedFolder = Readonly<{
  digest: Digest;
  /** Of the files alone, whatever the tools are. */
  filesDigest: Digest;
  /** Of the files below the folder alone, without those of agents: what `policy.applied` names. */
  folderDigest: Digest;
  files: readonly FileDigest[];
  /** The same with their texts: what the journal stores (J-27). */
  sources: readonly SetFile[];
  policies: readonly LoadedPolicy[];
  warnings: readonly PolicyProblem[];
  cases: readonly CaseReport[];
  cast: PolicyWorld;
  gateFor(surface: Surface): CedarGate;
  /** Why nothing is permitted: a set that was applied is not in force here (G-15). */
  closed?: string;
  /** Counters that any of its policies can read over hours and days. */
  lately: readonly string[];
}>;
export type FolderLoad = Readonly<
  | { kind: "loaded"; loaded: LoadedFolder; report: PolicyReport }
  /** `files` is null when they could not be read. */
  | { kind: "refused"; problems: readonly [PolicyProblem, ...PolicyProblem[]]; report: PolicyReport; files: Digest | null }
  | { kind: "none"; folder: string; report: PolicyReport }
>;

const NOTHING: PolicyReport = { problems: [], warnings: [], cases: [], untyped: [] };

export const loadFolder = (options: PolicyOptions, engine: Engine): FolderLoad =>
  tryLoadRead(readPolicyFolder(options.place), options, engine);

/** A set is loaded with the agents, tools and groups that exist, and with the agents' own files. */
export type LoadOptions = Pick<PolicyOptions, "place" | "only" | "checked" | "read"> &
  Readonly<{ cast: PolicyWorld; agents: readonly Pick<Agent, "policies">[] }>;

export function loadRead(read: ReadFolder, options: LoadOptions, engine: Engine = cedarEngine()): FolderLoad {
  const { place, agents, cast, only, checked = NO_CHECKED_CACHE, read: before = NO_POLICY_CACHE } = options;
  if (read.kind === "refused") {
    const { problems, warnings } = read;
    return { kind: "refused", problems, report: { ...NOTHING, problems, warnings }, files: null };
  }
  const folder = withAgents(read.folder, agents, only);
  const { files, filesDigest, sources } = digestFolder(folder);
  if (!folder.policies.some((p) => !p.shadow))
    return { kind: "none", folder: place.label, report: { ...NOTHING, warnings: folder.warnings } };

  const surfaces = [...new Set(folder.policies.flatMap((p) => p.surface ?? []))];
  const reading = cachingEngine(engine, checked, before);
  const loads = [null, ...surfaces].map((surface) => ({ surface, load: loadPolicies(filesFor(folder, surface), cast, reading) }));
  const problems = unique(loads.flatMap(({ load }) => (load.kind === "refused" ? load.problems : [])));
  const warned = loads.flatMap(({ load }) => (load.kind === "set" ? load.warnings : []));
  const warnings = [...folder.warnings, ...unique(warned), ...folder.tables.flatMap((table) => doubtsIn(table, cast))];
  const sets = loads.flatMap(({ surface, load }) => (load.kind === "set" ? [{ surface, set: load.set }] : []));
  const untyped = sets[0]?.set.vocabulary.untyped ?? [];
  const refused = (all: readonly PolicyProblem[], cases: readonly CaseReport[]): FolderLoad | null => {
    const [first, ...rest] = all;
    if (first === undefined) return null;
    return { kind: "refused", problems: [first, ...rest], report: { problems: all, warnings, cases, untyped }, files: filesDigest };
  };
  const bad = refused(problems, []);
  if (bad !== null) return bad;
  if (cast.unknown?.more === true || (cast.unknown?.named.length ?? 0) > 0)
    return { kind: "none", folder: place.label, report: { ...NOTHING, warnings, untyped } };

  if (!sets.some(({ set }) => set.policies.some((p) => !p.shadow)))
    return { kind: "none", folder: place.label, report: { ...NOTHING, warnings } }; // files without a policy in them

  const gates = new Map(sets.map(({ surface, set }) => [surface, cedarGate(set, engine, sha256)]));
  const trials = trialsOf(sets, folder.tables, engine);
  const idle = new Set(sets.flatMap(({ set }) => [...set.idle]));
  const cases = folder.tables.flatMap((table) => runTable(table, table.shadow ? trials : gates, { cast, idle, checked }));
  const failed = refused(
    cases.flatMap((c) => (c.passed ? [] : [failedCase(c)])),
    cases,
  );
  if (failed !== null) return failed;
  checked.save();

  const base = gateIn(gates, null);
  const own = Object.fromEntries([...gates].flatMap(([surface, gate]) => (surface === null ? [] : [[surface, gate.digest]])));
  const loaded: LoadedFolder = {
    digest: surfaces.length === 0 ? base.digest : digestJson({ base: base.digest, own }, sha256),
    filesDigest,
    folderDigest: digestFolder(read.folder).filesDigest,
    files,
    sources,
    policies: uniquePolicies(sets.flatMap(({ set }) => set.policies)),
    warnings,
    cases,
    cast,
    gateFor: (surface) => gates.get(surface) ?? base,
    lately: [...new Set([...gates.values()].flatMap((gate) => gate.lately))],
  };
  return { kind: "loaded", loaded, report: { problems: [], warnings, cases, untyped } };
}

/** Rules in the agents' own files join the set of every surface: each is about its own agent, and decides nothing for others. */
export function withAgents(folder: PolicyFolder, agents: LoadOptions["agents"], only?: PolicyOptions["only"]): PolicyFolder {
  // a case about an agent that was not read would be decided as of nobody, and fail
  const tried = new Set(folder.tables.flatMap(({ cases }) => cases.map(({ case: c }) => c.agent)));
  const own = agents.flatMap((agent) =>
    agent.policies.map(({ path, name, text, shadow, agent: whose, pieces }) => ({
      path,
      name,
      below: `${path}#${whose}${shadow ? "#audit" : ""}`,
      text,
      shadow,
      surface: null,
      ...(only === undefined || only.has(whose) || tried.has(whose) ? {} : { idle: { agent: whose, pieces } }),
    })),
  );
  return own.length === 0 ? folder : { ...folder, policies: [...folder.policies, ...own] };
}

const filesFor = ({ policies }: PolicyFolder, surface: Surface | null) =>
  policies.filter((p) => p.surface === null || p.surface === surface);

function gateIn(gates: ReadonlyMap<Surface | null, CedarGate>, surface: Surface | null): CedarGate {
  const gate = gates.get(surface) ?? gates.get(null);
  if (gate === undefined) throw new Error("there is always a set for every surface");
  return gate;
}

/** The gate with shadow policies in force; created only when a table asks for it. */
function trialsOf(
  sets: readonly Readonly<{ surface: Surface | null; set: PolicySet }>[],
  tables: readonly FoundTable[],
  engine: Engine,
): ReadonlyMap<Surface | null, CedarGate> {
  if (!tables.some((t) => t.shadow)) return new Map();
  return new Map(
    sets.map(({ surface, set }) => {
      const enforced = { ...set, policies: set.policies.map((p) => ({ ...p, shadow: false })) };
      return [surface, cedarGate(enforced, engine, sha256, { cache: 0 })];
    }),
  );
}

/** A case of everybody's is decided by the set of everybody, unless it names a surface. */
function runTable(
  table: FoundTable,
  gates: ReadonlyMap<Surface | null, CedarGate>,
  { cast, idle, checked }: Readonly<{ cast: PolicyWorld; idle: ReadonlySet<string>; checked: CheckedCache }>,
): readonly CaseReport[] {
  return table.cases.map(({ case: c, line, column, named }) => {
    const gate = gateIn(gates, named ? c.surface : table.surface);
    const under = { shadow: table.shadow, idle: idle.has(c.agent ?? "") };
    const stranger = findStranger(c, cast);
    const { passed, detail } =
      stranger === null ? runCaseCached(c, { gate, tools: cast.tools, checked }, under) : { passed: false, detail: stranger };
    return { file: table.path, line, column, name: c.name, passed, detail };
  });
}

const doubtsIn = ({ path: file, cases }: FoundTable, cast: PolicyWorld): readonly PolicyProblem[] =>
  cases.flatMap(({ case: c, line, column }) => {
    const detail = findDoubt(c, cast);
    const hint = "name it as the project does, or remove the case";
    return detail === null ? [] : [{ file, line, column, detail: `case \`${c.name}\`: ${detail}`, hint }];
  });

const failedCase = ({ file, line, column, name, detail }: CaseReport): PolicyProblem => ({
  file,
  line,
  column,
  detail: `case \`${name}\`: ${detail}`,
  hint: "mend the policy, or the case if it says what is no longer wanted",
});

function unique(problems: readonly PolicyProblem[]): readonly PolicyProblem[] {
  const seen = new Map(problems.map((p) => [`${p.file}\n${p.line}\n${p.column}\n${p.detail}`, p]));
  return [...seen.values()];
}
const uniquePolicies = (policies: readonly LoadedPolicy[]): readonly LoadedPolicy[] => [
  ...new Map(policies.map((p) => [p.id, p])).values(),
];

/** The names that policies may use. Groups come from the project and from the agents themselves. */
export function toPolicyWorld(agents: readonly Agent[], groups: Groups, unread?: PolicyOptions["unread"]): PolicyWorld {
  const known = new Set(agents.map((a) => a.name));
  const stranger =
    unread?.agents === true ? undefined : Object.entries(groups.agents).find(([, members]) => members.some((name) => !known.has(name)));
  if (stranger !== undefined)
    throw new FaultError({
      kind: "agent-missing",
      agent: stranger[1].find((name) => !known.has(name)) ?? "",
      known: [...known].sort(),
    });
  const users = [...new Set(Object.values(groups.users).flat())].sort();
  return {
    agents: agents.map(({ name, groups: own }) => ({ name, groups: [...new Set([...own, ...groupsWith(groups.agents, name)])].sort() })),
    users: users.map((name) => ({ name, groups: groupsWith(groups.users, name) })),
    tools: toolsOf(agents),
    ...(groups.world === undefined ? {} : groups.world),
    ...(unread === undefined ? {} : { unknown: unread.tools }),
  };
}

const groupsWith = (members: Groups["users"], name: string): readonly string[] =>
  Object.keys(members)
    .filter((group) => members[group]?.includes(name))
    .sort();

/** One action per name: two agents may share a tool, but not have different ones under one name. */
function toolsOf(agents: readonly Agent[]): readonly Tool[] {
  const tools = new Map<string, Tool>();
  for (const tool of agents.flatMap((a) => a.tools)) {
    const other = tools.get(tool.name);
    if (other !== undefined && isUnusableTool(tool)) continue;
    if (other !== undefined && !isUnusableTool(other) && digestJson(sharedFacts(other), sha256) !== digestJson(sharedFacts(tool), sha256))
      throw new FaultError({ kind: "tool-twice", tool: tool.name });
    tools.set(tool.name, other === undefined || isUnusableTool(other) ? tool : other);
  }
  const [remembering] = agents.flatMap((a) => a.knowledge ?? []);
  for (const tool of remembering === undefined ? [] : knowledgeTools(remembering)) tools.set(tool.name, tool); // decided as `recall` and `remember`, counted by name
  return [...tools.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Tools that the runtime creates for each agent share an action, and have a basis each. */
function sharedFacts(tool: Tool): JsonObject {
  const { name, inputSchema, effects, resourceTypes, basis } = tool;
  // labels are of its output, and an agent may ask for more of them: no policy is checked against these
  return basis === null ? toolFacts({ ...tool, labels: [] }) : { name, inputSchema, effects, resourceTypes };
}

// ── in force ──

export function loadOrThrow(loading: FolderLoad): LoadedFolder {
  switch (loading.kind) {
    case "loaded":
      return loading.loaded;
    case "none":
      throw new FaultError({ kind: "policies-missing", folder: loading.folder });
    case "refused":
      throw new FaultError({ kind: "policies-refused", problems: loading.problems });
  }
}

/** For checks and trials: a set that is never in force. */
export const tryLoadFolder = (options: PolicyOptions): FolderLoad => loadFolder(options, cedarEngine());
/** The same of what was read before, whatever lies there by now (G-16). */
export const tryLoadRead = (read: ReadFolder, options: PolicyOptions, engine: Engine = cedarEngine()): FolderLoad =>
  loadRead(read, { ...options, cast: toPolicyWorld(options.agents, options.groups, options.unread) }, engine);
