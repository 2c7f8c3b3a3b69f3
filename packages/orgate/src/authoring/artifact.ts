/**
 * Which files may be authored, and where.
 *
 * S-8 an artifact lies in `agents/`, `policies/` or `tools/`, under one plain name in lower case, and is one that the project would read; nothing else is written.
 * S-8 the shell's own parts are not authored by it, whoever approves: `agents/shell.*`, `policies/shell/`, constraints, settings, keys, state.
 */
import { readdirSync } from "node:fs";
import { basename, dirname, join, matchesGlob } from "node:path";
import { SURFACES } from "@orgate/core";
import type { Config } from "../config/config.ts";
import { SHELL, SHELL_FILES } from "../project/shell-agent.ts";

export { SHELL };
export type ArtifactKind = "dsl" | "cedar" | "toolclad";
export const MAX_ARTIFACT = 128 * 1024;

/** Files that no grant and no approval covers. */
export const SHELL_OWNED: readonly string[] = [...SHELL_FILES, `policies/${SHELL}`];

const NAME = "[a-z0-9][a-z0-9_-]{0,63}";
const FOLDER = `(?:shadow/)?(?:(?:${SURFACES.join("|")})/)?`;
const FORMS: Readonly<Record<ArtifactKind, RegExp>> = {
  dsl: new RegExp(`^agents/${NAME}\\.(?:symbi|dsl)$`),
  cedar: new RegExp(`^policies/${FOLDER}${NAME}\\.(?:cedar|cases\\.json)$`),
  toolclad: new RegExp(`^tools/${NAME}\\.clad\\.toml$`),
};
const WHERE: Readonly<Record<ArtifactKind, string>> = {
  dsl: "agents/NAME.symbi",
  cedar: "policies/NAME.cedar, policies/SURFACE/NAME.cedar, or NAME.cases.json beside it",
  toolclad: "tools/NAME.clad.toml",
};

export const artifactKind = (path: string): ArtifactKind | null =>
  (["dsl", "cedar", "toolclad"] as const).find((kind) => FORMS[kind].test(path)) ?? null;

/** Why nothing is authored there; null: it may be. `kind`: what it is said to be. */
export function whyNotAuthored(
  path: string,
  config: Pick<Config, "root" | "agents" | "tools">,
  kind: ArtifactKind | null = null,
): string | null {
  const found = artifactKind(path);
  if (found === null)
    return `an artifact lies at ${kind === null ? Object.values(WHERE).join("; ") : WHERE[kind]}, with NAME in lower case: \`${path.slice(0, 200)}\` is no such place`;
  if (kind !== null && found !== kind) return `\`${path}\` is no place for it: ${WHERE[kind]} is`;
  if (isShellsOwn(path)) return `\`${path}\` is the shell's own: a person edits it, no agent does`;
  const patterns = found === "dsl" ? config.agents : found === "toolclad" ? config.tools : null;
  if (patterns !== null && !patterns.some((pattern) => matchesGlob(path, pattern)))
    return `the project does not read \`${path}\`: \`${found === "dsl" ? "agents" : "tools"}\` in orgate.toml names ${patterns.join(", ")}`;
  const twin = alike(join(config.root, path));
  return twin === null ? null : `\`${twin}\` is there already, and some file systems take it for the same name`;
}

const isShellsOwn = (path: string): boolean =>
  SHELL_OWNED.some((own) => path === own || path.startsWith(`${own}/`)) || path.split("/").slice(1, -1).includes(SHELL);

/** Another spelling that lies there, which would be replaced or read beside it. */
function alike(file: string): string | null {
  const folded = (name: string): string => name.normalize("NFKC").toLowerCase();
  let names: readonly string[];
  try {
    names = readdirSync(dirname(file));
  } catch {
    return null; // no such folder yet
  }
  const own = basename(file);
  return names.find((name) => name !== own && folded(name) === folded(own)) ?? null;
}
