/**
 * A change, tried before it is written: the project is loaded as it is, and once more as it would be, by the code that loads it for everybody.
 *
 * S-10 an artifact is fit when the whole project loads with it (its own parser, the policies against the tools that there are, the manifests, the schedules) and no
 *      constraint of the project forbids it; all problems are reported at once, with file, line and column.
 * S-10 what the change newly permits, asks and forbids is found by deciding the same requests before and after it.
 * Rule: S-11.
 */
import { type Agent, describeFault, digestJson, FaultError, SURFACES, type Surface, toolFacts } from "@orgate/core";
import { type LoadedPolicy, USER_ACTIONS } from "@orgate/core/gate";
import type { ManifestFile } from "@orgate/toolclad";
import type { Config } from "../config/config.ts";
import { sha256 } from "../node/crypto.ts";
import type { Env } from "../node/env.ts";
import { type AgentDifferences, compareSides, type DecisionChange, type DiffSide } from "../policies/agents-diff.ts";
import { policyFolderPath } from "../policies/policies.ts";
import { readCases } from "../policies/policy-cases.ts";
import { type FolderLoad, tryLoadFolder } from "../policies/policy-load.ts";
import type { ProjectProblem } from "../project/formats/format.ts";
import { type LoadedProject, loadProject } from "../project/load.ts";
import { loadManifests } from "../project/project-manifests.ts";
import { findSymbiFile } from "../project/symbi/symbi-format.ts";
import { openCalendar } from "../schedules/calendar.ts";
import { readSchedules, readWebhooks } from "../schedules/declaring.ts";
import { type ArtifactKind, artifactKind, MAX_ARTIFACT, SHELL, whyNotAuthored } from "./artifact.ts";
import { checkAgentConstraints, checkManifestConstraints, checkPolicyConstraints, type Finding } from "./check-constraints.ts";
import { type Constraints, readConstraints } from "./constraints.ts";
import { allowsAnyPrincipal, coversAction, namedPrincipals } from "./policy-scope.ts";

export type Artifact = Readonly<{ path: string; content: string }>;
export type TryResult = Readonly<
  | { kind: "fit"; path: string; artifact: ArtifactKind; agents: readonly string[]; warnings: readonly Finding[]; sides: Sides | null }
  | { kind: "unfit"; problems: readonly [Finding, ...Finding[]] }
>;
/** Null before: the project does not load as it is. */
type Sides = Readonly<{ before: DiffSide | null; after: DiffSide }>;

/** Tools that are the shell's alone. */
const SHELL_TOOLS = ["save_artifact"] as const;
/** Tool names in the shell's policies: a tool with such a name would get its permissions. */
const TAKEN: ReadonlySet<string> = new Set(
  "validate_dsl validate_cedar validate_toolclad save_artifact read_artifact list_tools read_file search edit_file shell delegate".split(
    " ",
  ),
);

export async function tryArtifact(config: Config, artifact: Artifact, env: Env, kind: ArtifactKind | null = null): Promise<TryResult> {
  const { path } = artifact;
  const looked = await lookedAt(config, artifact, env, kind);
  if (Array.isArray(looked)) return unfit(looked, path);
  const before = await loaded(config, env, null).catch(() => null);
  const gains = before === null || before.side === null ? mightLetShell(looked, path) : shellsGain(before.side, looked, path);
  if (gains.length > 0) return unfit(gains, path);
  return {
    kind: "fit",
    path,
    artifact: artifactKind(path) ?? "dsl",
    agents: findSymbiFile(looked.project.sources, path)?.agents.map(({ name }) => name) ?? [],
    warnings: looked.warnings.filter(({ file }) => file === path),
    sides: looked.side === null ? null : { before: before?.side ?? null, after: looked.side },
  };
}

