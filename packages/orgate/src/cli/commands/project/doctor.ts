/**
 * M-20 what is usable here and why not: Node, project, its agents' models, providers, journal, whether a sandbox works. Nothing is written, no key is shown,
 *     and none is sent unless that is asked for (`--online`).
 */

import { relative } from "node:path";
import { describeFault, FaultError, isFault, MODEL_SOURCES, type ModelSource } from "@orgate/core";
import { errorMessage, type PowerCut } from "@orgate/core/vocab";
import { type Cell, count, EXIT, type Given, type RunCommand, table, visible } from "@orgate/shell/terminal";
import { hostRunning, nameOf as nameOfHolding } from "@orgate/toolclad/running";
import { describeSource } from "../../../config/cluster-schema.ts";
import type { Config } from "../../../config/config.ts";
import { type ModelSettings, readModelSettings } from "../../../models/env.ts";
import { createModelLookup, withModel } from "../../../models/named-model.ts";
import { findSilence, probeProvider } from "../../../models/probe.ts";
import { checkProvider, PROVIDERS } from "../../../models/providers.ts";
import { type LoadedProject, loadProject } from "../../../project/load.ts";
import { loadManifests } from "../../../project/project-manifests.ts";
import { findMissingNeeds } from "../../../project/tool-needs.ts";
import { loadProjectPorts } from "../../../runtime/ports/project-ports.ts";
import { openCalendar } from "../../../schedules/calendar.ts";
import { readSchedules, readWebhooks } from "../../../schedules/declaring.ts";
import { findClusterWeaknesses } from "../../../store/open-cluster.ts";
import { openReadOnlyStore } from "../../../store/open-read-only.ts";
import type { ProcessFigures, WriterProcess } from "../../../store/store.ts";
import { hasRun, openGivenProject } from "./project.ts";

type Found = Readonly<{ ok: boolean; detail: string }>;
type Named = Readonly<{ name: string }> & Found;
type Report = Readonly<{
  node: Found;
  project: Found;
  /** By the project's agents: on which model each one runs, who named it, and whether it can be used. */
  agents: readonly (Named &
    Readonly<{
      model: string;
      modelSource: ModelSource | null;
      models: readonly string[];
      /** Every provider of its models has answered, and lists the model where it was asked for its list. */
      tried: boolean;
    }>)[];
  /** `tried`: its answer was seen, or it needs none. A key that is only there may be wrong. */
  providers: readonly (Named & Readonly<{ variable: string | null; tried: boolean }>)[];
  /** `weak`: settings of a cluster's database that take something back from the journal's promises. */
  journal: Found & Readonly<{ weak: readonly string[] }>;
  /** Of a cluster: who works on the journal now, and since when nothing was heard of each. */
  processes: readonly WriterProcess[];
  /** M-20 schedules and webhooks that `orgate up` would refuse. */
  declared: readonly Named[];
  /** T-16 manifests that cannot be used, each with its place; their agents are not run, the others are. */
  tools: readonly Named[];
  /** T-31 whether programs of tools can be run here, and who holds their limits; no reason to fail, as only they need it. */
  sandbox: Found & Readonly<{ hint: string | null }>;
}>;

const NEEDED_NODE = 24;

