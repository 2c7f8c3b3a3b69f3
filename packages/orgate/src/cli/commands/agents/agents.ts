/** Agents for people: which there are, what each says, and whether that is right. */
import { existsSync, realpathSync } from "node:fs";
import { relative, resolve } from "node:path";
import { type Agent, FaultError, MODEL_SETTINGS, MODEL_SOURCES, suggestNearest } from "@orgate/core";
import { shorten } from "@orgate/protocol/view";
import type { Screen } from "@orgate/shell/terminal";
import { type Cell, count, EXIT, type Given, type RunCommand, table, visible, visibleLines } from "@orgate/shell/terminal";
import type { Config } from "../../../config/config.ts";
import { faultToProblem, matchProjectFiles, toProjectPath } from "../../../guard/modules.ts";
import { sha256 } from "../../../node/crypto.ts";
import { tryLoadFolder } from "../../../policies/policy-load.ts";
import type { AgentAbout, ProjectAgent, ProjectProblem } from "../../../project/formats/format.ts";
import { type LoadedProject, loadProject } from "../../../project/load.ts";
import { openCalendar } from "../../../schedules/calendar.ts";
import { readSchedules, readWebhooks } from "../../../schedules/declaring.ts";
import { printProblem, toPolicyOptions } from "../policies/policy.ts";
import { openGivenProject } from "../project/project.ts";

/** Every agent, whichever way it is written, with where it stands. */
export const listAgents: RunCommand = async (given, screen) => {
  const config = openGivenProject(given);
  const { agents } = await loadProject(config, { env: given.env });
  const all = agents.map(({ agent, file, format, rules = [], about = NO_ABOUT }) => ({
    name: agent.name,
    kind: format,
    file: toProjectPath(config.root, file),
    model: agent.model,
    modelSource: agent.modelSource,
    tools: agent.tools.map((tool) => tool.name),
    policies: rules.length,
    description: about.description,
    version: about.version,
    author: about.author,
    license: about.license,
    tags: about.tags,
    digest: agent.digest(sha256),
  }));
  if (given.json) screen.line(JSON.stringify(all));
  else if (all.length === 0) screen.line("this project has no agent");
  else {
    const rows = all.map((a): readonly Cell[] => [
      { text: a.name, tone: "strong" },
      `${a.model} (${MODEL_SOURCES[a.modelSource]})`,
      count(a.tools.length, "tool"),
      a.policies === 0 ? "" : count(a.policies, "own policy", "own policies"),
      a.file,
      shorten(a.description?.trim().split("\n")[0] ?? "", MOST_ABOUT),
    ]);
    for (const line of table(["agent", "model", "tools", "policies", "where", ""], rows, screen.paint)) screen.line(line);
  }
  return EXIT.success;
};

/** Instructions may be pages long: a list has their beginning, `agents show` all of them. */
const MOST_ABOUT = 80;

export async function requireAgent(given: Given): Promise<ProjectAgent> {
  const [name = ""] = given.args;
  const { agents } = await loadProject(openGivenProject(given), { env: given.env });
  const found = agents.find(({ agent }) => agent.name === name);
  if (found !== undefined) return found;
  throw new FaultError({ kind: "agent-missing", agent: name, known: agents.map(({ agent }) => agent.name) });
}