/** The project as it would be, or the objections to it. */
async function lookedAt(config: Config, artifact: Artifact, env: Env, kind: ArtifactKind | null): Promise<Loaded | Finding[]> {
  const { path, content } = artifact;
  const nowhere = (detail: string, hint: string): Finding[] => [{ file: path, line: 1, column: 1, detail, hint }];
  const why = whyNotAuthored(path, config, kind);
  if (why !== null) return nowhere(why, "choose another place");
  if (Buffer.byteLength(content) > MAX_ARTIFACT) return nowhere(`it has more than ${MAX_ARTIFACT} bytes`, "make several of it");
  if (!content.isWellFormed() || content.includes("\0")) return nowhere("it is no text", "write it again");
  const found: Finding[] = [];
  try {
    const constraints = readConstraints(config.root);
    const after = await loaded({ ...config, drafts: [{ path, text: content }] }, env, (problems) => found.push(...problems));
    if (found.length === 0) found.push(...judge(after, artifact, constraints, env));
    return found.length > 0 ? found : after;
  } catch (error) {
    if (!(error instanceof FaultError)) throw error;
    return [...findingsOf(error, config.root)];
  }
}

/** Problems of the artifact itself, regardless of what it would change. */
export async function findFlaws(config: Config, artifact: Artifact, env: Env): Promise<readonly Finding[]> {
  const looked = await lookedAt(config, artifact, env, null);
  return Array.isArray(looked) ? looked : [];
}

const unfit = (found: readonly Finding[], path: string): TryResult => {
  const [first, ...rest] = [...found].sort(
    (a, b) => Number(b.file === path) - Number(a.file === path) || a.line - b.line || a.column - b.column,
  );
  return { kind: "unfit", problems: [first ?? { file: path, line: 1, column: 1, detail: "it cannot be used", hint: "" }, ...rest] };
};

function findingsOf(error: FaultError, root: string): readonly Finding[] {
  const { fault } = error;
  if (fault.kind === "policies-refused") return fault.problems;
  const { message, hint } = describeFault(fault);
  if (fault.kind !== "file-bad") return [{ file: "project", line: 1, column: 1, detail: message, hint }];
  const file = fault.file.startsWith(`${root}/`) ? fault.file.slice(root.length + 1) : fault.file;
  return [{ file, line: fault.line ?? 1, column: fault.column ?? 1, detail: fault.detail, hint: fault.hint }];
}

// ── the project, as it is or as it would be ──

type Loaded = Readonly<{
  config: Config;
  project: LoadedProject;
  agents: readonly Agent[];
  loading: FolderLoad;
  side: DiffSide | null;
  warnings: readonly Finding[];
}>;

async function loaded(config: Config, env: Env, collect: ((problems: readonly ProjectProblem[]) => void) | null): Promise<Loaded> {
  const project = await loadProject(config, { env, ask: null, collect });
  await project.mcp?.hub.close(); // nothing is called here
  const agents = project.agents.map(({ agent }) => agent);
  const options = { place: policyFolderPath(config), agents, groups: config.groups, surface: "shell" as Surface, unread: project.unread };
  const loading = tryLoadFolder(options);
  if (loading.kind === "refused" && collect !== null) collect(loading.problems);
  const side = loading.kind === "loaded" ? { agents, loaded: loading.loaded, cases: readCases(options.place) } : null;
  return { config, project, agents, loading, side, warnings: loading.report.warnings };
}

// ── objections ──

