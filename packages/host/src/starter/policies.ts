/** The starter policies, the coordinator, the conductor and the shell: `policies/` and `agents/` of the repository, shipped beside this file. */
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
export const coordinatorFiles = (): readonly StarterFile[] => [
  agentFile("coordinator.toml"),
  ...policyFiles("coordinator", "policies/coordinator/"),
];

/** The agent that has others work on one task, at every surface. */
export const conductorFiles = (): readonly StarterFile[] => [agentFile("conductor.toml"), ...policyFiles("conductor", "policies/")];

/** The agent of the shell, and what it may do. */
export const shellFiles = (): readonly StarterFile[] => [agentFile("shell.symbi"), ...policyFiles("shell", "policies/shell/")];

const agentFile = (name: string): StarterFile => ({
  path: `agents/${name}`,
  text: readFileSync(shipped(`agents/${name}`, `agents/${name}`), "utf8"),
});

function policyFiles(kind: string, to: string): readonly StarterFile[] {
  const policies = shipped(`policies/${kind}/`, `${kind}/`);
  return readdirSync(policies)
    .sort()
    .map((name) => ({ path: `${to}${name}`, text: readFileSync(join(policies, name), "utf8") }));
}