/** Everything that a session of it depends on. */
export const showAgent: RunCommand = async (given, screen) => {
  const found = await requireAgent(given);
  const { agent, file, format, rules = [], about = NO_ABOUT } = found;
  const shown = {
    ...factsOf(agent),
    kind: format,
    file: toProjectPath(openGivenProject(given).root, file),
    policies: rules,
    ...about,
    procedure: about.procedure?.text ?? null,
  };
  if (given.json) {
    screen.line(JSON.stringify(shown));
    return EXIT.success;
  }
  const { paint } = screen;
  const field = (label: string, text: string | null): void => {
    if (text !== null && text !== "") screen.line(`${paint("dim", label.padEnd(14))}${visible(text)}`);
  };
  screen.line(paint("strong", visible(agent.name)));
  field("where", shown.file);
  field("digest", shown.digest);
  field("version", shown.version);
  field("author", shown.author);
  field("license", shown.license);
  field("tags", shown.tags.join(", "));
  field("model", `${[agent.model, ...agent.fallbacks.map((f) => f.model)].join(", then ")} (${MODEL_SETTINGS[agent.modelSource]})`);
  field("tools", shown.tools.join(", "));
  field("skills", shown.skills.join(", "));
  field("delegates", shown.delegates.join(", "));
  field("groups", shown.groups.join(", "));
  field(
    "limits",
    Object.entries(agent.limits)
      .flatMap(([name, value]) => (value === null ? [] : [`${name} ${value}`]))
      .join(", "),
  );
  field("outputs", shown.labels.length === 0 ? null : `all labelled ${shown.labels.join(", ")}`);
  field("answers", agent.output === null ? null : JSON.stringify(agent.output.schema));
  field("is given", shown.input === null ? null : JSON.stringify(shown.input));
  field("policies", shown.policies.length === 0 ? null : `${shown.policies.length}: \`orgate agents explain ${agent.name}\` shows them`);
  for (const line of ["", ...visibleLines(agent.instructions).split("\n")]) screen.line(line);
  return EXIT.success;
};

const factsOf = (agent: Agent) => ({
  name: agent.name,
  model: agent.model,
  modelSource: agent.modelSource,
  fallbacks: agent.fallbacks.map((f) => f.model),
  instructions: agent.instructions,
  tools: agent.tools.map((t) => t.name),
  skills: agent.skills.map((s) => s.name),
  delegates: agent.delegates,
  groups: agent.groups,
  limits: agent.limits,
  output: agent.output?.schema ?? null,
  digest: agent.digest(sha256),
});

const NO_ABOUT: AgentAbout = {
  description: null,
  version: null,
  author: null,
  license: null,
  tags: [],
  procedure: null,
  input: null,
  labels: [],
};

/** Y-13 everything that is wrong at once: files, tools, policies, schedules, webhooks. Exits 0 only when the project would run. */
export const validateAgents: RunCommand = async (given, screen) => {
  const [wanted] = given.args;
  const isMeant = wanted === undefined ? () => true : fileNamed(given, wanted);
  const { problems, warnings, agents, isWhole } = await problemsIn(given);
  const meant = <P extends ProjectProblem>(all: readonly P[]): readonly P[] => all.filter(({ file }) => isMeant(file));
  const [shown, doubts] = [meant(problems), meant(warnings)];
  if (given.json) screen.line(JSON.stringify({ ok: shown.length === 0, complete: isWhole, agents, problems: shown, warnings: doubts }));
  else {
    for (const problem of shown) printProblem(screen, "bad", problem);
    for (const warning of doubts) printProblem(screen, "warn", warning);
    tellEnd(screen, shown.length, agents.length);
    if (!isWhole) screen.line("what rests on a part that could not be read was not checked: run it again once these are mended");
  }
  return shown.length === 0 ? EXIT.success : EXIT.failure;
};

function tellEnd(screen: Screen, problems: number, agents: number): void {
  if (problems === 0) screen.line(`${screen.paint("good", "ok")} ${count(agents, "agent")}`);
  else screen.line(count(problems, "problem"));
}

/** Relative to the working folder, like every FILE. A file of no agent is refused: it would be without problems. */
function fileNamed(given: Given, wanted: string): (file: string) => boolean {
  const { root, agents } = openGivenProject(given);
  const all = matchProjectFiles(realpathSync(root), agents, "agents");
  const path = resolve(given.cwd, wanted);
  const meant = toProjectPath(root, existsSync(path) ? realpathSync(path) : path);
  if (all.some((file) => toProjectPath(root, file) === meant)) return (file) => file === meant;
  const here = realpathSync(given.cwd);
  const near = suggestNearest(
    wanted,
    all.map((file) => relative(here, file)),
  );
  throw new FaultError({ kind: "usage", detail: `there is no file \`${wanted}\` of an agent`, hint: near });
}

