/** The starter policies, the coordinator and the shell: `policies/` and `agents/` of the repository, shipped beside this file. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { StarterFile } from "./project.ts";

const isSource = import.meta.url.endsWith(".ts");
const shipped = (inRepository: string, here: string): string =>
  fileURLToPath(new URL(isSource ? `../../../../${inRepository}` : `./${here}`, import.meta.url));

export const starterFolder = (): string => shipped("policies/starter/", "policies/");

export function starterPolicies(kind: string): readonly StarterFile[] {
  const folder = join(starterFolder(), kind);
  return readdirSync(folder)
    .sort()
    .map((name) => ({ path: `policies/${name}`, text: readFileSync(join(folder, name), "utf8") }));
}

/** The agent that operators talk to, and what it may do: the project's own from then on. */
export const coordinatorFiles = (): readonly StarterFile[] => deskFiles("coordinator", "agents/coordinator.toml");

/** The agent of the shell, and what it may do. */
export const shellFiles = (): readonly StarterFile[] => deskFiles("shell", "agents/shell.symbi");

function deskFiles(name: string, agent: string): readonly StarterFile[] {
  const policies = shipped(`policies/${name}/`, `${name}/`);
  return [
    { path: agent, text: readFileSync(shipped(agent, agent), "utf8") },
    ...readdirSync(policies)
      .sort()
      .map((file) => ({ path: `policies/${name}/${file}`, text: readFileSync(join(policies, file), "utf8") })),
  ];
}
