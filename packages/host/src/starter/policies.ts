/** The starter policies and the coordinator: `policies/` and `agents/` of the repository, shipped beside this file. */
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
export function coordinatorFiles(): readonly StarterFile[] {
  const policies = shipped("policies/coordinator/", "coordinator/");
  return [
    { path: "agents/coordinator.toml", text: readFileSync(shipped("agents/coordinator.toml", "agents/coordinator.toml"), "utf8") },
    ...readdirSync(policies)
      .sort()
      .map((name) => ({ path: `policies/coordinator/${name}`, text: readFileSync(join(policies, name), "utf8") })),
  ];
}
