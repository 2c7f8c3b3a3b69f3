/** The starter policies, the coordinator, the conductor and the shell: `policies/` and `agents/` of the repository, shipped beside this file. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { StarterFile } from "./project.ts";

const isSource = import.meta.url.endsWith(".ts");
const shipped = (inRepository: string, here: string): string =>
  fileURLToPath(new URL(isSource ? `../../../../${inRepository}` : `./${here}`, import.meta.url));

export const starterFolder = (): string => shipped("policies/starter/", "policies/");

/** A set that loads in any project: it names no tool. */
export const starterSet = (kind: string): readonly StarterFile[] => filesIn(join(starterFolder(), kind), "policies/");

/** The set with what is said of the tools that `orgate init` writes. */
export function starterPolicies(kind: string): readonly StarterFile[] {
  const folder = join(starterFolder(), "tools", kind);
  const own = existsSync(folder) ? filesIn(folder, "policies/") : [];
  const replaced = own.length === 0 ? [] : (REPLACED[kind] ?? []);
  return [...starterSet(kind).filter(({ path }) => !replaced.includes(path)), ...own];
}
/** Its tools' limits say it more finely. */
const REPLACED: Readonly<Record<string, readonly string[]>> = {
  secretary: ["policies/spending.cedar", "policies/spending.cases.json"],
};

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

const policyFiles = (kind: string, to: string): readonly StarterFile[] => filesIn(shipped(`policies/${kind}/`, `${kind}/`), to);

const filesIn = (folder: string, to: string): readonly StarterFile[] =>
  readdirSync(folder)
    .sort()
    .map((name) => ({ path: `${to}${name}`, text: readFileSync(join(folder, name), "utf8") }));