function judge(
  { config, project, agents, loading, warnings }: Loaded,
  { path }: Artifact,
  constraints: Constraints,
  env: Env,
): readonly Finding[] {
  const manifests = loadManifests(config, env, null);
  const own = manifests.problems.filter(({ file }) => file === `${config.root}/${path}`);
  if (own.length > 0) return own.map(({ line, column, detail, hint }) => ({ file: path, line, column, detail, hint }));
  const sources = { config, agents: project.agents, files: project.sources, owner: SHELL };
  readSchedules(sources, openCalendar()); // these two throw, with the place of what is wrong
  readWebhooks(sources);
  const policies: readonly LoadedPolicy[] = loading.kind === "loaded" ? loading.loaded.policies.filter(({ file }) => file === path) : [];
  const tools = loading.kind === "loaded" ? loading.loaded.cast.tools : [];
  const byName = new Map([...manifests.tools].map(([name, { manifest }]) => [name, manifest]));
  const manifest = manifests.read.manifests.find(({ shown }) => shown === path);
  const ground = { constraints, manifests: byName, policies, calendar: openCalendar(), now: Date.now() };
  const symbi = findSymbiFile(project.sources, path);
  const drafted = symbi === null ? [] : agents.filter(({ name }) => symbi.agents.some((one) => one.name === name));
  return [
    ...checkPolicyConstraints(policies, { constraints, tools, warnings: warnings.filter(({ file }) => file === path) }),
    ...(manifest === undefined
      ? []
      : [...checkManifestConstraints(manifest, constraints), ...takesName(manifest, project), ...behindShell(manifest, agents)]),
    ...(symbi === null
      ? []
      : drafted.flatMap((agent) => [...checkAgentConstraints({ agent, symbi }, ground), ...takesFromShell(agent, path)])),
    ...(symbi === null
      ? []
      : [...symbi.schedules, ...symbi.webhooks].flatMap(({ agent, name, place }) =>
          agent === SHELL ? [{ ...place, detail: `\`${name}\` would have the shell run by itself`, hint: "name another agent" }] : [],
        )),
    ...namesShell(policies),
  ];
}

function takesName({ shown, contract }: ManifestFile, { coordinator: desk }: LoadedProject): readonly Finding[] {
  const { name } = contract.manifest.tool;
  return TAKEN.has(name) || desk.tools.some((tool) => tool.name === name)
    ? [
        {
          file: shown,
          line: 1,
          column: 1,
          detail: `\`${name}\` is a tool of the shell's or the coordinator's`,
          hint: "give it another name",
        },
      ]
    : [];
}

/** S-8 what a person gave the shell to use is not another thing under the same name. */
const behindShell = ({ shown, contract }: ManifestFile, agents: readonly Agent[]): readonly Finding[] => {
  const { name } = contract.manifest.tool;
  return agents.find((agent) => agent.name === SHELL)?.tools.some((tool) => tool.name === name)
    ? [
        {
          file: shown,
          line: 1,
          column: 1,
          detail: `\`${name}\` is a tool that the shell itself uses`,
          hint: "a person writes what it does",
        },
      ]
    : [];
};

const takesFromShell = (agent: Agent, file: string): readonly Finding[] => {
  const at = (detail: string): Finding => ({ file, line: 1, column: 1, detail, hint: "take it out" });
  const tool = agent.tools.find(({ name }) => SHELL_TOOLS.some((own) => own === name));
  return [
    ...(agent.name === SHELL ? [at(`agent \`${SHELL}\` is the shell itself`)] : []),
    ...(tool === undefined ? [] : [at(`\`${tool.name}\` is the shell's alone`)]),
    ...(agent.delegates.includes(SHELL) ? [at(`agent \`${agent.name}\` would have the shell do something for it`)] : []),
  ];
};

const namesShell = (policies: readonly LoadedPolicy[]): readonly Finding[] =>
  policies.flatMap(({ json, file, line, id }) =>
    json.effect === "permit" && !allowsAnyPrincipal(json) && namedPrincipals(json, "Agent").includes(SHELL)
      ? [
          {
            file,
            line,
            column: 1,
            detail: `${id} permits something to the shell itself`,
            hint: "policies/shell/ says what it may, and a person writes that",
          },
        ]
      : [],
  );

const RANK = { deny: 0, defer: 1, ask: 2, modify: 3, allow: 4 } as const;

/**
 * Whatever it is called: requests that would be decided more kindly for the shell, in the shell.
 * S-11 and what is the shell's alone at every surface: a session that was opened elsewhere is gone on with here, and `policies/shell/` is no part of it.
 */
