/** The starter policies: `policies/starter` of the repository, shipped beside this file. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Kind, StarterFile } from "./project.ts";

export const starterFolder = (): string =>
  fileURLToPath(new URL(import.meta.url.endsWith(".ts") ? "../../../../policies/starter/" : "./policies/", import.meta.url));

export function starterPolicies(kind: Kind): readonly StarterFile[] {
  const folder = join(starterFolder(), kind);
  return readdirSync(folder)
    .sort()
    .map((name) => ({ path: `policies/${name}`, text: readFileSync(join(folder, name), "utf8") }));
}