type Validated = Readonly<{
  problems: readonly ProjectProblem[];
  warnings: readonly ProjectProblem[];
  agents: readonly string[];
  isWhole: boolean;
}>;

/** Y-13 each check is made of whatever could be read, and leaves out what rests on the rest. */
async function problemsIn(given: Given): Promise<Validated> {
  const config = openGivenProject(given);
  const problems: ProjectProblem[] = [];
  try {
    const loaded = await loadProject(config, { env: given.env, collect: (found) => problems.push(...found) });
    const { agents, unread } = loaded;
    const names = agents.map(({ agent }) => agent.name);
    problems.push(...agents.flatMap((one) => lacking(one, unread.agents ? null : names, config.root)), ...declaredWrong(config, loaded));
    const { report } = tryLoadFolder({
      ...toPolicyOptions(
        config,
        agents.map(({ agent }) => agent),
      ),
      unread,
    });
    problems.push(...report.problems);
    const doubts = agents.flatMap(({ warnings: list }) => list?.() ?? []);
    const own = new Set(agents.map(({ file }) => toProjectPath(config.root, file)));
    const warnings = problems.length > 0 ? [] : [...doubts, ...report.warnings.filter(({ file }) => own.has(file))];
    const isWhole = !unread.agents && !unread.tools.more && unread.tools.named.length === 0;
    return { problems: each(problems), warnings, agents: names, isWhole };
  } catch (error) {
    if (!(error instanceof FaultError)) throw error;
    return { problems: each([...problems, faultToProblem(error, config.root)]), warnings: [], agents: [], isWhole: false };
  }
}

/** Once: a tool module is loaded for agents of either kind. */
const each = (problems: readonly ProjectProblem[]): readonly ProjectProblem[] => [
  ...new Map(problems.map((one) => [`${one.file}:${one.line}:${one.column} ${one.detail}`, one])).values(),
];

/** Names in an agent's file that the project does not have: the agent would not be run. `names`: all agents; null if not all could be read. */
function lacking(
  { agent, file, isUnfitReported = false, locate }: ProjectAgent,
  names: readonly string[] | null,
  root: string,
): readonly ProjectProblem[] {
  if (locate === undefined) return []; // a module: its author's compiler and tests have positions
  const told = (setting: string, detail: string, hint: string, name?: string): ProjectProblem => ({
    file: toProjectPath(root, file),
    ...locate(setting, name),
    detail,
    hint,
  });
  const strangers = names === null ? [] : (agent.definition.delegates ?? []).filter((name) => !names.includes(name));
  return [
    ...strangers.map((name) => told("delegates", `there is no agent \`${name}\` to delegate to`, suggestNearest(name, names ?? []), name)),
    ...agent.missing.map(({ skill, detail, hint }) => told("skills", `skill \`${skill}\` cannot be used: ${detail}`, hint)),
    ...agent.missingServers.map(({ server, detail, hint }) => told("mcp", `MCP server \`${server}\` cannot be used: ${detail}`, hint)),
    ...(isUnfitReported ? [] : agent.missingTools).map(({ tool, detail, hint }) =>
      told("tools", `tool \`${tool}\` cannot be used: ${detail}`, hint),
    ),
  ];
}

/** Y-13 schedules and webhooks, wherever they are declared: their times, zones, paths and agents. Where a file cannot be read, nobody knows which agents it has. */
function declaredWrong(config: Config, { agents, sources, unread }: LoadedProject): readonly ProjectProblem[] {
  const found: ProjectProblem[] = [];
  const isAgent = (name: string): boolean => unread.agents || agents.some(({ agent }) => agent.name === name);
  const all = { config, agents, files: sources, owner: "nobody", isAgent };
  const trouble = (fault: FaultError): number => found.push(faultToProblem(fault, config.root));
  readSchedules(all, openCalendar(), trouble);
  readWebhooks(all, trouble);
  return found;
}