export const doctor: RunCommand = async (given, screen) => {
  const { config, project } = projectIn(given);
  const settings = readModelSettings(given.env, config?.root ?? null);
  const providers = await providersWith(settings, given.flag("online"));
  const loaded = config === null ? null : await loadProject(config, { env: given.env }).catch((error: unknown) => ({ error }));
  const report: Report = {
    node: nodeFound(),
    project,
    agents: loaded === null ? [] : await checkAgents(loaded, settings, { env: given.env, providers }),
    declared: config === null || loaded === null || "error" in loaded ? [] : badDeclarations(config, loaded),
    providers: [OFFLINE, ...providers.map(({ models: _, ...told }) => told)],
    ...(config === null ? { journal: { ...noJournal(project), weak: [] }, processes: [] } : await journalIn(config)),
    tools: config === null ? [] : brokenTools(config, given),
    sandbox: await sandboxFound(),
  };
  const healthy = [report.node, report.project, report.journal, ...report.agents, ...report.declared, ...report.tools].every(
    ({ ok }) => ok,
  );
  if (given.json) {
    screen.line(JSON.stringify({ healthy, ...report }));
    return healthy ? EXIT.success : EXIT.failure;
  }
  const sign = (ok: boolean, bad: "bad" | "dim"): Cell => (ok ? { text: "ok", tone: "good" } : { text: "no", tone: bad });
  const problems = [...report.declared.map((one) => ["", one] as const), ...report.tools.map((one) => ["tool ", one] as const)];
  const named = new Set(report.agents.flatMap(({ models }) => models.map((model) => model.split("/")[0] ?? "")));
  const others = report.providers.filter((provider) => providerRow(provider, named).length === 0).map(({ name }) => name);
  const rows: (readonly Cell[])[] = [
    [sign(report.node.ok, "bad"), "node", report.node.detail],
    [sign(report.project.ok, "bad"), "project", visible(report.project.detail)],
    [sign(report.journal.ok, "bad"), "journal", visible(report.journal.detail)],
    ...report.journal.weak.map((line): readonly Cell[] => [{ text: "!", tone: "warn" }, "database", visible(line)]),
    ...report.processes.map((one): readonly Cell[] => [sign(true, "dim"), `process ${visible(one.writer)}`, visible(describeProcess(one))]),
    ...report.agents.map(({ name, ok, tried, detail }): readonly Cell[] => [
      triedSign(ok, tried),
      `agent ${visible(name)}`,
      visible(detail),
    ]),
    ...problems.map(([kind, { name, ok, detail }]): readonly Cell[] => [sign(ok, "bad"), `${kind}${visible(name)}`, visible(detail)]),
    ...report.providers.flatMap((provider) => providerRow(provider, named)),
    [
      sign(report.sandbox.ok, "dim"),
      "sandbox",
      visible([report.sandbox.detail, ...(report.sandbox.hint === null ? [] : [report.sandbox.hint])].join("; ")),
    ],
  ];
  for (const line of table(["", "what", "how it stands"], rows, screen.paint)) screen.line(line);
  if (others.length > 0)
    screen.line(`\nnot set up, and named by no agent: ${others.join(", ")} (the guide's page on models says what each needs)`);
  if (!providers.some(({ ok }) => ok)) screen.line(NO_MODEL);
  return healthy ? EXIT.success : EXIT.failure;
};

const OFFLINE = { name: "offline", ok: true, detail: "needs no key and no network", variable: null, tried: true };
const NO_MODEL =
  "Only the offline model can be used so far. For a real one, set its provider's variable, in the environment or in the project's .env, and name the model as `[models] default` in orgate.toml: every agent that names none of its own runs on it.";

/** A provider is worth a row where it is set up, or where an agent names it. A key that nobody has tried is not called good. */
function providerRow({ name, ok, detail, tried }: Report["providers"][number], named: ReadonlySet<string>): readonly (readonly Cell[])[] {
  if (!ok && !named.has(name)) return [];
  const sign = triedSign(ok, tried);
  const untried = ok && !tried ? "; not tried: `orgate doctor --online` asks the provider" : "";
  return [[sign, `provider ${name}`, visible(`${detail}${untried}`)]];
}

const triedSign = (ok: boolean, tried: boolean): Cell =>
  !ok ? { text: "no", tone: "bad" } : tried ? { text: "ok", tone: "good" } : { text: "?", tone: "warn" };

/** M-20 a project that cannot be read is no project whose journal is well. */
const noJournal = (project: Found): Found =>
  project.ok ? { ok: true, detail: "no project here" } : { ok: false, detail: "not checked: the project cannot be read" };

/** M-20 all that `orgate up` would refuse to begin with. */
function badDeclarations(config: Config, { agents, sources }: LoadedProject): readonly Named[] {
  const found: Named[] = [];
  const trouble = (error: FaultError): void => void found.push({ name: "orgate up", ok: false, detail: why(error) });
  const all = { config, agents, files: sources, owner: "nobody" };
  readSchedules(all, openCalendar(), trouble);
  readWebhooks(all, trouble);
  return found;
}

function nodeFound(): Found {
  const { node } = process.versions;
  const ok = Number.parseInt(node, 10) >= NEEDED_NODE;
  return { ok, detail: ok ? node : `${node}: ${NEEDED_NODE} or newer is needed` };
}