function shellsGain(was: DiffSide, after: Loaded, file: string): readonly Finding[] {
  const is = after.side;
  if (is === null || !after.agents.some(({ name }) => name === SHELL)) return [];
  // the shell as it would be, on both sides: that there is one more whom it may ask to have do something is no gain
  const agents = is.agents.filter(({ name }) => name === SHELL);
  const alone = agents.map((agent) => ({ ...agent, tools: agent.tools.filter(({ name }) => SHELL_TOOLS.some((own) => own === name)) }));
  const kinderAt = (surface: Surface): readonly DecisionChange[] => {
    const at = (side: DiffSide): DiffSide => ({
      ...side,
      agents: surface === "shell" ? agents : alone,
      loaded: { ...side.loaded, gateFor: () => side.loaded.gateFor(surface) },
    });
    const found = compareSides(at(was), at(is), [], SHELL);
    return [...found.permits, ...found.asks]
      .filter((one) => RANK[one.after.verdict] > RANK[one.before.verdict])
      .filter(({ action }) => surface === "shell" || SHELL_TOOLS.some((own) => action === `tool:${own}`));
  };
  // surfaces without policies of their own are decided on by the same gate
  const isAlike = (a: Surface, b: Surface): boolean => [was, is].every(({ loaded: one }) => one.gateFor(a) === one.gateFor(b));
  const surfaces = SURFACES.filter((one, i) => one === "shell" || SURFACES.findIndex((other) => isAlike(one, other)) === i);
  const kinder = surfaces.flatMap(kinderAt);
  return kinder.slice(0, 3).map(({ action, before: was, after: is }) => ({
    file,
    line: 1,
    column: 1,
    detail: `it would let the shell itself do more: ${action}, ${was.verdict} → ${is.verdict} by ${is.because.join(", ")}`,
    hint: "policies/shell/ says what it may, and a person writes that",
  }));
}

/** S-11 where there is nothing to compare with, a permit that names neither people nor another agent might be about the shell. */
const mightLetShell = ({ loading }: Loaded, file: string): readonly Finding[] =>
  (loading.kind === "loaded" ? loading.loaded.policies : [])
    .filter((one) => one.file === file && !one.shadow && one.json.effect === "permit")
    .filter(
      ({ json }) => (allowsAnyPrincipal(json) && json.principal.entity_type !== "User") || namedPrincipals(json, "AgentGroup").length > 0,
    )
    .map(({ id, line }) => ({
      file,
      line,
      column: 1,
      detail: `${id} might let the shell itself do more, and the project does not load as it is: nobody can tell`,
      hint: "name the agent that it is for, or have a person mend the project first",
    }));

// ── what it changes ──

const MOST_LINES = 40;

/** One line each, what is permitted first. */
export function describeChanges(fit: Extract<TryResult, { kind: "fit" }>): readonly string[] {
  const { sides } = fit;
  if (sides === null) return ["the project has no policies: nothing would run"];
  if (sides.before === null) return ["the project does not load as it is: nothing to compare with"];
  const { before, after } = sides;
  // what an agent's file says is about its own agents: nobody else is tried for it
  const names =
    fit.artifact === "dsl" ? new Set([...fit.agents, ...namesOf(before).filter((name) => !namesOf(after).includes(name))]) : null;
  const surface = surfaceIn(fit.path);
  const about = (side: DiffSide): DiffSide => ({
    ...side,
    agents: names === null ? side.agents : side.agents.filter(({ name }) => names.has(name)),
    // policies of one surface decide there, whatever requests are tried for the others
    ...(surface === null ? {} : { loaded: { ...side.loaded, gateFor: () => side.loaded.gateFor(surface) } }),
  });
  const found: AgentDifferences = compareSides(about(before), about(after), [], null);
  const lines = [
    ...peopleLines(before, after),
    ...usedLines(before, after),
    ...found.permits.map((one) => changeLine("permits", one)),
    ...found.asks.map((one) => changeLine("asks", one)),
    ...found.forbids.map((one) => changeLine("forbids", one)),
    ...(found.cut.length === 0 ? [] : [`not all was tried: there is more at the turning points of ${found.cut.slice(0, 5).join(", ")}`]),
  ];
  if (lines.length === 0) return ["nothing is decided otherwise"];
  return cutWithDigest(lines);
}

