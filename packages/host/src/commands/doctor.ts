/** M56 what is usable here and why not: Node, project, its agents' models, providers, journal, what could hold a sandbox. Nothing is sent, nothing is written, no key is shown. */
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { describe, FaultError, isFault } from "@orgate/core";
import { EXIT, type Given, type Run } from "../cli/command.ts";
import { type Cell, table } from "../cli/table.ts";
import { visible } from "../cli/visible.ts";
import { hasJournal, modelsWith, openLook, PROVIDERS, providerStanding, type Settings, settingsOf } from "../compose.ts";
import type { Config } from "../config.ts";
import { loadProjectAgents } from "../project-agents.ts";
import { projectOf } from "./project.ts";

type Found = Readonly<{ ok: boolean; detail: string }>;
type Named = Readonly<{ name: string }> & Found;
type Report = Readonly<{
  node: Found;
  project: Found;
  /** By the project's agents: whether the model each one names can be used. */
  agents: readonly (Named & Readonly<{ model: string }>)[];
  providers: readonly (Named & Readonly<{ variable: string | null }>)[];
  journal: Found;
  /** Not needed yet: told, and no reason to fail. */
  sandboxes: readonly Named[];
}>;

const NEEDED_NODE = 24;
const SANDBOXES = ["bwrap", "podman", "docker", "sandbox-exec"];

export const doctor: Run = async (given, screen) => {
  const { config, project } = projectIn(given);
  const settings = settingsOf(given.env, config?.root ?? null);
  const report: Report = {
    node: nodeFound(),
    project,
    agents: config === null ? [] : await agentsIn(config, settings),
    providers: [{ name: "offline", ok: true, detail: "needs no key and no network", variable: null }, ...providersWith(settings)],
    journal: config === null ? { ok: true, detail: "no project here" } : await journalIn(config),
    sandboxes: SANDBOXES.map((name) => sandboxFound(name, given.env.PATH ?? "")),
  };
  const healthy = [report.node, report.project, report.journal, ...report.agents].every(({ ok }) => ok);
  if (given.json) {
    screen.line(JSON.stringify({ healthy, ...report }));
    return healthy ? EXIT.success : EXIT.failure;
  }
  const sign = (ok: boolean, bad: "bad" | "dim"): Cell => (ok ? { text: "ok", tone: "good" } : { text: "no", tone: bad });
  const rows: (readonly Cell[])[] = [
    [sign(report.node.ok, "bad"), "node", report.node.detail],
    [sign(report.project.ok, "bad"), "project", visible(report.project.detail)],
    [sign(report.journal.ok, "bad"), "journal", visible(report.journal.detail)],
    ...report.agents.map(({ name, ok, detail }): readonly Cell[] => [sign(ok, "bad"), `agent ${visible(name)}`, visible(detail)]),
    ...report.providers.map(({ name, ok, detail }): readonly Cell[] => [sign(ok, "dim"), `provider ${name}`, visible(detail)]),
    ...report.sandboxes.map(({ name, ok, detail }): readonly Cell[] => [sign(ok, "dim"), `sandbox ${name}`, visible(detail)]),
  ];
  for (const line of table(["", "what", "how it stands"], rows, screen.paint)) screen.line(line);
  return healthy ? EXIT.success : EXIT.failure;
};

function nodeFound(): Found {
  const { node } = process.versions;
  const ok = Number.parseInt(node, 10) >= NEEDED_NODE;
  return { ok, detail: ok ? node : `${node}: ${NEEDED_NODE} or newer is needed` };
}

function projectIn(given: Given): Readonly<{ config: Config | null; project: Found }> {
  try {
    const config = projectOf(given);
    return { config, project: { ok: true, detail: `${config.name}, in ${config.root}` } };
  } catch (error) {
    if (isFault(error, "project-missing")) return { config: null, project: { ok: true, detail: "none here: `orgate init` makes one" } };
    return { config: null, project: { ok: false, detail: why(error) } };
  }
}

async function agentsIn(config: Config, settings: Settings): Promise<Report["agents"]> {
  const modelOf = modelsWith(settings);
  try {
    const { agents } = await loadProjectAgents(config);
    return agents.map(({ agent }) => {
      const { name, model, warnings } = agent;
      try {
        modelOf(agent);
        return { name, model, ok: true, detail: [model, ...warnings].join("; ") };
      } catch (error) {
        return { name, model, ok: false, detail: why(error) };
      }
    });
  } catch (error) {
    return [{ name: "(all)", model: "", ok: false, detail: why(error) }];
  }
}

const providersWith = (settings: Settings): Report["providers"] =>
  Object.entries(PROVIDERS).map(([name, { key, base, about }]) => {
    const standing = providerStanding(name, settings);
    if (standing.kind === "unusable") return { name, ok: false, detail: standing.why, variable: standing.variable };
    const keyed = standing.keyFrom === null ? "" : `; $${key} is set, in ${standing.keyFrom === ".env" ? ".env" : "the environment"}`;
    const at = standing.base === base.usual ? "" : `; at ${standing.base}`;
    return { name, ok: true, detail: `${about}${keyed}${at}`, variable: key };
  });

async function journalIn({ journal: { directory } }: Config): Promise<Found> {
  if (!hasJournal(directory)) return { ok: true, detail: "none yet: it begins with the first run" };
  try {
    const look = openLook(directory);
    await look.close();
    return { ok: true, detail: `in ${directory}; \`orgate journal verify\` proves it` };
  } catch (error) {
    return { ok: false, detail: why(error) };
  }
}

function sandboxFound(name: string, path: string): Named {
  for (const folder of path.split(delimiter).filter((one) => one !== "")) {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return { name, ok: true, detail: join(folder, name) };
    } catch {
      // not here
    }
  }
  return { name, ok: false, detail: "not found" };
}

function why(error: unknown): string {
  if (!(error instanceof FaultError)) return error instanceof Error ? error.message : String(error);
  const { message, hint } = describe(error.fault);
  return `${message} (${hint})`;
}