function projectIn(given: Given): Readonly<{ config: Config | null; project: Found }> {
  try {
    const config = openGivenProject(given);
    return { config, project: { ok: true, detail: `${config.name}, in ${config.root}` } };
  } catch (error) {
    if (isFault(error, "project-missing")) return { config: null, project: { ok: true, detail: "none here: `orgate init` makes one" } };
    return { config: null, project: { ok: false, detail: why(error) } };
  }
}

async function checkAgents(
  loaded: LoadedProject | Readonly<{ error: unknown }>,
  settings: ModelSettings,
  { env, providers }: Readonly<{ env: Given["env"]; providers: readonly Known[] }>,
): Promise<Report["agents"]> {
  const ports = "error" in loaded ? loaded : await loadProjectPorts(loaded.config, env).catch((error: unknown) => ({ error }));
  if ("error" in loaded || "error" in ports)
    return [
      {
        name: "(all)",
        model: "",
        modelSource: null,
        models: [],
        ok: false,
        tried: false,
        detail: why("error" in ports ? ports.error : null),
      },
    ];
  const { model: modelOf = createModelLookup(settings) } = ports;
  return loaded.agents.map(({ agent }) => {
    const { name, model, modelSource, warnings } = agent;
    const all = [model, ...agent.fallbacks.map((fallback) => fallback.model)];
    const strange = all.flatMap((one) => unlisted(one, providers));
    const tried = strange.length === 0 && all.every((one) => ofModel(one, providers)?.tried ?? true);
    const found = (ok: boolean, detail: string) => ({ name, model, modelSource, models: all, ok, tried, detail });
    try {
      const [lack] = agent.missingTools;
      if (lack !== undefined) return found(false, `it is not run: tool \`${lack.tool}\` cannot be used`);
      for (const one of all) modelOf(withModel(agent, one));
      const down = all.flatMap((one) => troubleWith(one, providers));
      if (down.length > 0) return found(false, down.join("; "));
      const rest = all.slice(1).map((one) => `then ${one}`);
      return found(true, [`${model} (${MODEL_SOURCES[modelSource]})`, ...rest, ...strange, ...warnings].join("; "));
    } catch (error) {
      return found(false, why(error));
    }
  });
}

function brokenTools(config: Config, given: Given): Report["tools"] {
  const { problems, tools, context: ground } = loadManifests(config, given.env, null);
  const read = [...tools.values()].map(({ manifest }) => manifest);
  return [...problems, ...findMissingNeeds(read, ground, { root: config.root, env: given.env })].map(
    ({ tool, file, line, column, detail }) => ({
      name: tool ?? relative(config.root, file),
      ok: false,
      detail: `${relative(config.root, file)}:${line}:${column} ${detail}`,
    }),
  );
}

type Known = Report["providers"][number] & Readonly<{ models: readonly string[] | null }>;

const ofModel = (model: string, providers: readonly Known[]): Known | undefined =>
  providers.find(({ name }) => model.startsWith(`${name}/`));
/** The provider is configured, but does not answer or refuses us. */
function troubleWith(model: string, providers: readonly Known[]): readonly string[] {
  const provider = ofModel(model, providers);
  return provider === undefined || provider.ok ? [] : [`${model}: ${provider.detail}`];
}
/** An alias need not be in a list: marked as untried, and no reason to fail. */
function unlisted(model: string, providers: readonly Known[]): readonly string[] {
  const listed = ofModel(model, providers)?.models ?? null;
  return listed === null || listed.includes(model.slice(model.indexOf("/") + 1))
    ? []
    : [`${model} is not among the models that its provider lists`];
}

const providersWith = (settings: ModelSettings, online: boolean): Promise<readonly Known[]> =>
  Promise.all(
    Object.entries(PROVIDERS).map(async ([name, { key, base, about }]): Promise<Known> => {
      const standing = checkProvider(name, settings);
      if (standing.kind === "unusable")
        return { name, ok: false, detail: standing.why, variable: standing.variable, tried: false, models: null };
      const silent = await findSilence(standing.base);
      if (silent !== null)
        return {
          name,
          ok: false,
          detail: `${silent} ($${base.variable} names another)`,
          variable: base.variable,
          tried: true,
          models: null,
        };
      const asked = online ? await probeProvider(name, standing.base, standing.key) : null;
      const keyed = standing.keyFrom === null ? [] : [`$${key} is set, in ${standing.keyFrom === ".env" ? ".env" : "the environment"}`];
      const at = standing.base === base.usual ? [] : [`at ${standing.base}`];
      const answer = asked === null ? [] : [asked.detail];
      return {
        name,
        ok: asked?.ok ?? true,
        detail: [about, ...keyed, ...at, ...answer].join("; "),
        variable: key,
        tried: asked !== null || standing.keyFrom === null, // without a key, that it answers is all there is to try
        models: asked?.models ?? null,
      };
    }),
  );

