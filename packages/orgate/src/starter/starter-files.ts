/** Files that ship beside this one and are copied into projects: in a checkout they lie in `examples/starters/`, `policies/` and `agents/`. */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export type StarterFile = Readonly<{ path: string; text: string }>;

const isSource = import.meta.url.endsWith(".ts");
const locate = (inCheckout: string, shipped: string): string =>
  fileURLToPath(new URL(isSource ? `../../../../${inCheckout}` : `./${shipped}`, import.meta.url));

/** The files of a folder and its subfolders, sorted, below `prefix`. */
function readFiles(folder: string, prefix = ""): readonly StarterFile[] {
  const paths = readdirSync(folder, { recursive: true, encoding: "utf8" }).sort();
  return paths
    .filter((path) => statSync(join(folder, path)).isFile())
    .map((path) => ({ path: `${prefix}${path.replaceAll("\\", "/")}`, text: readFileSync(join(folder, path), "utf8") }));
}

export const readStarter = (folder: string): readonly StarterFile[] => readFiles(join(locate("examples/starters/", "projects/"), folder));

const policySet = (folder: string): string => join(locate("policies/starter/", "policies/"), folder);

/** A policy set that loads in any project: it names no tool. */
export const readStarterSet = (set: string): readonly StarterFile[] => readFiles(policySet(set), "policies/");

/** Names of the sets that load in any project. */
export const listStarterSets = (): readonly string[] =>
  readdirSync(policySet("."), { withFileTypes: true })
    .flatMap((one) => (one.isDirectory() && one.name !== "tools" ? [one.name] : []))
    .sort();

/** The folder of a set that loads in any project; null when there is none of this name. */
export const findStarterSet = (set: string): string | null => (listStarterSets().includes(set) ? policySet(set) : null);

/** Where the format of a domain is described, on this machine. */
export const SIMULATIONS_PAGE = locate("policies/simulations/README.md", "simulations/README.md");

/** Domains in which a policy set can be scored, and the pages with their rules. */
export const readSimulations = (): readonly StarterFile[] => readFiles(locate("policies/simulations/", "simulations/"));

/** A policy set as it is, and limits on the tools that `orgate init` writes with it. */
export function readStarterPolicies(set: string): readonly StarterFile[] {
  const limits = policySet(join("tools", set));
  return [...readStarterSet(set), ...(existsSync(limits) ? readFiles(limits, "policies/") : [])];
}

/** The agent that operators talk to, and its policies. */
export const readCoordinator = (): readonly StarterFile[] => [
  readAgent("coordinator.toml"),
  ...readFiles(locate("policies/coordinator/", "coordinator/"), "policies/coordinator/"),
];

/** The agent that orchestrates others, and its policies. */
export const readConductor = (): readonly StarterFile[] => [
  readAgent("conductor.toml"),
  ...readFiles(locate("policies/conductor/", "conductor/"), "policies/"),
];

/** The agent of the shell, and its policies. */
export const readShellAgent = (): readonly StarterFile[] => [
  readAgent("shell.symbi"),
  ...readFiles(locate("policies/shell/", "shell/"), "policies/shell/"),
];

const readAgent = (name: string): StarterFile => ({
  path: `agents/${name}`,
  text: readFileSync(locate(`agents/${name}`, `agents/${name}`), "utf8"),
});
