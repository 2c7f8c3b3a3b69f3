/**
 * The policies in force: read, checked with their decision tables, replaced while sessions run.
 *
 * G-14 a decision table is run whenever its set loads, but for cases that the same policies are known to have decided so before (G-37); a case that is decided
 *     otherwise refuses the set, and is named with what was decided.
 * Rules: G-1, G-9, G-15, G-17.
 */
import {
  type Action,
  type Agent,
  type Digest,
  digestOf,
  type Facts,
  FaultError,
  type FileDigest,
  type Gate,
  type JsonObject,
  knowledgeTools,
  type Surface,
  type Tool,
  toolFacts,
} from "@orgate/core";
import {
  type Cast,
  type CedarGate,
  cedarGate,
  doubtIn,
  type Engine,
  type Explained,
  type LoadedPolicy,
  loadPolicies,
  type PolicyProblem,
  type PolicySet,
  strangerIn,
} from "@orgate/core/gate";
import type { Config, Groups } from "../config/config.ts";
import { type CheckedCache, NO_CHECKED_CACHE, openCheckedCache } from "../files/checked-cache.ts";
import { type FileCache, NO_FILE_CACHE } from "../files/file-cache.ts";
import { listDraftsBelow } from "../files/file-overlay.ts";
import { aList, assertArguments, objectWith, text } from "../node/argument-checks.ts";
import { codeFiles } from "../node/code-files.ts";
import { sha256 } from "../node/crypto.ts";
import { version } from "../node/version.ts";
import { isUnusableTool } from "../toolclad/unusable-tool.ts";
import { cedarEngine } from "./cedar-engine.ts";
import { type AppliedSet, appliedSetMissing, denyAllSet, waitForAppliedSet } from "./policy-applied.ts";
import { cachingEngine, NO_POLICY_CACHE, type PolicyTextCache, runCaseCached } from "./policy-cache.ts";
import { digestFolder, type SetFile } from "./policy-digests.ts";
import { type FolderPlace, type FoundTable, type PolicyFolder, type ReadFolder, readPolicyFolder } from "./policy-files.ts";

export const NO_GROUPS: Groups = { agents: {}, users: {} };

export type PolicyOptions = Readonly<{
  place: FolderPlace;
  agents: readonly Agent[];
  groups: Groups;
  /** Where the person acts who approves, resolves, edits: the set that decides it. */
  surface: Surface;
  /** Agents that are run here, those they may delegate to among them; all of them unless said. What the files of others say is left aside (Y-15). */
  only?: ReadonlySet<string>;
  /** What could not be read of agents and tools: only what holds all the same is told, and no decision table is run. */
  gaps?: Readonly<{ agents: boolean; tools: NonNullable<Cast["unknown"]> }>;
  /** What was found good before; nothing unless said. */
  checked?: CheckedCache;
  /** What texts were read to be before; nothing unless said. */
  read?: PolicyTextCache;
}>;

/** A case as it was decided. */
export type CaseReport = Readonly<{ file: string; line: number; column: number; name: string; passed: boolean; detail: string }>;

/** Everything that there is to say about a set, in force or not. */
export type PolicyReport = Readonly<{
  problems: readonly PolicyProblem[];
  warnings: readonly PolicyProblem[];
  cases: readonly CaseReport[];
  /** What Cedar cannot type, and so no policy can read. */
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
  cast: Cast;
  gateFor(surface: Surface): CedarGate;
  /** Why nothing is permitted: a set that was applied is not in force here (G-15). */
  closed?: string;
  /** Counters that any of its policies can read over hours and days. */
  lately: readonly string[];
}>;
export type Loading = Readonly<
  | { kind: "loaded"; loaded: LoadedFolder; report: PolicyReport }
  /** `files` is null when they could not be read. */
  | { kind: "refused"; problems: readonly [PolicyProblem, ...PolicyProblem[]]; report: PolicyReport; files: Digest | null }
  | { kind: "none"; folder: string; report: PolicyReport }
>;

const NOTHING: PolicyReport = { problems: [], warnings: [], cases: [], untyped: [] };

export const loadFolder = (options: PolicyOptions, engine: Engine): Loading =>
  tryLoadRead(readPolicyFolder(options.place), options, engine);

/** What a set is loaded with: who and what there is, and what the agents' own files say. */
export type LoadingWith = Pick<PolicyOptions, "place" | "only" | "checked" | "read"> &
  Readonly<{ cast: Cast; agents: readonly Pick<Agent, "policies">[] }>;