const AFTER_POWER_CUT: Readonly<Record<PowerCut, string>> = {
  "lose-nothing": "a power cut loses nothing",
  "lose-last-result": "a power cut may lose the last result of a session: its call is then an unknown outcome",
  "lose-last-moments": "A POWER CUT MAY LOSE THE LAST MOMENTS, AND CALLS MADE IN THEM MAY BE MADE AGAIN: for tests only",
};

async function journalIn({ journal }: Config): Promise<Pick<Report, "journal" | "processes">> {
  const { directory, powerCut, cluster } = journal;
  const alone = (found: Found) => ({ journal: { ...found, weak: [] }, processes: [] });
  if (!hasRun(journal)) return alone({ ok: true, detail: "none yet: it begins with the first run" });
  try {
    const weak = cluster === null ? [] : await findClusterWeaknesses(cluster);
    const look = await openReadOnlyStore(journal);
    const [alarm] = await look.alarms.standing();
    const processes = cluster === null ? [] : await look.processes();
    await look.close();
    if (alarm !== undefined) {
      const { what, detail } = alarm;
      return { journal: { ok: false, detail: why(new FaultError({ kind: "journal-doubted", what, detail })), weak }, processes };
    }
    const where =
      cluster === null
        ? `in ${directory}; ${AFTER_POWER_CUT[powerCut]}`
        : `schema ${cluster.schema} of ${describeSource(cluster.database)}`;
    return { journal: { ok: true, detail: `${where}; \`orgate journal verify\` proves it`, weak }, processes };
  } catch (error) {
    return alone({ ok: false, detail: why(error) });
  }
}

/** `worker 0.1.0, process 12 on host, holds 3, heard of 0.4 s ago, 1.5 appends a commit, drives 2 and 0 wait, 0 entries behind, event loop 21 ms late at most, 180 MB`. */
function describeProcess({ role, version, place, holds, heardMs, commits, appends, figures }: WriterProcess): string {
  const grouped = commits === null || appends === null || commits === 0 ? [] : [`${(appends / commits).toFixed(1)} appends a commit`];
  return [
    `${role ?? "a run, or an older version"} ${version ?? ""}`.trim(),
    place,
    `holds ${count(holds ?? 0, "session")}`,
    ...(heardMs === null ? [] : [`heard of ${(heardMs / 1_000).toFixed(1)} s ago`]),
    ...grouped,
    ...(figures === null ? [] : [describeFigures(figures)]),
  ].join(", ");
}

const describeFigures = ({ driven, queued, lag, delayMs, rssBytes }: ProcessFigures): string =>
  `drives ${driven} and ${queued} wait, ${lag} entries behind, event loop ${delayMs} ms late at most, ${Math.round(rssBytes / 1_048_576)} MB`;

/** T-31 by trying it: each limit is shown in force, as before the first program of a tool. */
async function sandboxFound(): Promise<Report["sandbox"]> {
  const standing = await hostRunning().standing();
  if (standing.kind === "unusable")
    return { ok: false, detail: `programs of tools cannot be run: ${standing.reason}`, hint: standing.hint };
  const detail = `bubblewrap; limits held by ${nameOfHolding(standing.holding)}, each shown in force`;
  const without = standing.holding.kind === "cgroup" ? null : `not by control groups: ${standing.ready.without ?? "they did not hold"}`;
  return { ok: true, detail, hint: without };
}

function why(error: unknown): string {
  if (!(error instanceof FaultError)) return errorMessage(error);
  const { message, hint } = describeFault(error.fault);
  if (error.fault.kind === "model-unknown") return error.fault.detail; // which names what to set; the hint would lead here
  return `${message} (${hint})`;
}
