/**
 * Agents as TypeScript modules of the project.
 *
 * A-3 All agents or none: a module that throws, holds no agent, or brings a name that is taken, is named with its place, and nothing is loaded.
 * Rule: A-2.
 */

import { realpathSync } from "node:fs";
import { type Agent, isAgent } from "@orgate/core";
import { fileFault } from "../../files/file-fault.ts";
import { importModule, matchProjectFiles, type OnLoadFault, reportFault, THROW_FAULT } from "../../guard/modules.ts";
import type { AgentFormat } from "./format.ts";

export const moduleFormat: AgentFormat = {
  name: "module",
  matches: (path) => /\.[cm]?[jt]s$/.test(path),
  load: async (patterns, { root, report }) => ({ agents: await loadAgents(root, patterns, (fault) => report(fault, "agents")) }),
};

export type LoadedAgent = Readonly<{ agent: Agent; file: string }>;

/** `patterns` are paths and globs below `root`; the result is in the order of names. */
export async function loadAgents(
  root: string,
  patterns: readonly string[],
  trouble: OnLoadFault = THROW_FAULT,
): Promise<readonly LoadedAgent[]> {
  const loaded = new Map<string, LoadedAgent>();
  const folder = realpathSync(root);
  for (const file of matchProjectFiles(folder, patterns, "agents")) {
    for (const agent of (await reportFault(async () => listAgents(await importModule(file, folder), file), trouble)) ?? []) {
      const other = loaded.get(agent.name);
      if (other?.agent === agent) continue; // the same one, exported again
      if (other === undefined) loaded.set(agent.name, { agent, file });
      else trouble(fileFault({ file, detail: `agent \`${agent.name}\` is already defined in ${other.file}`, hint: "rename one of them" }));
    }
  }
  return [...loaded.values()].sort((a, b) => (a.agent.name < b.agent.name ? -1 : 1));
}

function listAgents(module: object, file: string): readonly Agent[] {
  const agents = [...new Set(Object.values(module).filter(isAgent))];
  if (agents.length === 0)
    throw fileFault({ file, detail: "exports no agent", hint: "export what `defineAgent` returns, by name or as the default" });
  return agents;
}