/** S-5 entries beyond the limit still count in the comparison: the approved change must equal the saved one. */
export function cutWithDigest(lines: readonly string[]): readonly string[] {
  const rest = lines.slice(MOST_LINES);
  if (rest.length === 0) return lines;
  return [...lines.slice(0, MOST_LINES), `… ${rest.length} more (${sha256(rest.join("\n")).slice(0, 12)}): \`orgate agents diff\` has all`];
}

/** Whether people may newly do something by it; where there is nothing to compare with, whatever policies say might be that. */
export function changesPeople({ artifact, sides }: Extract<TryResult, { kind: "fit" }>): boolean {
  if (sides === null || sides.before === null) return artifact === "cedar";
  return peopleLines(sides.before, sides.after).length > 0;
}

/** S-12 whether a tool that agents have already becomes another; where there is nothing to compare with, any manifest might be that of one. */
export function changesUsedTool({ artifact, sides }: Extract<TryResult, { kind: "fit" }>): boolean {
  if (sides === null || sides.before === null) return artifact === "toolclad";
  return usedLines(sides.before, sides.after).length > 0;
}

/** Lists tools that agents already use and that would do something else under the same name. */
function usedLines(before: DiffSide, after: DiffSide): readonly string[] {
  const users = new Map<string, string[]>();
  for (const { name: agent, tools } of before.agents)
    for (const was of tools) {
      const is = after.agents.find(({ name }) => name === agent)?.tools.find(({ name }) => name === was.name);
      const isOther = is !== undefined && digestJson(toolFacts(is), sha256) !== digestJson(toolFacts(was), sha256);
      if (isOther) users.set(was.name, [...(users.get(was.name) ?? []), agent]);
    }
  return [...users].map(
    ([tool, agents]) => `another tool behind a name: ${tool}, which ${agents.join(", ")} ${agents.length === 1 ? "has" : "have"}`,
  );
}

const surfaceIn = (path: string): Surface | null => SURFACES.find((one) => path.split("/").slice(1, -1).includes(one)) ?? null;

/** People's actions are not tried out: new permits for people, and forbids that disappear, are listed by policy. */
function peopleLines(before: DiffSide, after: DiffSide): readonly string[] {
  const only = (these: DiffSide, others: DiffSide, effect: "permit" | "forbid"): readonly LoadedPolicy[] => {
    const known = new Set(others.loaded.policies.map(({ text }) => text));
    return these.loaded.policies.filter(
      ({ json, text, shadow }) => !shadow && json.effect === effect && !known.has(text) && speaksOfPeople(json),
    );
  };
  const acts = ({ json }: LoadedPolicy): string =>
    Object.keys(USER_ACTIONS)
      .filter((id) => coversAction(json, { id, groups: [] }))
      .join(", ");
  return [
    ...only(after, before, "permit").map((one) => ({ one, says: `newly permits people: ${acts(one)} (${one.id})` })),
    ...only(before, after, "forbid").map((one) => ({ one, says: `newly permits people what was forbidden: ${acts(one)} (${one.id})` })),
  ].flatMap(({ one, says }) => (acts(one) === "" ? [] : [says]));
}
const speaksOfPeople = (json: LoadedPolicy["json"]): boolean =>
  json.principal.entity_type === undefined
    ? allowsAnyPrincipal(json) || namedPrincipals(json, "User").length + namedPrincipals(json, "UserGroup").length > 0
    : json.principal.entity_type === "User";

const namesOf = ({ agents }: DiffSide): readonly string[] => agents.map(({ name }) => name);

function changeLine(what: string, { agent, action, args, labels, before, after, alike }: DecisionChange): string {
  const given = [args === null || Object.keys(args).length === 0 ? "" : JSON.stringify(args), ...labels.map((one) => `[${one}]`)]
    .filter((one) => one !== "")
    .join(" ");
  const by = after.because.length === 0 ? "" : ` (${after.because.join(", ")})`;
  return `newly ${what}: ${agent} · ${action}${given === "" ? "" : ` ${given.slice(0, 80)}`} · ${before.verdict} → ${after.verdict}${by}${alike === 1 ? "" : `, ${alike} alike`}`;
}