export function loadRead(read: ReadFolder, options: LoadingWith, engine: Engine = cedarEngine()): Loading {
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
  const refused = (all: readonly PolicyProblem[], cases: readonly CaseReport[]): Loading | null => {
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
  checked.keep();

  const base = gateIn(gates, null);
  const own = Object.fromEntries([...gates].flatMap(([surface, gate]) => (surface === null ? [] : [[surface, gate.digest]])));
  const loaded: LoadedFolder = {
    digest: surfaces.length === 0 ? base.digest : digestOf({ base: base.digest, own }, sha256),
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

/** What the agents' own files say joins the set of every surface: each is about that one agent, and so decides nothing for others. */
export function withAgents(folder: PolicyFolder, agents: LoadingWith["agents"], only?: PolicyOptions["only"]): PolicyFolder {
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

/** What would be decided with the shadow policies in force; made only when a table wants to know. */
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
  { cast, idle, checked }: Readonly<{ cast: Cast; idle: ReadonlySet<string>; checked: CheckedCache }>,
): readonly CaseReport[] {
  return table.cases.map(({ case: c, line, column, named }) => {
    const gate = gateIn(gates, named ? c.surface : table.surface);
    const under = { shadow: table.shadow, idle: idle.has(c.agent ?? "") };
    const stranger = strangerIn(c, cast);
    const { passed, detail } =
      stranger === null ? runCaseCached(c, { gate, tools: cast.tools, checked }, under) : { passed: false, detail: stranger };
    return { file: table.path, line, column, name: c.name, passed, detail };
  });
}

const doubtsIn = ({ path: file, cases }: FoundTable, cast: Cast): readonly PolicyProblem[] =>
  cases.flatMap(({ case: c, line, column }) => {
    const detail = doubtIn(c, cast);
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

/** Who and what there is to write policies about. Groups are told by the project and by the agents themselves. */
export function toCast(agents: readonly Agent[], groups: Groups, gaps?: PolicyOptions["gaps"]): Cast {
  const known = new Set(agents.map((a) => a.name));
  const stranger =
    gaps?.agents === true ? undefined : Object.entries(groups.agents).find(([, members]) => members.some((name) => !known.has(name)));
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
    ...(gaps === undefined ? {} : { unknown: gaps.tools }),
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
    if (other !== undefined && !isUnusableTool(other) && digestOf(sharedFacts(other), sha256) !== digestOf(sharedFacts(tool), sha256))
      throw new FaultError({ kind: "tool-twice", tool: tool.name });
    tools.set(tool.name, other === undefined || isUnusableTool(other) ? tool : other);
  }
  const [remembering] = agents.flatMap((a) => a.knowledge ?? []);
  for (const tool of remembering === undefined ? [] : knowledgeTools(remembering)) tools.set(tool.name, tool); // decided as `recall` and `remember`, counted by name
  return [...tools.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** What the runtime makes for each agent has the same action, and a basis of its own. */
function sharedFacts(tool: Tool): JsonObject {
  const { name, inputSchema, effects, resourceTypes, basis } = tool;
  // labels are of its output, and an agent may ask for more of them: no policy is checked against these
  return basis === null ? toolFacts({ ...tool, labels: [] }) : { name, inputSchema, effects, resourceTypes };
}

// ── in force ──

export type Reloaded = Readonly<
  | { kind: "same" }
  | { kind: "loaded"; loaded: LoadedFolder }
  | { kind: "refused"; problems: readonly PolicyProblem[]; files: Digest | null }
  /** Refused where going on with the old set would be wrong: nothing is permitted from now on (G-15). */
  | { kind: "closed"; problems: readonly PolicyProblem[]; files: Digest | null; loaded: LoadedFolder }
>;
/** Told of a change before it is in force; what it throws keeps the change from being made. */
export type Recorder = (change: Exclude<Reloaded, { kind: "same" }>) => Promise<void>;

export type Policies = Gate &
  Readonly<{
    current(): LoadedFolder;
    explain(action: Action, facts: Facts): Explained;
    /** Reads the folder again. One at a time; a set that does not load changes nothing. */
    reload(): Promise<Reloaded>;
    /** The same for a set that was applied, here or by another process: if it does not load, nothing is permitted until one does (G-15). */
    takeUp(applied: AppliedSet): Promise<Reloaded>;
    /** Calls `told` with what became of each set that another process applied. Returns the way to stop. */
    onTakenUp(told: (reloaded: Reloaded) => void): () => void;
    /** Returns the way to stop. */
    recordedBy(recorder: Recorder): () => void;
    place: FolderPlace;
  }>;

export const policyPlace = ({ policies, root, drafts = [] }: Pick<Config, "root" | "policies" | "drafts">): FolderPlace => ({
  folder: policies,
  label: "policies",
  within: root,
  ...(drafts.length === 0 ? {} : { drafts: listDraftsBelow("policies", drafts) }),
});

/** Throws `policies-missing` or `policies-refused`. */
export function openPolicies(
  config: Pick<Config, "root" | "policies" | "groups" | "journal" | "drafts">,
  agents: readonly Agent[],
  surface: Surface,
  { only, remembered = NO_FILE_CACHE }: Readonly<{ only?: ReadonlySet<string> | undefined; remembered?: FileCache | undefined }> = {},
): Policies {
  const place = policyPlace(config);
  const engine = cedarEngine();
  const checked = openCheckedCache(config.journal.directory, [version(), engine.version(), codeFiles(["gate"])].join("\n"));
  const options = { place, agents, groups: config.groups, surface, checked, ...(only === undefined ? {} : { only }) };
  return policiesOf(options, engine, { remembered, cedar: engine.version() });
}

export type CedarPoliciesOptions = Readonly<{
  /** A folder of policies, laid out like a project's. */
  directory: string;
  agents: readonly Agent[];
  groups?: Partial<Groups>;
  surface?: Surface;
}>;

/** For those who embed the runtime: policies from a folder, as the gate of `createRuntime`. */
export function cedarPolicies(options: CedarPoliciesOptions): Policies {
  const hint = 'such as { directory: "policies", agents: [agent] }';
  assertArguments("cedarPolicies", { options: objectWith({ directory: text(hint), agents: aList(hint) }, hint) }, options);
  const { directory, agents, groups = {}, surface = "library" } = options;
  const place = { folder: directory, label: "policies", within: directory };
  return policiesOf({ place, agents, groups: { ...NO_GROUPS, ...groups }, surface });
}

export const isPolicies = (gate: Gate): gate is Policies => "recordedBy" in gate && "reload" in gate;

/** `read`: for the first load alone; whoever stays does not hold on to all that a project is remembered by. */
function policiesOf(options: PolicyOptions, engine: Engine = cedarEngine(), read: PolicyTextCache = NO_POLICY_CACHE): Policies {
  const load = (): Loading => loadFolder(options, engine);
  let inForce = loadOrThrow(loadFolder({ ...options, read }, engine));
  const recorders = new Set<Recorder>();
  const listeners = new Set<(reloaded: Reloaded) => void>();
  let lastRefusal = "";
  let queue: Promise<unknown> = Promise.resolve();

  async function putInForce(change: Reloaded): Promise<Reloaded> {
    if (change.kind === "same") {
      lastRefusal = "";
      return change;
    }
    const refusal = change.kind === "loaded" ? "" : JSON.stringify(change.problems);
    if (refusal === "" || refusal !== lastRefusal) for (const record of recorders) await record(change);
    lastRefusal = refusal;
    if (change.kind !== "refused") inForce = change.loaded;
    return change;
  }
  async function takeUp(applied: AppliedSet): Promise<Reloaded> {
    const found = await waitForAppliedSet(options.place, applied, inForce.folderDigest);
    if (found === "other") return { kind: "same" };
    const change = found === "there" ? changeOf(load(), inForce) : appliedSetMissing(applied.files);
    const became = await putInForce(change.kind === "refused" ? closedBy(change, options, engine) : change);
    if (became.kind !== "same") for (const told of listeners) told(became);
    return became;
  }
  function inTurn(work: () => Promise<Reloaded>): Promise<Reloaded> {
    const turn = queue.then(work);
    queue = turn.catch(() => {});
    return turn;
  }

  return {
    get digest() {
      return inForce.digest;
    },
    get lately() {
      return inForce.lately;
    },
    place: options.place,
    decide: (action, facts) => inForce.gateFor(facts.surface).decide(action, facts),
    decideFor: (user, act) => inForce.gateFor(options.surface).decideFor(user, act),
    groupsOf: (user) => inForce.gateFor(options.surface).groupsOf(user),
    explain: (action, facts) => inForce.gateFor(facts.surface).explain(action, facts),
    current: () => inForce,
    reload: () => inTurn(async () => putInForce(changeOf(load(), inForce))),
    takeUp: (applied) => inTurn(() => takeUp(applied)),
    recordedBy(recorder) {
      recorders.add(recorder);
      return () => recorders.delete(recorder);
    },
    onTakenUp(told) {
      listeners.add(told);
      return () => listeners.delete(told);
    },
  };
}

function changeOf(loading: Loading, before: LoadedFolder): Reloaded {
  switch (loading.kind) {
    case "loaded":
      return loading.loaded.digest === before.digest && loading.loaded.filesDigest === before.filesDigest
        ? { kind: "same" }
        : { kind: "loaded", loaded: loading.loaded };
    case "refused":
      return { kind: "refused", problems: loading.problems, files: loading.files };
    case "none":
      return {
        kind: "refused",
        problems: [{ file: loading.folder, line: 1, column: 1, detail: "there is no policy left in it", hint: "halt the work to stop it" }],
        files: null,
      };
  }
}

function closedBy({ problems, files }: Extract<Reloaded, { kind: "refused" }>, options: PolicyOptions, engine: Engine): Reloaded {
  const cast = toCast(options.agents, options.groups, options.gaps);
  return { kind: "closed", problems, files, loaded: denyAllSet(cast, problems, engine) };
}

export function loadOrThrow(loading: Loading): LoadedFolder {
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
export const tryLoadFolder = (options: PolicyOptions): Loading => loadFolder(options, cedarEngine());
/** The same of what was read before, whatever lies there by now (G-16). */
export const tryLoadRead = (read: ReadFolder, options: PolicyOptions, engine: Engine = cedarEngine()): Loading =>
  loadRead(read, { ...options, cast: toCast(options.agents, options.groups, options.gaps) }, engine);

export type { Explained, PolicyProblem, SetFile };
